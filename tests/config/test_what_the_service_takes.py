"""What the service would refuse is refused before anything is sent, at file, line and column."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from tests.certificates import IDP, pem

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
