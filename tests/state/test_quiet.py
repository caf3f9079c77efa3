"""A file that is quiet is read without SQLAlchemy: what that tells is what the store tells, and whatever is not quiet is left to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model import Binding, Guards, Rules
from reconciler.model.marker import PREFIX
from reconciler.state import IntentEnding, Journal, StateScope, Store
from reconciler.state.tables.quiet import QuietState, read_state
from tests.proofs import tries
from tests.state.examples import CLOCK, GUIDES, LEGACY, NOW, SERVICE, START, WHO, at, binding, intent
from tests.state.strategies import addresses, bindings

MINE = StateScope("p", None, SERVICE)
RULES = Rules(
    Guards(20, 0, 2), {"team": "all"}, frozenset({"site"}), frozenset({"anyone mustNotSee acme/**"}), {"a": "b"}, frozenset({"c"})
)


def opened(path: Path, scope: StateScope = MINE, *, create: bool = True, lag: float = 0.0) -> Store:
    return Store.open(f"sqlite:///{path}", scope, clock=CLOCK, create=create, lag=lag)


def quiet(path: Path, *, lag: float = 0.0) -> QuietState | None:
    return read_state(path, (MINE.project, MINE.environment or "", MINE.service), lag=timedelta(seconds=lag), now=NOW)


def told(path: Path, *, lag: float = 0.0) -> QuietState:
    with opened(path, create=False, lag=lag) as store:
        return QuietState(store.read(), store.digest_key())


def run(path: Path, work: Callable[[Journal], Any], *, code: int | None = 0, scope: StateScope = MINE, **who: str) -> None:
    """One run. `code`: how it ended, None where it was killed."""
    with opened(path, scope) as store, store.lease(**{**WHO, **who}) as journal:
        work(journal)
        if code is not None:
            journal.finish(exit_code=code, summary={})


def applied(journal: Journal) -> None:
    """Two are tracked, one was created and deleted."""
    journal.remember(bind=[binding(), binding(START)])
    for verb in ("create", "delete"):
        (sent,) = journal.intend([intent(LEGACY, verb=verb, target="id-legacy")])
        journal.settle([IntentEnding(sent.id, "done", bind=(binding(LEGACY),) if verb == "create" else (), forget=(LEGACY,))])
    journal.remember_rules(RULES)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Callable[[Journal], None], int | None, str]]:
    """Runs of which each tracks, forgets, renames, creates and deletes; most of them end well."""

    def acting() -> Callable[[Journal], None]:
        bind, fulfilled = draw(bindings()), draw(st.dictionaries(addresses, addresses, max_size=2))
        verb, status = draw(st.sampled_from(["create", "delete", "update"])), draw(st.sampled_from(["done"] * 4 + ["failed", "in-doubt"]))
        writes = draw(st.sampled_from([{"title": "a"}] * 3 + [{"title": f"{PREFIX}0123abcd"}]))

        def act(journal: Journal) -> None:
            journal.remember(forget=list(journal.state().bindings))
            journal.remember(bind=bind, fulfilled=fulfilled)
            (sent,) = journal.intend([intent(at(f"acme/space/{verb}"), verb=verb, target="id", writes=writes)])
            journal.settle([IntentEnding(sent.id, status)])
            if status == "done":
                journal.remember_rules(RULES)

        return act

    codes = st.sampled_from([0] * 6 + [1, 5, None])
    return [(acting(), draw(codes), draw(st.sampled_from(["apply", "apply", "state mv"]))) for _ in range(draw(st.integers(1, 3)))]


@settings(max_examples=tries(30, 8), deadline=None)
@given(histories())
def test_what_is_read_without_the_store_is_what_the_store_tells(runs: list[tuple[Callable[[Journal], None], int | None, str]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "state.db")
        for work, code, command in runs:
            run(path, work, code=code, command=command)
            known, store = quiet(path), told(path)
            assert known in (None, store)
            ordinary = not (store.state.unfinished or store.state.intents or store.state.marks) and store.state.bindings
            assert (known is not None) == bool(ordinary)


def test_rules_renames_and_what_was_deleted_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    run(path, applied)
    run(path, lambda journal: journal.remember(fulfilled={GUIDES: START}))
    known = quiet(path)
    assert known == told(path)
    assert known is not None
    assert (known.state.rules, known.state.fulfilled) == (RULES, {GUIDES: START})
    assert known.state.deleted == {LEGACY: ("space", "id-legacy")}


def created(journal: Journal) -> None:
    (sent,) = journal.intend([intent(LEGACY)])
    journal.settle([IntentEnding(sent.id, "done", bind=(binding(LEGACY),))])


def marked(journal: Journal) -> None:
    (sent,) = journal.intend([intent(writes={"title": f"{PREFIX}0123abcd"})])
    journal.settle([IntentEnding(sent.id, "failed", "refused")])


UNUSUAL: dict[str, Callable[[Path], None]] = {
    "an open intent": lambda path: run(path, lambda journal: journal.intend([intent()])),
    "a run that failed": lambda path: run(path, lambda journal: None, code=5),
    "a run that was killed": lambda path: run(path, lambda journal: None, code=None),
    "a create that may still come": lambda path: run(path, marked),
    "another project on the service": lambda path: run(path, remembered, scope=StateScope("q", None, SERVICE)),
    "another environment": lambda path: run(path, remembered, scope=StateScope("p", "staging", SERVICE)),
    "nothing tracked": lambda path: run(path, lambda journal: journal.remember(forget=[GUIDES, START])),
}


def remembered(journal: Journal) -> None:
    journal.remember(bind=[binding(START, id="other")])


@pytest.mark.parametrize("name", UNUSUAL)
def test_whatever_is_out_of_the_ordinary_is_left_to_the_store(tmp_path: Path, name: str) -> None:
    path = tmp_path / "state.db"
    run(path, applied)
    assert quiet(path) is not None
    UNUSUAL[name](path)
    assert quiet(path) is None


def test_until_when_a_list_may_lack_what_was_written_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    run(path, applied)
    run(path, created)
    known = quiet(path, lag=5.0)
    assert known == told(path, lag=5.0)
    assert known is not None
    assert LEGACY in known.state.recent


@pytest.mark.parametrize(
    "edit",
    ["UPDATE fields SET seen = '{'", "UPDATE bindings SET origin = 'x'", "UPDATE rules SET value = '[]'", "UPDATE renames SET new = ''"],
)
def test_what_is_damaged_is_left_to_the_store_which_names_it(tmp_path: Path, edit: str) -> None:
    path = tmp_path / "state.db"
    run(path, applied)
    run(path, lambda journal: journal.remember(fulfilled={GUIDES: START}))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(edit)
    assert quiet(path) is None


def test_bindings_come_in_the_order_of_addresses(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    several: list[Binding] = [binding(at(f"acme/space/{key}")) for key in ("b-c", "b", "a", "b-a")]
    run(path, lambda journal: journal.remember(bind=several))
    known = quiet(path)
    assert known is not None
    assert list(known.state.bindings) == list(told(path).state.bindings)
