"""A delete that the service answered is not believed before a reading shows that its object does not exist any more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.exits import DONE, PARTLY
from reconciler.model import Outcome, StepStatus
from reconciler.report.documents import outcome_document
from reconciler.report.outcome import outcome_sheet
from reconciler.report.sheet import sheet_text
from reconciler.run.codes import of_outcome
from tests.harness import Org, Still, entries
from tests.small import applied, described, node, small
from tests.transports import Onward, Way

Change = Callable[[dict[str, Any]], object]

REMOVALS: dict[str, tuple[Change, str]] = {
    "member": (lambda tree: tree["members"].pop("linus@acme.example"), "acme/member/linus@acme.example"),
    "team": (lambda tree: tree["teams"].pop("editors"), "acme/team/editors"),
    "share-link": (lambda tree: tree["sites"]["docs"].pop("shareLinks"), "acme/site/docs/share-link/partners"),
    "openapi": (lambda tree: tree.pop("openapi"), "acme/openapi/pets"),
    "saml": (lambda tree: tree["saml"].pop("other"), "acme/saml/other"),
    "site": (lambda tree: tree["sites"].pop("flat"), "acme/site/flat"),
    "site-space": (lambda tree: node(tree, "more")["spaces"].pop(), "acme/site/docs/site-space/more-six"),
    "section": (lambda tree: tree["sites"]["docs"]["structure"].pop(), "acme/site/docs/section/more"),
    "group": (lambda tree: tree["sites"]["docs"]["structure"].pop(2), "acme/site/docs/group/empty"),
    "space": (lambda tree: tree["content"].pop(), "acme/space/seven"),
    "space in a collection": (lambda tree: node(tree, "other")["content"].pop(), "acme/space/eight"),
    "collection": (lambda tree: tree["content"].pop(3), "acme/collection/empty"),
}
"""What is taken out of the files, with the address of what the plan deletes for it."""


def full() -> dict[str, Any]:
    """The small organization, with something of every kind that can be deleted without anything else."""
    tree = small()
    tree["saml"]["other"] = {**tree["saml"]["okta"], "label": "Other", "entityID": "http://other.example/1"}
    tree["teams"]["writers"]["members"] = ["ada@acme.example"]  # nothing refers to the other member
    tree["teams"]["editors"] = {"title": "Editors"}
    tree["content"].insert(3, {"collection": "empty", "title": "Empty"})
    tree["content"].append({"space": "seven", "title": "Seven"})
    node(tree, "other")["content"].append({"space": "eight", "title": "Eight"})
    tree["sites"]["docs"]["structure"].insert(2, {"group": "empty", "title": "Empty"})
    node(tree, "more")["spaces"].append({"key": "more-six", "space": "six"})
    return tree


def ignoring(status: int, *, after: int = 0) -> Way:
    """Answers deletes without carrying them out; the first `after` of them are carried out."""
    passed = 0

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        nonlocal passed
        if request.method != "DELETE" or passed < after:
            passed += request.method == "DELETE"
            return await onward(request)
        return httpx2.Response(status, request=request)

    return way


def unreadable(status: int, end: str) -> Way:
    """Refuses to show paths with that end once a delete was sent."""
    sent = False

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        nonlocal sent
        sent = sent or request.method == "DELETE"
        if sent and request.method == "GET" and end in request.url.path:
            return httpx2.Response(status, json={"error": {"code": status, "message": "not now"}}, request=request)
        return await onward(request)

    return way


@pytest.fixture
def org(tmp_path: Path) -> Org:
    return Org(tmp_path, settle=4.0, clock=Still())


def removed(org: Org, name: str, way: Way | None) -> Outcome:
    """The apply of a removal, before a service that behaves in a way."""
    org.way = None
    applied(org, full())
    change, _ = REMOVALS[name]
    tree = full()
    change(tree)
    org.write(tree, removed=[{"address": "acme/member/linus@acme.example", "action": "delete"}] if name == "member" else None)
    org.way = way
    return org.apply()


@pytest.mark.parametrize("status", [202, 204])
@pytest.mark.parametrize("name", REMOVALS)
def test_what_is_still_shown_was_asked_for_and_stays_tracked(org: Org, name: str, status: int) -> None:
    outcome, address = removed(org, name, ignoring(status)), REMOVALS[name][1]
    (result,) = [result for result in outcome.results if str(result.step.address) == address]
    assert result.status is StepStatus.ASKED
    assert f"answered {status}" in str(result.error)
    assert of_outcome(outcome) == PARTLY
    assert not outcome.went_through
    assert (outcome.leftover, outcome.edited, outcome.not_visible, outcome.unverified) == ((), (), (), ())

    shown = "".join(span.text for span in sheet_text(outcome_sheet(outcome)))
    assert "asked for, not done" in shown
    assert "The plan is now empty" not in shown
    document = outcome_document(outcome)
    assert document["summary"]["asked"] == 1
    asked = [(step["status"], step["cause"]) for step in document["steps"] if step["address"] == address]
    assert asked == [("asked", "RC-asked-not-done")]

    state = org.remembered()
    assert address in map(str, state.bindings)
    assert state.intents == ()
    deletes = [entry for entry in entries(org, outcome.run) if entry.intent.verb == "delete"]
    assert [entry.status for entry in deletes if str(entry.intent.address) == address] == ["failed"]
    # The next run asks again, and a service that does it then ends the matter.
    assert [step.address for step in org.plan().steps if step.verb == "delete"] == [result.step.address]
    org.way = None
    assert of_outcome(org.apply()) == DONE
    assert address not in map(str, org.remembered().bindings)
    assert described(org.plan()) == []


@pytest.mark.parametrize("name", REMOVALS)
def test_a_delete_that_cannot_be_read_again_is_in_doubt_until_it_can(org: Org, name: str) -> None:
    address = REMOVALS[name][1]
    outcome = removed(org, name, unreadable(403, "/"))
    (result,) = [result for result in outcome.results if str(result.step.address) == address]
    assert result.status is StepStatus.IN_DOUBT
    assert of_outcome(outcome) == PARTLY
    assert address in map(str, org.remembered().bindings)
    org.way = None
    assert of_outcome(org.apply()) == DONE
    assert address not in map(str, org.remembered().bindings)
    assert described(org.plan()) == []


def test_a_delete_costs_one_reading_and_several_of_one_list_share_it(org: Org) -> None:
    org.write({"teams": {name: {"title": name} for name in ("one", "two", "three")}, "members": small()["members"]})
    org.apply()
    org.requests.clear()
    org.write({"teams": {}, "members": small()["members"]})
    assert of_outcome(org.apply()) == DONE
    sent = [method for method, _ in org.requests].index("DELETE")
    assert [request for request in org.requests[sent:] if request[0] == "GET"] == [("GET", "/orgs/org_acme/teams")]


def test_what_a_delete_protects_is_not_opened_before_the_delete_is_proved(org: Org) -> None:
    """A link into a site is deleted, and the site then shows something confidential: a link that stays open must stop that."""
    tree = small()
    tree["sites"] = {
        "docs": {
            "title": "Docs", "visibility": "share-link", "published": True,
            "structure": [{"space": "one"}], "shareLinks": {"partners": {"name": "Partners", "active": True}},
        }
    }  # fmt: skip
    tree.pop("defaultContent")
    org.write(tree)
    org.apply()
    del tree["sites"]["docs"]["shareLinks"]
    tree["sites"]["docs"]["structure"] = [{"space": "one"}, {"space": "two"}]
    org.write(tree)
    org.way = ignoring(204)
    org.requests.clear()
    outcome = org.apply()
    ended = {(str(result.step.address), result.step.verb): result.status for result in outcome.results}
    assert ended["acme/site/docs/share-link/partners", "delete"] is StepStatus.ASKED
    assert ended["acme/site/docs/site-space/two", "create"] is StepStatus.SKIPPED
    assert "POST" not in [method for method, _ in org.requests]


def test_what_survives_the_delete_of_its_container_stays_tracked(org: Org) -> None:
    """A service that keeps the variants of a section that it deletes, in the first section."""
    kept: list[dict[str, Any]] = []

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        end = request.url.path.rsplit("/", 2)[1:]
        if request.method == "DELETE" and end[0] == "sections":
            sections = (await org._call("GET", request.url.path.removeprefix("/v1").rsplit("/", 1)[0], None))["items"]
            kept.extend(next(section for section in sections if section["id"] == end[1])["siteSpaces"][:1])
        answer = await onward(request)
        if request.method == "GET" and end[-1] == "sections" and kept:
            document = json.loads(await answer.aread())
            document["items"][0]["siteSpaces"] += kept
            return httpx2.Response(200, json=document, request=request)
        return answer

    outcome = removed(org, "section", way)
    (result,) = [result for result in outcome.results if result.step.verb == "delete"]
    assert result.status is StepStatus.ASKED
    assert "still shows acme/site/docs/site-space/more-five" in str(result.error)
    more = ("acme/site/docs/section/more", "acme/site/docs/site-space/more-five", "acme/site/docs/site-space/more-six")
    assert {*more} & {*map(str, org.remembered().bindings)} == {more[1]}
    assert [(str(step.address), step.verb) for step in org.plan().steps] == [(more[1], "delete")]


def test_a_delete_in_doubt_that_did_nothing_is_asked_for_again(org: Org) -> None:
    ignore, hide = ignoring(204), unreadable(403, "/")

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        async def beyond(request: httpx2.Request) -> httpx2.Response:
            return await ignore(request, onward)

        return await hide(request, beyond)

    assert [result.status for result in removed(org, "team", way).results] == [StepStatus.IN_DOUBT]
    org.way = ignoring(204)
    assert [result.status for result in org.apply().results] == [StepStatus.ASKED]
    org.way = None
    assert [result.status for result in org.apply().results] == [StepStatus.DONE]


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree["sites"]["docs"]["shareLinks"]["partners"].update(active=False),
        lambda tree: tree["members"].update({"linus@acme.example": "read"}),
        lambda tree: tree["content"].insert(0, tree["content"].pop()),
        lambda tree: tree["sites"]["docs"]["structure"].append(node(tree, "reference")["structure"].pop()),
        lambda tree: tree["sites"]["flat"].update(published=True),
    ],
    ids=["link", "role", "move", "leave", "publish"],
)  # fmt: skip
def test_what_was_accepted_is_not_called_applied(org: Org, change: Change) -> None:
    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.method == "GET":
            return await onward(request)
        return httpx2.Response(202, headers={"content-length": "0"}, request=request)

    applied(org, full())
    tree = full()
    change(tree)
    org.write(tree)
    org.way = way
    outcome = org.apply()
    assert outcome.results[0].status is StepStatus.ASKED
    assert of_outcome(outcome) == PARTLY
    org.way = None
    assert org.plan().steps
    assert of_outcome(org.apply()) == DONE
    assert described(org.plan()) == []
