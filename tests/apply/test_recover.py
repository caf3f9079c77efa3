"""What an earlier run left in doubt is read, never guessed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.address import Address
from reconciler.apply import ApplyOptions, apply
from reconciler.apply.recover import recover
from reconciler.kinds import load as kinds
from reconciler.model import Intent, Outcome, StepStatus
from reconciler.model.codec import observed
from reconciler.observe import observe
from reconciler.plan.planner import plan
from reconciler.state import LEASE_SECONDS, IntentEnding, Journal
from tests.harness import ORGANIZATION, Org
from tests.small import applied, small
from tests.state.watched import watched
from tests.transports import Onward, Way

LIST = f"/orgs/{ORGANIZATION}/teams"


def intent(org: Org, **parts: object) -> Intent:
    now = datetime.now(UTC)
    base: dict[str, object] = {
        "id": 0, "run": "", "step": 1, "address": next(one for one in org.load().desired.resources if str(one) == "acme/team/writers"),
        "kind": "team", "verb": "create", "method": "PUT", "path": LIST, "target": None, "writes": {"title": "Writers"},
        "known": frozenset(), "date": now, "deadline": now - timedelta(seconds=60), "lookup": (LIST,),
    }  # fmt: skip
    return Intent(**{**base, **parts})  # type: ignore[arg-type]


def recovered(
    org: Org,
    *open: Intent,
    settle: float | None = None,
    meanwhile: Callable[[], object] = lambda: None,
    failing: tuple[str, ...] = (),
) -> tuple[tuple[str, ...], list[float]]:
    """Leave intents open in one run and recover in the next; what was said, and the waits.

    `meanwhile`: happens while it waits. `failing`: last segments of paths that answer 403.
    """
    waits: list[float] = []

    async def wait(seconds: float, why: str) -> None:
        waits.append(seconds)
        await asyncio.to_thread(meanwhile)

    async def run() -> tuple[str, ...]:
        async with org.client(failing=failing) as writer:
            return await recover(writer, kinds(), org.load().desired, journal, settle=settle, wait=wait)

    with org.store() as store:
        with store.lease(who="test", command="apply") as journal:
            journal.intend(open)
        with store.lease(who="test", command="apply") as journal:
            return asyncio.run(run()), waits


@pytest.fixture
def fresh(org: Org) -> Org:
    org.write(small())
    return org


def test_one_new_object_that_matches_is_ours(fresh: Org) -> None:
    made = fresh.call("PUT", LIST, {"title": "Writers"})
    notes, _ = recovered(fresh, intent(fresh))
    assert notes == (f"acme/team/writers: was created by an earlier run ({made['id']})",)
    assert fresh.id("acme/team/writers") == made["id"]


def test_an_object_that_was_there_before_is_not_ours(fresh: Org) -> None:
    notes, _ = recovered(fresh, intent(fresh, known=frozenset({fresh.call("PUT", LIST, {"title": "Writers"})["id"]})))
    assert notes == ("acme/team/writers: was not created",)


def test_a_new_object_of_another_natural_key_is_not_ours(fresh: Org) -> None:
    fresh.call("PUT", LIST, {"title": "Readers"})
    notes, _ = recovered(fresh, intent(fresh))
    assert notes == ("acme/team/writers: was not created",)


def test_an_object_tracked_elsewhere_is_not_ours(made: Org) -> None:
    notes, _ = recovered(made, intent(made, address=Address.parse("acme/team/authors")))
    assert notes == ("acme/team/authors: was not created",)


def test_several_that_match_stop_and_are_listed(fresh: Org) -> None:
    ids = {fresh.call("PUT", LIST, {"title": "Writers"})["id"] for _ in range(2)}
    (note,), _ = recovered(fresh, intent(fresh))
    assert "still in doubt" in note
    assert all(id in note for id in ids)
    plan = fresh.plan()
    assert [str(address) for address in plan.in_doubt] == ["acme/team/writers"]
    assert not [step for step in plan.steps if str(step.address) == "acme/team/writers"]


def test_absence_is_believed_only_after_deadline_and_settle_time(fresh: Org) -> None:
    notes, waits = recovered(fresh, intent(fresh, deadline=datetime.now(UTC) + timedelta(seconds=20)), settle=30)
    assert notes == ("acme/team/writers: was not created",)
    assert len(waits) == 1
    assert 45 < waits[0] < 51


def test_what_is_found_needs_no_waiting(fresh: Org) -> None:
    fresh.call("PUT", LIST, {"title": "Writers"})
    _, waits = recovered(fresh, intent(fresh, deadline=datetime.now(UTC) + timedelta(seconds=20)), settle=30)
    assert waits == []


def test_an_unreadable_list_leaves_it_in_doubt(fresh: Org) -> None:
    (note,), _ = recovered(fresh, intent(fresh, lookup=("/orgs/org_unknown/teams",)))
    assert note.startswith("acme/team/writers: still in doubt")


def test_a_copy_whose_pages_differ_is_somebody_elses(fresh: Org) -> None:
    copy = fresh.call("POST", "/spaces/spc_blank/duplicate")
    space = next(one for one in fresh.load().desired.resources if str(one) == "acme/space/one")
    reading = f"/orgs/{ORGANIZATION}/members/usr_ada/spaces"
    mine = intent(
        fresh, address=space, kind="space", target="spc_blank", path="/spaces/spc_blank/duplicate", writes={},
        known=frozenset({"spc_blank"}), lookup=(reading,),
    )  # fmt: skip
    store = fresh.app.state.service.store
    changed = store.find("space", copy["id"])
    changed["_pages"][0]["title"] = "Something else"
    store.save("space", changed)
    notes, _ = recovered(fresh, mine)
    assert notes[0] == "acme/space/one: was not created"
    assert notes[1].startswith(f"{copy['id']}: new, but not a copy of the source")
    changed["_pages"] = store.find("space", "spc_blank")["_pages"]
    store.save("space", changed)
    notes, _ = recovered(fresh, mine)
    assert notes == (f"acme/space/one: was created by an earlier run ({copy['id']})",)


def address(org: Org, name: str) -> Address:
    return next(one for one in org.load().desired.resources if str(one) == name)


@pytest.fixture
def made(org: Org) -> Org:
    """Everything of the small organization is there and bound."""
    applied(org, small())
    return org


SOON = timedelta(seconds=20)


def written(org: Org, name: str, verb: str, reading: str, **parts: object) -> Intent:
    """A request for an object that is there, whose answer was lost."""
    at = address(org, name)
    return intent(
        org, address=at, kind=at.kind, verb=verb, method="PATCH", path=reading, target=org.id(name), lookup=(reading,),
        deadline=datetime.now(UTC) + SOON, **{"writes": {}, **parts},
    )  # fmt: skip


def test_an_update_that_was_done_is_remembered_as_sent(made: Org) -> None:
    team = made.id("acme/team/writers")
    made.call("PATCH", f"{LIST}/{team}", {"title": "Authors"})
    notes, waits = recovered(made, written(made, "acme/team/writers", "update", f"{LIST}/{team}", writes={"title": "Authors"}), settle=30)
    assert notes == ("acme/team/writers: update was done by an earlier run",)
    assert waits == []
    binding = made.remembered().bindings[address(made, "acme/team/writers")]
    assert (binding.sent["title"], binding.seen["title"]) == ("Authors", "Authors")


def test_an_update_that_is_not_seen_is_planned_again_only_when_it_can_no_longer_arrive(made: Org) -> None:
    team = made.id("acme/team/writers")
    notes, (wait,) = recovered(made, written(made, "acme/team/writers", "update", f"{LIST}/{team}", writes={"title": "Authors"}), settle=30)
    assert notes == ("acme/team/writers: update is planned again",)
    assert 45 < wait < 52


def late(org: Org, name: str, verb: str, reading: str, method: str, path: str, body: object = None, **parts: object) -> tuple[str, ...]:
    """What recovery says of a write that takes effect while it waits."""
    notes, waits = recovered(org, written(org, name, verb, reading, **parts), settle=30, meanwhile=lambda: org.call(method, path, body))
    assert len(waits) == 1
    return notes


def test_a_late_update_is_seen_before_anything_is_planned(made: Org) -> None:
    one = f"{LIST}/{made.id('acme/team/writers')}"
    assert late(made, "acme/team/writers", "update", one, "PATCH", one, {"title": "Authors"}, writes={"title": "Authors"}) == (
        "acme/team/writers: update was done by an earlier run",
    )


def test_a_late_delete_is_seen_before_its_address_is_planned(made: Org) -> None:
    one = f"{LIST}/{made.id('acme/team/writers')}"
    assert late(made, "acme/team/writers", "delete", one, "DELETE", one) == ("acme/team/writers: delete was done by an earlier run",)
    assert [f"{step.verb} {step.address}" for step in made.plan().steps][:1] == ["create acme/team/writers"]


def test_a_late_restore_is_seen(made: Org) -> None:
    one = f"/spaces/{made.id('acme/space/one')}"
    made.call("DELETE", one)
    notes = late(made, "acme/space/one", "restore", one, "POST", f"{one}/restore", {})
    assert notes == ("acme/space/one: restore was done by an earlier run",)


def test_a_late_move_is_waited_for_and_the_order_then_planned_from_a_new_reading(made: Org) -> None:
    two, four = made.id("acme/space/two"), made.id("acme/space/four")
    body = {"parent": made.id("acme/collection/product"), "position": {"after": {"type": "space", "space": four}}}
    notes = late(made, "acme/space/two", "move", f"/spaces/{two}", "POST", f"/spaces/{two}/move", body)
    assert notes == ("acme/space/two: move is planned again",)
    assert {step.verb for step in made.plan().steps} == {"move"}


def test_an_object_in_the_right_collection_may_still_be_moved_within_it(made: Org) -> None:
    two, product = made.id("acme/space/two"), made.id("acme/collection/product")
    notes, waits = recovered(made, written(made, "acme/space/two", "move", f"/spaces/{two}", writes={"parent": product}), settle=30)
    assert notes == ("acme/space/two: move is planned again",)
    assert len(waits) == 1


def test_what_a_list_alone_shows_is_looked_for_there(made: Org) -> None:
    site, section = made.id("acme/site/docs"), made.id("acme/site/docs/section/more")
    reading = f"/orgs/{ORGANIZATION}/sites/{site}/sections"
    made.call("DELETE", f"{reading}/{section}")
    notes, waits = recovered(made, written(made, "acme/site/docs/section/more", "delete", reading), settle=30)
    assert notes == ("acme/site/docs/section/more: delete was done by an earlier run",)
    assert waits == []


def test_a_reading_that_fails_leaves_a_write_in_doubt(made: Org) -> None:
    (note,), _ = recovered(made, written(made, "acme/team/writers", "update", "/orgs/org_unknown/teams", writes={"title": "A"}))
    assert note.startswith("acme/team/writers: still in doubt")


@pytest.mark.parametrize("verb", ["update", "delete"])
def test_an_object_that_cannot_be_read_is_neither_there_nor_gone(made: Org, verb: str) -> None:
    team = made.id("acme/team/writers")
    (note,), _ = recovered(made, written(made, "acme/team/writers", verb, f"{LIST}/{team}", writes={"title": "A"}), failing=(team,))
    assert note.startswith("acme/team/writers: still in doubt")


def test_all_that_must_be_waited_for_is_waited_for_once(fresh: Org) -> None:
    soon, later = datetime.now(UTC) + timedelta(seconds=5), datetime.now(UTC) + timedelta(seconds=20)
    other = address(fresh, "acme/site/docs")
    two = intent(fresh, address=other, kind="site", writes={"title": "Docs"}, lookup=(f"/orgs/{ORGANIZATION}/sites",), deadline=later)
    notes, waits = recovered(fresh, intent(fresh, deadline=soon), two, settle=30)
    assert len(waits) == 1
    assert 45 < waits[0] < 52
    assert notes == ("acme/team/writers: was not created", "acme/site/docs: was not created")


@contextmanager
def read_states() -> Iterator[list[str]]:
    """The statements of this block that read all fields of a state."""
    readings: list[str] = []

    with watched(lambda _, text, __: readings.extend([text] if "FROM fields" in text else [])):
        yield readings


def test_the_state_is_read_once_however_many_requests_are_in_doubt(made: Org) -> None:
    with read_states() as readings:
        notes, _ = recovered(made, *(intent(made, verb=verb) for verb in ("create", "update", "update", "update")))
    assert len(notes) == 4
    assert len(readings) == 1


def test_an_apply_that_has_nothing_to_send_reads_the_state_once(made: Org) -> None:
    with read_states() as readings:
        outcome = made.apply()
    assert (outcome.plan.steps, outcome.requests, outcome.went_through) == ((), 0, True)
    assert len(readings) == 1


def test_an_absence_is_read_twice(fresh: Org) -> None:
    _, (wait,) = recovered(fresh, intent(fresh, deadline=datetime.now(UTC) - timedelta(days=1)), settle=30)
    assert wait == 1.0


def test_where_a_list_could_not_be_read_nothing_else_is_made_in_it(fresh: Org) -> None:
    tree = small()
    tree["teams"]["readers"] = {"title": "Readers"}
    fresh.write(tree)
    with fresh.store() as store, store.lease(who="test", command="apply") as journal:
        journal.intend([intent(fresh, lookup=("/orgs/org_unknown/teams",))])
    outcome = fresh.apply()
    assert {"acme/team/writers", "acme/team/readers"} <= {str(refusal.address) for refusal in outcome.plan.blocked}
    assert fresh.items(LIST) == []
    assert "acme/site/docs" in {str(result.step.address) for result in outcome.results}


def copies(org: Org, count: int) -> list[Intent]:
    reading = f"/orgs/{ORGANIZATION}/members/usr_ada/spaces"
    return [
        intent(
            org, address=address(org, f"acme/space/{name}"), kind="space", target="spc_blank", path="/spaces/spc_blank/duplicate",
            writes={}, known=frozenset({"spc_blank"}), lookup=(reading,),
        )
        for name in ("one", "two", "three")[:count]
    ]  # fmt: skip


def test_of_three_copies_in_doubt_the_existing_ones_are_tracked_and_the_rest_was_not_created(fresh: Org) -> None:
    ids = {fresh.call("POST", "/spaces/spc_blank/duplicate")["id"] for _ in range(2)}
    notes, _ = recovered(fresh, *copies(fresh, 3))
    assert [note.split(": ")[1][:8] for note in notes] == ["was crea", "was crea", "was not "]
    assert {fresh.id("acme/space/one"), fresh.id("acme/space/two")} == ids


def test_a_copy_that_is_still_missing_is_waited_for_though_another_is_there(fresh: Org) -> None:
    fresh.call("POST", "/spaces/spc_blank/duplicate")
    notes, waits = recovered(
        fresh, *copies(fresh, 2), settle=30, meanwhile=lambda: fresh.call("POST", "/spaces/spc_blank/duplicate")
    )  # fmt: skip
    assert len(waits) == 1
    assert all("was created by an earlier run" in note for note in notes)


def test_more_copies_than_were_asked_for_stop(fresh: Org) -> None:
    for _ in range(3):
        fresh.call("POST", "/spaces/spc_blank/duplicate")
    notes, _ = recovered(fresh, *copies(fresh, 2))
    assert all("still in doubt" in note and "reconciler adopt" in note for note in notes)


def test_copies_of_two_sources_with_the_same_pages_differ_by_their_titles(fresh: Org) -> None:
    other = fresh.call("POST", "/spaces/spc_blank/duplicate")["id"]
    fresh.call("PATCH", f"/spaces/{other}", {"title": "Blank handbook"})
    made = fresh.call("POST", f"/spaces/{other}/duplicate")["id"]
    known = frozenset({"spc_blank", other})
    of_blank, of_other = copies(fresh, 2)
    notes, _ = recovered(fresh, replace(of_blank, known=known), replace(of_other, known=known, target=other))
    assert notes == ("acme/space/one: was not created", f"acme/space/two: was created by an earlier run ({made})")


def test_copies_whose_titles_tell_nothing_stay_in_doubt(fresh: Org) -> None:
    other = fresh.call("POST", "/spaces/spc_blank/duplicate")["id"]
    fresh.call("PATCH", f"/spaces/{other}", {"title": "Handbook"})
    made = fresh.call("POST", f"/spaces/{other}/duplicate")["id"]
    fresh.call("PATCH", f"/spaces/{made}", {"title": "Untitled"})
    known = frozenset({"spc_blank", other})
    of_blank, of_other = copies(fresh, 2)
    notes, _ = recovered(fresh, replace(of_blank, known=known), replace(of_other, known=known, target=other))
    assert all("still in doubt" in note and "which have the same pages" in note for note in notes)


def test_a_request_says_where_its_effect_is_seen(made: Org) -> None:
    tree = small()
    tree["teams"]["writers"]["title"] = "Authors"
    tree["sites"]["docs"]["structure"][2]["title"] = "Still more"
    made.write(tree)
    made.apply()
    with made.store() as store:
        entries = [entry.intent for run in store.runs()[:1] for entry in store.entries(run.id)]
    team, site = made.id("acme/team/writers"), made.id("acme/site/docs")
    assert {str(one.address): one.lookup for one in entries} == {
        "acme/team/writers": (f"{LIST}/{team}",),
        "acme/site/docs/section/more": (f"/orgs/{ORGANIZATION}/sites/{site}/sections",),
    }


def answering(odd: Mapping[str, object]) -> Way:
    """Answers writes with the id and nothing else as it should be."""

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        answer = await onward(request)
        if request.method == "GET":
            return answer
        await answer.aread()
        return httpx2.Response(answer.status_code, json={"id": answer.json()["id"], **odd}, request=request)

    return way


ONE_TEAM = {"teams": {"writers": {"title": "Writers"}}}


@pytest.mark.parametrize("odd", [{}, {"title": 7}, {"title": None, "members": "many"}, {"title": ["x"], "createdAt": {}}])
def test_an_id_is_stored_whatever_else_the_answer_says(tmp_path: Path, odd: dict[str, object]) -> None:
    org = Org(tmp_path)
    org.write(ONE_TEAM)
    org.way = answering(odd)
    org.apply()
    org.way = None
    assert org.id("acme/team/writers") == org.items(LIST)[0]["id"]
    org.apply()
    assert len(org.items(LIST)) == 1
    assert org.plan().empty


@pytest.mark.parametrize("odd", [{"object": "checkout"}, {"object": None}, {"id": 7}, {"id": None}])
def test_an_answer_that_is_something_else_leaves_a_create_in_doubt_until_it_is_read(tmp_path: Path, odd: dict[str, object]) -> None:
    org = Org(tmp_path)
    org.write(ONE_TEAM)
    org.way = answering(odd)
    outcome = org.apply()
    org.way = None
    assert [result.status for result in outcome.results] == [StepStatus.IN_DOUBT]
    assert [str(address) for address in org.plan().in_doubt] == ["acme/team/writers"]
    org.apply()
    assert len(org.items(LIST)) == 1
    assert org.plan().empty


ODD: list[object] = [None, 0, 1.5, True, "x", [], [1], [None], [[]], [{}], {}, {"id": 3}, {"type": None}, {"type": {}}, {"origin": []}]


def test_no_answer_is_too_odd_to_be_read() -> None:
    for kind in kinds().values():
        for key in {*(field.wire for field in kind.fields.values()), *kind.fields, "deletedAt", "user", "proxy", "urls", "sectionGroup"}:
            for value in ODD:
                raw = {kind.id_is: "it"} | ({key: value} if key != kind.id_is else {})
                assert observed(kinds(), kind, raw, within={}).id == (kind.name if kind.one_per else "it")


class Standing:
    """A journal of a run that stands still after each intent, for longer than its request may take."""

    def __init__(self, journal: Journal, seconds: float) -> None:
        self._journal, self._seconds = journal, seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def commit(self, intents: Sequence[Intent], endings: Sequence[IntentEnding]) -> tuple[Intent, ...]:
        written = self._journal.commit(intents, endings)
        time.sleep(self._seconds if intents else 0.0)
        return written


def test_a_run_that_stood_still_past_its_deadline_sends_nothing(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write(ONE_TEAM)
    desired, store = org.load().desired, org.store()

    async def run(journal: Any) -> Outcome:
        async with org.client() as writer:
            actual = await observe(writer, kinds(), desired, journal.state())
            return await apply(
                writer, kinds(), desired, plan(kinds(), desired, journal.state(), actual), actual, journal, ApplyOptions(deadline=0.2)
            )

    with store.lease(who="test", command="apply") as journal:
        outcome = asyncio.run(run(Standing(journal, 1.6)))
        assert journal.state().intents == ()
    store.close()
    assert [(result.status, result.error) for result in outcome.results] == [
        (StepStatus.FAILED, "not sent: its deadline passed while this run was paused")
    ]  # fmt: skip
    assert [method for method, _ in org.requests if method != "GET"] == []


def test_a_deadline_is_over_before_another_run_can_hold_the_lease(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write(ONE_TEAM)
    desired, store = org.load().desired, org.store()

    async def run(journal: Journal) -> None:
        async with org.client() as writer:
            actual = await observe(writer, kinds(), desired, journal.state())
            await apply(
                writer, kinds(), desired, plan(kinds(), desired, journal.state(), actual), actual, journal, ApplyOptions(deadline=3600.0)
            )

    with store.lease(who="test", command="apply") as journal:
        asyncio.run(run(journal))
    (entry,) = [one for run_ in store.runs() for one in store.entries(run_.id)]
    store.close()
    assert entry.intent.deadline is not None
    assert entry.intent.deadline - entry.at < timedelta(seconds=LEASE_SECONDS - 20)


NESTED = {"content": [{"collection": "product", "title": "Product", "content": [{"collection": "deep", "title": "Deep"}]}]}


@pytest.mark.parametrize("done", [True, False])
def test_a_create_without_an_answer_is_sent_once(tmp_path: Path, done: bool) -> None:
    org = Org(tmp_path)
    org.write(NESTED)
    asked: list[str] = []

    async def unanswered(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.method not in ("PUT", "POST"):
            return await onward(request)
        asked.append(request.method)
        if done:
            await (await onward(request)).aread()
        return httpx2.Response(502, json={}, request=request)

    org.way = unanswered
    outcome = org.apply()
    assert [(str(result.step.address), result.status) for result in outcome.results] == [
        ("acme/collection/product", StepStatus.IN_DOUBT), ("acme/collection/deep", StepStatus.SKIPPED)
    ]  # fmt: skip
    assert len(asked) == 1
    assert [str(address) for address in org.plan().in_doubt] == ["acme/collection/product"]
    org.way = None
    org.apply()
    assert len(org.items(f"/orgs/{ORGANIZATION}/collections")) == 2
    assert org.plan().empty
