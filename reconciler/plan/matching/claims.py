"""What the YAML claims although something else has it: ids of other resources, and what other projects track. Pure.

In: Desired, State (under today's addresses), Actual. Out: why an `id` cannot be meant, and why nothing is created or adopted. A project
whose name and titles change in one commit finds no object by title, but its former name tracks the address.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from shlex import quote

from reconciler.address import Address, bare
from reconciler.model import Actual, Blocked, Declared, Desired, State
from reconciler.plan.matching.renames import address_after_moves, renames
from reconciler.resource import UNSET, Kind, Kinds
from reconciler.text.names import a


def wrong_ids(kinds: Kinds, desired: Desired, state: State, actual: Actual) -> dict[Address, Blocked]:
    """Resources whose written `id` is tracked under another declared address, or is an object that has another key on the service."""
    untracked = [resource for at, resource in desired.resources.items() if resource.id is not None and at not in state.bindings]
    if not untracked:
        return {}
    tracked = {binding.key: at for at in desired.resources if (binding := state.bindings.get(at)) is not None}
    blocked_resources: dict[Address, Blocked] = {}
    for declared in untracked:
        id, kind = str(declared.id), kinds[declared.kind]
        holder, other = tracked.get((declared.kind, id)), _other_key(kind, declared, actual)
        if holder is not None:
            reason = f"the YAML says id {bare(id)}, which is tracked as {holder}"
        elif other is not None:
            reason = f"the YAML says id {bare(id)}, which is the {kind.name} {other}"
        else:
            continue
        key = f": {a(kind.name)} is matched by its key" if other is not None else ""
        way = f"correct the id, or remove it{key}"
        blocked_resources[declared.address] = Blocked(declared.address, reason, way, declared.source, id="RC-id-of-another-resource")
    return blocked_resources


def _other_key(kind: Kind, declared: Declared, actual: Actual) -> str | None:
    """The key of the object with the declared id, where keys are a field of the object and it differs; else None."""
    place, object_ = kind.place, actual.find(kind.name, str(declared.id))
    if place.key_is is None or object_ is None:
        return None
    seen = object_.values.get(place.key_is, UNSET)
    return str(seen) if seen is not UNSET and seen != declared.values.get(place.key_is) else None


class Projects:
    """What other projects track, under the addresses that the YAML uses today."""

    def __init__(self, desired: Desired, state: State) -> None:
        self.desired, self.state = desired, state

    @cached_property
    def _names(self) -> dict[tuple[str, tuple[str, ...]], str]:
        """The name of the project by the id of the root and the path below it."""
        if not self.state.projects:
            return {}
        asked = renames(self.desired)
        names: dict[tuple[str, tuple[str, ...]], str] = {}
        for name, tracked in self.state.projects.items():
            for address in tracked:
                root = tracked.get(address.root)
                if root is not None:
                    today = asked.get(address, address_after_moves(address, asked))
                    names.setdefault((root, today.parts[1:]), name)
        return names

    def tracking(self, declared: Declared, ids: Mapping[Address, str]) -> str | None:
        """The name of another project that tracks the address in the same organization; None where none does."""
        return self._names.get((ids.get(declared.address.root, ""), declared.address.parts[1:])) if self.state.projects else None

    def block(self, declared: Declared, ids: Mapping[Address, str]) -> Blocked | None:
        """Why nothing is created at an address that another project tracks; None where none does, or where the YAML says `adopt: never`."""
        name = self.tracking(declared, ids) if declared.adopt and not declared.implied else None
        if name is None:
            return None
        return Blocked(
            declared.address,
            f"would be created a second time: {declared.address} is tracked under the project name {name!r}",
            f"if this project had that name before: reconciler state mv --project {quote(name)}; if not, and it should have "
            f"{a(declared.kind)} of its own, write adopt: never",
            declared.source,
            id="RC-tracked-by-another-project",
        )

    def theirs(self, declared: Declared, id: str, other: str, ids: Mapping[Address, str]) -> Blocked:
        """Why an object is left to the project that tracks it; only roots may be shared between projects."""
        name = self.state.former.get((declared.kind, id)) or self.tracking(declared, ids)
        if name is not None:
            return Blocked(
                declared.address,
                f"it is tracked under the project name {name!r}",
                f"if this project had that name before: reconciler state mv --project {quote(name)}; if not, leave it to that project",
                declared.source,
                id="RC-tracked-by-another-project",
            )
        return Blocked(
            declared.address,
            f"{id} is tracked by another project or environment of this state database",
            f"leave it to that project, or stop managing it there: reconciler state forget; if the environment was renamed: "
            f"reconciler state mv --from-env OLD; {other}",
            declared.source,
            id="RC-tracked-by-another-project",
        )
