"""What commands say to people who are wrong, or who cannot know: each answer says what is so, and what to do.

What a person got wrong is said as that, with what to do, and never as a defect of the program.
What is said where nothing can be done: the cause first, once, with what to do; what only waits for it is folded.
What cannot be decided by reading is decided by hand: `adopt` and `state forget --in-doubt`, both journalled."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from reconciler.certificates import tls_context
from reconciler.model import RecordedRun
from reconciler.report.history import history_sheet
from reconciler.report.layout import plain
from reconciler.report.sheet import sheet_text
from reconciler.sandbox.server import Embedded, embedded
from reconciler.text.install import installing
from reconciler.text.names import clock_time
from tests import processes
from tests.command_line import Cli, applied_project, initialised, prepared
from tests.contains import assert_contains
from tests.documents import valid
from tests.harness import SEED, TOKEN, Org
from tests.proofs import costly

NOW = datetime(2026, 11, 18, tzinfo=UTC)
LATE = '{"fault": "latency", "seconds": 60, "operation": "PATCH *"}'


@pytest.fixture
def applied(cli: Cli) -> Cli:
    return applied_project(cli)


def process(cli: Cli, *words: str) -> subprocess.Popen[str]:
    """A command in a process of its own, without a terminal."""
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS" and not name.startswith("RECONCILER_")}
    return processes.Popen(
        [sys.executable, "-m", "reconciler", *words],
        cwd=cli.root, env=environ | {"HOME": str(cli.root)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


# -- documents ------------------------------------------------------------------------------------------------------------------------


def test_what_the_state_tracks_is_a_document_with_a_format(applied: Cli) -> None:
    listed = valid(applied.json("state", "list", "p"), "state-list")
    shown = valid(applied.json("state", "show", "acme/space/guides", "p"), "state-show")
    assert (listed["format"], shown["format"]) == ("reconciler.state-list/1", "reconciler.state-show/1")
    assert {key: shown[key] for key in listed["bindings"][0]} in listed["bindings"]


def test_a_state_that_does_not_exist_yet_is_a_document_too(cli: Cli) -> None:
    cli("init", "p", "--sandbox")
    assert valid(cli.json("state", "list", "p"), "state-list")["bindings"] == []


# -- what is not installed --------------------------------------------------------------------------------------------------------------


def test_init_of_a_sandbox_says_at_once_what_to_install(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused = cli("init", "p", "--sandbox", code=1)
    assert refused.stderr.startswith("error: the sandbox requires packages that are not installed: uvicorn [RC-package-missing]\n")
    assert installing("fastapi", "markdown-it-py", "uvicorn") in refused.stderr
    assert not (cli.root / "p").exists()
    assert cli("init", "p").exit_code == 0


# -- runs ------------------------------------------------------------------------------------------------------------------------------


def test_undo_of_an_unknown_run_lists_the_known_ones(applied: Cli) -> None:
    known = applied.json("history", "p")["runs"][0]["id"][:8]
    refused = applied("undo", "zzz", "p", code=3)
    assert refused.stderr.startswith("error: run zzz does not exist [RC-no-such-run]\n       These runs did something, newest first:\n")
    assert f"{known}  " in refused.stderr
    assert "terminal" not in refused.stderr


def test_undo_without_a_terminal_shows_what_it_would_do_and_changes_nothing(applied: Cli) -> None:
    applied.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert applied("apply", "p", "--yes").exit_code == 0
    refused = applied("undo", "last", "p", code=3)
    assert "~ title       Authors -> Writers" in refused.stdout
    assert refused.stderr.endswith("[RC-no-terminal]\n       Pass --yes to undo without confirmation.\n")
    assert applied("plan", "p").exit_code == 0
    assert applied("plan", "p").stdout.startswith("No changes.")
    assert "is undone" in applied("undo", "last", "p", "--yes", code=0).stdout


def test_undo_before_anything_ran_says_so(cli: Cli) -> None:
    cli("init", "p", "--sandbox")
    refused = cli("undo", "zzz", "p", "--yes")
    assert (refused.exit_code, "Nothing has run yet." in refused.stderr) == (3, True)


def test_a_killed_run_is_killed_in_the_history_and_stays_so_after_it_was_recovered(applied: Cli) -> None:
    applied("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", LATE)
    applied.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    with process(applied, "apply", "p", "--yes") as running:
        try:
            while not (run := applied.json("history", "p")["runs"][0])["undone"]:
                assert running.poll() is None
                time.sleep(0.05)  # until its request is under way
            assert (run["status"], run["exit"]) == ("running", None)
            assert "  running  " in applied("history", "p").stdout
        finally:
            running.send_signal(signal.SIGKILL)
    killed = valid(applied.json("history", "p"), "history")["runs"][0]
    assert (killed["status"], killed["undone"]) == ("killed", {"in-doubt": 1})
    applied("sandbox", "faults", "clear", "--db", "p/.reconciler/sandbox.db")
    assert applied("apply", "p", "--yes").exit_code == 0
    runs = valid(applied.json("history", "p"), "history")["runs"]
    assert [(run["id"] == killed["id"], run["status"]) for run in runs] == [(False, "ended"), (True, "killed"), (False, "ended")]
    assert "under way" not in applied("history", "p").stdout


# -- times and widths -------------------------------------------------------------------------------------------------------------------


def test_times_are_the_readers_and_documents_keep_utc(applied: Cli) -> None:
    said = {}
    for zone in ("Asia/Tokyo", "America/New_York"):
        shown = processes.run(
            [sys.executable, "-m", "reconciler", "history", "p"],
            cwd=applied.root, env=os.environ | {"TZ": zone}, capture_output=True, text=True,
        ).stdout  # fmt: skip
        said[zone] = shown.splitlines()[1][10:].split("  ")[0]
    assert datetime.fromisoformat(applied.json("history", "p")["runs"][0]["started"]).utcoffset() == UTC.utcoffset(None)
    assert said["Asia/Tokyo"].endswith(" JST")
    assert said["America/New_York"].split()[-1] in ("EST", "EDT")
    assert said["Asia/Tokyo"] != said["America/New_York"]


def test_a_moment_is_said_with_its_zone() -> None:
    assert clock_time(datetime(2026, 11, 18, 14, 2, 11, tzinfo=UTC), UTC) == "2026-11-18 14:02:11 UTC"


def test_the_last_column_of_the_history_is_wrapped_below_itself() -> None:
    run = RecordedRun(
        "0" * 36, "ada@host", "apply", datetime(2026, 11, 18, tzinfo=UTC), None, 0, {"create": 1, "update": 2, "move": 3, "delete": 4}
    )
    lines = plain(sheet_text(history_sheet([run], None), width=92)).splitlines()
    assert max(map(len, lines)) <= 92
    assert [line[lines[0].index("what") :] for line in lines[1:]] == ["1 create, 2 update, 3 move, 4", "delete"]


def test_nothing_is_wrapped_where_there_is_no_terminal(applied: Cli) -> None:
    long = "x" * 90
    applied.edit("p/reconciler.yaml", "writers:", f"{long}:")
    with process(applied, "plan", "p", "--color", "never") as planned:
        out, _ = planned.communicate()
    assert max(map(len, out.splitlines())) > 120
    assert max(map(len, applied("plan", "p", env={"COLUMNS": "60"}).stdout.splitlines()[:-1])) <= 60


# -- the state's lock -------------------------------------------------------------------------------------------------------------------


def test_unlock_without_force_says_that_it_only_shows(applied: Cli) -> None:
    applied("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", LATE)
    applied.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    with process(applied, "apply", "p", "--yes") as running:
        try:
            while applied.json("history", "p")["runs"][0]["status"] != "running":
                assert running.poll() is None
                time.sleep(0.05)  # until it has the state
            shown = applied("state", "unlock", "p")
        finally:
            running.kill()
    assert shown.exit_code == 0
    assert "holds the state with run" in shown.stdout
    assert "Nothing was unlocked: without --force this command only shows who holds the state." in shown.stderr


def test_the_help_of_unlock_says_the_same(cli: Cli) -> None:
    assert "With --force RUN, take the lease" in " ".join(cli("state", "unlock", "--help").stdout.split())


HTTPS = ("--base-url", "https://127.0.0.1:1")
GIVEN = {"RECONCILER_TOKEN": "a-token-of-nobody", "SSL_CERT_FILE": None, "SSL_CERT_DIR": None, "HTTPS_PROXY": None, "https_proxy": None}


@pytest.fixture
def made(cli: Cli) -> Cli:
    """A project that was applied to its sandbox; a context for TLS is made anew."""
    applied_project(cli)
    tls_context.cache_clear()
    return cli


def refused(result: Result, *words: str) -> None:
    """The run ended as a person's mistake, and says each of these."""
    assert result.exit_code == 3, result.stderr
    assert "defect" not in result.stderr
    for word in words:
        assert word in " ".join(result.stderr.split()), result.stderr


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("SSL_CERT_FILE", None, "which cannot be read: no such file or directory"),
        ("SSL_CERT_FILE", "no certificate\n", "which contains no certificate in PEM format"),
        ("SSL_CERT_DIR", None, "which contains no certificates"),
    ],
)
def test_certificate_authorities_that_cannot_be_read_are_named_with_their_variable(
    made: Cli, name: str, content: str | None, says: str
) -> None:
    path = made.root / "authorities"
    if content is not None:
        path.write_text(content)
    for words in (("plan", "p"), ("drift", "p"), ("api", "GET", "/user")):
        refused(made(*words, *HTTPS, env={**GIVEN, name: str(path)}), f"{name} names {path}, {says}", "unset it")
    found = made("doctor", "p", *HTTPS, env={**GIVEN, name: str(path)})
    assert f"{name} names" in " ".join(found.stdout.split())


def test_a_folder_of_authorities_with_other_names_is_refused_because_openssl_would_trust_nobody(made: Cli) -> None:
    (made.root / "folder").mkdir()
    (made.root / "folder" / "ours.pem").write_text("x")
    refused(made("plan", "p", *HTTPS, env={**GIVEN, "SSL_CERT_DIR": f"{made.root}/folder"}), "openssl rehash")


@pytest.mark.parametrize(
    "address",
    ["http://[::1", "socks5://localhost:1080", "http://user:pass-of-ada@localhost:99999", "localhost:port", "http://", "://", "http://a b",
     "http://a\udcff"],
)  # fmt: skip
def test_a_proxy_that_cannot_be_one_is_named_with_its_variable_and_without_its_password(made: Cli, address: str) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        result = made("plan", "p", "--base-url", "https://service.example", env={**GIVEN, name: address})
        refused(result, f"{name} is not the URL of an HTTP proxy", "http://proxy.example:3128")
        assert "pass-of-ada" not in result.stderr


def test_a_pipe_is_refused_as_sandbox_baseline_and_output_of_a_plan(made: Cli) -> None:
    pipe = made.root / "pipe"
    os.mkfifo(pipe)
    refused(made("plan", "p", "--sandbox", str(pipe)), "is not a regular file")
    refused(made("drift", "p", "--baseline", str(pipe)), "is not a regular file")
    refused(made("plan", "p", "--out", str(pipe)), "is not a regular file")
    refused(made("state", "pull", "p", "--out", str(pipe)), "is not a regular file")
    assert pipe.is_fifo()


def people(cli: Cli, **ids: str) -> None:
    """Declare linus and grace as members, with these ids."""
    written = "".join(f"      {name}@acme.example: {{role: read, id: {id}}}\n" for name, id in ids.items() if id)
    written += "".join(f"      {name}@acme.example: read\n" for name, id in ids.items() if not id)
    path = cli.root / "q" / "reconciler.yaml"
    head, _, tail = path.read_text("utf-8").partition("      ada@acme.example: admin\n")
    path.write_text(f"{head}      ada@acme.example: admin\n{written}{tail[tail.index('    teams:') :]}", encoding="utf-8")


def roles(cli: Cli) -> dict[str, str]:
    """What each member may do, as the service says."""
    listed = json.loads(cli("api", "GET", "/orgs/org_acme/members", "--sandbox", "q/.reconciler/sandbox.db").stdout)
    return {member["id"]: member["role"] for member in listed["items"]}


@costly
@pytest.mark.parametrize("tracked", [True, False])
def test_a_member_with_the_id_of_another_member_is_blocked_alone_and_the_other_keeps_everything(cli: Cli, tracked: bool) -> None:
    assert cli("init", "q", "--sandbox").exit_code == 0
    people(cli, linus="usr_linus", grace="usr_grace")
    assert cli("apply", "q", "--yes").exit_code == 0
    people(cli, linus="usr_grace", grace="")
    for name in ("linus", "grace") if not tracked else ("linus",):
        assert cli("state", "forget", f"acme/member/{name}@acme.example", "q").exit_code == 0
    before = roles(cli)
    for command in (("plan", "q"), ("apply", "q", "--yes")):
        result = cli(*command)
        said = " ".join((result.stdout + result.stderr).split())
        assert "defect" not in said
        assert_contains(
            said,
            "acme/member/linus@acme.example",
            "the YAML says id usr_grace, which is ",
            "correct the id, or remove it",
            "1 blocked",
        )
    assert roles(cli) == before
    ids = {one["address"]: one["id"] for one in cli.json("state", "list", "q")["bindings"]}
    assert ids["acme/member/grace@acme.example"] == "usr_grace"
    assert "acme/member/linus@acme.example" not in ids


def test_a_project_that_is_not_text_is_a_problem_of_that_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "reconciler.yaml").write_bytes(b"\xff\xfe\x00")
    refused(cli("validate", "p"), "reconciler.yaml", "UTF-8")


def test_an_option_in_the_place_of_a_value_is_refused_and_not_taken_as_the_value(made: Cli) -> None:
    refused(made("drift", "--accept", "--sandbox", "x.db"), "Option '--accept' requires an argument, and '--sandbox' is an option.")
    assert "is an option" not in made("drift", "--accept=--sandbox").stderr


ACME: dict[str, Any] = {
    "id": "org_acme",
    "members": {"ada@acme.example": "admin"},
    "content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}, {"space": "guides", "title": "Guides", "duplicateOf": "blank"}],
    "sites": {"docs": {"title": "Docs", "structure": [{"section": "start", "title": "Start", "spaces": ["guides"]}]}},
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Embedded]:
    with embedded(tmp_path / "real.db", seed=SEED) as running:
        yield running


def project(cli: Cli, organization: Any) -> None:
    whole = {"version": 1, "project": "p", "service": {"member": "ada@acme.example"}, "organizations": {"acme": organization}}
    cli.write("p/reconciler.yaml", yaml.safe_dump(whole, sort_keys=False))


@contextmanager
def website(status: int) -> Iterator[str]:
    """A web site that answers every request with the same page."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "15")
            self.end_headers()
            self.wfile.write(b"<h1>Hello!</h1>")

        def log_message(self, *words: Any) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tokened(running: Embedded) -> dict[str, str]:
    return {"RECONCILER_TOKEN": running.token}


# -- another address than the service's ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["plan", "drift", "apply --yes --create-state", "import taken --org org_acme"])
def test_a_wrong_base_path_is_said_once(cli: Cli, served: Embedded, command: str) -> None:
    project(cli, ACME)
    name, *words = command.split()
    words = [name, *words] if name == "import" else [name, "p", *words]
    refused = cli(*words, "--base-url", f"{served.base_url}/wrong", env=tokened(served), code=1)
    said = f"{served.base_url}/wrong is not the URL of the service: it answered 404 to GET /v1/orgs too"
    assert (refused.stdout + refused.stderr).count(said) == 1
    assert "Correct service.baseUrl, --base-url or RECONCILER_BASE_URL" in refused.stderr
    assert "blocked" not in refused.stdout


def test_doctor_does_not_say_that_a_token_was_accepted_where_nothing_asked_for_it(cli: Cli, served: Embedded) -> None:
    project(cli, ACME)
    checked = cli("doctor", "p", "--base-url", f"{served.base_url}/wrong", env=tokened(served))
    assert "  skipped  token       not checked: the service answered 404 to GET /v1/orgs\n" in checked.stdout
    assert "is not the URL of the service" in checked.stdout


@costly
@pytest.mark.parametrize("status", [200, 404])
def test_a_web_site_is_not_taken_for_the_service(cli: Cli, status: int) -> None:
    project(cli, ACME)
    with website(status) as url:
        refused = cli("plan", "p", "--base-url", url, env={"RECONCILER_TOKEN": TOKEN})
    assert refused.exit_code == 1
    assert "the URL of the service" in refused.stderr
    assert {200: "correct service.baseUrl", 404: "Correct service.baseUrl"}[status] in refused.stderr


def test_where_the_organization_is_there_no_request_is_spent_on_it(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write(ACME)
    org.apply()
    assert ("GET", "/orgs") not in org.requests


def test_a_wrong_organization_is_one_cause_and_the_ids_within_reach_are_named(cli: Cli, served: Embedded) -> None:
    project(cli, ACME | {"id": "org_acm"})
    base = ("--base-url", served.base_url)
    shown = cli("plan", "p", *base, env=tokened(served), code=4)
    assert shown.stdout.count("! blocked") == 1
    assert_contains(
        shown.stdout,
        "no organization has the id org_acm",
        "correct the id: the token has access to org_acme",
        "waiting     6 resources: acme/space/blank, acme/space/guides and 4 more; --full lists them",
        "7 blocked by 1 cause. 0 requests.",
    )
    document = valid(cli.json_of("plan", "p", *base, env=tokened(served)), "plan")
    assert len(document["blocked"]) == document["summary"]["blocked"] == 7
    assert [one["cause"] for one in document["blocked"]] == [None, *["acme"] * 6]
    site = next(one for one in document["blocked"] if one["address"] == "acme/site/docs")
    assert site["remedy"] == "unblock acme first: correct the id: the token has access to org_acme"


# -- causes and what waits for them -------------------------------------------------------------------------------------------------------


MISSING: dict[str, Any] = {
    "id": "org_acme",
    "content": [
        {"collection": f"c{number}", "id": f"col_{number}", "title": f"C {number}", "content": [
            {"space": f"s{number}x{inner}", "title": f"S {inner}", "duplicateOf": f"s{number}x0"} if inner else
            {"space": f"s{number}x0", "title": "S 0", "duplicateOf": "blank"}
            for inner in range(4)
        ]}
        for number in range(3)
    ] + [{"space": "blank", "id": "spc_blank", "title": "Blank"}],
}  # fmt: skip


def test_missing_ids_are_shown_as_causes_with_what_waits_for_each(tmp_path: Path) -> None:
    from reconciler.report.formats.html import html
    from reconciler.report.formats.markdown import markdown
    from reconciler.report.layout import plain
    from reconciler.report.plan import plan_sheet
    from tests.cli.test_answers import NOW
    from tests.report.made import plan_text

    org = Org(tmp_path)
    org.write(MISSING)
    made = org.plan()
    text = plain(plan_text(made, width=200))
    assert text.count("! blocked") == 3
    assert text.count("    waiting     4 resources: ") == 3
    assert "15 blocked by 3 causes" in text
    assert all(f"acme/space/s{number}x3" in plain(plan_text(made, width=2_000, full=True)) for number in range(3))
    for page in (markdown(plan_sheet(made)), html(plan_sheet(made), created_at=NOW)):
        assert page.count("no collection has the id") == 3
        assert page.count("4 resources: ") == 3
        assert "which is blocked" not in page
    assert len(made.blocked) == 15


RULE = '{"fault": "truncated", "operation": "PUT /orgs/*/teams", "times": 1}'


@pytest.fixture
def doubtful(cli: Cli) -> Cli:
    """A project whose team was made, twice by the look of it, and whose answer was lost."""
    return with_a_lost_answer(cli)


@prepared
def with_a_lost_answer(cli: Cli) -> Cli:
    initialised(cli)("plan", "p")
    assert cli("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", RULE).exit_code == 0
    assert cli("apply", "p", "--yes").exit_code == 5
    cli("api", "PUT", "/orgs/org_acme/teams", "-f", "title=Writers", "--project", "p")
    assert "acme/team/writers: still in doubt" in cli("apply", "p", "--yes", code=4).stderr
    return cli


def ids(cli: Cli) -> list[str]:
    return cli("api", "GET", "/orgs/org_acme/teams", "--project", "p", "--jq", ".items[].id").stdout.split()


def test_an_object_that_is_named_settles_it(doubtful: Cli) -> None:
    mine, other = ids(doubtful)
    assert doubtful("adopt", "acme/team/writers", mine, "p").stdout == f"acme/team/writers now tracks {mine}.\n"
    assert doubtful("plan", "p", "--detailed-exitcode").exit_code == 0
    assert doubtful("state", "forget", "acme/team/writers", "p", "--in-doubt").exit_code == 3
    assert other in ids(doubtful)


def test_a_request_declared_as_not_done_is_planned_again(doubtful: Cli) -> None:
    assert doubtful("state", "forget", "acme/team/writers", "p", "--in-doubt").stdout == "acme/team/writers is no longer in doubt.\n"
    assert "2 objects match" in doubtful("plan", "p").stdout
