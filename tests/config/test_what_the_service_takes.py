"""What the service would refuse is refused before anything is sent, at file, line and column.

A condition on a claim that no visitor can have is an error with its place; one that may be right is a finding of lint.
A file that is something else than it should be is refused, and nothing of it is printed; of a certificate only its content is sent."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from reconciler.address import Address
from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from tests.certificates import IDP, OTHER, pem

SAML = {"label": "Okta", "entityID": "x", "ssoURL": "https://okta.example/sso", "certificate": IDP}


def project(folder: Path, organization: dict[str, object]) -> Path:
    document = {"version": 1, "project": "p", "organizations": {"acme": {"id": "org", **organization}}}
    (folder / "reconciler.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return folder


def site(**fields: object) -> dict[str, object]:
    return {"sites": {"docs": {"title": "Docs", **fields}}}


def space(**fields: object) -> dict[str, object]:
    return {"content": [{"space": "one", "title": "One", "id": "spc_1", **fields}]}


def section(**fields: object) -> dict[str, object]:
    return site(structure=[{"section": "s", "title": "Section", "spaces": [{"space": {"id": "spc_1"}, "key": "k"}], **fields}])


REFUSED: list[tuple[str, dict[str, object], str]] = [
    ("a proxy with a scheme", site(proxy="https://acme.example/docs"), "proxy"),
    ("a proxy without a path", site(proxy="acme.example"), "proxy"),
    ("a proxy that ends with a slash", site(proxy="acme.example/docs/"), "proxy"),
    ("a proxy with a port", site(proxy="acme.example:8443/docs"), "proxy"),
    ("a proxy whose host has no dot", site(proxy="localhost/docs"), "proxy"),
    ("a proxy with a blank", site(proxy="acme.example/a b"), "proxy"),
    ("a proxy of 513 characters", site(proxy="acme.example/" + "x" * 500), "proxy"),
    ("an icon of 51 characters", section(icon="x" * 51), "icon"),
    (
        "a chain of more than 10,000 characters",
        {"saml": {"okta": {**SAML, "certificate": pem(IDP) * (1 + 10_000 // len(pem(IDP)))}}},
        "certificate",
    ),
    ("an identifier of 1,025 characters", {"saml": {"okta": {**SAML, "entityID": "x" * 1025}}}, "entityID"),
    ("a sign-on address without a scheme", {"saml": {"okta": {**SAML, "ssoURL": "okta.example/sso"}}}, "ssoURL"),
    ("a logo that is no address", {"logo": "logo.png"}, "logo"),
    ("a logo without a host", {"logo": "https:///logo.png"}, "logo"),
    ("a logo with a blank", {"logo": "https://acme.example/the logo.png"}, "logo"),
    ("a source that is no address", {"openapi": {"pets": {"source": {"url": "pets.json"}}}}, "source.url"),
    ("a source of nothing", {"openapi": {"pets": {"source": {}}}}, "source"),
    ("an empty text as a source", {"openapi": {"pets": {"source": {"text": ""}}}}, "source.text"),
    ("an address and a text", {"openapi": {"pets": {"source": {"url": "https://a.example/x", "text": "x"}}}}, "source"),
    ("a language without a code", space(language="klingon"), "language"),
    ("a level of no name", space(defaultLevel="inherited"), "defaultLevel"),
    ("rules of no name", {"mergeRules": "nobody"}, "mergeRules"),
    ("a title that is cleared", space(title=None), "title"),
]

TAKEN: list[tuple[str, dict[str, object]]] = [
    ("a proxy", site(proxy="docs.acme-2.example/a_b/c-d")),
    ("no proxy", site(proxy=None)),
    ("an icon of 50 characters", section(icon="x" * 50)),
    ("no icon and no description", section(icon=None, description=None)),
    ("a logo", {"logo": "https://acme.example/logo%20new.png?x=1#y"}),
    ("a logo as data", {"logo": "data:image/png;base64,iVBORw0KGgo="}),
    ("a chain of 9,999 characters at most, and text around it", {
        "saml": {"okta": {**SAML, "certificate": f"{'x' * 5_000}\n" + pem(IDP) * (9_999 // len(pem(IDP)))}},
    }),
    ("a text as a source", {"openapi": {"pets": {"source": {"text": "openapi: 3.1.0"}}}}),
    ("a language", space(language="pt-br")),
    ("an inherited level, no emoji", space(defaultLevel="inherit", emoji=None)),
    ("a collection with an inherited level and no description", {
        "content": [{"collection": "c", "title": "C", "defaultLevel": "inherit", "description": None}],
    }),
    ("no rules", {"mergeRules": "none"}),
    ("inherited rules", {"mergeRules": "inherit"}),
    ("rules of the service's own", {"mergeRules": {"type": "rules", "rules": [{"rule": "allow_bypass", "users": []}]}}),
]  # fmt: skip


@pytest.mark.parametrize(("organization", "field"), [pytest.param(tree, field, id=why) for why, tree, field in REFUSED])
def test_what_the_service_refuses_is_refused_with_its_place(tmp_path: Path, organization: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(project(tmp_path, organization), kinds())
    (message,) = str(refused.value).splitlines()
    assert message.startswith("reconciler.yaml:")
    assert field in message


@pytest.mark.parametrize("organization", [pytest.param(tree, id=why) for why, tree in TAKEN])
def test_what_the_service_takes_is_taken(tmp_path: Path, organization: dict[str, object]) -> None:
    load(project(tmp_path, organization), kinds())


CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "partner": {"type": "boolean"},
        "plan": {"type": "string", "enum": ["free", "pro"]},
        "unsigned": {"type": "object", "properties": {"beta": {"type": "boolean"}}, "additionalProperties": False},
    },
    "additionalProperties": False,
}
OPEN = {key: value for key, value in CLOSED.items() if key != "additionalProperties"}


def organization(condition: str, schema: Any = CLOSED, *, variant: bool = False) -> dict[str, object]:
    """An organization with a condition on a section, or on a variant in one. `schema`: of its site, None if it is not managed."""
    hidden: dict[str, Any] = {"section": "hidden", "title": "Hidden", "spaces": [{"space": {"id": "spc_2"}, "key": "b"}]}
    (hidden["spaces"][0] if variant else hidden)["condition"] = condition
    start = {"section": "start", "title": "Start", "default": True, "spaces": [{"space": {"id": "spc_1"}, "key": "a"}]}
    site: dict[str, Any] = {"title": "Docs", "structure": [start, hidden]}
    return {"sites": {"docs": site if schema is None else {**site, "adaptiveSchema": schema}}}


UNKNOWN = [
    "!visitor.claims.partnr",
    "visitor.claims.partnr || true",
    "!(visitor.claims.partner && !visitor.claims.partnr)",
    'visitor.claims["partnr"] == true',
    '"pro" in visitor.claims.plans',
    "visitor.claims.unsigned.betta",
    "visitor.claims.partner.name",
    "visitor.claims.Partner",
]


@pytest.mark.parametrize("variant", [False, True], ids=["section", "variant"])
@pytest.mark.parametrize("condition", UNKNOWN)
def test_a_claim_that_a_closed_schema_lacks_is_an_error(tmp_path: Path, condition: str, variant: bool) -> None:
    with pytest.raises(ConfigError) as refused:
        load(project(tmp_path, organization(condition, variant=variant)), kinds())
    (message,) = str(refused.value).splitlines()
    assert message.startswith("reconciler.yaml:")
    assert "condition depends on a claim that no visitor has: the schema of claims has no visitor.claims" in message
    assert [problem.id for problem in refused.value.problems] == ["RC-unknown-claim"]


def test_a_misspelled_claim_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='did you mean "partner"'):
        load(project(tmp_path, organization("!visitor.claims.partnr")), kinds())


OKTA = Address.parse("acme/saml/okta")
_FORMAT = serialization.PrivateFormat
FORMS = {"traditional": _FORMAT.TraditionalOpenSSL, "PKCS#8": _FORMAT.PKCS8, "OpenSSH": _FORMAT.OpenSSH}
_PEM = serialization.Encoding.PEM


@cache
def keys() -> Mapping[str, str]:
    """Private keys of every form, by name."""
    owners = {"rsa": rsa.generate_private_key(65537, 2048), "ec": ec.generate_private_key(ec.SECP256R1())}
    plain, locked = serialization.NoEncryption(), serialization.BestAvailableEncryption(b"hunter2")
    result = {
        f"{name} {form} {'encrypted' if lock is locked else 'plain'}": owner.private_bytes(_PEM, FORMS[form], lock).decode()
        for name, owner in owners.items()
        for form in FORMS
        for lock in (plain, locked)
        if (form, lock) != ("OpenSSH", locked)
    }
    result["ed25519"] = ed25519.Ed25519PrivateKey.generate().private_bytes(_PEM, _FORMAT.PKCS8, plain).decode()
    return result


def body(key: str) -> str:
    """The base64 of a key."""
    return "".join(line for line in key.splitlines() if line and "-----" not in line and ":" not in line)


SPELLINGS = {
    "as it is": lambda key: key,
    "with CRLF": lambda key: key.replace("\n", "\r\n"),
    "with a byte order mark": lambda key: "\ufeff" + key,
    "before a certificate": lambda key: key + pem(IDP),
    "after a certificate": lambda key: pem(IDP) + key,
    "with text around": lambda key: f"Bag Attributes\n{key}\nend\n",
    "indented": lambda key: key.replace("\n", "\n    "),
    "on one line": lambda key: key.replace("\n", " "),
    "in JSON": lambda key: json.dumps({"private_key": key}),
}

FIELDS = {
    "certificate": lambda text: {"saml": {"okta": {**SAML, "certificate": text}}},
    "entityID": lambda text: {"saml": {"okta": {**SAML, "entityID": text}}},
    "label": lambda text: {"saml": {"okta": {**SAML, "label": text}}},
    "agentInstructions": lambda text: {"agentInstructions": text},
    "source": lambda text: {"openapi": {"pets": {"source": {"text": text}}}},
    "logo": lambda text: {"logo": text},
    "title": lambda text: {"teams": {"t": {"title": text}}},
    "jsonSchema": lambda text: {
        "sites": {"d": {"title": "Docs", "adaptiveSchema": {"type": "object", "properties": {}, "title": text}}},
    },
}


def refusal(folder: Path, organization: object) -> str:
    with pytest.raises(ConfigError) as refused:
        load(project(folder, organization), kinds())  # type: ignore[arg-type]
    return str(refused.value)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_private_key_of_every_type_and_spelling_is_refused_and_not_quoted(tmp_path: Path, spelling: str) -> None:
    for name, key in keys().items():
        message = refusal(tmp_path, FIELDS["certificate"](SPELLINGS[spelling](key)))
        assert "certificate contains a private key" in message, name
        assert len(message.splitlines()) == 1
        assert not {word for word in (body(key)[:12], "BEGIN") if word in message}, name


@pytest.mark.parametrize("field", FIELDS)
def test_a_private_key_is_refused_in_every_field(tmp_path: Path, field: str) -> None:
    key = keys()["ec PKCS#8 plain"]
    message = refusal(tmp_path, FIELDS[field](key))
    assert "contains a private key" in message
    assert body(key)[:12] not in message


def test_a_private_key_without_a_frame_is_refused(tmp_path: Path) -> None:
    for name, key in keys().items():
        if "traditional encrypted" not in name:  # encrypted by its frame: without it, it is noise
            assert "contains a private key" in refusal(tmp_path, FIELDS["certificate"](body(key))), name


def test_a_private_key_from_a_file_or_a_public_variable_is_refused_too(tmp_path: Path) -> None:
    key = keys()["rsa PKCS#8 plain"]
    (tmp_path / "idp.pem").write_text(key, encoding="utf-8")
    assert "contains a private key" in refusal(tmp_path, FIELDS["certificate"]('${{ file("idp.pem") }}'))
    assert "contains a private key" in refusal(tmp_path, FIELDS["label"]('a ${{ file("idp.pem") | upper }} b'.replace(" | upper", "")))


def test_a_sensitive_field_may_hold_a_private_key(tmp_path: Path) -> None:
    program = {"title": "Bot", "description": "Answers", "scopes": [], "script": "x", "secrets": {"key": keys()["ed25519"]}}
    loaded = load(project(tmp_path, {"integrations": {"bot": program}}), kinds())
    assert loaded.desired.resources[Address.parse("acme/integration/bot")].values["secrets"]["key"] == keys()["ed25519"]


def test_documentation_may_show_a_frame_without_a_key(tmp_path: Path) -> None:
    frame = "-----BEGIN PRIVATE KEY-----{}-----END PRIVATE KEY-----"
    shown = frame.format(" and "), frame.format("\n...\n")
    load(project(tmp_path, {"agentInstructions": f"Paste it between {shown[0]}, or:\n{shown[1]}"}), kinds())


# -- certificates ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "it is none"),
        ("hunter2-secret", "it is none"),
        (pem(IDP).replace("CERTIFICATE", "CERTIFICATE REQUEST"), "it contains a CERTIFICATE REQUEST"),
        (pem(IDP).replace("CERTIFICATE", "PUBLIC KEY"), "it contains a PUBLIC KEY"),
        (pem(IDP) + pem(IDP).replace("CERTIFICATE", "X509 CRL"), "it contains a X509 CRL"),
        (pem(IDP)[:200], "without its END line"),
        (pem(IDP)[:200] + "\n-----END CERTIFICATE-----\n", "its certificate"),
        (pem(IDP) + pem(IDP[:200]), "its certificate 2 of 2 cannot be read"),
        (pem(IDP + IDP), "not base64"),
        (IDP[:200], "its certificate"),
        (pem(IDP).replace("-----BEGIN", "----BEGIN"), "without its END line"),
        ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "cannot be read"),
        (base64.b64encode(os.urandom(300)).decode(), "is not a certificate"),
    ],
)
def test_what_is_not_a_certificate_is_refused_with_the_reason_and_not_quoted(tmp_path: Path, text: str, reason: str) -> None:
    message = refusal(tmp_path, FIELDS["certificate"](text))
    assert "certificate is not a certificate: " in message
    assert reason in message
    assert "hello" not in message
    assert "hunter2" not in message
    assert IDP[:12] not in message


@pytest.mark.parametrize(
    "text",
    [
        pem(IDP),
        pem(IDP).rstrip(),
        pem(IDP).replace("\n", "\r\n"),
        "\ufeff" + pem(IDP),
        IDP,
        f"subject=/CN=idp.example\n{pem(IDP)}and a note\n",
        pem(IDP).replace("\n", "\n  "),
        "-----BEGIN CERTIFICATE-----\n" + IDP + "\n-----END CERTIFICATE-----",
    ],
)
def test_a_certificate_is_sent_without_what_is_around_it(tmp_path: Path, text: str) -> None:
    assert load(project(tmp_path, FIELDS["certificate"](text)), kinds()).desired.resources[OKTA].values["certificate"] == pem(IDP)


def test_a_chain_is_sent_whole_and_in_its_order(tmp_path: Path) -> None:
    loaded = load(project(tmp_path, FIELDS["certificate"](f"1\n{pem(OTHER)}2\n{pem(IDP)}3")), kinds())
    assert loaded.desired.resources[OKTA].values["certificate"] == pem(OTHER) + pem(IDP)


def test_the_same_certificate_in_another_wrapping_at_the_service_makes_no_difference() -> None:
    field = kinds()["saml"].fields["certificate"]
    for shown in (pem(IDP), pem(IDP).strip(), pem(IDP).replace("\n", "\r\n"), IDP):
        assert field.value_in({"certificate": shown}) == pem(IDP)
    assert field.value_in({"certificate": "something else"}) == "something else"
    assert field.body(field.body(IDP)) == field.body(IDP)


def test_a_file_in_der_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    (tmp_path / "idp.der").write_bytes(base64.b64decode(IDP))
    assert "openssl x509 -inform DER" in refusal(tmp_path, FIELDS["certificate"]('${{ file("idp.der") }}'))
