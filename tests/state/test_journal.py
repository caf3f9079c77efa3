"""What each method of the journal changes, and what it leaves alone.

The journal is read back as it was written: runs, entries, what requests met and what was seen after them.
What the journal keeps for later: turns, what the database did not take, lists that were held, how a run ended.
What a method returned for survives; what it raised for never was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import Refused, StateError
from reconciler.model import Before, Origin, Position, StateChange, What
from reconciler.resource import UNSET
from reconciler.state import IntentEnding, Journal, StateScope, Store
from reconciler.state.sqlite import SqliteFile
from tests.state import crash
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, GUIDES, LEGACY, NOW, SERVICE, START, WHO, at, binding, fields_of, intent


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
    assert journal.state().bindings == {GUIDES: binding(id="id-legacy"), START: binding(START, seen={"title": "seen", "new": 1})}


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


def test_the_serial_grows_with_each_record_of_a_run(store: Store) -> None:
    serials = [store.read().serial]
    for writes in (0, 1, 5):
        with store.lease(**WHO) as journal:
            for number in range(writes):
                journal.remember(bind=[binding(sent={"n": number})])
            journal.finish(exit_code=0, summary={"done": writes})
        serials.append(store.read().serial)
    assert serials == [0, 1, 3, 9]


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


MET = Before({"title": None, "emoji": UNSET, "rules": {"a": [1]}}, Position(at("acme"), 2, START), "spc_old")


def test_an_entry_says_what_was_met_and_seen(store: Store) -> None:
    with store.lease(**WHO) as journal:
        (one,) = journal.intend([intent(before=MET)])
        assert journal.state().intents == (one,)
        journal.settle([IntentEnding(one.id, "done", bind=(binding(),), forget=(LEGACY,), after={GUIDES: {"title": "b", "emoji": UNSET}})])
    (entry,) = store.entries(one.run)
    assert (entry.intent, entry.done, entry.bound, entry.forgotten) == (one, True, {GUIDES: "id-guides"}, (LEGACY,))
    assert (entry.intent.before, entry.after) == (MET, {GUIDES: {"title": "b"}})


def test_runs_count_what_was_done_and_what_was_not(store: Store, open_store: OpenStore) -> None:
    with store.lease(**WHO) as first:
        one, two, three = first.intend([intent(step=step) for step in range(3)])
        first.settle([IntentEnding(one.id, "done"), IntentEnding(two.id, "failed", "refused")])
        first.finish(exit_code=5, summary={})
    with store.lease(**WHO) as second:
        second.settle([IntentEnding(three.id, "recovered")])
    found = {run.id: run for run in open_store(create=False).runs()}
    assert (found[first.run].did, found[first.run].undone, found[first.run].exit_code) == ({"create": 2}, {"failed": 1}, 5)
    assert (found[second.run].did, found[second.run].ended, found[second.run].exit_code) == ({}, None, None)
    assert [entry.status for entry in store.entries(first.run)] == ["done", "failed", "recovered"]


def test_a_run_of_another_scope_is_not_seen(store: Store, open_store: OpenStore) -> None:
    from reconciler.state import StateScope
    from tests.state.examples import SERVICE

    with store.lease(**WHO) as journal:
        (one,) = journal.intend([intent()])
    other = open_store(StateScope("another", None, SERVICE))
    assert (other.runs(), other.entries(one.run), other.ids()) == ((), (), frozenset())


def test_a_run_is_found_by_the_saved_plan_that_it_carried_out(store: Store, open_store: OpenStore) -> None:
    with store.lease(**WHO) as first:
        first.carry_out("digest")
    with store.lease(**WHO) as second:
        (one,) = second.intend([intent()])
        second.carry_out("digest")
        second.settle([IntentEnding(one.id, "done")])
        assert second.state().serial == 4
    with store.lease(**WHO) as third:
        third.carry_out("another")
    reader = open_store(create=False)
    assert {(run.id, sum(run.did.values())) for run in reader.users("digest")} == {(first.run, 0), (second.run, 1)}
    assert [run.id for run in reader.users("another")] == [third.run]
    assert reader.users("none") == ()


def test_what_was_recorded_since_a_saved_plan_is_listed_whatever_came_of_it(store: Store) -> None:
    assert store.recorded_by("digest") is None
    with store.lease(**WHO) as first:
        first.carry_out("digest")
    assert store.recorded_by("digest") == frozenset()
    with store.lease(**WHO) as second:
        second.carry_out("digest")
        sent, doubtful, held, lost = second.intend([intent(), intent(START), intent(at("acme/space/held")), intent(at("acme/space/lost"))])
        second.settle([IntentEnding(sent.id, "done", forget=(at("acme/space/inside"),)), IntentEnding(held.id, "not-sent")])
        second.settle([IntentEnding(doubtful.id, "in-doubt")])
    with store.lease(**WHO) as third:
        third.settle([IntentEnding(lost.id, "not-sent"), IntentEnding(doubtful.id, "recovered")])
        third.intend([intent(at("acme/space/later"))])
    names = {address.rpartition("/")[2] for address in store.recorded_by("digest") or ()}
    assert names == {"guides", "start", "inside", "lost", "later"}, "only its own run knows that it sent nothing"


BROKEN = "half \ud800"  # what no database holds


@pytest.fixture
def kept_journal(store: Store) -> Iterator[Journal]:
    with store.lease(**WHO) as kept_journal:
        yield kept_journal


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
    assert store.state_changes(first.run) == (StateChange(What.ADOPT, GUIDES, "space", "id-guides"),)
    assert store.state_changes(second.run) == ((turn,) if turn is not None else ())


def test_what_is_remembered_may_come_from_what_is_read_once(kept_journal: Journal) -> None:
    kept_journal.remember(bind=iter([binding(), binding(START)]))
    kept_journal.remember(forget=iter([GUIDES]))
    assert list(kept_journal.state().bindings) == [START]


def test_a_list_is_held_from_when_it_is_said_and_by_this_run_alone(store: Store, kept_journal: Journal) -> None:
    assert kept_journal.state().held == frozenset()
    kept_journal.hold("space", at("acme"))
    kept_journal.hold("organization", None)
    assert kept_journal.state().held == {("space", at("acme")), ("organization", None)}
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


def test_the_same_list_of_known_ids_is_kept_once_and_another_as_well(kept_journal: Journal) -> None:
    some, more = frozenset({"a", "b"}), frozenset({"c"})
    for known in ([some, some], [some, more], [more], [frozenset()]):
        assert [one.known for one in kept_journal.intend([intent(known=one) for one in known])] == known
    assert [one.known for one in kept_journal.state().intents] == [some, some, some, more, more, frozenset()]


def test_without_an_intent_or_ending_there_is_never_a_transaction(store: Store) -> None:
    with store.lease(**WHO) as kept_journal:
        pass
    assert kept_journal.intend([]) == ()
    kept_journal.settle([])


def test_renames_take_everything_below_along_and_touch_nothing_else(kept_journal: Journal) -> None:
    old, new, other = at("acme/collection/old"), at("acme/collection/new"), at("acme/collection/other")
    kept_journal.remember(bind=[
        binding(old, sent={"a": 1}, place=Position(at("acme"), 0)), binding(other, place=Position(at("acme"), 1)),
        binding(GUIDES, place=Position(old, 0)), binding(START, place=Position(other, 0)),
    ])  # fmt: skip
    before = kept_journal.state().bindings
    kept_journal.remember(rename={other: other})
    assert kept_journal.state().bindings == before
    kept_journal.remember(rename={old: other, other: old})
    after = kept_journal.state().bindings
    assert {one.id: (address, one.place, one.sent) for address, one in after.items()} == {
        "id-old": (other, Position(at("acme"), 0), {"a": 1}), "id-other": (old, Position(at("acme"), 1), {"title": "a"}),
        "id-guides": (GUIDES, Position(other, 0), {"title": "a"}), "id-start": (START, Position(old, 0), {"title": "a"}),
    }  # fmt: skip
    kept_journal.remember(rename={other: new})
    assert kept_journal.state().bindings[GUIDES].place == Position(new, 0)


def test_forgetting_comes_before_renaming_and_that_before_binding_and_placing(kept_journal: Journal) -> None:
    kept_journal.remember(bind=[binding(id="g"), binding(START, id="s")])
    kept_journal.remember(
        forget=[START], rename={GUIDES: START}, bind=[binding(id="new")], places={START: Position(at("acme"), 1)}, protect={GUIDES: True}
    )
    found = kept_journal.state().bindings
    assert (found[START].id, found[START].place, found[GUIDES].id, found[GUIDES].protected) == ("g", Position(at("acme"), 1), "new", True)


def test_a_note_of_nothing_needs_no_binding_and_of_something_does(kept_journal: Journal) -> None:
    kept_journal.note(LEGACY, sent={}, seen={})
    for sent, seen in (({"a": 1}, {}), ({}, {"a": 1})):
        with pytest.raises(StateError, match="acme/space/legacy is not tracked"):
            kept_journal.note(LEGACY, sent=sent, seen=seen)


def test_an_ending_sees_fields_of_many_addresses(kept_journal: Journal) -> None:
    kept_journal.remember(bind=[binding(), binding(START)])
    one, two = kept_journal.intend([intent(), intent(START)])
    kept_journal.settle(
        [IntentEnding(one.id, "done", seen={GUIDES: {"x": 1}}), IntentEnding(two.id, "done", seen={START: {"y": 2}, GUIDES: {"x": 3}})]
    )
    found = kept_journal.state().bindings
    assert (found[GUIDES].seen, found[START].seen) == ({"title": "b", "x": 3}, {"title": "b", "y": 2})


def test_a_whole_state_is_replaced_under_the_lease_alone_and_not_where_something_would_be_lost(
    open_at: OpenStore, store: Store, tmp_path: Path, scope: StateScope
) -> None:
    with store.lease(**WHO) as kept_journal:
        kept_journal.remember(bind=[binding()])
    pulled = store.pull()
    other = open_at(f"sqlite:///{tmp_path}/other.db")
    document = other.check(pulled)
    with other.lease(**WHO) as kept_journal:
        kept_journal.remember(bind=[binding(START)])
        with pytest.raises(Refused):
            kept_journal.replace(document)
        assert list(other.read().bindings) == [START]
        kept_journal.replace(document, force=True)
    assert list(other.read().bindings) == [GUIDES]
    with pytest.raises(StateError, match="was released"):
        kept_journal.replace(document, force=True)


def test_what_a_run_carries_out_is_written_under_the_lease_alone(store: Store) -> None:
    with store.lease(**WHO) as kept_journal:
        pass
    with pytest.raises(StateError, match="was released"):
        kept_journal.carry_out("digest")
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
    with beside.lease(**WHO) as kept_journal:
        (one,) = kept_journal.intend([intent()])
        with pytest.raises(StateError) as caught:
            kept_journal.settle([IntentEnding(one.id, "recovered", bind=(binding(id=BROKEN),))])
        assert "kept" not in caught.value.message
        assert caught.value.__cause__ is None or not isinstance(caught.value.__cause__, StateError)
        assert kept_journal.unsaved_endings() == ()


def test_without_a_place_beside_nothing_is_kept(kept_journal: Journal) -> None:
    assert kept_journal.unsaved_endings() == ()
    kept_journal.discard_unsaved_endings()


def test_the_first_failure_is_the_one_that_is_repeated(kept_journal: Journal) -> None:
    (one,) = kept_journal.intend([intent()])
    errors = []
    for ending in (IntentEnding(one.id, "done", bind=(binding(id=BROKEN),)), IntentEnding(99, "done")):
        with pytest.raises(StateError) as caught:
            kept_journal.settle([ending])
        errors.append(caught.value)
    with pytest.raises(StateError) as told:
        kept_journal.intend([intent()])
    assert told.value is errors[0]


def test_a_transaction_that_failed_raises_no_serial_and_the_next_one_does(kept_journal: Journal) -> None:
    with pytest.raises(StateError):
        kept_journal.remember(bind=[binding(id=BROKEN)])
    assert kept_journal.state().serial == 0
    kept_journal.remember(bind=[binding()])
    assert kept_journal.state().serial == 1


def test_what_was_written_lately_may_be_missing_in_a_list_for_as_long_as_was_said(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    with Store.open(url, StateScope("p", None, SERVICE), clock=CLOCK, create=True, lag=90.0) as store, store.lease(**WHO) as kept_journal:
        (one,) = kept_journal.intend([intent(date=NOW)])
        kept_journal.settle([IntentEnding(one.id, "done", bind=(binding(),))])
        recent = kept_journal.state().recent
    assert list(recent) == [GUIDES]
    assert recent[GUIDES] - NOW >= timedelta(seconds=90)


def test_what_was_deleted_after_that_need_not_be_in_any_list(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    with Store.open(url, StateScope("p", None, SERVICE), clock=CLOCK, create=True, lag=90.0) as store, store.lease(**WHO) as kept_journal:
        for verb, ending in (("create", "done"), ("delete", "recovered")):
            (one,) = kept_journal.intend([intent(verb=verb)])
            kept_journal.settle([IntentEnding(one.id, ending, bind=(binding(),) if verb == "create" else ())])
        assert kept_journal.state().recent == {}
        (one,) = kept_journal.intend([intent(verb="create")])
        kept_journal.settle([IntentEnding(one.id, "done", bind=(binding(),))])
        assert list(kept_journal.state().recent) == [GUIDES]


def test_an_intent_is_open_after_the_process_died_before_its_outcome(url: str, scope: StateScope, open_store: OpenStore) -> None:
    died = crash.run(
        """
with store.lease(**WHO) as journal:
    one, two = journal.intend([intent(), intent(START)])
    journal.settle([IntentEnding(two.id, "done", bind=(binding(START),))])
    os._exit(9)
""",
        url,
        scope,
    )
    assert (died.returncode, died.stderr) == (9, "")
    for create in (False, True):
        found = open_store(create=create).read()
        assert [(one.id, one.address) for one in found.intents] == [(1, GUIDES)]
        assert [str(address) for address in found.bindings] == ["acme/space/start"]
        assert found.serial == 2


def test_a_transaction_cut_by_death_never_was(url: str, scope: StateScope, open_store: OpenStore) -> None:
    died = crash.run(
        """
from tests.state.watched import watched
with store.lease(**WHO) as journal:
    journal.intend([intent()])
    with watched(commit=lambda connection: os._exit(9)):
        journal.settle([IntentEnding(1, "done", bind=(binding(),))])
""",
        url,
        scope,
    )
    assert (died.returncode, died.stderr) == (9, "")
    found = open_store(create=False).read()
    assert (len(found.intents), found.bindings) == (1, {})


def test_a_failing_commit_is_an_error_before_anything_is_sent_and_leaves_nothing(
    url: str, scope: StateScope, open_store: OpenStore
) -> None:
    died = crash.run(
        """
from tests.state.watched import watched
def fail(connection):
    raise OSError(5, "Input/output error")
with store.lease(**WHO) as journal:
    with watched(commit=fail):
        try:
            journal.intend([intent()])
        except Exception as error:
            print(type(error).__name__, error.hint)
    try:
        journal.intend([intent()])
    except Exception as error:
        print("again", type(error).__name__)
with store.lease(**WHO) as journal:
    print(journal.intend([intent()])[0].id, store.read().serial)
""",
        url,
        scope,
    )
    assert died.stdout.splitlines() == [
        "StateError Check the path and its permissions, or name another state with --state.",
        "again StateError",
        "1 1",
    ]
    assert len(open_store(create=False).read().intents) == 1


def test_a_full_disk_is_said_and_what_was_there_stays(tmp_path: Path, open_at: OpenStore) -> None:
    store = open_at(f"sqlite:///{tmp_path}/own.db")
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
        database = store._database
        assert isinstance(database, SqliteFile)
        with database._pool.connection() as connection:  # the one that the journal gets next
            connection.raw.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StateError) as caught:
            journal.intend([intent(writes={"text": "x" * 1_000_000})])
        assert str(caught.value) == f"the state {tmp_path}/own.db cannot grow: the disk is full"
        assert caught.value.hint == "Free some space and run again: nothing is sent that is not in the journal first."
        found = journal.state()
        assert (set(found.bindings), found.intents) == ({GUIDES}, ())


def test_a_write_the_system_refuses_is_said(tmp_path: Path, scope: StateScope, open_at: OpenStore) -> None:
    url = f"sqlite:///{tmp_path}/own.db"
    refused = crash.run(
        """
import resource
with store.lease(**WHO) as journal:
    journal.intend([intent()])
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
    try:
        journal.intend([intent(writes={"text": "x" * 1_000_000})])
    except Exception as error:
        print(type(error).__name__, error)
    print(len(journal.state().intents))
""",
        url,
        scope,
    )
    assert refused.stdout.splitlines() == [
        f"StateError the state {tmp_path}/own.db could not be read or written: the disk reports an error",
        "1",
    ]
    assert len(open_at(url, create=False).read().intents) == 1
