"""The program as a whole: help, laziness, and that whatever happens becomes a calm line and an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from reconciler import errors
from reconciler.cli import exits, main, program
from reconciler.cli.help import repository
from reconciler.cli.program import COMMANDS, Lazy, LazyGroup, Program
from reconciler.errors import ConfigError, Problem, ReconcilerError
from tests.cli.conftest import Cli

ROOT = Path(__file__).parents[2]
HEAVY = ("pydantic", "httpx2", "aiohttp", "sqlalchemy", "rich", "yaml", "jinja2", "fastapi", "uvicorn", "deepdiff", "asyncio")
BARE = "import click\n@click.group()\ndef main(): 'x'\n@main.command()\ndef a(): 'y'\nmain(prog_name='x', args=['--help'])"
OURS = "from reconciler.cli import main; main(prog_name='reconciler', args=['--help'])"
HELP_RATIO = 1.3  # of a bare click program, design/performance


def commands(group: LazyGroup = main, before: str = "reconciler") -> Iterator[tuple[str, click.Command, Lazy]]:
    context = click.Context(group)
    for name, lazy in group.by_name.items():
        command = group.get_command(context, name)
        assert command is not None
        yield f"{before} {name}", command, lazy
        if isinstance(command, LazyGroup):
            yield from commands(command, f"{before} {name}")


ALL = list(commands())


# -- help ---------------------------------------------------------------------------------------------------------------------------


def test_without_a_command_it_shows_its_help(cli: Cli) -> None:
    assert cli().stdout == cli("--help").stdout
    assert cli().exit_code == 0
    assert all(name in cli().stdout for name in COMMANDS)


def test_it_tells_its_version(cli: Cli) -> None:
    assert cli("--version").stdout == "reconciler 0.1.0\n"


@pytest.mark.parametrize(("line", "command", "lazy"), ALL, ids=[line for line, _, _ in ALL])
def test_every_command_says_in_its_help_what_it_does_with_an_example(line: str, command: click.Command, lazy: Lazy) -> None:
    help = command.help or ""
    assert "Example" in help
    assert line in help
    assert command.short_help == lazy.says


@pytest.mark.parametrize(("line", "command", "lazy"), ALL, ids=[line for line, _, _ in ALL])
def test_every_option_is_explained(line: str, command: click.Command, lazy: Lazy) -> None:
    assert [param.name for param in command.params if isinstance(param, click.Option) and not param.help] == []


def test_every_help_ends_with_its_exit_codes_and_the_place_of_its_documentation() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    headings = {line.strip("# ").replace(" ", "-") for line in page.splitlines() if line.startswith("##")}
    for line, command, lazy in ALL:
        words = line.split()[1:]
        help = command.get_help(click.Context(command, info_name=words[-1]))
        _, _, end = help.rpartition("Exit codes:")
        codes = [int(row.split()[0]) for row in end.partition("Options can")[0].splitlines() if row.strip()]
        own = command.codes() if isinstance(command, LazyGroup) else lazy.codes
        assert codes == sorted({*exits.ALWAYS, *own}), line
        assert help.endswith(f"Documentation: docs/reference/commands.md#{'-'.join(words)}")
        assert "-".join(words) in headings
    assert "Documentation: docs/reference/commands.md\n" in CliRunner().invoke(main, ["--help"]).stdout


def test_the_help_of_a_release_leads_to_its_repository(tmp_path: Path) -> None:
    metadata = tmp_path / "METADATA"
    metadata.write_text("Metadata-Version: 2.4\nProject-URL: Source, https://git.example/docs\n\nProject-URL: Source, https://no.example\n")
    assert repository(str(metadata)) == "https://git.example/docs"
    metadata.write_text("Metadata-Version: 2.4\n\nProject-URL: Source, https://no.example\n")
    assert repository(str(metadata)) == ""


def test_help_imports_nothing_of_the_engine() -> None:
    code = "import sys\nfrom reconciler.cli import main\ntry: main(args=['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in HEAVY if name in loaded] == []
    assert [name for name in loaded if name.startswith("reconciler.") and not name.startswith("reconciler.cli")] == []


def cpu(code: str) -> float:
    """Seconds of processor time of a fresh interpreter."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def test_help_costs_little_more_than_clicks_own() -> None:
    bare = ours = float("inf")
    for attempt in range(60):
        bare, ours = min(bare, cpu(BARE)), min(ours, cpu(OURS))
        if attempt >= 4 and ours <= HELP_RATIO * bare:
            break
    assert ours <= HELP_RATIO * bare


# -- what goes wrong ----------------------------------------------------------------------------------------------------------------


def failing(error: BaseException, *words: str) -> Result:
    """A program whose one command raises `error`."""

    @click.command("fail")
    @click.option("-v", "--verbose", is_flag=True)
    @click.pass_obj
    def fail(screen: program.Screen, verbose: bool) -> None:
        screen.verbose = verbose
        screen.hide(["s3cret-token"])
        raise error

    made = Program(name="p", commands_by_name={})
    made.get_command = lambda ctx, name: fail  # type: ignore[method-assign]
    made.by_name = {"fail": Lazy("", "")}
    return CliRunner().invoke(made, ["fail", *words])


def tree(cls: type[ReconcilerError] = ReconcilerError) -> Iterator[type[ReconcilerError]]:
    yield cls
    for child in cls.__subclasses__():
        if child.__module__.startswith("reconciler"):
            yield from tree(child)


TREE = sorted(set(tree()), key=lambda cls: cls.__name__)


@pytest.mark.parametrize("cls", TREE, ids=lambda cls: cls.__name__)
def test_every_error_has_an_exit_code_and_a_calm_message(cls: type[ReconcilerError]) -> None:
    error = (
        ConfigError([Problem("a.yaml", 2, 3, "it is wrong", id="RC-wrong-form")])
        if issubclass(cls, ConfigError)
        else cls("it is wrong", id="RC-wrong-form", hint="do this")
    )
    result = failing(error)
    assert result.exit_code == cls.exit_code
    assert cls.exit_code in exits.PRECEDENCE
    assert "it is wrong" in result.stderr
    assert "do this" in result.stderr or isinstance(error, ConfigError)
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_the_errors_and_codes_are_those_of_the_design() -> None:
    table = {
        errors.ReconcilerError: 1, errors.DeclarationError: 1, errors.UsageError: 3, errors.ConfigError: 3, errors.Refused: 4,
        errors.Locked: 6, errors.StalePlan: 6, errors.StateError: 1, errors.ServiceError: 1, errors.NotFound: 1, errors.Rejected: 1,
        errors.Ambiguous: 1, errors.Unavailable: 1,
    }  # fmt: skip
    assert {cls: cls.exit_code for cls in TREE if cls.__module__ == "reconciler.errors"} == table


def test_what_nobody_foresaw_is_a_defect_with_its_traceback_only_on_request() -> None:
    calm = failing(ValueError("the s3cret-token \x1b[2K is bad"))
    assert calm.exit_code == exits.FAILED
    assert "this is a defect of Reconciler: ValueError: the (hidden) \\x1b[2K is bad" in calm.stderr
    assert "Traceback" not in calm.stderr
    told = failing(ValueError("the s3cret-token is bad"), "-v")
    assert "Traceback" in told.stderr
    assert "s3cret-token" not in told.stderr


def test_an_interrupt_has_its_code() -> None:
    assert failing(KeyboardInterrupt()).exit_code == exits.INTERRUPTED
    assert failing(click.Abort()).exit_code == exits.INTERRUPTED


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["aply"], "command 'aply' does not exist; did you mean apply?"),
        (["state", "lst"], "command 'lst' does not exist; did you mean list?"),
        (["plan", "--no-such"], "--no-such"),
        (["plan", "a", "b"], "unexpected extra argument"),
        (["plan", "--format", "xml"], "xml"),
        (["plan", "--var", "nope"], "'nope' is not NAME=VALUE"),
        (["plan", "--target", "a//b"], "a segment is empty"),
        (["apply", "--allow-delete", "-1"], "-1"),
        (["adopt", "Not An Address", "id"], "is not a key"),
        (["state", "show", ""], "an address is empty"),
        (["api", "FETCH", "/orgs"], "FETCH"),
        (["api", "GET", "/orgs", "--jq", "map(.x)"], "is not supported"),
        (["api", "GET", "https://elsewhere.example/x"], "is not a path of the API"),
        (["api", "GET", "/orgs/../x"], "is not a path of the API"),
        (["plan", "nowhere"], "reconciler.yaml does not exist here"),
        (["sandbox", "seed", "--db", "x.db", "nowhere.yaml"], "cannot be read"),
        (["apply"], "reconciler.yaml does not exist here"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_line_exits_with_3_and_says_why(cli: Cli, words: list[str], says: str) -> None:
    result = cli(*words)
    assert result.exit_code == exits.WRONG
    assert says.lower() in result.stderr.lower()
    assert result.stdout == ""


# -- streams ------------------------------------------------------------------------------------------------------------------------


def reconciler(*words: str, cwd: Path, stdout: int) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "reconciler", *words], cwd=cwd, stdout=stdout, stderr=subprocess.PIPE, timeout=60)


def test_a_reader_that_left_is_not_an_error(cli: Cli) -> None:
    cli("init", "p")
    reading, writing = os.pipe()
    os.close(reading)
    done = reconciler("graph", "p", cwd=cli.root, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_result_that_cannot_be_written_is_a_failure(cli: Cli) -> None:
    cli("init", "p")
    with open("/dev/full", "wb") as full:
        done = reconciler("graph", "p", cwd=cli.root, stdout=full.fileno())
    assert done.returncode == exits.FAILED
    assert b"the result cannot be written" in done.stderr
