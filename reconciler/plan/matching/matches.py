"""What is known of the object of each address: one `Match` for each, in a mapping. Pure.

An address that nobody looked at has the match `NOTHING`, so that a question about any address has an answer:

    matches[address].id         the id of its object
    matches[address].gone       whether its object was deleted outside Reconciler

`match` alone adds to a mapping, one address after the other; to everybody else it is a value, and `with_` gives a changed copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from reconciler.address import Address
from reconciler.model import Binding, Blocked
from reconciler.plan.matching.renames import Former


class Match(NamedTuple):
    """What is known of one address. A tuple, because each reading makes one for each resource."""

    # The id of its existing object; None where it has none, where that is unknown, and where the object is to be replaced.
    id: str | None = None
    # The object exists, and the state does not track it under this address yet.
    adopted: bool = False
    # The object was tracked, and is proven not to exist.
    gone: bool = False
    # The object exists and is tracked, and nothing declares the address any more.
    leaving: bool = False
    # The id that was tracked, where people created another object in place of that one; `id` is the new one.
    recreated: str | None = None
    # The id of the container that the tracked object is in now, where that is not the declared one.
    transferred: str | None = None
    # The id of the container that the object is still in, where a line of the YAML has it leave that.
    transfers: str | None = None
    # The id of the object that is to be deleted and created again.
    replaced: str | None = None
    # Why nothing is known of the object; None where something is.
    unknown: str | None = None
    # A decision that people must make before anything happens to the address.
    blocked: Blocked | None = None

    def then(self, later: Match) -> Match:
        """This match updated by a later one, whose values take precedence."""
        return (
            self if later is NOTHING else self._replace(**{name: new for name, new in later._asdict().items() if new not in (None, False)})
        )


NOTHING = Match()
"""No object has the address, and nothing prevents its creation."""


class Matches(dict[Address, Match]):
    """The matches of all addresses. `former`: the state under today's addresses, and what of it was renamed.

    `late`: (kind, id) of what requests that were considered lost created, with their addresses; where nothing else has the address, its
    match is that object.
    """

    def __init__(self, former: Former, matches: Mapping[Address, Match] = {}, *, late: Mapping[tuple[str, str], Address] = {}) -> None:
        super().__init__(matches)
        self.former, self.late = former, late
        # The declared addresses only: a reference in the YAML never means an object that is no longer declared.
        self.ids = {address: match.id for address, match in matches.items() if match.id is not None and not match.leaving}

    def __missing__(self, address: Address) -> Match:
        return NOTHING

    def add(self, address: Address, match: Match) -> None:
        """Add what is known of a declared address. Call it once for each, after those that its match depends on."""
        self[address] = match
        if match.id is not None:
            self.ids[address] = match.id

    def with_(self, matches: Mapping[Address, Match]) -> Matches:
        """A copy with other matches for some addresses."""
        return Matches(self.former, {**self, **matches}, late=self.late)

    def where(self, is_so: Callable[[Match], object]) -> Iterable[Address]:
        """The addresses whose match has a property."""
        return (address for address, match in self.items() if is_so(match))

    def id(self, address: Address) -> str | None:
        """The id of an existing object, declared or leaving; None where it is not known."""
        return self[address].id

    @property
    def renamed(self) -> Mapping[Address, Address]:
        """Every address that changes in this run, with its former address."""
        return self.former.state.renamed

    def binding(self, address: Address) -> Binding | None:
        """The binding of an address, under the name it had before where it was renamed."""
        return self.former.state.bindings.get(address)
