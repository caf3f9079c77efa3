"""The input of the rules: a project as loaded, with counts that several rules need. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from reconciler.address import Address
from reconciler.model import RULES, Declared, Desired, Finding, Fix, Ignore, Source, State, cause_of_rule
from reconciler.resource import Field, Kinds


@dataclass(frozen=True)
class LintFacts:
    """`unused`: declarations without effect, by name, and where. `state`: None if there is none, or none was requested.
    `variables`: the names that the project declares. `secrets`: texts that it has from secrets and from the environment."""

    kinds: Kinds
    desired: Desired
    today: date
    unused: Mapping[str, Source]
    ignores: tuple[Ignore, ...] = ()
    state: State | None = None
    variables: frozenset[str] = frozenset()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @cached_property
    def resources(self) -> tuple[Declared, ...]:
        """All declared resources, containers before their contents."""
        return tuple(declared for declared in self.desired.resources.values() if not declared.implied)

    @cached_property
    def parts(self) -> Counter[tuple[Address, str]]:
        """The number of resources that each choice selects among: by the resource that chooses and its field."""
        return Counter((chooser, field.name) for declared in self.resources for chooser, field in self._choices(declared))

    def _choices(self, declared: Declared) -> Iterator[tuple[Address, Field]]:
        for flag in self.kinds.flags(declared.kind):
            chosen = self.kinds.chooser(declared.kind, flag, self._around(declared))
            if chosen is not None:
                yield chosen[0].address, chosen[1]

    def _around(self, declared: Declared) -> Iterator[tuple[str, Declared]]:
        """The containers of a declared resource, the nearest first, each with its kind."""
        at = declared.parent
        while at is not None and at in self.desired.resources:
            outer = self.desired.resources[at]
            yield outer.kind, outer
            at = outer.parent

    @cached_property
    def copied(self) -> frozenset[Address]:
        """The resources that others are copies of."""
        seeds = {name: kind.seed.name for name, kind in self.kinds.items() if kind.seed is not None}
        values = (declared.values.get(seeds[declared.kind]) for declared in self.resources if declared.kind in seeds)
        return frozenset(value for value in values if isinstance(value, Address))


def finding(rule: str, message: str, about: Declared, *, remedy: str, field: str = "", fix: Fix | None = None) -> Finding:
    """A finding about a resource, or about one of its fields."""
    source = about.positions.get(field, about.source)
    return Finding(cause_of_rule(rule), RULES[rule].severity, message, str(about.address), source, remedy, fix)


def level(kinds: Kinds, declared: Declared) -> tuple[str, Address | None, Any]:
    """The scope in which siblings must differ: the kind, the fixed container, and the node that contains them if they cannot leave it."""
    inside = kinds[declared.kind].inside
    node = declared.values.get(inside.name) if inside is not None and inside.on_change == "replace" else None
    return declared.kind, declared.address.container, node
