"""`createStrategy: marker`: what is made has a mark for a name first, so that even what comes after the settle time is known as ours."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import httpx2
import pytest

from reconciler.apply.recover import recover
from reconciler.errors import ReconcilerError
from reconciler.kinds import load as kinds
from reconciler.model import Action, StepStatus
from reconciler.resource import POST, Keyed, Listing, Resource, Verbs, field
from tests.harness import ORGANIZATION, Org
from tests.small import described, settled, small
from tests.transports import Onward

TEAMS = f"/orgs/{ORGANIZATION}/teams"
TREE: dict[str, Any] = {"teams": {"writers": {"title": "Writers"}}, "content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}]}


class Marking(Org):
    """An organization whose applies mark what they make. `nth`: the number of a write, from the next one, that is answered with a 502 and
    carried out only when `come_late` is called."""

    nth = 0
    lost: httpx2.Request

    def __post_init__(self) -> None:
        super().__post_init__()
        nonces = count(1)
        self.nonce, self.way = lambda: f"{next(nonces):08x}", self._losing

    async def _losing(self, request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.method == "GET":
            return await onward(request)
        self.nth -= 1
        if self.nth != 0:
            return await onward(request)
        self.lost = request
        return httpx2.Response(502, request=request)

    def come_late(self) -> None:
        """What was taken for lost takes effect now."""
        asyncio.run(self.transport().handle_async_request(self.lost))


@pytest.fixture
def org(tmp_path: Any) -> Marking:
    made = Marking(tmp_path)
    made.write(TREE)
    return made


def titles(org: Org) -> list[str]:
    return sorted(item["title"] for item in org.items(TEAMS))


def test_everything_has_its_declared_name_after_one_apply(org: Marking) -> None:
    org.write(small())
    outcome = org.apply()
    assert [result.error for result in outcome.results if result.status is not StepStatus.DONE] == []
    assert outcome.leftover == ()
    settled(org)


def test_only_kinds_that_say_so_are_marked(org: Marking) -> None:
    assert {kind.name for kind in kinds().values() if "create" in kind.api and kind.api["create"].marker} == {
        "collection", "group", "share-link", "team",
    }  # fmt: skip


def test_the_naming_has_an_intent_of_its_own(org: Marking) -> None:
    org.apply()
    with org.store() as store:
        entries = [entry for run in store.runs() for entry in store.entries(run.id)]
    assert [(one.intent.verb, one.intent.writes["title"], one.status) for one in entries] == [
        ("create", "reconciler:00000001", "done"), ("update", "Writers", "done"),
    ]  # fmt: skip


def test_a_lost_create_is_found_by_its_mark(org: Marking) -> None:
    org.nth = 1
    org.apply()
    org.come_late()
    assert titles(org) == ["reconciler:00000001"]
    org.apply()
    assert titles(org) == ["Writers"]
    settled(org)


def test_a_lost_naming_is_made_good(org: Marking) -> None:
    org.nth = 2
    outcome = org.apply()
    org.apply()
    assert titles(org) == ["Writers"]
    settled(org)
    assert outcome.results[0].step.verb == "create"


def test_what_comes_after_it_was_made_again_is_deleted_by_the_next_run_and_the_plan_shows_it(org: Marking) -> None:
    org.nth = 1
    org.apply()
    org.apply()
    assert titles(org) == ["Writers"]
    org.come_late()
    assert titles(org) == ["Writers", "reconciler:00000001"]
    (change,) = org.plan().changes
    assert change.actions == (Action.DELETE,)
    assert change.reason == "created for acme/team/writers by a late request of an earlier run"
    org.apply()
    assert titles(org) == ["Writers"]
    settled(org)


def test_an_object_that_arrives_before_it_is_recreated_is_tracked_and_named(org: Marking) -> None:
    org.nth = 1
    org.apply()
    store = org.store()
    with store.lease(who="test", command="apply") as journal:  # a run that gave up waiting, and then died

        async def give_up() -> None:
            async with org.client() as writer:
                await recover(writer, kinds(), org.load().desired, journal, settle=None)

        asyncio.run(give_up())
    store.close()
    org.come_late()
    assert described(org.plan()) == ["acme/team/writers: update adopt title"]
    org.apply()
    assert titles(org) == ["Writers"]
    assert [binding.origin.value for binding in org.remembered().bindings.values() if binding.kind == "team"] == ["recovered"]
    settled(org)


def test_what_came_late_for_something_that_is_no_longer_declared_is_deleted(org: Marking) -> None:
    org.nth = 1
    org.apply()
    org.write({**TREE, "teams": {"readers": {"title": "Readers"}}})
    org.apply()
    org.come_late()
    org.apply()
    assert titles(org) == ["Readers"]


def test_a_strange_mark_is_nobodys(org: Marking) -> None:
    org.apply()
    org.call("PUT", TEAMS, {"title": "reconciler:deadbeef"})
    assert described(org.plan()) == []
    org.apply()
    assert titles(org) == ["Writers", "reconciler:deadbeef"]


def test_a_late_collection_that_somebody_has_filled_stays(org: Marking) -> None:
    base = f"/orgs/{ORGANIZATION}/collections"
    org.write({**TREE, "content": [*TREE["content"], {"collection": "product", "title": "Product"}], "teams": {}})
    org.nth = 1
    org.apply()
    org.apply()
    org.come_late()
    late = next(item for item in org.items(base) if item["title"] == "reconciler:00000001")
    copy = org.call("POST", "/spaces/spc_blank/duplicate")
    org.call("POST", f"/spaces/{copy['id']}/move", {"parent": late["id"]})
    (blocked,) = org.plan().blocked
    assert "still contains" in blocked.reason
    org.call("DELETE", f"/spaces/{copy['id']}")
    org.apply()
    assert [one["title"] for one in org.items(base)] == ["Product"]


def test_a_mark_that_no_later_verb_can_replace_is_refused() -> None:
    with pytest.raises(ReconcilerError, match="has marker='title'"):

        class Odd(Resource, kind="odd", place=Keyed("odds")):
            """Odd."""

            reads = (Listing("/odds"),)
            api = Verbs(create=POST("/odds", marker="title"))
            title: str = field("The name.", key=True, required=True)


def test_the_strategy_is_written_in_the_project(org: Marking) -> None:
    assert not org.load().settings.marks
    org.write(TREE, recovery={"createStrategy": "marker"})
    assert org.load().settings.marks
