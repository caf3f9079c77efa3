"""Markdown of a page as HTML: raw HTML is text, images are their names, and a link leads only where `target` says.

In: text that anybody may have written. Out: markup of a fixed set of elements. Headings begin at the second level, because the title of the
page is the first, and skip none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reconciler.sandbox.pages.render import visible
from reconciler.sandbox.service import Fault
from reconciler.sandbox.sites.structure import slug

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Target = Callable[[str], str | None]
"""The URL for an address in a text; None for an address that leads nowhere."""


OPENED: Final = ("http://", "https://", "mailto:")  # what links to other places may begin with


class Heading(NamedTuple):
    id: str
    title: str
    level: int


class Text(NamedTuple):
    """`html`: safe markup."""

    html: str
    headings: list[Heading]


def text_of(markdown: str, target: Target, files: Mapping[str, str] | None = None) -> Text:
    """The HTML of a text and its headings. `files`: the names of files by their addresses.

    Raises 500 if the package that reads Markdown is not installed.
    """
    parser = _parser()
    tokens = parser.parse(markdown)
    headings = _mend(tokens)
    for token in tokens:
        _lead(token.children or [], target)
    # in the result, because a character may also be written as its number: &#x202e;
    return Text(visible(parser.renderer.render(tokens, parser.options, {"files": files or {}})), headings)


def foreign_text(markdown: str) -> str:
    """The HTML of a text that is shown outside its site: only links to other places lead somewhere."""
    return text_of(markdown, lambda address: address if address.lower().startswith(OPENED) else None).html


@cache
def _parser() -> MarkdownIt:
    try:
        from markdown_it import MarkdownIt  # of the extra `sandbox`, and few processes show a page
    except ImportError as error:
        raise Fault(500, "pages require a package that is not installed: markdown-it-py") from error

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # addresses are judged by `target`, which knows where they lead; the parser would drop what it refuses as plain text
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    for name, rule in RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _image(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    address = str(token.attrGet("src") or "").split("?")[0].rstrip("/")
    name = env["files"].get(address) or address.rsplit("/", 1)[-1] or "image"
    words = [name, token.content.strip()] if token.content.strip() not in ("", name) else [name]
    return f'<span class="image">{_escaped(" · ".join(words))}</span>'


def _code(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f'<pre tabindex="0"><code>{_escaped(tokens[index].content)}</code></pre>\n'


def _table(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return '<div class="scroll" tabindex="0"><table>\n'


def _table_end(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return "</table></div>\n"


def _link_end(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f"{_escaped(tokens[index].meta.get('words', ''))}</{tokens[index].tag}>"


RULES = {
    "image": _image,
    "fence": _code,
    "code_block": _code,
    "table_open": _table,
    "table_close": _table_end,
    "link_close": _link_end,
}


def _escaped(text: str) -> str:
    from markdown_it.common.utils import escapeHtml  # as above

    return escapeHtml(text)


def _mend(tokens: Sequence[Token]) -> list[Heading]:
    """Give the headings levels and anchors. A heading or a column title without words becomes a paragraph or a cell."""
    headings: list[Heading] = []
    taken: set[str] = set()
    above: list[int] = []  # the levels, as they are written, of the headings that the next one may be below
    for index, token in enumerate(tokens):
        if token.type not in ("heading_open", "th_open"):
            continue
        words, close = _plain(tokens[index + 1].children or []).strip(), tokens[index + 2]
        if not words:
            token.tag = close.tag = "p" if token.type == "heading_open" else "td"
        elif token.type == "heading_open":
            written = int(token.tag[1:])
            above = [*(level for level in above if level < written), written]
            level = min(len(above) + 1, 6)
            token.tag = close.tag = f"h{level}"
            headings.append(Heading(_anchor(words, taken), words, level))
            token.attrSet("id", headings[-1].id)
    return headings


def _anchor(words: str, taken: set[str]) -> str:
    id, number = slug(words), 1
    while id in taken:
        number += 1
        id = f"{slug(words)}-{number}"
    taken.add(id)
    return id


def _plain(tokens: Sequence[Token]) -> str:
    return "".join(token.content for token in tokens)


def _lead(tokens: list[Token], target: Target) -> None:
    """Set where the links of one line lead; a link that leads nowhere is text."""
    tag = "a"
    for index, token in enumerate(tokens):
        if token.type == "link_open":
            address = str(token.attrGet("href") or "")
            url = target(address)
            token.tag = tag = "span" if url is None else "a"
            if url is None:
                token.attrs = {"class": "dead", "title": "This link leads to nothing that this reader can open."}
            else:
                token.attrs = {"href": url} if url.startswith(("/", "#")) else {"href": url, "rel": "noopener noreferrer"}
            if tokens[index + 1].type == "link_close":
                # a link without words could be neither seen nor read aloud
                tokens[index + 1].meta["words"] = address
        elif token.type == "link_close":
            token.tag = tag
