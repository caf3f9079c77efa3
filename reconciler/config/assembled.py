"""From the evaluated files of a project to `Project`: the order in which their sections are read. Pure.

In: the files after evaluation. Out: the project, and the nodes that patches or `forEach` replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reconciler.address import Address
from reconciler.config.access.conditions import check_conditions
from reconciler.config.access.tests import read_access
from reconciler.config.environments.overlay import Overlay
from reconciler.config.environments.patches import Patches
from reconciler.config.keys import IGNORE_CHANGES, IGNORED, MEMBER, POLICIES, RULES_OF_ANY_FILE, SERVICE
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.policies.section import PolicySections
from reconciler.config.references import Linker, read_defaults
from reconciler.config.renames import read_moved, read_removed
from reconciler.config.resources.ignored_changes import opening, with_ignored
from reconciler.config.resources.items import ItemReader
from reconciler.config.resources.shapes import Item, shapes
from reconciler.config.resources.tree import ResourceTree
from reconciler.config.rules import read_guards, read_ignores, read_protect, read_prune, rule_lines
from reconciler.config.settings import KeyReader, Project, read_settings
from reconciler.config.source.nodes import Map, MapEntry, Node
from reconciler.config.source.problems import Problems
from reconciler.config.source.split import Split
from reconciler.config.tops import Tops
from reconciler.model import AccessTest, Declared, Desired, Ignore, Policies, Source
from reconciler.model.desired import Excluded, Generation
from reconciler.resource import Kinds


@dataclass(frozen=True)
class EvaluatedFiles:
    """The files of a project after evaluation. `top`: the project file. `included`: the files that it includes as a whole. `split`: reads
    the files that a map or list includes. `overlay`: the file of the environment, None without environments."""

    top: Map
    included: list[Map]
    split: Split
    evaluation: Evaluation
    overlay: Overlay | None


@dataclass(frozen=True)
class Assembled:
    """`changed`: what patches put in the place of a node, by its identity, None: removed. `generated`: the results of `forEach`."""

    project: Project
    changed: Mapping[int, Node | None]
    generated: Mapping[int, list[Any]]


def assembled(kinds: Kinds, problems: Problems, environment: str | None, files: EvaluatedFiles) -> Assembled:
    """The project that the files declare."""
    words = _words(files.top, problems)
    settings = read_settings(words, files.top.at, files.split.files.root)
    prune, protect = read_prune(words, kinds, problems), read_protect(words, kinds, problems)
    guards = read_guards(words)
    ignores = _ignores(words)
    compiled = shapes(kinds)
    defaults = read_defaults(compiled, words.entry("defaults"), problems)
    tree = ResourceTree(kinds, ItemReader(compiled, problems), files.split, files.evaluation)
    tops = Tops(tree)
    tops.everywhere(words)
    words.known.append(IGNORE_CHANGES)
    rules = {name: [entry] if (entry := words.entry(name)) is not None else [] for name in RULES_OF_ANY_FILE}
    tops.rest(words)
    fragments = [_words(document, problems) for document in files.included]
    for fragment in fragments:
        tops.everywhere(fragment)
    for fragment in fragments:
        for name in RULES_OF_ANY_FILE:
            rules[name] += [entry] if (entry := fragment.entry(name)) is not None else []
        tops.fragment(fragment)
    items = tree.complete()
    generated = tree.generator.made if "generator" in tree.__dict__ else {}
    patches: Patches | None = None
    if files.overlay is not None:
        patches = Patches(tree, problems)
        patches.apply(files.overlay)
        tops.removed += files.overlay.removed
    linker = Linker(kinds, compiled, problems, items, defaults, patches.gone if patches is not None else {})
    resources = linker.link()
    _check_conditions(kinds, resources, problems)
    lister = linker.lister(settings.member, _member_at(words)) if settings.member is not None else None
    if lister is not None and lister in linker.implied:
        resources = {**resources, lister: linker.implied[lister]}
    resources, ineffective = with_ignored(words.entry(IGNORE_CHANGES), kinds, resources, problems)
    renamed = read_moved(kinds, tops.moved, items, problems, excluded=patches.gone if patches is not None else ())
    excluded = linker.excluded(patches.removed) if patches is not None and patches.removed else {}
    desired = Desired(
        project=settings.project, environment=environment, resources=resources, prune=prune, protect=protect,
        moved=renamed,
        removed=read_removed(kinds, tops.removed, items, renamed, problems, chosen=files.overlay is not None),
        written=frozenset(tree.items.written), guards=guards, lister=lister, rule_lines=rule_lines(words),
        patches=tuple(patches.read) if patches is not None else (),
        excluded=excluded,
        policies=_policies(kinds, {name: rules[name] for name in POLICIES}, items, excluded, files.evaluation),
        generated={item.address: Generation(item.each.at, item.each.value, item.each.element) for item in items.values() if item.each},
        access=_access(kinds, rules["access"], resources, excluded, problems),
        ignored=opening(kinds, resources),
    )  # fmt: skip
    settings = replace(settings, files=tuple(files.split.files.seen))
    project = Project(settings, desired, unused={**linker.unused(), **ineffective}, ignores=ignores)
    return Assembled(project, patches.changed if patches is not None else {}, generated)


def _words(document: Map, problems: Problems) -> KeyReader:
    """The top of a file, without the keys that are ignored."""
    return KeyReader("", {key: entry for key, entry in document.entries.items() if not key.startswith(IGNORED)}, problems)


def _ignores(words: KeyReader) -> tuple[Ignore, ...]:
    """The findings that the project accepts."""
    entry = words.entry("lint")
    if entry is None:
        return ()
    return read_ignores(KeyReader.of("lint", entry, words.problems, example="ignore: […]"), words.problems)


def _access(
    kinds: Kinds, entries: list[MapEntry], resources: Mapping[Address, Declared], excluded: Mapping[Address, Excluded], problems: Problems
) -> tuple[AccessTest, ...]:
    if not entries:
        return ()

    return read_access(entries, kinds, resources, {at: gone.declared for at, gone in excluded.items()}, problems)


def _check_conditions(kinds: Kinds, resources: Mapping[Address, Declared], problems: Problems) -> None:
    """Compare conditions with the schemas of claims that the project declares; what does that is imported only if there are some."""
    if any(kinds[declared.kind].claims is not None for declared in resources.values()):
        check_conditions(kinds, resources, problems)


def _policies(
    kinds: Kinds,
    rules: Mapping[str, list[MapEntry]],
    items: Mapping[Address, Item],
    excluded: Mapping[Address, Excluded],
    evaluation: Evaluation,
) -> Policies:
    """The policies of the project; their reader is imported only if there are some."""
    if not any(rules.values()):
        return Policies()

    addresses = {item.address: item.kind.name for item in items.values()}
    removed = {at: gone.declared.kind for at, gone in excluded.items()}
    return PolicySections(kinds, addresses, evaluation.problems, evaluation, removed=removed).read(rules)


def _member_at(words: KeyReader) -> Source:
    """The position of `service.member`, the owner of the token."""
    service = words.entries[SERVICE.name].node
    return service.entries[MEMBER].node.at if isinstance(service, Map) else service.at
