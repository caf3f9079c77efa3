"""What a run that failed says, where people read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reconciler.fleet.changes import Changes
from reconciler.fleet.reports import plan_sheet
from reconciler.fleet.runs import work
from reconciler.fleet.runs.process import database_access, environ, last_words
from reconciler.report.layout import plain
from reconciler.report.sheet import sheet_text

PROBLEM = 'docs/reconciler.yaml:9:{}  acme/space/docs: unknown field "titel"; did you mean "title"? [RC-unknown-field]'
ERROR = "1 problem in the project; nothing was sent"
ONE = " ".join(PROBLEM.format(1).split())


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        ("Reading …\nerror: 503 [RC-x]\n       Try again.\n", "503 [RC-x] Try again."),
        (f"warning: old\n{PROBLEM.format(1)}\nerror: {ERROR}\n", f"{ERROR}: {ONE}"),
        ("Killed\n", "Killed"),
        ("", ""),
    ],
)
def test_a_run_says_its_error_and_the_problems_of_its_project(printed: str, says: str) -> None:
    assert last_words(printed) == says


def test_a_run_reaches_the_state_with_the_password_file_of_its_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGUSER", "fleet")
    assert database_access(own=True, login=True) == {"PGUSER": "fleet"}
    (tmp_path / ".pgpass").touch()
    assert database_access(own=False, login=True) == {"PGPASSFILE": str(tmp_path / ".pgpass")}
    monkeypatch.setenv("PGPASSFILE", "/etc/reconciler/pgpass")
    assert database_access(own=False, login=True) == {"PGPASSFILE": "/etc/reconciler/pgpass"}


def test_the_first_problems_are_named_and_the_others_counted() -> None:
    lines = "\n".join(PROBLEM.format(number) for number in range(1, 6))
    says = last_words(f"{lines}\nerror: 5 problems in the project; nothing was sent\n")
    assert (says.count("unknown field"), says.endswith("; and 2 more")) == (3, True)


def test_a_value_that_changes_is_one_line() -> None:
    before, after = ({"git": "https://git.example.com/x.git", "path": path} for path in ("a", "b"))
    pending = Changes(changing={"acme": ({"key": "source", "before": before, "after": after},)})
    text = plain(sheet_text(plan_sheet(pending), width=1_000))
    assert '      source    {"git": "https://git.example.com/x.git", "path": "a"} -> {' in text
    assert "\\n" not in text


def test_a_run_gets_of_its_worker_only_the_variables_that_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        monkeypatch.delenv(name)
    passed = {"PATH": "/usr/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "SSL_CERT_FILE": "/ca.pem", "HTTPS_PROXY": "http://proxy.example"}
    others = {"ACME_TOKEN": "tok", "AWS_SECRET_ACCESS_KEY": "s", "RECONCILER_DATABASE": "postgresql:///fleet", "SSH_AUTH_SOCK": "/agent"}
    for name, value in {**passed, **others, "HOME": "/root"}.items():
        monkeypatch.setenv(name, value)
    own = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    assert environ(tmp_path, {"RECONCILER_TOKEN": "its own"}) == {**passed, **own, "RECONCILER_TOKEN": "its own"}


def test_a_reading_may_take_a_quarter_of_an_hour_and_an_apply_an_hour() -> None:
    assert (work.READ_SECONDS, work.APPLY_SECONDS) == (15 * 60, 60 * 60)
