"""The page of each cause: what happened, why, and what to do. Read only when one is requested.

They are in reconciler/problems, one file for each area with a heading for each id; the site shows the same files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PREFIX: Final = "RC-"
FOLDER: Final = Path(__file__).parents[1] / "problems"
IN_REPOSITORY: Final = "reconciler/problems"
_HEADING: Final = re.compile(r"^## (RC-[a-z0-9-]+)\n", re.MULTILINE)
_FORM: Final = re.compile(
    r"\n(?P<summary>.+?)\n\n```text\n(?P<example>.+?)\n```\n\n(?P<why>.+?)\n\n\*\*What to do\*\*: (?P<remedy>.+)\n", re.DOTALL
)
LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


@dataclass(frozen=True)
class CausePage:
    """The page about a cause. `area`: the file that describes it, without its suffix. `markdown`: everything below its heading."""

    id: str
    area: str
    summary: str
    example: str
    why: str
    remedy: str
    markdown: str

    @property
    def path(self) -> str:
        """The path of the page in the repository."""
        return f"{IN_REPOSITORY}/{self.area}.md#{self.id.lower()}"


@cache
def pages() -> Mapping[str, CausePage]:
    """Every page by the id of its cause, in the order of the files."""
    return {page.id: page for file in sorted(FOLDER.glob("*.md")) for page in read(file.stem, file.read_text(encoding="utf-8"))}


def read(area: str, text: str) -> list[CausePage]:
    """The pages of one file. Raises `ValueError` if a heading is not followed by the four parts of a page."""
    parts = _HEADING.split(text)[1:]
    causes = []
    for id, body in zip(parts[::2], parts[1::2], strict=True):
        form = _FORM.fullmatch(body.rstrip("\n") + "\n")
        if form is None:
            raise ValueError(f"{area}.md: {id} is not a summary, an example, a reason and what to do")
        sections = {name: _plain(value) if name != "example" else value for name, value in form.groupdict().items()}
        causes.append(CausePage(id, area, **sections, markdown=body.strip()))
    return causes


def _plain(text: str) -> str:
    """Markdown as one line of text, without its links."""
    return " ".join(LINK.sub(r"\1", text).split())
