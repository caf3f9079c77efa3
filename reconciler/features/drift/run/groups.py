"""Groups of drift, for whoever shows or reverts them: when they began, and what puts back those that no plan does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from reconciler.address import Address, bare
from reconciler.client import encode
from reconciler.errors import UsageError
from reconciler.features.drift.model import Drift, DriftGroup
from reconciler.features.drift.report.groups import OtherWay, group_text
from reconciler.model import Action, Cause, Plan, Unmanaged
from reconciler.report.words import listed
from reconciler.run.stages import Planned
from reconciler.text.names import did_you_mean

MOST_FIELDS: Final = 5  # fields of a sentence

CommandLine = Callable[[str], str]
"""Returns the command line of a command, with what its user typed about the service and the project."""


def chosen(drift: Drift, id: str | None) -> tuple[DriftGroup, ...]:
    """The group with an id, or with one that begins so; without an id, all. Raises `UsageError` for an unknown one, with a list."""
    if id is None:
        return drift.groups
    named = [group for group in drift.groups if group.id == id] or [group for group in drift.groups if id and group.id.startswith(id)]
    if len(named) == 1:
        return tuple(named)
    known = [group.id for group in drift.groups]
    listing = "\n".join(f"  {group.id}  {group.drift_class}  {group_text(group)}" for group in drift.groups)
    wrong = f"{len(named)} groups begin with {id!r}" if named else f"no group has the id {id!r}{did_you_mean(id, known)}"
    hint = f"These are the groups:\n{listing}" if known else "Nothing was changed outside Reconciler."
    raise UsageError(wrong, id="RC-no-such-group", hint=hint)


def other_ways(line_of: CommandLine, planned: Planned, groups: Sequence[DriftGroup]) -> dict[str, OtherWay]:
    """For each group that no plan puts back, by its id, what does."""
    changed = {change.address for change in planned.plan.changes}
    blocked = {item.address: item.reason for item in planned.plan.blocked}
    ways = {}
    for group in groups:
        if group.unmanaged is not None:
            line = delete_line(line_of, planned, group.unmanaged)
            ways[group.id] = OtherWay(line or "", f"No request deletes {group.addresses[0]}.")
        elif changed.isdisjoint(group.addresses) and all(resource.place is None for resource in group.resources):
            why = next((f": {blocked[address]}" for address in group.addresses if address in blocked), "")
            ways[group.id] = OtherWay("", f"No request puts {group.addresses[0]} back{why}.")
        elif edits := pending_edits(planned.plan, group.addresses):
            sentence = f"What puts {group.addresses[0]} back also applies changes of your files: {listed(edits, MOST_FIELDS)}."
            ways[group.id] = OtherWay("", sentence)
    return ways


def pending_edits(plan: Plan, addresses: Collection[Address]) -> list[str]:
    """ADDRESS.field of what the files change of existing objects, also where somebody changed it outside: what puts these addresses back
    applies it."""
    created = {Action.CREATE, Action.RESTORE, Action.REPLACE, Action.ADOPT}  # all values of such an object are declared again
    existing = [change for change in plan.changes if change.address in addresses and created.isdisjoint(change.actions)]
    yours = [(change.address, delta) for change in existing for delta in change.fields if delta.cause in (Cause.YOURS, Cause.BOTH)]
    return [f"{address}.{delta.name}" for address, delta in yours if delta.note is None]


def delete_line(line_of: CommandLine, planned: Planned, unmanaged: Unmanaged) -> str | None:
    """The command that deletes an unmanaged object; None where no request does."""
    kind = planned.kinds[unmanaged.kind]
    observed = planned.actual.find(kind.name, unmanaged.id)
    verb = kind.api.get("delete")
    if observed is None or verb is None:
        return None
    holes = {**{name: bare(id) for name, id in observed.within.items()}, "id": bare(observed.id), "slug": bare(observed.id)}
    path = encode(verb.path, holes)
    return line_of(f"api {verb.method} {path}")
