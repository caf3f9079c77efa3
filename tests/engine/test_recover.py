"""What an earlier run left in doubt is read, never guessed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from reconciler.kinds import load as kinds
from reconciler.model import Intent
from reconciler.recover import recover
from tests.engine.small import small
from tests.harness import ORGANIZATION, Org

LIST = f"/orgs/{ORGANIZATION}/teams"


def intent(org: Org, **parts: object) -> Intent:
    now = datetime.now(UTC)
    base: dict[str, object] = {
        "id": 0, "run": "", "step": 1, "address": next(one for one in org.load().desired.resources if str(one) == "acme/team/writers"),
        "kind": "team", "verb": "create", "method": "PUT", "path": LIST, "target": None, "writes": {"title": "Writers"},
        "known": frozenset(), "date": now, "deadline": now - timedelta(seconds=60), "lookup": (LIST,),
    }  # fmt: skip
    return Intent(**{**base, **parts})  # type: ignore[arg-type]


def recovered(org: Org, one: Intent, settle: float | None = None) -> tuple[tuple[str, ...], list[float]]:
    """Leave an intent open in one run and recover in the next; what was said, and the waits."""
    waits: list[float] = []

    async def wait(seconds: float, why: str) -> None:
        waits.append(seconds)

    async def run() -> tuple[str, ...]:
        async with org.client() as writer:
            return await recover(writer, kinds(), org.load().desired, journal, settle=settle, wait=wait)

    store = org.store()
    try:
        with store.lease(who="test", command="apply") as journal:
            journal.intend([one])
        with store.lease(who="test", command="apply") as journal:
            return asyncio.run(run()), waits
    finally:
        store.close()


@pytest.fixture
def fresh(org: Org) -> Org:
    org.write(small())
    return org


def test_one_new_object_that_matches_is_ours(fresh: Org) -> None:
    made = fresh.call("PUT", LIST, {"title": "Writers"})
    notes, _ = recovered(fresh, intent(fresh))
    assert notes == (f"acme/team/writers: was made by an earlier run ({made['id']})",)
    assert fresh.id("acme/team/writers") == made["id"]


def test_an_object_that_was_there_before_is_not_ours(fresh: Org) -> None:
    old = fresh.call("PUT", LIST, {"title": "Writers"})
    notes, _ = recovered(fresh, intent(fresh, known=frozenset({old["id"]})))
    assert notes == ("acme/team/writers: was not made",)


def test_several_that_match_stop_and_are_listed(fresh: Org) -> None:
    ids = {fresh.call("PUT", LIST, {"title": "Writers"})["id"] for _ in range(2)}
    (note,), _ = recovered(fresh, intent(fresh))
    assert "still in doubt" in note
    assert all(id in note for id in ids)
    plan = fresh.plan()
    assert [str(address) for address in plan.in_doubt] == ["acme/team/writers"]
    assert not [step for step in plan.steps if str(step.address) == "acme/team/writers"]


def test_absence_is_believed_only_after_deadline_and_settle_time(fresh: Org) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=20)
    notes, waits = recovered(fresh, intent(fresh, deadline=soon), settle=30)
    assert notes == ("acme/team/writers: was not made",)
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
    assert notes == ("acme/space/one: was not made",)
    changed["_pages"] = store.find("space", "spc_blank")["_pages"]
    store.save("space", changed)
    notes, _ = recovered(fresh, mine)
    assert notes == (f"acme/space/one: was made by an earlier run ({copy['id']})",)


def test_an_update_in_doubt_is_planned_afresh(fresh: Org) -> None:
    notes, _ = recovered(fresh, intent(fresh, verb="update", method="PATCH", target="team_x"))
    assert notes == ("acme/team/writers: update is planned afresh",)
