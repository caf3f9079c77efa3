"""Warnings to read before confirming a plan: exposures, broken URLs, requests that the token is not allowed, violated rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from reconciler.address import Address
from reconciler.model import Exposure, Forecast, Plan, Severity, Source, Violation
from reconciler.report.layout import ReportPage, Style
from reconciler.report.values import difference_lines, shown
from reconciler.report.words import count, listed
from reconciler.resource import UNSET
from reconciler.text.times import duration

NAMED: Final = 3  # addresses of a folded group
FOLD: Final = 10  # equal lines; more of them become one
WHOLE: Final = "the whole plan"
VIOLATES: Final = {Severity.ERROR: (Style.BLOCKED, "violation"), Severity.WARNING: (Style.UPDATE, "warning")}
HIDDEN_URL: Final = "its secret URL"
CONSENT: Final = "with --yes, each of these requires --allow-exposure ADDRESS"
ACCEPTING: Final = "apply restores it; accepting it requires --allow-exposure ADDRESS"

LEAVE: Final = "use the token of a member who may, or raise the role of this member"

T = TypeVar("T")


def write(page: ReportPage, plan: Plan, *, full: bool) -> None:
    """Write all warnings; nothing if there are none."""
    exposures(page, plan.exposures, full=full)
    for similar in _alike(plan.forbidden, lambda warning: (warning.verb, warning.flag, warning.of), full):
        _named(page, [warning.address for warning in similar], None)
        page.field(
            Style.BLOCKED,
            "!",
            "forbidden",
            f"{similar[0].verb}: the service says that the token lacks {similar[0].flag} of {similar[0].of}",
        )
        page.cause(similar[0].id)
    if plan.forbidden:
        page.field(Style.DIM, " ", "", LEAVE)
    for broken in plan.broken:
        _named(page, [broken.address], broken.source)
        after = f" -> {broken.after}" if broken.after is not None else ""
        page.field(Style.DELETE, "!", "breaks", f"{broken.before or HIDDEN_URL}{after}", broken.reason)
        page.cause(broken.id)
    violations(page, plan.violations, full=full)


def exposures(page: ReportPage, opened: Iterable[Exposure], *, full: bool, consent: str = CONSENT) -> None:
    """What becomes public or loses a protection. `consent`: what each of them requires."""
    opened = tuple(opened)
    for group in _alike(
        opened, lambda warning: (warning.kind, warning.field, repr(warning.before), repr(warning.after), warning.says), full
    ):
        _named(page, [warning.address for warning in group], group[0].source)
        first = group[0]
        page.field(Style.DELETE, "!", "exposure", _exposure_text(first))
        page.cause(first.id)
        for detail in _details(first) if len(group) == 1 else ():
            page.field(Style.DIM, " ", "", detail)
    if any(warning.asked for warning in opened):
        page.field(Style.DIM, " ", "", consent)


def violations(page: ReportPage, violated: Iterable[Violation], *, full: bool, remedies: bool = False) -> None:
    """The violated rules, those that refuse the run last. `remedies`: with the remedy of each."""
    ordered = sorted(violated, key=lambda violation: violation.level is Severity.ERROR)
    for group in _alike(ordered, lambda violation: (violation.level, violation.name, violation.message), full):
        first = group[0]
        addresses = [violation.address for violation in group if violation.address is not None]
        if addresses:
            _named(page, addresses, first.declared)
        else:
            page.head(WHOLE)
        style, word = VIOLATES[first.level]
        where = f" ({first.source.file_and_line})" if first.source is not None else ""
        page.field(style, "!", word, f"{first.name}: {first.message}{where}")
        page.cause(first.id)
        if len(group) == 1 and len(first.path) > 1:
            page.field(Style.DIM, " ", "", f"by {' -> '.join(first.path)}")
        if remedies and first.remedy:
            page.field(Style.DIM, " ", "", first.remedy)


def _exposure_text(exposure: Exposure) -> str:
    """`published false -> true: its readers can read it`; only the last part if no field of the object causes it."""
    if not exposure.field:
        return exposure.says if exposure.readers else f"{'deleted' if exposure.source is None else 'created'}: {exposure.says}"
    return f"{_change(exposure)}: {exposure.says}"


def _details(exposure: Exposure) -> Iterable[str]:
    """Who the readers are, what else they can read, and how they get access."""
    if exposure.readers and exposure.field:
        yield f"readers: {', '.join(exposure.readers)}"
    if exposure.reaches:
        yield f"also for {listed([str(address) for address in exposure.reaches], NAMED)}"
    if len(exposure.path) > 1:
        yield f"by {' -> '.join(exposure.path)}"


def _change(exposure: Exposure) -> str:
    if exposure.before is UNSET:
        return f"{exposure.field} {shown(exposure.after)}"
    return "; ".join(" ".join(line) for line in difference_lines(exposure.field, exposure.before, exposure.after))


def _alike(warnings: Iterable[T], likeness: Callable[[T], object], full: bool) -> list[list[T]]:
    groups: dict[object, list[T]] = {}
    for warning in warnings:
        groups.setdefault(likeness(warning), []).append(warning)
    made: list[list[T]] = []
    for group in groups.values():
        made += [group] if len(group) > FOLD and not full else [[warning] for warning in group]
    return made


def _named(page: ReportPage, addresses: list[Address], source: Source | None) -> None:
    if len(addresses) == 1:
        page.head(str(addresses[0]), source.file_and_line if source is not None else "")
    else:
        page.head(f"{len(addresses):,} resources")
        page.field(Style.PLAIN, " ", "", f"{listed([str(address) for address in addresses], NAMED)}; --full shows each")


def forecast_text(ahead: Forecast) -> str:
    """`Apply needs 23 writes and about 40 reads: about 3 s.`"""
    waiting = f", {duration(ahead.held)} of them waiting for the rate limit" if ahead.held else ""
    return f"Apply needs {count(ahead.writes, 'write')} and about {count(ahead.reads, 'read')}: about {duration(ahead.seconds)}{waiting}."
