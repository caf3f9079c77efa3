"""Plausible mistakes of people, through the command line: nothing is destroyed silently, nobody reads more, and the words say the way out.

For every row holds, without being said in it: an exit code of 1, 3, 4 or 6 means that the service is as it was; what is gone, new, named
otherwise, read by more people or has a twin is exactly what the row lists; and no message is a traceback or a defect.

Also here: tokens of the wrong person, over HTTP; and the jobs of a pull request, without any right to write to the service or the state.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.mistakes import names, opens, pasts, shapes, texts
from tests.mistakes.facts import difference, facts
from tests.mistakes.mistake import Mistake
from tests.mistakes.world import ADA, ADA_READS, BOB, Folder
from tests.proofs import costly, proof, spread
from tests.sandbox.serving import serving
from tests.state import azure, s3, server
from tests.strict.proxy import strict

ROWS = (*names.ROWS, *shapes.ROWS, *opens.ROWS, *texts.ROWS, *pasts.ROWS)
WITHOUT_EFFECT = (1, 3, 4, 6)


def test_there_are_many_of_them_each_with_a_claim_of_its_own() -> None:
    assert len({row.claim for row in ROWS}) == len(ROWS) >= 60


@costly
@pytest.mark.parametrize("row", spread(ROWS, 8), ids=lambda row: row.claim)
def test_a_mistake_costs_nothing(living: Path, tmp_path: Path, row: Mistake) -> None:
    folder = Folder.copied(living, tmp_path / "copy")
    with folder.open:
        check(folder, row)


def check(folder: Folder, row: Mistake) -> None:
    """Make the mistake, run the commands, and compare."""
    row.scene(folder)
    begun = facts(folder.service)
    row.edit(folder)
    for run in row.runs:
        run.first(folder)
        before = facts(folder.service)
        result = folder(*run.words, env=run.env)
        message = " ".join((result.stdout + result.stderr).split())
        assert result.exit_code == run.code, message
        assert [phrase for phrase in run.says if phrase not in message] == [], message
        assert [phrase for phrase in (*run.never, "defect") if phrase in message] == [], message
        if run.code in WITHOUT_EFFECT:
            assert facts(folder.service).rows == before.rows, message
    changes = difference(begun, facts(folder.service))
    assert (changes.gone, changes.created, changes.becomes) == (row.gone, row.created, row.becomes)
    assert [line for line in changes.opens if not line.startswith(row.opens or ("-",))] == []
    assert changes.twins == row.twins


WRONG = "token-that-expired-last-night"


@pytest.fixture(scope="module")
def served(living: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """The organization behind an address, as the real service is; the project names no sandbox."""
    folder = Folder.copied(living, tmp_path_factory.mktemp("tokens") / "copy")
    folder.edit("reconciler.yaml", "  sandbox: ../service.db\n", "")
    with serving(folder.service) as url:
        folder.env |= {"RECONCILER_BASE_URL": url, "RECONCILER_TOKEN": ADA}
        folder.applied()
        folder.edit("content.yaml", "title: Guides", "title: Manuals")
        yield folder


@pytest.mark.parametrize("command", ["plan", "drift", "apply --yes"])
@pytest.mark.parametrize(
    ("token", "codes", "says"),
    [(None, {3}, "RECONCILER_TOKEN"), (WRONG, {1}, "token"), (BOB, {1, 5}, "the token no longer has access")],
    ids=["without a token", "with a token that is not valid", "with a token of another organization"],
)
def test_a_run_that_may_read_nothing_does_nothing(served: Folder, command: str, token: str | None, codes: set[int], says: str) -> None:
    before = facts(served.service)
    result = served(*command.split(), env={"RECONCILER_TOKEN": token})
    message = result.stdout + result.stderr
    assert result.exit_code in codes, message
    assert says in " ".join(message.split())
    assert [phrase for phrase in ("No drift.", "to delete", "defect", str(token)) if phrase in message] == [], message
    assert facts(served.service).rows == before.rows


def test_a_token_that_only_reads_plans_and_says_what_it_may_not_do(served: Folder) -> None:
    before = facts(served.service)
    env = {"RECONCILER_TOKEN": ADA_READS}
    assert served("plan", env=env).exit_code == 0
    assert "403" in served("apply", "--yes", env=env, code=1).stdout
    assert facts(served.service).rows == before.rows


def test_drift_by_a_token_that_reaches_nothing_says_that_it_could_not_judge(served: Folder) -> None:
    result = served("drift", env={"RECONCILER_TOKEN": BOB}, code=5)
    assert "Drift is unknown" in result.stdout
    assert "No drift" not in result.stdout


BUCKETS = {"s3_proxy": f"s3://{s3.BUCKET}", "azure_proxy": f"az://{azure.CONTAINER}"}
READING = (
    "validate --lint",
    "plan --out plan.json",
    "plan --detailed-exitcode --report markdown=plan.md",
    "drift --coverage",
    "access",
    "diff",
    "history",
    "show last",
    "state list",
    "state show acme/team/writers",
    "graph",
    "doctor",
)


@pytest.fixture(params=["postgres", *(pytest.param(name, marks=proof) for name in BUCKETS)])
def urls(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The URL of a state for whoever applies, and for whoever may only read it."""
    if request.param == "postgres":
        with server.database(request.getfixturevalue("postgres_url")) as url:
            yield server.documented_roles(url)
    else:
        request.getfixturevalue(request.param).calm()
        yield (f"{BUCKETS[request.param]}/{uuid4()}",) * 2


@costly
def test_every_command_that_reads_works_without_any_right_to_write_and_asks_for_none(
    urls: tuple[str, str], living: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = Folder.copied(living, tmp_path / "copy")
    shutil.rmtree(folder.root / ".reconciler")
    folder.edit("reconciler.yaml", "  sandbox: ../service.db\n", "")
    for argv in (("init", "-q"), ("add", "-A"), ("-c", "user.name=Ada", "-c", "user.email=ada@acme.example", "commit", "-q", "-m", "one")):
        subprocess.run(["git", "-C", str(folder.root), *argv], check=True)
    bucket: Any = next((request.getfixturevalue(name) for name, start in BUCKETS.items() if urls[0].startswith(start)), None)
    with strict(folder.service) as (address, service):
        applies = {"RECONCILER_BASE_URL": address, "RECONCILER_TOKEN": ADA, "RECONCILER_STATE": urls[0]}
        reads = {**applies, "RECONCILER_TOKEN": ADA_READS, "RECONCILER_STATE": urls[1]}
        folder.env |= reads
        before = folder("plan")  # there is no state yet, and a plan creates none
        assert (before.exit_code, "has never seen project handbook" in before.stdout) == (0, True), before.stderr
        folder("apply", "--yes", "--create-state", "--allow-exposure", "**", env=applies, code=0)
        folder.edit("content.yaml", "title: Guides", "title: Manuals")
        service.sent.clear()
        if bucket is not None:
            bucket.reads_only = True
        try:
            for command in READING:
                result = folder(*command.split())
                codes = {0, 2} if "--detailed-exitcode" in command else {0}
                assert result.exit_code in codes, (command, result.stdout, result.stderr)
        finally:
            if bucket is not None:
                bucket.calm()
        assert {method for method, _ in service.sent} == {"GET"}
        assert service.refused == []
        assert not (folder.root / ".reconciler").exists()
        result = folder("apply", "--plan", "plan.json", env=applies, code=0)
        assert result.stdout.endswith("Applied 1 request. The plan file was applied.\n")
