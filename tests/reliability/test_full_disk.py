"""A disk that is really full: nothing is sent without a durable intent, it is said plainly, and the next run with room goes on."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import Cli
from tests.proofs import long, sampled
from tests.reliability.test_state_fails import begun, titles

WROTE = re.compile(r"^(POST|PUT|PATCH|DELETE) /v1(\S+) \d+ ", re.MULTILINE)
MANY = 30  # teams that are made, so that the disk is full somewhere among them


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An organization that was applied, with many teams declared since; the service is not on the disk."""
    cli = Cli(tmp_path_factory.mktemp("disk"))
    assert cli("init", "p", "--sandbox").exit_code == 0
    cli.edit("p/reconciler.yaml", "sandbox: .reconciler/sandbox.db", "timeout: 30")
    assert cli("apply", "p", "--yes", "--sandbox", "s.db").exit_code == 0
    teams = "".join(f"\n      t{number}: {{title: Team {number}}}" for number in range(MANY))
    cli.edit("p/reconciler.yaml", "members: [ada@acme.example]}", "members: [ada@acme.example]}" + teams)
    assert cli("validate", "p").exit_code == 0
    return cli.root


def filled(cli: Cli, free: int) -> str:
    """Apply on a disk with that many KiB left, and copy what is left to `then`, where there is room; what was said, and the exit code."""
    script = f"""
    set -e
    mkdir disk; mount -t tmpfs -o size=8m none disk || exit 99
    cp -a p disk/p
    head -c $(( ($(stat -f -c '%a * %S / 1024' disk) - {free}) * 1024 )) /dev/zero > disk/filler
    set +e
    {sys.executable} -m reconciler apply disk/p --yes -v --sandbox s.db 2>&1; echo $?
    cp -a disk/p then
    """
    return mounting(script, cli.root)


def intended(state: Path) -> list[tuple[str, str]]:
    """The requests that the journal holds durably, as a process sees it that comes after the first."""
    with closing(sqlite3.connect(state)) as database:
        return [(str(method), str(path)) for method, path in database.execute("select method, path from journal")]


def mounting(script: str, folder: Path) -> str:
    """What a script says that mounts a file system of its own; skips, with the reason, where nobody may."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("a small file system of its own takes Linux's unshare")
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=240)
    if done.returncode == 99 or done.stderr.startswith("unshare:"):
        pytest.skip(f"this machine lets nobody mount a file system: {done.stderr.strip()}")
    return done.stdout


@sampled
@pytest.mark.parametrize("free", range(0, 260, 4) if long() else (60,))
def test_on_a_full_disk_nothing_is_sent_without_a_durable_intent_and_the_next_run_with_room_goes_on(
    start: Path, tmp_path: Path, free: int
) -> None:
    shutil.copytree(start, tmp_path, dirs_exist_ok=True)
    cli = Cli(tmp_path)
    said = filled(cli, free)
    assert said.splitlines()[-1:] == ["1"], said
    assert "Traceback" not in said
    full = "the disk is full" in said and "Free some space and run again: nothing is sent that is not in the journal first." in said
    assert full or "the disk reports an error\n       Check the disk and its free space, then run again." in said, said
    assert full or free < 60, said
    sent = WROTE.findall(said)
    journal = intended(cli.root / "then/.reconciler/state.db")
    assert Counter(sent) - Counter(journal) == Counter()
    cli("apply", "then", "--yes", "--sandbox", "s.db", code=0)
    assert cli("plan", "then", "--detailed-exitcode", "--sandbox", "s.db").exit_code == 0
    teams = cli("api", "GET", "/orgs/org_acme/teams?limit=1000", "--sandbox", "s.db", "--jq", ".items[].title").stdout.splitlines()
    assert sorted(teams) == sorted(["Writers", *(f"Team {number}" for number in range(MANY))])
    assert [path for path in (cli.root / "then/.reconciler").iterdir() if "unsaved" in path.name] == []


KEEP = """
from pathlib import Path
from tests.reliability.test_state_fails import Watched, fail_from_the_first_outcome, kept
org = Watched(Path({root!r}), seed={{}})
error = fail_from_the_first_outcome(org)
print(error.message)
print(error.hint)
print([path.name for path in kept(org) if path.name != "filler"], org.strangers)
"""


def test_a_recovery_file_that_does_not_fit_on_the_disk_is_said_and_leaves_no_half_of_itself(tmp_path: Path) -> None:
    org = begun(tmp_path / "org")
    beside = org.project / ".reconciler"
    beside.mkdir(exist_ok=True)
    (tmp_path / "keep.py").write_text(KEEP.format(root=str(org.root)))
    script = f"""
    mount -t tmpfs -o size=16k none {beside} || exit 99
    head -c 1000000 /dev/zero > {beside}/filler 2>/dev/null
    cd {Path(__file__).parents[2]} && PYTHONPATH=. {sys.executable} {tmp_path}/keep.py
    """
    message, hint, left = mounting(script, tmp_path).splitlines()
    assert re.search(
        r"; \d outcomes? could not be stored next to the project either \(the file \S+ cannot grow: the disk is full\), so", message
    ), message
    assert message.endswith("their requests stay in doubt, and the next `reconciler apply` finds out what happened to them")
    assert hint
    assert left == "[] []"
    org.apply()
    assert titles(org) == ["Authors", "Blank", "First", "Readers"]
    assert org.plan().empty
