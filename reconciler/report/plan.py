"""The sheet of a plan: what it means for readers, every change with its reason and its position in the files, what cannot be done,
warnings, and a summary.

Everything about one address is one entry. The order is that of reading before a confirmation: ordinary changes first, what cannot be undone
last, next to the question whether to apply.

    changes              create, update, move, adopt, ...; more than FOLD equal ones are one entry
    deferred, in doubt,
    unknown, blocked     what this run leaves alone
    exposures, broken,
    violations           what people must know before they approve
    replace, delete      never folded
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from functools import partial
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import (
    Action,
    Blocked,
    Cause,
    Change,
    Delta,
    Exposure,
    Forecast,
    HeldPart,
    Plan,
    Position,
    Severity,
    Source,
    Violation,
)
from reconciler.plan.warnings.outside import ID as OUTSIDE
from reconciler.report.consequences import consequences
from reconciler.report.gathering import FOLD, FULL, MOST_ADDRESSES, EntryPart, gathered
from reconciler.report.layout import Style, cells
from reconciler.report.sections import HEADINGS, SECTIONS, Rank
from reconciler.report.sheet import Harm, PicturePart, Sheet, SheetLine, Weight
from reconciler.report.words import (
    HIDDEN,
    RULES,
    SIGNS,
    STYLES,
    SUMMARY_ORDER,
    SYMBOLS,
    count,
    difference_lines,
    id_and_title,
    listed,
    shown,
)
from reconciler.resource import UNSET
from reconciler.text.names import duration, minute

DOUBT: Final = "a request of an earlier run is in doubt; reconciler apply finds out what happened to it"
WHOLE: Final = "the whole plan"
HIDDEN_URL: Final = "its secret URL"
ROLE: Final = "use the token of a member who may, or raise the role of this member"

# Actions with a line of their own; updates and moves are shown by their fields and locations.
ALONE: Final = (Action.RESTORE, Action.TRANSFER, Action.REPLACE, Action.DELETE, Action.FORGET, Action.ADOPT, Action.RENAME, Action.CREATE)

HARMS: Final = dict.fromkeys((Action.REPLACE, Action.DELETE), Harm.DELETION)

# A difference that the files cause needs no remark; one that somebody caused outside does, because applying the plan undoes their work.
CAUSES: Final = {Cause.YOURS: "", Cause.DRIFT: "drift", Cause.BOTH: "your change and drift"}


def plan_sheet(plan: Plan, *, full: bool = False, remedies: bool = False, zone: tzinfo | None = UTC, more: str = FULL) -> Sheet:
    """The whole report.

    `full`: equal entries are not folded. `zone`: of its times. `more`: what shows what is folded. `remedies`: also what to do
    about violated rules, for readers who do not see the refusal of the guard, which says so.
    """
    parts = [
        *(_change(change, zone) for change in plan.changes),
        *_hindered(plan, full, more),
        *held_parts(plan.held, full=full, more=more),
        *exposure_parts(plan.exposures),
        *_forbidden(plan),
        *_broken(plan),
        *(part for section in SECTIONS for part in section.entries(plan)),
        *violation_parts(plan.violations, remedies=remedies),
    ]
    # A remark about one object belongs to its entry, if it has one.
    titles = {part.title for part in parts}
    remarks: dict[str, list[str]] = {}
    notes = []
    for note in plan.notes:
        title, colon, remark = note.partition(": ")
        if colon and title in titles:
            remarks.setdefault(title, []).append(remark)
        else:
            notes.append(note)
    notes += [note for section in SECTIONS for note in section.notes(plan)]
    entries = gathered(parts, HEADINGS, full=full, remarks=remarks, more=more)
    counts = Counter(action for change in plan.changes for action in change.actions)
    picture = [PicturePart(action.value, counts[action], STYLES[action]) for action in SUMMARY_ORDER if counts[action]]
    if plan.blocked:
        picture.append(PicturePart("blocked", len(plan.blocked), Style.BLOCKED))
    if plan.held.changes:
        picture.append(PicturePart("held", len(plan.held.changes), Style.BLOCKED))
    addresses = [*(item.address for item in plan.changes), *plan.deferred, *plan.in_doubt, *(item.address for item in plan.blocked)]
    return Sheet(
        "plan",
        plan.project,
        plan.environment,
        summary(plan),
        entries,
        notes,
        picture,
        headline=_headline(plan),
        consequences=consequences(plan),
        signs=SIGNS,
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
    if plan.held and not plan.pending:
        nothing = "nothing is left, because everything is held" if plan.held.changes else nothing
    unmanaged = f"{count(len(plan.unmanaged), 'object')} unmanaged" if plan.unmanaged else ""
    rest = ", ".join(filter(None, [troubles, unmanaged, beyond]))
    return "; ".join(filter(None, [f"Plan: {_todo(plan) or nothing}", rest])) + f". {count(len(plan.steps), 'request')}."


def _headline(plan: Plan) -> str:
    """The same without what the plan leaves alone: a document does not say how many objects are managed."""
    requests = f" {count(len(plan.steps), 'request')}." if plan.steps else ""
    return "; ".join(filter(None, [_todo(plan) or "No changes", _troubles(plan), pending_outside(plan)])) + "." + requests


def _todo(plan: Plan) -> str:
    counts = Counter(action for change in plan.changes for action in change.actions)
    more = filter(None, (section.to_do(plan) for section in SECTIONS))
    return ", ".join([*(f"{counts[action]:,} to {action}" for action in SUMMARY_ORDER if counts[action]), *more])


def _troubles(plan: Plan) -> str:
    parts = [
        blocked(plan),
        f"{len(plan.held.changes):,} held" if plan.held.changes else held_count(plan.held),
        count(len(plan.exposures), "exposure") if plan.exposures else "",
        _broken_count(plan),
        *(section.troubles(plan) for section in SECTIONS),
        *(count(number, word) for level, (_, word) in RULES.items() if (number := sum(item.level is level for item in plan.violations))),
        f"{len(plan.deferred):,} after a second run" if plan.deferred else "",
        f"{len(plan.in_doubt):,} in doubt" if plan.in_doubt else "",
        f"{count(len(plan.unknown), 'reading')} failed" if plan.unknown else "",
        f"{count(plan.ignored_count, 'difference')} ignored" if plan.ignored else "",
    ]
    return ", ".join(filter(None, parts))


def _broken_count(plan: Plan) -> str:
    """`1 published URL broken`, or `1 published URL and 196 URLs of pages broken`; "" if none is."""
    counted = [count(len(plan.broken), "published URL") if plan.broken else "", *(section.broken(plan) for section in SECTIONS)]
    text = " and ".join(filter(None, counted))
    return f"{text} broken" if text else ""


def blocked(plan: Plan) -> str:
    """`1 blocked`, or `69 blocked by 6 causes`; "" if nothing is."""
    if not plan.blocked:
        return ""
    causes = sum(resource.cause is None for resource in plan.blocked)
    by = f" by {count(causes, 'cause')}" if 0 < causes < len(plan.blocked) else ""
    return f"{len(plan.blocked):,} blocked{by}"


def held_count(held: HeldPart) -> str:
    """`3 changes held`, or `1 refusal` of rules alone, without any change; "" if nothing was refused."""
    if not held:
        return ""
    return f"{count(len(held.changes), 'change')} held" if held.changes else count(len(held.refusals), "refusal")


def not_changed(plan: Plan) -> str:
    """`2 blocked resources are not changed. 3 changes are held.`; "" if nothing is blocked or held."""
    number, held = len({resource.address for resource in plan.blocked}), len(plan.held.changes)
    blocked = f"{count(number, 'blocked resource')} {'is not changed' if number == 1 else 'are not changed'}." if number else ""
    return " ".join(filter(None, [blocked, f"{count(held, 'change')} {'is' if held == 1 else 'are'} held." if held else ""]))


def pending_outside(plan: Plan) -> str:
    """The pending changes that the run does not make: `3 changes outside the selection are pending`; "" if there are none."""
    if not plan.outside:
        return ""
    return f"{count(plan.outside, 'change')} outside the selection {'is' if plan.outside == 1 else 'are'} pending"


def forecast_text(ahead: Forecast) -> str:
    """`Apply needs 23 writes and about 40 reads: about 3 s.`"""
    waiting = f", {duration(ahead.held)} of them waiting for the rate limit" if ahead.held else ""
    return f"Apply needs {count(ahead.writes, 'write')} and about {count(ahead.reads, 'read')}: about {duration(ahead.seconds)}{waiting}."


# -- changes ------------------------------------------------------------------------------------------------------------------------


def _from_defaults(delta: Delta) -> str:
    return f"{delta.name} (from defaults)" if delta.from_defaults else delta.name


def _likeness(change: Change) -> object:
    """The key of equal changes: creates of one kind are equal; other changes only if the same fields change for the same cause."""
    if change.destructive:
        return None
    fields = (
        ()
        if Action.CREATE in change.actions
        else tuple((delta.name, delta.cause, delta.note, delta.from_defaults) for delta in change.fields)
    )
    return (change.kind, change.actions, fields)


def _folded(change: Change, names: str) -> list[SheetLine]:
    """A line for each action of a group of such changes."""
    fields = [_from_defaults(delta) for delta in change.fields] if Action.CREATE not in change.actions else []
    texts = {Action.UPDATE: f"{', '.join(fields)} of {names}" if fields else names}
    return [SheetLine(STYLES[action], SYMBOLS[action], action, texts.get(action, names)) for action in change.actions]


def _change(change: Change, zone: tzinfo | None) -> EntryPart:
    """One change: its address and source, then its actions, then its fields, then its location."""
    # The container of a moved object is shown as its location.
    fields = [delta for delta in change.fields if not _is_container(change, delta)]
    lines: list[SheetLine] = []
    for index, action in enumerate(action for action in ALONE if action in change.actions):
        what = _object_and_reason(change, action, zone) if index == 0 else ""
        # The fields of a create say that it is one, by their `+`.
        if what or action is not Action.CREATE or not change.fields:
            lines.append(SheetLine(STYLES[action], SYMBOLS[action], action, what, harm=HARMS.get(action)))
    if change.reason and not set(ALONE) & set(change.actions):
        first = change.actions[0]
        lines.append(SheetLine(STYLES[first], SYMBOLS[first], first, _reason(change, zone)))
    for delta in fields:
        lines += _field(change, delta)
    if Action.MOVE in change.actions:
        lines += _move(change)
    # Who deleted it is news; where it is declared is not.
    is_news = Action.RESTORE in change.actions and Action.RENAME not in change.actions and not change.deleted_by_us
    return EntryPart(
        title=str(change.address),
        lines=lines,
        weight=Weight.URGENT if change.destructive else Weight.CHANGE,
        rank=_rank(change),
        source=change.source if change.source is not None and change.source.line and not is_news else None,
        where="drift: deleted outside Reconciler" if is_news else "",
        kind=change.kind,
        likeness=_likeness(change),
        folded=partial(_folded, change),
    )


def _rank(change: Change) -> Rank:
    if Action.DELETE in change.actions:
        return Rank.DELETE
    return Rank.REPLACE if change.destructive else Rank.CHANGE


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


def _hindered(plan: Plan, full: bool, more: str) -> Iterator[EntryPart]:
    for address, reason in plan.deferred.items():
        line = SheetLine(Style.BLOCKED, "!", "waits", f"in a second run: {reason}", id="RC-second-run")
        yield _held(str(address), [line], likeness=reason)
    for address in plan.in_doubt:
        yield _held(str(address), [SheetLine(Style.BLOCKED, "?", "in doubt", DOUBT, id="RC-in-doubt")])
    for unread in plan.unknown:
        text = f"{unread.reason}; none is created, deleted or reported as drift"
        yield _held(unread.what, [SheetLine(Style.BLOCKED, "?", "unknown", text, id="RC-unread")])
    # Each cause, with the addresses that wait for it: these have no entries of their own, because unblocking the cause unblocks them.
    own = {resource.address for resource in plan.blocked if resource.cause is None}
    causes = {resource.address: resource.cause for resource in plan.blocked if resource.cause is not None}
    # What waits for the old container of a probable rename waits for the new one, which alone is unblocked.
    outer = {address: causes.get(cause, cause) for address, cause in causes.items()}
    waiting: dict[Address, list[str]] = {}
    for resource in plan.blocked:
        if outer.get(resource.address) in own:
            waiting.setdefault(outer[resource.address], []).append(str(resource.address))
    for resource in plan.blocked:
        if outer.get(resource.address) not in own:
            yield _blocked(resource, waiting.pop(resource.address, []), full, more)


def held_parts(held: HeldPart, *, full: bool = True, more: str = FULL) -> Iterator[EntryPart]:
    """What a guard refuses and this run leaves alone: one block, with the reasons, the options that allow it, and the changes."""
    if not held:
        return
    lines: list[SheetLine] = []
    for refusal in held.refusals:
        first, *rest = refusal.message.split("\n")
        lines.append(SheetLine(Style.BLOCKED, "!", "held", f"{first} [{refusal.id}]", id=refusal.id))
        lines += [SheetLine(Style.DIM, " ", "", text.strip()) for text in (*rest, *refusal.remedy.split("\n")) if text.strip()]
    shown = held.changes if full or len(held.changes) <= FOLD else held.changes[:FOLD]
    for change in shown:
        what = ", ".join(change.actions) or "more readers"
        why = "" if change.refused else "belongs to what is refused"
        lines.append(SheetLine(Style.DIM, " ", what, str(change.address), why))
    if len(shown) < len(held.changes):
        lines.append(SheetLine(Style.DIM, " ", "", f"and {len(held.changes) - len(shown):,} more; {more} shows each"))
    yield _held(held_count(held), lines)


def _blocked(blocked: Blocked, waiting: list[str], full: bool, more: str) -> EntryPart:
    reason = f"{blocked.reason} [{blocked.id}]" if blocked.id else blocked.reason
    lines = [SheetLine(Style.BLOCKED, "!", "blocked", reason, id=blocked.id), SheetLine(Style.DIM, " ", "", blocked.remedy)]
    if waiting:
        way = f"; {more} lists them" if len(waiting) > MOST_ADDRESSES and not full else ""
        names = listed(waiting, len(waiting) if full else MOST_ADDRESSES)
        lines.append(SheetLine(Style.DIM, " ", "waiting", f"{count(len(waiting), 'resource')}: {names}{way}"))
    likeness = None if waiting else (blocked.reason, blocked.remedy, blocked.id)
    return _held(str(blocked.address), lines, source=blocked.source, likeness=likeness)


def _held(title: str, lines: Sequence[SheetLine], *, source: Source | None = None, likeness: object = None) -> EntryPart:
    """Something that this run leaves alone."""
    return EntryPart(title=title, lines=lines, weight=Weight.HINDERED, rank=Rank.HELD, source=source, likeness=likeness)


# -- what people must know before they approve --------------------------------------------------------------------------------------


def exposure_parts(exposures: Iterable[Exposure]) -> Iterator[EntryPart]:
    """What becomes public or loses a protection."""
    for exposure in exposures:
        line = SheetLine(Style.DELETE, "!", "exposure", _exposure_text(exposure), id=exposure.id, harm=Harm.EXPOSURE)
        yield EntryPart(
            title=str(exposure.address),
            lines=[line, *(SheetLine(Style.DIM, " ", "", detail) for detail in _exposure_details(exposure))],
            weight=Weight.URGENT,
            rank=Rank.EXPOSURE,
            source=exposure.source,
            kind=exposure.kind,
            likeness=(exposure.kind, exposure.field, repr(exposure.before), repr(exposure.after), exposure.says),
            # Members of a folded group have different readers.
            folded=partial(_named, [line]),
        )


def _named(lines: Sequence[SheetLine], names: str) -> list[SheetLine]:
    return [SheetLine(Style.PLAIN, " ", "", names), *lines]


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
        yield f"also for {listed(list(map(str, exposure.reaches)), MOST_ADDRESSES)}"
    if len(exposure.path) > 1:
        yield f"by {' -> '.join(exposure.path)}"


def _forbidden(plan: Plan) -> Iterator[EntryPart]:
    for request in plan.forbidden:
        text = f"{request.verb}: the service says that the token lacks {request.flag} of {request.of}"
        lines = [SheetLine(Style.BLOCKED, "!", "forbidden", text, id=request.id), SheetLine(Style.DIM, " ", "", ROLE)]
        yield _held(str(request.address), lines, likeness=(request.verb, request.flag, request.of))


def _broken(plan: Plan) -> Iterator[EntryPart]:
    for url in plan.broken:
        after = f" -> {url.after}" if url.after is not None else ""
        line = SheetLine(Style.DELETE, "!", "breaks", f"{url.before or HIDDEN_URL}{after}", url.reason, url.id, harm=Harm.DEAD_URL)
        yield EntryPart(title=str(url.address), lines=[line], weight=Weight.URGENT, rank=Rank.URL, source=url.source)


def violation_parts(violations: Iterable[Violation], *, remedies: bool) -> Iterator[EntryPart]:
    """The violated rules, those that refuse the run last. `remedies`: with the remedy of each."""
    for violation in violations:
        style, word = RULES[violation.level]
        rule = f" ({violation.source.file_and_line})" if violation.source is not None else ""
        lines = [SheetLine(style, "!", word, f"{violation.name}: {violation.message}{rule}", id=violation.id)]
        remedy = [SheetLine(Style.DIM, " ", "", violation.remedy)] if remedies and violation.remedy else []
        path = [SheetLine(Style.DIM, " ", "", f"by {' -> '.join(violation.path)}")] if len(violation.path) > 1 else []
        refuses = violation.level is Severity.ERROR
        yield EntryPart(
            title=WHOLE if violation.address is None else str(violation.address),
            lines=[*lines, *path, *remedy],
            weight=Weight.URGENT if refuses else Weight.HINDERED,
            rank=Rank.VIOLATION if refuses else Rank.WARNING,
            source=violation.declared,
            likeness=(violation.level, violation.name, violation.message),
            # The paths of a group differ.
            folded=partial(_named, [*lines, *remedy]),
        )
