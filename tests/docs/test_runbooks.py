"""The steps after an alarm, as docs/run-a-fleet.md and docs/pipelines.md describe them: every line is run, and prints what they show."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests import processes
from tests.docs.walkthrough import blocks
from tests.fleet.conftest import fleet_url as fleet_url
from tests.fleet.running import PROJECT, Running, running
from tests.proofs import costly

ROOT = Path(__file__).parents[2]
TITLE = "## An alarm: what now\n"


def steps(page: str) -> list[tuple[str, str]]:
    """The blocks of code of the section of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return blocks(re.split(r"^##+ ", text.partition(TITLE)[2], maxsplit=1, flags=re.MULTILINE)[0])


def shell(line: str, folder: Path, environ: dict[str, str]) -> str:
    """What a line of shell prints, on both streams."""
    path = os.pathsep.join([str(processes.program()), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environ | {"PATH": path, "COLUMNS": "200"}, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 2), (line, done.stdout, done.stderr)
    return done.stdout + done.stderr


def missing(shown: str, printed: str) -> list[str]:
    """The lines of a page that no line of an output is; `…` stands for any text, and an age, a day, a time between
    readings and the id of a group for any other."""
    lines = [re.escape(line).replace("…", ".*") for line in shown.splitlines() if line]
    lines = [re.sub(r"(\\ )+0\\ s(\\ )+", r"\\s+\\d+\\s\\w+\\s+", line) for line in lines]
    lines = [re.sub(r"between\\ .*\\ (CET|UTC)", "(between|at) .+", line) for line in lines]
    lines = [re.sub(r"\\-\\-group\\ [0-9a-f]{12}", r"\\-\\-group [0-9a-f]{12}", line) for line in lines]
    patterns = [re.sub(r"2026\\-12\\-31", r"\\d{4}-\\d\\d-\\d\\d", line) for line in lines]
    return [pattern for pattern in patterns if re.search(rf"^{pattern}$", printed, flags=re.MULTILINE) is None]


@costly
def test_the_steps_after_an_alarm_of_a_pipeline_are_those_that_its_page_shows(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")} | {"HOME": str(tmp_path)}
    shell("reconciler init docs --sandbox", tmp_path, environ)
    file = tmp_path / "docs" / "reconciler.yaml"
    shell("reconciler apply docs --yes", tmp_path, environ)
    space = shell("reconciler state list docs | awk '$1 == \"acme/space/guides\" {print $3}'", tmp_path, environ).strip()
    output = ""
    for language, content in steps("pipelines.md"):
        if language == "yaml":
            day = datetime.now(UTC).date() + timedelta(days=30)
            (tmp_path / "known.yaml").write_text(re.sub(r"until: \S+(?=})", f"until: {day}", content))
        elif language == "text":
            assert missing(content, output) == []
        else:
            title = "For the fair" if "title: My guides" in file.read_text() else "My guides"
            shell(f"cd docs && reconciler api PATCH /spaces/{space} -f title={shlex.quote(title)}", tmp_path, environ)
            output = "".join(shell(line, tmp_path, environ) for line in content.splitlines() if not line.startswith("export "))
    assert "title: My guides" in file.read_text(), "accepted"


ACME = PROJECT.replace("docs, title: TITLE", "guides, title: Guides").replace("NAME", "acme")


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Running]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    with running(tmp_path, fleet_url, ["acme"]) as made:
        yield made


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_the_steps_after_an_alarm_of_a_fleet_are_those_that_its_page_shows(fleet: Running) -> None:
    (fleet.remote / "docs").mkdir(parents=True)
    fleet.git("init", "-q", "-b", "main")
    file = fleet.remote / "docs" / "reconciler.yaml"
    file.write_text(ACME)
    fleet.git("add", "-A")
    fleet.git("commit", "-qm", "one")
    fleet.call("apply", str(fleet.remote / "docs"), "--base-url", fleet.service, "--state", fleet.url, "--create-state", "--yes", "--quiet")
    fleet.declare({"name": "acme", "source": {"path": "docs"}, "mode": "apply"})
    fleet.worker()
    environ = fleet.environ | {"RECONCILER_STATE": fleet.url}
    (space,) = (id for id in fleet.titles("acme") if id != "spc_acme")
    output = ""

    def here(text: str) -> str:
        return text.replace("https://api.example.com", fleet.service).replace(
            "https://git.example.com/acme/docs.git", f"file://{fleet.remote}"
        )

    for language, content in steps("run-a-fleet.md"):
        if language == "text":
            assert missing(here(content), output) == []
        elif "--revert" in content or "audit" in content:
            output = "".join(shell(line, fleet.folder, environ) for line in content.splitlines())
        else:
            fleet.send("PATCH", f"/spaces/{space}", {"title": "My guides"})
            fleet.call("fleet", "sync", "acme", "--wait", code=2)
            output = "".join(shell(line, fleet.folder, environ) for line in content.splitlines())
    assert [action for action in ("revert-drift", "ignore-drift") if action not in output] == []
    lines = steps("run-a-fleet.md")[1][1].splitlines()
    accept = next(line.partition("accept: ")[2] for line in lines if line.startswith("    accept: reconciler drift"))
    shell(here(accept), fleet.remote, environ)
    assert "title: My guides" in file.read_text()
