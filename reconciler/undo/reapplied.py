"""The lines of the YAML that still want what was taken back: the next apply would do it again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.address import Address
from reconciler.model import Action, Change, Declared, Desired, Plan, Source, StateChange, What
from reconciler.model.codec import wanted
from reconciler.resource import UNSET, Kinds
from reconciler.undo.snapshot import NOWHERE


@dataclass(frozen=True, order=True)
class YamlLine:
    """A place in the YAML; `source` is None where the line is missing there. `what`: what it would do."""

    address: Address
    source: Source | None
    what: str


def wants_again(
    kinds: Kinds, project: Desired, undone: Desired, plan: Plan, turns: Iterable[StateChange], ids: Mapping[Address, str]
) -> tuple[YamlLine, ...]:
    """What the project says against the plan that takes a run back. `undone`: the Desired of that plan; `turns`: what changes of the
    bindings after it; `ids`: of what is there. In the order of the files; what has no line comes last."""
    lines: list[YamlLine] = []
    for change in plan.changes:
        declared = project.resources.get(change.address)
        if Action.TRANSFER in change.actions:
            lines += [YamlLine(move.new, move.source, "transfers it again") for move in project.moved if move.old == change.address]
        elif declared is None or declared.implied:
            if Action.RESTORE in change.actions or Action.ADOPT in change.actions:
                lines.append(
                    _leaving(kinds, project, change.address, again=" again", protected=kinds.of(change.address).name in project.protect)
                )
        elif change.address not in undone.resources:
            lines.append(YamlLine(change.address, declared.source, "creates it again"))
        else:
            lines += _of_fields(kinds, declared, undone.resources[change.address], ids)
            if Action.MOVE in change.actions and _orders(project, undone, change):
                lines.append(YamlLine(change.address, declared.source, "moves it again"))
    for turn in turns:
        lines += _of_turn(kinds, project, turn)
    return tuple(sorted(set(lines), key=lambda line: (line.source is None, line.source or NOWHERE, line.address, line.what)))


def _leaving(kinds: Kinds, project: Desired, address: Address, *, again: str = "", protected: bool = False) -> YamlLine:
    """What the next apply does to something bound that is not declared."""
    removed, kind = project.removed.get(address), kinds.of(address)
    if removed is not None and removed.action == "forget":
        return YamlLine(address, removed.source, f"stops managing it{again}")
    if "delete" not in kind.api or (removed is None and project.prune.get(kind.name, kind.prune) == "none"):
        return YamlLine(address, None, f"is not declared, so the next apply would stop managing it{again}")
    if protected and removed is None:
        return YamlLine(address, None, "is not declared, and protected, so the next apply asks what to do with it")
    return YamlLine(address, None if removed is None else removed.source, f"is not declared, so the next apply would delete it{again}")


def _of_turn(kinds: Kinds, project: Desired, turn: StateChange) -> list[YamlLine]:
    declared = project.resources.get(turn.address)
    is_declared = declared is not None and not declared.implied
    match turn.what:
        case What.FORGET if declared is not None and is_declared:
            return [YamlLine(turn.address, declared.source, "adopts it again")] if declared.adopt or declared.id else []
        case What.RENAME if turn.old is not None:
            return _of_rename(kinds, project, turn.address, turn.old, there=is_declared)
        case What.PROTECT | What.UNPROTECT if declared is not None and is_declared:
            wanted = declared.protect if declared.protect is not None else declared.kind in project.protect
            if wanted != (turn.what is What.PROTECT):
                return [YamlLine(turn.address, declared.source, "protects it again" if wanted else "removes its protection again")]
    return []


def _of_rename(kinds: Kinds, project: Desired, back: Address, now: Address, *, there: bool) -> list[YamlLine]:
    """What the YAML says of an object that is called `back` again and no longer `now`. `there`: something is declared at `back`."""
    declared = project.resources.get(now)
    if declared is None or declared.implied:
        return [] if there else [_leaving(kinds, project, back)]
    for moved in project.moved:
        if (back == moved.old and now == moved.new) or (back.is_within(moved.old) and now.is_within(moved.new)):
            return [YamlLine(moved.new, moved.source, f"renames it from {moved.old} again")]
    if back in declared.previously:
        return [YamlLine(now, declared.source, f"renames it from {back} again")]
    if there:
        return []
    if now.container is not None and back.container is not None and now.container != back.container:
        return []  # said of what it stands in
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


def _orders(project: Desired, undone: Desired, change: Change) -> bool:
    """Whether the YAML has it below another parent, or behind another of the siblings both know."""
    ours, theirs = project.resources[change.address], undone.resources[change.address]
    if ours.parent != theirs.parent:
        return True
    return _before(project, ours, undone) != _before(undone, theirs, project)


def _before(desired: Desired, resource: Declared, other: Desired) -> Address | None:
    """The previous of its siblings that the other has below the same parent too."""
    previous = None
    for sibling in desired.resources.values():
        if sibling.address == resource.address:
            return previous
        counterpart = other.resources.get(sibling.address)
        if (
            (sibling.parent, sibling.section) == (resource.parent, resource.section)
            and counterpart is not None
            and counterpart.parent == resource.parent
        ):
            previous = sibling.address
    return previous
