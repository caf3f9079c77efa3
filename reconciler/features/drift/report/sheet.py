"""The sheet of drift: what was changed outside Reconciler, by class, unmanaged access, unmanaged objects, and a summary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Final

from reconciler.address import Address
from reconciler.features.drift.model import Drift, DriftClass, Drifted, DriftGroup, DriftWord
from reconciler.features.drift.report.groups import DriftCommands, common_bounds, group_text, overview, reader_lines
from reconciler.model import Cause, Delta, Exposure, Unmanaged
from reconciler.plan.matching.missing import left_over
from reconciler.report.gathering import FOLD, FULL, EntryPart, gathered
from reconciler.report.layout import Style
from reconciler.report.plan import exposure_parts, violation_parts
from reconciler.report.sheet import Harm, PicturePart, Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import HIDDEN, count, difference_lines, id_and_title, listed, shown
from reconciler.text.names import clock_time, minute

SYMBOLS: Final = {DriftWord.CHANGED: "~", DriftWord.MOVED: ">", DriftWord.DELETED: "-"}
STYLES: Final = {DriftWord.CHANGED: Style.UPDATE, DriftWord.MOVED: Style.MOVE, DriftWord.DELETED: Style.DELETE}
MOST_NAMES: Final = 5
ACCEPTING: Final = "apply restores what is exposed; accepting it requires --allow-exposure ADDRESS"
DECIDE: Final = "decide"  # the name of the line that says how to choose a group
FIRST: Final = -1
"""The rank of what comes before all groups; theirs are those of their classes."""
LAST: Final = len(DriftClass)
SECTIONS: Final = {
    FIRST: "Assertions that are not met",
    DriftClass.EXPOSING.rank: "Somebody can read or do more",
    DriftClass.ACCESS.rank: "Unmanaged access",
    DriftClass.DELETING.rank: "Deleted outside Reconciler",
    DriftClass.LOCKING_OUT.rank: "Somebody can read or do less",
    DriftClass.BREAKING_URLS.rank: "Published URLs that stopped working",
    DriftClass.LOOSENING_RULES.rank: "Looser rules",
    DriftClass.COSMETIC.rank: "Other changes outside Reconciler",
    LAST: "Not known",
}
SIGNS: Final = {"~": "changed", ">": "moved", "-": "deleted", "!": "needs your attention", "?": "not known"}


def drift_sheet(
    drift: Drift,
    *,
    full: bool = False,
    zone: tzinfo | None = UTC,
    commands: DriftCommands | None = None,
    more: str = FULL,
) -> Sheet:
    """The whole report, the worst class first. `full`: nothing is folded. `zone`: of its times. `commands`: of the
    two ways on; None where nobody can type them."""
    known = bool(drift.groups)
    if not known:
        drift = replace(drift, groups=tuple(_ungrouped(drift)))
    found = [
        *(replace(part, rank=FIRST) for part in violation_parts(drift.violations, remedies=True)),
        *(part for group in _unfolded(drift.groups, full) for part in _group_parts(group, drift, full, zone, more)),
        *_folded(drift.groups, full, more),
        *_unknown(drift, full),
    ]
    entries = [*gathered(found, SECTIONS, full=full, more=more), *_unmanaged(drift.unmanaged, full, more)]
    parts = [PicturePart(status.value, number, STYLES[status]) for status in DriftWord if (number := drift.count(status))]
    parts += [PicturePart("exposures", len(drift.exposures), Style.DELETE)] if drift.exposures else []
    parts += [PicturePart("assertions not met", len(drift.violations), Style.BLOCKED)] if drift.violations else []
    parts += [PicturePart("unmanaged", len(drift.unmanaged), Style.DIM)] if drift.unmanaged else []
    unchanged = drift.managed - len(drift.resources)
    # One green bar alone would say less than the sentence above it.
    parts += [PicturePart("as applied", unchanged, Style.CREATE)] if parts and unchanged > 0 else []
    next_step = [ACCEPTING] if drift.exposures else []
    if known and commands is not None:
        next_step = commands.sentences(drift)
    return Sheet(
        "drift",
        drift.project,
        drift.environment,
        summary(drift),
        entries,
        (*drift.notes, *next_step),
        parts,
        drift.coverage if drift.whole else None,
        headline=summary(drift).removeprefix("Drift: "),
        consequences=tuple(overview(drift.groups, zone)) if known else (),
        signs=SIGNS,
        quiet=all(entry.weight is Weight.BACKGROUND for entry in entries),
        worst_first=True,
    )


# -- groups ------------------------------------------------------------------------------------------------------------------------------


def _ungrouped(drift: Drift) -> Iterator[DriftGroup]:
    """A group for each outermost object, of a document that has none."""
    exposing = {address for exposure in drift.exposures for address in exposure.names}
    for resource, within in _outermost(drift.resources):
        deleted = resource.status is DriftWord.DELETED
        exposes = DriftClass.EXPOSING if resource.address in exposing else DriftClass.COSMETIC
        inner = tuple(other for other in drift.resources if other.address in within)
        addresses = (resource.address, *within)
        yield DriftGroup("", DriftClass.DELETING if deleted else exposes, addresses, (resource, *inner))


def _is_folded(groups: Sequence[DriftGroup], full: bool) -> dict[DriftClass, bool]:
    """By class, whether its groups are one entry each kind: those that ask for no decision of their own, where there are many."""
    numbers = Counter(group.drift_class for group in groups)
    return {name: not full and name in (DriftClass.COSMETIC, DriftClass.ACCESS) and numbers[name] > FOLD for name in DriftClass}


def _unfolded(groups: Sequence[DriftGroup], full: bool) -> Iterator[DriftGroup]:
    folded = _is_folded(groups, full)
    return (group for group in groups if not folded[group.drift_class])


def _folded(groups: Sequence[DriftGroup], full: bool, more: str) -> Iterator[EntryPart]:
    """Many groups of a class as one entry, which says how many there are of each sort."""
    for drift_class, folded in _is_folded(groups, full).items():
        inside = [group for group in groups if folded and group.drift_class is drift_class]
        sorts: dict[str, list[str]] = defaultdict(list)
        for group in inside:
            sorts[_sort(group)] += map(str, group.addresses)
        lines = [
            SheetLine(Style.UPDATE, "~", sort, f"{len(names):,}: {listed(names, MOST_NAMES)}")
            for sort, names in sorted(sorts.items(), key=lambda entry: -len(entry[1]))
        ]
        if inside:
            lines.append(SheetLine(Style.DIM, " ", "", f"{more} shows each"))
            title = count(len(inside), f"{drift_class.value} difference")
            yield EntryPart(title=title, lines=lines, weight=Weight.CHANGE, rank=drift_class.rank)


def _sort(group: DriftGroup) -> str:
    """`space title`: the kind and what differs."""
    if group.unmanaged is not None:
        return group.unmanaged.kind
    if not group.resources:
        return "resource"
    resource = group.resources[0]
    return f"{resource.kind} {', '.join(delta.name for delta in resource.fields) or 'position'}"


def _group_parts(group: DriftGroup, drift: Drift, full: bool, zone: tzinfo | None, more: str) -> Iterator[EntryPart]:
    """What happened, then what it means."""
    rank = group.drift_class.rank
    exposures = [exposure for exposure in drift.exposures if set(exposure.names) & set(group.addresses)]
    meaning = _meaning(group, drift, exposures, full, zone, more)
    deleted = {resource.address for resource in group.resources if resource.status is DriftWord.DELETED}
    if group.unmanaged is not None:
        line = SheetLine(Style.DELETE, "!", "unmanaged", group_text(group), id="RC-drift", harm=Harm.EXPOSURE)
        yield EntryPart(title=str(group.addresses[0]), lines=[line, *meaning], weight=Weight.URGENT, rank=rank)
    elif not group.resources:
        yield EntryPart(title=str(group.addresses[0]), lines=meaning, rank=rank)
    elif len(group.resources) > 1 and not deleted:
        alike = _drifted(group.resources[0], [], full, zone)
        names = listed(list(map(str, group.addresses)), len(group.addresses) if full else MOST_NAMES)
        title = f"{len(group.resources):,} × {group.resources[0].kind} in {group.addresses[0].container or group.addresses[0]}"
        yield replace(alike, title=title, lines=[SheetLine(Style.PLAIN, " ", "", names), *alike.lines, *meaning], rank=rank)
    else:
        first, *others = sorted(group.resources, key=lambda resource: group.addresses.index(resource.address))
        part = _drifted(first, [address for address in group.addresses[1:] if address in deleted], full, zone)
        yield replace(part, lines=[*part.lines, *meaning], rank=rank)
        yield from (replace(_drifted(other, [], full, zone), rank=rank) for other in others if other.address not in deleted)
    yield from (replace(part, rank=rank) for part in exposure_parts(exposures))


def _meaning(group: DriftGroup, drift: Drift, exposures: Sequence[Exposure], full: bool, zone: tzinfo | None, more: str) -> list[SheetLine]:
    """Who can read more or less, which URLs ended, and since when; an exposure says its readers itself."""
    lines = []
    for gains, who, addresses in reader_lines(group):
        names = listed(list(map(str, addresses)), len(addresses) if full else MOST_NAMES)
        if not gains:
            lines.append(SheetLine(Style.UPDATE, "!", "access ends", f"for {who}: {names}"))
        elif not exposures:
            lines.append(SheetLine(Style.DELETE, "!", "new access", f"for {who}: {names}", harm=Harm.EXPOSURE))
    if group.effects and not exposures and group.unmanaged is None:
        lines.append(
            SheetLine(
                Style.DELETE,
                "!",
                "effect",
                "; ".join(group.effects),
                harm=Harm.EXPOSURE if group.drift_class is DriftClass.EXPOSING else None,
            )
        )
    for url in group.urls[: None if full else MOST_NAMES]:
        lines.append(SheetLine(Style.DELETE, "!", "URL", f"{url.before} -> {url.after or 'nothing'}", harm=Harm.DEAD_URL))
    if len(group.urls) > MOST_NAMES and not full:
        lines.append(SheetLine(Style.DELETE, "!", "URL", f"and {len(group.urls) - MOST_NAMES:,} more; {more} shows each"))
    if group.id and group.drift_class is not DriftClass.COSMETIC:
        since = "" if group.between == common_bounds(drift.groups) else group.between.text(zone)
        lines.append(SheetLine(Style.DIM, " ", DECIDE, f"--group {group.id}{f', {since}' if since else ''}"))
    return lines


def _unknown(drift: Drift, full: bool) -> Iterator[EntryPart]:
    for title, reason in [
        *((str(unread.address), unread.reason) for unread in (*drift.unread, *drift.undecided)),
        *((unread.what, unread.reason) for unread in drift.unknown),
    ]:
        line = SheetLine(Style.BLOCKED, "?", "unknown", f"{reason}; not reported as drift", id="RC-unread")
        yield EntryPart(title=title, lines=[line], weight=Weight.HINDERED, rank=LAST)
    if drift.unjudged:
        names = listed([str(address) for address in drift.unjudged], len(drift.unjudged) if full else MOST_NAMES)
        line = SheetLine(Style.BLOCKED, "?", "unknown", f"{names}; not judged", id="RC-not-judged")
        title = f"{count(len(drift.unjudged), 'resource')} not tracked"
        yield EntryPart(title=title, lines=[line], weight=Weight.HINDERED, rank=LAST)


def _outermost(resources: Sequence[Drifted]) -> Iterator[tuple[Drifted, list[Address]]]:
    """Each object with the addresses deleted with it: an object whose container was deleted too has no entry of its own."""
    deleted = {resource.address for resource in resources if resource.status is DriftWord.DELETED}
    within: dict[Address, list[Address]] = defaultdict(list)
    for address in deleted:
        at = address
        while at.container is not None and at.container in deleted:
            at = at.container
        if at != address:
            within[at].append(address)
    # The outermost deleted container names all that it took with it.
    for resource in resources:
        if resource.status is not DriftWord.DELETED or resource.address.container not in deleted:
            yield resource, sorted(within[resource.address])


def _drifted(resource: Drifted, within: Sequence[Address], full: bool, zone: tzinfo | None) -> EntryPart:
    lines = []
    style, symbol = STYLES[resource.status], SYMBOLS[resource.status]
    deletion = resource.status is DriftWord.DELETED
    if deletion:
        lines.append(SheetLine(style, symbol, "deleted", _deleted(resource, zone), harm=Harm.DELETION))
        if within:
            names = listed([str(address) for address in within], len(within) if full else MOST_NAMES)
            lines.append(SheetLine(style, symbol, "with it", names))
    for delta in resource.fields:
        style, symbol = (Style.MOVE, ">") if delta.container else (Style.UPDATE, "~")
        pairs = [(delta.name, HIDDEN)] if delta.sensitive else difference_lines(delta.name, delta.last, delta.before)
        for number, (name, value) in enumerate(pairs):
            note = _remark(delta) if number == 0 else ""
            lines.append(SheetLine(style, symbol, name, value, note, note_style=Style.DRIFT))
    if resource.place is not None:
        then, now = (f"after {spot.previous}" if spot.previous is not None else "first" for spot in resource.place)
        lines.append(SheetLine(Style.MOVE, ">", "position", f"{then} -> {now}"))
    return EntryPart(
        title=str(resource.address),
        lines=lines,
        weight=Weight.URGENT if deletion else Weight.CHANGE,
        source=resource.source,
    )


def _deleted(resource: Drifted, zone: tzinfo | None) -> str:
    """`outside Reconciler, 2026-11-18 15:02:11 CET; it can be restored for 4 days (until 22 Nov 2026, 15:02 CET)`."""
    # The service shows deleted objects of some kinds only.
    if resource.deleted_at is None:
        return "outside Reconciler"
    again = f"it can be restored for {left_over(resource.left)}" if resource.left else "it can no longer be restored"
    if resource.left and resource.until is not None:
        again += f" (until {minute(resource.until, zone)})"
    return f"outside Reconciler, {clock_time(resource.deleted_at, zone)}; {again}"


def _remark(delta: Delta) -> str:
    """A note on a field besides its values; often empty."""
    remarks = []
    if delta.cause is Cause.BOTH:
        remarks.append("the YAML changed too" if delta.sensitive else f"the YAML changed too: {shown(delta.after)}")
    if delta.note is not None:
        remarks.append(delta.note)
    return "; ".join(remarks)


def _unmanaged(unmanaged: Sequence[Unmanaged], full: bool, more: str) -> list[SheetEntry]:
    lines = []
    for kind, number in Counter(item.kind for item in unmanaged).items():
        names = [id_and_title(item.id, item.title) for item in unmanaged if item.kind == kind]
        way = "" if full or number <= FOLD else f"; {more} shows each"
        lines.append(SheetLine(Style.DIM, " ", kind, listed(names, number if full or number <= FOLD else MOST_NAMES) + way))
    return [SheetEntry(f"{count(len(unmanaged), 'object')} unmanaged", "", lines, Weight.BACKGROUND, section="Unmanaged")] if lines else []


def summary(drift: Drift) -> str:
    """`Drift: 2 changed, 1 deleted; 14 objects unmanaged. 40 objects managed.`"""
    # "Drift is unknown" where nothing could be read: "No drift" would be a claim.
    counts = ", ".join(f"{number:,} {status}" for status in DriftWord if (number := drift.count(status)))
    unknown = len(drift.unknown) + len(drift.unread)
    rest = [
        f"{count(len(drift.exposures), 'exposure')}" if drift.exposures else "",
        f"{count(len(drift.violations), 'assertion')} not met" if drift.violations else "",
        f"{count(len(drift.undecided), 'assertion')} not checked" if drift.undecided else "",
        f"{count(len(drift.unjudged), 'resource')} cannot be judged" if drift.unjudged else "",
        f"{count(len(drift.unmanaged), 'object')} unmanaged" if drift.unmanaged else "",
        f"{len(drift.ignored):,} known and ignored" if drift.ignored else "",
        f"{count(drift.left_alone_count, 'difference')} ignored" if drift.left_alone else "",
        f"{count(unknown, 'reading')} failed" if unknown else "",
    ]
    line = "; ".join(filter(None, [f"Drift: {counts}" if counts else "Drift is unknown" if drift.blind else "No drift", *rest]))
    return f"{line}. {count(drift.managed, 'object')} managed."
