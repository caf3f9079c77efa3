"""Whoever writes an encrypted file decides neither what gets your credentials nor what SOPS reads in it.

Whoever writes the YAML finds out nothing of a secret: what is reported is the same, whatever the value is.

A secret is put into every place of a project, alone, joined and inside expressions that would fail for some values only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest

from reconciler.config import load
from reconciler.config.project import FileAccess
from reconciler.config.secrets.encrypted import SecretsError, encrypted, refused_server
from reconciler.config.secrets.secrets import decrypted
from reconciler.errors import ConfigError
from tests.hostile.canaries.world import secretive
from tests.proofs import costly, spread
from tests.sops import METADATA, as_encrypted, printing

EVIL: Final = "https://vault.evil.example:8200"
KEY: Final = {"engine_path": "sops", "key_name": "k", "enc": "x", "created_at": "2026-01-01T00:00:00Z"}
ARN: Final = "arn:aws:kms:eu-west-1:123456789012:key/1234"
SOPS: Final = shutil.which("sops", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
KEY_FILE: Final = Path(__file__).parents[2] / "examples/secrets/age.key"


def document(**metadata: Any) -> dict[str, Any]:
    """An encrypted document with more metadata."""
    return {**json.loads(as_encrypted({"client": "x"})), "sops": {**METADATA, **metadata}}


def vault(address: str, name: str = "vault_address") -> dict[str, Any]:
    return document(hc_vault=[{**KEY, name: address}])


ACCEPTED: Final = {
    "age": document(age=[{"recipient": "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", "enc": "-----BEGIN AGE-----\nx\n"}]),
    "pgp": document(pgp=[{"fp": "FBC7B9E2A4F9289AC0C1D4843D16CEE4A27381B4", "created_at": "x", "enc": "x"}]),
    "kms": document(kms=[{"arn": ARN, "role": "", "context": {"team": "docs"}, "created_at": "x", "enc": "x", "aws_profile": "default"}]),
    "gcp": document(gcp_kms=[{"resource_id": "projects/p/locations/global/keyRings/r/cryptoKeys/k", "created_at": "x", "enc": "x"}]),
    "azure": document(azure_kv=[{"vault_url": "https://docs.vault.azure.net", "name": "k", "version": "1", "created_at": "x", "enc": "x"}]),
    "huawei": document(hckms=[{"key_id": "cn-north-4:5c8a", "created_at": "x", "enc": "x"}]),
    "vault": vault("https://vault.example:8200"),
    "groups": document(shamir_threshold=1, key_groups=[{"hc_vault": [{**KEY, "vault_address": "https://vault.example:8200/"}], "age": None}]),
    "words": document(lastmodified="x", unencrypted_suffix="_unencrypted", mac_only_encrypted=True, kms=None, pgp=[]),
}  # fmt: skip
REFUSED: Final = {
    "another case of the address": vault(EVIL, "Vault_Address"),
    "a letter that folds to s": vault(EVIL, "vault_addre\u017fs"),
    "another case of the group": document(HC_Vault=[{**KEY, "vault_address": EVIL}]),
    "a letter that folds to k": document(Key_groups=[{"hc_vault": [{**KEY, "vault_address": EVIL}]}]),
    "another case of the metadata": {**document(), "SOPS": {"hc_vault": [{**KEY, "vault_address": EVIL}]}},
    "metadata with a letter that folds": {**document(), "\u017fops": {"hc_vault": [{**KEY, "vault_address": EVIL}]}},
    "an unknown group": document(vault=[{**KEY, "vault_address": EVIL}]),
    "a group in a group": document(key_groups=[{"key_groups": [{"hc_vault": [{**KEY, "vault_address": EVIL}]}]}]),
    "no list of keys": document(hc_vault={"0": {**KEY, "vault_address": EVIL}}),
    "no map": document(hc_vault=[EVIL]),
    "no text": document(hc_vault=[{**KEY, "vault_address": [EVIL]}]),
    "a path out of the engine": document(hc_vault=[{**KEY, "vault_address": "https://vault.example:8200", "engine_path": "../sys"}]),
    "an engine with a query": document(hc_vault=[{**KEY, "vault_address": "https://vault.example:8200", "engine_path": "a?b"}]),
    "a region that is a host": document(kms=[{"arn": "arn:aws:kms:evil.example/:1:key/1", "enc": "x"}]),
    "a role that is no role": document(kms=[{"arn": ARN, "role": "https://evil.example", "enc": "x"}]),
    "a vault of Azure elsewhere": document(azure_kv=[{"vault_url": "https://vault.azure.net.evil.example", "name": "k", "enc": "x"}]),
    "a vault of Azure with a user": document(azure_kv=[{"vault_url": "https://a@docs.vault.azure.net", "name": "k", "enc": "x"}]),
    "an option for gpg": document(pgp=[{"fp": "--output=/tmp/x", "enc": "x"}]),
    "an unknown key of age": document(age=[{"recipient": "age1x", "enc": "x", "url": EVIL}]),
    "an unknown word": document(keyservice=EVIL),
}  # fmt: skip


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("name", ACCEPTED)
def test_metadata_that_sops_writes_is_accepted(name: str, suffix: str) -> None:
    content = encrypted(json.dumps(ACCEPTED[name]).encode(), f"a{suffix}")
    assert json.loads(content.document) == ACCEPTED[name]
    assert refused_server(content.servers, {"VAULT_ADDR": "https://vault.example:8200"}) is None


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("name", REFUSED)
def test_metadata_that_sops_does_not_write_is_refused_by_its_name(name: str, suffix: str) -> None:
    with pytest.raises(SecretsError) as raised:
        encrypted(json.dumps(REFUSED[name]).encode(), f"a{suffix}")
    assert raised.value.id == "RC-secrets-metadata"
    assert str(raised.value).endswith(f"; encrypt it again: sops decrypt a{suffix}, then sops encrypt")


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ('{"a": 1, "sops": {"mac": "m", "version": "v"}, "sops": {"mac": "m", "version": "v"}}', ".json"),
        ('{"a": 1, "sops": {"mac": "m", "version": "v", "hc_vault": [], "hc_vault": [{"vault_address": "x"}]}}', ".json"),
        ('{"a": 1, "sops": {"mac": "m", "version": "v"}} {"sops": {}}', ".json"),
        ("a: 1\nsops: {mac: m, version: v}\n", ".json"),
        ("a: 1\nsops: {mac: m, version: v}\nsops: {mac: m, version: v}\n", ".yaml"),
        ("a: 1\nsops: {mac: m, version: v}\n---\nsops: {mac: m, version: v}\n", ".yaml"),
        ("x: &k {vault_address: e}\na: 1\nsops: {mac: m, version: v, hc_vault: [{<<: *k}]}\n", ".yaml"),
        ("a: !!binary aGk=\nsops: {mac: m, version: v}\n", ".yaml"),
    ],
)
def test_what_two_parsers_read_differently_is_refused(text: str, suffix: str) -> None:
    with pytest.raises(SecretsError):
        encrypted(text.encode(), f"a{suffix}")


def test_an_anchor_is_written_out_and_checked() -> None:
    text = f"x: &k {{vault_address: '{EVIL}', enc: x}}\na: 1\nsops: {{mac: m, version: v, hc_vault: [*k]}}\n"
    content = encrypted(text.encode(), "a.yaml")
    assert content.servers == (EVIL,)
    assert not set("&*") & set(content.document)


@pytest.mark.parametrize(
    "address",
    [
        EVIL, "http://vault.example:8200", "https://vault.example", "https://vault.example:8200@evil.example",
        "https://evil.example#@vault.example:8200", "https://evil.example\\@vault.example:8200", "https://vault.example:8200?x=//evil.example",
        "https://evil.example/https://vault.example:8200", "https://VAULT.example.evil:8200", "//vault.example:8200", "vault.example:8200",
        "https://vault.example:8200/../x", "https://vault.example:8200 ", "https://vault.example:8200\n.evil.example", "unix:///tmp/x", "",
        "https://vault.example:8200/other", "https://ada:x@vault.example:8200", "https://vаult.example:8200",
    ],
)  # fmt: skip
def test_only_the_server_of_the_user_gets_the_token(address: str) -> None:
    content = encrypted(json.dumps(vault(address)).encode(), "a.json")
    assert "only a server that VAULT_ADDR names" in str(refused_server(content.servers, {"VAULT_ADDR": "https://vault.example:8200"}))
    assert refused_server(content.servers, {}) is not None


@pytest.mark.parametrize(
    ("address", "known"),
    [
        ("https://Vault.example:443/", "https://vault.example"),
        ("https://vault.example/team", "https://vault.example:443/team/"),
        ("http://[::1]:8200", "http://[::1]:8200"),
    ],
)
def test_another_spelling_of_the_server_of_the_user_is_accepted(address: str, known: str) -> None:
    assert refused_server((address,), {"VAULT_ADDR": known}) is None


# -- with the real command ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def requests() -> Iterator[tuple[str, list[str]]]:
    """A server that notes which paths are requested, and its address."""
    noted: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            noted.append(f"{self.path} {self.headers.get('X-Vault-Token')}")
            self.send_response(400)
            self.end_headers()

        def log_message(self, *words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", noted
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(SOPS is None, reason="there is no sops on this machine")
def test_sops_itself_would_have_sent_the_token_and_gets_only_what_was_checked(tmp_path: Path, requests: tuple[str, list[str]]) -> None:
    address, noted = requests
    environ = {"PATH": f"{Path(str(SOPS)).parent}{os.pathsep}/usr/bin", "VAULT_TOKEN": "token-of-vault", "HOME": str(tmp_path)}
    file = tmp_path / "a.json"
    file.write_text(json.dumps(document(lastmodified="2026-01-01T00:00:00Z", hc_vault=[{**KEY, "Vault_Address": address}])))
    subprocess.run([str(SOPS), "decrypt", str(file)], env=environ, capture_output=True, check=False)
    assert noted[0].endswith("token-of-vault")  # the attack
    noted.clear()
    with pytest.raises(SecretsError):
        encrypted(file.read_bytes(), file.name)
    content = encrypted(
        json.dumps(document(lastmodified="2026-01-01T00:00:00Z", age=[{"recipient": "age1x", "enc": "x"}])).encode(), file.name
    )
    with pytest.raises(SecretsError):  # the file has been replaced since it was checked
        decrypted(content.document, file.name, tmp_path, environ)
    assert noted == []


PLAIN: Final = """\
# a comment
client: hunter2
empty: ""
nothing: null
"key with: colon": "quoted \\" and \\u00e9 \\U0001F4D8 and \\x07"
numbers: [1, 2.50, true, -7]
lines: |
  first
    second
  2026-01-01
shown_unencrypted: {text: "yes", word: no, version: 1.10, number: 0x1F, on: true, big: 1234567890123, nothing: }
nested: {list: [{a: b}, []], "multi key": [x, "y, z"]}
"""


@pytest.mark.skipif(SOPS is None, reason="there is no sops on this machine")
@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_what_sops_gets_decrypts_to_the_same_as_the_file(tmp_path: Path, suffix: str) -> None:
    recipient = next(line.split()[-1] for line in KEY_FILE.read_text().splitlines() if "public key:" in line)
    environ = {"PATH": f"{Path(str(SOPS)).parent}{os.pathsep}/usr/bin", "SOPS_AGE_KEY_FILE": str(KEY_FILE), "HOME": str(tmp_path)}
    source, file = tmp_path / "plain.yaml", tmp_path / f"a.enc{suffix}"
    source.write_text(
        PLAIN if suffix == ".yaml" else json.dumps({"client": "hunter2", "n": [1, 2.5, 1e3, None, True], "é": "📘\u2028\x07"})
    )
    form = ["--input-type", suffix[1:], "--output-type", suffix[1:]]
    words = [str(SOPS), "encrypt", "--age", recipient, *form, "--output", str(file), str(source)]
    subprocess.run(words, env=environ, check=True, capture_output=True)
    ended = subprocess.run([str(SOPS), "decrypt", "--output-type", "json", str(file)], env=environ, check=True, capture_output=True)
    assert decrypted(encrypted(file.read_bytes(), file.name).document, file.name, tmp_path, environ) == json.loads(ended.stdout)


ENV: Final = "RECONCILER_VAR_TOKEN"
VALUES: Final = ("gb_api_hunter2hunter2", "x", "docs", "acme", "7", "true", "null", "{", "", "a" * 3_000, "ada@acme.example", "public")
PROJECT: Final[Mapping[str, Any]] = {
    "version": 1,
    "project": "p",
    "service": {"baseUrl": "https://docs.example", "member": "ada@acme.example", "timeout": 30},
    "state": "sqlite:///state.db",
    "recovery": {"settle": 5, "createStrategy": "marker"},
    "vars": {"token": {"env": ENV}, "list": {"default": ["a"]}, "limit": {"default": 4}},
    "include": ["more.yaml"],
    "prune": {"team": "all"},
    "protect": ["space"],
    "guards": {"maxDelete": {"percent": 20, "atLeast": 4}, "minAdmins": 1},
    "defaults": {"space": {"duplicateOf": "blank"}},
    "lint": {"ignore": [{"id": "unused-variable", "reason": "why"}]},
    "policies": [{"id": "a", "on": ["team"], "assert": '${{ after.title != "x" }}', "message": "no"}],
    "removed": [{"address": "acme/space/old", "action": "forget"}],
    "moved": [{"from": "acme/space/older", "to": "acme/space/guides"}],
    "organizations": {
        "acme": {
            "id": "org_acme",
            "title": "Acme",
            "emailDomains": ["acme.example"],
            "defaultRole": "guest",
            "inviteLinks": False,
            "members": {"ada@acme.example": "admin"},
            "teams": {"writers": {"title": "Writers", "members": ["ada@acme.example"]}, "t": {"forEach": ["a"], "title": "Team"}},
            "content": [
                {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True},
                {"space": "guides", "title": "Guides", "protect": False, "adopt": "never"},
            ],
            "saml": {"one": {"label": "One", "entityID": "http://one", "ssoURL": "https://one/sso", "certificate": "c"}},
            "integrations": {
                "charts": {
                    "title": "Charts",
                    "script": "x",
                    "visibility": "private",
                    "scopes": ["space:content:read"],
                    "secrets": {"k": "v"},
                }
            },
            "sites": {
                "docs": {
                    "title": "Docs",
                    "visibility": "public",
                    "structure": [{"section": "guides", "title": "Guides", "spaces": [{"space": "guides", "path": "guides"}]}],
                }
            },
        }
    },
}
ORACLES: Final = (
    "{}", "x{{}}", "{} ~ 'x'", "'x' + {}", "json('{') if {}[3] == 'a' else 'x'", "{} == 'x'", "{} | length", "{}.x", "file({})", "json({})",
    "[1][{} | int]", "'public' if {} else 'private'", "{} | default('x')", "range(0, {} | length)", "{}[0]", "[{}]", "{{'a': {}}}",
)  # fmt: skip
SECRET: Final = "vars.token", "secrets.token"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value and of every key."""
    if path:
        yield path
    for key, part in value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


def changed(value: Any, path: tuple[Any, ...], text: str, *, key: bool) -> Any:
    """The project with a text in one place; `key`: in place of the key."""
    if not path:
        return text
    first, *rest = path
    if isinstance(value, list):
        return [changed(part, tuple(rest), text, key=key) if index == first else part for index, part in enumerate(value)]
    if key and not rest:
        return {text if name == first else name: part for name, part in value.items()}
    return {name: changed(part, tuple(rest), text, key=key) if name == first else part for name, part in value.items()}


def reported(root: Path, environ: Mapping[str, str], *, decrypt: bool = True) -> list[str]:
    """What loading the project reports."""
    try:
        load(root, secretive(), environ=environ, access=FileAccess(decrypt=decrypt))
    except ConfigError as error:
        return [f"{problem} {problem.id}" for problem in error.problems]
    return []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "more.yaml").write_text("x-a: 1\n")
    (folder / "secrets.enc.yaml").write_text(as_encrypted({"token": "x"}))
    return folder


def answers(root: Path, project: Any, used: str) -> list[list[str]]:
    """What is reported for each value of the secret."""
    (root / "reconciler.yaml").write_text(json.dumps({**project, "secrets": "secrets.enc.yaml"}), encoding="utf-8")
    found = []
    for value in VALUES:
        bin = root.parent / "bin"
        environ = {ENV: value} if used == "vars.token" else {**printing(bin, {"token": value}), ENV: "public"}
        found.append(reported(root, environ))
    return found


PLACES: Final = [(path, key) for path in places(PROJECT) for key in (False, True) if not key or isinstance(path[-1], str)]


def test_the_project_itself_is_valid(root: Path) -> None:
    assert answers(root, PROJECT, "vars.token") == [[]] * len(VALUES)


@costly
@pytest.mark.parametrize("used", SECRET)
@pytest.mark.parametrize(("path", "key"), spread(PLACES, 40), ids=lambda part: str(part)[:60])
def test_what_is_reported_does_not_depend_on_a_secret_in_any_place(root: Path, path: tuple[Any, ...], key: bool, used: str) -> None:
    for expression in ("${{ " + used + " }}", "x${{ " + used + " }}"):
        found = answers(root, changed(PROJECT, path, expression, key=key), used)
        assert [said for said in found if said != found[0]] == []
        assert not any("hunter2" in line for said in found for line in said)


@costly
@pytest.mark.parametrize("used", SECRET)
@pytest.mark.parametrize("oracle", ORACLES)
def test_what_is_reported_does_not_depend_on_a_secret_in_any_expression(root: Path, oracle: str, used: str) -> None:
    expression = "${{ " + oracle.replace("{}", used).replace("{{", "{").replace("}}", "}") + " }}"
    certificate = ("organizations", "acme", "saml", "one", "certificate")
    for path in (
        certificate,
        ("organizations", "acme", "title"),
        ("organizations", "acme", "teams", "t", "forEach"),
        ("policies", 0, "assert"),
    ):
        found = answers(root, changed(PROJECT, path, expression, key=False), used)
        assert [said for said in found if said != found[0]] == []
        assert len(found[0]) <= 1


@pytest.mark.parametrize(
    "words",
    [
        {"pattern": "gb.*"}, {"pattern": ".{4}"}, {"enum": ["docs", "acme"]}, {"enum": ["7"], "pattern": "7"}, {"enum": ["x"], "default": "x"},
    ],
)  # fmt: skip
def test_what_is_reported_does_not_depend_on_a_secret_in_a_declaration(root: Path, words: Any) -> None:
    found = answers(root, {**PROJECT, "vars": {**PROJECT["vars"], "token": {**words, "env": ENV}}}, "vars.token")
    assert found[0]
    assert [said for said in found if said != found[0]] == []


def test_a_type_shows_that_a_value_has_that_form_and_nothing_else(root: Path) -> None:
    for kind in ("boolean", "integer", "number", "list", "map"):
        project = {**PROJECT, "vars": {**PROJECT["vars"], "token": {"type": kind, "env": ENV}}}
        assert len({tuple(lines) for lines in answers(root, project, "vars.token") if lines}) == 1
