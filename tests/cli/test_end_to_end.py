"""Whole runs: from a project and an empty sandbox to an empty plan, and everything on the way."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import processes
from tests.command_line import Cli, applied_project, initialised
from tests.documents import valid
from tests.proofs import costly

SUMMARY = ("create", "update", "move", "replace", "delete", "adopt", "forget", "restore", "unmanaged", "blocked", "requests", "outside")
WRITES = re.compile(r"\b(POST|PUT|PATCH|DELETE) /")


@pytest.fixture
def docs(cli: Cli) -> Cli:
    """A project on its own sandbox, not applied yet."""
    return initialised(cli)


@pytest.fixture
def applied(docs: Cli) -> Cli:
    return applied_project(docs)


# -- a first run --------------------------------------------------------------------------------------------------------------------


def test_what_init_writes_is_valid_and_is_never_overwritten(cli: Cli) -> None:
    assert cli("init", "p").exit_code == 0
    assert cli("validate", "p").stdout == "p is valid: 12 resources in 1 file.\n"
    text = (cli.root / "p" / "reconciler.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=")
    assert (cli("init", "p", "--sandbox").exit_code, (cli.root / "p" / "reconciler.yaml").read_text()) == (3, text)


def test_a_plan_of_a_new_sandbox_sends_only_gets_and_remembers_nothing(docs: Cli) -> None:
    result = docs("plan", "p", "-v", "--detailed-exitcode", code=2)
    assert "Created the sandbox p/.reconciler/sandbox.db" in result.stderr
    assert not WRITES.search(result.stderr)
    assert "GET /v1/orgs/org_acme " in result.stderr
    assert result.stdout.endswith("Plan: 9 to create, 3 to adopt. 11 requests.\nApply it with: reconciler apply p\n")
    assert not (docs.root / "p" / ".reconciler" / "state.db").exists()
    assert docs("state", "list", "p").stdout == ""


def test_after_an_apply_the_plan_is_empty(applied: Cli) -> None:
    result = applied("plan", "p", "-v", "--detailed-exitcode")
    assert (result.exit_code, result.stdout) == (0, "No changes. 12 objects managed, 0 unmanaged.\n")
    assert not WRITES.search(result.stderr)
    again = applied("apply", "p", "--yes", "-v")
    assert (again.exit_code, again.stdout) == (0, "No changes. 12 objects managed, 0 unmanaged.\n")
    assert not WRITES.search(again.stderr)


def test_the_state_lists_every_binding_in_columns(applied: Cli) -> None:
    lines = applied("state", "list", "p").stdout.splitlines()
    assert lines[0].split() == ["address", "kind", "id"]
    assert lines[1].split() == ["acme", "organization", "org_acme"]
    assert len(lines) == 13
    column = lines[0].index("kind")
    assert all(line[column - 1] == " " and line[column:].split()[0] == line.split()[1] for line in lines)
    assert [one["address"] for one in applied.json("state", "list", "p")["bindings"]] == [line.split()[0] for line in lines[1:]]
    shown = applied("state", "show", "acme/team/writers", "p").stdout
    assert "origin     created" in shown
    assert re.search(r"title +Writers +the same", shown)
    assert applied("state", "show", "acme/team/nobody", "p").exit_code == 3


def test_the_documents_are_those_of_their_schemas(docs: Cli) -> None:
    document = valid(docs.json("plan", "p"), "plan")
    assert document["summary"]["requests"] == len(document["steps"]) == 11
    assert "/v1/orgs/org_acme/sites/{acme/site/docs}/sections" in [step["path"] for step in document["steps"] if "{" in step["path"]]
    done = docs("apply", "p", "--yes", "--format", "json")
    outcome = valid(json.loads(done.stdout), "outcome")
    assert outcome["summary"] == {"done": 11, "failed": 0, "skipped": 0, "asked": 0, "inDoubt": 0, "stale": 0, "requests": 11, "outside": 0}
    assert valid(docs.json("plan", "p"), "plan")["changes"] == []
    assert valid(json.loads(docs("apply", "p", "--yes", "--format", "json").stdout), "outcome")["steps"] == []


def test_a_saved_plan_is_private_and_has_its_digests(docs: Cli) -> None:
    docs("plan", "p", "--out", "plan.json", code=0)
    file = docs.root / "plan.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    document = valid(json.loads(file.read_text()), "plan")
    assert document["digests"] == {"configuration": None, "lineage": "", "serial": 0}
    assert {one["address"] for one in document["preconditions"]} == {one["address"] for one in document["changes"]}
    assert [path.name for path in docs.root.iterdir() if path.name.startswith(".plan")] == []
    assert docs("plan", "p", "--out", "nowhere/plan.json").exit_code == 3


def test_graphs_of_resources_and_of_steps(docs: Cli) -> None:
    assert docs("graph", "p").stdout.startswith("flowchart LR\n")
    drawn = docs("graph", "p", "--steps", "--format", "dot").stdout
    assert re.search(r'\[label="\d+ create\\nDocumentation\\nsite docs", fillcolor="#d7f0df"', drawn)
    assert len(re.findall(r'\[label="\d+ ', drawn)) == 11


# -- changes, here and there --------------------------------------------------------------------------------------------------------


def test_a_changed_title_is_an_update_and_an_edit_behind_its_back_is_drift(applied: Cli) -> None:
    applied.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert "  ~ title       Writers -> Authors\n" in applied("plan", "p").stdout
    assert applied("apply", "p", "--yes").exit_code == 0
    team = applied.json("state", "show", "acme/team/writers", "p")["id"]
    edited = applied("api", "PATCH", f"/orgs/org_acme/teams/{team}", "-f", "title=Poets", "--project", "p", "--jq", ".title")
    assert edited.stdout == "Poets\n"
    assert "  ~ title       Poets -> Authors                      (drift)\n" in applied("plan", "p", "--detailed-exitcode", code=2).stdout


def test_a_target_plans_only_that(applied: Cli) -> None:
    applied.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    applied.edit("p/reconciler.yaml", "title: Documentation", "title: Docs")
    result = applied("plan", "p", "--target", "acme/site/**")
    assert "1 to update" in result.stdout
    assert "acme/team/writers" not in result.stdout
    assert result.stdout.endswith("Apply it with: reconciler apply p --target 'acme/site/**'\n")
    assert "1 to update" in applied("plan", "p", "--exclude", "acme/site/**").stdout


@pytest.mark.parametrize("option", ["--target", "--exclude"])
def test_a_pattern_that_matches_nothing_is_a_mistake(applied: Cli, option: str) -> None:
    result = applied("plan", "p", option, "acme/space/guidse")
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"error: {option} acme/space/guidse matches no address" in result.stderr


def test_what_is_blocked_has_its_own_exit_codes(applied: Cli) -> None:
    applied.edit("p/reconciler.yaml", "          - {space: api, title: API reference, duplicateOf: blank}\n", "")
    applied.edit("p/reconciler.yaml", "          - {section: api, title: API, spaces: [api]}\n", "")
    assert "  ! blocked     is no longer declared, and space 'API reference' is protected" in applied("plan", "p", code=5).stdout


def test_a_guard_refuses_and_says_the_way_past_it(applied: Cli) -> None:
    text = (applied.root / "p" / "reconciler.yaml").read_text()
    (applied.root / "p" / "reconciler.yaml").write_text(text + "guards: {maxDelete: {percent: 0, atLeast: 0}}\n")
    applied.edit("p/reconciler.yaml", "      writers: {title: Writers, members: [ada@acme.example]}\n", "      {}\n")
    for command in (["plan", "p"], ["apply", "p", "--yes"]):
        result = applied(*command, code=4)
        assert "  - delete      " in result.stdout
        assert "--allow-delete 1" in result.stderr
    assert applied("apply", "p", "--yes", "--allow-delete", "1").exit_code == 0


def test_an_object_is_adopted_by_hand_and_the_plan_keeps_it(docs: Cli) -> None:
    docs("plan", "p")
    made = docs("api", "PUT", "/orgs/org_acme/teams", "-f", "title=Other name", "--project", "p", "--jq", ".id").stdout.strip()
    assert docs("adopt", "acme/team/writers", made, "p").stdout == f"acme/team/writers now tracks {made}.\n"
    assert re.search(r"\n  ~ title +Other name -> Writers\n", docs("plan", "p").stdout)
    assert docs("adopt", "acme/team/writers", "team_other", "p").exit_code == 4
    assert docs("adopt", "acme/team/nobody", made, "p").exit_code == 3
    assert docs("adopt", "acme/collection/product", "col_nowhere", "p").exit_code == 4


def test_an_object_that_is_no_longer_managed_is_adopted_again(applied: Cli) -> None:
    before = applied.json("state", "list", "p")["bindings"]
    result = applied("state", "forget", "acme/site/docs", "p")
    let_go = [one for one in before if one["address"].startswith("acme/site/docs")]
    assert result.stdout == "".join(f"{one['address']} is no longer managed ({one['id']}).\n" for one in let_go)
    assert len(let_go) > 3
    assert applied.json("plan", "p")["summary"] == {**dict.fromkeys(SUMMARY, 0), "adopt": len(let_go)}
    again = applied("state", "forget", "acme/site/docs", "p")
    assert (again.exit_code, again.stderr.splitlines()[0]) == (3, "error: acme/site/docs is not tracked [RC-not-tracked]")
    doubt = applied("state", "forget", "acme/space/guides", "p", "--in-doubt")
    assert (doubt.exit_code, doubt.stderr.splitlines()[0]) == (3, "error: no request of acme/space/guides is in doubt [RC-not-in-doubt]")


@costly
def test_a_closed_stdout_does_not_stop_an_apply(docs: Cli) -> None:
    words = f"{sys.executable} -m reconciler apply p --yes >&-"
    done = subprocess.run(["sh", "-c", words], cwd=docs.root, capture_output=True, text=True, timeout=120, check=False)
    assert "defect" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    assert docs("plan", "p", "--detailed-exitcode").exit_code == 0


def test_two_sandboxes_never_meet(docs: Cli) -> None:
    assert docs("apply", "p", "--yes", "--sandbox", "one.db").exit_code == 0
    assert docs("plan", "p", "--sandbox", "two.db", "--detailed-exitcode").exit_code == 2
    assert docs("apply", "p", "--yes", "--sandbox", "two.db").exit_code == 0
    ids = [{one["id"] for one in docs.json("state", "list", "p", "--sandbox", name)["bindings"]} for name in ("one.db", "two.db")]
    assert {id for id in ids[0] & ids[1] if not id.startswith(("org_acme", "usr_", "spc_blank"))} == set()
    assert docs("plan", "p", "--sandbox", "one.db", "--detailed-exitcode").exit_code == 0


def test_a_list_is_read_to_its_end_and_selected_from(applied: Cli) -> None:
    assert applied("api", "GET", "/orgs/org_acme/teams", "--project", "p", "--paginate", "--jq", ".[].title").stdout == "Writers\n"
    whole = json.loads(applied("api", "GET", "/v1/orgs/org_acme/teams", "--project", "p", "-f", "limit=1").stdout)
    assert [one["title"] for one in whole["items"]] == ["Writers"]
    missing = applied("api", "GET", "/orgs/org_acme/teams/nobody", "--project", "p")
    assert (missing.exit_code, missing.stdout) == (1, "")


def test_quiet_is_quiet_and_json_alone_is_on_stdout(docs: Cli) -> None:
    assert docs("plan", "p", "-q").stderr == ""
    result = docs("apply", "p", "--yes", "--format", "json")
    json.loads(result.stdout)


def test_a_state_that_is_held_is_exit_code_6(applied: Cli) -> None:
    holder = (
        "import sys, datetime\nfrom reconciler.state import StateScope, Store\n"
        "from reconciler.run.connection.embedded import identity\nfrom pathlib import Path\n"
        "scope = StateScope('p', None, 'sandbox:' + identity(Path('p/.reconciler/sandbox.db')))\n"
        "store = Store.open('sqlite:///p/.reconciler/state.db', scope, clock=lambda: datetime.datetime.now(datetime.UTC), create=True)\n"
        "with store.lease(who='someone', command='apply'):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    with processes.Popen(
        [sys.executable, "-c", holder], cwd=applied.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        result = applied("apply", "p", "--yes")
        process.communicate("")
    assert result.exit_code == 6
    assert "someone has been running `apply`" in result.stderr
    assert applied("apply", "p", "--yes").exit_code == 0


# -- at a terminal ------------------------------------------------------------------------------------------------------------------


def at_a_terminal(cli: Cli, answer: bytes, *words: str) -> tuple[int, str]:
    """Run on a pseudo-terminal and answer the first question."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
    environ |= {"HOME": str(cli.root / "home"), "TERM": "xterm-256color", "COLUMNS": "120"}
    ours, theirs = pty.openpty()
    process = processes.Popen(
        [sys.executable, "-m", "reconciler", *words], cwd=cli.root, env=environ, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    answered = False
    until = time.monotonic() + 60
    while time.monotonic() < until:
        ready, _, _ = select.select([ours], [], [], 1)
        if not ready:
            continue
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
        if not answered and b"[y/N]" in shown:
            os.write(ours, answer)
            answered = True
    os.close(ours)
    return process.wait(timeout=30), shown.decode()


def test_at_a_terminal_it_asks_and_does_what_was_answered(docs: Cli) -> None:
    code, shown = at_a_terminal(docs, b"n\n", "apply", "p")
    assert code == 1
    assert "Apply these 11 requests? [y/N]" in shown
    assert "Nothing was applied." in shown
    code, shown = at_a_terminal(docs, b"y\n", "apply", "p")
    assert code == 0
    assert "Applied 11 requests. The plan is now empty." in shown
    assert "\x1b[32m" in shown
    assert docs("plan", "p", "--detailed-exitcode").exit_code == 0


# -- interrupted --------------------------------------------------------------------------------------------------------------------


@costly
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_signal_stops_calmly_and_a_second_run_goes_on(docs: Cli, number: int, code: int) -> None:
    docs("plan", "p")
    process = start(docs, "apply", "p", "--yes", "--max-rps", "4")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("Applying"):
            break
    time.sleep(0.5)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stdout + stderr
    assert "Interrupted. Applied" in stdout
    assert "Traceback" not in stderr
    assert docs("apply", "p", "--yes").exit_code == 0
    assert docs("plan", "p", "--detailed-exitcode").exit_code == 0


def test_a_signal_while_reading_ends_at_once(docs: Cli) -> None:
    docs("plan", "p")
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = start(docs, "plan", "p", "--max-rps", "0.5")
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("Reading"):
                break
        time.sleep(0.3)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout) == (code, "")
        assert "Traceback" not in stderr


def start(cli: Cli, *words: str) -> subprocess.Popen[str]:
    return processes.Popen(
        [sys.executable, "-m", "reconciler", *words], cwd=cli.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "HOME": str(cli.root / "home"), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip


# -- the service by itself ----------------------------------------------------------------------------------------------------------


def test_a_served_sandbox_is_a_service_like_any_other(docs: Cli, tmp_path: Path) -> None:
    docs.write("seed.yaml", "organizations: [{id: org_acme, title: Acme}]\n"
               "members: [{organization: org_acme, id: usr_ada, email: ada@acme.example, role: admin}]\n"
               "tokens: [{token: t0p-token, member: usr_ada}]\n"
               "spaces: [{organization: org_acme, id: spc_blank, title: Blank}]\n")  # fmt: skip
    assert docs("sandbox", "seed", "--db", "s.db", "seed.yaml").exit_code == 0
    process = start(docs, "sandbox", "serve", "--db", "s.db", "--port", "0")
    try:
        assert process.stdout is not None
        match = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert match is not None
        env = {"RECONCILER_TOKEN": "t0p-token", "RECONCILER_BASE_URL": match[0]}
        docs.edit("p/reconciler.yaml", "  sandbox: .reconciler/sandbox.db", "  # none")
        result = docs("apply", "p", "--yes", "-v", env=env, code=0)
        assert "t0p-token" not in result.stdout + result.stderr
        assert docs("plan", "p", "--detailed-exitcode", env=env).exit_code == 0
        assert "the token was refused" in docs("plan", "p", env={**env, "RECONCILER_TOKEN": "wrong-token"}, code=1).stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
