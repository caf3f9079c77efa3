"""The file of an environment over the project file: variables, the service, the state; ids of roots and patches for later.

In: the nodes of both files. Out: `Overlay`, and a project file with the environment's values. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from reconciler.config.keys import BASE_URL, IGNORED, SANDBOX, SECRETS, SERVICE, STATE, TOP
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map, MapEntry, Node
from reconciler.config.source.problems import Problems, described, items_of, wrong_form
from reconciler.text.names import did_you_mean

PATCH: Final = "patch"
VARIABLES: Final = "vars"
REMOVED: Final = "removed"
EITHER: Final = (BASE_URL, SANDBOX)  # of these a project has one: that of the environment, if it names one


@dataclass(frozen=True)
class Overlay:
    """`variables`: values by name. `roots`: the map of root resources whose ids differ, by section. `patches`: as written. `removed`: the
    treatment of addresses that other environments declare and this one no longer does."""

    variables: Mapping[str, MapEntry] = field(default_factory=dict)
    roots: Mapping[str, MapEntry] = field(default_factory=dict)
    patches: tuple[Node, ...] = ()
    removed: tuple[MapEntry, ...] = ()


def overlay(document: Node, sections: frozenset[str], problems: Problems) -> Overlay:
    """The contents of an environment's file. `sections`: the names of the maps of root resources."""
    if not isinstance(document, Map):
        problems.add(document.at, f"the file of an environment must be a map, not {described(document)}", id=wrong_form(document))
        problems.partial = True
        return Overlay()
    keys = KeyReader("", {key: entry for key, entry in document.entries.items() if not key.startswith(IGNORED)}, problems)
    variables = KeyReader.of(VARIABLES, keys.entry(VARIABLES), problems).entries
    roots = {name: entry for name in sorted(sections) if (entry := keys.entry(name)) is not None}
    patches, removed = items_of(keys.entry(PATCH), "a list", "write [{match: …}]", problems.add), keys.entry(REMOVED)
    keys.known += [SERVICE.name, STATE, SECRETS]
    for key, entry in keys.entries.items():
        if key in TOP and key not in keys.known:
            problems.add(entry.at, f"{key} is only allowed in the project file", id="RC-only-in-project-file")
        elif key not in keys.known:
            meant = did_you_mean(key, keys.known) or f"; the file of an environment contains {', '.join(sorted(keys.known))}"
            problems.add(entry.at, f'unknown key "{key}"{meant}', id="RC-unknown-key")
    return Overlay(variables, roots, tuple(patches), (removed,) if removed is not None else ())


def lay_over(top: Map, document: Node) -> None:
    """Replace the service and the state of a project file with those of an environment: of the service each key that it names."""
    if not isinstance(document, Map):
        return
    state, service = document.entries.get(STATE), document.entries.get(SERVICE.name)
    if state is not None:
        top.entries[STATE] = state
    if service is None:
        return
    before = top.entries.get(SERVICE.name)
    if before is None or not isinstance(before.node, Map) or not isinstance(service.node, Map):
        top.entries[SERVICE.name] = service
        return
    other = service.node.entries
    # A sandbox in the environment replaces the base URL of the project file, and the reverse; timeout and member remain.
    kept = {key: entry for key, entry in before.node.entries.items() if key not in EITHER or not any(name in other for name in EITHER)}
    top.entries[SERVICE.name] = MapEntry(before.key, before.at, Map(before.node.at, {**kept, **other}))
