"""Accepted drift: what was changed outside Reconciler as the files that `--accept` would write, in memory, and what it leaves to people.

In: a drift, and what it was found from. Out: `AcceptedDrift`. Writes nothing: whoever asks puts it on a branch, or keeps it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from reconciler.config.source.includes import texts as read
from reconciler.errors import Refused
from reconciler.features.drift.accept import AcceptedField, acceptable
from reconciler.features.drift.accepted import AcceptedDrift, LeftToPeople, title_of
from reconciler.features.drift.model import Drift
from reconciler.features.drift.report.groups import differences
from reconciler.features.drift.report.sheet import DECIDE
from reconciler.features.drift.run.accept import TakenIn, acceptance, taken_in
from reconciler.report.sheet import Sheet, SheetEntry
from reconciler.run.opened import Run
from reconciler.run.stages import Planned

VIOLATION: Final = "violation"
EXPOSURE: Final = "exposure"


def accepted_drift(run: Run, planned: Planned, drift: Drift, sheet: Sheet) -> AcceptedDrift:
    """Everything that the files can take in, accepted; its paths are below the project. `sheet`: of the drift, from which the
    commit's lines come.
    """
    desired, masks = run.project.desired, run.voice.masks
    _, before = read(run.operation.project, run.kinds)
    fields, left = acceptable(drift, acceptance(run, planned, before), desired.generated, planned.plan.moved_outside)
    taken, accepted = TakenIn({}, (), ()), list[AcceptedField]()
    waiting = [fields] if fields else []
    while waiting:  # by halves, where nobody knows which of them the files cannot have
        chunk = waiting.pop()
        try:
            tried = taken_in(run, planned, before, [*accepted, *chunk])
            reason = f"its value cannot simply be written to the YAML: {', '.join(tried.left)} would differ" if tried.left else None
        except Refused as error:
            tried, reason = TakenIn({}, (), ()), error.message
        if reason is None:
            taken, accepted = tried, [*accepted, *chunk]
            continue
        named = [field for field in chunk if {str(field), str(field.drifted.address)} & set(tried.left)]
        refused = named if named or len(chunk) > 1 else chunk
        left += [LeftToPeople(str(field), reason, "Change it by hand.") for field in refused]
        rest = [field for field in chunk if field not in refused]
        half = 0 if refused else len(rest) // 2
        waiting += [part for part in (rest[half:], rest[:half]) if part]
    title = title_of(desired.project, desired.environment, len(accepted))
    whole = not left and all(group.unmanaged is None for group in drift.groups)
    # A mask would be written into the files, which people have in their repository; what people read is masked.
    words, names = masks.data(_lines(sheet, accepted, left, whole=whole)), masks.data(tuple(left))
    return AcceptedDrift(desired.project, desired.environment, taken.texts, title, words, names, taken.exposures)


def _lines(sheet: Sheet, fields: Sequence[AcceptedField], left: Sequence[LeftToPeople], *, whole: bool) -> tuple[str, ...]:
    """What the commit says: the lines of the report about what it accepts, and the rules that are violated. Without what is left to
    people, also where that is about a resource of which other fields are accepted. `whole`: whether it accepts everything."""
    accepted, others = {str(field.drifted.address) for field in fields}, {item.name for item in left}
    lines = []
    for entry in sheet.entries:
        entry_lines = _entry_lines(entry, others) if entry.title in accepted else []
        rules = replace(entry, lines=[line for line in entry.lines if line.name == VIOLATION]) if fields else replace(entry, lines=[])
        lines += entry_lines or _entry_lines(rules, others)
    # Of siblings that were changed alike, and of many changes, there is one entry.
    alone = {entry.title for entry in sheet.entries if any(line.name not in (EXPOSURE, VIOLATION) for line in entry.lines)}
    resources = {field.drifted.address: field.drifted for field in fields if str(field.drifted.address) not in alone}
    lines += [f"{address}: {differences(resource)}" for address, resource in resources.items()]
    return (*(sentence.text for sentence in sheet.consequences if whole), *lines)


def _entry_lines(entry: SheetEntry, left: Collection[str]) -> list[str]:
    """The lines of an entry, with those that continue another one in it. How to choose the group is left out: it has been decided."""
    lines: list[str] = []
    omitted = False
    for line in entry.lines:
        if line.name:
            field = line.value.partition(" ")[0] if line.name == EXPOSURE else line.name
            omitted = line.name == DECIDE or f"{entry.title}.{field.partition('.')[0]}" in left
        if omitted:
            continue
        if line.name or not lines:
            lines.append(f"{entry.title}: {line.name} {line.value}".rstrip())
        else:
            lines[-1] += f"; {line.value}"
    return lines
