"""What reads our output, and what it would take for an order: a terminal, the runner of a GitHub workflow, Markdown, a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

from reconciler.text.escape import is_plain
from tests import browser
from tests.hostile.titles import HIJACK

PAINT = re.compile(r"\x1b\[(?:0|1|2|3[1-6])m")  # the colours of ours
OLD_COMMAND = re.compile(r"##\w*\[")
OURS = re.compile(r"::(error|warning|notice) (?:(?:file|line|col|title)=[^,:\n]+,?)+::[^\n]*")
MARKUP = {"h3", "p", "strong", "ul", "li", "pre", "code", "table", "thead", "tbody", "tr", "th", "td"}
PAGE = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "figure", "svg", "rect", "circle", "text", "g", "article",
    "header", "span", "table", "tbody", "tr", "td", "div", "ul", "li", "code",
}  # fmt: skip


def controls(text: str) -> list[str]:
    """Characters that a terminal would obey or not show."""
    return sorted({ascii(one) for one in PAINT.sub("", text) if not is_plain(one) and one != "\n"})


def orders(text: str) -> list[str]:
    """Lines that the runner of a workflow takes for a command, whichever step prints them."""
    return [line for line in text.splitlines() if line.strip().startswith("::") or OLD_COMMAND.search(line)]


class Document(HTMLParser):
    """Tags, attributes and the text outside of blocks of code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.prose = ""
        self._code = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._code += tag in ("pre", "code")

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("pre", "code")

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.prose += data


def in_a_comment(text: str) -> list[str]:
    """What of a Markdown text would be markup, a mention, a reference or a link that is not ours."""
    made = Document(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))
    found = sorted(made.tags - MARKUP) + sorted(made.attributes - {"class", "style"})
    return found + re.findall(r"@\w+|[#!]\d+|\w+://\S+|\bwww\.\S+", made.prose) + controls(text)


def in_a_page(text: str) -> list[str]:
    """What of a page of ours is an element or attribute that is not ours."""
    made = Document(text)
    wrong = {name for name in made.attributes if name.startswith("on") or name in ("href", "src", "action", "srcdoc", "xlink:href")}
    return sorted(made.tags - PAGE) + sorted(wrong) + controls(text)


def in_a_browser(file: Path) -> list[str]:
    """What a real browser made of it that is not ours."""
    shown = browser.document(file.as_uri())
    title = re.search(r"<title>(.*?)</title>", shown, re.DOTALL)
    assert title is not None, shown[:500]
    return ([title[1]] if HIJACK in title[1] else []) + in_a_page(shown)
