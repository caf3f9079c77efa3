"""Texts of pages for a preview, from the living service, through a client that can only read. What comes is markup without raw HTML.

In: a preview, whose pages are the only ones that are asked for. Out: markup by `SPACE/PAGE`, or the reason why there is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from reconciler.client.service import Reader
from reconciler.errors import ServiceError
from reconciler.run.connection.embedded import sandbox_errors
from reconciler.run.opened import Run
from reconciler.run.voice import Voice

EMPTY: Final = "This page has no text."
NEW: Final = "This page does not exist in the service yet."
Page = tuple[str, str]


def pages_of(preview: Mapping[str, Any]) -> list[Page]:
    """The pages with a text that exist before the apply: their spaces and ids."""
    contents = preview["before"]["contents"]
    return [(content, page) for content, shown in contents.items() for _, page, _, path, _ in shown["pages"] if path]


async def read_text(voice: Voice, reader: Reader, known: Collection[Page], page: Page) -> dict[str, str]:
    """The text of one page as `html`, or a `reason`; never raises what the service answers."""
    if page not in known:
        return {"reason": NEW}
    with sandbox_errors():
        from reconciler.sandbox.copies import text_path  # an extra: the sandbox needs its packages
        from reconciler.sandbox.served.text import foreign_text
    try:
        answer = await reader.get(text_path(*page), {"format": "markdown"})
    except ServiceError as error:
        return {"reason": voice.masks.text(error.message)}
    markdown = answer.body.get("markdown") if isinstance(answer.body, dict) else None
    if not isinstance(markdown, str) or not markdown.strip():
        return {"reason": EMPTY}
    return {"html": voice.masks.text(foreign_text(markdown))}


async def read_texts(run: Run, pages: Sequence[Page]) -> dict[str, str]:
    """The texts of these pages, empty for a page without one; those that cannot be read are left out."""
    known = frozenset(pages)
    async with Reader(run.service.settings) as reader:
        answers = await asyncio.gather(*(read_text(run.voice, reader, known, page) for page in pages))
    texts = {"/".join(page): answer.get("html", "") for page, answer in zip(pages, answers, strict=True)}
    return {page: text for (page, text), answer in zip(texts.items(), answers, strict=True) if text or answer["reason"] == EMPTY}
