"""What the service created for an object and keeps when that is deleted: how it is described, and when it would be lost. Pure.

In: the world, and an object that is to be deleted. Out: sentences.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.model import Actual, Observed
from reconciler.model.codec import title
from reconciler.plan.matching.matches import Matches
from reconciler.plan.world import World
from reconciler.resource import Kind


def left_behind(actual: Actual, kind: Kind, observed: Observed | None) -> str:
    """What remains of a deleted object, as the end of a sentence; "" where nothing remains."""
    names = []
    for to, id in _results(kind, observed):
        result = actual.find(to, id)
        names.append(f"{to} {title(result) if result is not None else id!r}")
    return f"; its result, {' and '.join(names)}, is left unchanged and is unmanaged from then on" if names else ""


def pruned_later(world: World, matches: Matches, kind: Kind, observed: Observed | None) -> tuple[str, str] | None:
    """Why an object must not be deleted, and what to do: the next run would prune what remains of it. None where it would not."""
    desired = world.desired
    for to, id in _results(kind, observed):
        pruned = desired.prune.get(to) == "all" and to not in desired.protect and any(name == to for _, name in desired.written)
        if pruned and all((desired.resources[address].kind, known) != (to, id) for address, known in matches.ids.items()):
            return (
                f"would be deleted; its result, {to} {id}, would then be unmanaged, and the next run would delete it (prune: all)",
                f"declare that {to} with id: {id}, or write prune: {{{to}: owned}}",
            )
    return None


def _results(kind: Kind, observed: Observed | None) -> Iterator[tuple[str, str]]:
    for field in kind.service_copies:
        id = observed.values.get(field.name) if observed is not None else None
        if isinstance(id, str):
            yield str(field.to), id
