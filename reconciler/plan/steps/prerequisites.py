"""What must have succeeded before a request, by the decisions of the passes: a rule about prerequisites. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.address import Address
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.steps.edges import Edge, needs
from reconciler.plan.steps.requests import Requests


def prerequisites_first(requests: Requests) -> Iterator[Edge]:
    """The request that takes away the last admin, or that requires a provider, needs the requests that give the new one."""
    entries: list[Draft | Removal] = [*requests.drafts.values(), *requests.removals.values()]
    for entry in entries:
        for prerequisite in entry.prerequisites:
            if prerequisite.address is None:
                continue
            giving = _writing(requests, prerequisite.address, prerequisite.writes)
            deletes = isinstance(entry, Removal)
            taking = [requests.deletes[entry.address]] if deletes else _writing(requests, entry.address, prerequisite.field)
            for step in taking:
                yield from needs(step, giving)


def _writing(requests: Requests, address: Address, field: str) -> list[int]:
    """The requests of an address that write a field, or all of them."""
    return requests.writers(address, field) if field else list(requests.of.get(address, ()))
