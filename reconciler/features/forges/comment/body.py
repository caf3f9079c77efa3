"""Parts as one comment that fits, and a comment as its parts.

Destructive, exposing and failed changes come first and are shortened last: first the other entries of the longest parts are omitted; then
each serious entry becomes a line; then only their number is shown. Omissions are counted, also in the result of `body`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reconciler.features.forges.comment.part import CommentPart, Dialect, code, marker_line, marker_of, read, text
from reconciler.report.reading import FAILED
from reconciler.report.words import SIGNS, count

HEADING: Final = "### Reconciler"
LEGEND: Final = f"Signs: {', '.join(f'`{sign}` {word}' for sign, word in SIGNS.items())}."
COMPARED: Final = ("plan", "diff", "findings", "rehearsal")
"""Kinds of documents of which each run of a commit writes one: a part of an older commit is out of date."""


@dataclass(frozen=True)
class CommentText:
    """The contents of a comment. `name`: of the only project and environment in it; "" if it has all of them."""

    name: str
    parts: tuple[CommentPart, ...]


class TooLong(ValueError):
    """Not even the headlines fit."""


def size(text: str) -> int:
    """Characters as the strictest forge counts them: those beyond the first plane are two."""
    return len(text) + sum(character > "\uffff" for character in text) if not text.isascii() else len(text)


def body(comment: CommentText, dialect: Dialect) -> tuple[str, int]:
    """The whole comment, and the number of serious entries that it does not show completely. Raises `TooLong`."""
    parts = sorted(comment.parts, key=_rank)
    top = [marker_line("comment", {"name": comment.name} if comment.name else {}, dialect), "", HEADING]
    top += [line for stale in _stale(parts) for line in ("", stale)]
    head = "\n".join(top)
    room = dialect.limit - size(head) - 2 * len(parts) - 1
    texts = [text(part, dialect) for part in parts]
    # Parts of other jobs are shortened only now: otherwise they would change although nothing about them did.
    if sum(map(size, texts)) > room:
        parts = _fitting(parts, dialect, room)
        texts = [text(part, dialect) for part in parts]
    # The least important line: without room for it, the comment says what it has to say.
    legend = f"\n{LEGEND}\n" if any(part.urgent or part.others for part in parts) else ""
    written = "\n\n".join([head, *texts]) + "\n"
    written += legend if size(written) + size(legend) <= dialect.limit else ""
    shown = sum(len(part.urgent) for part in parts if not (part.urgent and part.urgent[0].startswith(_SHORT)))
    return written, sum(part.urgent_total for part in parts) - shown


def comment_of(text: str) -> CommentText | None:
    """The contents of one of our comments; None for any other text."""
    lines = text.replace("\r\n", "\n").split("\n")
    first = marker_of(lines[0])
    if first is None or first[0] != "comment":
        return None
    # People edit comments: what is between two parts is dropped, and a part without an end is read up to the next one.
    blocks: list[list[str]] = []
    is_open = False
    for line in lines[1:]:
        word = (marker_of(line) or ("",))[0]
        if word == "part":
            blocks.append([])
            is_open = True
        if is_open:
            blocks[-1].append(line)
        if word == "end":
            is_open = False
    parts = {part.key: part for block in blocks if (part := read(_trimmed(block))) is not None}
    return CommentText(first[1].get("name", ""), tuple(parts.values()))


def _trimmed(lines: list[str]) -> list[str]:
    """Lines without empty ones at the end: the part may have been truncated by hand."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def _rank(part: CommentPart) -> tuple[int, str, str]:
    """The sort key of a part: parts that need attention come first."""
    serious = part.urgent_total > 0 or any(FAILED in line for line in part.head)
    return (2 if part.quiet else 0 if serious else 1, part.name, part.kind)


def _stale(parts: Iterable[CommentPart]) -> list[str]:
    """A line if parts are of an older commit than the newest one."""
    compared = [part for part in parts if part.kind in COMPARED and part.commit]
    newest = max(compared, key=lambda part: part.run, default=None)
    old = [part for part in compared if newest is not None and part.commit != newest.commit]
    if newest is None or not old:
        return []
    names = [code(part.name) for part in old[:10]] + ([f"{len(old) - 10:,} more"] if len(old) > 10 else [])
    return [f"> Not of the newest commit {code(newest.commit[:10])}: {', '.join(names)}."]


# -- what fits ------------------------------------------------------------------------------------------------------------------------


def _fitting(parts: Sequence[CommentPart], dialect: Dialect, room: int) -> list[CommentPart]:
    bare = [replace(part, others=(), raw="") if part.others_total else part for part in parts]
    left = room - sum(size(text(part, dialect)) for part in bare)
    if left >= 0:
        return _with_others(parts, bare, dialect, left)
    # Every entry keeps its title before any of them becomes a number; the longest part gives first.
    for shorten in (_titles, _number):
        for index in sorted(range(len(bare)), key=lambda index: -size(text(bare[index], dialect))):
            if left >= 0:
                return bare
            if bare[index].urgent:
                before = size(text(bare[index], dialect))
                bare[index] = shorten(bare[index])
                left += before - size(text(bare[index], dialect))
    if left < 0:
        raise TooLong
    return bare


def _with_others(parts: Sequence[CommentPart], bare: Sequence[CommentPart], dialect: Dialect, left: int) -> list[CommentPart]:
    """Share the remaining characters equally; a short part leaves its rest to the others."""
    comment_parts = list(bare)
    needs = {index: size(text(part, dialect)) - size(text(bare[index], dialect)) for index, part in enumerate(parts)}
    waiting = sorted((index for index in needs if parts[index].others), key=needs.__getitem__)
    for done, index in enumerate(waiting):
        share = left // (len(waiting) - done)
        part = parts[index] if needs[index] <= share else _some(bare[index], parts[index].others, dialect, share)
        left -= size(text(part, dialect)) - size(text(bare[index], dialect))
        comment_parts[index] = part
    return comment_parts


def _some(bare: CommentPart, others: tuple[str, ...], dialect: Dialect, room: int) -> CommentPart:
    """As many of the other entries as fit, from the first on."""
    longest = max((len(run) for entry in others for run in re.findall("`+", entry)), default=0)
    # The fence grows with the longest run of backticks in what it holds, and the sentence above it by "of which N fit here".
    used = size(text(replace(bare, others=others[:1]), dialect)) - size(text(bare, dialect)) - size(others[0]) + 2 * longest + 40
    number = 0
    for entry in others:
        used += size(entry) + 1
        if used > room:
            break
        number += 1
    return replace(bare, others=others[:number])


_SHORT: Final = "- "


def _titles(part: CommentPart) -> CommentPart:
    """A line for each serious entry."""
    lines = [entry.split("\n", 1)[0] for entry in part.urgent]
    return replace(part, raw="", urgent=("\n".join(f"{_SHORT}{line.removeprefix('@@ ').split(' @@')[0]}" for line in lines),))


def _number(part: CommentPart) -> CommentPart:
    """The number of serious entries."""
    number = count(part.urgent_total, "entry that deletes, exposes or failed", "entries that delete, expose or failed")
    return replace(part, raw="", urgent=(f"{_SHORT}{number}: too many to list here; see the HTML or JSON report.",))
