"""The changes of a new fleet file: projects that appear, change or are removed. Pure.

A removed project is orphaned: it is never run until it is declared again, and nothing of it is deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.fleet.documents import FleetKeyData
from reconciler.fleet.model import FleetProject, as_data

VANISH_SHARE: Final = 0.2  # of a generator's or the file's projects; removing more at once requires consent
VANISH_FREE: Final = 1  # so many may always be removed


@dataclass(frozen=True)
class Stored:
    """A project as the database has it."""

    project: FleetProject
    orphaned: bool = False


@dataclass(frozen=True)
class Changes:
    """The changes, by the names of projects. `returning`: orphaned ones that are declared again. `total`: how many are declared.
    `shrinking`: a sentence for each origin that loses so many projects that it is probably a mistake."""

    appearing: tuple[FleetProject, ...] = ()
    changing: Mapping[str, tuple[FleetKeyData, ...]] = field(default_factory=dict)
    returning: tuple[str, ...] = ()
    vanishing: tuple[str, ...] = ()
    orphaned: tuple[str, ...] = ()
    total: int = 0
    shrinking: tuple[str, ...] = ()

    @property
    def pending(self) -> bool:
        return bool(self.appearing or self.changing or self.returning or self.vanishing)


def changes(declared: Mapping[str, FleetProject], stored: Mapping[str, Stored]) -> Changes:
    """The changes from the stored fleet to the declared one."""
    active = {name for name, row in stored.items() if not row.orphaned}
    changing = {}
    vanishing = tuple(sorted(active - declared.keys()))
    for name, project in declared.items():
        if name in stored and (different := differences(stored[name].project, project)):
            changing[name] = different
    return Changes(
        appearing=tuple(project for name, project in declared.items() if name not in stored),
        changing=changing,
        returning=tuple(name for name in declared if name in stored and stored[name].orphaned),
        vanishing=vanishing,
        orphaned=tuple(sorted(name for name, row in stored.items() if row.orphaned and name not in declared)),
        total=len(declared),
        shrinking=tuple(_shrinking(vanishing, {name: stored[name].project.origin for name in active})),
    )


def _shrinking(vanishing: Sequence[str], origins: Mapping[str, str]) -> Iterator[str]:
    before, lost = Counter(origins.values()), Counter(origins[name] for name in vanishing)
    for origin, number in sorted(lost.items()):
        where = origin or "the list of projects"
        if number == before[origin] and (origin or len(before) == 1):
            yield f"{where} yields none of the {number} project{'s' if number != 1 else ''} that it had"
        elif number > VANISH_FREE and number > VANISH_SHARE * before[origin]:
            yield f"{where} no longer yields {number} of {before[origin]} projects"


def differences(before: FleetProject, after: FleetProject) -> tuple[FleetKeyData, ...]:
    """The keys in which two versions of a project differ."""
    old, new = as_data(before), as_data(after)
    return tuple({"key": key, "before": old[key], "after": new[key]} for key in new if old[key] != new[key] and key != "origin")
