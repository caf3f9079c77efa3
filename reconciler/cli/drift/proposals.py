"""The proposal for what was changed outside Reconciler: the files that `--accept` would write, in memory, and what it leaves to people.

In: a drift, and what it was found from. Out: `Proposal`. Writes nothing: whoever asks puts it on a branch, or keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.cli.drift.accept import TakenIn, acceptance, taken_in
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring.run import Planned
from reconciler.config import Project
from reconciler.config.source.includes import texts as read
from reconciler.importer.accept import AcceptedField
from reconciler.importer.proposal import LeftToPeople, Proposal, acceptable, title_of
from reconciler.model.drift import Drift
from reconciler.report.drift import DECIDE
from reconciler.report.sheet import Sheet, SheetEntry
from reconciler.resource import Kinds


def drift_proposal(
    screen: Screen, options: Options, kinds: Kinds, project: Project, planned: Planned, drift: Drift, sheet: Sheet
) -> Proposal:  # fmt: skip
    """The proposal to accept everything that the files can take in; its paths are below the project. `sheet`: of the drift, from which the
    commit's lines come.

    Raises `ReconcilerError` if the files would no longer be a valid project.
    """
    _, before = read(options.project, kinds)
    fields, left = acceptable(drift, acceptance(kinds, project, planned, before), project.desired.generated, planned.plan.moved_outside)
    taken = TakenIn({}, (), ())
    while fields:
        taken = taken_in(screen, options, kinds, project, planned, before, fields)
        if not taken.left:
            break
        # A difference of something else: nobody knows which of them makes it.
        refused = [field for field in fields if {str(field), str(field.drifted.address)} & set(taken.left)] or fields
        reason = f"its value cannot simply be written to the YAML: {', '.join(taken.left)} would differ"
        left += [LeftToPeople(str(field), reason, "Change it by hand.") for field in refused]
        fields, taken = [field for field in fields if field not in refused], TakenIn({}, (), ())
    desired = project.desired
    title = title_of(desired.project, desired.environment, len(fields))
    # A mask would be written into the files, which people have in their repository; what people read is masked.
    words, names = screen.masked_data(_lines(sheet, fields)), screen.masked_data(tuple(left))
    return Proposal(desired.project, desired.environment, taken.texts, title, words, names, taken.exposures)


def _lines(sheet: Sheet, fields: Sequence[AcceptedField]) -> tuple[str, ...]:
    """What the commit says: the lines of the report about what it accepts."""
    accepted = {str(field.drifted.address) for field in fields}
    lines = [line for entry in sheet.entries if entry.title in accepted for line in _entry_lines(entry)]
    return (*(sentence.text for sentence in sheet.consequences), *lines)


def _entry_lines(entry: SheetEntry) -> list[str]:
    """The lines of an entry, with those that continue another one in it. How to choose the group is left out: it has been decided."""
    lines: list[str] = []
    for line in entry.lines:
        if line.name == DECIDE:
            continue
        if line.name or not lines:
            lines.append(f"{entry.title}: {line.name} {line.value}".rstrip())
        else:
            lines[-1] += f"; {line.value}"
    return lines
