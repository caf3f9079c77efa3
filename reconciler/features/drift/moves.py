"""Moves outside Reconciler as moves of lines in the YAML: which nodes are moved to which list, and in which order. Pure.

In: Desired, State, what was observed, and the writer of the files, which moves the lines. Raises `Refused` where the YAML cannot express a
location.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reconciler.address import Address
from reconciler.errors import Refused
from reconciler.features.edits.writer import ProjectWriter, Row
from reconciler.features.importer.matched import MatchedProject, removed_by
from reconciler.model import Binding, Observed
from reconciler.model.codec import title
from reconciler.plan.siblings.moves import moves
from reconciler.plan.siblings.order import current_order
from reconciler.resource import Kind


@dataclass(frozen=True)
class LocatedResource:
    """A resource and its current location. `host`: what contains it, None where the YAML does not declare that."""

    address: Address
    kind: Kind
    binding: Binding | None
    observed: Observed
    host: Address | None

    @property
    def rank(self) -> int | None:
        return self.observed.rank


class Moves:
    """Moves lines."""

    def __init__(self, matched: MatchedProject, writer: ProjectWriter) -> None:
        self.matched, self.writer = matched, writer
        self.kinds, self.desired, self.actual = kinds, desired, actual = matched.kinds, matched.desired, matched.actual
        self.now: dict[Address, LocatedResource] = {}
        for address, id in matched.ids.items():
            kind = kinds[desired.resources[address].kind]
            observed = actual.find(kind.name, id)
            if observed is not None and observed.deleted_at is None:
                binding = matched.state.bindings.get(address)
                self.now[address] = LocatedResource(address, kind, binding, observed, self._host(address, kind, observed))

    def _host(self, address: Address, kind: Kind, observed: Observed) -> Address | None:
        held = observed.values.get(kind.inside.name) if kind.inside is not None else None
        return self.matched.addresses.get((str(kind.inside.to), str(held))) if kind.inside is not None and held else address.container

    def run(self, arrived: Collection[Address], reordered: Collection[Address], left: Collection[Address]) -> None:
        """Move what came from another container, and what has another position in its list. `left`: resources in another position that are
        not moved."""
        rows: dict[Row, list[Address]] = defaultdict(list)
        for address in arrived:
            rows[self._target(address)].append(address)
        for address in reordered:
            declared = self.desired.resources[address]
            rows.setdefault((Address.parse(str(declared.parent)), declared.section), [])
        leaving = frozenset(arrived)
        # Containers first: what is moved into one that is moved itself is moved into its new lines.
        for row in sorted(rows, key=lambda row: (self._depth(row[0]), row)):
            self._arrange(row, rows[row], reordered, left, leaving)

    def _target(self, address: Address) -> Row:
        """The list that a resource is in now."""
        resource, place = self.now[address], self.kinds[self.desired.resources[address].kind].place
        at = self.desired.resources[address].source
        if resource.host is None:
            assert resource.kind.inside is not None
            kind, id = str(resource.kind.inside.to), str(resource.observed.values[resource.kind.inside.name])
            observed = self.actual.find(kind, id)
            address_there = self.matched.excluded.get((kind, id))
            if address_there is not None:
                why = removed_by(address_there, self.desired.excluded[address_there].source)
                wrong = f"{address} is now in {address_there}, but {why}"
                raise Refused(wrong, id="RC-computed-in-yaml", hint="Change the patch, or run apply to move it back.")
            called = f' "{title(observed)}"' if observed is not None else ""
            raise Refused(
                f"{address} is now in {kind} {id}{called}, which the YAML does not declare",
                id="RC-not-in-yaml",
                hint="reconciler import --into declares it; apply moves the object back to its declared location.",
            )
        section = place.section_in(self.desired.resources[resource.host].kind)
        if not section:
            wrong = f"{address} is now in {resource.host}, which has no list for it"
            raise Refused(wrong, id="RC-no-list-for-it", hint=f"It is declared at {at.file_and_line}.")
        return resource.host, section

    def _depth(self, host: Address) -> int:
        """The number of its containers now; in a cycle, which the service cannot have, the number of all."""
        depth, at = 0, self.now.get(host)
        while at is not None and at.host is not None and depth < len(self.now):
            depth, at = depth + 1, self.now.get(at.host)
        return depth

    def _arrange(
        self, row: Row, arrived: Sequence[Address], reordered: Collection[Address], left: Collection[Address], leaving: Collection[Address]
    ) -> None:
        host = row[0]
        staying = [
            address
            for address in self.writer.rows[row]
            if address not in leaving and address not in left and (address in self.now and self.now[address].host == host)
        ]
        order = self._order(host, [self.now[address] for address in staying], [self.now[address] for address in arrived])
        wanted = [resource.address for resource in order]
        going = set(arrived)
        # Lines that are in the right order among themselves are not moved: the fewest lines of a file change.
        if set(staying) & set(reordered):
            settled = [address for address in wanted if address not in going]
            going |= {move.item for move in moves(staying, settled, must=[address for address in staying if address in reordered])}
        previous: Address | None = None
        for address in wanted:
            if address in going:
                self._move(address, row, previous)
            previous = address

    def _order(self, host: Address, staying: Sequence[LocatedResource], arrived: Sequence[LocatedResource]) -> list[LocatedResource]:
        """Everything in a list in its current order, as far as it is known; arrivals are placed next to siblings of their kind."""
        standings = current_order(staying, host)
        for resource in sorted(arrived, key=lambda resource: (resource.rank is None, resource.rank or 0)):
            ranked = [(at, other.rank) for at, other in enumerate(standings) if other.kind is resource.kind and other.rank is not None]
            before = [at for at, rank in ranked if resource.rank is not None and rank < resource.rank]
            behind = [at for at, rank in ranked if resource.rank is not None and rank > resource.rank]
            standings.insert(before[-1] + 1 if before else behind[0] if behind else len(standings), resource)
        return current_order(standings, host)

    def _move(self, address: Address, row: Row, behind: Address | None) -> None:
        host = row[0]
        if self.writer.moving.is_within(host, address):
            raise Refused(
                f"the YAML declares {host} inside {address}",
                id="RC-accept-container-first",
                hint=f"Accept its move too: --accept {host:sh}",
            )
        self._check_literal(address, row, behind)
        self.writer.move(address, row, behind)

    def _check_literal(self, address: Address, row: Row, behind: Address | None) -> None:
        """Raise `Refused` where `forEach` generates the list, or both neighbours of the position from the same lines."""
        host, between = self.desired.generated.get(row[0]), self.writer.generation_around(row, behind, address)
        if host is not None:
            raise Refused(
                f"{address} is now in {row[0]}, which is generated by forEach",
                id="RC-computed-in-yaml",
                hint=f"Change it by hand: it is {host}.",
            )
        if between is not None:
            wrong = f"{address} is now between elements that one forEach makes"
            raise Refused(wrong, id="RC-computed-in-yaml", hint=f"Change it by hand: it is after {between}. Or run apply to move it back.")
