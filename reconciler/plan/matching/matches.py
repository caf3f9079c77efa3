"""What is known of the object of one address, and of all. Frozen data but for `MatchedSoFar`, which one matching adds to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from reconciler.address import Address
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
        """This match updated by a later one, whose values take precedence."""
        return (
            self if later is NOTHING else self._replace(**{name: new for name, new in later._asdict().items() if new not in (None, False)})
        )


NOTHING = Match()
"""No object has the address, and nothing prevents its creation."""


@dataclass(frozen=True)
class Matches:
    """`ids`: every declared address whose object is known. `adopted`: those that are not tracked yet.

    `gone`: tracked, and proven not to exist. `recreated`: those of `gone`, and deleted ones that could be restored, in whose place people
    created another object, which is in `ids`; with the id that was tracked. `transferred`: those that are in another container now, with
    its id. `transfers`: those in `ids` that are still in the container which the YAML has them leave, with its id. `replaced`: what will be
    replaced, with the id it still has; not in `ids`. `leaving`: tracked, no longer declared, and still existing. `former`: the state under
    today's addresses, and what of it was renamed. `late`: (kind, id) of what requests that were considered lost created, with their
    addresses; where nothing else has the address, it is in `adopted` too. `unknown`: why nothing is known. `blocked`: a decision that
    people must make.
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
        """The id of an existing object, declared or leaving; None where it is not known."""
        return self.ids.get(address, self.leaving.get(address))

    @property
    def renamed(self) -> Mapping[Address, Address]:
        """Every address that changes in this run, with its former address."""
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
        """Add what is known of an address. Call it once for each address, roots first, after the addresses that its match depends on."""
        if match.id is not None:
            self.ids[address] = match.id
            if match.adopted:  # tracked objects are in `taken` from the start
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
