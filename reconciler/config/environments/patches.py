"""Patches of an environment: fields that have other values there, and resources that do not exist there.

In: the tree of resources as the files declare them. Out: the same tree, changed. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from reconciler.address import Address, Glob
from reconciler.config.environments.overlay import Overlay
from reconciler.config.resources.reserved import read_reserved
from reconciler.config.resources.shapes import Item
from reconciler.config.resources.tree import ResourceTree, unknown_key
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import ProblemReport, Problems, described, empty, wrong_form
from reconciler.model import Source
from reconciler.model.desired import Patch
from reconciler.resource import RESERVED
from reconciler.text.names import closest, did_you_mean

MATCH, SET, REMOVE, ID = "match", "set", "remove", "id"
FORM: Final = "write {match: ADDRESS, set: {…}} or {match: ADDRESS, remove: true}"


@dataclass(eq=False)
class Patches:
    """Applies an overlay. `changed`: the replacement of a node, by its identity; None if it is removed.
    `removed`: the resources that are removed, and `gone`: where the files say so."""

    tree: ResourceTree
    problems: Problems
    changed: dict[int, Node | None] = field(default_factory=dict)
    gone: dict[Address, Source] = field(default_factory=dict)
    removed: list[Item] = field(default_factory=list)
    read: list[Patch] = field(default_factory=list)  # values by field in the form that the engine receives
    _reported: set[Source] = field(default_factory=set)

    def apply(self, overlay: Overlay) -> None:
        """Set fields, then remove resources."""
        for section, entry in overlay.roots.items():
            self._roots(section, entry)
        removals: list[tuple[Glob, Source]] = []
        for node in overlay.patches:
            self._patch(node, removals)
        self._remove(removals)

    # -- reading a patch -----------------------------------------------------------------------------------------------------------

    def _roots(self, section: str, entry: MapEntry) -> None:
        """The ids that root resources have in the environment."""
        keys = KeyReader.of(section, entry, self.problems)
        roots = {item.address.key: item for item in self.tree.items.by_address.values() if item.parent is None and item.section == section}
        for key, root in keys.entries.items():
            if key not in roots:
                kind = next(kind.name for kind in self.tree.kinds.roots if kind.place.section_in(None) == section)
                self.problems.absent(
                    root.at, f'no {kind} "{key}" is declared in the project{did_you_mean(key, roots)}', id="RC-unknown-reference"
                )
                continue
            values = KeyReader.of(f"{section}.{key}", root, self.problems, example=f"{ID}: …").entries
            for name, value in values.items():
                if name == ID:
                    self._set(roots[key], value)
                else:
                    way = f"write it as a patch: {{match: {key}, set: {{{name}: …}}}}"
                    self.problems.add(value.at, f"only the id of {key} is allowed here, not {name}; {way}", id="RC-not-patchable")

    def _patch(self, node: Node, removals: list[tuple[Glob, Source]]) -> None:
        if not isinstance(node, Map):
            self.problems.add(node.at, f"a patch must be a map, not {described(node)}; {FORM}", id=wrong_form(node))
            return
        keys = KeyReader("patch", node.entries, self.problems)
        match, values = keys.text(MATCH), keys.entry(SET)
        removed = keys.entry(REMOVE)
        keys.rest()
        if MATCH not in node.entries and any(closest(key, (MATCH,)) for key in node.entries):
            return  # the other problem says what was meant
        if MATCH not in node.entries:
            self.problems.add(node.at, f"a patch must say what it matches; {FORM}", id="RC-missing-key")
        elif (values is None) == (removed is None):
            self.problems.add(node.at, f"a patch must either set or remove; {FORM}", id="RC-set-or-remove")
        elif removed is not None and not (isinstance(removed.node, Scalar) and removed.node.core() is True):
            wrong = f"remove can only be true, not {described(removed.node)}; otherwise remove the patch"
            self.problems.add(removed.node.at, wrong, id="RC-set-or-remove")
        elif match is not None:
            glob = self._glob(*match)
            if glob is not None:
                sets = values.node.entries if values is not None and isinstance(values.node, Map) else {}
                self.read.append(Patch(glob, match[1], {name: entry.at for name, entry in sets.items()}))
            if glob is not None and removed is not None:
                removals.append((glob, match[1]))
            elif glob is not None and values is not None:
                self._set_all(glob, values)

    def _glob(self, text: str, at: Source) -> Glob | None:
        glob = self.problems.glob(text, at)
        if glob is None or any(glob.matches(address) for address in self.tree.items.by_address):
            return glob
        hint = ("" if "*" in text else did_you_mean(text, map(str, self.tree.items.by_address))) or "; correct it, or remove the patch"
        self.problems.absent(at, f"this patch matches no resource: {text}{hint}", id="RC-matches-nothing")
        return None

    # -- setting -------------------------------------------------------------------------------------------------------------------

    def _set_all(self, glob: Glob, values: MapEntry) -> None:
        if not isinstance(values.node, Map) or not values.node.entries:
            nothing = isinstance(values.node, Scalar) and values.node.empty
            wrong = empty(SET) if nothing else f"set must be a map of fields, not {described(values.node)}; write {{FIELD: VALUE}}"
            says = wrong if not isinstance(values.node, Map) else "set is empty; write {FIELD: VALUE}"
            self.problems.add(values.node.at, says, id=wrong_form(values.node))
            return
        for address, item in self.tree.items.by_address.items():
            if glob.matches(address):
                for entry in values.node.entries.values():
                    self._set(item, entry)

    def _set(self, item: Item, entry: MapEntry) -> None:
        """Set one field of a resource to the value of the environment."""
        shape, name = self.tree.shapes[item.kind.name], entry.key
        before = len(self.problems.found)
        report = self._once(item.address, entry.at)
        if name in shape.readers:
            if name not in item.nodes:
                item.patched |= {name}
            item.nodes[name] = entry.node
            item.values[name] = shape.readers[name].read(entry.node, self._once(item.address, entry.node.at))
        elif name in shape.sections or name in shape.lists or name in shape.singles:
            report(
                entry.at, f"{name} cannot be patched: a patch sets fields, and removes resources with remove: true", id="RC-not-patchable"
            )
        elif name in shape.flags or name in ("key", "forEach", "previously"):
            report(entry.at, f"{name} cannot be patched; write it in the file that declares {item.address}", id="RC-not-patchable")
        elif name in RESERVED:
            read_reserved(self.tree.kinds, shape, item, entry, report)
        else:
            wrong = unknown_key(self.tree.shapes, shape, item, name)
            report(entry.at, wrong.message, id=wrong.id)
        if len(self.problems.found) == before and item.body is not None:
            self._write(item, entry)

    def _once(self, about: Address, place: Source) -> ProblemReport:
        """A reporter that reports a problem of a patch once, not once for each resource that it matches."""
        report_about, reported = self.problems.about(about), place in self._reported

        def report(at: Source, message: str, *, id: str) -> None:
            if not reported:
                self._reported.add(place)
                report_about(at, message, id=id)

        return report

    def _write(self, item: Item, entry: MapEntry) -> None:
        """Record the new text of the resource."""
        body = item.body
        assert body is not None
        now = self.changed.get(id(body), body)
        shape = self.tree.shapes[item.kind.name]
        if item.kind.place.value_is == entry.key:
            self.changed[id(body)] = entry.node
            return
        bare = item.kind.place.bare_is
        if isinstance(now, Scalar) and bare is not None:
            tag = shape.tag or bare
            now = Map(now.at, {tag: MapEntry(tag, now.at, replace(now))})  # a copy: the scalar itself is what the map replaces
        if isinstance(now, Map):
            self.changed[id(body)] = Map(now.at, {**now.entries, entry.key: entry})

    # -- removing ------------------------------------------------------------------------------------------------------------------

    def _remove(self, globs: list[tuple[Glob, Source]]) -> None:
        """Remove resources from the tree, with everything that they contain."""
        if not globs:
            return
        items, gone = self.tree.items.by_address, self.gone
        # One pass is enough: what contains a resource is decided before the resource.
        for address, item in items.items():  # containers come before what they contain
            at = next((at for glob, at in globs if glob.matches(address)), None)
            if at is not None:
                gone[address] = at
            elif item.parent is not None and item.parent.address in gone:
                gone[address] = gone[item.parent.address]
        for address in gone:
            item = items.pop(address)
            self.removed.append(item)
            if item.body is not None:
                self.changed[id(item.body)] = None
            self._unchosen(item)
        self._first(items)
        self.tree.items.written = {(at, kind) for at, kind in self.tree.items.written if at not in gone}

    def _unchosen(self, item: Item) -> None:
        """Remove the choice if the chosen resource is removed."""
        around = item.parent
        while around is not None:
            for name in [name for name, chosen in around.flagged.items() if chosen is item]:
                del around.flagged[name]
                around.values.pop(name, None)
                around.nodes.pop(name, None)
            around = around.parent

    def _first(self, items: Mapping[Address, Item]) -> None:
        """Set the first child of each resource, among those that remain."""
        for item in items.values():
            if item.first is not None and item.first.address not in items:
                item.first = None
        for item in items.values():
            parent = item.parent
            if parent is not None and parent.first is None and parent.kind.first is not None and parent.kind.first.to == item.kind.name:
                parent.first = item
