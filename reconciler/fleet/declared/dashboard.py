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


def settings(words: KeyReader) -> dict[str, Any]:
    """The parts of a fleet file about people, as JSON. Secrets are references."""
    made: dict[str, Any] = {}
    if (entry := words.entry("dashboard")) is not None:
        made["dashboard"] = _dashboard(KeyReader.of("dashboard", entry, words.problems, example="url: https://HOST"))
    if (entry := words.entry("webhooks")) is not None:
        made["webhooks"] = _webhooks(KeyReader.of("webhooks", entry, words.problems, example="github: {secret: {env: NAME}}"))
    if (people := _people(words)) is not None:
        made["people"] = people
    return made


def _people(words: KeyReader) -> list[dict[str, Any]] | None:
    """Whose addresses are whose; None if the file does not say."""
    entry = words.entry("people")
    if entry is None:
        return None
    if not isinstance(entry.node, List):
        words.problems.add(entry.node.at, "people must be a list: [{addresses: [ada@acme.example]}]", id="RC-wrong-form")
        return None
    made, owners = [], dict[str, int]()
    for number, item in enumerate(entry.node.items):
        inner = KeyReader.of(f"people[{number}]", MapEntry("", item.at, item), words.problems, example="addresses: [ada@acme.example]")
        subject, addresses = inner.text("subject"), _texts(inner, "addresses")
        inner.rest()
        if isinstance(item, Map) and not addresses and not inner.meant("addresses"):
            words.problems.add(item.at, f"{inner.name} has no addresses; write addresses: [ada@acme.example]", id="RC-missing-key")
        for address in addresses or ():
            if "@" not in address.strip("@"):
                wrong = f"{inner.path('addresses')} contains {shown(address)}, which is not an e-mail address"
                words.problems.add(item.at, wrong, id="RC-wrong-form")
            elif owners.setdefault(canonical(address), number) != number:
                words.problems.add(
                    item.at,
                    f"{shown(address)} is an address of people[{owners[canonical(address)]}] too; each has one person",
                    id="RC-declared-twice",
                )
        made.append({"subject": subject[0] if subject is not None else None, "addresses": list(addresses or ())})
    return made


def _dashboard(words: KeyReader) -> dict[str, Any]:
    made: dict[str, Any] = {"url": _url(words, "url"), "oidc": _oidc(words), "roles": list(_roles(words))}
    metrics = values.reference(words, "metrics")
    words.rest()
    if made["oidc"] is not None and made["url"] is None and not words.meant("url"):
        at = words.entries["oidc"].at
        words.problems.add(at, "dashboard.oidc requires dashboard.url, to which people return: https://HOST", id="RC-missing-key")
    return {**made, "metrics": str(metrics) if metrics is not None else None}


def _url(words: KeyReader, key: str, *, path: bool = False) -> str | None:
    """https://HOST, or http:// of this machine. `path`: a path is allowed."""
    value = words.text(key)
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
        words.problems.add(value[1], f"{words.path(key)} is {_safe(value[0])}; it must be {form}", id="RC-fleet-dashboard-url")
        return None
    return value[0] if path else value[0].rstrip("/")


def _safe(url: str) -> str:
    """A URL inside a sentence, without what could be a secret."""
    return shown(re.sub(r"//[^/@]*@", "//…@", url).partition("?")[0])


def _oidc(words: KeyReader) -> dict[str, Any] | None:
    entry = words.entry("oidc")
    if entry is None:
        return None
    inner = KeyReader.of(words.path("oidc"), entry, words.problems, example="issuer: https://HOST, clientId: ID")
    issuer, client = _url(inner, "issuer", path=True), inner.text("clientId")
    secret, claim, scopes = values.reference(inner, "clientSecret"), inner.text("claim"), _texts(inner, "scopes")
    inner.rest()
    for key in ("issuer", "clientId"):
        if isinstance(entry.node, Map) and key not in entry.node.entries and not inner.meant(key):
            words.problems.add(entry.node.at, f"{inner.path(key)} is missing; write {key}: …", id="RC-missing-key")
    return {
        "issuer": issuer,
        "clientId": client[0] if client is not None else None,
        "clientSecret": str(secret) if secret is not None else None,
        "claim": claim[0] if claim is not None else CLAIM_DEFAULT,
        "scopes": list(dict.fromkeys(("openid", *(scopes if scopes is not None else SCOPES_DEFAULT)))),
    }


def _roles(words: KeyReader) -> Iterator[dict[str, Any]]:
    entry = words.entry("roles")
    if entry is None:
        return
    path, node = words.path("roles"), entry.node
    if not isinstance(node, List):
        words.problems.add(node.at, f"{path} must be a list: [{{value: docs-leads, role: approver}}]", id="RC-wrong-form")
        return
    for number, item in enumerate(node.items):
        inner = KeyReader.of(f"{path}[{number}]", MapEntry("", item.at, item), words.problems, example="value: docs-leads, role: approver")
        value, role, tenants = inner.text("value"), inner.choice("role", ROLES), _tenants(inner, item)
        inner.rest()
        for key in ("value", "role"):
            if isinstance(item, Map) and key not in item.entries and not inner.meant(key):
                words.problems.add(
                    item.at, f"{inner.path(key)} is missing; write {{value: docs-leads, role: approver}}", id="RC-missing-key"
                )
        if value is not None and role is not None:
            yield {"value": value[0], "role": role.value, "tenants": tenants}


def _texts(words: KeyReader, key: str) -> tuple[str, ...] | None:
    entry = words.entry(key)
    if entry is None:
        return None
    if not isinstance(entry.node, List):
        words.problems.add(entry.node.at, f"{words.path(key)} must be a list, not {described(entry.node)}", id="RC-wrong-form")
        return ()
    made = []
    for item in entry.node.items:
        if isinstance(item, Scalar) and item.text and not item.null:
            made.append(item.text)
        else:
            words.problems.add(item.at, f"{words.path(key)} contains {described(item)}; it must be text", id="RC-wrong-form")
    return tuple(made)


def _webhooks(words: KeyReader) -> dict[str, list[dict[str, Any]]]:
    made = {}
    for forge in WEBHOOKS:
        entry = words.entry(forge)
        if entry is None:
            continue
        path, node = words.path(forge), entry.node
        if isinstance(node, List):
            if not node.items:
                words.problems.add(node.at, f"{path} must not be empty; write [{{secret: {{env: NAME}}}}]", id="RC-empty-list")
            readers = [
                KeyReader.of(f"{path}[{n}]", MapEntry("", item.at, item), words.problems, example="secret: {env: NAME}, tenants: [TENANT]")
                for n, item in enumerate(node.items)
            ]  # fmt: skip
            nodes = node.items
        else:
            readers, nodes = [KeyReader.of(path, entry, words.problems, example="secret: {env: NAME}")], [node]
        secrets = [_webhook(inner, item) for inner, item in zip(readers, nodes, strict=True)]
        made[forge] = [secret for secret in secrets if secret is not None]
    words.rest()
    return made


def _webhook(words: KeyReader, node: Node) -> dict[str, Any] | None:
    """The secret of webhooks, and its tenants."""
    secret, tenants = values.reference(words, "secret"), _tenants(words, node)
    words.rest()
    if not tenants:
        words.problems.add(node.at, f"{words.path('tenants')} must not be empty; leave it out for all tenants", id="RC-empty-list")
    if isinstance(node, Map) and "secret" not in node.entries and not words.meant("secret"):
        words.problems.add(node.at, f"{words.path('secret')} is missing; write secret: {{env: NAME}}", id="RC-missing-key")
    return {"secret": str(secret), "tenants": tenants} if secret is not None else None


def _tenants(words: KeyReader, node: Node) -> list[str]:
    """The tenants in a list; all of them without one."""
    tenants = _texts(words, "tenants")
    for tenant in tenants or ():
        if tenant != ALL and values.NAME.fullmatch(tenant) is None:
            at = node.entries["tenants"].node.at if isinstance(node, Map) else node.at
            words.problems.add(at, f"{words.path('tenants')} contains {shown(tenant)}, which is not a tenant", id="RC-not-a-key")
    return list(tenants) if tenants is not None else [ALL]
