"""The settings about people in a fleet file: the dashboard's URL, roles, webhook secrets, whose addresses are whose.

Pure; problems are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import described, shown
from reconciler.fleet.declared import values
from reconciler.fleet.declared.keys import ROLES, WEBHOOKS
from reconciler.fleet.people import ALL, canonical

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
CLAIM_DEFAULT: Final = "groups"
SCOPES_DEFAULT: Final = ("openid", "email", "profile")


def settings(keys: KeyReader) -> dict[str, Any]:
    """The parts of a fleet file about people, as JSON. Secrets are references."""
    settings: dict[str, Any] = {}
    if (entry := keys.entry("dashboard")) is not None:
        settings["dashboard"] = _dashboard(KeyReader.of("dashboard", entry, keys.problems, example="url: https://HOST"))
    if (entry := keys.entry("webhooks")) is not None:
        settings["webhooks"] = _webhooks(KeyReader.of("webhooks", entry, keys.problems, example="github: {secret: {env: NAME}}"))
    if (people := _people(keys)) is not None:
        settings["people"] = people
    return settings


def _people(keys: KeyReader) -> list[dict[str, Any]] | None:
    """Whose addresses are whose; None if the file does not say."""
    entry = keys.entry("people")
    if entry is None:
        return None
    if not isinstance(entry.node, List):
        keys.problems.add(entry.node.at, "people must be a list: [{addresses: [ada@acme.example]}]", id="RC-wrong-form")
        return None
    people, owners = [], dict[str, int]()
    for number, item in enumerate(entry.node.items):
        inner = KeyReader.of(f"people[{number}]", MapEntry("", item.at, item), keys.problems, example="addresses: [ada@acme.example]")
        subject, addresses = inner.text("subject"), _texts(inner, "addresses")
        inner.rest()
        if isinstance(item, Map) and not addresses and not inner.meant("addresses"):
            keys.problems.add(item.at, f"{inner.name} has no addresses; write addresses: [ada@acme.example]", id="RC-missing-key")
        for address in addresses or ():
            if "@" not in address.strip("@"):
                wrong = f"{inner.path('addresses')} contains {shown(address)}, which is not an e-mail address"
                keys.problems.add(item.at, wrong, id="RC-wrong-form")
            elif owners.setdefault(canonical(address), number) != number:
                keys.problems.add(
                    item.at,
                    f"{shown(address)} is an address of people[{owners[canonical(address)]}] too; each has one person",
                    id="RC-declared-twice",
                )
        people.append({"subject": subject[0] if subject is not None else None, "addresses": list(addresses or ())})
    return people


def _dashboard(keys: KeyReader) -> dict[str, Any]:
    settings: dict[str, Any] = {"url": _url(keys, "url"), "oidc": _oidc(keys), "roles": list(_roles(keys))}
    metrics = values.reference(keys, "metrics")
    keys.rest()
    if settings["oidc"] is not None and settings["url"] is None and not keys.meant("url"):
        at = keys.entries["oidc"].at
        keys.problems.add(at, "dashboard.oidc requires dashboard.url, to which people return: https://HOST", id="RC-missing-key")
    return {**settings, "metrics": str(metrics) if metrics is not None else None}


def _url(keys: KeyReader, key: str, *, path: bool = False) -> str | None:
    """https://HOST, or http:// of this machine. `path`: a path is allowed."""
    value = keys.text(key)
    if value is None:
        return None
    try:
        parts = urlsplit(value[0])
        secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        whole = secure and parts.hostname and parts.username is None and not parts.query and not parts.fragment and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not value[0].isprintable() or " " in value[0] or not (path or parts.path in ("", "/")):
        form = "https://HOST" if not path else "https://HOST/PATH"
        keys.problems.add(value[1], f"{keys.path(key)} is {_safe(value[0])}; it must be {form}", id="RC-fleet-dashboard-url")
        return None
    return value[0] if path else value[0].rstrip("/")


def _safe(url: str) -> str:
    """A URL inside a sentence, without what could be a secret."""
    return shown(re.sub(r"//[^/@]*@", "//…@", url).partition("?")[0])


def _oidc(keys: KeyReader) -> dict[str, Any] | None:
    entry = keys.entry("oidc")
    if entry is None:
        return None
    inner = KeyReader.of(keys.path("oidc"), entry, keys.problems, example="issuer: https://HOST, clientId: ID")
    issuer, client = _url(inner, "issuer", path=True), inner.text("clientId")
    secret, claim, scopes = values.reference(inner, "clientSecret"), inner.text("claim"), _texts(inner, "scopes")
    inner.rest()
    for key in ("issuer", "clientId"):
        if isinstance(entry.node, Map) and key not in entry.node.entries and not inner.meant(key):
            keys.problems.add(entry.node.at, f"{inner.path(key)} is missing; write {key}: …", id="RC-missing-key")
    return {
        "issuer": issuer,
        "clientId": client[0] if client is not None else None,
        "clientSecret": str(secret) if secret is not None else None,
        "claim": claim[0] if claim is not None else CLAIM_DEFAULT,
        "scopes": list(dict.fromkeys(("openid", *(scopes if scopes is not None else SCOPES_DEFAULT)))),
    }


def _roles(keys: KeyReader) -> Iterator[dict[str, Any]]:
    entry = keys.entry("roles")
    if entry is None:
        return
    path, node = keys.path("roles"), entry.node
    if not isinstance(node, List):
        keys.problems.add(node.at, f"{path} must be a list: [{{value: docs-leads, role: approver}}]", id="RC-wrong-form")
        return
    for number, item in enumerate(node.items):
        inner = KeyReader.of(f"{path}[{number}]", MapEntry("", item.at, item), keys.problems, example="value: docs-leads, role: approver")
        value, role, tenants = inner.text("value"), inner.choice("role", ROLES), _tenants(inner, item)
        inner.rest()
        for key in ("value", "role"):
            if isinstance(item, Map) and key not in item.entries and not inner.meant(key):
                keys.problems.add(
                    item.at, f"{inner.path(key)} is missing; write {{value: docs-leads, role: approver}}", id="RC-missing-key"
                )
        if value is not None and role is not None:
            yield {"value": value[0], "role": role.value, "tenants": tenants}


def _texts(keys: KeyReader, key: str) -> tuple[str, ...] | None:
    entry = keys.entry(key)
    if entry is None:
        return None
    if not isinstance(entry.node, List):
        keys.problems.add(entry.node.at, f"{keys.path(key)} must be a list, not {described(entry.node)}", id="RC-wrong-form")
        return ()
    texts = []
    for item in entry.node.items:
        if isinstance(item, Scalar) and item.text and not item.null:
            texts.append(item.text)
        else:
            keys.problems.add(item.at, f"{keys.path(key)} contains {described(item)}; it must be text", id="RC-wrong-form")
    return tuple(texts)


def _webhooks(keys: KeyReader) -> dict[str, list[dict[str, Any]]]:
    hooks = {}
    for forge in WEBHOOKS:
        entry = keys.entry(forge)
        if entry is None:
            continue
        path, node = keys.path(forge), entry.node
        if isinstance(node, List):
            if not node.items:
                keys.problems.add(node.at, f"{path} must not be empty; write [{{secret: {{env: NAME}}}}]", id="RC-empty-list")
            readers = [
                KeyReader.of(f"{path}[{n}]", MapEntry("", item.at, item), keys.problems, example="secret: {env: NAME}, tenants: [TENANT]")
                for n, item in enumerate(node.items)
            ]  # fmt: skip
            nodes = node.items
        else:
            readers, nodes = [KeyReader.of(path, entry, keys.problems, example="secret: {env: NAME}")], [node]
        secrets = [_webhook(inner, item) for inner, item in zip(readers, nodes, strict=True)]
        hooks[forge] = [secret for secret in secrets if secret is not None]
    keys.rest()
    return hooks


def _webhook(keys: KeyReader, node: Node) -> dict[str, Any] | None:
    """The secret of webhooks, and its tenants."""
    secret, tenants = values.reference(keys, "secret"), _tenants(keys, node)
    keys.rest()
    if not tenants:
        keys.problems.add(node.at, f"{keys.path('tenants')} must not be empty; leave it out for all tenants", id="RC-empty-list")
    if isinstance(node, Map) and "secret" not in node.entries and not keys.meant("secret"):
        keys.problems.add(node.at, f"{keys.path('secret')} is missing; write secret: {{env: NAME}}", id="RC-missing-key")
    return {"secret": str(secret), "tenants": tenants} if secret is not None else None


def _tenants(keys: KeyReader, node: Node) -> list[str]:
    """The tenants in a list; all of them without one."""
    tenants = _texts(keys, "tenants")
    for tenant in tenants or ():
        if tenant != ALL and values.NAME.fullmatch(tenant) is None:
            at = node.entries["tenants"].node.at if isinstance(node, Map) else node.at
            keys.problems.add(at, f"{keys.path('tenants')} contains {shown(tenant)}, which is not a tenant", id="RC-not-a-key")
    return list(tenants) if tenants is not None else [ALL]
