"""Maps and lists that are split into files: `content: {include: "content/*.yaml"}`, at any resource.

In: the map instead of entries or nodes. Out: the entries or nodes of the files it names, in the order of the names.
A file is a list of nodes, a map of entries, or a map with the one key of the section. Each file is read separately, and once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from reconciler.address import Address
from reconciler.config.keys import IGNORED
from reconciler.config.source.files import Files
from reconciler.config.source.includes import named
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Problems, described, empty, shown
from reconciler.model import Source
from reconciler.text.names import did_you_mean

INCLUDE: Final = "include"


def is_split(node: Node, *, ordered: bool) -> bool:
    """Whether a map names files instead of containing the values; in a section of keys `include` may be a key."""
    if not isinstance(node, Map) or INCLUDE not in node.entries:
        return False
    return ordered or not isinstance(node.entries[INCLUDE].node, Map)


@dataclass(eq=False)
class Split:
    """The split maps and lists of one project. `taken`: where each file is included. `evaluated`: evaluates a file's node.

    `documents`: the files that were read, by name, after evaluation.
    """

    files: Files
    project_file: str
    problems: Problems
    taken: dict[str, Source] = field(default_factory=dict)
    evaluated: Callable[[Node], Node] = lambda node: node
    documents: dict[str, Node | None] = field(default_factory=dict)

    def nodes(self, section: str, node: Map, about: Address | None) -> list[Node]:
        """The nodes of a list."""
        for key, entry in node.entries.items():
            if key != INCLUDE:
                wrong = f'unknown key "{key}" next to include: a list that is split into files contains nothing else'
                self.problems.add(entry.at, f"{wrong}{did_you_mean(key, [INCLUDE])}", about, id="RC-unknown-key")
        nodes: list[Node] = []
        for name in self.names(node, about):
            part = self._inner(section, name)
            if isinstance(part, List):
                nodes += part.items
            elif isinstance(part, Map) and is_split(part, ordered=True):
                nodes += self.nodes(section, part, about)
            elif part is not None:
                self._wrong(part, section, about, "a list of nodes")
        return nodes

    def entries(self, section: str, node: Map, about: Address | None) -> list[MapEntry]:
        """The entries of a map: its own, then those of the files."""
        entries = [entry for key, entry in node.entries.items() if key != INCLUDE]
        for name in self.names(node, about):
            part = self._inner(section, name)
            if isinstance(part, Map) and is_split(part, ordered=False):
                entries += self.entries(section, part, about)
            elif isinstance(part, Map):
                entries += [entry for key, entry in part.entries.items() if not key.startswith(IGNORED)]
            elif part is not None:
                self._wrong(part, section, about, "a map of entries")
        return entries

    # -- files ---------------------------------------------------------------------------------------------------------------------

    def names(self, node: Map, about: Address | None) -> list[str]:
        """The files that a map names, each once; files that cannot be included are reported."""
        sources: dict[str, Source] = {}
        # A dictionary, because two patterns may match the same file, and its position is then that of the first.
        for pattern in self._patterns(node.entries[INCLUDE].node, about):
            if isinstance(pattern, Scalar) and pattern.computed:
                wrong = "include must not contain an expression: files are read before expressions are evaluated"
                self.problems.add(pattern.at, wrong, about, id="RC-expression-not-allowed")
                continue
            for name in named(self.files.root, self.project_file, pattern, self.problems):
                sources.setdefault(name, pattern.at)
        return [name for name, at in sources.items() if self._free(name, at, about)]

    def _patterns(self, node: Node, about: Address | None) -> list[Node]:
        if isinstance(node, List) and node.items:
            return node.items
        if isinstance(node, Scalar) and node.text and not node.null:
            return [node]
        if isinstance(node, Scalar) and node.empty:
            self.problems.add(node.at, empty(INCLUDE), about, id="RC-no-value")
        else:
            what = "an empty list" if isinstance(node, List) else described(node)
            self.problems.add(
                node.at, f"include must be the name of a file, a pattern, or a list of them, not {what}", about, id="RC-wrong-form"
            )
        return []

    def _free(self, name: str, at: Source, about: Address | None) -> bool:
        """Whether a file may be included here: it is included nowhere else, and does not include itself."""
        # A file may include another one, so a circle can have any length.
        chain = [at.file]
        while (above := self.taken.get(chain[-1])) is not None and above.file not in chain:
            chain.append(above.file)
        first = self.taken.get(name)
        if name in chain:
            names = " -> ".join([*reversed(chain[: chain.index(name) + 1]), name])
            self.problems.add(at, f"include {shown(name)} is circular: {names}", about, id="RC-included-twice")
        elif first is not None and first != at:
            self.problems.add(at, f"{name} is included twice; first at {first}", about, id="RC-included-twice")
        else:
            self.taken[name] = at
            return True
        return False

    def _inner(self, section: str, name: str) -> Node | None:
        """The contents of a file, without the key of the section that may be around it."""
        if name not in self.documents:
            read = self.files.read(name)
            self.documents[name] = self.evaluated(read) if read is not None else None
        document = self.documents[name]
        if isinstance(document, Map):
            # With the key of the section around it an editor knows what the file is, and checks all of it.
            keys = [key for key in document.entries if not key.startswith(IGNORED)]
            if keys == [section]:
                return document.entries[section].node
        return document

    def _wrong(self, node: Node, section: str, about: Address | None, form: str) -> None:
        at, hint = node.at, ""
        if isinstance(node, Map):
            keys = [entry for key, entry in node.entries.items() if not key.startswith(IGNORED)]
            other = next((entry for entry in keys if entry.key != section), None)
            at, hint = (other.at if other else at), did_you_mean(other.key, [section]) if other else ""
            what = f'the key "{other.key}"' if other is not None else "a map"
        else:
            what = described(node)
        self.problems.add(
            at, f'a file of {section} must be {form}, or a map with the one key "{section}", not {what}{hint}', about, id="RC-wrong-form"
        )


@dataclass(frozen=True)
class Sections:
    """The names of sections with resources: `maps` of keys, and `lists` of nodes."""

    maps: Collection[str]
    lists: Collection[str]

    def splits(self, document: Node, section: str | None) -> Iterator[tuple[str, Map]]:
        """Every split map and list of a file, with its section; `section`: the section that includes the file, None for a whole file."""
        if section is None:
            yield from self._body(document)
            return
        if isinstance(document, Map):
            keys = [key for key in document.entries if not key.startswith(IGNORED)]
            document = document.entries[section].node if keys == [section] else document
        yield from self._section(section, document)

    def _body(self, node: Node) -> Iterator[tuple[str, Map]]:
        for key, entry in node.entries.items() if isinstance(node, Map) else ():
            if key in self.maps or key in self.lists:
                yield from self._section(key, entry.node)

    def _section(self, section: str, node: Node) -> Iterator[tuple[str, Map]]:
        ordered = section in self.lists
        if isinstance(node, Map) and is_split(node, ordered=ordered):
            yield section, node
        if ordered:
            for item in node.items if isinstance(node, List) else ():
                yield from self._body(item)
        else:
            for entry in node.entries.values() if isinstance(node, Map) else ():
                yield from self._body(entry.node)


def all_files(split: Split, sections: Sections, documents: Mapping[str, Node]) -> list[str]:
    """The names of all files, those of split maps and lists behind the files given."""
    names = list(documents)
    waiting: list[tuple[Node, str | None]] = [(document, None) for document in reversed(list(documents.values()))]
    while waiting:
        document, section = waiting.pop()
        for within, node in sections.splits(document, section):
            for name in split.names(node, None):
                names.append(name)
                read = split.files.read(name)
                if read is not None:
                    waiting.append((read, within))
    return names
