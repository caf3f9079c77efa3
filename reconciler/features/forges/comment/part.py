"""One part of a comment: the result of one job for one project and environment, between two hidden markers.

In: `Content`, or the lines of a comment. Out: lines, or `CommentPart`.

A marker fills a line and carries the part's key, the number and commit of the run that wrote it, and a digest. No other line of a part can
look like one: every foreign text is in a fenced block, whose lines begin with a sign or `@@`, or in a code span after our own words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final
from urllib.parse import quote, unquote

from reconciler.report.formats.markdown import entry_text, fenced
from reconciler.report.sheet import Sheet, Weight
from reconciler.report.words import count
from reconciler.text import escape

TITLES: Final = {
    "plan": "Plan",
    "diff": "Diff",
    "outcome": "Apply",
    "drift": "Drift",
    "findings": "Validation",
    "rehearsal": "Rehearsal",
    "preview": "Fleet preview",
}
NAME_MAX: Final = 200  # characters of a name that a comment shows
NOTE_MAX: Final = 500  # characters of a remark
NOTES: Final = 5  # remarks
SENTENCES: Final = 5  # about what the plan means; the entries below have the rest
Run = tuple[int, int]

_COMMIT: Final = re.compile(r"[0-9a-fA-F]{7,64}")
_URL: Final = re.compile(r"https?://[^\s<>\"'`\\^{|}()]+")
# Bitbucket shows HTML comments, so there a marker is the definition of a link that nothing uses.
_MARKER: Final = re.compile(r"(?:<!-- |\[//\]: # \()reconciler:(comment|part|end)((?: [a-z]+=[^\s()<>]*)*)(?: -->|\))")
_FENCE: Final = re.compile(r"(`{3,})diff")
# The line above the second block is the only thing that tells it from the first.
_OTHERS: Final = re.compile(r"(?:<details><summary>)?[\d,]+ (?:other )?entr(?:y|ies)\b.*")


@dataclass(frozen=True)
class Dialect:
    """How a forge reads markdown. `limit`: characters of a comment. `html`: whether hidden comments and `<details>` are supported."""

    limit: int
    html: bool = True


@dataclass(frozen=True)
class CommentPart:
    """A part. `run`: the number of the run that wrote it and its attempt. `urgent`, `others`: their original number, and the texts that
    remain. `raw`: the lines as read, which are written unchanged unless they do not fit."""

    name: str
    kind: str
    run: Run
    commit: str
    quiet: bool
    digest: str
    head: tuple[str, ...]
    urgent: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    urgent_total: int = 0
    others_total: int = 0
    raw: str = field(default="", compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """The project and environment of the part; there is one part for each."""
        return self.name, self.kind

    @property
    def version(self) -> tuple[Run, str]:
        return self.run, self.digest


@dataclass(frozen=True)
class PartOrigin:
    """The origin of a part. `links`: text and URL."""

    run: Run = (0, 0)
    commit: str = ""
    links: tuple[tuple[str, str], ...] = ()


def part(sheet: Sheet, name: str, origin: PartOrigin) -> CommentPart:
    """The part of a job. `name`: of the project and environment, the same in each run."""
    commit = origin.commit if _COMMIT.fullmatch(origin.commit) else ""
    links = [f"[{text}](<{url}>)" for text, url in origin.links if is_link(url)]
    about = " · ".join([f"**{sheet.headline}**", *([f"commit {code(commit[:10])}"] if commit else []), *links])
    title = f"{TITLES[sheet.kind]} of {code(name)}"
    head = [f"{title}: {about}"] if sheet.quiet else [f"#### {title}", "", about]
    if sheet.consequences and not sheet.quiet:
        head += ["", *(f"- {code(sentence.text)}" for sentence in sheet.consequences[:SENTENCES])]
    if sheet.notes and not sheet.quiet:
        head += ["", *(f"- {code(note, NOTE_MAX)}" for note in sheet.notes[:NOTES])]
        if len(sheet.notes) > NOTES:
            head.append(f"- {count(len(sheet.notes) - NOTES, 'more remark')}: see the HTML or JSON report.")
    urgent = tuple(entry_text(entry) for entry in sheet.entries if entry.weight is Weight.URGENT)
    rest = [entry for entry in sheet.entries if entry.weight in (Weight.HINDERED, Weight.CHANGE)]
    # What cannot be done comes before ordinary changes: it is what a reviewer has to do something about.
    others = tuple(map(entry_text, sorted(rest, key=lambda entry: entry.weight)))
    digest = sha256("\0".join([*head, *urgent, "", *others]).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return CommentPart(name, sheet.kind, origin.run, commit, sheet.quiet, digest, tuple(head), urgent, others, len(urgent), len(others))


def is_link(url: str) -> bool:
    """Whether a comment can link to it."""
    return url.isascii() and url.isprintable() and _URL.fullmatch(url) is not None


def code(text: str, most: int = NAME_MAX) -> str:
    """A text in a code span, of at most so many characters: no markup, mention, reference or link."""
    shown = escape.terminal(text)
    shown = shown if len(shown) <= most else f"{shown[: most - 1]}…"
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    ticks, pad = "`" * (longest + 1), " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


# -- writing --------------------------------------------------------------------------------------------------------------------------


def text(part: CommentPart, dialect: Dialect) -> str:
    """The lines of a part, markers included."""
    # What another job wrote is not composed again: it may be of another version of this program.
    if part.raw:
        return part.raw
    about = {
        "name": part.name,
        "kind": part.kind,
        "run": f"{part.run[0]}.{part.run[1]}",
        "commit": part.commit,
        "digest": part.digest,
        "quiet": str(int(part.quiet)),
        "urgent": str(part.urgent_total),
        "others": str(part.others_total),
    }
    lines = [marker_line("part", about, dialect), "", *part.head]
    if part.urgent:
        lines += ["", fenced(part.urgent)]
    if part.others_total:
        lines += ["", *_rest(part, dialect)]
    return "\n".join([*lines, "", marker_line("end", {}, dialect)])


def _rest(part: CommentPart, dialect: Dialect) -> list[str]:
    other = "other " if part.urgent_total else ""
    number, left = count(part.others_total, f"{other}entry", f"{other}entries"), part.others_total - len(part.others)
    if not part.others:
        return [f"{number}: see the HTML or JSON report."]
    says = f"{number}, of which {len(part.others):,} fit here" if left else number
    if not dialect.html:
        return [f"{says}:", "", fenced(part.others)]
    return [f"<details><summary>{says}</summary>", "", fenced(part.others), "", "</details>"]


def marker_line(word: str, about: Mapping[str, str], dialect: Dialect) -> str:
    """A hidden line."""
    pairs = "".join(f" {name}={_encoded(value)}" for name, value in about.items())
    return f"<!-- reconciler:{word}{pairs} -->" if dialect.html else f"[//]: # (reconciler:{word}{pairs})"


def _encoded(value: str) -> str:
    # Two hyphens end an HTML comment, and quote() leaves them alone.
    return quote(value, safe="/", errors="surrogatepass").replace("--", "-%2D")


# -- reading --------------------------------------------------------------------------------------------------------------------------


def marker_of(line: str) -> tuple[str, dict[str, str]] | None:
    """The word and the values of a hidden line; None for any other line."""
    match = _MARKER.fullmatch(line)
    if match is None:
        return None
    pairs = (pair.partition("=") for pair in match[2].split())
    return match[1], {name: unquote(value, errors="surrogatepass") for name, _, value in pairs}


def read(lines: Sequence[str]) -> CommentPart | None:
    """A part from its lines, markers included; None if its marker is not ours."""
    begin = marker_of(lines[0]) if lines else None
    if begin is None or begin[0] != "part":
        return None
    about = begin[1]
    run, _, attempt = about.get("run", "").partition(".")
    if not about.get("name") or about.get("kind") not in TITLES:
        return None
    head: list[str] = []
    blocks: dict[bool, tuple[str, ...]] = {}
    block: list[str] = []
    fence, rest = "", False
    # Within a fence nothing is ours, whatever it looks like.
    for line in lines[1:]:
        if fence:
            if line == fence:
                blocks[rest], fence = _entries(block), ""
            else:
                block.append(line)
        elif opened := _FENCE.fullmatch(line):
            fence, block = opened[1], []
        elif _OTHERS.fullmatch(line):
            rest = True
        elif not rest and not blocks and marker_of(line) is None:
            head.append(line)
    return CommentPart(
        about["name"], about["kind"], (_number(run), _number(attempt)), about.get("commit", ""), about.get("quiet") == "1",
        about.get("digest", ""), tuple("\n".join(head).strip("\n").split("\n")), blocks.get(False, ()), blocks.get(True, ()),
        _number(about.get("urgent")), _number(about.get("others")), "\n".join(lines),
    )  # fmt: skip


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) <= 20 else 0


def _entries(lines: Sequence[str]) -> tuple[str, ...]:
    """The entries of a block: each begins with `@@`."""
    entries: list[list[str]] = []
    for line in lines:
        if line.startswith("@@ ") or not entries:
            entries.append([])
        entries[-1].append(line)
    return tuple("\n".join(entry) for entry in entries)
