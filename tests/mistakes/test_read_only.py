"""The jobs of a pull request: without any right to write to the service or the state, every command that reads works, and asks for none."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.mistakes.world import ADA, ADA_READS, Folder
from tests.proofs import proof
from tests.state import azure, s3, server
from tests.strict.proxy import strict

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
        created = folder("apply", "--yes", "--create-state", "--allow-exposure", "**", env=applies)
        assert created.exit_code == 0, created.stdout + created.stderr
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
        result = folder("apply", "--plan", "plan.json", env=applies)
        assert result.exit_code == 0, result.stderr
        assert result.stdout.endswith("Applied 1 request. The plan file was applied.\n")
