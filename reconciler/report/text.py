"""A plan as people read it: every change with its reason and its position in the files, what cannot be done, and a summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo
from typing import Final, TypeVar

from reconciler.address import Address
from reconciler.model import Action, Blocked, Change, Plan, Source
from reconciler.plan.warnings.outside import ID as OUTSIDE
from reconciler.report import change as one
from reconciler.report import warnings
from reconciler.report.layout import ReportPage, Span, Style, cells, environment_header
from reconciler.report.words import DESTRUCTIVE, STYLES, SYMBOLS, TOLD, count, listed

FOLD: Final = 10  # equal changes; more of them become one line
NAMED: Final = 3  # of the folded ones are named
WIDTH: Final = 100  # columns if the width of the reader's screen is unknown
DOUBT: Final = "a request of an earlier run is in doubt; reconciler apply finds out what happened to it"
SOURCE_MAX: Final = 60  # the farthest column where sources begin

T = TypeVar("T")


def plan_text(plan: Plan, *, width: int = WIDTH, full: bool = False, zone: tzinfo | None = UTC) -> tuple[Span, ...]:
    """The whole report. `full`: equal changes are not folded. `zone`: of its times."""
    page = ReportPage(width, source=_source_column(plan, width), zone=zone)
    write(page, plan, full=full)
    return (*environment_header(plan.environment), *page.spans)


def write(page: ReportPage, plan: Plan, *, full: bool) -> None:
    """Write the report to a page of any kind."""
    calm = [change for change in plan.changes if not DESTRUCTIVE & set(change.actions)]
    for group in _groups(calm, full):
        if len(group) > 1:
            _folded(page, group)
        else:
            one.write(page, group[0])
    _cannot(page, plan, full)
    for change in _destructive(plan.changes):
        one.write(page, change)
    warnings.write(page, plan, full=full)
    for note in plan.notes:
        page.line(note, Style.DIM)
    page.blank()
    page.line(summary(plan))


def summary(plan: Plan) -> str:
    """`Plan: 1 to update, 1 to move; 14 objects unmanaged. 3 requests.`"""
    extra = [
        blocked(plan),
        f"{count(len(plan.exposures), 'exposure')}" if plan.exposures else "",
        f"{count(len(plan.broken), 'published URL', 'published URLs')} broken" if plan.broken else "",
        *violations(plan),
        f"{len(plan.deferred):,} after a second run" if plan.deferred else "",
        f"{len(plan.in_doubt):,} in doubt" if plan.in_doubt else "",
        f"{count(len(plan.unknown), 'reading')} failed" if plan.unknown else "",
        f"{count(plan.ignored_count, 'difference')} ignored" if plan.ignored else "",
    ]
    troubles = ", ".join(part for part in extra if part)
    beyond = outside(plan)
    if plan.empty:
        nothing = "No changes for the selected addresses." if plan.outside else "No changes."
        line = f"{nothing} {count(plan.managed, 'object')} managed" + ("." if plan.files_only else f", {len(plan.unmanaged):,} unmanaged.")
        return " ".join([line, *([f"{troubles[0].upper()}{troubles[1:]}."] if troubles else []), *([f"{beyond}."] if beyond else [])])
    numbers = {action: sum(action in change.actions for change in plan.changes) for action in TOLD}
    nothing = "nothing to do"
    if plan.exposures:
        nothing = "an exposure to record" if any(exposure.id == OUTSIDE for exposure in plan.exposures) else "a looser rule to record"
    todo = ", ".join(f"{number:,} to {action}" for action, number in numbers.items() if number) or nothing
    rest = [troubles, f"{count(len(plan.unmanaged), 'object')} unmanaged" if plan.unmanaged else "", beyond]
    return "; ".join(["Plan: " + todo, *filter(None, [", ".join(filter(None, rest))])]) + f". {count(len(plan.steps), 'request')}."


def blocked(plan: Plan) -> str:
    """`1 blocked`, or `69 blocked by 6 causes`; "" if nothing is."""
    causes = sum(resource.cause is None for resource in plan.blocked)
    if not plan.blocked:
        return ""
    by = f" by {count(causes, 'cause')}" if 0 < causes < len(plan.blocked) else ""
    return f"{len(plan.blocked):,} blocked{by}"


def violations(plan: Plan) -> list[str]:
    """`2 violations`, `1 warning`; one item per severity."""
    numbers = [(sum(violation.level is level for violation in plan.violations), word) for level, (_, word) in warnings.VIOLATES.items()]
    return [count(number, word) for number, word in numbers if number]


def outside(plan: Plan) -> str:
    """The pending changes that the run does not make: `3 changes outside the selection are pending`; "" if there are none."""
    if not plan.outside:
        return ""
    return f"{count(plan.outside, 'change')} outside the selection {'is' if plan.outside == 1 else 'are'} pending"


def _source_column(plan: Plan, width: int) -> int:
    addresses = [*(item.address for item in plan.changes), *plan.deferred, *plan.in_doubt, *(item.address for item in plan.blocked)]
    longest = max((cells(str(address)) for address in addresses), default=0)
    return max(41, min(longest + 2, SOURCE_MAX, width // 2))


# -- folding ----------------------------------------------------------------------------------------------------------------------


def _groups(changes: Sequence[Change], full: bool) -> list[list[Change]]:
    """The changes in their order; more than FOLD equal ones as one group at the position of the first."""
    alike: dict[object, list[Change]] = {}
    for change in changes:
        alike.setdefault(change.address if full else _likeness(change), []).append(change)
    groups: list[list[Change]] = []
    for group in alike.values():
        groups += [group] if len(group) > FOLD else [[change] for change in group]
    position = {change.address: index for index, change in enumerate(changes)}
    return sorted(groups, key=lambda group: position[group[0].address])


def _likeness(change: Change) -> object:
    """The key of equal changes: creates of one kind are equal; other changes only if the same fields change for the same cause."""
    fields = () if Action.CREATE in change.actions else tuple((delta.name, delta.cause, delta.note) for delta in change.fields)
    return (change.kind, change.actions, fields)


def _folded(page: ReportPage, group: Sequence[Change]) -> None:
    kind, actions = group[0].kind, group[0].actions
    page.head(f"{len(group):,} × {kind}", _files(change.source for change in group))
    names = f"{listed([str(change.address) for change in group], NAMED)}; --full shows each"
    fields = [delta.name for delta in group[0].fields] if Action.CREATE not in actions else []
    for action in actions:
        what = f"{', '.join(fields)} of {names}" if action is Action.UPDATE and fields else names
        page.field(STYLES[action], SYMBOLS[action], action, what)


def _files(sources: Iterable[Source | None]) -> str:
    files = sorted({source.file for source in sources if source is not None})
    return listed(files, 2)


# -- what cannot be done now ------------------------------------------------------------------------------------------------------


def _cannot(page: ReportPage, plan: Plan, full: bool) -> None:
    for addresses, reason in _alike(((address, reason) for address, reason in plan.deferred.items()), full):
        _named(page, addresses)
        page.field(Style.BLOCKED, "!", "waits", f"in a second run: {reason}")
        page.cause("RC-second-run")
    for address in plan.in_doubt:
        page.head(str(address))
        page.field(Style.BLOCKED, "?", "in doubt", DOUBT)
        page.cause("RC-in-doubt")
    for unread in plan.unknown:
        page.head(unread.what)
        page.field(Style.BLOCKED, "?", "unknown", f"{unread.reason}; none is created, deleted or reported as drift")
        page.cause("RC-unread")
    _blocked(page, plan.blocked, full)


def _blocked(page: ReportPage, blocked: Sequence[Blocked], full: bool) -> None:
    """Each cause, with the addresses that wait for it; these have no lines of their own."""
    own = {resource.address for resource in blocked if resource.cause is None}
    causes = [resource for resource in blocked if resource.cause not in own]
    waiting: dict[Address, list[str]] = {}
    for resource in blocked:
        if resource.cause is not None and resource.cause in own:
            waiting.setdefault(resource.cause, []).append(str(resource.address))
    sources = {resource.address: resource.source for resource in causes}
    said = ((resource.address, (resource.reason, resource.remedy, resource.id)) for resource in causes)
    for addresses, (reason, remedy, id) in _alike(said, full):
        _named(page, addresses, sources[addresses[0]])
        page.field(Style.BLOCKED, "!", "blocked", f"{reason} [{id}]")
        page.cause(id)
        page.field(Style.DIM, " ", "", remedy)
        names = [name for address in addresses for name in waiting.get(address, ())]
        if names:
            more = "; --full lists them" if len(names) > NAMED and not full else ""
            page.field(Style.DIM, " ", "waiting", f"{count(len(names), 'resource')}: {listed(names, len(names) if full else NAMED)}{more}")


def _alike(pairs: Iterable[tuple[Address, T]], full: bool) -> list[tuple[list[Address], T]]:
    """The addresses by message, in the order of the first; grouped only if they are more than FOLD."""
    groups: dict[T, list[Address]] = {}
    for address, line in pairs:
        groups.setdefault(line, []).append(address)
    folded: list[tuple[list[Address], T]] = []
    for line, addresses in groups.items():
        folded += [(addresses, line)] if len(addresses) > FOLD and not full else [([address], line) for address in addresses]
    return folded


def _named(page: ReportPage, addresses: Sequence[Address], source: Source | None = None) -> None:
    if len(addresses) == 1:
        page.head(str(addresses[0]), source.file_and_line if source is not None else "")
    else:
        page.head(f"{len(addresses):,} resources")
        page.field(Style.PLAIN, " ", "", f"{listed([str(address) for address in addresses], NAMED)}; --full shows each")


def _destructive(changes: Sequence[Change]) -> list[Change]:
    """The destructive changes, which come last and are never folded: replacements, then deletes."""
    destructive = [change for change in changes if DESTRUCTIVE & set(change.actions)]
    return sorted(destructive, key=lambda change: Action.DELETE in change.actions)
