"""A rehearsal for people and as data: the worst moment first, then readers, URLs, and what would be refused.

Rehearsal -> rehearsal_sheet -> text, Markdown, HTML
          -> rehearsal_document
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from reconciler.model.rehearsal import ReaderChange, Rehearsal, RehearsedMoment
from reconciler.report.documents import R, record
from reconciler.report.layout import Style
from reconciler.report.schemas import rehearsal as types
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import count

NAMED: Final = 3  # objects, URLs or sentences of one group in a text; the document has all


def rehearsal_document(rehearsal: Rehearsal) -> types.RehearsalDocument:
    """The document of a rehearsal."""
    worst = rehearsal.worst
    return {
        "format": "reconciler.rehearsal/1",
        "project": rehearsal.project,
        "environment": rehearsal.environment,
        "digests": {"plan": rehearsal.plan_digest, "reading": rehearsal.reading_digest},
        "requests": {"copy": rehearsal.copy_requests, "apply": rehearsal.writes},
        "secondPlanEmpty": not rehearsal.remaining,
        "remaining": list(rehearsal.remaining),
        "undo": {"exact": rehearsal.undo_exact, "leftovers": list(rehearsal.leftovers)},
        "readers": {"gained": _changes(rehearsal.gained), "lost": _changes(rehearsal.lost)},
        "urls": {
            "before": rehearsal.urls_before,
            "after": rehearsal.urls_after,
            "dead": list(rehearsal.dead),
            "moved": [record(types.MovedUrlData, moved) for moved in rehearsal.moved],
        },
        "worst": None if worst is None else _moment(types.WorstData, worst, of=rehearsal.writes),
        "moments": [_moment(types.MomentData, moment) for moment in rehearsal.moments],
        "refusals": list(rehearsal.refusals),
        "failures": list(rehearsal.failures),
        "divergences": list(rehearsal.divergences),
        "assumptions": list(rehearsal.assumptions),
        "unread": list(rehearsal.unread),
    }


def _moment(shape: Callable[..., R], moment: RehearsedMoment, **keys: int) -> R:
    return record(shape, moment, deadUrls=moment.dead_urls, readersGained=moment.readers_gained, **keys)


def _changes(changes: Iterable[ReaderChange]) -> list[types.ReaderChangeData]:
    return [
        {
            "reader": change.reader,
            "kind": change.kind,
            "title": change.title,
            "address": None if change.address is None else str(change.address),
        }
        for change in changes
    ]


def rehearsal_sheet(rehearsal: Rehearsal) -> Sheet:
    """A rehearsal of any size in at most 25 lines."""
    return Sheet(
        "rehearsal",
        rehearsal.project,
        rehearsal.environment,
        summary(rehearsal),
        [entry for entry in _entries(rehearsal) if entry.lines],
        rehearsal.assumptions,
        headline=summary(rehearsal).removeprefix("Rehearsal: "),
        quiet=rehearsal.as_planned and rehearsal.worst is None,
    )


def summary(rehearsal: Rehearsal) -> str:
    """`Rehearsal: 12 requests applied to a copy, as planned; undo takes everything back.`"""
    done = f"Rehearsal: {count(rehearsal.writes, 'request')} applied to a copy"
    done += ", as planned; " if rehearsal.as_planned else ", NOT as planned; "
    return done + (
        "undo takes everything back." if rehearsal.undo_exact else f"undo leaves {count(len(rehearsal.leftovers), 'difference')}."
    )


def worst_moment(rehearsal: Rehearsal) -> str:
    """What people would see if the apply stopped at its worst moment."""
    worst = rehearsal.worst
    if worst is None:
        return "no moment is worse than the start"
    dead = f"{count(worst.dead_urls, 'URL')} {'is' if worst.dead_urls == 1 else 'are'} 404" if worst.dead_urls else "every URL answers"
    gained = f"readers gain {count(worst.readers_gained, 'object')} in all" if worst.readers_gained else "nobody reads more"
    when = "at the end" if worst.after == rehearsal.writes else f"if it stops after request {worst.after} of {rehearsal.writes}"
    return f"{when}: {dead}, {gained}"


def _entries(rehearsal: Rehearsal) -> Iterator[SheetEntry]:
    if rehearsal.worst is not None:
        yield _entry("Worst moment", [SheetLine(Style.DELETE, "!", "", worst_moment(rehearsal))], Weight.URGENT)
    yield _entry("Defects of Reconciler", _sentences("!", rehearsal.divergences, Style.DELETE), Weight.URGENT)
    yield _entry("Readers", [*_readers("+", "gain", rehearsal.gained), *_readers("-", "lose", rehearsal.lost)], Weight.URGENT)
    moved = [f"{url.before} -> {url.after}" for url in rehearsal.moved]
    yield _entry("URLs", [*_sentences("-", rehearsal.dead, Style.DELETE), *_sentences(">", moved, Style.MOVE)], Weight.URGENT)
    yield _entry("apply would refuse", _sentences("!", rehearsal.refusals, Style.BLOCKED), Weight.HINDERED)
    yield _entry("Failed on the copy", _sentences("!", rehearsal.failures, Style.BLOCKED), Weight.HINDERED)
    yield _entry("A second plan", _sentences("~", rehearsal.remaining, Style.UPDATE), Weight.CHANGE)
    yield _entry("Undo leaves", _sentences("~", rehearsal.leftovers, Style.UPDATE), Weight.CHANGE)
    yield _entry("Could not be read", _sentences("?", rehearsal.unread, Style.BLOCKED), Weight.HINDERED)


def _entry(title: str, lines: Sequence[SheetLine], weight: Weight) -> SheetEntry:
    return SheetEntry(title, "", lines, weight)


def _sentences(symbol: str, sentences: Sequence[str], style: Style) -> list[SheetLine]:
    """The first sentences, and how many more there are; a sentence of several lines is its first."""
    lines = [SheetLine(style, symbol, "", sentence.partition("\n")[0]) for sentence in sentences[:NAMED]]
    if len(sentences) > NAMED:
        lines.append(SheetLine(Style.DIM, symbol, "", f"and {len(sentences) - NAMED} more"))
    return lines


def _readers(symbol: str, verb: str, changes: Sequence[ReaderChange]) -> list[SheetLine]:
    """One line a reader: `anyone gain 3: acme/site/docs, …`."""
    style = Style.DELETE if symbol == "+" else Style.DIM
    lines = []
    for reader, group in groupby(sorted(changes, key=lambda change: change.reader), key=lambda change: change.reader):
        names = [str(change.address) if change.address is not None else f'{change.kind} "{change.title}"' for change in group]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        lines.append(f"{reader} {verb}s {count(len(names), 'object')}: {', '.join(names[:NAMED])}{more}")
    return _sentences(symbol, lines, style)
