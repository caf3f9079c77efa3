"""From the evaluated files of a project to `Project`: the order in which their sections are read. Pure.

In: the files after evaluation. Out: the project, and the nodes that patches or `forEach` replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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
from reconciler.config.resources.shapes import shapes
from reconciler.config.resources.tree import ResourceTree
from reconciler.config.rules import read_guards, read_ignores, read_protect, read_prune, rule_lines
from reconciler.config.settings import KeyReader, Project, read_settings
from reconciler.config.source.nodes import Map, Node
from reconciler.config.source.problems import Problems
from reconciler.config.source.split import Split
from reconciler.config.tops import Tops
from reconciler.model import Desired, Source
from reconciler.model.desired import Generation
from reconciler.resource import Kinds


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
    rules = {name: [entry] if (entry := keys.entry(name)) is not None else [] for name in RULES_OF_ANY_FILE}
    tops.rest(keys)
    fragments = [_top_keys(document, problems) for document in included]
    for fragment in fragments:
        tops.everywhere(fragment)
    for fragment in fragments:
        for name in RULES_OF_ANY_FILE:
            rules[name] += [entry] if (entry := fragment.entry(name)) is not None else []
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
    removed = {address: resource.declared for address, resource in excluded.items()}
    addresses = {address: item.kind.name for address, item in items.items()}
    sections = PolicySections(
        kinds, addresses, problems, evaluation, removed={address: declared.kind for address, declared in removed.items()}
    )
    desired = Desired(
        project=settings.project, environment=environment, resources=resources, prune=prune, protect=protect, moved=moved,
        removed=read_removed(kinds, tops.removed, items, moved, problems, chosen=overlay is not None),
        written=frozenset(tree.items.written), guards=guards, lister=lister, rule_lines=rule_lines(keys),
        patches=tuple(patches.read), excluded=excluded, policies=sections.read({name: rules[name] for name in POLICIES}),
        generated={item.address: Generation(item.each.at, item.each.value, item.each.element) for item in items.values() if item.each},
        access=read_access(rules["access"], kinds, resources, removed, problems),
        ignored=opening(kinds, resources),
    )  # fmt: skip
    settings = replace(settings, files=tuple(split.files.seen))
    project = Project(settings, desired, unused={**linker.unused(), **ineffective}, ignores=ignores)
    return project, patches.changed, tree.generator.copies


def _top_keys(document: Map, problems: Problems) -> KeyReader:
    """The top of a file, without the keys that are ignored."""
    return KeyReader("", {key: entry for key, entry in document.entries.items() if not key.startswith(IGNORED)}, problems)


def _member_at(keys: KeyReader) -> Source:
    """The position of `service.member`, the owner of the token."""
    service = keys.entries[SERVICE.name].node
    return service.entries[MEMBER].node.at if isinstance(service, Map) else service.at
