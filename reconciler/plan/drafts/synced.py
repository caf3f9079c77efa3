"""What a Git repository governs: the titles, paths and structure of what is synchronized with it. Pure.

In: what was read. Out: drafts and removals that write none of it. A difference that came from Git is left alone, like one of
`ignoreChanges`: two writers would undo each other's changes without end. One that the YAML asks for is blocked, with the way past it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.model import ORDER, Actual, Blocked, Cause, Observed
from reconciler.plan.decisions import Draft, Purpose, Removal
from reconciler.plan.matching.differences import FieldDifference, differences
from reconciler.resource import Field, Kind, Kinds
from reconciler.resource.open_work import at
from reconciler.text.names import quoted


def repository(kind: Kind, raw: Mapping[str, Any]) -> str | None:
    """The Git repository that is synchronized with an object, as people know it; None if none is."""
    shown = at(raw, kind.synced.at) if kind.synced is not None else None
    if kind.synced is None or not (isinstance(shown, Mapping) and shown):
        return None
    name, url = at(raw, kind.synced.name), at(raw, kind.synced.url)
    called = quoted(name) if isinstance(name, str) and name else "a repository"
    return f"{called} ({url})" if isinstance(url, str) and url else called


def governing(kinds: Kinds, actual: Actual, kind: Kind, observed: Observed) -> str | None:
    """The Git repository that governs an object: its own, or for a node of a list that of its fixed container."""
    return repository(kind, observed.raw) or governing_inside(kinds, actual, kind, observed.within.get(str(kind.within)))


def governing_inside(kinds: Kinds, actual: Actual, kind: Kind, container: str | None) -> str | None:
    """The Git repository that governs the lists in the fixed container with this id."""
    if not kind.place.in_list or kind.within is None or container is None:
        return None
    outer = actual.find(kind.within, container)
    return repository(kinds[kind.within], outer.raw) if outer is not None else None


def without_synced(kinds: Kinds, actual: Actual, draft: Draft) -> Draft:
    """The draft of an existing object without the differences that Git governs."""
    if draft.observed is None or draft.declared.implied:
        return draft
    git = governing(kinds, actual, draft.kind, draft.observed)
    if git is None:
        return draft
    structure = git == governing_inside(kinds, actual, draft.kind, draft.observed.within.get(str(draft.kind.within)))
    names = {name for name, field in draft.kind.fields.items() if name in draft.wants and (field.synced or (structure and field.container))}
    wants = {name: want for name, want in draft.wants.items() if name in names}
    found = differences(draft.kind, wants, draft.observed, draft.binding, {})
    draft = replace(draft, git=git if structure else "")
    if not found:
        return draft
    aside = {difference.field.name for difference in found}
    left = {name: value for name, value in draft.declared.values.items() if name not in aside}
    asked = [difference for difference in found if difference.cause is not Cause.DRIFT]
    blocked = tuple((difference.field.name, _blocked(draft, difference, git)) for difference in asked)
    return replace(
        draft,
        declared=replace(draft.declared, values=left, aside=draft.declared.aside | aside),
        wants={name: want for name, want in draft.wants.items() if name not in aside},
        ignored=(*draft.ignored, *(difference for difference in found if difference.cause is Cause.DRIFT)),
        blocked_fields=(*draft.blocked_fields, *blocked),
    )


def _blocked(draft: Draft, difference: FieldDifference, git: str) -> Blocked:
    field = difference.field
    reason = f"{field.name} is not written{_values(field, difference)}: Git governs it, from {git}"
    ignore = f"ignoreChanges: [{field.name}]"
    way = (
        f"change it in the repository and write what it is then, or leave it alone with {ignore}, or end the synchronization in the service"
    )
    return Blocked(draft.address, reason, way, draft.declared.positions.get(field.name, draft.declared.source), id="RC-git-governs")


def _values(field: Field, difference: FieldDifference) -> str:
    before, after = field.shown(difference.before), field.shown(difference.after)
    texts = isinstance(before, str) and isinstance(after, str) and not field.container
    return f" ({quoted(before)} -> {quoted(after)})" if texts else ""


def create_refused(kinds: Kinds, actual: Actual, draft: Draft, container: str | None) -> Draft:
    """The draft of a resource without an object, blocked where Git governs the list in which it would be created."""
    git = governing_inside(kinds, actual, draft.kind, container)
    if git is None:
        return draft
    reason = f"is not created: Git governs the structure of {draft.address.container}, from {git}"
    way = "add it in the repository, or remove it from the YAML, or end the synchronization in the service"
    return draft.block(reason, way, id="RC-git-governs")


def deletes_refused(kinds: Kinds, actual: Actual, removals: Mapping[Address, Removal]) -> Iterator[Removal]:
    """The deletes in lists that Git governs, blocked."""
    for removal in removals.values():
        outer = removals.get(removal.address.container) if removal.address.container is not None else None
        if removal.purpose is not Purpose.DELETE or removal.observed is None or not removal.active or (outer is not None and outer.deletes):
            continue
        git = governing_inside(kinds, actual, removal.kind, removal.observed.within.get(str(removal.kind.within)))
        if git is not None:
            reason = f"is not deleted: Git governs the structure of {removal.address.container}, from {git}"
            way = f"delete it in the repository; to stop managing it, add to removed: {{address: {removal.address:yaml}, action: forget}}"
            yield removal.block(reason, way, id="RC-git-governs")


def synced_notes(drafts: Mapping[Address, Draft], positions: Iterable[Address]) -> Iterator[str]:
    """A sentence for each object of which Git changed something. `positions`: of what keeps another position than that in the YAML."""
    for address in positions:
        if drafts[address].git and ORDER not in drafts[address].declared.ignores:
            yield f"{address}: its position is left alone, because Git governs it ({drafts[address].git}): write the order that it has now"
    for draft in drafts.values():
        changed = [difference for difference in draft.ignored if difference.field.name not in draft.declared.ignores]
        for difference in changed:
            name = difference.field.name
            yield (
                f"{draft.address}: {name} was changed in Git{_values(difference.field, _reversed(difference))} and is left alone: "
                "write what it is now"
            )


def _reversed(difference: FieldDifference) -> FieldDifference:
    return replace(difference, before=difference.after, after=difference.before)
