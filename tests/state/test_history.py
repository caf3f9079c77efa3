"""The journal is read back as it was written: runs, entries, what requests met and what was seen after them."""

from __future__ import annotations

from reconciler.model import Before, Position
from reconciler.resource import UNSET
from reconciler.state import IntentEnding, Store
from tests.state.conftest import OpenStore
from tests.state.examples import GUIDES, LEGACY, START, WHO, at, binding, intent

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
        assert second.state().serial == 1
    with store.lease(**WHO) as third:
        third.carry_out("another")
    reader = open_store(create=False)
    assert {(run.id, sum(run.did.values())) for run in reader.users("digest")} == {(first.run, 0), (second.run, 1)}
    assert [run.id for run in reader.users("another")] == [third.run]
    assert reader.users("none") == ()
