"""`file()` reads texts of the project and nothing else, under whatever name."""

from __future__ import annotations

import os
import re
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
        ("~/x", BELOW),
        ("C:/x", BELOW),
        ("a\\b", BELOW),
        ("a\0", BELOW),
        ("./certs/okta.pem", DOTS),
        (".env", DOTS),
        (".reconciler/state.db", DOTS),
        ("certs//okta.pem", DOTS),
    ],
)
def test_a_path_that_could_lead_elsewhere_is_refused(root: Path, path: str, why: str) -> None:
    assert reading(root, path) == f'file("{path}") {why}'


def test_a_file_that_is_not_a_text_of_the_project_is_refused(root: Path) -> None:
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
    assert reading(root, "hidden") == 'file("hidden") is a link to a hidden file, which is not allowed'
    assert reading(root, "loop").startswith('file("loop") cannot be read: ')
    assert reading(root, "pipe") == 'file("pipe") is not a text file'
    assert reading(root, "certs") == 'file("certs") is not a text file'
    assert reading(root, "bytes") == 'file("bytes") is not UTF-8'
    assert reading(root, "large") == 'file("large") is larger than 1 MiB'
    assert reading(root, "x" * 5000).startswith(f'file("{"x" * 59}…") cannot be read: ')
    for name in ("state.db", "state.db-wal", "hard", "soft"):
        assert reading(root, name) == f'file("{name}") is the database of a state or a sandbox, which is not allowed'


# -- outside the project -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "how"),
    [
        ("/etc/passwd", "is outside the project"),
        ("../outside", "is outside the project"),
        ("../absent", "is outside the project"),
        ("certs/../../outside", "is outside the project"),
        ("out", "is a link to a file outside the project"),
        ("folder/outside", "is a link to a file outside the project"),
    ],
)
def test_a_file_outside_is_refused_with_the_option_that_allows_it(root: Path, path: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "out").symlink_to("../outside")
    (root / "folder").symlink_to("..")
    monkeypatch.chdir(root)
    message = reading(root, path)
    assert message.startswith(f'file("{path}") {how}; to allow it, pass --allow-file ')
    option = Path(message.rpartition(" ")[2])
    assert option.resolve() == (root / path).resolve()
    if "absent" not in path:
        assert ProjectFiles(root, allowed=[option])(path)


def test_a_folder_allows_what_is_in_it_and_nothing_hidden_or_beside_it(root: Path) -> None:
    shared = root.parent / "shared"
    (shared / "deep").mkdir(parents=True)
    (shared / "deep" / "okta.pem").write_text("PEM")
    (shared / ".env").write_text("TOKEN=1")
    (shared / "out").symlink_to("../outside")
    (root.parent / "shared-too").write_text("beside")
    (root / "link").symlink_to("../shared/deep")
    files = ProjectFiles(root, [root / "state.db"], allowed=[shared])
    assert (files("../shared/deep/okta.pem"), files(f"{shared}/deep/okta.pem"), files("link/okta.pem")) == ("PEM", "PEM", "PEM")
    for path, message in {
        "../shared/.env": "is hidden in a folder that is allowed; to allow it too, pass --allow-file ",
        "../shared/out": "is outside the project; to allow it, pass --allow-file ",
        "../shared-too": "is outside the project; to allow it, pass --allow-file ",
        "../shared/nope": "no such file",
        "../project/certs/okta.pem": "is inside the project; write it relative to the project file: certs/okta.pem",
        "../project/.env": "is inside the project; write it relative to the project file: .env",
    }.items():
        with pytest.raises(ExpressionError, match=re.escape(message)):
            files(path)
    assert ProjectFiles(root, allowed=[shared / ".env"])("../shared/.env") == "TOKEN=1"


def test_the_state_is_not_given_out_where_its_folder_is_allowed(root: Path) -> None:
    os.link(root / "state.db", root.parent / "copy")
    with pytest.raises(ExpressionError, match="the database of a state or a sandbox"):
        ProjectFiles(root, [root / "state.db"], allowed=[root.parent])("../copy")
