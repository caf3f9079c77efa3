"""A whole state as a document, put into another database: it is the same there, and nothing is lost that was there."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import Phase, given, settings

from reconciler.errors import Locked, Refused, UsageError
from reconciler.model import Binding, Guards, Intent, Position, Rules
from reconciler.state import IntentEnding, StateScope, Store
from reconciler.text.escape import as_json
from tests.documents import valid
from tests.proofs import sampled, tries
from tests.state import strategies
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, GUIDES, LEGACY, START, WHO, at, binding, intent


@pytest.fixture
def scope() -> StateScope:
    """On a service of its own, where nothing belongs to others."""
    return StateScope(f"project-{uuid4()}", None, f"https://{uuid4()}")


@pytest.fixture
def elsewhere(open_at: OpenStore, tmp_path: Path) -> Store:
    """The same scope in another, empty database."""
    return open_at(f"sqlite:///{tmp_path}/elsewhere.db")


def fill(store: Store) -> Store:
    """One of everything: bindings with places, rules, turns, requests that are done, failed, in doubt and open."""
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding(), binding(START, place=Position(at("acme"), 1), protected=True)])
        journal.remember_rules(Rules(Guards(20.0, 3, 1), {"team": "all"}, frozenset({"site"})))
        done, failed, doubtful, _ = journal.intend([intent(), intent(), intent(LEGACY), intent(LEGACY, writes={"a": None})])
        journal.settle([IntentEnding(done.id, "done", bind=(binding(sent={"title": None}),), after={GUIDES: {"title": "b"}})])
        journal.settle([IntentEnding(failed.id, "failed", "no"), IntentEnding(doubtful.id, "in-doubt", "who knows")])
        journal.finish(exit_code=5, summary={"done": 1})
    return store


def document(store: Store) -> dict[str, Any]:
    """What a file would hold of it."""
    found = store.pull()
    assert found is not None
    again: dict[str, Any] = json.loads(as_json(found))
    assert again == found
    return valid(again, "state")


def push(store: Store, found: Any, *, force: bool = False) -> None:
    whole = store.check(found)
    with store.lease(who="ada", command="state push") as journal:
        journal.replace(whole, force=force)
        journal.finish(exit_code=0, summary={})


def test_what_is_pushed_is_what_was_pulled(store: Store, elsewhere: Store) -> None:
    before = document(fill(store))
    push(elsewhere, before)
    after = document(elsewhere)
    assert {**after, "runs": [one for one in after["runs"] if one["command"] != "state push"]} == before
    assert elsewhere.read() == store.read()
    (run,) = store.runs()
    assert run in elsewhere.runs()
    assert (elsewhere.entries(run.id), elsewhere.turns(run.id)) == (store.entries(run.id), store.turns(run.id))
    push(store, document(elsewhere))  # and back: the same state, further on
    assert store.read() == elsewhere.read()


def test_after_a_push_a_run_goes_on_with_the_next_numbers(store: Store, elsewhere: Store) -> None:
    push(elsewhere, document(fill(store)))
    with elsewhere.lease(**WHO) as journal:
        assert [one.id for one in journal.state().intents] == [3, 4]
        assert journal.intend([intent()])[0].id == 5
        journal.settle([IntentEnding(3, "recovered", bind=(binding(LEGACY),))])
        assert journal.state().serial == store.read().serial + 1


def test_the_key_of_the_digests_is_not_moved(store: Store, elsewhere: Store) -> None:
    text = as_json(document(fill(store)))
    key = elsewhere.digest_key()
    push(elsewhere, json.loads(text))
    assert elsewhere.digest_key() == key != store.digest_key()
    assert store.digest_key().hex() not in text


@given(bound=strategies.bindings(), intents=strategies.intents)
@sampled
@settings(max_examples=tries(20, 4), phases=[Phase.explicit, Phase.generate])  # a smaller example takes a server minutes to find
def test_every_binding_and_intent_survives_the_way_to_a_server_and_back(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory, bound: list[Binding], intents: list[Intent]
) -> None:
    folder, scope = tmp_path_factory.mktemp("carry"), StateScope(f"p-{uuid4()}", None, f"https://{uuid4()}")
    with ExitStack() as opened:
        urls = (f"sqlite:///{folder}/1.db", postgres_url, f"sqlite:///{folder}/2.db")
        stores = [opened.enter_context(Store.open(url, scope, clock=CLOCK, create=True)) for url in urls]
        with stores[0].lease(**WHO) as journal:
            journal.remember(bind=bound)
            journal.intend([replace(one, method="PATCH") for one in intents])
        push(stores[1], document(stores[0]))
        push(stores[2], document(stores[1]))
        assert stores[0].read() == stores[1].read() == stores[2].read()


# -- what is refused ------------------------------------------------------------------------------------------------------------------


def test_another_state_is_replaced_only_by_force(store: Store, elsewhere: Store) -> None:
    found = document(fill(store))
    with elsewhere.lease(**WHO) as journal:
        journal.remember(bind=[binding(LEGACY)])
    before = document(elsewhere)
    with pytest.raises(Refused, match="another state already exists: its lineage is"):
        push(elsewhere, found)
    assert document(elsewhere)["bindings"] == before["bindings"]
    push(elsewhere, found, force=True)
    assert elsewhere.read() == store.read()


def test_a_newer_state_and_one_that_went_another_way_are_replaced_only_by_force(store: Store, elsewhere: Store) -> None:
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
    old = document(store)
    push(elsewhere, old)
    for one, address in ((store, START), (elsewhere, LEGACY)):
        with one.lease(**WHO) as journal:
            journal.remember(bind=[binding(address)])
    with pytest.raises(Refused, match="the existing state is newer: its serial is 2, the document's 1"):
        push(elsewhere, old)
    with pytest.raises(Refused, match="changed the existing state, and the document does not contain it"):
        push(elsewhere, document(store))
    push(elsewhere, document(store), force=True)
    assert set(elsewhere.read().bindings) == {GUIDES, START}
    assert elsewhere.read().serial == 3  # no saved plan takes it for what was there


def test_a_request_in_doubt_is_not_forgotten_even_by_force(store: Store, elsewhere: Store) -> None:
    found = document(store)
    fill(elsewhere)
    for force in (False, True):
        with pytest.raises(Refused, match="a request of acme/space/legacy is in doubt") as caught:
            push(elsewhere, found, force=force)
        assert "reconciler state forget acme/space/legacy --in-doubt" in str(caught.value.hint)
    assert len(elsewhere.read().intents) == 2


def test_a_state_that_is_held_is_not_replaced(store: Store, open_store: OpenStore) -> None:
    found = document(fill(store))
    with store.lease(**WHO), pytest.raises(Locked):
        push(open_store(), found)


def test_a_state_of_another_scope_is_refused(store: Store, open_store: OpenStore, scope: StateScope) -> None:
    found = document(fill(store))
    for other in (replace(scope, environment="live"), replace(scope, project="q"), replace(scope, service="sandbox:1")):
        with pytest.raises(UsageError, match=f"it is the state of {scope.project} on {scope.service}, and this is "):
            open_store(other).check(found)


def damage(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        *parts, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        for part in parts:
            found = found[part]
        found[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (damage("serial", -1), "serial must be at least 0"),
        (damage("serial", 2**70), "serial must be at most 2147483647"),
        (damage("serial", True), "serial must be a whole number"),
        (damage("bindings.0.origin", "stolen"), "bindings[0].origin must be one of 'created', "),
        (damage("bindings.0.address", "a//"), "bindings[0].address is 'a//', which is not valid there"),
        (damage("bindings.0.address", "acme/space/guides\n"), "bindings[0].address is 'acme/space/guides"),
        (damage("bindings.1.address", "acme/space/guides"), "bindings: an entry is duplicated"),
        (damage("bindings.0.fields", []), "bindings[0].fields must be an object"),
        (damage("bindings.0.extra", 1), "bindings[0] has an unknown key 'extra'"),
        (damage("runs.0.started", "soon"), "runs[0].started must be a time with its zone, not 'soon'"),
        (damage("runs.0.started", "2026-01-01"), "runs[0].started must be a time with its zone, not '2026-01-01'"),
        (damage("runs", []), "runs: no run has the id"),
        (damage("known", {}), "known: no list is called"),
        (damage("requests.0.step", 2**40), "requests[0].step must be at most "),
        (damage("requests.0.known", "x"), "requests[0].known is 'x', which is not valid there"),
        (damage("requests.0.method", "GET"), "requests[0].method must be one of 'POST'"),
        (damage("requests.0.outcomes.0.status", "fine"), "requests[0].outcomes[0].status must be one of 'done'"),
        (damage("turns.0.what", "steal"), "turns[0].what must be one of"),
        (lambda found: found.pop("rules"), "the document has no 'rules'"),
        (damage("rules.guards", {"max_deleat": 1}), "the rules of the project cannot be read"),
    ],
)
def test_a_damaged_document_is_refused_and_the_place_is_named(tmp_path: Path, open_at: OpenStore, change: Any, says: str) -> None:
    store = fill(open_at(f"sqlite:///{tmp_path}/own.db"))
    found = copy.deepcopy(document(store))
    change(found)
    with pytest.raises(UsageError) as caught:
        store.check(found)
    assert says in str(caught.value)
