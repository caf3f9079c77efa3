"""The data on which decisions on declared addresses are based, looked up once. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.address import Address
from reconciler.dataclass import dataclass
from reconciler.plan.matching.matches import Matches
from reconciler.plan.world import World

Choices = Mapping[tuple[str, str], Mapping[str, str]]
"""Which child carries a flag now: (parent's kind, parent's id) -> choice field -> child's id."""


@dataclass(frozen=True)
class DraftFacts:
    """`known`: ids by which references are compared, including those of unread resources. `unread`: (kind, scope) of failed lists, and why.

    `settled`: resources that the service itself moves to where they are declared, and why they wait.
    """

    world: World
    matches: Matches
    choices: Choices
    settled: Mapping[Address, str]
    known: Mapping[Address, str]
    doubtful: frozenset[Address]
    unread: Mapping[tuple[str, str | None], str]

    @classmethod
    def of(cls, world: World, matches: Matches, choices: Choices, settled: Mapping[Address, str]) -> DraftFacts:
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
