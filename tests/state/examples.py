"""Bindings and intents to try the store with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from reconciler.address import Address
from reconciler.model import Binding, Intent, Origin

NOW = datetime(2026, 11, 18, 10, 30, tzinfo=UTC)
SERVICE = "https://api.example"
WHO = {"who": "ada@desk", "command": "reconciler apply"}


def CLOCK() -> datetime:  # noqa: N802  a constant that is called
    return NOW


def at(text: str) -> Address:
    return Address.parse(text)


GUIDES, START, LEGACY = at("acme/space/guides"), at("acme/space/start"), at("acme/space/legacy")


def binding(address: Address = GUIDES, **changes: Any) -> Binding:
    return replace(
        Binding(address, address.kind or "organization", f"id-{address.key}", Origin.CREATED, {"title": "a"}, {"title": "b"}), **changes
    )


def intent(address: Address = GUIDES, **changes: Any) -> Intent:
    whole = Intent(
        0, "", 7, address, "space", "create", "POST", "/v1/orgs/o/spaces", None, {"title": "Guides"}, frozenset({"s1", "s2"}),
        NOW, NOW + timedelta(seconds=30), {"page": "acme/space/guides"}, ("/v1/orgs/o/spaces",),
    )  # fmt: skip
    return replace(whole, **changes)


def fields_of(found: Binding) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return found.sent, found.seen
