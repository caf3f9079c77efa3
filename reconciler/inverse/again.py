"""The lines of the YAML that still want what was taken back: the next apply would do it again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.address import Address
from reconciler.model import Action, Change, Declared, Desired, Plan, Source
from reconciler.reading import wanted
from reconciler.resource import UNSET, Kinds


@dataclass(frozen=True, order=True)
class Line:
    """A place in the YAML; `source` is None where the line is missing there. `what`: what it would do."""

    address: Address
    source: Source | None
    what: str


def wants_again(kinds: Kinds, project: Desired, undone: Desired, plan: Plan, ids: Mapping[Address, str]) -> tuple[Line, ...]:
    """What the project says against the plan that takes a run back. `undone`: the Desired of that plan; `ids`: of what is there."""
    found: list[Line] = []
    for change in plan.changes:
        declared = project.resources.get(change.address)
        if declared is None or declared.implied:
            if Action.RESTORE in change.actions:
                found.append(Line(change.address, None, "is not declared, so that it would be deleted again"))
        elif Action.DELETE in change.actions:
            found.append(Line(change.address, declared.source, "makes it again"))
        else:
            found += _of_fields(kinds, declared, undone.resources[change.address], ids)
            if Action.MOVE in change.actions and _orders(project, undone, change):
                found.append(Line(change.address, declared.source, "stands in another place"))
    return tuple(dict.fromkeys(found))


def _of_fields(kinds: Kinds, declared: Declared, undone: Declared, ids: Mapping[Address, str]) -> list[Line]:
    kind = kinds[declared.kind]
    there: dict[str, Any] = wanted(kind, declared, ids)
    back: dict[str, Any] = wanted(kind, undone, ids)
    return [
        Line(declared.address, declared.positions.get(name, declared.source), f"sets {name} again")
        for name, value in back.items()
        if name in there and there[name] is not UNSET and there[name] != value and not kind.fields[name].container
    ]


def _orders(project: Desired, undone: Desired, change: Change) -> bool:
    """Whether the YAML has it below another parent, or behind another of the siblings both know."""
    ours, theirs = project.resources[change.address], undone.resources[change.address]
    if ours.parent != theirs.parent:
        return True
    return _before(project, ours, undone) != _before(undone, theirs, project)


def _before(desired: Desired, one: Declared, other: Desired) -> Address | None:
    """The previous of its siblings that the other has below the same parent too."""
    previous = None
    for each in desired.resources.values():
        if each.address == one.address:
            return previous
        there = other.resources.get(each.address)
        if (each.parent, each.section) == (one.parent, one.section) and there is not None and there.parent == one.parent:
            previous = each.address
    return previous
