"""Ordered lists that are too long for one file: a file for each node that contains others, and one for the nodes between two of them. Pure.

In: gathered objects. Out: the files, and what is written in place of each list that is split.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from reconciler.config.source.includes import INCLUDE
from reconciler.importer.entries import EntryWriter
from reconciler.importer.gather import GatheredObject
from reconciler.yamltext.emit import EmittedEntry, EmittedList, EmittedMap


@dataclass(frozen=True)
class Limits:
    """`nodes`: the most of a root's list in one file. `file`: the most of any other list in one, because a file is limited in its
    values."""

    nodes: int = 300
    file: int = 10_000


LIMITS: Final = Limits()


class RootFiles:
    """The files of one root. `taken`: paths that are in use."""

    def __init__(self, writer: EntryWriter, limits: Limits, taken: Collection[str] = ()) -> None:
        self.writer, self.limits = writer, limits
        self.files: dict[str, EmittedMap] = {}
        self._paths = {path.lower() for path in taken}  # some file systems ignore case

    def split(self, host: GatheredObject, section: str, folder: str) -> None:
        """Split a list of undeclared nodes into files where it is too long; the writer writes their names in its place."""
        items = [gathered for gathered in host.below.get(section, ()) if not gathered.declared]
        if sum(size(item) for item in items) <= (self.limits.nodes if host.host is None else self.limits.file):
            return
        names = []
        for group in self._groups(items):
            first = group[0]
            name = first.key if self._holds(first) else f"{first.kind.name}s"
            path = self._free(f"{folder}/{name}")
            if len(group) == 1:
                for inner in self.writer.all.kinds.lists(first.kind.name):
                    self.split(first, inner, f"{folder}/{name}")
            self.files[path] = EmittedMap(
                [EmittedEntry(section, EmittedList([self.writer.node(gathered) for gathered in group]))], open=True
            )
            names.append(path)
        self.writer.elsewhere[(host.ref, section)] = EmittedEntry(section, EmittedMap([EmittedEntry(INCLUDE, names)], open=True))

    def _groups(self, items: list[GatheredObject]) -> Iterator[list[GatheredObject]]:
        """The nodes of each file: one that contains others, or consecutive ones without contents."""
        group: list[GatheredObject] = []
        for item in items:
            if self._holds(item) or len(group) >= self.limits.file:
                if group:
                    yield group
                group = []
            if self._holds(item):
                yield [item]
            else:
                group.append(item)
        if group:
            yield group

    def _holds(self, item: GatheredObject) -> bool:
        return bool(self.writer.all.kinds.lists(item.kind.name))

    def _free(self, path: str) -> str:
        number, free = 1, f"{path}.yaml"
        while free.lower() in self._paths:
            number += 1
            free = f"{path}-{number}.yaml"
        self._paths.add(free.lower())
        return free


def size(item: GatheredObject) -> int:
    """The number of nodes in a node, itself included."""
    return 1 + sum(size(gathered) for some in item.below.values() for gathered in some)
