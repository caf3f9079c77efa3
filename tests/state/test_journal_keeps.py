"""What the journal keeps for later: turns, what the database did not take, lists that were held, how a run ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import Refused, StateError
from reconciler.model import Position, StateChange, What
from reconciler.state import IntentEnding, Journal, StateScope, Store
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, GUIDES, LEGACY, NOW, SERVICE, START, WHO, at, binding, intent

BROKEN = "half \ud800"  # what no database holds


@pytest.fixture
def journal(store: Store) -> Iterator[Journal]:
    with store.lease(**WHO) as journal:
        yield journal


@pytest.mark.parametrize(("change", "turn"), [
    ({"bind": [binding(START)]}, StateChange(What.ADOPT, START, "space", "id-start")),
    ({"forget": [GUIDES]}, StateChange(What.FORGET, GUIDES, "space", "id-guides")),
    ({"rename": {GUIDES: START}}, StateChange(What.RENAME, START, "space", "id-guides", GUIDES)),
    ({"protect": {GUIDES: True}}, StateChange(What.PROTECT, GUIDES, "space", "id-guides")),
    ({"places": {GUIDES: Position(at("acme"), 0)}}, None),
    ({"bind": [binding(sent={"title": "other"})]}, None),
    ({}, None),
])  # fmt: skip
def test_what_changes_without_a_request_is_kept_as_a_turn_of_its_run(
    store: Store, change: dict[str, Any], turn: StateChange | None
) -> None:
    with store.lease(**WHO) as first:
        first.remember(bind=[binding()])
    with store.lease(**WHO) as second:
        second.remember(**change)
    assert store.turns(first.run) == (StateChange(What.ADOPT, GUIDES, "space", "id-guides"),)
    assert store.turns(second.run) == ((turn,) if turn is not None else ())


def test_what_is_remembered_may_come_from_what_is_read_once(journal: Journal) -> None:
    journal.remember(bind=iter([binding(), binding(START)]))
    journal.remember(forget=iter([GUIDES]))
    assert list(journal.state().bindings) == [START]


def test_a_list_is_held_from_when_it_is_said_and_by_this_run_alone(store: Store, journal: Journal) -> None:
    assert journal.state().held == frozenset()
    journal.hold("space", at("acme"))
    journal.hold("organization", None)
    assert journal.state().held == {("space", at("acme")), ("organization", None)}
    assert store.read().held == frozenset()


def test_how_a_run_ended_is_kept(store: Store) -> None:
    with store.lease(**WHO) as first:
        first.finish(exit_code=5, summary={"done": 3})
    with store.lease(**WHO):
        found = {run.id: run for run in store.runs()}
    assert (found[first.run].ended, found[first.run].exit_code) == (NOW, 5)
    with pytest.raises(StateError, match="was released"):
        first.finish(exit_code=0, summary={})
    assert {run.id: run.exit_code for run in store.runs()}[first.run] == 5


def test_an_outcome_says_when_and_by_whom_and_why(store: Store) -> None:
    with store.lease(**WHO) as first:
        one, two = first.intend([intent(), intent(START)])
        first.settle(
            [IntentEnding(one.id, "failed", "refused"), IntentEnding(two.id, "done", bind=(binding(START),), forget=(GUIDES, LEGACY))]
        )
    failed, done = store.entries(first.run)
    assert (failed.at, failed.status, failed.error, failed.bound, failed.forgotten) == (NOW, "failed", "refused", {}, ())
    assert (done.error, done.bound, done.forgotten) == (None, {START: "id-start"}, (GUIDES, LEGACY))


def test_the_same_list_of_known_ids_is_kept_once_and_another_as_well(journal: Journal) -> None:
    some, more = frozenset({"a", "b"}), frozenset({"c"})
    for known in ([some, some], [some, more], [more], [frozenset()]):
        assert [one.known for one in journal.intend([intent(known=one) for one in known])] == known
    assert [one.known for one in journal.state().intents] == [some, some, some, more, more, frozenset()]


def test_without_an_intent_or_ending_there_is_never_a_transaction(store: Store) -> None:
    with store.lease(**WHO) as journal:
        pass
    assert journal.intend([]) == ()
    journal.settle([])


def test_renames_take_everything_below_along_and_touch_nothing_else(journal: Journal) -> None:
    old, new, other = at("acme/collection/old"), at("acme/collection/new"), at("acme/collection/other")
    journal.remember(bind=[
        binding(old, sent={"a": 1}, place=Position(at("acme"), 0)), binding(other, place=Position(at("acme"), 1)),
        binding(GUIDES, place=Position(old, 0)), binding(START, place=Position(other, 0)),
    ])  # fmt: skip
    before = journal.state().bindings
    journal.remember(rename={other: other})
    assert journal.state().bindings == before
    journal.remember(rename={old: other, other: old})
    after = journal.state().bindings
    assert {one.id: (address, one.place, one.sent) for address, one in after.items()} == {
        "id-old": (other, Position(at("acme"), 0), {"a": 1}), "id-other": (old, Position(at("acme"), 1), {"title": "a"}),
        "id-guides": (GUIDES, Position(other, 0), {"title": "a"}), "id-start": (START, Position(old, 0), {"title": "a"}),
    }  # fmt: skip
    journal.remember(rename={other: new})
    assert journal.state().bindings[GUIDES].place == Position(new, 0)


def test_forgetting_comes_before_renaming_and_that_before_binding_and_placing(journal: Journal) -> None:
    journal.remember(bind=[binding(id="g"), binding(START, id="s")])
    journal.remember(
        forget=[START], rename={GUIDES: START}, bind=[binding(id="new")], places={START: Position(at("acme"), 1)}, protect={GUIDES: True}
    )
    found = journal.state().bindings
    assert (found[START].id, found[START].place, found[GUIDES].id, found[GUIDES].protected) == ("g", Position(at("acme"), 1), "new", True)


def test_a_note_of_nothing_needs_no_binding_and_of_something_does(journal: Journal) -> None:
    journal.note(LEGACY, sent={}, seen={})
    for sent, seen in (({"a": 1}, {}), ({}, {"a": 1})):
        with pytest.raises(StateError, match="acme/space/legacy is not tracked"):
            journal.note(LEGACY, sent=sent, seen=seen)


def test_an_ending_sees_fields_of_many_addresses(journal: Journal) -> None:
    journal.remember(bind=[binding(), binding(START)])
    one, two = journal.intend([intent(), intent(START)])
    journal.settle(
        [IntentEnding(one.id, "done", seen={GUIDES: {"x": 1}}), IntentEnding(two.id, "done", seen={START: {"y": 2}, GUIDES: {"x": 3}})]
    )
    found = journal.state().bindings
    assert (found[GUIDES].seen, found[START].seen) == ({"title": "b", "x": 3}, {"title": "b", "y": 2})


def test_a_whole_state_is_replaced_under_the_lease_alone_and_not_where_something_would_be_lost(
    open_at: OpenStore, store: Store, tmp_path: Path, scope: StateScope
) -> None:
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
    pulled = store.pull()
    other = open_at(f"sqlite:///{tmp_path}/other.db")
    document = other.check(pulled)
    with other.lease(**WHO) as journal:
        journal.remember(bind=[binding(START)])
        with pytest.raises(Refused):
            journal.replace(document)
        assert list(other.read().bindings) == [START]
        journal.replace(document, force=True)
    assert list(other.read().bindings) == [GUIDES]
    with pytest.raises(StateError, match="was released"):
        journal.replace(document, force=True)


def test_what_a_run_carries_out_is_written_under_the_lease_alone(store: Store) -> None:
    with store.lease(**WHO) as journal:
        pass
    with pytest.raises(StateError, match="was released"):
        journal.carry_out("digest")
    assert store.users("digest") == ()


# -- what the database does not take


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/state.db"
    with Store.open(url, StateScope("p", None, SERVICE), clock=CLOCK, create=True, beside=tmp_path / "kept") as store:
        yield store


def test_outcomes_that_cannot_be_stored_are_kept_for_the_next_run_and_this_one_sends_nothing_more(beside: Store, tmp_path: Path) -> None:
    with beside.lease(**WHO) as first:
        assert first.unsaved_endings() == ()
        (one,) = first.intend([intent()])
        with pytest.raises(StateError, match="1 outcome of requests that were sent is stored in") as caught:
            first.settle([IntentEnding(one.id, "done", bind=(binding(seen={"x": {1, 2}}),))])
        assert caught.value.__cause__ is not None
        with pytest.raises(StateError) as again:
            first.intend([intent(START)])
        assert again.value is caught.value
    with beside.lease(**WHO) as second:
        assert second.unsaved_endings() == ((first.run, IntentEnding(one.id, "done", bind=(replace(binding(), sent={}, seen={}),))),)
        second.discard_unsaved_endings()
        assert second.unsaved_endings() == ()
    assert list((tmp_path / "kept").iterdir()) == []


def test_what_was_only_read_is_not_kept_and_its_error_stays_what_it_was(beside: Store) -> None:
    with beside.lease(**WHO) as journal:
        (one,) = journal.intend([intent()])
        with pytest.raises(StateError) as caught:
            journal.settle([IntentEnding(one.id, "recovered", bind=(binding(id=BROKEN),))])
        assert "kept" not in caught.value.message
        assert caught.value.__cause__ is None or not isinstance(caught.value.__cause__, StateError)
        assert journal.unsaved_endings() == ()


def test_without_a_place_beside_nothing_is_kept(journal: Journal) -> None:
    assert journal.unsaved_endings() == ()
    journal.discard_unsaved_endings()


def test_the_first_failure_is_the_one_that_is_repeated(journal: Journal) -> None:
    (one,) = journal.intend([intent()])
    errors = []
    for ending in (IntentEnding(one.id, "done", bind=(binding(id=BROKEN),)), IntentEnding(99, "done")):
        with pytest.raises(StateError) as caught:
            journal.settle([ending])
        errors.append(caught.value)
    with pytest.raises(StateError) as told:
        journal.intend([intent()])
    assert told.value is errors[0]


def test_a_transaction_that_failed_raises_no_serial_and_the_next_one_does(journal: Journal) -> None:
    with pytest.raises(StateError):
        journal.remember(bind=[binding(id=BROKEN)])
    assert journal.state().serial == 0
    journal.remember(bind=[binding()])
    journal.remember(bind=[binding(START)])
    assert journal.state().serial == 1


def test_what_was_written_lately_may_be_missing_in_a_list_for_as_long_as_was_said(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    with Store.open(url, StateScope("p", None, SERVICE), clock=CLOCK, create=True, lag=90.0) as store, store.lease(**WHO) as journal:
        (one,) = journal.intend([intent(date=NOW)])
        journal.settle([IntentEnding(one.id, "done", bind=(binding(),))])
        recent = journal.state().recent
    assert list(recent) == [GUIDES]
    assert recent[GUIDES] - NOW >= timedelta(seconds=90)


def test_what_was_deleted_after_that_need_not_be_in_any_list(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    with Store.open(url, StateScope("p", None, SERVICE), clock=CLOCK, create=True, lag=90.0) as store, store.lease(**WHO) as journal:
        for verb, ending in (("create", "done"), ("delete", "recovered")):
            (one,) = journal.intend([intent(verb=verb)])
            journal.settle([IntentEnding(one.id, ending, bind=(binding(),) if verb == "create" else ())])
        assert journal.state().recent == {}
        (one,) = journal.intend([intent(verb="create")])
        journal.settle([IntentEnding(one.id, "done", bind=(binding(),))])
        assert list(journal.state().recent) == [GUIDES]
