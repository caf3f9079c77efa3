"""The lines of the YAML that still declare what was reverted: the next apply would do it again. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reconciler.address import Address
from reconciler.features.undo.objects import NOWHERE
from reconciler.model import Action, Declared, Desired, Moved, Plan, Source, StateChange, What
from reconciler.model.codec import wanted
from reconciler.resource import UNSET, Kinds


@dataclass(frozen=True, order=True)
class YamlLine:
    """A line of the YAML; `source` is None where the line is missing. `what`: what it would do."""

    address: Address
    source: Source | None
    what: str


def redeclaring_lines(
    kinds: Kinds, project: Desired, undone: Desired, plan: Plan, state_changes: Iterable[StateChange], ids: Mapping[Address, str]
) -> tuple[YamlLine, ...]:
    """The lines of the project that contradict the plan that reverts a run. `undone`: the Desired of that plan; `state_changes`: the
    changes of bindings after it; `ids`: of existing objects. In the order of the files; missing lines come last."""
    lines: list[YamlLine] = []
    orders = _SiblingOrders(project, undone)
    moved: dict[Address, list[Moved]] = defaultdict(list)
    for move in project.moved:
        moved[move.old].append(move)
    for change in plan.changes:
        declared = project.resources.get(change.address)
        if Action.TRANSFER in change.actions:
            lines += [YamlLine(move.new, move.source, "transfers it again") for move in moved[change.address]]
        elif declared is None or declared.implied:
            if not {Action.RESTORE, Action.ADOPT, Action.RENAME}.isdisjoint(change.actions):
                lines.append(
                    _leaving(kinds, project, change.address, again=" again", protected=kinds.of(change.address).name in project.protect)
                )
        elif change.address not in undone.resources:
            lines.append(YamlLine(change.address, declared.source, "creates it again"))
        else:
            lines += _of_fields(kinds, declared, undone.resources[change.address], ids)
            if Action.MOVE in change.actions and orders.differ(change.address):
                lines.append(YamlLine(change.address, declared.source, "moves it again"))
    for state_change in state_changes:
        lines += _of_state_change(kinds, project, state_change, moved)
    return tuple(sorted(set(lines), key=lambda line: (line.source is None, line.source or NOWHERE, line.address, line.what)))


def _leaving(kinds: Kinds, project: Desired, address: Address, *, again: str = "", protected: bool = False) -> YamlLine:
    """What the next apply does to a tracked object that is not declared."""
    removed, kind = project.removed.get(address), kinds.of(address)
    if removed is not None and removed.action == "forget":
        return YamlLine(address, removed.source, f"stops managing it{again}")
    if "delete" not in kind.api or (removed is None and project.prune.get(kind.name, kind.prune) == "none"):
        return YamlLine(address, None, f"is not declared, so the next apply would stop managing it{again}")
    if protected and removed is None:
        return YamlLine(address, None, "is not declared, and protected, so the next apply asks what to do with it")
    return YamlLine(address, None if removed is None else removed.source, f"is not declared, so the next apply would delete it{again}")


def _of_state_change(kinds: Kinds, project: Desired, state_change: StateChange, moved: Mapping[Address, Sequence[Moved]]) -> list[YamlLine]:
    declared = project.resources.get(state_change.address)
    is_declared = declared is not None and not declared.implied
    match state_change.what:
        case What.FORGET if declared is not None and is_declared:
            return [YamlLine(state_change.address, declared.source, "adopts it again")] if declared.adopt or declared.id else []
        case What.RENAME if state_change.old is not None:
            return _of_rename(kinds, project, state_change.address, state_change.old, moved, there=is_declared)
        case What.PROTECT | What.UNPROTECT if declared is not None and is_declared:
            wanted = declared.protect if declared.protect is not None else declared.kind in project.protect
            if wanted != (state_change.what is What.PROTECT):
                return [YamlLine(state_change.address, declared.source, "protects it again" if wanted else "removes its protection again")]
    return []


def _of_rename(
    kinds: Kinds, project: Desired, back: Address, now: Address, moved: Mapping[Address, Sequence[Moved]], *, there: bool
) -> list[YamlLine]:
    """The lines about an object whose address is `back` again and no longer `now`. `there`: something is declared at `back`.

    `moved`: the lines of `moved` by their former address.
    """
    declared = project.resources.get(now)
    if declared is None or declared.implied:
        return [] if there else [_leaving(kinds, project, back)]
    for line in (line for old in (back, *back.containers) for line in moved.get(old, ())):
        if now == line.new if back == line.old else now.is_within(line.new):
            return [YamlLine(line.new, line.source, f"renames it from {line.old} again")]
    if back in declared.previously:
        return [YamlLine(now, declared.source, f"renames it from {back} again")]
    if there:
        return []
    if now.container is not None and back.container is not None and now.container != back.container:
        return []  # reported for its container
    return [_leaving(kinds, project, back), YamlLine(now, declared.source, f"creates another next to {back}")]


def _of_fields(kinds: Kinds, declared: Declared, undone: Declared, ids: Mapping[Address, str]) -> list[YamlLine]:
    kind = kinds[declared.kind]
    current: dict[str, Any] = wanted(kind, declared, ids)
    back: dict[str, Any] = wanted(kind, undone, ids)
    return [
        YamlLine(declared.address, declared.positions.get(name, declared.source), f"sets {name} again")
        for name, value in back.items()
        if name in current and current[name] is not UNSET and current[name] != value and not kind.fields[name].container
    ]


class _SiblingOrders:
    """The order of siblings in the YAML and in the Desired of an undo."""

    def __init__(self, project: Desired, undone: Desired) -> None:
        self._project, self._undone = project, undone

    def differ(self, address: Address) -> bool:
        """Whether the YAML has the object below another parent, or after another one of the siblings that are in both."""
        if self._project.resources[address].parent != self._undone.resources[address].parent:
            return True
        return self._ours[address] != self._theirs[address]

    @cached_property
    def _ours(self) -> dict[Address, Address | None]:
        return _before(self._project, self._undone)

    @cached_property
    def _theirs(self) -> dict[Address, Address | None]:
        return _before(self._undone, self._project)


def _before(desired: Desired, other: Desired) -> dict[Address, Address | None]:
    """By address, the previous sibling that the other order has below the same parent too."""
    before: dict[Address, Address | None] = {}
    last: dict[tuple[Address | None, str], Address] = {}
    for resource in desired.resources.values():
        siblings = (resource.parent, resource.section)
        before[resource.address] = last.get(siblings)
        counterpart = other.resources.get(resource.address)
        if counterpart is not None and counterpart.parent == resource.parent:
            last[siblings] = resource.address
    return before
