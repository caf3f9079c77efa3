"""Secrets of a project: names without a key, values only where a field is sensitive, and every way in which decryption fails."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler import programs
from reconciler.address import Address
from reconciler.config import Project, load
from reconciler.config.project import FileAccess
from reconciler.config.secrets import secrets as secret_files
from reconciler.errors import ConfigError
from tests.hostile.canaries.world import secretive
from tests.proofs import costly
from tests.sops import as_encrypted, printing, stand_in

VALUES = {"client": "hunter2-hunter2", "okta": {"pem": "PEM of okta", "old": "PEM of before"}, "numbers": [1, 2]}
PROJECT = """\
version: 1
project: p
secrets: secrets.enc.yaml
organizations:
  acme:
    id: org_acme
    title: Acme
    saml:
      okta: {{label: One, entityID: "http://one", ssoURL: "https://one/sso", certificate: "{}"}}
"""
OKTA = Address.parse("acme/saml/okta")
VALUE = "${{ secrets.client }}"
LOCAL = FileAccess(decrypt=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "secrets.enc.yaml").write_text(as_encrypted(VALUES))
    return folder


def write(root: Path, certificate: str = VALUE, *, more: str = "") -> Path:
    (root / "reconciler.yaml").write_text(PROJECT.format(certificate) + more)
    return root


def loaded(root: Path, environ: Mapping[str, str] = {}, **options: Any) -> Project:
    return load(root, secretive(), environ=environ, **options)


def problems(root: Path, environ: Mapping[str, str] = {}, **options: Any) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        loaded(root, environ, **options)
    return [str(problem) for problem in raised.value.problems]


# -- values ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("${{ secrets.client }}", "hunter2-hunter2"),
        ("a ${{ secrets['okta'].pem }} b", "a PEM of okta b"),
        ("${{ secrets.okta['pem'] ~ '-' ~ secrets.client }}", "PEM of okta-hunter2-hunter2"),
        ("${{ 'x' + secrets.client }}", "xhunter2-hunter2"),
        ("${{ secrets.numbers[1] ~ '' }}", "2"),
    ],
)
def test_a_sensitive_field_gets_the_value_and_every_text_is_masked(root: Path, expression: str, value: str, tmp_path: Path) -> None:
    project = loaded(write(root, expression), printing(tmp_path / "bin", VALUES))
    assert project.desired.resources[OKTA].values["certificate"] == value
    assert project.sensitive == {"hunter2-hunter2", "PEM of okta", "PEM of before", "1", "2"}
    assert project.undecrypted == ()


@costly
@pytest.mark.parametrize("access", [LOCAL, FileAccess()])
@pytest.mark.parametrize(
    "used",
    [
        "secrets.client | upper", "secrets.client.strip()", "secrets.okta.keys() | join(',')", "secrets | length | string",
        "secrets.okta[env.name | default('pem')]", "'a' if secrets.client == 'b' else 'c'", "secrets.client[0]", "secrets.client[:4]",
        "secrets.okta ~ ''", "secrets.numbers ~ ''", "secrets ~ ''", "'x' ~ secrets.okta", "[secrets.client]", "json(secrets.client)",
        "secrets.client ~ (secrets.okta.pem | length)", "secrets.client | default('x')", "file(secrets.client)", "secrets.client.upper",
        "range(0, secrets.numbers[0])", "secrets.numbers[secrets.client]", "secrets.client.upper ~ 'x'", "secrets.client['x'] + 'x'",
    ],
)  # fmt: skip
def test_a_secret_can_only_be_repeated_with_and_without_the_key(root: Path, access: FileAccess, used: str, tmp_path: Path) -> None:
    environ = printing(tmp_path / "bin", VALUES)
    (problem,) = problems(write(root, "${{ " + used.replace('"', "'") + " }}"), environ, access=access)
    assert problem.startswith("reconciler.yaml:9:90  an expression can repeat a secret (secrets")
    assert problem.endswith(") or join it with texts (~), and nothing else; store the value in the form that you need")
    assert not (tmp_path / "bin" / "words").exists()  # nothing was decrypted for it


def test_the_command_gets_the_file_and_no_shell_and_runs_in_the_project(root: Path, tmp_path: Path) -> None:
    write(root)
    bin = tmp_path / "bin"
    loaded(root, printing(bin, VALUES))
    *argv, path = (bin / "words").read_text().splitlines()
    assert argv == ["decrypt", "--output-type", "json"]
    assert path.endswith("/secrets.enc.yaml")
    assert not Path(path).parent.exists()  # a file of its own, which contains what was checked
    assert (bin / "here").read_text().strip() == str(root)


def test_nothing_is_decrypted_unless_an_expression_asks_for_a_value_of_that_file(root: Path, tmp_path: Path) -> None:
    bin = tmp_path / "bin"
    environ = printing(bin, VALUES)
    loaded(write(root, "none"), environ)
    assert not (bin / "words").exists()
    (root / "other.enc.json").write_text(as_encrypted({"other": 1}))
    write(root, more="x-more: 1\n")
    (root / "reconciler.yaml").write_text(
        (root / "reconciler.yaml").read_text().replace("secrets: secrets.enc.yaml", "secrets: [secrets.enc.yaml, other.enc.json]")
    )
    loaded(root, environ)
    assert [Path(line).name for line in (bin / "words").read_text().splitlines() if ".enc." in line] == ["secrets.enc.yaml"]


def test_an_environment_replaces_secrets_by_name(root: Path, tmp_path: Path) -> None:
    write(root, "${{ secrets.client }} ${{ secrets.okta.pem }}")
    (root / "environments").mkdir()
    (root / "environments" / "production.yaml").write_text("secrets: environments/production.enc.yaml\n")
    (root / "environments" / "staging.yaml").write_text("{}\n")
    (root / "environments" / "production.enc.yaml").write_text(as_encrypted({"client": "x"}))
    script = 'case "$4" in *production*) echo \'{"client": "of production"}\';; *) cat %s;; esac'
    printing(tmp_path / "bin", VALUES)
    environ = stand_in(tmp_path / "bin", script % (tmp_path / "bin" / "values.json"))
    result = [loaded(root, environ, environment=name).desired.resources[OKTA].values for name in ("production", "staging")]
    assert [values["certificate"] for values in result] == ["of production PEM of okta", "hunter2-hunter2 PEM of okta"]


def test_a_pattern_includes_no_encrypted_file(root: Path, tmp_path: Path) -> None:
    write(root, more='include: ["*.yaml"]\n')
    (root / "people.yaml").write_text("organization: acme\nteams: {writers: {title: Writers}}\n")
    project = loaded(root, printing(tmp_path / "bin", VALUES))
    assert [path.name for path in project.settings.files] == ["reconciler.yaml", "people.yaml"]
    assert "secrets.enc.yaml" in project.texts


# -- without the key ---------------------------------------------------------------------------------------------------------------


def test_names_are_checked_without_the_key_and_without_the_command(root: Path) -> None:
    project = loaded(write(root, "${{ secrets.client }} ${{ secrets.okta.pem }}"), access=LOCAL)
    assert "certificate" not in project.desired.resources[OKTA].values or project.sensitive == frozenset()
    assert project.undecrypted == ("secrets.enc.yaml",)
    assert loaded(write(root, "none"), access=LOCAL).undecrypted == ()


@pytest.mark.parametrize("access", [LOCAL, FileAccess()])
@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("${{ secrets.clinet }}", 'there is no secret "clinet" in secrets.enc.yaml; did you mean "client"?'),
        ("${{ secrets.okta.pen }}", 'secrets.okta has no "pen"; did you mean "pem"? (in secrets.enc.yaml)'),
        ("${{ secrets.numbers[2] }}", 'secrets.numbers has no "2" (in secrets.enc.yaml)'),
        ("${{ secrets[0] }}", 'there is no secret "0" in secrets.enc.yaml'),
        ("${{ secret.client }}", '"secret" is not available in expressions; did you mean "secrets"?'),
    ],
)
def test_a_name_that_no_file_has_is_an_error_with_what_was_meant(root: Path, access: FileAccess, expression: str, said: str) -> None:
    assert problems(write(root, expression), {}, access=access) == [f"reconciler.yaml:9:90  {said}"]


@pytest.mark.parametrize("access", [LOCAL, FileAccess()])
def test_a_secret_reaches_only_a_sensitive_field_with_and_without_the_key(root: Path, access: FileAccess, tmp_path: Path) -> None:
    write(root)
    text = (
        (root / "reconciler.yaml")
        .read_text()
        .replace("title: Acme", 'title: "${{ secrets.client }}"\n    emailDomains: ["${{ secrets.okta.pem }}"]')
    )
    (root / "reconciler.yaml").write_text(text + f'    teams: {{"a": {{title: A, members: "{VALUE}", forEach: "{VALUE}"}}}}\n')
    only = "secrets are only allowed in sensitive fields"
    assert problems(root, printing(tmp_path / "bin", VALUES), access=access) == [
        f"reconciler.yaml:7:12  acme: title would show a secret (secrets.client); {only}",
        f"reconciler.yaml:8:20  acme: emailDomains would show a secret (secrets.okta); {only}",
        f"reconciler.yaml:11:72  acme: forEach would show a secret (secrets.client); {only}",
    ]


# -- files that are wrong ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("absent.enc.yaml", None, 'secrets "absent.enc.yaml": no such file in the project'),
        ("plain.yaml", "client: hunter2\n", "it is not encrypted; run: sops encrypt --in-place plain.yaml"),
        ("half.yaml", "client: hunter2\nsops: {}\n", "it is not encrypted; run: sops encrypt --in-place half.yaml"),
        ("list.yaml", "[a]\n", "it contains no map of names and values"),
        ("empty.yaml", "", "it is not valid YAML: this file is empty"),
        ("broken.yaml", "a: [\n", "it is not valid YAML (line 2): "),
        ("broken.json", "{", "it is not JSON"),
        ("secrets.env", "A=b", "its name must end in .yaml, .yml or .json"),
        ("../outside.enc.yaml", None, 'secrets "../outside.enc.yaml" is outside the project; to allow it, pass --allow-file '),
        (".hidden.enc.yaml", None, 'secrets ".hidden.enc.yaml" has a part that is empty or begins with a dot, which is not allowed'),
        (
            "s-${{ env.name }}.yaml",
            None,
            "secrets cannot contain an expression: files are read before expressions; write secrets into each",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_one_problem(root: Path, name: str, text: str | None, said: str) -> None:
    write(root)
    (root / "reconciler.yaml").write_text((root / "reconciler.yaml").read_text().replace("secrets.enc.yaml", f'"{name}"'))
    if text is not None:
        (root / name).write_text(text)
    (result,) = problems(root, {})
    assert result.startswith("reconciler.yaml:3:10  secrets")
    assert said in result
    assert "hunter2" not in result


def test_a_name_in_two_files_of_one_list_is_an_error(root: Path) -> None:
    write(root)
    (root / "two.enc.json").write_text(as_encrypted({"client": 1}))
    (root / "reconciler.yaml").write_text(
        (root / "reconciler.yaml").read_text().replace("secrets.enc.yaml", "[secrets.enc.yaml, two.enc.json]")
    )
    assert problems(root) == ['reconciler.yaml:3:29  "client" is in secrets.enc.yaml and in two.enc.json; remove it from one of them']


def test_without_secrets_in_the_project_file_the_error_names_the_key(root: Path) -> None:
    write(root)
    (root / "reconciler.yaml").write_text((root / "reconciler.yaml").read_text().replace("secrets: secrets.enc.yaml\n", ""))
    (result,) = problems(root)
    assert result.endswith("there are no secrets here; name an encrypted file in the project file: secrets: FILE")


# -- a command that fails ----------------------------------------------------------------------------------------------------------

LEAK = "hunter2-hunter2"
FAILURES = {
    "an exit code": ("echo 'no key for you' >&2; exit 128", "sops cannot decrypt it (exit code 128): no key for you"),
    "a signal": ("kill -9 $$", "sops cannot decrypt it (signal 9)"),
    "no JSON": (f"echo 'client: {LEAK}'", "sops printed something that is not JSON"),
    "nothing": ("true", "sops printed something that is not JSON"),
    "a list": (f"echo '[\"{LEAK}\"]'", "it contains no map of names and values"),
    "not a number": ("echo '{\"client\": NaN}'", "sops printed something that is not JSON"),
    "bytes": (r"printf '{\"client\": \"\377\"}'", "sops printed something that is not JSON"),
    "a map, not a text": (
        f"""echo '{{"client": {{"a": "{LEAK}"}}, "okta": {{"pem": "a", "old": "b"}}, "numbers": [1, 2]}}'""",
        "what sops decrypted has other names than the file",
    ),
    "a shorter list": (
        f"""echo '{{"client": "{LEAK}", "okta": {{"pem": "a", "old": "b"}}, "numbers": [1]}}'""",
        "what sops decrypted has other names than the file",
    ),
    "a large number": (
        """echo '{"client": 123456789012345678901234567890, "okta": {"pem": "a", "old": "b"}, "numbers": [1, 2]}'""",
        "one of its values is a number that is too large",
    ),
    "half a character": (r"""printf '%s' '{"client": "\ud800", "okta": {}, "numbers": 1}'""", "contains a character that is not text"),
    "other names": (f'echo \'{{"other": "{LEAK}"}}\'', "what sops decrypted has other names than the file"),
    "too much": ("head -c 3000000 /dev/zero", "sops printed more than 1 MiB"),
    "too much said": ("head -c 3000000 /dev/zero >&2", "sops printed something that is not JSON"),
    "deep": ("i=0; while [ $i -lt 2000 ]; do printf '{\"a\":'; i=$((i+1)); done", "sops printed something that is not JSON"),
    "values on stderr": (
        f"echo '{{\"client\": \"{LEAK}\"}}'; echo 'cannot use {LEAK} of AGE-SECRET-KEY-1ABC' >&2; exit 1",
        "sops cannot decrypt it (exit code 1): cannot use (hidden) of (hidden)",
    ),
    "garbage on both": (f"echo 'client={LEAK}'; echo 'is {LEAK} right?' >&2; exit 1", "(exit code 1): is (hidden) right?"),
    "the environment": ('echo "token $VAULT_TOKEN" >&2; exit 1', "(exit code 1): token (hidden)"),
    "several lines": (r"printf 'a\n   | b\n\033[31mc\n' >&2; exit 1", "(exit code 1): a b "),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_command_that_fails_is_one_problem_that_shows_no_value(root: Path, tmp_path: Path, name: str) -> None:
    script, said = FAILURES[name]
    write(root, f"{VALUE} ${{{{ secrets.okta.pem }}}}")
    (result,) = problems(root, {**stand_in(tmp_path / "bin", script), "VAULT_TOKEN": "hvs.token-of-vault"})
    assert result.startswith("reconciler.yaml:3:10  secrets.enc.yaml: ")
    assert said in result
    assert not any(secret in result for secret in ("hunter2", "hvs.token", "SECRET-KEY", "\x1b", "\n"))
    assert len(result) < 800


def test_a_command_that_is_missing_says_where_to_get_it(root: Path) -> None:
    said = "it requires the command sops, which is not on PATH; install it (https://getsops.io)"
    assert problems(write(root)) == [f"reconciler.yaml:3:10  secrets.enc.yaml: {said}"]


def test_a_command_that_does_not_end_is_killed_with_what_it_started(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_files, "SECONDS", 0.3)
    pid = tmp_path / "pid"
    environ = stand_in(tmp_path / "bin", f"sleep 300 & echo $! >{pid}; wait")
    began = time.monotonic()
    assert problems(write(root), environ) == ["reconciler.yaml:3:10  secrets.enc.yaml: sops did not finish within 0.3 seconds"]
    assert time.monotonic() - began < 10
    assert not _runs(int(pid.read_text()))


def test_what_the_command_leaves_running_does_not_hold_the_run(root: Path, tmp_path: Path) -> None:
    environ = printing(tmp_path / "bin", VALUES)
    program = tmp_path / "bin" / "sops"
    program.write_text(program.read_text().replace("exec cat", f"sleep 300 & echo $! >{tmp_path}/pid; exec cat"))
    assert loaded(write(root), environ).sensitive
    os.kill(int((tmp_path / "pid").read_text()), 9)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
    except OSError:
        return False


def test_a_value_that_a_field_does_not_take_is_not_repeated(root: Path, tmp_path: Path) -> None:
    (root / "secrets.enc.yaml").write_text(as_encrypted({"client": 1}))
    environ = printing(tmp_path / "bin", {"client": 7_654_321})
    assert problems(write(root), environ) == [
        "reconciler.yaml:9:90  acme/saml/okta: certificate is not valid; the reason is hidden because it uses secrets.client"
    ]


# -- trust -------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["hc_vault", "key_groups"])
def vault(request: pytest.FixtureRequest, root: Path) -> Path:
    key = {"vault_address": "https://vault.evil.example:8200", "engine_path": "sops", "key_name": "k", "enc": "x"}
    groups = {"hc_vault": [key]} if request.param == "hc_vault" else {"key_groups": [{"hc_vault": [key]}]}
    document = json.loads(as_encrypted(VALUES))
    document["sops"] |= groups
    (root / "secrets.enc.yaml").write_text(json.dumps(document))
    return write(root)


def test_the_token_of_vault_goes_only_to_a_server_that_the_user_names(vault: Path, tmp_path: Path) -> None:
    bin = tmp_path / "bin"
    environ = printing(bin, VALUES)
    for address in ("", "https://vault.example:8200", "http://vault.evil.example:8200"):
        (result,) = problems(vault, {**environ, "VAULT_ADDR": address})
        assert "only a server that VAULT_ADDR names gets your token" in result
    assert not (bin / "words").exists()
    assert loaded(vault, {**environ, "VAULT_ADDR": "https://vault.evil.example:8200/"}).sensitive


def test_a_program_can_ask_nobody() -> None:
    asks = "import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()))"  # in a session of its own it has no terminal
    ended = programs.run([sys.executable, "-c", asks], environ={}, folder=Path(), seconds=30, most=100)
    assert (ended.code, ended.out) == (0, b"True ''\n")
