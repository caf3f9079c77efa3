"""The texts of one project: what the editor has unsaved, what the files contain, and what each said when it could last be parsed.

`parse` is what the loader is given: it parses only what changed. A half-written file keeps the nodes of the last text that was YAML, moved
to the lines where they are now, with the problems of the text as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Final

from reconciler.config.keys import ENVIRONMENTS
from reconciler.config.source.files import is_literal
from reconciler.config.source.nodes import Map, MapEntry, Node, copied
from reconciler.config.source.reader import Document, read
from reconciler.features.lsp.text import COMPARED_MAX, common
from reconciler.model import Source

_CHANGED: Final = "vars"  # the one key of a file without expressions in whose value loading removes entries


@dataclass(frozen=True)
class Parsed:
    """A text that was parsed, by the digest of its bytes. `literal`: it contains no expressions."""

    digest: bytes
    text: bytes
    document: Document
    literal: bool


class ParsedFiles:
    """What the files of one project said. `top`: the name of the project file."""

    def __init__(self, top: str) -> None:
        self.top = top
        # By name: the present text, and the last one that was YAML.
        self.present: dict[str, Parsed] = {}
        self.last: dict[str, Parsed] = {}

    def parse(self, text: bytes, name: str) -> Document:
        """The nodes of a file, which the caller may change."""
        digest = sha256(text).digest()
        parsed = self.present.get(name)
        if parsed is None or parsed.digest != digest:
            parsed = self.present[name] = Parsed(digest, text, read(text, name), is_literal(text))
        data, problems = parsed.document.data, parsed.document.problems
        if data is not None:
            self.last[name] = parsed
            return Document(self._own(data, name, parsed.literal), problems, parsed.document.values)
        last = self.last.get(name)
        if last is None or last.document.data is None:
            return parsed.document
        return Document(copied(last.document.data, moved(last.text, text)), problems, last.document.values)

    def broken(self, name: str) -> bool:
        """Whether the present text of a file is no YAML."""
        return name in self.present and self.present[name].document.data is None

    def keep(self, names: set[str]) -> None:
        """Forget the files that do not belong to the project any more."""
        for name in self.present.keys() - names:
            del self.present[name]
        for name in self.last.keys() - names:
            del self.last[name]

    def _own(self, data: Node, name: str, literal: bool) -> Node:
        """Nodes that can be changed; what loading does not change is shared."""
        if not literal or not isinstance(data, Map):
            return data if literal else copied(data)
        if name != self.top and not name.startswith(f"{ENVIRONMENTS}/"):
            return Map(data.at, dict(data.entries))
        entries = {key: MapEntry(key, entry.at, copied(entry.node)) if key == _CHANGED else entry for key, entry in data.entries.items()}
        return Map(data.at, entries)


def moved(before: bytes, after: bytes) -> Callable[[Source], Source]:
    """Where the lines of a text are in a later one; a line that is no longer there is at the next one before it that is."""
    old, new = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    first, same = common(old, new)
    last = len(old) - same
    lines = [*range(first), *[first] * (last - first), *range(len(new) - same, len(new))]
    if max(last, len(new) - same) - first <= COMPARED_MAX:
        matcher = SequenceMatcher(None, old[first:last], new[first : len(new) - same], autojunk=False)
        for start, at, size in matcher.get_matching_blocks():
            there = first + at + size
            lines[first + start : last] = [*range(first + at, there), *[max(there - 1, 0)] * (last - first - start - size)]
    most = max(len(new) - 1, 0)

    def at_line(source: Source) -> Source:
        line = source.line - 1
        return Source(source.file, min(lines[line] if line < len(lines) else most, most) + 1, source.column)

    return at_line
