"""The areas of causes, and for the site the list of all causes, from their pages, which are in the package so that `explain` can print
them."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from reconciler.text.pages import FOLDER, pages

INTRO = """\
# Causes of errors

Every error, every problem of a project, everything that a plan cannot do and every warning has an id that names its cause, such as
`RC-locked`. Errors and warnings end with it; documents in JSON, SARIF, JUnit and Code Quality contain it. Search the pages below for an
id, or run `reconciler explain RC-locked`. An id is never removed and never changes its meaning, so a pipeline can rely on it; the text of
a message can change. Rules of lint have the id `RC-` and [the name of the rule](../lint.md#rules).
"""


def page() -> str:
    """Every area with its page, which has a heading for each id."""
    rows = []
    for area, count in sorted(Counter(cause.area for cause in pages().values()).items()):
        title, _, about = (FOLDER / f"{area}.md").read_text(encoding="utf-8").split("\n", 3)[:3]
        rows.append(f"| [{title.removeprefix('# ')}](../../reconciler/problems/{area}.md) | {count} | {about} |")
    return "\n".join([INTRO, "| area | causes | what they are about |", "|---|---|---|", *rows, ""])


def all_causes() -> str:
    """Every cause with its summary, by area."""
    parts = [INTRO.replace("# Causes of errors\n", "# Every cause of errors\n")]
    for area, causes in groupby(pages().values(), key=lambda cause: cause.area):
        rows = "\n".join(f"| [{cause.id}](../../reconciler/problems/{area}.md#{cause.id.lower()}) | {cause.summary} |" for cause in causes)
        parts.append(f"## {area.replace('-', ' ').capitalize()}\n\n| id | cause |\n|---|---|\n{rows}\n")
    return "\n".join(parts)
