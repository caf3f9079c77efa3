"""The program as a whole: help, laziness, and that whatever happens becomes a calm line and an exit code.

Which exit code a plan or an outcome has.
What shells complete, tried in the shells themselves."""

from __future__ import annotations

import errno
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from reconciler import errors, exits
from reconciler.assembled import COMMANDS, main
from reconciler.cli import completion, program, shells
from reconciler.cli.environment import long_name
from reconciler.cli.help import OWN, UNGROUPED_MAX, repository
from reconciler.cli.option_table import HEADINGS, ROWS
from reconciler.cli.program import COMPLETING, Lazy, LazyGroup, Program
from reconciler.errors import ConfigError, Problem, ReconcilerError
from reconciler.model import Action, Binding, Blocked, Edited, Origin, Outcome, Plan, StateUpdate, StepStatus, Unknown
from reconciler.run import codes
from tests.command_line import Cli, applied_project
from tests.proofs import costly
from tests.report.made import at, change, outcome, plan, result

ROOT = Path(__file__).parents[2]
BARE = "import click\n@click.group()\ndef main(): 'x'\n@main.command()\ndef a(): 'y'\nmain(prog_name='x', args=['--help'])"
OURS = "from reconciler.assembled import main; main(prog_name='reconciler', args=['--help'])"
HELP_RATIO = 2.3  # of a bare click program: 1.9 on a quiet machine, and an eighth more beside other tests


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


@pytest.mark.parametrize(("line", "command", "lazy"), ALL, ids=[line for line, _, _ in ALL])
def test_a_help_with_many_options_has_them_under_headings(line: str, command: click.Command, lazy: Lazy) -> None:
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    help = command.get_help(click.Context(command, info_name=line, help_option_names=["-h", "--help"], terminal_width=80))
    headings = [heading for heading in (OWN, *HEADINGS.values()) if f"\n{heading}:\n" in help]
    assert (len(headings) > 1) == (len(options) + 1 > UNGROUPED_MAX and not isinstance(command, LazyGroup)), headings
    text = re.split("^[A-Z][a-z ]+:$", help, maxsplit=1, flags=re.MULTILINE)[1].partition("Exit codes:")[0]
    listed = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, flags=re.MULTILINE)
    assert sorted(listed) == sorted(["--help", *(str(long_name(option)) for option in options)])
    assert [row for row in text.splitlines() if len(row) > 80] == []
    assert re.search("x>|<x", text) is None


def test_the_groups_of_plan_are_those_of_the_table() -> None:
    help = " ".join(CliRunner().invoke(main, ["plan", "--help"]).stdout.split())
    for heading, option in (("Selection", "--target"), ("Consent and limits", "--allow-replace"), ("Connection and state", "--sandbox")):
        assert f"{heading}: {option} " in help
    assert {row.group for row in ROWS} <= set(HEADINGS)


def test_every_help_ends_with_its_exit_codes_and_the_place_of_its_documentation() -> None:
    page = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    headings = {line.strip("# ").replace(" ", "-") for line in page.splitlines() if line.startswith("##")}
    for line, command, lazy in ALL:
        words = line.split()[1:]
        help = command.get_help(click.Context(command, info_name=words[-1], terminal_width=80))
        _, _, end = help.rpartition("Exit codes:")
        meanings = end.partition("Options can")[0]
        assert max(map(len, meanings.splitlines())) <= 80, line
        codes = [int(code) for code in re.findall(r"^ +(\d+) ", meanings, flags=re.MULTILINE)]
        own = command.codes() if isinstance(command, LazyGroup) else lazy.codes
        assert codes == sorted({*exits.ALWAYS, *own}), line
        assert help.endswith(f"Documentation: docs/reference/options.md#{'-'.join(words)}")
        assert "-".join(words) in headings
    assert "Documentation: docs/reference/options.md\n" in CliRunner().invoke(main, ["--help"]).stdout


def test_the_help_of_a_release_leads_to_its_repository(tmp_path: Path) -> None:
    metadata = tmp_path / "METADATA"
    metadata.write_text("Metadata-Version: 2.4\nProject-URL: Source, https://git.example/docs\n\nProject-URL: Source, https://no.example\n")
    assert repository(str(metadata)) == "https://git.example/docs"
    metadata.write_text("Metadata-Version: 2.4\n\nProject-URL: Source, https://no.example\n")
    assert repository(str(metadata)) == ""


def cpu(code: str) -> float:
    """Seconds of processor time of a fresh interpreter."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


@costly
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
        errors.ReconcilerError: 1, errors.ReconcilerError: 1, errors.UsageError: 3, errors.ConfigError: 3, errors.Refused: 4,
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


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), EOFError("no more")], ids=["a pipe", "an end"])
def test_no_error_ends_a_command_without_a_word(error: Exception) -> None:
    result = failing(error)
    assert result.exit_code == exits.FAILED
    assert f"this is a defect of Reconciler: {type(error).__name__}" in result.stderr


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
    result = cli(*words, code=exits.WRONG)
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


@costly
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_result_that_cannot_be_written_is_a_failure(cli: Cli) -> None:
    cli("init", "p")
    with open("/dev/full", "wb") as full:
        done = reconciler("graph", "p", cwd=cli.root, stdout=full.fileno())
    assert done.returncode == exits.FAILED
    assert b"the result cannot be written" in done.stderr


CHANGED = change("acme/team/x", Action.CREATE)
BLOCKED = Blocked(at("acme/team/x"), "r", "m", id="RC-waits")
UNKNOWN = Unknown("team", None, "503")
BOUND = StateUpdate(bind={at("acme"): Binding(at("acme"), "organization", "org_acme", Origin.ADOPTED)})


def test_of_several_codes_the_one_named_first_wins() -> None:
    assert exits.PRECEDENCE == (130, 143, 3, 6, 1, 4, 5, 2, 0)
    for first, second in permutations(exits.PRECEDENCE, 2):
        stronger = min(first, second, key=exits.PRECEDENCE.index)
        assert exits.strongest([first, second]) == stronger
    assert exits.strongest([]) == exits.DONE


@pytest.mark.parametrize(
    ("made", "plain", "detailed", "why"),
    [
        (Plan("p", None, managed=3), 0, 0, "nothing to do"),
        (plan(CHANGED), 0, 2, "changes are pending"),
        (plan(CHANGED, blocked=(BLOCKED,)), 5, 5, "some of it is blocked"),
        (plan(blocked=(BLOCKED,)), 4, 4, "everything asked for is blocked"),
        (plan(deferred={at("acme"): "r"}), 0, 2, "it comes with the second run"),
        (plan(blocked=(BLOCKED,), deferred={at("acme"): "r"}), 5, 5, "some of it comes later"),
        (plan(unknown=(UNKNOWN,)), 5, 5, "something could not be read"),
        (plan(unknown=(UNKNOWN,), blocked=(BLOCKED,)), 4, 4, "what was asked for waits for what could not be read"),
        (plan(unknown=(UNKNOWN,), blocked=(BLOCKED,), managed=1), 1, 1, "nothing at all could be looked at"),
        (plan(in_doubt=(at("acme"),)), 5, 5, "something is in doubt"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_code_of_a_plan(made: Plan, plain: int, detailed: int, why: str) -> None:
    assert (codes.of_plan(made, detailed=False), codes.of_plan(made, detailed=True)) == (plain, detailed), why


DONE, FAILED = result(1, "acme/team/a", StepStatus.DONE), result(2, "acme/team/b", StepStatus.FAILED, "400")
SKIPPED, DOUBT = result(3, "acme/team/c", StepStatus.SKIPPED, "needs 2"), result(4, "acme/team/d", StepStatus.IN_DOUBT, "cut")

STALE = result(5, "acme/team/e", StepStatus.STALE, "title was 'A' and is now 'B'")


@pytest.mark.parametrize(
    ("made", "signal", "code", "why"),
    [
        (outcome(), None, 0, "nothing to do"),
        (outcome(DONE), None, 0, "all is done"),
        (outcome(DONE, FAILED), None, 5, "a part is done"),
        (outcome(FAILED, SKIPPED), None, 1, "nothing is done"),
        (outcome(FAILED, plan=plan(state_update=BOUND)), None, 5, "something was bound"),
        (outcome(DOUBT), None, 5, "it may have been done"),
        (outcome(DONE, leftover=(at("acme"),)), None, 5, "something differs again"),
        (outcome(STALE, SKIPPED), None, 5, "somebody else came first"),
        (outcome(DONE, edited=(Edited(at("acme"), "title", "A", "B"),)), None, 5, "somebody else changed it during the run"),
        (outcome(DONE, unverified=(at("acme"),)), None, 5, "what was written could not be read again"),
        (outcome(DONE, plan=plan(deferred={at("acme"): "r"})), None, 5, "a second run continues"),
        (outcome(DONE, plan=plan(CHANGED, blocked=(BLOCKED,))), None, 5, "a part was blocked"),
        (outcome(plan=plan(blocked=(BLOCKED,))), None, 4, "everything was blocked"),
        (outcome(DONE, SKIPPED), 2, 130, "interrupted"),
        (outcome(DONE, SKIPPED), 15, 143, "terminated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_code_of_an_outcome(made: Outcome, signal: int | None, code: int, why: str) -> None:
    assert codes.of_outcome(made, signal=signal) == code, why


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


@costly
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


@costly
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
