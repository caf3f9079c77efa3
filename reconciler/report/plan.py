"""The sheet of a plan: every change with its reason and its position in the files, what cannot be done, warnings, and a summary.

The order is that of reading before a confirmation: ordinary changes, then what does not happen and why, then what cannot be undone, and
last the consequences for readers and rules, next to the question whether to apply.

    changes              create, update, move, adopt, ...; more than FOLD equal ones are one entry
    deferred, in doubt,
    unknown, blocked     what this run leaves alone
    replace, delete      never folded
    exposures, forbidden,
    broken, violations   what people must know before they approve
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Any, Final, TypeVar

from reconciler.address import Address
from reconciler.model import Action, Blocked, Cause, Change, Delta, Exposure, Forecast, Plan, Position, Severity, Source, Violation
from reconciler.plan.warnings.outside import ID as OUTSIDE
from reconciler.report.layout import VALUE, Style, cells
from reconciler.report.sheet import PicturePart, Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import HIDDEN, RULES, STYLES, SUMMARY_ORDER, SYMBOLS, count, difference_lines, id_and_title, listed, shown
from reconciler.resource import UNSET
from reconciler.text.names import duration, minute

FOLD: Final = 10  # equal entries; more of them become one
NAMED: Final = 3  # addresses of a folded group
DOUBT: Final = "a request of an earlier run is in doubt; reconciler apply finds out what happened to it"
WHOLE: Final = "the whole plan"
HIDDEN_URL: Final = "its secret URL"
CONSENT: Final = "with --yes, each of these requires --allow-exposure ADDRESS"
ROLE: Final = "use the token of a member who may, or raise the role of this member"

# Actions with a line of their own; updates and moves are shown by their fields and locations.
ALONE: Final = (Action.RESTORE, Action.TRANSFER, Action.REPLACE, Action.DELETE, Action.FORGET, Action.ADOPT, Action.CREATE)

# A difference that the files cause needs no remark; one that somebody caused outside does, because applying the plan undoes their work.
CAUSES: Final = {Cause.YOURS: "", Cause.DRIFT: "drift", Cause.BOTH: "your change and drift"}

T = TypeVar("T")


def plan_sheet(plan: Plan, *, full: bool = False, remedies: bool = False, zone: tzinfo | None = UTC) -> Sheet:
    """The whole report.

    `full`: equal entries are not folded. `zone`: of its times. `remedies`: also what to do about violated rules, for readers who do not see
    the refusal of the guard, which says so.
    """
    entries = [
        *_changes([change for change in plan.changes if not change.destructive], full, zone),
        *_hindered(plan, full),
        # Replacements before deletes: what comes last is read best.
        *(_change(change, zone) for change in _destructive(plan.changes)),
        *exposure_entries(plan.exposures, full=full),
        *_forbidden(plan, full),
        *_broken(plan),
        *violation_entries(plan.violations, full=full, remedies=remedies),
    ]
    counts = Counter(action for change in plan.changes for action in change.actions)
    parts = [PicturePart(action.value, counts[action], STYLES[action]) for action in SUMMARY_ORDER if counts[action]]
    if plan.blocked:
        parts.append(PicturePart("blocked", len(plan.blocked), Style.BLOCKED))
    addresses = [*(item.address for item in plan.changes), *plan.deferred, *plan.in_doubt, *(item.address for item in plan.blocked)]
    return Sheet(
        "plan",
        plan.project,
        plan.environment,
        summary(plan),
        entries,
        plan.notes,
        parts,
        headline=_headline(plan),
        quiet=not entries and not plan.outside,
        address_columns=max((cells(str(address)) for address in addresses), default=0),
    )


# -- the summary --------------------------------------------------------------------------------------------------------------------


def summary(plan: Plan) -> str:
    """`Plan: 1 to update, 1 to move; 14 objects unmanaged. 3 requests.`"""
    troubles, beyond = _troubles(plan), pending_outside(plan)
    if plan.empty:
        nothing = "No changes for the selected addresses." if plan.outside else "No changes."
        line = f"{nothing} {count(plan.managed, 'object')} managed" + ("." if plan.files_only else f", {len(plan.unmanaged):,} unmanaged.")
        return " ".join([line, *(f"{rest[0].upper()}{rest[1:]}." for rest in (troubles, beyond) if rest)])
    nothing = "nothing to do"
    if plan.exposures:
        nothing = "an exposure to record" if any(exposure.id == OUTSIDE for exposure in plan.exposures) else "a looser rule to record"
    unmanaged = f"{count(len(plan.unmanaged), 'object')} unmanaged" if plan.unmanaged else ""
    rest = ", ".join(filter(None, [troubles, unmanaged, beyond]))
    return "; ".join(filter(None, [f"Plan: {_todo(plan) or nothing}", rest])) + f". {count(len(plan.steps), 'request')}."


def _headline(plan: Plan) -> str:
    """The same without what the plan leaves alone: a document does not say how many objects are managed."""
    requests = f" {count(len(plan.steps), 'request')}." if plan.steps else ""
    return "; ".join(filter(None, [_todo(plan) or "No changes", _troubles(plan), pending_outside(plan)])) + "." + requests


def _todo(plan: Plan) -> str:
    counts = Counter(action for change in plan.changes for action in change.actions)
    return ", ".join(f"{counts[action]:,} to {action}" for action in SUMMARY_ORDER if counts[action])


def _troubles(plan: Plan) -> str:
    parts = [
        blocked(plan),
        count(len(plan.exposures), "exposure") if plan.exposures else "",
        f"{count(len(plan.broken), 'published URL')} broken" if plan.broken else "",
        *(count(number, word) for level, (_, word) in RULES.items() if (number := sum(item.level is level for item in plan.violations))),
        f"{len(plan.deferred):,} after a second run" if plan.deferred else "",
        f"{len(plan.in_doubt):,} in doubt" if plan.in_doubt else "",
        f"{count(len(plan.unknown), 'reading')} failed" if plan.unknown else "",
        f"{count(plan.ignored_count, 'difference')} ignored" if plan.ignored else "",
    ]
    return ", ".join(filter(None, parts))


def blocked(plan: Plan) -> str:
    """`1 blocked`, or `69 blocked by 6 causes`; "" if nothing is."""
    if not plan.blocked:
        return ""
    causes = sum(resource.cause is None for resource in plan.blocked)
    by = f" by {count(causes, 'cause')}" if 0 < causes < len(plan.blocked) else ""
    return f"{len(plan.blocked):,} blocked{by}"


def pending_outside(plan: Plan) -> str:
    """The pending changes that the run does not make: `3 changes outside the selection are pending`; "" if there are none."""
    if not plan.outside:
        return ""
    return f"{count(plan.outside, 'change')} outside the selection {'is' if plan.outside == 1 else 'are'} pending"


def forecast_text(ahead: Forecast) -> str:
    """`Apply needs 23 writes and about 40 reads: about 3 s.`"""
    waiting = f", {duration(ahead.held)} of them waiting for the rate limit" if ahead.held else ""
    return f"Apply needs {count(ahead.writes, 'write')} and about {count(ahead.reads, 'read')}: about {duration(ahead.seconds)}{waiting}."


# -- folding ------------------------------------------------------------------------------------------------------------------------


def _alike(items: Iterable[T], likeness: Callable[[T], object], full: bool) -> list[list[T]]:
    """The items, equal ones together and in the order of the first; as one group only if they are more than FOLD."""
    groups: dict[object, list[T]] = {}
    for item in items:
        groups.setdefault(likeness(item), []).append(item)
    folded: list[list[T]] = []
    for group in groups.values():
        folded += [group] if len(group) > FOLD and not full else [[item] for item in group]
    return folded


def _entry(addresses: Sequence[Address], lines: Sequence[SheetLine], weight: Weight, source: Source | None = None) -> SheetEntry:
    """An entry about one address, or about a folded group."""
    if len(addresses) > 1:
        names = SheetLine(Style.PLAIN, " ", "", f"{_some(addresses)}; --full shows each")
        return SheetEntry(f"{len(addresses):,} resources", "", (names, *lines), weight)
    return SheetEntry(str(addresses[0]), source.file_and_line if source is not None else "", lines, weight, source)


def _some(addresses: Iterable[Address]) -> str:
    return listed([str(address) for address in addresses], NAMED)


# -- changes ------------------------------------------------------------------------------------------------------------------------


def _changes(changes: Sequence[Change], full: bool, zone: tzinfo | None) -> Iterator[SheetEntry]:
    """The changes in their order; a folded group is at the position of its first."""
    position = {change.address: index for index, change in enumerate(changes)}
    for group in sorted(_alike(changes, _likeness, full), key=lambda group: position[group[0].address]):
        if len(group) == 1:
            yield _change(group[0], zone)
            continue
        kind, actions = group[0].kind, group[0].actions
        files = listed(sorted({change.source.file for change in group if change.source is not None}), 2)
        names = f"{_some(change.address for change in group)}; --full shows each"
        fields = [_from_defaults(delta) for delta in group[0].fields] if Action.CREATE not in actions else []
        lines = []
        for action in actions:
            what = f"{', '.join(fields)} of {names}" if action is Action.UPDATE and fields else names
            lines.append(SheetLine(STYLES[action], SYMBOLS[action], action, what))
        yield SheetEntry(f"{len(group):,} × {kind}", files, lines)


def _from_defaults(delta: Delta) -> str:
    return f"{delta.name} (from defaults)" if delta.from_defaults else delta.name


def _likeness(change: Change) -> object:
    """The key of equal changes: creates of one kind are equal; other changes only if the same fields change for the same cause."""
    fields = (
        ()
        if Action.CREATE in change.actions
        else tuple((delta.name, delta.cause, delta.note, delta.from_defaults) for delta in change.fields)
    )
    return (change.kind, change.actions, fields)


def _destructive(changes: Iterable[Change]) -> list[Change]:
    return sorted((change for change in changes if change.destructive), key=lambda change: Action.DELETE in change.actions)


def _change(change: Change, zone: tzinfo | None) -> SheetEntry:
    """One change: its address and source, then its actions, then its fields, then its location."""
    # The container of a moved object is shown as its location.
    fields = [delta for delta in change.fields if not _is_container(change, delta)]
    lines: list[SheetLine] = []
    for index, action in enumerate(action for action in ALONE if action in change.actions):
        what = _object_and_reason(change, action, zone) if index == 0 else ""
        # The fields of a create say that it is one, by their `+`.
        if what or action is not Action.CREATE or not change.fields:
            lines.append(SheetLine(STYLES[action], SYMBOLS[action], action, what))
    if change.reason and not set(ALONE) & set(change.actions):
        first = change.actions[0]
        lines.append(SheetLine(STYLES[first], SYMBOLS[first], first, _reason(change, zone)))
    for delta in fields:
        lines += _field(change, delta)
    if Action.MOVE in change.actions:
        lines += _move(change)
    weight = Weight.URGENT if change.destructive else Weight.CHANGE
    column = max([VALUE, *(len(delta.name) + 6 for delta in fields)])
    if Action.RESTORE in change.actions and Action.ADOPT not in change.actions and not change.deleted_by_us:
        # Who deleted it is news; where it is declared is not.
        return SheetEntry(str(change.address), "drift: deleted outside Reconciler", lines, weight, where_style=Style.DRIFT, column=column)
    source = change.source if change.source is not None and change.source.line else None
    return SheetEntry(str(change.address), source.file_and_line if source else "", lines, weight, source, column=column)


def _reason(change: Change, zone: tzinfo | None) -> str:
    """`deleted 2 days ago, 5 days left (until 29 Nov 2026, 22:10 CET)`."""
    return change.reason if change.until is None else f"{change.reason} (until {minute(change.until, zone)})"


def _object_and_reason(change: Change, action: Action, zone: tzinfo | None) -> str:
    reason = _reason(change, zone)
    named = id_and_title(change.id, change.title)
    if action is Action.ADOPT:
        return f"{named} {reason or 'exists and is unmanaged'}".strip()
    if action is Action.TRANSFER:
        return f"{named} {reason}".strip()
    if action in (Action.DELETE, Action.FORGET, Action.REPLACE):
        return "; ".join(part for part in (named, reason) if part)
    return reason


def _is_container(change: Change, delta: Delta) -> bool:
    """Whether a field names what contains the object, and the move shows both of its values as locations."""
    if change.before is None or change.after is None or change.before.parent == change.after.parent:
        return False

    def names(value: Any, spot: Position) -> bool:
        # An absent container is the top of what contains everything.
        return spot.parent in (None, change.address.container) if value is None else value == str(spot.parent)

    return names(delta.before, change.before) and names(delta.after, change.after)


def _field(change: Change, delta: Delta) -> Iterator[SheetLine]:
    new = bool({Action.CREATE, Action.REPLACE} & set(change.actions))
    # A field with a note and equal values is one that is no longer managed.
    dropped = delta.note is not None and delta.before == delta.after
    if delta.sensitive:
        pairs = [(delta.name, HIDDEN)]
    elif new:
        pairs = [(delta.name, shown(delta.after))]
    elif dropped:
        pairs = [(delta.name, shown(delta.after) if delta.after is not UNSET else "")]
    else:
        pairs = difference_lines(delta.name, delta.before, delta.after)
    cause = CAUSES[delta.cause]
    style, symbol = (Style.CREATE, "+") if new else (Style.UPDATE, "." if dropped else "~")
    remark = "; ".join(filter(None, [cause, "from defaults" if delta.from_defaults else "", delta.note]))
    for number, (name, value) in enumerate(pairs):
        yield SheetLine(
            Style.DRIFT if cause else style,
            symbol,
            name,
            value,
            remark if number == 0 else "",
            note_style=Style.DRIFT if cause else Style.DIM,
        )


def _move(change: Change) -> Iterator[SheetLine]:
    """Into which container, and after which sibling."""
    before, after = change.before, change.after
    if after is None:
        yield SheetLine(Style.MOVE, ">", "move", "")
        return
    stays = before is None or before.parent == after.parent
    if not stays:
        cause = next((CAUSES[delta.cause] for delta in change.fields if _is_container(change, delta)), "")
        was = f"was in {_parent(before.parent)}" if before is not None else ""
        remark = "; ".join(filter(None, [cause, was]))
        yield SheetLine(Style.MOVE, ">", "into", _parent(after.parent), remark, note_style=Style.DRIFT if cause else Style.DIM)
    was = ""
    if before is not None and stays:
        # With the same neighbour as before, the neighbour moves too, or nothing shows its position.
        neighbour = "first" if before.previous is None else f"after {before.previous}"
        was = "again" if before.previous == after.previous else f"was {neighbour}"
    if after.previous is not None:
        yield SheetLine(Style.MOVE, ">", "after", str(after.previous), was)
    elif stays:
        yield SheetLine(Style.MOVE, ">", "first", "among its siblings", was)


def _parent(parent: Address | None) -> str:
    return "the top level" if parent is None else str(parent)


# -- what cannot be done now --------------------------------------------------------------------------------------------------------


def _hindered(plan: Plan, full: bool) -> Iterator[SheetEntry]:
    for group in _alike(plan.deferred.items(), lambda pair: pair[1], full):
        line = SheetLine(Style.BLOCKED, "!", "waits", f"in a second run: {group[0][1]}", id="RC-second-run")
        yield _entry([address for address, _ in group], [line], Weight.HINDERED)
    for address in plan.in_doubt:
        yield _entry([address], [SheetLine(Style.BLOCKED, "?", "in doubt", DOUBT, id="RC-in-doubt")], Weight.HINDERED)
    for unread in plan.unknown:
        text = f"{unread.reason}; none is created, deleted or reported as drift"
        yield SheetEntry(unread.what, "", [SheetLine(Style.BLOCKED, "?", "unknown", text, id="RC-unread")], Weight.HINDERED)
    # Each cause, with the addresses that wait for it: these have no entries of their own, because unblocking the cause unblocks them.
    own = {resource.address for resource in plan.blocked if resource.cause is None}
    waiting: dict[Address, list[str]] = {}
    for resource in plan.blocked:
        if resource.cause is not None and resource.cause in own:
            waiting.setdefault(resource.cause, []).append(str(resource.address))
    causes = [resource for resource in plan.blocked if resource.cause not in own]
    for blocked_alike in _alike(causes, lambda resource: (resource.reason, resource.remedy, resource.id), full):
        yield _blocked(blocked_alike, [name for resource in blocked_alike for name in waiting.get(resource.address, ())], full)


def _blocked(group: Sequence[Blocked], waiting: list[str], full: bool) -> SheetEntry:
    first = group[0]
    lines = [SheetLine(Style.BLOCKED, "!", "blocked", f"{first.reason} [{first.id}]" if first.id else first.reason, id=first.id)]
    lines.append(SheetLine(Style.DIM, " ", "", first.remedy))
    if waiting:
        more = "; --full lists them" if len(waiting) > NAMED and not full else ""
        names = listed(waiting, len(waiting) if full else NAMED)
        lines.append(SheetLine(Style.DIM, " ", "waiting", f"{count(len(waiting), 'resource')}: {names}{more}"))
    return _entry([resource.address for resource in group], lines, Weight.HINDERED, first.source)


# -- what people must know before they approve --------------------------------------------------------------------------------------


def exposure_entries(exposures: Sequence[Exposure], *, full: bool, consent: str = CONSENT) -> list[SheetEntry]:
    """What becomes public or loses a protection. `consent`: what each of them requires."""
    entries = []
    asked = any(exposure.asked for exposure in exposures)
    groups = _alike(exposures, lambda item: (item.kind, item.field, repr(item.before), repr(item.after), item.says), full)
    for number, group in enumerate(groups, start=1):
        first = group[0]
        lines = [SheetLine(Style.DELETE, "!", "exposure", _exposure_text(first), id=first.id)]
        # Members of a folded group have different readers.
        if len(group) == 1:
            lines += [SheetLine(Style.DIM, " ", "", detail) for detail in _exposure_details(first)]
        if asked and number == len(groups):
            lines.append(SheetLine(Style.DIM, " ", "", consent))
        entries.append(_entry([exposure.address for exposure in group], lines, Weight.URGENT, first.source))
    return entries


def _exposure_text(exposure: Exposure) -> str:
    """`published false -> true: its readers can read it`; only the last part if no field of the object causes it."""
    if not exposure.field:
        return exposure.says if exposure.readers else f"{'deleted' if exposure.source is None else 'created'}: {exposure.says}"
    if exposure.before is UNSET:
        return f"{exposure.field} {shown(exposure.after)}: {exposure.says}"
    change = "; ".join(" ".join(line) for line in difference_lines(exposure.field, exposure.before, exposure.after))
    return f"{change}: {exposure.says}"


def _exposure_details(exposure: Exposure) -> Iterator[str]:
    """Who the readers are, what else they can read, and how they get access."""
    if exposure.readers and exposure.field:
        yield f"readers: {', '.join(exposure.readers)}"
    if exposure.reaches:
        yield f"also for {_some(exposure.reaches)}"
    if len(exposure.path) > 1:
        yield f"by {' -> '.join(exposure.path)}"


def _forbidden(plan: Plan, full: bool) -> Iterator[SheetEntry]:
    groups = _alike(plan.forbidden, lambda request: (request.verb, request.flag, request.of), full)
    for number, group in enumerate(groups, start=1):
        first = group[0]
        text = f"{first.verb}: the service says that the token lacks {first.flag} of {first.of}"
        lines = [SheetLine(Style.BLOCKED, "!", "forbidden", text, id=first.id)]
        if number == len(groups):
            lines.append(SheetLine(Style.DIM, " ", "", ROLE))
        yield _entry([request.address for request in group], lines, Weight.HINDERED)


def _broken(plan: Plan) -> Iterator[SheetEntry]:
    for url in plan.broken:
        after = f" -> {url.after}" if url.after is not None else ""
        line = SheetLine(Style.DELETE, "!", "breaks", f"{url.before or HIDDEN_URL}{after}", url.reason, url.id)
        yield _entry([url.address], [line], Weight.URGENT, url.source)


def violation_entries(violations: Iterable[Violation], *, full: bool, remedies: bool) -> Iterator[SheetEntry]:
    """The violated rules, those that refuse the run last. `remedies`: with the remedy of each."""
    ordered = sorted(violations, key=lambda violation: violation.level is Severity.ERROR)
    for group in _alike(ordered, lambda violation: (violation.level, violation.name, violation.message), full):
        first = group[0]
        style, word = RULES[first.level]
        rule = f" ({first.source.file_and_line})" if first.source is not None else ""
        lines = [SheetLine(style, "!", word, f"{first.name}: {first.message}{rule}", id=first.id)]
        if len(group) == 1 and len(first.path) > 1:
            lines.append(SheetLine(Style.DIM, " ", "", f"by {' -> '.join(first.path)}"))
        if remedies and first.remedy:
            lines.append(SheetLine(Style.DIM, " ", "", first.remedy))
        weight = Weight.URGENT if first.level is Severity.ERROR else Weight.HINDERED
        addresses = [violation.address for violation in group if violation.address is not None]
        yield _entry(addresses, lines, weight, first.declared) if addresses else SheetEntry(WHOLE, "", lines, weight)
