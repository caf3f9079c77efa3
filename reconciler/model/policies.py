"""The policies of a project as it declares them, and the exceptions to them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Final

from reconciler.address import Address, Glob
from reconciler.model.findings import Severity, Source

PLAN: Final = "plan"
"""The value of `on` for a policy about the whole plan."""


@dataclass(frozen=True)
class Policy:
    """One rule. `on`: kinds and patterns of addresses, or only `plan`; `kinds`: those of them that are kinds. `when`: the actions that it
    applies to, () for all that leave the resource declared. `test`: the expression that must be true. `message`: as written, expressions
    included. `reason`: why it exists, of a ready one."""

    id: str
    on: tuple[str, ...]
    when: tuple[str, ...]
    test: str
    message: str
    level: Severity
    source: Source
    kinds: frozenset[str] = frozenset()
    ready: bool = False
    reason: str = ""

    @property
    def whole(self) -> bool:
        """Whether it applies to the whole plan."""
        return self.on == (PLAN,)

    @cached_property
    def globs(self) -> tuple[Glob, ...]:
        """The patterns of the addresses that it is about."""
        return tuple(Glob.parse(text) for text in self.on if text not in self.kinds and text != PLAN)

    def applies(self, address: Address, kind: str) -> bool:
        """Whether it applies to a resource, regardless of the action."""
        return kind in self.kinds or any(glob.matches(address) for glob in self.globs)

    @cached_property
    def digest(self) -> str:
        """The digest of what it demands, without its message; of a ready-made policy, of its name."""
        demands = [self.id] if self.ready else [sorted(self.on), sorted(self.when), " ".join(self.test.split())]
        return hashlib.sha256(json.dumps(demands).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Exemption:
    """A policy that is not applied to some addresses until a day, that day included. `address`: a pattern; None for the whole plan."""

    policy: str
    address: str | None
    until: date
    reason: str
    source: Source

    @cached_property
    def glob(self) -> Glob | None:
        """The pattern of the addresses that it is about; None for the whole plan."""
        return Glob.parse(self.address) if self.address is not None else None

    def covers(self, address: Address | None) -> bool:
        """Whether it covers what violates its policy: a resource, or the whole plan."""
        return self.glob is None or (address is not None and self.glob.matches(address))

    @property
    def text(self) -> str:
        """`two-admins for acme until 2026-12-31`, as the state remembers it."""
        return f"{self.policy} for {self.address or PLAN} until {self.until.isoformat()}"


@dataclass(frozen=True)
class Policies:
    """All policies of a project, and the exceptions. `variables`: the values that their expressions use. `asks`: (container, kind) of the
    lists that they use."""

    rules: tuple[Policy, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    asks: frozenset[tuple[Address, str]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.rules)

    @property
    def levels(self) -> dict[str, str]:
        """The level and the digest of each policy by its id, as the state remembers them."""
        return {policy.id: f"{policy.level} {policy.digest}" for policy in self.rules}

    @property
    def exceptions(self) -> frozenset[str]:
        """The exceptions, as the state remembers them."""
        return frozenset(exemption.text for exemption in self.exemptions)
