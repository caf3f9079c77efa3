"""What a fleet's run proposes: a job of the repository opens it without a token of the service, and nobody else gets it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import ReconcilerError
from reconciler.features.drift.documents import ProposalDocument
from reconciler.fleet import acts
from reconciler.fleet.people import ALL, Person, Role
from reconciler.fleet.store import connected
from reconciler.report.schemas.documents import problem
from tests.command_line import Cli
from tests.fleet.running import Running, running
from tests.fleet.test_drift import rename
from tests.proofs import costly

pytestmark = [pytest.mark.timeout(300)]
ROOT = Person("root@desk", {ALL: Role.ADMIN})
MALLORY = Person("mallory@acme.example", {"other": Role.ADMIN})


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Running]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    with running(tmp_path, fleet_url, ["a"]) as made:
        yield made


def proposal(fleet: Running, person: Person = ROOT) -> Any:
    with connected(fleet.url) as database, database.transaction() as connection:
        document = acts.proposal_document(connection, person, "a")
    return None if document is None else dict(document)


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@acme.example")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@costly
def test_a_job_of_the_repository_opens_the_proposal_of_the_last_run_and_the_next_run_finds_no_drift(fleet: Running) -> None:
    fleet.write("a")
    fleet.applied("a")
    fleet.declare({"name": "a", "source": {"path": "a"}})
    fleet.worker()
    rename(fleet, "By hand")
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    document = proposal(fleet)
    assert problem(ProposalDocument, document) is None
    with pytest.raises(ReconcilerError):
        proposal(fleet, MALLORY)

    clone = fleet.folder / "clone"
    git(fleet.folder, "clone", "-q", str(fleet.remote), str(clone))
    job = Cli(clone, home=fleet.folder / "home")
    (clone / "proposal.json").write_text(json.dumps(document))
    job("drift", "a", "--propose", "--proposal", "proposal.json", code=0)
    assert "title: By hand" in git(clone, "show", "reconciler/drift/a:a/reconciler.yaml")

    for change, code, id in (
        ({"project": "b"}, 3, "RC-proposal-document"),
        ({"environment": "production"}, 3, "RC-proposal-document"),
        ({"files": [{**document["files"][0], "before": "0" * 64}]}, 6, "RC-proposal-stale"),
        ({"files": [{**document["files"][0], "path": "../../proposal.json"}]}, 6, "RC-proposal-stale"),
        ({"files": [{**document["files"][0], "text": "version: 1\nproject: a\nteams: 3\n"}]}, 3, "RC-"),
        ({"format": "reconciler.plan/1"}, 3, "RC-proposal-document"),
    ):
        (clone / "proposal.json").write_text(json.dumps({**document, **change}))
        assert id in job("drift", "a", "--propose", "--proposal", "proposal.json", code=code).stderr

    git(fleet.remote, "fetch", "-q", str(clone), "reconciler/drift/a")
    git(fleet.remote, "merge", "-q", "FETCH_HEAD")
    assert "Synced" in fleet.call("fleet", "sync", "a", "--wait")
    assert proposal(fleet) is None
