"""The texts of a project's files, and what is written where in them.

`ProjectTexts` is the project of an editor or of a proposed change: texts instead of files, so that what nobody saved yet is loaded, checked
and planned like a project on the disk. Nothing is written; what `file()` names is read from the disk.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Unpack

from reconciler.config.keys import ENVIRONMENTS, project_file
from reconciler.config.project import FileAccess, LoadOptions, load
from reconciler.config.settings import Project
from reconciler.config.source.includes import texts as texts_of
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar
from reconciler.config.source.reader import FILE_MAX, read
from reconciler.features.testing.files import discovered
from reconciler.links import read_file
from reconciler.model import Source
from reconciler.resource import Kinds
from reconciler.yamltext.line_ends import plain
from reconciler.yamltext.tree import line_starts

_ANCHOR: Final = re.compile(r"&\S+\s+")


@dataclass(frozen=True, order=True)
class TextSpan:
    """A part of one line: line and columns from 1; `end` is the column after its last character."""

    file: str
    line: int
    column: int
    end: int

    def contains(self, file: str, line: int, column: int) -> bool:
        """Whether a position is in it, or directly after it, where a cursor still belongs to the word."""
        return (file, line) == (self.file, self.line) and self.column <= column <= self.end

    @property
    def source(self) -> Source:
        """Where it begins."""
        return Source(self.file, self.line, self.column)


@dataclass(frozen=True, eq=False)
class FileText:
    """One file. `text`: without a byte order mark, with `\\n` as its only line break, as positions count."""

    name: str
    text: str

    @cached_property
    def document(self) -> Node | None:
        """Its nodes, with expressions as written; None where it cannot be read."""
        return read(self.text.encode("utf-8", "surrogatepass"), self.name).data

    @cached_property
    def starts(self) -> list[int]:
        """The index at which each line begins."""
        return line_starts(self.text)

    @cached_property
    def places(self) -> Mapping[tuple[int, int], tuple[MapEntry | Scalar, Map | None]]:
        """What begins at a line and column: an entry and the map that contains it, or a scalar of a list."""
        places: dict[tuple[int, int], tuple[MapEntry | Scalar, Map | None]] = {}
        waiting: list[Node] = [self.document] if self.document is not None else []
        while waiting:
            node = waiting.pop()
            if isinstance(node, Map):
                for entry in node.entries.values():
                    places.setdefault(entry.at[1:], (entry, node))
                    waiting.append(entry.node)
            elif isinstance(node, List):
                for item in node.items:
                    if isinstance(item, Scalar):
                        places.setdefault(item.at[1:], (item, None))
                    else:
                        waiting.append(item)
        return places

    def index(self, at: Source) -> int:
        """The index of a position; the end of the text for one behind it."""
        return self.starts[at.line - 1] + at.column - 1 if 0 < at.line <= len(self.starts) else len(self.text)

    def source(self, index: int) -> Source:
        """The position of an index."""
        line = bisect_right(self.starts, index)
        return Source(self.name, line, index - self.starts[line - 1] + 1)

    def span(self, at: Source, written: str) -> TextSpan | None:
        """The span of a text that begins at a position, without its quotes and its anchor; None where it is not written out there: an
        alias repeats it, an expression gives it, it is escaped or on several lines."""
        start = self.index(at)
        anchor = _ANCHOR.match(self.text, start)
        start = anchor.end() if anchor is not None else start
        quote = self.text[start : start + 1] if self.text[start : start + 1] in ("'", '"') else ""
        start += len(quote)
        if not written or "\n" in written or not self.text.startswith(written + quote, start):
            return None
        column = start - self.starts[at.line - 1] + 1
        return TextSpan(self.name, at.line, column, column + len(written)) if anchor is None or "\n" not in anchor[0] else None


@dataclass(frozen=True, eq=False)
class ProjectTexts:
    """`path`: the project's directory, or its project file. `texts`: of the project file, of what it includes, of its environments and of
    its tests, by name. `options`: how it is loaded."""

    path: Path
    kinds: Kinds
    texts: Mapping[str, str]
    options: LoadOptions = field(default_factory=LoadOptions)

    def with_texts(self, texts: Mapping[str, str]) -> ProjectTexts:
        """The same project with other texts of some files."""
        return replace(self, texts={**self.texts, **texts})

    @property
    def root(self) -> Path:
        """The project's directory."""
        return project_file(self.path).parent.resolve()

    @property
    def project_file(self) -> str:
        """The name of the project file."""
        return project_file(self.path).name

    @property
    def environments(self) -> tuple[str | None, ...]:
        """The names of the environments, by which it is loaded; only None without environments."""
        names = [name.removeprefix(f"{ENVIRONMENTS}/").rpartition(".")[0] for name in self.texts if name.startswith(f"{ENVIRONMENTS}/")]
        return tuple(sorted(names)) or (None,)

    @cached_property
    def files(self) -> Mapping[str, FileText]:
        """Its files by name."""
        return {name: FileText(name, plain(text)) for name, text in self.texts.items()}

    @cached_property
    def projects(self) -> Mapping[str | None, Project]:
        """The project of each environment. Raises `ConfigError` where one is not valid."""
        return {environment: self.load(environment) for environment in self.environments}

    def load(self, environment: str | None) -> Project:
        """The project in an environment; what is not known here (secrets, variables) has a placeholder. Raises `ConfigError`."""
        given = self.options.get("access", FileAccess())
        access = replace(given, decrypt=False, stand_ins=True, texts={**given.texts, **self.texts})
        options: LoadOptions = {**self.options, "environment": environment, "access": access}
        return load(self.path, self.kinds, **options)


def project_texts(path: Path, kinds: Kinds, given: Mapping[str, str] | None = None, **options: Unpack[LoadOptions]) -> ProjectTexts:
    """The texts of a project on the disk. `given`: texts that replace those of files, by name. Raises `ConfigError`."""
    root, texts = texts_of(path, kinds, given)
    for file in discovered(root):
        name = file.relative_to(root).as_posix()
        with suppress(UnicodeDecodeError):  # the command `test` reports it
            texts[name] = given[name] if given is not None and name in given else read_file(file, FILE_MAX, within=root).decode("utf-8")
    return ProjectTexts(path, kinds, texts, options)
