"""The lines of a report by address: what a report says about one object is one entry, and many equal entries are one. Pure.

EntryPart       what one sort of line says about an address: its change, its exposure, its URL, why it is blocked
gathered   the parts as entries: one for each address, in the order of reading
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from reconciler.model import Source
from reconciler.report.layout import Style
from reconciler.report.sheet import SheetEntry, SheetLine, Weight
from reconciler.report.words import listed

FOLD: Final = 10  # equal entries; more of them become one
MOST_ADDRESSES: Final = 3  # addresses of a folded group
FULL: Final = "--full"  # what shows everything, where people read the report of a command


@dataclass(frozen=True, kw_only=True)
class EntryPart:
    """Lines about one address.

    `rank`: where its entry is shown, unless another part of the same address has a higher one. `likeness`: the key of equal parts, None for
    one that is never folded. `folded`: the lines of a folded group, by its addresses as text; None: its own lines, which do not name them.
    `where`: a remark in place of the position.
    """

    title: str
    lines: Sequence[SheetLine]
    weight: Weight = Weight.CHANGE
    rank: int = 0
    source: Source | None = None
    where: str = ""
    kind: str = ""
    likeness: object = None
    folded: Callable[[str], Sequence[SheetLine]] | None = None


def gathered(
    parts: Iterable[EntryPart],
    sections: Mapping[Any, str] = {},
    *,
    full: bool = True,
    remarks: Mapping[str, Sequence[str]] = {},
    more: str = FULL,
) -> list[SheetEntry]:
    """One entry for each title, the highest rank last.

    `sections`: the headings by rank. `full`: nothing is folded. `remarks`: sentences about a title, below its lines.
    `more`: what shows the members of a folded group, as the reader can call it.
    """
    by_title: dict[str, list[EntryPart]] = {}
    for part in parts:
        by_title.setdefault(part.title, []).append(part)
    equal: dict[object, list[list[EntryPart]]] = {}
    for title, about in by_title.items():
        alone = full or title in remarks or any(part.likeness is None for part in about)
        equal.setdefault(title if alone else tuple(part.likeness for part in about), []).append(about)
    ranks = {title: max(part.rank for part in about) for title, about in by_title.items()}
    entries: dict[str, SheetEntry] = {}
    for group in equal.values():
        if len(group) > FOLD:
            entries[group[0][0].title] = _group(group, more)
        else:
            entries |= {about[0].title: _entry(about, remarks.get(about[0].title, ())) for about in group}
    shown = [title for title in by_title if title in entries]
    return [replace(entries[title], section=sections.get(ranks[title], "")) for title in sorted(shown, key=ranks.__getitem__)]


def _entry(parts: Sequence[EntryPart], remarks: Sequence[str]) -> SheetEntry:
    """The lines about one address; a line that another line of the files causes keeps that position."""
    source = next((part.source for part in parts if part.source is not None), None)
    where = next((part.where for part in parts if part.where), "")
    lines = [line if part.source in (None, source) else replace(line, source=part.source) for part in parts for line in part.lines]
    lines += [SheetLine(Style.DIM, " ", "", remark) for remark in remarks]
    # Two parts can have the same remedy.
    once = [line for number, line in enumerate(lines) if line.style is not Style.DIM or line not in lines[:number]]
    return SheetEntry(
        parts[0].title,
        where or (source.file_and_line if source is not None and source.line else ""),
        once,
        min(part.weight for part in parts),
        None if where else source,
        Style.DRIFT if where else Style.DIM,
    )


def _group(groups: Sequence[Sequence[EntryPart]], more: str) -> SheetEntry:
    """Many equal entries as one, which names some of their addresses."""
    first, titles = groups[0], [about[0].title for about in groups]
    names = f"{listed(titles, MOST_ADDRESSES)}; {more} shows each"
    kinds = {part.kind for about in groups for part in about if part.kind}
    files = listed(sorted({part.source.file for about in groups for part in about if part.source is not None}), 2)
    named = [] if first[0].folded is not None else [SheetLine(Style.PLAIN, " ", "", names)]
    lines = [line for part in first for line in (part.lines if part.folded is None else part.folded(names))]
    what = f"{len(groups):,} × {kinds.pop()}" if len(kinds) == 1 else f"{len(groups):,} resources"
    return SheetEntry(what, files, [*named, *lines], min(part.weight for part in first))
