"""What an apply did, as people read it: only what did not go well, step by step, and a last line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from reconciler.model import Outcome, Result, Status
from reconciler.report.layout import Page, Span, Style
from reconciler.report.text import WIDTH
from reconciler.report.words import ENDINGS, count


@dataclass(frozen=True)
class Onward:
    """What to expect of the next run: where all is done, and what to do where it is not."""

    done: str = "The plan is now empty."
    again: str = "apply again"


def outcome_text(outcome: Outcome, *, width: int = WIDTH, onward: Onward = Onward()) -> tuple[Span, ...]:
    """The report; nothing but its last line where all went well."""
    page = Page(width)
    write(page, outcome, onward)
    return tuple(page.spans)


def write(page: Page, outcome: Outcome, onward: Onward = Onward()) -> None:
    """Put the report on a page of any kind."""
    troubled = [result for result in outcome.results if result.status is not Status.DONE]
    for address, group in groupby(troubled, key=lambda result: str(result.step.address)):
        page.head(address)
        for result in group:
            _ended(page, result)
    for left in outcome.leftover:
        page.head(str(left))
        page.field(Style.DRIFT, "~", "differs", "a reading after the run still finds it different; someone may have edited it meanwhile")
    for note in outcome.notes:
        page.line(note, Style.DIM)
    page.blank()
    page.line(summary(outcome, onward))


def _ended(page: Page, result: Result) -> None:
    symbol, word = ENDINGS[result.status]
    style = Style.DIM if result.status is Status.SKIPPED else Style.BLOCKED
    page.field(style, symbol, word, f"{result.step.verb}: {result.error or 'no reason was given'}")


def summary(outcome: Outcome, onward: Onward = Onward()) -> str:
    """`Applied 23 requests. The plan is now empty.`"""
    done, steps = outcome.count(Status.DONE), len(outcome.results)
    if done == steps:
        nothing = "Applied; it took no request." if outcome.plan.pending else "Nothing to apply."
        said = f"Applied {count(done, 'request')}." if steps else nothing
    else:
        parts = [
            f"{outcome.count(status):,} {word}"
            for status, word in ((Status.FAILED, "failed"), (Status.IN_DOUBT, "in doubt"), (Status.SKIPPED, "skipped"))
            if outcome.count(status)
        ]
        said = f"Applied {done:,} of {count(steps, 'request')}: {', '.join(parts)}."
    return " ".join([f"{outcome.stopped.capitalize()}.", said] if outcome.stopped else [said]) + _onward(outcome, onward, done == steps)


def _onward(outcome: Outcome, onward: Onward, whole: bool) -> str:
    """What to expect of the next run."""
    plan = outcome.plan
    if outcome.stopped or not whole:
        doubt = " The next apply reads what became of what is in doubt." if outcome.count(Status.IN_DOUBT) else ""
        return f"{doubt} Run it again to go on."
    if plan.deferred:
        return f" {count(len(plan.deferred), 'resource')} left for a second run: {onward.again}."
    if outcome.leftover:
        return f" {count(len(outcome.leftover), 'resource')} changed meanwhile: plan again."
    open_ends = [
        f"{len(plan.blocked):,} blocked" if plan.blocked else "",
        f"{len(plan.in_doubt):,} in doubt" if plan.in_doubt else "",
        f"{count(len(plan.unknown), 'reading')} failed" if plan.unknown else "",
    ]
    left = ", ".join(filter(None, open_ends))
    return f" Left: {left}." if left else f" {onward.done}"
