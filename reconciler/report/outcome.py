"""The sheet of an apply: what went wrong, step by step, and a summary that says what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reconciler.model import Edited, Outcome, StepResult, StepStatus
from reconciler.report.gathering import EntryPart, gathered
from reconciler.report.layout import Style
from reconciler.report.plan import blocked, held_count, held_parts, pending_outside
from reconciler.report.sections import HEADINGS, Rank
from reconciler.report.sheet import PicturePart, Sheet, SheetLine, Weight
from reconciler.report.words import CAUSES, ENDINGS, HIDDEN, count, difference_lines

EMPTY: Final = "The plan is now empty."
AGAIN: Final = "apply again"


def outcome_sheet(outcome: Outcome, *, done: str = EMPTY, again: str = AGAIN, not_applied: bool = True) -> Sheet:
    """What went wrong, step by step, and a summary; only the summary if everything succeeded.

    `done`: the sentence if nothing is left to do; `again`: how to continue otherwise. `not_applied`: also which parts of a saved plan were
    not done, and what is held; a screen showed them before it asked.
    """
    lines = [*_parts(outcome), *([*_not_applied(outcome), *held_parts(outcome.plan.held)] if not_applied else [])]
    entries = gathered(lines, {0: "Not as planned", Rank.HELD: HEADINGS[Rank.HELD]})
    styles = {
        StepStatus.DONE: Style.CREATE,
        StepStatus.FAILED: Style.DELETE,
        StepStatus.ASKED: Style.BLOCKED,
        StepStatus.IN_DOUBT: Style.BLOCKED,
        StepStatus.STALE: Style.DRIFT,
        StepStatus.SKIPPED: Style.DIM,
    }
    parts = [PicturePart(status.value, number, style) for status, style in styles.items() if (number := outcome.count(status))]
    refused = len(outcome.not_applied.refused) if outcome.not_applied is not None else 0
    if refused:
        parts.append(PicturePart("refused", refused, Style.BLOCKED))
    return Sheet(
        "outcome",
        outcome.plan.project,
        outcome.plan.environment,
        summary(outcome, done=done, again=again),
        entries,
        outcome.notes,
        parts,
        headline=_headline(outcome, refused),
        quiet=not outcome.results and not entries,
    )


def _parts(outcome: Outcome) -> Iterator[EntryPart]:
    hindered = Weight.HINDERED
    for result in outcome.results:
        if result.status is not StepStatus.DONE:
            urgent = result.status in (StepStatus.FAILED, StepStatus.ASKED, StepStatus.IN_DOUBT)
            yield EntryPart(title=str(result.step.address), lines=[_ended(result)], weight=Weight.URGENT if urgent else hindered)
    for left in outcome.leftover:
        text = "still different when it was read after the run"
        yield EntryPart(title=str(left), lines=[SheetLine(Style.DRIFT, "~", "differs", text, id="RC-left-over")], weight=hindered)
    for edit in outcome.edited:
        yield EntryPart(title=str(edit.address), lines=_edited(edit), weight=hindered, where="changed by somebody else during the run")
    for unread in outcome.unverified:
        text = "it was written and could not be read again"
        yield EntryPart(
            title=str(unread), lines=[SheetLine(Style.BLOCKED, "?", "not checked", text, id="RC-not-verified")], weight=hindered
        )
    for hidden in outcome.not_visible:
        text = "it was written, and the service still shows its previous state"
        yield EntryPart(
            title=str(hidden), lines=[SheetLine(Style.BLOCKED, "?", "not visible", text, id="RC-not-visible-yet")], weight=hindered
        )


def _not_applied(outcome: Outcome) -> Iterator[EntryPart]:
    if outcome.not_applied is not None:
        for address, reason in sorted(outcome.not_applied.refused.items()):
            text = f"the saved plan shows it, but {reason}"
            line = SheetLine(Style.BLOCKED, "!", "refused", text, id="RC-saved-plan-stale")
            yield EntryPart(title=address, lines=[line], weight=Weight.URGENT)
        for address in outcome.not_applied.new:
            line = SheetLine(Style.DIM, " ", "new", "not in the saved plan; not applied")
            yield EntryPart(title=address, lines=[line], weight=Weight.HINDERED)


def _ended(result: StepResult) -> SheetLine:
    symbol, word = ENDINGS[result.status]
    # A skipped step is the consequence of one that failed and is listed too.
    style = Style.DIM if result.status is StepStatus.SKIPPED else Style.BLOCKED
    text = f"{result.step.verb}: {result.error or 'no reason was given'}"
    return SheetLine(style, symbol, word, text, id=result.id or CAUSES[result.status])


def _edited(edit: Edited) -> list[SheetLine]:
    if edit.field is None:
        return [SheetLine(Style.DRIFT, "~", "differs", edit.says)]
    pairs = [(edit.field, HIDDEN)] if edit.sensitive else difference_lines(edit.field, edit.before, edit.after)
    return [SheetLine(Style.DRIFT, "~", name, value) for name, value in pairs]


def summary(outcome: Outcome, *, done: str = EMPTY, again: str = AGAIN) -> str:
    """`Applied 23 requests. The plan is now empty.`"""
    stopped = f"{outcome.stopped[:1].upper()}{outcome.stopped[1:]}." if outcome.stopped else ""
    line = "Applied without any requests." if outcome.plan.pending else "Nothing to apply."
    if outcome.results:
        line = f"{_applied(outcome)}."
    elif stopped:
        line = ""
    return " ".join(filter(None, [stopped, line])) + _next(outcome, done, again)


def _applied(outcome: Outcome, refused: int = 0) -> str:
    """`Applied 20 of 23 requests: 1 failed, 2 skipped`."""
    done, steps = outcome.count(StepStatus.DONE), len(outcome.results)
    parts = [f"{number:,} {word}" for status, (_, word) in ENDINGS.items() if (number := outcome.count(status))]
    parts += [f"{refused:,} refused"] if refused else []
    of = f"{done:,} of {count(steps, 'request')}" if done < steps else count(done, "request")
    return f"Applied {of}" + (f": {', '.join(parts)}" if parts else "")


def _headline(outcome: Outcome, refused: int) -> str:
    """The numbers alone: a document does not say whether anything is left for the next run."""
    if outcome.results:
        return f"{_applied(outcome, refused)}."
    return f"Nothing was applied: {refused:,} refused." if refused else "Nothing was applied."


def _next(outcome: Outcome, done: str, again: str) -> str:
    """The sentence about the next run."""
    plan = outcome.plan
    # In the order of urgency: the first that applies says what to do, and what comes after it will be said by the next run.
    others = len({edit.address for edit in outcome.edited})
    edited = f" Somebody else changed {count(others, 'resource')} during the run: plan again." if others else ""
    doubt = " The next apply resolves the requests in doubt." if outcome.count(StepStatus.IN_DOUBT) else ""
    if outcome.next_step is not None:
        return f"{doubt}{edited} {outcome.next_step}"
    if not outcome.went_through:
        return f"{doubt}{edited} Run it again to continue."
    if plan.deferred:
        return f" {count(len(plan.deferred), 'resource')} left for a second run: {again}."
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
        held_count(plan.held),
        f"{len(plan.in_doubt):,} in doubt" if plan.in_doubt else "",
        f"{count(len(plan.unknown), 'reading')} failed" if plan.unknown else "",
    ]
    left = ", ".join(filter(None, open_ends))
    beyond = pending_outside(plan)
    if left:
        return f" Left: {left}{f'; {beyond}' if beyond else ''}."
    number = plan.ignored_count
    ignored = f" {count(number, 'difference')} ignored." if number else ""
    return (f" Nothing left to do for the selected addresses; {beyond}." if beyond else f" {done}") + ignored
