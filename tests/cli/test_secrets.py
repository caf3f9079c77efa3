"""Secrets from files that the real `sops` encrypted, from the command line: applied, changed, masked, and checked without the key."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.hostile.canaries.world import with_secretive
from tests.sops import Sops, real

SECRET = "canary-of-okta/7f3A+9qZ"
OTHER = "canary-of-okta/next+0pX"
SAML = """\
    saml:
      okta: {label: Okta, entityID: "http://one", ssoURL: "https://one/sso", certificate: "${{ secrets.okta.pem }}"}
    sites:
"""
FILE = "p/secrets/production.enc.yaml"


@pytest.fixture
def sops(tmp_path_factory: pytest.TempPathFactory) -> Sops:
    return real(tmp_path_factory.mktemp("sops"))


@pytest.fixture
def project(cli: Cli, sops: Sops) -> Iterator[Cli]:
    """A project with one sensitive field whose value is encrypted."""
    with with_secretive():
        assert cli("init", "p", "--sandbox").exit_code == 0
        cli.edit("p/reconciler.yaml", "    sites:\n", SAML)
        cli.edit("p/reconciler.yaml", "version: 1\n", "version: 1\nsecrets: secrets/production.enc.yaml\n")
        sops.encrypt(cli.root / FILE, {"okta": {"pem": SECRET}})
        cli.env |= sops.env
        yield cli


def written(root: Path) -> Iterator[tuple[str, bytes]]:
    """Everything that commands wrote, but for the sandbox, which has what the service has."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and "sandbox" not in path.name:
            yield path.name, path.read_bytes()
        if path.name == "state.db":
            with closing(sqlite3.connect(path)) as database:
                yield "state", "\n".join(database.iterdump()).encode()


def test_a_life_with_secrets_says_and_keeps_none_of_them(project: Cli, sops: Sops) -> None:
    said = []

    def run(*words: str, code: int = 0) -> str:
        result = project(*words)
        assert result.exit_code == code, result.stderr
        said.append(result.stdout + result.stderr)
        return result.stdout

    run("plan", "p", "--out", "first.json", "--report", "html=r.html", "--report", "markdown=r.md", "--report", "json=r.json", "-v")
    run("apply", "p", "--yes", "--allow-exposure", "acme/saml/okta", "-v", "--format", "json")
    assert "No changes." in run("plan", "p")
    sops.encrypt(project.root / FILE, {"okta": {"pem": OTHER}})
    changed = run("plan", "p", "--out", "second.json")
    assert "certificate" in changed
    assert "(sensitive)" in changed
    run("apply", "p", "--plan", "second.json", "--yes")
    assert "No changes." in run("plan", "p")
    for words in (("show", "last", "p"), ("state", "pull", "p"), ("state", "show", "acme/saml/okta", "p")):
        run(*words)
    everything = [*((name, text) for name, text in written(project.root)), *(("said", text.encode()) for text in said)]
    assert len(everything) > 15
    leaks = [name for name, text in everything for secret in (SECRET, OTHER) if secret.encode() in text]
    assert leaks == []


def test_validate_needs_no_key_and_says_what_it_did_not_check(project: Cli) -> None:
    blind = {"SOPS_AGE_KEY_FILE": None, "PATH": "/usr/bin:/bin"}
    result = project("validate", "p", env=blind)
    assert (result.exit_code, "is valid" in result.stdout) == (0, True)
    assert "secrets/production.enc.yaml was not decrypted" in result.stderr
    for words in (("config", "render", "p"), ("state", "list", "p"), ("fmt", "p")):
        assert project(*words, env=blind).exit_code == 0
    project.edit("p/reconciler.yaml", "secrets.okta.pem", "secrets.okta.pen")
    result = project("validate", "p", env=blind)
    assert result.exit_code == 3
    assert 'secrets.okta has no "pen"; did you mean "pem"? (in secrets/production.enc.yaml)' in result.stderr


def test_without_the_key_every_command_that_needs_a_value_says_what_sops_said(project: Cli) -> None:
    blind = {"SOPS_AGE_KEY_FILE": None, "HOME": str(project.root / "nobody")}
    assert project("validate", "p", "--decrypt").exit_code == 0  # this is not remembered
    for words in (("plan", "p"), ("apply", "p", "--yes"), ("drift", "p"), ("validate", "p", "--decrypt")):
        result = project(*words, env=blind)
        assert result.exit_code == 3
        assert "secrets/production.enc.yaml: sops cannot decrypt it (exit code 128): Failed to get the data key" in result.stderr
    doctor = project("doctor", "p", env=blind)
    assert "sops cannot decrypt it" in doctor.stdout
    assert "validate p --decrypt shows all of them" in doctor.stdout


def test_a_file_that_was_edited_by_hand_is_refused(project: Cli) -> None:
    path = project.root / FILE
    path.write_text(path.read_text().replace("okta:", "okta:\n    added: plain", 1))
    result = project("plan", "p")
    assert result.exit_code == 3
    assert "sops cannot decrypt it" in result.stderr


def test_a_file_outside_the_project_is_allowed_by_the_command_line_alone(project: Cli) -> None:
    project.write("shared/okta.pem", "PEM")
    project.edit("p/reconciler.yaml", "${{ secrets.okta.pem }}", "${{ file('../shared/okta.pem') }}")
    result = project("validate", "p")
    assert result.exit_code == 3
    assert "is outside the project; to allow it, pass --allow-file shared/okta.pem" in result.stderr
    assert project("validate", "p", "--allow-file", "shared/okta.pem").exit_code == 0
    assert project("validate", "p", "--allow-file", "shared").exit_code == 0
    assert project("validate", "p").exit_code == 3
    assert project("plan", "p", "--allow-file", "shared", "--out", "plan.json").exit_code == 0
    applied = project("apply", "p", "--plan", "plan.json", "--yes", "--allow-file", "shared")
    assert applied.exit_code == 0, applied.stderr
    assert "No changes." in project("plan", "p", "--allow-file", "shared").stdout
    project.write("shared/okta.pem", "PEN")
    assert "1 to update" in project("plan", "p", "--allow-file", "shared").stdout
