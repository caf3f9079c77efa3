"""A state that is shared, on a PostgreSQL server or in a bucket: every command works, a second run waits, and a lease can be taken away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.state import LEASE_SECONDS
from reconciler.text.install import installing
from reconciler.text.names import HERE, clock_time_of
from tests import processes
from tests.command_line import Cli
from tests.documents import valid
from tests.proofs import proof

PASSWORD = "hunter2-of-the-state"

ON_A_PUSH = pytest.mark.parametrize("shared", ["postgres", pytest.param("bucket", marks=proof)], indirect=True)


@pytest.fixture
def on_postgres(cli: Cli, postgres_url: str) -> Cli:
    """A project whose state is on the server, not applied yet."""
    url = postgres_url.replace("postgresql:", "postgresql+psycopg:").replace("tests@", f"tests:{PASSWORD}@")
    cli.env["RECONCILER_STATE"] = url
    assert cli("init", "p", "--sandbox").exit_code == 0
    return cli


@pytest.fixture(params=["postgres", "bucket"])
def shared(request: pytest.FixtureRequest, cli: Cli) -> Cli:
    """The same, or in a bucket."""
    if request.param == "postgres":
        found: Cli = request.getfixturevalue("on_postgres")
        return found
    cli.env["RECONCILER_STATE"] = f"file://{cli.root}/bucket"
    assert cli("init", "p", "--sandbox").exit_code == 0
    return cli


@pytest.fixture
def applied(shared: Cli) -> Cli:
    assert shared("apply", "p", "--yes", "--create-state").exit_code == 0
    return shared


def test_every_command_works_with_a_shared_state(shared: Cli, tmp_path: Path) -> None:
    said = []

    def run(*words: str, code: int = 0) -> str:
        result = shared(*words, code=code)
        said.append(result.stdout + result.stderr)
        return result.stdout

    run("validate", "p")
    assert "9 to create" in run("plan", "p")
    assert "has never seen project p" in run("doctor", "p")
    run("apply", "p", "--yes", code=4)
    assert run("apply", "p", "--yes", "--create-state").endswith("Applied 11 requests. The plan is now empty.\n")
    assert "No changes" in run("plan", "p", "--detailed-exitcode")
    assert len(run("state", "list", "p").splitlines()) == 13
    assert "Writers" in run("state", "show", "acme/team/writers", "p")
    shared.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert "Applied 1 request" in run("apply", "p", "--yes")
    assert "exit 0  1 update" in run("history", "p")
    assert "Writers -> Authors" in run("show", "last", "p")
    assert "Authors -> Writers" in run("undo", "last", "p", "--yes")
    shared.edit("p/reconciler.yaml", "title: Authors", "title: Writers")
    run("drift", "p")
    run("state", "mv", "acme/team/writers", "acme/team/authors", "p")
    run("state", "forget", "acme/team/authors", "p")
    assert "1 to adopt" in run("plan", "p")
    assert "12 tracked" not in run("doctor", "p")
    run("apply", "p", "--yes")
    assert "12 tracked" in run("doctor", "p")
    assert not list(tmp_path.rglob("state.db*"))
    assert shared("init", "q", "--sandbox").exit_code == 0
    assert shared("apply", "q", "--yes", "--state", f"sqlite:///{tmp_path}/q.db", "--create-state").exit_code == 0
    run("import", "taken", "--org", "org_acme", "--sandbox", "q/.reconciler/sandbox.db")
    assert "No changes" in run("plan", "taken", "--sandbox", "q/.reconciler/sandbox.db")
    assert PASSWORD not in "".join(said)


def test_without_psycopg_the_error_names_the_extra(on_postgres: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    result = on_postgres("plan", "p")
    assert (result.exit_code, installing("psycopg[binary]") in result.stderr) == (1, True)
    assert PASSWORD not in result.stdout + result.stderr


def test_an_unreachable_server_is_reported_without_the_password(cli: Cli) -> None:
    cli("init", "p", "--sandbox")
    for words in (["plan", "p"], ["apply", "p", "--yes"], ["state", "unlock", "p"], ["state", "pull", "p"], ["doctor", "p"]):
        result = cli(*words, env={"RECONCILER_STATE": f"postgresql+psycopg://u:{PASSWORD}@127.0.0.1:1/d"})
        assert result.exit_code != 0
        assert "postgresql://127.0.0.1:1/d cannot be reached" in result.stdout + result.stderr
        assert PASSWORD not in result.stdout + result.stderr


@ON_A_PUSH
def test_a_timeout_longer_than_the_lease_is_refused(shared: Cli) -> None:
    shared.edit("p/reconciler.yaml", "service:\n", "service:\n  timeout: 61\n")
    result = shared("apply", "p", "--yes", "--create-state")
    assert (result.exit_code, "service.timeout is 61 s, and a state on a server or in a bucket allows 60" in result.stderr) == (3, True)


def test_a_bucket_that_only_the_yaml_names_is_not_used_until_it_was_confirmed(cli: Cli) -> None:
    assert cli("init", "p", "--sandbox").exit_code == 0
    cli.edit("p/reconciler.yaml", "project: p\n", "project: p\nstate: s3://somebodys-bucket/p\n")
    for words in (["plan", "p"], ["apply", "p", "--yes"], ["state", "list", "p"], ["doctor", "p"]):
        result = cli(*words)
        assert result.exit_code != 0
        assert "in the YAML, and you have not confirmed it" in result.stdout + result.stderr
    cli.edit("p/reconciler.yaml", "s3://somebodys-bucket/p", "s3://key:hunter2@somebodys-bucket/p")
    wrong = cli("validate", "p")
    assert (wrong.exit_code, "state contains a password" in wrong.stderr + wrong.stdout) == (3, True)


def test_a_state_is_moved_into_a_bucket_and_back(cli: Cli) -> None:
    assert cli("init", "p", "--sandbox").exit_code == 0
    assert cli("apply", "p", "--yes").exit_code == 0
    assert cli("state", "pull", "p", "--out", "file.json").exit_code == 0
    cli.env["RECONCILER_STATE"] = f"file://{cli.root}/bucket"
    assert cli("state", "push", "file.json", "p").exit_code == 0
    assert cli("plan", "p", "--detailed-exitcode").exit_code == 0
    assert cli("state", "pull", "p", "--out", "bucket.json").exit_code == 0
    before, after = (json.loads((cli.root / name).read_text()) for name in ("file.json", "bucket.json"))
    assert {**after, "runs": after["runs"][-len(before["runs"]) :]}["bindings"] == before["bindings"]
    cli.edit("p/reconciler.yaml", "project: p\n", "project: q\n")
    assert cli("state", "mv", "p", "--project", "p").exit_code == 0
    assert cli("plan", "p", "--detailed-exitcode").exit_code == 0


# -- two at a time --------------------------------------------------------------------------------------------------------------------

HOLD = """
import sys, uuid
from reconciler.run.loading import now
from reconciler.state import StateScope, Store
url, project, service = sys.argv[1:]
with Store.open(url, StateScope(project, None, service), clock=now, create=True) as store:
    with store.lease(who="grace@server", command="apply") as journal:
        print(journal.run, flush=True)
        sys.stdin.readline()
        try:
            journal.remember(forget=list(journal.state().bindings))
        except Exception as error:
            print(type(error).__name__, error, flush=True)
"""


@contextmanager
def holding(cli: Cli) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A process on another machine, so to speak, that has the lease of the project's state; and the id of its run."""
    found = json.loads(cli("state", "pull", "p").stdout)
    words = [sys.executable, "-c", HOLD, str(cli.env["RECONCILER_STATE"]), found["project"], found["service"]]
    with processes.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


@contextmanager
def under_way(cli: Cli, *words: str) -> Iterator[int]:
    """The command in a process of its own, which ends well before this block does; its id."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = cli(*words).exit_code
        finally:
            os._exit(code)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@ON_A_PUSH
def test_an_apply_that_takes_longer_than_the_lease_holds_it_to_its_end(applied: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds take the place of the 90: each request alone is longer than the lease."""
    monkeypatch.setattr("reconciler.state.store.LEASE_SECONDS", 2.0)
    rule = '{"fault": "latency", "seconds": 3, "operation": "PATCH *"}'
    assert applied("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", rule).exit_code == 0
    for old, new in (("title: Writers", "title: Authors"), ("title: Product", "title: Goods")):
        applied.edit("p/reconciler.yaml", old, new)
    refusals: dict[str, datetime] = {}  # the line that says it -> when last
    with under_way(applied, "apply", "p", "--yes", "--max-concurrency", "1") as pid:
        while (run := applied.json("history", "p")["runs"][0])["ended"] is not None:
            time.sleep(0.05)  # until it has the lease
        while (second := applied("apply", "p", "--yes")).exit_code == 6:
            refusals[second.stderr.splitlines()[0]] = datetime.now(UTC)
        assert max(refusals.values()) - datetime.fromisoformat(run["started"]) > timedelta(seconds=2), second.stdout
        assert os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_status == 0
    since = clock_time_of(run["started"], HERE)
    assert set(refusals) == {
        f"error: another run holds the state: {run['who']} has been running `{run['command']}` since {since} [RC-locked]"
    }
    assert second.stdout == "No changes. 12 objects managed, 0 unmanaged.\n"
    assert next(one["did"] for one in applied.json("history", "p")["runs"] if one["did"]) == {"update": 2}


@ON_A_PUSH
def test_a_second_apply_reports_who_holds_the_state_and_the_remedy(applied: Cli) -> None:
    with holding(applied):
        result = applied("apply", "p", "--yes", code=6)
        assert "another run holds the state: grace@server has been running `apply` since 20" in result.stderr
        assert f"If that run died, its lease expires after {LEASE_SECONDS:g} s. `reconciler state unlock` takes it" in result.stderr
        assert applied("plan", "p").exit_code == 0  # reading needs no lease
        assert "another run holds the state: grace@server" in applied("doctor", "p").stdout
        assert applied("state", "push", str(pulled(applied)), "p").exit_code == 6


def pulled(cli: Cli) -> Path:
    assert "A run holds the state" in cli("state", "pull", "p", "--out", "pulled.json", code=0).stderr
    return Path("pulled.json")


def test_unlock_shows_the_holder_and_takes_the_lease_only_from_the_run_that_is_named(applied: Cli) -> None:
    assert applied("state", "unlock", "p").stdout == "Nobody holds the state; there is nothing to unlock.\n"
    with holding(applied) as (run, process):
        assert process.stdin is not None
        assert process.stdout is not None
        shown = applied("state", "unlock", "p")
        assert (shown.exit_code, shown.stdout.startswith(f"grace@server holds the state with run {run}, `apply`, since 20")) == (0, True)
        assert f"--force {run[:8]}" in shown.stderr
        wrong = applied("state", "unlock", "p", "--force", "0" * 8)
        assert (wrong.exit_code, f"run {'0' * 8} does not hold the state" in wrong.stderr) == (4, True)
        assert applied("state", "unlock", "p", "--force", run[:3]).exit_code == 3
        os.kill(process.pid, signal.SIGSTOP)
        assert applied("apply", "p", "--yes").exit_code == 6
        freed = applied("state", "unlock", "p", "--force", run[:8])
        assert (freed.exit_code, "The state is free." in freed.stdout) == (0, True)
        before = applied("state", "list", "p").stdout
        assert applied("apply", "p", "--yes").exit_code == 0
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("StateError another run has taken over the lease on the state; this one writes")
        assert applied("state", "list", "p").stdout == before
    assert [(one["command"], one["exit"]) for one in valid(applied.json("history", "p"), "history")["runs"][:3]] == [
        ("apply", 0),
        (f"state unlock --force {run[:8]}", 0),
        ("apply", None),
    ]


def test_unlock_of_a_file_says_that_there_is_nothing_to_unlock_and_why(cli: Cli) -> None:
    cli("init", "p", "--sandbox")
    assert "nothing to unlock" in cli("state", "unlock", "p").stdout
    cli("apply", "p", "--yes")
    cli.env["RECONCILER_STATE"] = f"sqlite:///{cli.root}/p/.reconciler/state.db"
    free = cli("state", "unlock", "p", "--force", "12345678")
    assert (free.exit_code, "The lock of a file ends with its process" in free.stdout) == (0, True)
    with holding(cli) as (run, process):
        shown = cli("state", "unlock", "p")
        assert shown.stdout.startswith(f"grace@server holds the state with run {run}, `apply`, since 20")
        assert f"only shows who holds the state. End process {process.pid}: the lock" in shown.stderr
        refused = cli("state", "unlock", "p", "--force", run)
        assert (refused.exit_code, "a file's lock cannot be taken away" in refused.stderr) == (6, True)
