"""What the decisions on declared addresses are made from, looked up once. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.address import Address
from reconciler.model import Actual
from reconciler.plan.matching.match import Matches
from reconciler.plan.world import World
from reconciler.resource import Kinds

Choices = Mapping[tuple[str, str], Mapping[str, str]]
"""Which child carries a flag now: (parent's kind, parent's id) -> choice field -> child's id."""


@dataclass(frozen=True)
class Facts:
    """`known`: ids that references are compared by, those of unread resources included. `unread`: (kind, scope) of failed lists, and why.

    `settled`: what the service itself moves where it is declared, and why it waits.
    """

    world: World
    matches: Matches
    choices: Choices
    settled: Mapping[Address, str]
    known: Mapping[Address, str]
    doubtful: frozenset[Address]
    unread: Mapping[tuple[str, str | None], str]

    @classmethod
    def of(cls, world: World, matches: Matches, choices: Choices, settled: Mapping[Address, str]) -> Facts:
        tracked = {address: binding.id for address in matches.unknown if (binding := matches.binding(address)) is not None}
        return cls(
            world,
            matches,
            choices,
            settled,
            known={**tracked, **matches.ids},
            doubtful=frozenset(intent.address for intent in world.state.intents),
            unread={(reading.kind, reading.scope): reading.reason for reading in world.actual.unknown if reading.id is None},
        )


def choices(kinds: Kinds, actual: Actual) -> dict[tuple[str, str], dict[str, str]]:
    """Which child carries each flag now."""
    carriers: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for child in kinds.values():
        for flag, holders in kinds.flags(child.name).items():
            by_kind = {parent.name: field for parent, field in holders}
            for observed in actual.objects.get(child.name, {}).values():
                if not observed.flags.get(flag):
                    continue
                node = observed.values.get(child.inside.name) if child.inside else None
                if node and child.inside and child.inside.to in by_kind:
                    carriers[(child.inside.to, node)][by_kind[child.inside.to].name] = observed.id
                elif child.within in by_kind:
                    carriers[(child.within, observed.within[child.within])][by_kind[child.within].name] = observed.id
    return carriers
