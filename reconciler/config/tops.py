"""The top of a file: its root resources, the sections of one root, `removed` and `moved`; and keys that are not allowed. Pure.

In: the top keys of one file. Out: resources in the tree, and the treatment of addresses that are no longer declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.config.keys import ENVIRONMENTS, NO_ENVIRONMENTS, SECRETS, TOP
from reconciler.config.resources.shapes import Item
from reconciler.config.resources.tree import ResourceTree
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import FOR_EACH, MapEntry, Scalar
from reconciler.config.source.problems import described_or_nothing, untainted, wrong_form
from reconciler.resource import Kind
from reconciler.text.names import did_you_mean


@dataclass(eq=False)
class Tops:
    """Reads the top of each file into a tree. `removed`, `moved`: these sections of the files read so far."""

    tree: ResourceTree
    removed: list[MapEntry] = field(default_factory=list)
    moved: list[MapEntry] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kinds, self.problems = self.tree.kinds, self.tree.problems
        self.roots = {kind.place.section_in(None): kind for kind in self.kinds.roots}

    def everywhere(self, keys: KeyReader) -> None:
        """Read the keys that any file may have: root resources, `removed` and `moved`."""
        for section, kind in self.roots.items():
            entry = keys.entry(section)
            if entry is not None:
                self.tree.roots(kind, entry)
        for name, entries in (("removed", self.removed), ("moved", self.moved)):
            entry = keys.entry(name)
            if entry is not None:
                entries.append(entry)

    def rest(self, keys: KeyReader) -> None:
        """Report the unread keys of the project file."""
        # A section of an organization at the top of the project file: allowed in included files, so the message says where it belongs.
        inner = {section for kind in self.roots.values() for section in self._inner(kind)}
        keys.known += ["vars", "include", SECRETS]
        for key, entry in list(keys.entries.items()):
            if key == ENVIRONMENTS:
                self.problems.add(entry.at, f"{ENVIRONMENTS} is not a key of the project file: {NO_ENVIRONMENTS}", id="RC-key-elsewhere")
                keys.known.append(key)
            elif key == FOR_EACH:
                wrong = "forEach is not allowed at the top of a file: write it in the entry or node that it repeats"
                self.problems.add(entry.at, wrong, id="RC-for-each-elsewhere")
                keys.known.append(key)
            elif key in inner and key not in keys.known:
                where = " or ".join(f"{section}: …" for section in self.roots)
                wrong = f"{key} is not allowed at the top of the project file; write it inside {where}, or include it"
                self.problems.add(entry.at, wrong, id="RC-key-elsewhere")
                keys.known.append(key)
        keys.rest()

    def fragment(self, keys: KeyReader) -> None:
        """Read the sections of one root in an included file."""
        for kind in self.kinds.roots:
            named = keys.entry(kind.name)
            entries = [entry for key in self._inner(kind) if (entry := keys.entry(key)) is not None]
            # In the order of the file, as a reader sees it: problems about several of them come in that order.
            entries.sort(key=lambda entry: (entry.at.line, entry.at.column))
            roots = {item.address.key: item for item in self.tree.items.by_address.values() if item.parent is None and item.kind is kind}
            root: Item | None = None
            if named is not None:
                root = self._named(kind, named, roots)
            elif entries and len(roots) == 1:
                root = next(iter(roots.values()))
            elif entries:
                choice = f"; write {kind.name}: {' or '.join(roots)}" if roots else ""
                wrong = f"this file does not say which organization its {entries[0].key} belong to{choice}"
                self.problems.absent(entries[0].at, wrong, id="RC-which-organization")
            if root is not None:
                self.tree.sections(root, entries)
        for key, entry in keys.entries.items():
            if key not in keys.known:
                if key == ENVIRONMENTS:
                    self.problems.add(
                        entry.at, f"{ENVIRONMENTS} is not a key of an included file: {NO_ENVIRONMENTS}", id="RC-key-elsewhere"
                    )
                elif key in TOP:
                    self.problems.add(entry.at, f"{key} is only allowed in the project file", id="RC-only-in-project-file")
                else:
                    self.problems.add(entry.at, f'unknown key "{key}"{did_you_mean(key, keys.known)}', id="RC-unknown-key")

    def _named(self, kind: Kind, entry: MapEntry, roots: Mapping[str, Item]) -> Item | None:
        node = entry.node
        if not isinstance(node, Scalar) or node.null or node.empty:
            what = described_or_nothing(node)
            self.problems.add(node.at, f"{kind.name} must be the key of one, not {what}", id=wrong_form(node))
        elif untainted(node, kind.name, self.problems.add):
            if node.text in roots:
                return roots[node.text]
            self.problems.absent(node.at, f'no {kind.name} "{node.text}"{did_you_mean(node.text, roots)}', id="RC-unknown-reference")
        return None

    def _inner(self, kind: Kind) -> list[str]:
        return [*self.kinds.sections(kind.name), *self.kinds.lists(kind.name), *self.kinds.singles(kind.name)]
