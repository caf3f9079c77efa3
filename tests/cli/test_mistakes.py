"""What a person got wrong is said as that, with what to do, and never as a defect of the program."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import Result

from reconciler.certificates import tls_context
from tests.cli.conftest import Cli, applied_project

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
        assert "acme/member/linus@acme.example" in said
        assert "the YAML says id usr_grace, which is " in said
        assert "correct the id, or remove it" in said
        assert "1 blocked" in said
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
