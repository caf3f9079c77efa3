"""Credentials in URLs are in no output, state, journal or saved plan, wherever they come from; a URL may come from a secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

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
def project(cli: Cli) -> Cli:
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


def test_credentials_in_the_files_are_in_no_output_and_in_no_file_that_is_written(project: Cli) -> None:
    write(project, WRITTEN)
    said = everything(project)
    assert [text for text in (*SECRETS, "s3cr3t-idp") if text in said] == []
    assert "RC-credentials-in-text" in said
    assert "(hidden)@api.acme.example/openapi.json?private_token=(hidden)" in said
    assert [name for name in files_with(project.root, (*SECRETS, "s3cr3t-idp")) if "sandbox.db" not in name] == []
    assert project("plan", "p", "--detailed-exitcode").exit_code == 0
    imported = project("import", "new", "--org", "org_acme", "--sandbox", "p/.reconciler/sandbox.db", "--dry-run")
    assert [text for text in (*SECRETS, "s3cr3t-idp") if text in imported.stdout + imported.stderr] == []
    assert "it contains credentials, which do not belong in files" in imported.stdout


def test_a_changed_password_is_a_difference_that_is_planned_applied_and_not_shown(project: Cli) -> None:
    write(project, WRITTEN)
    assert project("apply", "p", "--yes", "--allow-exposure", "**").exit_code == 0
    project.edit("p/reconciler.yaml", "hunter2-pw", "hunter3-pw")
    (change,) = project.json("plan", "p")["changes"]
    assert [field["name"] for field in change["fields"]] == ["source"]
    assert "hunter" not in json.dumps(change)
    assert project("apply", "p", "--yes").exit_code == 0
    assert project("plan", "p", "--detailed-exitcode").exit_code == 0
    assert project("drift", "p").exit_code == 0
    undone = project("undo", "last", "p", "--yes")
    assert "hmac" not in undone.stdout
    assert "hmac" not in project("api", "GET", "/orgs/org_acme/openapi", "--project", "p").stdout


@pytest.mark.parametrize("url", [WRITTEN, "https://hooks.acme.example/T0/B0/pathsecret77"])
def test_a_url_from_the_environment_reaches_the_service_and_nothing_else(project: Cli, url: str) -> None:
    write(project, "${{ vars.spec }}", more="vars: {spec: {env: RECONCILER_VAR_SPEC}}\n")
    project.env["RECONCILER_VAR_SPEC"] = url
    findings = project.json("validate", "p", "--lint")["findings"]
    assert [finding["address"] for finding in findings if finding["id"] == "RC-credentials-in-text"] == ["acme/saml/okta"]
    said = everything(project)
    known = (url, *SECRETS, "pathsecret77")
    assert [text for text in known if text in said] == []
    assert [name for name in files_with(project.root, known) if "sandbox.db" not in name] == []
    assert project("plan", "p", "--detailed-exitcode").exit_code == 0
    assert project("drift", "p").exit_code == 0
    served = project("api", "GET", "/orgs/org_acme/openapi/payments", "--project", "p").stdout
    assert "sourceURL" in served
    project.env["RECONCILER_VAR_SPEC"] = "https://hooks.acme.example/T0/B0/othersecret88"
    changed = project("plan", "p")
    assert "(sensitive)" in changed.stdout
    assert [text for text in known if text in changed.stdout] == []


def test_a_value_from_the_environment_reaches_no_other_field(project: Cli) -> None:
    write(project, WRITTEN, more="vars: {spec: {env: RECONCILER_VAR_SPEC}}\n")
    project.edit("p/reconciler.yaml", "label: Okta", 'label: "${{ vars.spec }}"')
    refused = project("validate", "p", env={"RECONCILER_VAR_SPEC": "xyzzy-secret"})
    assert refused.exit_code == 3
    assert "would show a value from the environment" in refused.stdout + refused.stderr


def test_a_wrong_url_is_refused_without_its_password(project: Cli) -> None:
    write(project, WRITTEN.replace("/openapi.json", "/open api.json"))
    refused = project("validate", "p")
    assert refused.exit_code == 3
    assert [text for text in SECRETS if text in refused.stdout + refused.stderr] == []


def test_a_private_key_that_somebody_put_on_the_service_is_in_no_output_and_no_state(project: Cli) -> None:
    body = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg" + "A" * 80
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    write(project, "https://api.acme.example/openapi.json")
    assert project("apply", "p", "--yes", "--allow-exposure", "**").exit_code == 0
    provider = json.loads(project("state", "show", "acme/saml/okta", "p", "--format", "json").stdout)["id"]
    assert project("api", "PATCH", f"/orgs/org_acme/saml/{provider}", "-f", f"certificate={key}", "--project", "p").exit_code == 0
    said = everything(project)
    assert body[:24] not in said
    assert [name for name in files_with(project.root, (body[:24],)) if "sandbox.db" not in name] == []
    assert project("plan", "p", "--detailed-exitcode").exit_code == 0
