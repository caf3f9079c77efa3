"""What shells complete, tried in the shells themselves."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reconciler.cli import completion, main, shells
from reconciler.cli.program import COMPLETING
from tests.cli.conftest import Cli, applied_project

ROOT = Path(__file__).parents[2]
SECONDS = 30  # until a shell must have answered, on a machine that pauses


def shell(name: str) -> str:
    """The path of a shell; the test is skipped where it is not installed, but for a machine that must have it."""
    found = shutil.which(name)
    if found is None:
        if "shells" in os.environ.get("RECONCILER_TEST_REQUIRE", "").split(","):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def applied(cli: Cli) -> Cli:
    """An applied project, and the program in a folder of the PATH."""
    applied_project(cli)
    cli.write("bin/reconciler", f'#!/bin/sh\nexec {sys.executable} -m reconciler "$@"\n').chmod(0o755)
    return cli


def environment(cli: Cli) -> dict[str, str]:
    return {
        "PATH": f"{cli.root / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(cli.root),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


@contextmanager
def terminal(command: list[str], cli: Cli) -> Iterator[int]:
    """A shell on a terminal of its own, in the folder of the project."""
    pid, handle = pty.fork()
    if pid == 0:
        os.chdir(cli.root / "p")
        os.execve(command[0], command, environment(cli))
    try:
        yield handle
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(handle)


def typed(handle: int, text: str, *, until: str) -> str:
    """What the terminal shows after that was typed, as soon as it contains `until`."""
    os.write(handle, text.encode())
    shown, end = "", time.monotonic() + SECONDS
    while until not in shown:
        assert time.monotonic() < end, shown
        if select.select([handle], [], [], 0.2)[0]:
            shown += os.read(handle, 65536).decode("utf-8", "replace")
    return shown


LINES = (
    ("reconciler state show acme/member/ada@ac\t", "me.example"),
    ("reconciler plan --target=acme/te\t", "am/writers"),
    ("reconciler expl\t", "ain"),
)


@pytest.mark.parametrize(
    ("name", "options", "setup"),
    [
        ("bash", ["--norc", "--noprofile", "-i"], "source <(reconciler completion bash)"),
        ("zsh", ["-f", "-i"], "autoload -U compinit && compinit -u -D && source <(reconciler completion zsh)"),
    ],
)
def test_a_shell_completes_addresses_from_the_state_and_commands(applied: Cli, name: str, options: list[str], setup: str) -> None:
    with terminal([shell(name), *options], applied) as handle:
        typed(handle, f"{setup}; echo re''ady\n", until="ready")
        for line, expected in LINES:
            typed(handle, line, until=expected)
            typed(handle, "\x15echo ne''xt\n", until="next")


def test_fish_completes_them_too_with_a_word_on_each(applied: Cli) -> None:
    lines = ["reconciler state show acme/member/ada@ac", "reconciler plan --target=acme/te", "reconciler expl", "reconciler undo l"]
    script = "source (reconciler completion fish | psub); " + "; ".join(f'complete -C "{line}"' for line in lines)
    command = [shell("fish"), "--no-config", "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=applied.root / "p", env=environment(applied), check=True, timeout=SECONDS
    )
    assert done.stdout.splitlines() == [
        "acme/member/ada@acme.example",
        "--target=acme/team/writers",
        "explain\tDescribe a kind; a field or the cause of an error.",
        "last\tthe newest run that sent anything",
    ]


def complete(cli: Cli, line: str, **env: str) -> list[str]:
    """The candidates for a line, as bash is told them."""
    given = {
        "_RECONCILER_COMPLETE": "bash_complete",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line.encode())),
        "COMP_WORDBREAKS": " \t",
        **env,
    }
    done = cli(env=given)
    assert (done.exit_code, done.stderr) == (0, "")
    return [candidate.partition(",")[2] for candidate in done.stdout.splitlines() if candidate.startswith("plain,")]


def test_what_is_completed_follows_the_project_that_the_line_names(applied: Cli) -> None:
    assert complete(applied, "reconciler plan p --target acme/team/") == ["acme/team/writers"]
    assert complete(applied, "reconciler plan --target acme/team/") == [], "there is no project here"
    assert complete(applied, "reconciler -C p state show acme/team/") == ["acme/team/writers"]
    assert complete(applied, "reconciler plan --target acme/team/", RECONCILER_PROJECT="p") == ["acme/team/writers"]
    applied.write("p/environments/staging.yaml", "vars: {}\n")
    assert complete(applied, "reconciler plan p --env ") == ["staging"]
    assert complete(applied, "reconciler plan p --env staging --target ") == [], "each environment has a state of its own"
    assert complete(applied, "reconciler explain site.vis") == ["site.visibility"]
    assert complete(applied, "reconciler explain tea") == ["team"]
    assert complete(applied, "reconciler schema saved") == ["saved-plan"]
    assert complete(applied, "reconciler plan --form") == ["--format"]
    assert complete(applied, "reconciler plan --format js") == ["json"]
    assert complete(applied, "reconciler state ") == ["list", "show", "mv", "forget", "pull", "push", "unlock"]
    run = complete(applied, "reconciler -C p show ")
    assert len(run) == 2
    assert run[0] == "last"


def test_what_is_wrong_completes_to_nothing_and_is_never_an_error(applied: Cli) -> None:
    untouched = {path: path.read_bytes() for path in (applied.root / "p").rglob("*") if path.is_file()}
    (applied.root / "broken").mkdir()
    applied.write("broken/reconciler.yaml", "version: [\n")
    applied.write("broken/.reconciler/state.db", "not a database")
    for line in (
        "reconciler state show broken/x",
        "reconciler plan broken --target ",
        "reconciler plan p --state postgresql://ada@127.0.0.1:9/x --target ",
        "reconciler plan p --state s3://bucket/x --target ",
        "reconciler nothing ",
        "reconciler plan 'p",
        "reconciler -C nowhere plan --target ",
        "reconciler config diff ",
    ):
        assert complete(applied, line) == []
    assert complete(applied, "reconciler plan p --target ", RECONCILER_STATE="sqlite:///nowhere.db") == []
    assert complete(applied, "reconciler plan p --target a", COMP_POINT="x") == []
    assert {path: path.read_bytes() for path in (applied.root / "p").rglob("*") if path.is_file()} == untouched


def test_every_shell_has_a_script_and_no_other(cli: Cli) -> None:
    for name in shells.SHELLS:
        assert cli("completion", name).stdout == shells.script(name, main, COMPLETING)
    assert cli("completion", "tcsh").exit_code == 3


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("project: p\n", ".reconciler/state.db"),
        ("project: p\nstate: sqlite:///other.db  # ours\n", "other.db"),
        ('state: "sqlite:///a/b.db"\n', "a/b.db"),
        ("state: postgresql+psycopg://db/x\n", None),
        ("{project: p, state: sqlite:///other.db}\n", None),
        ("state: ${{ vars.state }}\n", None),
        ("x-a: {state: 1}\nstate: sqlite:///other.db\n", None),
    ],
)
def test_the_state_is_found_without_reading_yaml_or_not_at_all(tmp_path: Path, text: str, file: str | None) -> None:
    assert completion.state_path(tmp_path, text.encode(), None) == (tmp_path / file if file is not None else None)
    assert completion.state_path(tmp_path, text.encode(), "sqlite:///given.db") == Path("given.db")
    assert completion.state_path(tmp_path, text.encode(), "postgresql+psycopg://db/x") is None
