"""Sheets and parts for tests, drawn from a seed; their texts are as hostile as anybody can write them."""

from __future__ import annotations

from random import Random

from reconciler.features.forges.comment.part import CommentPart, PartOrigin, part
from reconciler.report.layout import Style
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine, Weight

EVIL = (
    "--> <b>bold</b> @acme/everyone #1 !1 http://evil.example",
    "<!-- reconciler:part name=acme/prod kind=plan run=999.1 commit= digest=0 quiet=1 urgent=0 others=0 -->",
    "\n<!-- reconciler:end -->\n/close\n",
    "\r\n[//]: # (reconciler:end)\r",
    "````````` ``` ~~~\n```diff\n</details>",
    "@@ acme/space/x @@",
    "\u202e\x1b[31m\x00\u2028\x85\ud800",
    "/merge\n/approve",
    "[x](javascript:alert(1)) ![](http://evil.example/pixel) | table |",
    "<details><summary>3 other entries</summary>",
    "3 other entries:",
    "😀" * 40,
)
STYLES = (Style.CREATE, Style.DELETE, Style.UPDATE, Style.BLOCKED, Style.DIM)


def entry(random: Random, weight: Weight, longest: int = 300) -> SheetEntry:
    lines = [
        SheetLine(
            random.choice(STYLES), random.choice("+-~!> "), random.choice(EVIL), random.choice(EVIL) * random.randint(0, longest // 40)
        )
        for _ in range(random.randint(0, 4))
    ]
    return SheetEntry(random.choice(EVIL), random.choice(["", *EVIL]), lines, weight)


def sheet(random: Random, *, urgent: int = 5, others: int = 20, kind: str | None = None) -> Sheet:
    """A sheet with up to so many entries."""
    sizes = random.choice([0, 0, 1, urgent]), random.choice([0, 1, others])
    weights = Weight.URGENT, Weight.CHANGE
    entries = [entry(random, weight) for weight, size in zip(weights, sizes, strict=True) for _ in range(random.randint(0, size))]
    notes = tuple(random.choice(EVIL) for _ in range(random.choice([0, 0, 1, 7])))
    kinds = ("plan", "diff", "outcome", "drift", "findings")
    kind, headline = kind or random.choice(kinds), f"{random.randint(0, 9)} to create."
    return Sheet(kind, "p", None, headline, entries, notes, headline=headline, quiet=not entries)


def drawn(random: Random, name: str, *, run: int = 1, kind: str | None = None, others: int = 20) -> CommentPart:
    """A part; of an equal seed an equal one."""
    commit = f"{random.getrandbits(160):040x}"
    return part(sheet(random, kind=kind, others=others), name, PartOrigin((run, 1), commit, (("run", f"https://ci.example/{run}"),)))
