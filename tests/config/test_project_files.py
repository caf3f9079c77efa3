"""`file()` reads texts of the project and nothing else, under whatever name.

The YAML names the server of a state so that everybody sees which it is, and nothing else that decides where a password goes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from reconciler.config.language.expressions import ExpressionError
from reconciler.config.language.files import ProjectFiles
from reconciler.config.source.state_url import mistake


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


ACCEPTED = [
    "postgresql://db.example/reconciler",
    "postgresql+psycopg://ada@db.example:5432/reconciler?sslmode=verify-full&sslrootcert=certs/root.crt",
    "postgresql://[::1]:5432/x?application_name=docs&connect_timeout=5",
    "postgresql:///reconciler",
    "s3://acme-states/handbook?region=eu-central-1",
]


@pytest.mark.parametrize("url", ACCEPTED)
def test_a_plain_url_is_accepted(url: str) -> None:
    assert mistake(url) is None


@pytest.mark.parametrize(
    "key",
    [
        "hostaddr", "service", "passfile", "host", "port", "user", "dbname", "options", "sslcert", "sslkey", "sslpassword", "requirepeer",
        "SSLMODE", "Hostaddr", "servicefile", "krbsrvname", "sslnegotiation", "target_session_attrs", "load_balance_hosts", "sslcrl",
        "%68ostaddr", "gssencmode",
    ],
)  # fmt: skip
def test_another_setting_is_refused_by_its_name(key: str) -> None:
    for query in (f"{key}=evil.example", f"sslmode=verify-full&{key}=evil.example", f"{key}="):
        problem = mistake(f"postgresql://db.example/x?{query}")
        assert problem is not None
        if key == "sslpassword":
            assert problem.id == "RC-state-password"
        else:
            assert problem.id == "RC-state-url-key"
            assert problem.message.startswith(f'state sets "{key.replace("%68", "h")}", which is not allowed in the YAML; one of sslmode, ')
            assert problem.message.endswith("set the whole URL in RECONCILER_STATE, or pass it as --state")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db.example,evil.example/x",
        "postgresql://db.example:5432,evil.example:5432/x",
        "postgresql://db.example@evil.example@x/y",
        "postgresql://a%40db.example@evil.example/x",
        "postgresql://%2Ftmp%2Fevil/x",
        "postgresql://db.example\\@evil.example/x",
        "postgresql://db.example/x/../y",
        "postgresql://db.example/x?sslmode=verify-full#?hostaddr=1.2.3.4",
        "postgresql://db.example/x%3Fhostaddr=1.2.3.4",
        "postgresql://db.example/host=evil.example",
        "postgresql://db.example/x?sslmode=verify-full;hostaddr=1.2.3.4",
        "postgresql://db.ex\nample/x",
        "postgresql://db.example/x?sslmode=verify%2Dfull",
        "postgresql://dаtabase.example/x",
        "postgresql+psycopg2://db.example/x",
    ],
)
def test_what_programs_could_read_differently_is_refused(url: str) -> None:
    problem = mistake(url)
    assert problem is not None
    assert problem.id == "RC-state-url"


def test_a_setting_is_written_once() -> None:
    problem = mistake("postgresql://db.example/x?sslmode=verify-full&sslmode=disable")
    assert problem is not None
    assert problem.message == "state sets sslmode twice; remove one of them"
