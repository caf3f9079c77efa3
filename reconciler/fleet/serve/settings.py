"""The settings about people in the last fleet file. Plain data; secrets are references, resolved where they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reconciler.fleet.model import SecretReference
from reconciler.fleet.people import ALL, Role, RoleRule


@dataclass(frozen=True)
class Oidc:
    """The OpenID Connect provider. `claim`: whose values give roles."""

    issuer: str
    client: str
    secret: SecretReference | None
    claim: str
    scopes: tuple[str, ...]


@dataclass(frozen=True)
class ServeSettings:
    """`url`: the URL that people open, None for the loopback address. `webhooks`: secrets by forge, each
    with the tenants whose projects it makes due. `metrics`: the token of /metrics."""

    url: str | None = None
    oidc: Oidc | None = None
    rules: tuple[RoleRule, ...] = ()
    metrics: SecretReference | None = None
    webhooks: Mapping[str, tuple[tuple[SecretReference, tuple[str, ...]], ...]] = field(default_factory=dict)

    @property
    def way(self) -> tuple[bool, str | None]:
        """The settings that require a new server: whether a provider identifies people, and the URL that they open."""
        return self.oidc is not None, self.url if self.oidc is not None else None


def of_data(data: Mapping[str, Any]) -> ServeSettings:
    """The settings in the JSON of a fleet file (`reconciler.fleet.declared.dashboard`)."""
    dashboard, webhooks = data.get("dashboard") or {}, data.get("webhooks") or {}
    oidc, metrics = dashboard.get("oidc"), dashboard.get("metrics")
    return ServeSettings(
        url=dashboard.get("url"),
        oidc=_oidc(oidc) if oidc is not None else None,
        rules=tuple(RoleRule(rule["value"], Role(rule["role"]), tuple(rule["tenants"])) for rule in dashboard.get("roles") or ()),
        metrics=SecretReference.of(metrics) if metrics is not None else None,
        webhooks={forge: _webhooks(secrets) for forge, secrets in webhooks.items()},
    )


def _webhooks(data: str | Sequence[Mapping[str, Any]]) -> tuple[tuple[SecretReference, tuple[str, ...]], ...]:
    """The secrets of a forge; a text is the only one, as earlier versions stored it."""
    if isinstance(data, str):
        return ((SecretReference.of(data), (ALL,)),)
    return tuple((SecretReference.of(secret["secret"]), tuple(secret["tenants"])) for secret in data)


def _oidc(data: Mapping[str, Any]) -> Oidc:
    secret = data["clientSecret"]
    return Oidc(
        data["issuer"], data["clientId"], SecretReference.of(secret) if secret is not None else None, data["claim"], tuple(data["scopes"])
    )
