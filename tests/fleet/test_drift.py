"""What was changed outside Reconciler is decided by people: reverted, accepted or ignored until a day; nothing else happens to it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import Refused, StalePlan, UsageError
from reconciler.fleet import acts, drift
from reconciler.fleet.approvals import ApprovalTerms, Decision
from reconciler.fleet.drift_groups import as_data, differences, kept, of_data, of_document
from reconciler.fleet.model import APPROVALS_DEFAULT, Mode, SecretReference
from reconciler.fleet.people import ALL, Directory, Person, Role
from reconciler.fleet.status import ProjectFacts, Reading, StatusWord, of_documents, status
from reconciler.fleet.store import FleetDatabase, approvals, audit, projects, schema as tables
from reconciler.report.documents import plan_document
from tests.fleet.running import Running, running
from tests.fleet.serve.served import csrf, declare, project, read, rows_of, served
from tests.report.made import the_example

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
TERMS = ApprovalTerms(APPROVALS_DEFAULT, 3_600, "default", NOW, Directory())


def entry(address: str, now: Any = "My guides", **more: Any) -> dict[str, Any]:
    fields = [{"name": "title", "lastApplied": "Guides", "now": now, "declared": "Guides", "cause": "drift"}]
    return {"address": address, "status": "changed", "fields": fields, "place": None, **more}


def document(*entries: dict[str, Any], exposes: str = "") -> dict[str, Any]:
    """The drift of resources, each of them a group; the one that exposes something comes first."""
    ordered = sorted(entries, key=lambda item: item["address"] != exposes)
    groups = [
        {
            "id": item["address"][-3:], "class": "exposing" if item["address"] == exposes else "cosmetic", "addresses": [item["address"]],
            "says": f"{item['address']} differs", "readers": [], "urls": [], "between": {"after": None, "before": None},
            "revert": f"reconciler drift --group {item['address'][-3:]}", "accept": f"reconciler drift --accept {item['address']}",
        }
        for item in ordered
    ]  # fmt: skip
    return {"resources": list(entries), "groups": groups, "unknown": [], "summary": {"managed": 9, "unmanaged": 0}}


def plan(*addresses: str) -> dict[str, Any]:
    changes = [{"address": address, "fields": [{"name": "title", "cause": "drift"}]} for address in addresses]
    return {"changes": changes, "blocked": [], "exposures": [], "unknown": [], "inDoubt": []}


def test_a_decision_is_about_one_difference_and_what_exposes_something_comes_first() -> None:
    first, other = groups = of_document(document(entry("a/space/one"), entry("a/space/two"), exposes="a/space/two"))
    assert (first.addresses, first.exposes, other.says) == (("a/space/two",), True, "a/space/one differs")
    again, changed = (digest_of(entry("a/space/one", now)) for now in ("My guides", "Ours"))
    deleted = digest_of(entry("a/space/one", status="deleted", fields=[]))
    assert again == other.differences[0].digest
    assert len({again, changed, deleted}) == 3
    assert of_data(json.loads(json.dumps(as_data(groups)))) == groups


def digest_of(item: dict[str, Any]) -> str:
    ((difference,),) = (group.differences for group in of_document(document(item)))
    return difference.digest


def test_a_reading_keeps_a_hundred_differences_and_the_whole_of_each_group_says_what_happened() -> None:
    whole = of_document(document(*(entry(f"a/space/{number}") for number in range(60))))
    twice = [replace(group, differences=(*group.differences, *group.differences)) for group in whole]
    assert [len(group.differences) for group in kept(twice)] == [2] * 50 + [0] * 10


def test_the_last_decision_counts_until_it_ends_and_a_revert_once() -> None:
    (group,) = of_document(document(entry("a/space/one")))
    (resource,) = group.differences

    def effect(*decisions: Decision) -> Decision | None:
        return drift.decided([group], {resource.digest: decisions}, TERMS).get(resource.address)

    reverts = Decision("ada", resource.digest, at=NOW - timedelta(minutes=5))
    ignores = replace(reverts, person="grace", approves=False, reason="the fair", until=NOW + timedelta(days=1))
    assert effect() is None
    assert effect(reverts) == reverts
    assert effect(reverts, ignores) == ignores
    assert effect(ignores, reverts) == reverts
    assert effect(replace(ignores, until=NOW)) is None, "it alarms again"
    assert effect(replace(reverts, at=NOW - timedelta(hours=2))) is None, "it expires as an approval does"
    assert effect(ignores, reverts, Decision("", resource.digest)) is None, "an apply used it up"


def test_ignored_drift_does_not_count_unless_the_commit_changes_it_too() -> None:
    changed = document(entry("a/space/one"), entry("a/space/two"))
    reading = of_documents("c0ffee", plan("a/space/one", "a/space/two"), changed, ignored={"a/space/one", "a/space/two"})
    assert (reading.ahead, reading.drift, reading.ignored, len([*differences(reading.groups)])) == (0, 0, 2, 2)
    shown = status(ProjectFacts(600, reading, NOW), NOW)
    assert (shown.word, shown.causes) == (StatusWord.SYNCED, ("2 resources changed outside Reconciler are ignored for now",))
    both = entry("a/space/one")
    both["fields"][0]["cause"] = "both"
    reading = of_documents("c0ffee", plan("a/space/one"), document(both), ignored={"a/space/one"})
    assert (reading.both, reading.drift, reading.ignored) == (1, 0, 0)


DRIFTED = of_document(document(entry("acme/space/one"), entry("acme/space/two"), exposes="acme/space/two"))
READING = Reading("c0ffee", drift=2, managed=9, coverage=1.0, groups=DRIFTED)


def test_the_state_of_a_clone_is_named_without_its_url() -> None:
    made = project("acme")
    assert drift.state_of(made) == "the URL of the fleet's database"
    assert drift.state_of(replace(made, state=SecretReference("env", "ACME_STATE"))) == "the value of ACME_STATE"


def test_who_may_not_decide_is_refused_and_what_moved_is_read_again(database: FleetDatabase) -> None:
    declare(database, project("acme", mode=Mode.APPLY, tenant="docs"), project("beta"))
    read(database, "acme", READING)
    digest, until = drift.digest(DRIFTED), datetime.now(UTC) + timedelta(days=7)
    ada, eve = Person("ada", {ALL: Role.APPROVER}), Person("eve", {"docs": Role.VIEWER})
    with database.transaction() as connection:
        with pytest.raises(Refused, match="eve is not an approver of tenant docs"):
            acts.revert(connection, eve, "acme", digest=digest)
        with pytest.raises(Refused, match="eve is not an approver of tenant docs"):
            acts.ignore(connection, eve, "acme", digest=digest, until=until, reason="the fair")
        with pytest.raises(StalePlan, match="something else of acme was changed"):
            acts.revert(connection, ada, "acme", digest="drift:00")
        with pytest.raises(UsageError, match="nothing of beta was changed"):
            acts.ignore(connection, ada, "beta", digest=digest, until=until, reason="the fair")
        with pytest.raises(UsageError, match='acme/space/tow was not changed outside Reconciler; did you mean "acme/space/two"'):
            acts.revert(connection, ada, "acme", digest=digest, addresses=["acme/space/tow"])
        for wrong in (datetime.now(UTC) - timedelta(minutes=1), datetime.now(UTC) + timedelta(days=91)):
            with pytest.raises(UsageError, match="of the next 90 days"):
                acts.ignore(connection, ada, "acme", digest=digest, until=wrong, reason="the fair")
        with pytest.raises(UsageError, match="the reason is empty"):
            acts.ignore(connection, ada, "acme", digest=digest, until=until, reason=" ")
        acts.ignore(connection, ada, "acme", digest=digest, until=until, reason="the fair", addresses=["acme/space/one"])
        row, groups, decided = acts.outside(connection, ada, "acme")
        assert (groups, drift.ignores(decided)) == (DRIFTED, {"acme/space/one"})
        plan_of = approvals.StoredPlan("c0ffee", {"changes": [], "exposures": []}, "d1", frozenset())
        approvals.keep_plan(connection, row.id, plan_of)
        with pytest.raises(Refused, match="the plan of acme is not applied: changes made outside Reconciler"):
            acts.approve(connection, ada, "acme", digest="d1")
    declare(database, project("acme", mode=Mode.PLAN, tenant="docs"), project("beta"))
    with database.transaction() as connection, pytest.raises(UsageError, match="the fleet reverts nothing of acme: its mode is plan"):
        acts.revert(connection, ada, "acme", digest=digest)


def test_the_forms_of_the_decision_box_decide_once_with_the_token_of_their_session(database: FleetDatabase) -> None:
    declare(database, project("acme", mode=Mode.APPLY))
    read(database, "acme", READING, waits=drift.NOT_REVERTED)
    with database.transaction() as connection:
        document_of = json.loads(json.dumps(plan_document(the_example(), created_at=NOW)))
        plan_of = approvals.StoredPlan("c0ffee", document_of, "d1", frozenset({*APPROVALS_DEFAULT}))
        approvals.keep_plan(connection, 1, plan_of)
    with served(database) as site, closing(site.logged_in()) as browser:
        page = browser.get("/projects/acme").text
        assert "2 resources changed outside Reconciler" in page
        assert "The fleet does not apply this plan: changes made outside Reconciler are not reverted without a decision" in page
        assert "/projects/acme/approve" not in page
        form = {"csrf": csrf(page), "digest": drift.digest(DRIFTED), "choose": "1"}
        assert f'value="{form["digest"]}"' in page
        day = (datetime.now(UTC) + timedelta(days=7)).date().isoformat()
        ignore = form | {"address": "acme/space/one", "until": day, "reason": "the fair"}
        refused = [
            browser.post("/projects/acme/revert", data=form | {"csrf": "guess", "address": "acme/space/two"}),
            browser.post("/projects/acme/ignore", data=ignore | {"csrf": ""}),
            browser.post("/projects/acme/revert", data=form),
            browser.post("/projects/acme/ignore", data=ignore | {"until": "soon"}),
        ]
        assert [answer.status_code for answer in refused] == [403, 403, 422, 422]
        moved = browser.post("/projects/acme/revert", data=form | {"digest": "drift:00", "address": "acme/space/two"})
        assert "nothing was decided" in moved.text
        assert rows_of(database, tables.approvals) == []
        assert "the next run no longer counts it" in browser.post("/projects/acme/ignore", data=ignore).text
        page = browser.post("/projects/acme/revert", data=form | {"address": "acme/space/two"}).text
        assert "the next run reverts it" in page
        assert re.search(r"ignored until \d+ \w+ \d+, 23:59 UTC by ada@desk: the fair", page)
        assert "ada@desk decided to revert it" in page
        assert "decision" not in page.partition('id="approvals"')[2].partition("<h3>")[0], "decisions on drift are not on the plan"
    with database.transaction() as connection:
        lines = [line for line in audit.read(connection) if line.action.endswith("-drift")]
        assert [(line.person, line.action, line.project, line.details["addresses"]) for line in lines] == [
            ("ada@desk", "ignore-drift", "acme", ["acme/space/one"]),
            ("ada@desk", "revert-drift", "acme", ["acme/space/two"]),
        ]
        assert (lines[0].details["reason"], lines[0].details["until"][:10]) == ("the fair", day)
        (row,) = projects.read(connection)
        assert row.next_due <= row.now, "the next run is due at once"


def test_the_api_decides_as_the_page_does(database: FleetDatabase) -> None:
    declare(database, project("acme", mode=Mode.APPLY))
    read(database, "acme", READING)
    with served(database) as site, site.program() as program:
        (acme,) = program.get("/api/v1/projects/acme").json()["projects"]
        digest = acme["reading"]["driftDigest"]
        assert [resource["address"] for resource in acme["reading"]["drifted"]] == ["acme/space/two", "acme/space/one"]
        assert program.post("/api/v1/projects/acme/revert", json={"digest": "drift:00"}).status_code == 409
        assert program.post("/api/v1/projects/acme/revert", json={"digest": digest}).json()["action"] == "revert"
        until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        answer = program.post("/api/v1/projects/acme/ignore", json={"digest": digest, "until": until, "reason": "the fair"})
        assert answer.json()["action"] == "ignore"
    with database.transaction() as connection:
        assert drift.ignores(acts.outside(connection, Person("ada", {ALL: Role.VIEWER}), "acme")[2]) == {"acme/space/one", "acme/space/two"}


# -- a whole fleet ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Running]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    with running(tmp_path, fleet_url, ["a"]) as made:
        yield made


def pasted(fleet: Running, text: str, folder: Path, word: str = "", **environ: str) -> str:
    """What the first command of a text prints that a shell runs in a folder. `word`: before it on its line."""
    known = re.compile(rf" +{word}(RECONCILER_\w+=.+ )?reconciler (apply|drift) ")
    command = next(line.strip().removeprefix(word) for line in text.splitlines() if known.match(line))
    command += " --yes" if " apply " in command else ""
    environment = fleet.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"} | environ
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def rename(fleet: Running, title: str) -> None:
    """Rename the space as a colleague would."""
    space = next(id for id in fleet.titles("a") if id != "spc_a")
    fleet.send("PATCH", f"/spaces/{space}", {"title": title})


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_drift_is_ignored_alarms_again_is_reverted_beside_a_commit_that_waits_and_is_accepted(fleet: Running) -> None:
    fleet.write("a")
    alarms = [{"url": {"env": "ALERTS"}}]
    fleet.declare({"name": "a", "source": {"path": "a"}, "mode": "apply"}, notifications=alarms)
    fleet.worker()
    fleet.until(lambda: fleet.status()["a"]["reading"])
    shown = fleet.call("fleet", "status", code=5)
    assert "the fleet's database has never seen project a on" in " ".join(shown.split())
    pasted(fleet, shown, fleet.remote / "a")  # the state is created by what was printed
    assert "Synced" in fleet.call("fleet", "sync", "a", "--wait")

    rename(fleet, "By hand")
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    one = fleet.status()["a"]
    assert (one["status"], one["waits"]) == ("OutOfSync", drift.NOT_REVERTED)
    shown = fleet.call("fleet", "drift", "a", code=2)
    assert "title a one -> By hand" in shown
    fleet.call("fleet", "drift", "a", "--ignore-until", "7d", "--reason", "the fair")
    assert "1 resource changed outside Reconciler is ignored for now" in " ".join(fleet.call("fleet", "sync", "a", "--wait").split())
    assert ": the fair" in fleet.call("fleet", "drift", "a")

    rename(fleet, "By hand again")  # another difference: nobody decided on it
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    more = "      - {space: more, title: More, duplicateOf: blank}\n"
    file = fleet.remote / "a" / "reconciler.yaml"
    file.write_text(file.read_text() + more)
    fleet.git("commit", "-aqm", "a space that one person must approve")
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    assert (fleet.status()["a"]["waits"] or "").startswith("the plan needs approvals: create (1 person)")
    before = fleet.status()["a"]["applied"]
    fleet.call("fleet", "drift", "a", "--revert")
    fleet.until(lambda: "a one" in fleet.titles("a").values())
    fleet.until(lambda: fleet.status()["a"]["reading"]["drift"] == 0)
    assert "More" not in fleet.titles("a").values(), "the commit still waits"
    assert fleet.status()["a"]["applied"] == before
    rename(fleet, "By hand again")  # the same difference as the one that was reverted
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    assert "By hand again" in fleet.titles("a").values(), "a decision to revert is good once"
    file.write_text(file.read_text().replace(more, ""))
    fleet.git("commit", "-aqm", "not yet")
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    pasted(fleet, fleet.call("fleet", "drift", "a", code=2), fleet.remote, "accept: ", RECONCILER_STATE=fleet.url)
    assert "title: By hand again" in file.read_text()
    fleet.git("commit", "-aqm", "accepted")
    assert "Synced" in fleet.call("fleet", "sync", "a", "--wait")
    lines = fleet.rows("SELECT action, details FROM reconciler_fleet.audit WHERE action <> 'sync' ORDER BY id")
    acted = [action for action, _ in lines if action != "view"]
    assert acted == ["ignore-drift", "revert-drift", "begin-apply", "apply"]
    assert lines[-1][1]["reverts"].keys() == {"a/space/docs"}
    severities = fleet.rows("SELECT event, severity, text FROM reconciler_fleet.notices ORDER BY id")
    assert {severity for event, severity, _ in severities if event == "outOfSync"} == {"warning"}
    assert all(text.endswith("reconciler fleet drift a") for event, _, text in severities if event == "outOfSync")


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_ignored_drift_is_not_reverted_where_drift_is_until_it_is_changed_again(fleet: Running) -> None:
    fleet.write("a")
    fleet.applied("a")
    fleet.declare({"name": "a", "source": {"path": "a"}})
    fleet.worker()
    rename(fleet, "By hand")
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    shown = fleet.call("fleet", "drift", "a", code=2)
    assert "    revert: reconciler drift a --base-url" in shown, "the fleet only watches it"
    assert "RC-fleet-approval" in fleet.error("fleet", "drift", "a", "--revert", code=3)
    fleet.call("fleet", "drift", "a", "--ignore-until", "1d", "--reason", "the fair", "--address", "a/space/docs")
    fleet.declare({"name": "a", "source": {"path": "a"}, "mode": "apply", "revertDrift": True})
    assert "Synced" in fleet.call("fleet", "sync", "a", "--wait")
    assert "By hand" in fleet.titles("a").values()
    rename(fleet, "By hand again")
    fleet.call("fleet", "sync", "a", "--wait", code=None)
    fleet.until(lambda: "a one" in fleet.titles("a").values())
