"""A person's edit at any point of a run is not overwritten unseen, and always in the report."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from reconciler.apply import ApplyOptions
from reconciler.apply.answer import Answers
from reconciler.apply.preconditions import Preconditions
from reconciler.apply.task import Halt, Task
from reconciler.client.service import Writer
from reconciler.exits import PARTLY
from reconciler.kinds import load as kinds
from reconciler.model import Cause, Step, StepStatus
from reconciler.observe import observe
from reconciler.run.codes import of_outcome
from reconciler.state import grouped
from tests.harness import ORGANIZATION
from tests.meddling import Act, Jumping, Meddled, exits_well, is_reported
from tests.proofs import costly, sampled, spread, stride
from tests.small import applied, small

ORG = f"/orgs/{ORGANIZATION}"
STRIDE = stride(13)  # of the requests before which somebody edits
TEAM, FOUR, ATTIC, FLAT = "acme/team/writers", "acme/space/four", "acme/collection/attic", "acme/site/flat"


def before() -> dict[str, Any]:
    tree = small()
    tree["content"].append({"collection": "attic", "title": "Attic", "content": [{"space": "box", "title": "Box"}]})
    return tree


def after() -> dict[str, Any]:
    """An update, a move to another node, a collection that goes when it is empty, a site that goes with all that stands in it."""
    tree = small()
    tree["teams"]["writers"]["title"] = "Authors"
    tree["content"][1]["content"].pop()
    tree["content"] += [{"space": "box", "title": "Box"}, {"space": "four", "title": "Four"}]
    del tree["sites"]["flat"]
    return tree


@dataclass(frozen=True)
class Edit:
    """What somebody does, to which address; which request of ours would undo it, and which readings would show it."""

    name: str
    address: str
    act: Act
    write: tuple[str, str]
    shows: tuple[str, ...]


EDITS = (
    Edit("title", TEAM, lambda o: o.other("PATCH", ORG + "/teams/{team}", {"title": "Scribes"}), ("PATCH", ORG + "/teams/{team}"), (
        ORG + "/teams", ORG + "/teams/{team}")),
    Edit("delete", TEAM, lambda o: o.other("DELETE", ORG + "/teams/{team}"), ("PATCH", ORG + "/teams/{team}"), (
        ORG + "/teams", ORG + "/teams/{team}")),
    Edit("move", FOUR, lambda o: o.other("POST", "/spaces/{four}/move", {"parent": o.ids["other"]}), ("POST", "/spaces/{four}/move"), (
        "/spaces/{four}", "/collections/{product}/spaces")),
    Edit("child", ATTIC, lambda o: o.other("POST", ORG + "/collections", {"title": "Mine", "parent": o.ids["attic"]}), (
        "DELETE", "/collections/{attic}"), (ORG + "/collections",)),
    Edit("link", FLAT, lambda o: o.other("POST", ORG + "/sites/{flat}/share-links", {"name": "Mine"}), (
        "DELETE", ORG + "/sites/{flat}"), (ORG + "/sites/{flat}/share-links",)),
)  # fmt: skip


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was applied once, to be copied for each case."""
    org = Meddled(tmp_path_factory.mktemp("living"))
    applied(org, before())
    return org.root


def copied(living: Path, to: Path, fresh: float = -1.0) -> Meddled:
    shutil.copytree(living, to)
    org = Meddled(to, seed={}, fresh=fresh)
    org.ids = {
        "team": org.id(TEAM), "four": org.id(FOUR), "attic": org.id(ATTIC), "flat": org.id(FLAT),
        "product": org.id("acme/collection/product"), "other": org.id("acme/collection/other"),
    }  # fmt: skip
    org.write(after())
    return org


def readings(org: Meddled) -> int:
    """How many requests a plan takes."""
    org.requests.clear()
    org.plan()
    return len(org.requests)


@costly
@sampled
@pytest.mark.parametrize("edit", spread(EDITS, 2), ids=lambda edit: edit.name)
def test_an_edit_before_any_request_is_seen_or_falls_into_the_window(living: Path, tmp_path: Path, edit: Edit) -> None:
    calm = copied(living, tmp_path / "calm")
    first = readings(calm)
    outcome = calm.meddled(0, None)
    assert [result.status for result in outcome.results if result.status is not StepStatus.DONE] == []
    assert (outcome.edited, outcome.leftover, outcome.unverified) == ((), (), ())
    stale = 0
    for k in range(first + 1, calm.count + 1, STRIDE):
        org = copied(living, tmp_path / str(k))
        try:
            outcome = org.meddled(k, edit.act)
        except AssertionError:  # the object was gone already: there was nothing to edit
            continue
        assert org.acted is not None
        method, path = edit.write[0], edit.write[1].format(**org.ids)
        since = org.requests[org.acted :]
        sent = next((index for index, one in enumerate(since) if one == (method, path)), None)
        if sent is not None:  # we wrote after the edit: no reading between may have shown it
            shown = {shown.format(**org.ids) for shown in edit.shows}
            assert not {path for method, path in since[:sent] if method == "GET"} & shown, f"{edit.name} before request {k} was overwritten"
        else:
            assert is_reported(org, outcome, edit.address), f"{edit.name} before request {k} is in no report"
        stale += any(one.status is StepStatus.STALE for one in outcome.results)
        assert exits_well(outcome)
        assert outcome.leftover == (), f"{edit.name} before request {k}: what somebody else did is called the run's failure"
    assert stale > 0


def test_what_was_read_within_ten_seconds_is_not_read_again_and_later_one_reading_serves_all(living: Path, tmp_path: Path) -> None:
    for ahead, again in ((9.9, 0), (10.1, 1)):
        org = copied(living, tmp_path / str(ahead), fresh=10.0)
        tree = before()
        tree["teams"] |= {f"t{number}": {"title": f"Team {number}"} for number in range(20)}
        org.write(tree)
        org.apply()
        for number in range(20):
            tree["teams"][f"t{number}"]["title"] = f"Group {number}"
        org.write(tree)
        clock = org.clock = Jumping()
        reading = readings(org)

        async def later(_: Meddled, clock: Jumping = clock, ahead: float = ahead) -> None:
            clock.now += ahead

        assert org.meddled(reading, later).count(StepStatus.DONE) == 20
        before_first = org.requests[reading : org.requests.index(next(one for one in org.requests if one[0] == "PATCH"))]
        assert before_first == [("GET", f"{ORG}/teams")] * again
        assert len([one for one in org.requests if one[0] == "PATCH"]) == 20
        writing = [index for index, one in enumerate(org.requests) if one[0] == "PATCH"]
        assert not [request for request in org.requests[writing[0] : writing[-1]] if request[0] == "GET"]


def after_the_last_write(org: Meddled) -> int:
    """Which request is the first after the writes of a calm run."""
    return max(index for index, (method, _) in enumerate(org.requests, 1) if method != "GET") + 1


def test_what_somebody_changes_after_our_write_is_reported_and_never_remembered_as_ours(living: Path, tmp_path: Path) -> None:
    calm = copied(living, tmp_path / "calm", fresh=10.0)
    calm.meddled(0, None)
    org = copied(living, tmp_path / "edited", fresh=10.0)
    outcome = org.meddled(after_the_last_write(calm), EDITS[0].act)
    assert [(str(one.address), one.field, one.before, one.after) for one in outcome.edited] == [(TEAM, "title", "Authors", "Scribes")]
    assert outcome.leftover == ()
    assert of_outcome(outcome) == PARTLY
    assert next(one for at, one in org.remembered().bindings.items() if str(at) == TEAM).seen["title"] == "Authors"
    assert [delta.cause for change in org.plan().changes for delta in change.fields] == [Cause.DRIFT]


def test_the_contents_of_a_delete_are_counted_again_however_fresh_the_reading_is(living: Path, tmp_path: Path) -> None:
    for edit in EDITS[3:]:
        org = copied(living, tmp_path / edit.name, fresh=10.0)
        outcome = org.meddled(readings(org) + 1, edit.act)
        stale = {str(result.step.address): str(result.error) for result in outcome.results if result.status is StepStatus.STALE}
        assert list(stale) == [edit.address]
        assert "'Mine' was added" in stale[edit.address]
        assert not [path for method, path in org.requests if (method, path) == (edit.write[0], edit.write[1].format(**org.ids))]
        assert [one.status for one in outcome.results if str(one.step.address) == TEAM] == [StepStatus.DONE]


def test_what_a_reading_shows_holds_also_for_steps_it_was_not_made_for(living: Path, tmp_path: Path) -> None:
    org = copied(living, tmp_path / "org")
    plan, desired = org.plan(allow_replace=("**",)), org.load().desired
    attic, four = (next(step for step in plan.steps if str(step.address) == at) for at in (ATTIC, FOUR))

    async def read() -> Preconditions:
        with closing(org.store()) as store, store.lease(who="test", command="apply") as journal:
            async with org.client() as writer, grouped(journal) as group:
                actual = await observe(writer, kinds(), desired, journal.state())
                task = Task(writer, kinds(), desired, plan, actual, journal, group, ApplyOptions(deadline=30.0))
                preconditions = Preconditions(task, Answers(task), Halt())
                await org._call("POST", f"/spaces/{org.ids['four']}/move", {"parent": org.ids["attic"]})
                preconditions._waiting = {attic.id: attic}
                await preconditions._read()
                return preconditions

    preconditions = asyncio.run(read())
    assert preconditions._verdict(attic) == (StepStatus.STALE, "its contents changed in the meantime: space 'Four' was added")
    status, why = preconditions._verdict(four) or (None, "")
    assert status is StepStatus.STALE
    assert why.startswith("parent was ")


@pytest.mark.parametrize(
    ("path", "address", "other"), [("/share-links", FLAT, TEAM), ("/teams/{team}", TEAM, FOUR), ("/collections", ATTIC, TEAM)]
)
def test_what_cannot_be_read_again_is_not_written(living: Path, tmp_path: Path, path: str, address: str, other: str) -> None:
    org = copied(living, tmp_path / "org")

    async def refuse(org: Meddled) -> None:
        org.refused = path.format(**org.ids)

    outcome = org.meddled(readings(org) + 1, refuse)
    ended = [(result.status, result.error) for result in outcome.results if str(result.step.address) == address]
    assert ended
    assert all(status is StepStatus.SKIPPED and str(error).startswith("not sent: ") for status, error in ended)
    assert [one.status for one in outcome.results if str(one.step.address) == other] == [StepStatus.DONE]


def test_the_contents_of_a_delete_are_read_again_if_its_turn_comes_late() -> None:
    preconditions, step = object.__new__(Preconditions), cast(Step, SimpleNamespace(id=7, verb="delete", kind="collection"))
    preconditions.kinds = kinds()
    for at, unseen in ((None, True), (100.0, False), (99.0, False), (98.9, True)):
        preconditions.reader = cast(Writer, SimpleNamespace(monotonic=lambda: 100.0))
        preconditions._contents_read_at = {} if at is None else {7: at}
        assert preconditions._unseen_inside(step) is unseen
