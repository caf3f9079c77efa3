"""Finding pages: every word of a query is in the title, the description, the path or the text of a page, in any case."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from reconciler.sandbox.sites.structure import slug
from reconciler.sandbox.store import Object


def candidates(texts: Iterable[str], query: str) -> Iterator[Object]:
    """Those of the spaces, given as JSON, in which a query can find a page: all others need not be read."""
    terms = [word for word in query.casefold().split() if json.dumps(word, ensure_ascii=False) == f'"{word}"']
    for text in texts:
        folded = text.casefold()
        if all(word in folded for word in terms):
            yield json.loads(text)


def found_in(space: Object, query: str) -> bool:
    """Whether a query finds a page of a space."""
    terms = query.casefold().split()
    return any(_found(page, terms) for page, _ in _walk(space.get("_pages", [])))


def find_pages(base: str, space: Object, query: str) -> list[Object]:
    """The pages of a space a query finds, in the order of the space, each with the sections that hold a word of it."""
    terms = query.casefold().split()
    app = f"{base}/app/s/{space['id']}"
    return [_result(app, page, above, terms) for page, above in _walk(space.get("_pages", [])) if _found(page, terms)]


def _found(page: Object, terms: list[str]) -> bool:
    whole = "\n".join(_text(page, name) for name in ("title", "description", "path", "slug", "markdown")).casefold()
    return bool(terms) and all(word in whole for word in terms)


def _walk(pages: Any) -> Iterator[tuple[Object, list[Object]]]:
    """All pages with those above them, a page before those in it."""
    waiting: list[tuple[Object, list[Object]]] = []
    waiting += [(page, []) for page in _pages(pages)][::-1]
    while waiting:
        page, above = waiting.pop()
        yield page, above
        waiting += [(inner, [*above, page]) for inner in _pages(page.get("pages"))][::-1]


def _pages(value: Any) -> list[Object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(page: Object, name: str) -> str:
    value = page.get(name)
    return value if isinstance(value, str) else ""


def _result(app: str, page: Object, above: list[Object], terms: list[str]) -> Object:
    path = _text(page, "path") or _text(page, "slug") or slug(_text(page, "title"))
    return {
        "id": str(page.get("id", "")),
        "title": _text(page, "title"),
        "path": path,
        "sections": [item for item in _sections(app, path, _text(page, "markdown")) if _holds(item, terms)],
        "ancestors": [{"title": _text(item, "title")} for item in above],
        "urls": {"app": f"{app}/{path}"},
    }


def _holds(section: Object, terms: list[str]) -> bool:
    text = f"{section['title']}\n{section['body']}".casefold()
    return any(word in text for word in terms)


def _sections(app: str, path: str, markdown: str) -> list[Object]:
    """The parts of a text below its headings; what stands before the first has no title."""
    parts = re.split(r"^#{1,6}[ \t]+(.*)$", markdown, flags=re.MULTILINE)
    sections: list[Object] = []
    taken: set[str] = set()
    for title, body in zip(["", *parts[1::2]], parts[::2], strict=True):
        if not title and not body.strip():
            continue
        id = wanted = slug(title) if title else "start"
        number = 1
        while id in taken:
            number += 1
            id = f"{wanted}-{number}"
        taken.add(id)
        address = f"{path}#{id}" if title else path
        sections.append({"id": id, "title": title.strip(), "path": address, "body": body.strip(), "urls": {"app": f"{app}/{address}"}})
    return sections
