"""From the evaluated files of a project to `Project`: the order in which their sections are read. Pure.

In: the files after evaluation. Out: the project, and the nodes that patches or `forEach` replaced. The top of a file contains root
resources, the sections of one root, `removed` and `moved`; what else is there is a problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reconciler.config.environments.overlay import Overlay, Patches
from reconciler.config.keys import (
    ENVIRONMENTS,
    IGNORE_CHANGES,
    IGNORED,
    MEMBER,
    NO_ENVIRONMENTS,
    PROJECT,
    RULES_OF_ANY_FILE,
    SECRETS,
    SERVICE,
    TOP,
)
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.references import Linker, read_defaults
from reconciler.config.renames import read_moved, read_removed
from reconciler.config.resources.claims import check_conditions
from reconciler.config.resources.ignored_changes import opening, with_ignored
from reconciler.config.resources.items import ItemReader
from reconciler.config.resources.shapes import Item, shapes
from reconciler.config.resources.tree import ResourceTree
from reconciler.config.sections import SectionReading, read_sections
from reconciler.config.settings import KeyReader, Project, read_guards, read_ignores, read_protect, read_prune, read_settings, rule_lines
from reconciler.config.source.includes import Split
from reconciler.config.source.nodes import FOR_EACH, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Problems, described_or_nothing, untainted, wrong_form
from reconciler.model import Desired, Source
from reconciler.model.desired import Generation
from reconciler.resource import Kind, Kinds
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


def assembled(
    kinds: Kinds,
    problems: Problems,
    environment: str | None,
    top: Map,
    *,
    included: list[Map],
    split: Split,
    evaluation: Evaluation,
    overlay: Overlay | None,
) -> tuple[Project, Mapping[int, Node | None], Mapping[int, list[Any]]]:
    """The project that evaluated files declare, what patches put in the place of a node (by its identity, None: removed), and the
    results of `forEach`.

    `top`: the project file; `included`: the files that it includes as a whole; `split` reads those that a map or list includes; `overlay`:
    the file of the environment, None without environments."""
    keys = _top_keys(top, problems)
    settings = read_settings(keys, top.at, split.files.root)
    prune, protect = read_prune(keys, kinds, problems), read_protect(keys, kinds, problems)
    guards = read_guards(keys)
    ignores = read_ignores(KeyReader.of("lint", keys.entry("lint"), problems, example="ignore: […]"), problems)
    compiled = shapes(kinds)
    defaults = read_defaults(compiled, keys.entry("defaults"), problems)
    tree = ResourceTree(kinds, ItemReader(compiled, problems), split, evaluation)
    tops = Tops(tree)
    # All roots come first, then the sections that other files add to them: the order of the files must not matter.
    tops.everywhere(keys)
    keys.known.append(IGNORE_CHANGES)
    sections = {key.name: [entry] if (entry := keys.entry(key.name)) is not None else [] for key in PROJECT if key.feature}
    tops.rest(keys)
    fragments = [_top_keys(document, problems) for document in included]
    for fragment in fragments:
        tops.everywhere(fragment)
    for fragment in fragments:
        for name in RULES_OF_ANY_FILE:
            sections[name] += [entry] if (entry := fragment.entry(name)) is not None else []
        tops.fragment(fragment)
    items = tree.complete()
    # Patches are applied to what was read and before references are resolved: a patch may set a reference, or remove what others refer to.
    patches = Patches(tree, problems)
    if overlay is not None:
        patches.apply(overlay)
        tops.removed += overlay.removed
    linker = Linker(kinds, compiled, problems, items, defaults, patches.gone)
    resources = linker.link()
    check_conditions(kinds, resources, problems)
    lister = linker.lister(settings.member, _member_at(keys)) if settings.member is not None else None
    if lister is not None and lister in linker.implied:
        resources = {**resources, lister: linker.implied[lister]}
    resources, ineffective = with_ignored(keys.entry(IGNORE_CHANGES), kinds, resources, problems)
    moved = read_moved(kinds, tops.moved, items, problems, excluded=patches.gone)
    excluded = linker.excluded(patches.removed)
    addresses = {address: item.kind.name for address, item in items.items()}
    reading = SectionReading(keys, sections, kinds, addresses, split.files.root, evaluation, problems)
    desired = Desired(
        project=settings.project, environment=environment, resources=resources, prune=prune, protect=protect, moved=moved,
        removed=read_removed(kinds, tops.removed, items, moved, problems, chosen=overlay is not None),
        written=frozenset(tree.items.written), guards=guards, lister=lister, read_people=settings.read_people, rule_lines=rule_lines(keys),
        patches=tuple(patches.read), excluded=excluded,
        generated={
            item.address: Generation(each.at, each.value, each.element, each.place)
            for item in items.values()
            if (each := item.each) is not None
        },
        ignored=opening(kinds, resources), defaults=linker.given(),
    )  # fmt: skip
    settings = replace(settings, files=tuple(split.files.seen))
    project = Project(settings, read_sections(reading, desired), unused={**linker.unused(), **ineffective}, ignores=ignores)
    return project, patches.changed, tree.generator.copies


def _top_keys(document: Map, problems: Problems) -> KeyReader:
    """The top of a file, without the keys that are ignored."""
    return KeyReader("", {key: entry for key, entry in document.entries.items() if not key.startswith(IGNORED)}, problems)


def _member_at(keys: KeyReader) -> Source:
    """The position of `service.member`, the owner of the token."""
    service = keys.entries[SERVICE.name].node
    return service.entries[MEMBER].node.at if isinstance(service, Map) else service.at
