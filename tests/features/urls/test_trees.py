"""Trees of pages in the state: the newest of each object is kept, and carried with the state as everything else is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.errors import Refused
from reconciler.features.urls.model.pages import Page, PageTree
from reconciler.features.urls.tables import kept as stored
from reconciler.state import StateScope, Store
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, WHO
from tests.state.test_carry import RELEASED, REMEMBERED, document, fill, load, push

TREE = ("space", "spc_1")
KEPT = PageTree("rev_1", (Page("pag_1", "Ünïcode \ud800", "install"), Page("pag_2", "", "install/linux", "visitor.claims.staff")))


def planted(store: Store) -> Store:
    """A state with trees: an old one that was replaced, one that could not be read, and one without a revision."""
    return kept(fill(store))


def kept(store: Store) -> Store:
    with store.lease(**WHO) as journal:
        stored.keep_trees(journal, {TREE: PageTree("rev_0", (Page("pag_1", "Old", "old"),))})
        stored.keep_trees(journal, {TREE: KEPT, ("space", "spc_2"): "not for you", ("space", "spc_3"): PageTree("")})
        journal.finish(exit_code=0, summary={})
    return store


def test_the_newest_tree_of_each_object_is_kept_and_carried(
    store: Store, elsewhere: Store, open_store: OpenStore, scope: StateScope
) -> None:  # fmt: skip
    newest = {TREE: KEPT}
    assert stored.page_trees(planted(store), [TREE, ("space", "spc_2"), ("space", "spc_3")]) == newest
    push(elsewhere, document(store))
    assert stored.page_trees(elsewhere, [TREE]) == newest
    renamed = open_store(replace(scope, project=f"{scope.project}-renamed"))
    with renamed.renaming(scope, who="ada", command="state mv") as journal:
        journal.rename()
    assert stored.page_trees(renamed, [TREE]) == newest


def test_a_document_without_the_newest_tree_is_refused(store: Store) -> None:
    before = document(fill(store))
    kept(store)
    with pytest.raises(Refused, match="the existing state is newer"):
        push(store, before)


@pytest.mark.parametrize("dump", RELEASED, ids=lambda path: f"version {path.stem}")
def test_the_trees_of_every_released_version_are_read_but_stand_for_no_revision(tmp_path: Path, dump: Path) -> None:
    kept = PageTree("", (Page("pag_1", "Install", "install"),))  # it has no conditions, so that no revision is known to have these pages
    with Store.open(load(dump, tmp_path / "state.db"), REMEMBERED, clock=CLOCK, create=True) as store:
        assert stored.page_trees(store, [TREE]) == ({TREE: kept} if int(dump.stem) >= 9 else {})
