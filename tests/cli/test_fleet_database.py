"""Which database the commands of a fleet use without an option: only one that `fleet up` started here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

LOCAL = "postgresql://postgres:secret@/postgres?host=/nowhere"


def write(cli: Cli, text: str, mode: int = 0o600) -> Path:
    file = cli.root / ".reconciler/fleet/url"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        (LOCAL, 0o644),  # as git checks one out
        (LOCAL, 0o640),
        ("postgresql://postgres@db.evil.example/fleet", 0o600),
        ("postgresql://postgres@/fleet?host=db.evil.example", 0o600),
        ("postgresql://postgres@/fleet?host=/run,db.evil.example", 0o600),
        ("postgresql://postgres@localhost/fleet?hostaddr=192.0.2.1", 0o600),
        ("postgresql:///fleet?service=evil", 0o600),
        ("postgresql:///fleet", 0o600),
        ("\xff", 0o600),
    ],
)
def test_a_file_that_fleet_up_did_not_write_names_no_database(tmp_path: Path, text: str, mode: int) -> None:
    cli = Cli(tmp_path)
    write(cli, text, mode)
    for words in (("status",), ("approve", "acme"), ("pause", "acme", "--reason", "x")):
        done = cli("fleet", *words)
        assert done.exit_code != 0
        assert "is not a file that only you can read" in done.stderr
        assert "--database" in done.stderr
        assert "evil" not in done.stderr


def test_a_link_and_a_pipe_name_no_database(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    file = write(cli, LOCAL)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert "is not a file that only you can read" in cli("fleet", "status").stderr
    file.unlink()
    os.mkfifo(file, 0o600)
    assert "is not a file that only you can read" in cli("fleet", "status").stderr


@pytest.mark.parametrize("text", [LOCAL, "postgresql://postgres:secret@127.0.0.1:5/postgres?require_auth=scram-sha-256"])
def test_a_database_of_this_machine_is_used(tmp_path: Path, text: str) -> None:
    cli = Cli(tmp_path)
    write(cli, text)
    done = cli("fleet", "status")
    assert "is not a file" not in done.stderr
    assert "cannot be reached" in done.stderr
    assert "secret" not in done.stderr
