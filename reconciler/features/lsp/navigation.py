"""Definitions, references, symbols and renames, through the index of names of `edits`.

An index is of texts that could all be read. While one of them cannot, the last index is used, and its lines are found again in the texts as
they are now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsprotocol import types

from reconciler.address import Address
from reconciler.errors import ReconcilerError, Refused
from reconciler.features.edits.names import NameIndex, NameRole, NameSort, Occurrence, Symbol, names_of
from reconciler.features.edits.rename import renamed
from reconciler.features.edits.texts import ProjectTexts, TextSpan, project_texts
from reconciler.features.lsp.checks import HALF_WRITTEN
from reconciler.features.lsp.documents import moved
from reconciler.features.lsp.text import Text
from reconciler.model import Source
from reconciler.resource import Kinds
from reconciler.text.escape import terminal

SYMBOLS_MAX: Final = 1_000  # that a search in the workspace shows
TRIAL: Final = "-renamed"  # after a key, to find out whether it can be renamed at all


@dataclass(frozen=True)
class NamedTexts:
    """An index, and the texts that it is about by the names of their files."""

    names: NameIndex
    texts: Mapping[str, str]

    def there(self, source: Source, text: Text) -> Source:
        """The position in the indexed text for one in the present text."""
        return _mapped(source, text.text, self.texts.get(source.file))

    def here(self, span: TextSpan, text: Text) -> types.Range:
        """The range in the present text for a span of the indexed one."""
        source = _mapped(span.source, self.texts.get(span.file, ""), text.text)
        start = text.index(source.line, source.column)
        return text.span(start, min(start + span.end - span.column, start + len(text.line(source.line - 1))))


def _mapped(source: Source, before: str, after: str | None) -> Source:
    if after is None or before == after:
        return source
    return moved(before.encode("utf-8", "surrogatepass"), after.encode("utf-8", "surrogatepass"))(source)


def index(root: Path, kinds: Kinds, unsaved: Mapping[str, str], last: NamedTexts | None) -> NamedTexts | None:
    """The index of a project as it is now; the last one where it cannot be read, or nothing has changed since."""
    try:
        texts = project_texts(root, kinds, unsaved)
        if last is not None and texts.texts == last.texts:
            return last
        return NamedTexts(names_of(texts), texts.texts)
    except (ReconcilerError, *HALF_WRITTEN):
        return last


def occurrences_at(named: NamedTexts, name: str, text: Text, offset: int) -> tuple[Occurrence, ...]:
    """What is named at an offset."""
    position = text.position(offset)
    source = named.there(Source(name, position.line + 1, offset - text.starts[position.line] + 1), text)
    return named.names.at(*source)


def definition(
    named: NamedTexts, name: str, text: Text, offset: int, location: Callable[[TextSpan], types.Location | None]
) -> list[types.Location]:
    """Where what is named at an offset is defined."""
    for occurrence in occurrences_at(named, name, text, offset):
        if definitions := named.names.definitions(occurrence.sort, occurrence.name):
            return _locations(definitions, location)
        if occurrence.sort is NameSort.FILE and (target := location(TextSpan(occurrence.name, 1, 1, 1))) is not None:
            return [target]
    return []


def references(
    named: NamedTexts, name: str, text: Text, offset: int, location: Callable[[TextSpan], types.Location | None], *, declaration: bool
) -> list[types.Location]:
    """Where what is named at an offset is named; with its definition if that is asked for."""
    for occurrence in occurrences_at(named, name, text, offset):
        found = [*named.names.references_of(occurrence.sort, occurrence.name)]
        if declaration:
            found = [*named.names.definitions(occurrence.sort, occurrence.name), *found]
        if found:
            return _locations(found, location)
    return []


def _locations(occurrences: Iterable[Occurrence], location: Callable[[TextSpan], types.Location | None]) -> list[types.Location]:
    places = dict.fromkeys(occurrence.span for occurrence in occurrences)
    return [place for span in places if (place := location(span)) is not None]


# -- symbols -------------------------------------------------------------------------------------------------------------------------------


def document_symbols(named: NamedTexts, name: str, text: Text) -> list[types.DocumentSymbol]:
    """The definitions of a file, each inside what contains it."""
    top: list[types.DocumentSymbol] = []
    inside: dict[str, tuple[types.DocumentSymbol, list[types.DocumentSymbol]]] = {}
    for symbol in named.names.symbols(name):
        begin = named.here(symbol.span, text)
        last = _mapped(Source(name, symbol.last, 1), named.texts.get(name, ""), text.text).line
        line = max(last - 1, begin.end.line)
        whole = types.Range(begin.start, text.position(text.index(line + 1, len(text.line(line)) + 1)))
        children: list[types.DocumentSymbol] = []
        detail = terminal(f"{symbol.detail} {symbol.title}".strip())
        item = types.DocumentSymbol(_label(symbol), _symbol_kind(symbol), whole, begin, detail=detail, children=children)
        around = inside.get(symbol.container or "")
        (around[1] if around is not None and _contains(around[0].range, whole) else top).append(item)
        inside[symbol.name] = (item, children)
    return top


def _contains(outer: types.Range, inner: types.Range) -> bool:
    def key(at: types.Position) -> tuple[int, int]:
        return at.line, at.character

    return key(outer.start) <= key(inner.start) and key(inner.end) <= key(outer.end)


def workspace_symbols(
    named: NamedTexts, query: str, location: Callable[[TextSpan], types.Location | None]
) -> Iterator[types.WorkspaceSymbol]:
    """The definitions of a project whose name or title contains every word of a query."""
    words = query.casefold().split()
    for symbol in named.names.symbols():
        if all(word in f"{symbol.name} {symbol.title}".casefold() for word in words) and (place := location(symbol.span)) is not None:
            yield types.WorkspaceSymbol(place, _label(symbol), _symbol_kind(symbol), container_name=terminal(symbol.title or symbol.name))


def _label(symbol: Symbol) -> str:
    return terminal(symbol.name.rpartition("/")[2]) or symbol.name


def _symbol_kind(symbol: Symbol) -> types.SymbolKind:
    return {
        NameSort.VARIABLE: types.SymbolKind.Variable,
        NameSort.POLICY: types.SymbolKind.Event,
        NameSort.SECRET: types.SymbolKind.Key,
    }.get(NameSort(symbol.detail) if symbol.detail in list(NameSort) else NameSort.RESOURCE, types.SymbolKind.Object)


# -- renames -------------------------------------------------------------------------------------------------------------------------------


def rename_target(named: NamedTexts, name: str, text: Text, offset: int) -> tuple[Address, types.Range]:
    """The resource whose key is at an offset, and the range of that key. Raises `Refused`."""
    for occurrence in occurrences_at(named, name, text, offset):
        if occurrence.sort is not NameSort.RESOURCE or occurrence.role in (NameRole.PATTERN, NameRole.FORMER):
            continue
        range = named.here(occurrence.span, text)
        start = text.offset(range.start)
        written = text.text[start : text.offset(range.end)]
        with suppress(ValueError):
            address = Address.parse(occurrence.name)
            # In an address, the part at the cursor counts: acme/site/docs/section/start also names the site.
            before = written[: max(offset - start, 0)].count("/") + 1
            parts = written.split("/")
            inner = Address.parse("/".join(parts[:before])) if 1 < len(parts) == len(address.parts) else address
            if inner in named.names.declared:
                begin = start + (sum(len(part) + 1 for part in parts[: before - 1]) if len(parts) > 1 else 0)
                return inner, text.span(begin, begin + len(inner.key))
    raise Refused(
        "only the key of a resource can be renamed, where it is defined or named", id="RC-not-a-key", hint="Put the cursor on a key."
    )


def rename(root: Path, kinds: Kinds, unsaved: Mapping[str, str], address: Address, key: str) -> tuple[ProjectTexts, dict[str, str]]:
    """The present texts of a project, and the new texts of the files that a rename changes. Raises `Refused` or `ConfigError`."""
    try:
        texts = project_texts(root, kinds, unsaved)
        return texts, renamed(texts, address, key)
    except HALF_WRITTEN:
        raise Refused("a file of the project is half-written", id="RC-yaml-syntax", hint="Correct its problems first.") from None
