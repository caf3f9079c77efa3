"""The order in which resources are matched: each after its container and after what its natural key refers to. Pure.

In: the declared resources, in any order. Out: the same ones. An object can be recognised by a reference only where it is known which
object that reference means.
"""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.address import Address
from reconciler.model import Declared, Desired
from reconciler.model.codec import unresolved_addresses
from reconciler.resource import Kinds


def by_reference(kinds: Kinds, desired: Desired) -> Iterable[Declared]:
    """Every declared resource once, the roots first: an object may be in another one than its address says. The order of Desired is kept
    where references allow it; a cycle of references is broken."""
    keys = {name: tuple(field.name for field in kind.keys) for name, kind in kinds.items()}
    resources = desired.resources
    opened: set[Address] = set()
    done = {address for address in resources if address.container is None}
    yield from [declared for address, declared in resources.items() if address in done]
    for start in resources.values():
        container, names = start.address.container, keys[start.kind]
        if start.address in done:
            continue
        if (container is None or container in done) and not any(
            True for name in names for _ in unresolved_addresses(start.values.get(name))
        ):
            done.add(start.address)  # as for nearly all: it waits for nothing
            yield start
            continue
        waiting = [start]
        while waiting:
            declared = waiting[-1]
            again = declared.address in opened
            ahead = [] if again else [at for at in key_references(declared, keys[declared.kind]) if at in resources and at not in done]
            opened.add(declared.address)
            if ahead:
                waiting += [resources[at] for at in reversed(ahead)]
                continue
            waiting.pop()
            if declared.address not in done:
                done.add(declared.address)
                yield declared


def key_references(declared: Declared, names: Iterable[str]) -> list[Address]:
    """The addresses that must be known before the natural key of a resource is: its container and what the key fields refer to."""
    references = [address for name in names for address in unresolved_addresses(declared.values.get(name))]
    return references if declared.address.container is None else [declared.address.container, *references]
