"""What each method of the journal changes, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.errors import StateError
from reconciler.model import Origin, Position
from reconciler.resource import UNSET
from reconciler.state import IntentEnding, Journal, Store
from tests.state.examples import GUIDES, LEGACY, START, WHO, at, binding, fields_of, intent


@pytest.fixture
def journal(store: Store) -> Any:
    with store.lease(**WHO, run_id=None) as journal:
        yield journal


def test_ids_of_intents_grow_over_runs_and_carry_the_run(store: Store) -> None:
    ids = []
    for run in ("1" + store.read().lineage, "2" + store.read().lineage):
        with store.lease(**WHO, run_id=run) as journal:
            assert journal.run == run
            numbered = journal.intend([intent(), intent(START)])
            assert {one.run for one in numbered} == {run}
            ids += [one.id for one in numbered]
    assert ids == [1, 2, 3, 4]


@pytest.mark.parametrize(("status", "still_open"), [("done", 0), ("failed", 0), ("not-sent", 0), ("recovered", 0), ("in-doubt", 1)])
def test_every_ending_but_in_doubt_closes_an_intent(journal: Journal, status: Any, still_open: int) -> None:
    (one,) = journal.intend([intent()])
    journal.settle([IntentEnding(one.id, status)])
    assert journal.state().intents == (one,) * still_open


def test_an_intent_in_doubt_can_be_settled_later_by_another_run(store: Store) -> None:
    with store.lease(**WHO) as first:
        one, two = first.intend([intent(), intent(START)])
        first.settle([IntentEnding(one.id, "in-doubt", "the connection was cut")])
    with store.lease(**WHO) as second:
        assert second.state().intents == (one, two)
        second.settle([IntentEnding(one.id, "recovered", bind=(binding(origin=Origin.RECOVERED),)), IntentEnding(two.id, "not-sent")])
        assert second.state().intents == ()
        assert second.state().bindings[GUIDES].origin is Origin.RECOVERED


@pytest.mark.parametrize("again", ["done", "in-doubt"])
def test_an_intent_that_ended_does_not_end_again(journal: Journal, again: Any) -> None:
    (one,) = journal.intend([intent()])
    journal.settle([IntentEnding(one.id, "done")])
    with pytest.raises(StateError, match=r"intent 1 is not open"):
        journal.settle([IntentEnding(one.id, again, bind=(binding(),))])
    assert journal.state().bindings == {}


def test_one_intent_cannot_end_twice_at_once(journal: Journal) -> None:
    (one,) = journal.intend([intent()])
    with pytest.raises(StateError, match="cannot end twice"):
        journal.settle([IntentEnding(one.id, "done"), IntentEnding(one.id, "failed")])


def test_an_ending_binds_forgets_and_sees_in_one_transaction(journal: Journal) -> None:
    journal.remember(bind=[binding(LEGACY), binding(START)])
    (one,) = journal.intend([intent()])
    journal.settle(
        [IntentEnding(one.id, "done", bind=(binding(id="id-legacy"),), forget=(LEGACY,), seen={START: {"title": "seen", "new": 1}})]
    )
    found = journal.state().bindings
    assert found == {GUIDES: binding(id="id-legacy"), START: binding(START, seen={"title": "seen", "new": 1})}


def test_what_fails_in_a_transaction_takes_all_of_it_back(journal: Journal) -> None:
    (one,) = journal.intend([intent()])
    before = journal.state()
    with pytest.raises(StateError, match="acme/space/legacy is not tracked"):
        journal.settle([IntentEnding(one.id, "done", bind=(binding(),), seen={LEGACY: {"title": "x"}})])
    assert journal.state() == before


def test_tracking_another_object_at_an_address_leaves_no_field_of_the_old(journal: Journal) -> None:
    journal.remember(bind=[binding(sent={"old": 1}, seen={"old": 1}, place=Position(at("acme"), 1), protected=True)])
    journal.remember(bind=[binding(id="other", sent={"new": 1}, seen={})])
    assert journal.state().bindings == {GUIDES: binding(id="other", sent={"new": 1}, seen={})}


def test_two_addresses_may_exchange_their_objects(journal: Journal) -> None:
    journal.remember(bind=[binding(id="1"), binding(START, id="2")])
    journal.remember(bind=[binding(id="2"), binding(START, id="1")])
    assert {str(key): one.id for key, one in journal.state().bindings.items()} == {"acme/space/guides": "2", "acme/space/start": "1"}


@pytest.mark.parametrize("together", [True, False])
def test_one_object_is_tracked_at_one_address(journal: Journal, together: bool) -> None:
    journal.remember(bind=[] if together else [binding(id="1")])
    with pytest.raises(StateError) as caught:
        journal.remember(bind=[binding(id="1"), binding(START, id="1")] if together else [binding(START, id="1")])
    assert str(caught.value) == "space '1' is tracked as acme/space/guides and cannot be tracked as acme/space/start too"
    assert caught.value.hint == "Run `reconciler state forget acme/space/guides` first, or keep that address."
    assert len(journal.state().bindings) == (0 if together else 1)


def test_ids_of_two_kinds_may_be_equal(journal: Journal) -> None:
    site = binding(at("acme/site/docs"), id="1")
    journal.remember(bind=[binding(id="1"), site])
    assert set(journal.state().bindings) == {GUIDES, site.address}


def test_a_note_merges_fields_and_unset_forgets_one(journal: Journal) -> None:
    journal.remember(bind=[binding(sent={"a": 1, "b": 1}, seen={"a": 1, "c": 1})])
    journal.note(GUIDES, sent={"a": 2}, seen={"c": UNSET, "d": None})
    assert fields_of(journal.state().bindings[GUIDES]) == ({"a": 2, "b": 1}, {"a": 1, "d": None})


def test_a_field_seen_keeps_what_was_sent(journal: Journal) -> None:
    journal.remember(bind=[binding(sent={"title": "a"}, seen={"title": "a"})])
    journal.note(GUIDES, sent={}, seen={"title": "b"})
    assert fields_of(journal.state().bindings[GUIDES]) == ({"title": "a"}, {"title": "b"})


def test_a_note_of_an_unbound_address_is_refused(journal: Journal) -> None:
    with pytest.raises(StateError, match="acme/space/guides is not tracked"):
        journal.note(GUIDES, sent={"a": 1}, seen={})


def test_places_and_protection_change_alone(journal: Journal) -> None:
    journal.remember(bind=[binding()])
    journal.remember(places={GUIDES: Position(at("acme"), 3), START: Position(at("acme"), 4)}, protect={GUIDES: True, START: True})
    assert journal.state().bindings == {GUIDES: binding(place=Position(at("acme"), 3), protected=True)}
    journal.remember(protect={GUIDES: False})
    assert journal.state().bindings == {GUIDES: binding(place=Position(at("acme"), 3))}


def test_renaming_keeps_fields_and_moves_the_places_below(journal: Journal) -> None:
    old, new = at("acme/collection/old"), at("acme/collection/new")
    journal.remember(bind=[binding(old, place=Position(at("acme"), 0)), binding(GUIDES, place=Position(old, 2))])
    journal.remember(rename={old: new})
    assert journal.state().bindings == {
        new: binding(new, id="id-old", place=Position(at("acme"), 0)),
        GUIDES: binding(place=Position(new, 2)),
    }


def test_names_may_be_swapped_and_chained(journal: Journal) -> None:
    journal.remember(bind=[binding(GUIDES, id="g"), binding(START, id="s"), binding(LEGACY, id="l")])
    journal.remember(rename={GUIDES: START, START: GUIDES, LEGACY: at("acme/space/older")})
    assert {key.key: one.id for key, one in journal.state().bindings.items()} == {"start": "g", "guides": "s", "older": "l"}


def test_renaming_onto_a_bound_address_is_refused_unless_that_is_forgotten(journal: Journal) -> None:
    journal.remember(bind=[binding(GUIDES, id="g"), binding(START, id="s")])
    with pytest.raises(StateError, match="something cannot be renamed to acme/space/start: that address is already tracked"):
        journal.remember(rename={GUIDES: START})
    journal.remember(rename={GUIDES: START}, forget=[START])
    assert {key.key: one.id for key, one in journal.state().bindings.items()} == {"start": "g"}


def test_the_serial_grows_by_one_for_each_run_that_writes(store: Store) -> None:
    serials = [store.read().serial]
    for writes in (0, 1, 5):
        with store.lease(**WHO) as journal:
            for number in range(writes):
                journal.remember(bind=[binding(sent={"n": number})])
            journal.finish(exit_code=0, summary={"done": writes})
        serials.append(store.read().serial)
    assert serials == [0, 0, 1, 2]


def test_nothing_to_write_writes_nothing(journal: Journal) -> None:
    assert journal.intend([]) == ()
    journal.settle([])
    assert journal.state().serial == 0


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), at("acme"), b"x"])
def test_what_json_cannot_say_is_refused_by_name(journal: Journal, value: Any) -> None:
    with pytest.raises(StateError, match=r"'title' of acme/space/guides cannot be recorded: it is not plain JSON"):
        journal.remember(bind=[binding(sent={"title": value})])


def test_a_journal_that_failed_once_takes_no_intent_any_more(journal: Journal) -> None:
    with pytest.raises(StateError) as first:
        journal.intend([intent(writes={"title": {1, 2}})])
    with pytest.raises(StateError) as second:
        journal.intend([intent()])
    assert second.value is first.value
    assert journal.state().intents == ()


def test_texts_no_database_can_hold_are_spelled_out_or_refused(store: Store) -> None:
    with store.lease(who="a\udcff\0", command="reconciler \udc80") as journal:
        (one,) = journal.intend([intent()])
        journal.settle([IntentEnding(one.id, "failed", "answered \ud800\0")])
        for broken in ("half \ud800",):
            with pytest.raises(StateError, match="cannot store"):
                journal.remember(bind=[binding(id=broken)])


def test_after_the_lease_nothing_is_written(store: Store) -> None:
    with store.lease(**WHO) as journal:
        pass
    with pytest.raises(StateError, match="was released"):
        journal.intend([intent()])
    assert store.read().intents == ()
