"""`file()` reads texts of the project and nothing else, under whatever name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reconciler.config.language.expressions import ExpressionError
from reconciler.config.language.files import ProjectFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "certs").mkdir(parents=True)
    (project / "certs" / "okta.pem").write_text("PEM\n")
    (project / ".reconciler").mkdir()
    (project / ".reconciler" / "state.db").write_text("state")
    (project / ".env").write_text("TOKEN=1")
    (project / "state.db").write_text("state")
    (project / "state.db-wal").write_text("state")
    (tmp_path / "outside").write_text("outside")
    return project


def reading(root: Path, path: str) -> str:
    with pytest.raises(ExpressionError) as raised:
        ProjectFiles(root, [root / "state.db"])(path)
    return raised.value.message


def test_a_file_of_the_project_is_read_as_it_is(root: Path) -> None:
    (root / "crlf").write_bytes("é\r\n".encode())
    files = ProjectFiles(root)
    assert (files("certs/okta.pem"), files("crlf")) == ("PEM\n", "é\r\n")
    (root / "link").symlink_to("certs/okta.pem")
    assert files("link") == "PEM\n"


BELOW = "is not a path inside the project; write it relative to the project file, with /"
DOTS = "has a part that is empty or begins with a dot, which is not allowed"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", BELOW),
        ("/etc/passwd", BELOW),
        ("~/x", BELOW),
        ("C:/x", BELOW),
        ("a\\b", BELOW),
        ("a\0", BELOW),
        ("../outside", DOTS),
        ("certs/../../outside", DOTS),
        ("./certs/okta.pem", DOTS),
        (".env", DOTS),
        (".reconciler/state.db", DOTS),
        ("certs//okta.pem", DOTS),
    ],
)
def test_a_path_that_could_lead_elsewhere_is_refused(root: Path, path: str, why: str) -> None:
    assert reading(root, path) == f'file("{path}") {why}'


def test_what_is_no_text_of_the_project_is_refused(root: Path) -> None:
    (root / "out").symlink_to("../outside")
    (root / "folder").symlink_to("..")
    (root / "hidden").symlink_to(".env")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    (root / "bytes").write_bytes(b"\xff")
    (root / "large").write_bytes(b"a" * (2**20 + 1))
    os.link(root / "state.db", root / "hard")
    (root / "soft").symlink_to("state.db")
    assert reading(root, "nope") == 'file("nope"): no such file in the project'
    assert (
        reading(root, "out")
        == reading(root, "out").replace("folder/outside", "out")
        == 'file("out") is a link to a file outside the project'
    )
    assert reading(root, "folder/outside") == 'file("folder/outside") is a link to a file outside the project'
    assert reading(root, "hidden") == 'file("hidden") is a link to a hidden file, which is not allowed'
    assert reading(root, "loop").startswith('file("loop") cannot be read: ')
    assert reading(root, "pipe") == 'file("pipe") is not a text file'
    assert reading(root, "certs") == 'file("certs") is not a text file'
    assert reading(root, "bytes") == 'file("bytes") is not UTF-8'
    assert reading(root, "large") == 'file("large") is larger than 1 MiB'
    assert reading(root, "x" * 5000).startswith(f'file("{"x" * 59}…") cannot be read: ')
    for name in ("state.db", "state.db-wal", "hard", "soft"):
        assert reading(root, name) == f'file("{name}") is the database of a state or a sandbox, which is not allowed'
