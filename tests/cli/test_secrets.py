"""Secrets from files that the real `sops` encrypted, from the command line: applied, changed, masked, and checked without the key.

What the state keeps of a sensitive field: a digest that only the state's own key makes, and that nobody can guess a value against.
Credentials in URLs are in no output, state, journal or saved plan, wherever they come from; a URL may come from a secret."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reconciler import kinds
from tests.command_line import Cli
from tests.hostile.canaries.world import secretive, with_secretive
from tests.proofs import costly
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


@costly
def test_a_life_with_secrets_says_and_keeps_none_of_them(project: Cli, sops: Sops) -> None:
    said = []

    def run(*words: str, code: int = 0) -> str:
        result = project(*words, code=code)
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
    assert [name for name, text in everything for secret in (SECRET, OTHER) if secret.encode() in text] == []


def test_validate_needs_no_key_and_says_what_it_did_not_check(project: Cli) -> None:
    blind = {"SOPS_AGE_KEY_FILE": None, "PATH": "/usr/bin:/bin"}
    result = project("validate", "p", env=blind)
    assert (result.exit_code, "is valid" in result.stdout) == (0, True)
    assert "secrets/production.enc.yaml was not decrypted" in result.stderr
    for words in (("config", "render", "p"), ("state", "list", "p"), ("fmt", "p")):
        assert project(*words, env=blind).exit_code == 0
    project.edit("p/reconciler.yaml", "secrets.okta.pem", "secrets.okta.pen")
    result = project("validate", "p", env=blind, code=3)
    assert 'secrets.okta has no "pen"; did you mean "pem"? (in secrets/production.enc.yaml)' in result.stderr


def test_without_the_key_every_command_that_needs_a_value_says_what_sops_said(project: Cli) -> None:
    blind = {"SOPS_AGE_KEY_FILE": None, "HOME": str(project.root / "nobody")}
    assert project("validate", "p", "--decrypt").exit_code == 0  # this is not remembered
    for words in (("plan", "p"), ("apply", "p", "--yes"), ("drift", "p"), ("validate", "p", "--decrypt")):
        result = project(*words, env=blind, code=3)
        assert "secrets/production.enc.yaml: sops cannot decrypt it (exit code 128): Failed to get the data key" in result.stderr
    doctor = project("doctor", "p", env=blind)
    assert "sops cannot decrypt it" in doctor.stdout
    assert "validate p --decrypt shows all of them" in doctor.stdout


def test_a_file_that_was_edited_by_hand_is_refused(project: Cli) -> None:
    path = project.root / FILE
    path.write_text(path.read_text().replace("okta:", "okta:\n    added: plain", 1))
    assert "sops cannot decrypt it" in project("plan", "p", code=3).stderr


def test_a_file_outside_the_project_is_allowed_by_the_command_line_alone(project: Cli) -> None:
    project.write("shared/okta.pem", "PEM")
    project.edit("p/reconciler.yaml", "${{ secrets.okta.pem }}", "${{ file('../shared/okta.pem') }}")
    assert "is outside the project; to allow it, pass --allow-file shared/okta.pem" in project("validate", "p", code=3).stderr
    assert project("validate", "p", "--allow-file", "shared/okta.pem").exit_code == 0
    assert project("validate", "p", "--allow-file", "shared").exit_code == 0
    assert project("validate", "p").exit_code == 3
    assert project("plan", "p", "--allow-file", "shared", "--out", "plan.json").exit_code == 0
    project("apply", "p", "--plan", "plan.json", "--yes", "--allow-file", "shared", code=0)
    assert "No changes." in project("plan", "p", "--allow-file", "shared").stdout
    project.write("shared/okta.pem", "PEN")
    assert "1 to update" in project("plan", "p", "--allow-file", "shared").stdout


PASSWORD = "hunter2"  # unlike hexadecimal digits: in ids, which are made of these, what is secret would be hidden too
KEPT_SAML = """\
    saml:
      okta: {label: Okta, entityID: "http://one", ssoURL: "https://one/sso", certificate: "hunter2"}
    sites:
"""


@pytest.fixture
def applied(cli: Cli) -> Iterator[Cli]:
    """A project one field of which is declared sensitive, with a value that is easily guessed."""
    with with_secretive():
        assert cli("init", "p", "--sandbox").exit_code == 0
        cli.edit("p/reconciler.yaml", "    sites:\n", KEPT_SAML)
        cli("apply", "p", "--yes", "--allow-exposure", "acme/saml/okta", code=0)
        yield cli


def kept(cli: Cli, state: str = "p/.reconciler/state.db") -> tuple[set[str], bytes, str]:
    """What stands in the state of the field, the key of the state, and the object's id."""
    with closing(sqlite3.connect(cli.root / state)) as database:
        found = database.execute("select sent, seen from fields where name = 'certificate'").fetchall()
        (key,) = database.execute("select digest_key from states").fetchone()
        (id,) = database.execute("select id from bindings where address = 'acme/saml/okta'").fetchone()
    return {json.loads(text) for row in found for text in row if text is not None}, bytes(key), str(id)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for key, part in value.items() for text in (key, *texts(part)))
    elif isinstance(value, list):
        yield from (text for part in value for text in texts(part))
    elif isinstance(value, str):
        yield value


def test_a_digest_is_made_with_the_key_of_the_state_and_with_nothing_that_can_be_read_elsewhere(applied: Cli) -> None:
    (digest,), key, id = kept(applied)
    assert digest == "hmac-sha256:" + hmac.new(key, json.dumps([id, "certificate", PASSWORD]).encode(), hashlib.sha256).hexdigest()
    pulled = applied("state", "pull", "p").stdout
    assert digest not in pulled
    assert key.hex() not in pulled
    known = {*texts(json.loads(pulled)), *texts(json.loads(applied("state", "list", "p", "--format", "json").stdout)), ""}
    assert id in known
    said = (PASSWORD, json.dumps(PASSWORD), json.dumps([id, "certificate", PASSWORD]))
    for text in said:
        assert hashlib.sha256(text.encode()).hexdigest() not in digest
        assert [one for one in known if hmac.new(one.encode(), text.encode(), hashlib.sha256).hexdigest() in digest] == []


def test_two_states_keep_the_same_secret_of_the_same_object_differently(applied: Cli) -> None:
    other = ("--state", f"sqlite:///{applied.root}/other.db")
    assert applied("apply", "p", "--yes", "--create-state", "--allow-exposure", "acme/saml/okta", *other).exit_code == 0
    (first, _, id), (second, _, same) = kept(applied), kept(applied, "other.db")
    assert id == same
    assert len(first) == len(second) == 1
    assert first != second


@costly
def test_it_tells_whether_the_value_is_the_same(applied: Cli) -> None:
    assert applied("plan", "p", "--detailed-exitcode").exit_code == 0
    assert applied("drift", "p").exit_code == 0
    applied.edit("p/reconciler.yaml", '"hunter2"', '"hunter3"')
    (change,) = applied.json("plan", "p")["changes"]
    assert [(one["name"], one["before"], one["cause"]) for one in change["fields"]] == [("certificate", "(sensitive)", "yours")]
    assert applied("plan", "p", "--out", "plan.json").exit_code == 0
    assert applied("apply", "p", "--plan", "plan.json").exit_code == 0
    assert applied("plan", "p", "--detailed-exitcode").exit_code == 0
    (digest,), _, id = kept(applied)
    assert applied("api", "PATCH", f"/orgs/org_acme/saml/{id}", "-f", "certificate=four", "--project", "p").exit_code == 0
    assert applied("drift", "p").exit_code == 2
    assert applied("apply", "p", "--yes", "--allow-exposure", "**").exit_code == 0
    assert kept(applied)[0] == {digest}
    assert applied("state", "forget", "acme/saml/okta", "p").exit_code == 0
    applied("adopt", "acme/saml/okta", id, "p", code=0)
    assert kept(applied)[0] == {digest}
    assert applied("plan", "p", "--detailed-exitcode").exit_code == 0
    assert applied("graph", "p", "--steps").exit_code == 0


def test_without_a_key_nothing_is_kept_of_a_secret() -> None:
    certificate = secretive()["saml"].fields["certificate"]
    with pytest.raises(ValueError, match="certificate is sensitive, and there is no key to keep it with"):
        certificate.stored(PASSWORD, "saml_1")
    assert kinds.load()["saml"].fields["ssoURL"].stored("https://ci:hunter2@idp.example/x", "saml_1") == "https://(hidden)@idp.example/x"


WRITTEN = "https://ci:hunter2-pw@api.acme.example/openapi.json?private_token=glpat-5up3r"
SECRETS = ("hunter2-pw", "glpat-5up3r")
TREE = """\
    openapi:
      payments: {source: {url: "URL"}}
    saml:
      okta: {label: Okta, entityID: "https://okta.example/1", ssoURL: "https://u:s3cr3t-idp@okta.example/sso", certificate: CERTIFICATE}
    sites:
"""


@pytest.fixture
def project_of_urls(cli: Cli) -> Cli:
    """A project of a sandbox, without URLs yet."""
    assert cli("init", "p", "--sandbox").exit_code == 0
    return cli


def write(cli: Cli, url: str, *, more: str = "") -> None:
    from tests.certificates import IDP

    cli.edit("p/reconciler.yaml", "    sites:\n", TREE.replace('URL"', f'{url}"', 1).replace("CERTIFICATE", IDP))
    if more:
        file = cli.root / "p/reconciler.yaml"
        file.write_text(file.read_text().replace("organizations:", f"{more}organizations:", 1))


def files_with(root: Path, texts: tuple[str, ...]) -> list[str]:
    """The files below a folder that contain one of these texts, without the YAML and the database of the service."""
    names = [path for path in root.rglob("*") if path.is_file() and path.suffix not in (".yaml", ".yml")]
    return [str(path.relative_to(root)) for path in names if any(text.encode() in path.read_bytes() for text in texts)]


def everything(cli: Cli) -> str:
    """What every command prints about the project."""
    runs = [
        ("validate", "p", "--lint"),
        ("plan", "p"),
        ("plan", "p", "--format", "json"),
        ("plan", "p", "--format", "markdown"),
        ("plan", "p", "--out", "plan.json"),
        ("plan", "p", "--report", "html:plan.html"),
        ("-v", "apply", "p", "--yes", "--allow-exposure", "**"),
        ("plan", "p"),
        ("drift", "p", "--format", "json"),
        ("state", "show", "acme/openapi/payments", "p"),
        ("state", "show", "acme/openapi/payments", "p", "--format", "json"),
        ("state", "pull", "p", "--out", "state.json"),
        ("history", "p"),
        ("show", "last", "p"),
        ("show", "last", "p", "--format", "json"),
        ("diff", "p"),
        ("config", "render", "p"),
    ]
    done = [(words, cli(*words)) for words in runs]
    read = {" ".join(words): result.exit_code for words, result in done if not {"diff", "import", "plan"} & {*words}}
    assert {words: code for words, code in read.items() if code not in (0, 2, 5)} == {}
    return "\n".join(result.stdout + result.stderr for words, result in done if words[0] != "config")


def test_credentials_in_the_files_are_in_no_output_and_in_no_file_that_is_written(project_of_urls: Cli) -> None:
    write(project_of_urls, WRITTEN)
    said = everything(project_of_urls)
    assert [text for text in (*SECRETS, "s3cr3t-idp") if text in said] == []
    assert "RC-credentials-in-text" in said
    assert "(hidden)@api.acme.example/openapi.json?private_token=(hidden)" in said
    assert [name for name in files_with(project_of_urls.root, (*SECRETS, "s3cr3t-idp")) if "sandbox.db" not in name] == []
    assert project_of_urls("plan", "p", "--detailed-exitcode").exit_code == 0
    imported = project_of_urls("import", "new", "--org", "org_acme", "--sandbox", "p/.reconciler/sandbox.db", "--dry-run")
    assert [text for text in (*SECRETS, "s3cr3t-idp") if text in imported.stdout + imported.stderr] == []
    assert "it contains credentials, which do not belong in files" in imported.stdout


def test_a_changed_password_is_a_difference_that_is_planned_applied_and_not_shown(project_of_urls: Cli) -> None:
    write(project_of_urls, WRITTEN)
    assert project_of_urls("apply", "p", "--yes", "--allow-exposure", "**").exit_code == 0
    project_of_urls.edit("p/reconciler.yaml", "hunter2-pw", "hunter3-pw")
    (change,) = project_of_urls.json("plan", "p")["changes"]
    assert [field["name"] for field in change["fields"]] == ["source"]
    assert "hunter" not in json.dumps(change)
    assert project_of_urls("apply", "p", "--yes").exit_code == 0
    assert project_of_urls("plan", "p", "--detailed-exitcode").exit_code == 0
    assert project_of_urls("drift", "p").exit_code == 0
    assert "hmac" not in project_of_urls("undo", "last", "p", "--yes").stdout
    assert "hmac" not in project_of_urls("api", "GET", "/orgs/org_acme/openapi", "--project", "p").stdout


@costly
@pytest.mark.parametrize("url", [WRITTEN, "https://hooks.acme.example/T0/B0/pathsecret77"])
def test_a_url_from_the_environment_reaches_the_service_and_nothing_else(project_of_urls: Cli, url: str) -> None:
    write(project_of_urls, "${{ vars.spec }}", more="vars: {spec: {env: RECONCILER_VAR_SPEC}}\n")
    project_of_urls.env["RECONCILER_VAR_SPEC"] = url
    findings = project_of_urls.json("validate", "p", "--lint")["findings"]
    assert [finding["address"] for finding in findings if finding["id"] == "RC-credentials-in-text"] == ["acme/saml/okta"]
    said = everything(project_of_urls)
    known = (url, *SECRETS, "pathsecret77")
    assert [text for text in known if text in said] == []
    assert [name for name in files_with(project_of_urls.root, known) if "sandbox.db" not in name] == []
    assert project_of_urls("plan", "p", "--detailed-exitcode").exit_code == 0
    assert project_of_urls("drift", "p").exit_code == 0
    assert "sourceURL" in project_of_urls("api", "GET", "/orgs/org_acme/openapi/payments", "--project", "p").stdout
    project_of_urls.env["RECONCILER_VAR_SPEC"] = "https://hooks.acme.example/T0/B0/othersecret88"
    changed = project_of_urls("plan", "p")
    assert "(sensitive)" in changed.stdout
    assert [text for text in known if text in changed.stdout] == []


def test_a_value_from_the_environment_reaches_no_other_field(project_of_urls: Cli) -> None:
    write(project_of_urls, WRITTEN, more="vars: {spec: {env: RECONCILER_VAR_SPEC}}\n")
    project_of_urls.edit("p/reconciler.yaml", "label: Okta", 'label: "${{ vars.spec }}"')
    refused = project_of_urls("validate", "p", env={"RECONCILER_VAR_SPEC": "xyzzy-secret"}, code=3)
    assert "would show a value from the environment" in refused.stdout + refused.stderr


def test_a_wrong_url_is_refused_without_its_password(project_of_urls: Cli) -> None:
    write(project_of_urls, WRITTEN.replace("/openapi.json", "/open api.json"))
    refused = project_of_urls("validate", "p", code=3)
    assert [text for text in SECRETS if text in refused.stdout + refused.stderr] == []


@costly
def test_a_private_key_that_somebody_put_on_the_service_is_in_no_output_and_no_state(project_of_urls: Cli) -> None:
    body = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg" + "A" * 80
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    write(project_of_urls, "https://api.acme.example/openapi.json")
    assert project_of_urls("apply", "p", "--yes", "--allow-exposure", "**").exit_code == 0
    provider = json.loads(project_of_urls("state", "show", "acme/saml/okta", "p", "--format", "json").stdout)["id"]
    assert project_of_urls("api", "PATCH", f"/orgs/org_acme/saml/{provider}", "-f", f"certificate={key}", "--project", "p").exit_code == 0
    said = everything(project_of_urls)
    assert body[:24] not in said
    assert [name for name in files_with(project_of_urls.root, (body[:24],)) if "sandbox.db" not in name] == []
    assert project_of_urls("plan", "p", "--detailed-exitcode").exit_code == 0
