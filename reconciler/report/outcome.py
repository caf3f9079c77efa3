"""The result of an apply for people: what went wrong, step by step, and a summary."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Final

from reconciler.model import Edited, Outcome, StepResult, StepStatus
from reconciler.report.layout import ReportPage, Span, Style
from reconciler.report.text import WIDTH, blocked, outside
from reconciler.report.values import HIDDEN, difference_lines
from reconciler.report.words import CAUSES, ENDINGS, NOT_VISIBLE, count

_UNDONE: Final = (
    (StepStatus.FAILED, "failed"),
    (StepStatus.IN_DOUBT, "in doubt"),
    (StepStatus.STALE, "stale"),
    (StepStatus.SKIPPED, "skipped"),
)


@dataclass(frozen=True)
class Onward:
    """The text about the next run: if everything is done, and if not."""

    done: str = "The plan is now empty."
    again: str = "apply again"


def outcome_text(outcome: Outcome, *, width: int = WIDTH, onward: Onward = Onward()) -> tuple[Span, ...]:
    """The report; only its last line if everything succeeded."""
    page = ReportPage(width)
    write(page, outcome, onward)
    return tuple(page.spans)


def write(page: ReportPage, outcome: Outcome, onward: Onward = Onward()) -> None:
    """Write the report to a page of any kind."""
    troubled = [result for result in outcome.results if result.status is not StepStatus.DONE]
    for address, group in groupby(troubled, key=lambda result: str(result.step.address)):
        page.head(address)
        for result in group:
            _ended(page, result)
    for left in outcome.leftover:
        page.head(str(left))
        page.field(Style.DRIFT, "~", "differs", "still different when it was read after the run")
        page.cause("RC-left-over")
    for address, edits in groupby(outcome.edited, key=lambda edit: str(edit.address)):
        page.head(address, "changed by somebody else during the run", Style.DRIFT)
        for edit in edits:
            _edited(page, edit)
    for unread in outcome.unverified:
        page.head(str(unread))
        page.field(Style.BLOCKED, "?", "not checked", "it was written and could not be read again")
        page.cause("RC-not-verified")
    for hidden in outcome.not_visible:
        page.head(str(hidden))
        page.field(Style.BLOCKED, "?", "not visible", NOT_VISIBLE)
        page.cause("RC-not-visible-yet")
    for note in outcome.notes:
        page.line(note, Style.DIM)
    page.blank()
    page.line(summary(outcome, onward))


def withheld(page: ReportPage, outcome: Outcome) -> None:
    """Write to a page which parts of a saved plan were not done."""
    if outcome.withheld is None:
        return
    for address, reason in sorted(outcome.withheld.refused.items()):
        page.head(address)
        page.field(Style.BLOCKED, "!", "refused", f"the saved plan shows it, but {reason}")
        page.cause("RC-saved-plan-stale")
    for address in outcome.withheld.new:
        page.head(address)
        page.field(Style.DIM, " ", "new", "not in the saved plan; not applied")


def _ended(page: ReportPage, result: StepResult) -> None:
    symbol, word = ENDINGS[result.status]
    style = Style.DIM if result.status is StepStatus.SKIPPED else Style.BLOCKED
    page.field(style, symbol, word, f"{result.step.verb}: {result.error or 'no reason was given'}")
    page.cause(result.id or CAUSES[result.status])


def _edited(page: ReportPage, edit: Edited) -> None:
    if edit.field is None:
        page.field(Style.DRIFT, "~", "differs", edit.says)
    else:
        lines = [(edit.field, HIDDEN)] if edit.sensitive else difference_lines(edit.field, edit.before, edit.after)
        for name, value in lines:
            page.field(Style.DRIFT, "~", name, value)


def summary(outcome: Outcome, onward: Onward = Onward()) -> str:
    """`Applied 23 requests. The plan is now empty.`"""
    done, steps = outcome.count(StepStatus.DONE), len(outcome.results)
    if done == steps:
        if outcome.stopped and not steps:
            return f"{_capital(outcome.stopped)}.{_onward(outcome, onward, False)}"
        nothing = "Applied without any requests." if outcome.plan.pending else "Nothing to apply."
        line = f"Applied {count(done, 'request')}." if steps else nothing
    else:
        parts = [f"{outcome.count(status):,} {word}" for status, word in _UNDONE if outcome.count(status)]
        line = f"Applied {done:,} of {count(steps, 'request')}: {', '.join(parts)}."
    return " ".join([f"{_capital(outcome.stopped)}.", line] if outcome.stopped else [line]) + _onward(outcome, onward, done == steps)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _onward(outcome: Outcome, onward: Onward, whole: bool) -> str:
    """The text about the next run."""
    plan = outcome.plan
    others = len({edit.address for edit in outcome.edited})
    edited = f" Somebody else changed {count(others, 'resource')} during the run: plan again." if others else ""
    doubt = " The next apply resolves the requests in doubt." if outcome.count(StepStatus.IN_DOUBT) else ""
    if outcome.onward is not None:
        return f"{doubt}{edited} {outcome.onward}"
    if outcome.stopped or not whole:
        return f"{doubt}{edited} Run it again to continue."
    if plan.deferred:
        return f" {count(len(plan.deferred), 'resource')} left for a second run: {onward.again}."
    if edited:
        return edited
    if outcome.unverified:
        return f" {count(len(outcome.unverified), 'resource')} could not be read again: plan again."
    if outcome.not_visible:
        return f" {count(len(outcome.not_visible), 'resource')} not visible yet: plan again."
    if outcome.leftover:
        return f" {count(len(outcome.leftover), 'resource')} not as declared yet: plan again."
    open_ends = [
        blocked(plan),
        f"{len(plan.in_doubt):,} in doubt" if plan.in_doubt else "",
        f"{count(len(plan.unknown), 'reading')} failed" if plan.unknown else "",
    ]
    left = ", ".join(filter(None, open_ends))
    beyond = outside(plan)
    if left:
        return f" Left: {left}{f'; {beyond}' if beyond else ''}."
    number = plan.ignored_count
    ignored = f" {count(number, 'difference')} ignored." if number else ""
    return (f" Nothing left to do for the selected addresses; {beyond}." if beyond else f" {onward.done}") + ignored
