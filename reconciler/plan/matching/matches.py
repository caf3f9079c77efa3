"""What is known of the object of one address, and of all. Frozen data but for `MatchedSoFar`, which one matching adds to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field
from itertools import takewhile
from typing import NamedTuple

from reconciler.address import Address
from reconciler.dataclass import dataclass
from reconciler.model import Binding, Blocked
from reconciler.plan.matching.renames import Former
from reconciler.resource import Kind


class Match(NamedTuple):
    """What is known of one declared address; the same words as in `Matches`. A tuple, because each reading makes one for each resource."""

    id: str | None = None
    adopted: bool = False
    gone: bool = False
    recreated: str | None = None
    transferred: str | None = None
    transfers: str | None = None
    unknown: str | None = None
    blocked: Blocked | None = None

    def then(self, later: Match) -> Match:
        """Both; where both say something of the same, the later one is right."""
        return (
            self if later is NOTHING else self._replace(**{name: new for name, new in later._asdict().items() if new not in (None, False)})
        )


NOTHING = Match()
"""Nothing has the address, and nothing prevents that it is created."""


@dataclass(frozen=True)
class Matches:
    """`ids`: every declared address whose object is known. `adopted`: those not bound yet.

    `gone`: bound, and proven away. `recreated`: those, and what is deleted and could be restored, in whose place people created another
    object, which is in `ids`; with the id that was bound. `transferred`: those that are in another container now, with its id.
    `transfers`: those in `ids` that are still in the container which the YAML has them leave, with its id.
    `replaced`: what will be made anew, with the id it still has; it is not in `ids`. `leaving`: bound, no longer declared, and still
    there. `former`: the state under today's addresses, and what of it was renamed. `late`: (kind, id) of what requests made that were
    taken for lost, with their addresses; where nothing else has the address, it is in `adopted` too. `unknown`: nothing can be said, and
    why. `blocked`: a decision people must take.
    """

    former: Former
    ids: Mapping[Address, str] = field(default_factory=dict)
    adopted: AbstractSet[Address] = frozenset()
    gone: AbstractSet[Address] = frozenset()
    recreated: Mapping[Address, str] = field(default_factory=dict)
    transferred: Mapping[Address, str] = field(default_factory=dict)
    transfers: Mapping[Address, str] = field(default_factory=dict)
    replaced: Mapping[Address, str] = field(default_factory=dict)
    leaving: Mapping[Address, str] = field(default_factory=dict)
    late: Mapping[tuple[str, str], Address] = field(default_factory=dict)
    unknown: Mapping[Address, str] = field(default_factory=dict)
    blocked: Mapping[Address, Blocked] = field(default_factory=dict)

    def id(self, address: Address) -> str | None:
        """The id of an object that is there, declared or leaving."""
        return self.ids.get(address, self.leaving.get(address))

    @property
    def renamed(self) -> Mapping[Address, Address]:
        """Every address that changes now, with the one it had before."""
        return self.former.state.renamed

    def binding(self, address: Address) -> Binding | None:
        """The binding of an address, under the name it had before where it was renamed."""
        return self.former.state.bindings.get(address)


class MatchedSoFar:
    """What one matching knows so far; only `add` changes it. `taken`: (kind, id) of what has an address."""

    def __init__(self, former: Former, taken: Iterable[tuple[str, str]]) -> None:
        self.former, self.taken = former, set(taken)
        self.ids: dict[Address, str] = {}
        self.unknown: dict[Address, str] = {}
        self.blocked: dict[Address, Blocked] = {}
        self._adopted: set[Address] = set()
        self._gone: set[Address] = set()
        self._recreated: dict[Address, str] = {}
        self._transferred: dict[Address, str] = {}
        self._transfers: dict[Address, str] = {}

    def add(self, kind: Kind, address: Address, match: Match) -> None:
        """Note what is known of an address; each address comes once, the roots first, and after those that its match depends on."""
        if match.id is not None:
            self.ids[address] = match.id
            if match.adopted:  # what is bound was taken from the beginning
                self._adopted.add(address)
                self.taken.add((kind.name, match.id))
        if match.gone:
            self._gone.add(address)
        if match.blocked is not None:
            self.blocked[address] = match.blocked
        for texts, text in (
            (self._recreated, match.recreated),
            (self._transferred, match.transferred),
            (self._transfers, match.transfers),
            (self.unknown, match.unknown),
        ):
            if text is not None:
                texts[address] = text

    def root(self, id: str) -> Address | None:
        """The root address of an object."""
        roots = takewhile(lambda address: address.container is None, self.ids)
        return next((root for root in roots if self.ids[root] == id), None)

    def matches(self, late: Mapping[tuple[str, str], Address]) -> Matches:
        """Everything that was added, as a value. `leaving` is not known yet."""
        return Matches(
            self.former,
            ids=self.ids,
            adopted=self._adopted,
            gone=self._gone,
            recreated=self._recreated,
            transferred=self._transferred,
            transfers=self._transfers,
            late=late,
            unknown=self.unknown,
            blocked=self.blocked,
        )
