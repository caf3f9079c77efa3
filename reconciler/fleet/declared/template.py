"""A generator of fleet.yaml, and the project that its template gives for one element. Pure; problems are reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from reconciler.config.key import by_name
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar, scalars
from reconciler.config.source.problems import Problems, described
from reconciler.fleet.declared.keys import GENERATOR, SORTS
from reconciler.fleet.model import Generator, Repository
from reconciler.text.names import did_you_mean, one_of

EACH: Final = re.compile(r"\$\{\{((?:(?!\$\{\{).)*?)\}\}", re.DOTALL)
_NAME: Final = re.compile(r"\s*each\.([A-Za-z_][A-Za-z0-9_]*)\s*", re.ASCII)
KEYS: Final = {"directories": ("name", "path"), "organizations": ("id", "title")}
TRUSTED: Final = (
    "token", "project", "state", "baseUrl", "tenant", "approvals", "rehearse", "mode", "windows", "revertDrift", "hold", "rulesFrom",
    "secretVars", "sops",
)  # fmt: skip
"""Keys that decide about trust: names chosen by a repository or a service must not be part of their values."""


def generator(number: int, node: Map, defaults: Map | None, problems: Problems) -> Generator | None:
    """The generator that a map describes; None, with a problem, if it is invalid."""
    before = len(problems.found)
    keys = KeyReader(f"generator {number}", node.entries, problems, [key.name for key in GENERATOR])
    chosen = [sort for sort in SORTS if sort in node.entries]
    template = node.entries.get("template")
    keys.rest()
    if len(chosen) != 1:
        if chosen or not any(keys.meant(sort) for sort in SORTS):
            problems.add(
                node.at,
                f"a generator must have one of list, directories, organizations, and has {' and '.join(chosen) or 'none'}",
                id="RC-missing-key",
            )
        return None
    sort = chosen[0]
    if template is None or not isinstance(template.node, Map):
        where = template.node.at if template is not None else node.at
        problems.add(where, f"generator {number} has no template; write template: {{name: {_example(sort)}}}", id="RC-missing-key")
        return None
    generated = Generator(number, sort, node.at, template.node)
    if sort == "list":
        generated = replace(generated, elements=_elements(node.entries[sort], problems))
    elif sort == "directories":
        shared = defaults.entries.get("source") if defaults is not None else None
        values = _values(keys, sort, shared.node if shared is not None else None, ("git", "ref"))
        generated = replace(generated, repository=Repository(**values) if values["git"] is not None else None)
    else:
        values = _values(keys, sort, defaults, ("token", "baseUrl"))
        generated = replace(generated, token=values["token"], base_url=values["baseUrl"], match=values["match"])
    _check(generated, problems)
    return generated if len(problems.found) == before else None


def _example(sort: str) -> str:
    return {"list": '"docs-${{ each.value }}"', "directories": '"${{ each.name }}"', "organizations": '"${{ each.id }}"'}[sort]


def _elements(entry: MapEntry, problems: Problems) -> tuple[Mapping[str, str], ...]:
    if not isinstance(entry.node, List):
        problems.add(entry.node.at, f"list must be a list, not {described(entry.node)}", id="RC-wrong-form")
        return ()
    elements: list[Mapping[str, str]] = []
    for item in entry.node.items:
        if isinstance(item, Scalar) and not item.empty:
            elements.append({"value": item.text})
        elif isinstance(item, Map) and all(isinstance(value.node, Scalar) for value in item.entries.values()):
            elements.append({key: value.node.text for key, value in item.entries.items() if isinstance(value.node, Scalar)})
        else:
            problems.add(item.at, "an element of a list must be a text, or a map of texts", id="RC-wrong-form")
    return tuple(elements)


def _values(keys: KeyReader, sort: str, defaults: Node | None, inherited: Sequence[str]) -> dict[str, Any]:
    """The values of a generator that reads something. `inherited`: the keys that it has from a map of defaults unless it says otherwise."""
    row = by_name(GENERATOR)[sort]
    inner, shared = keys.inside(row), defaults.entries if isinstance(defaults, Map) else {}
    inner.entries = {**{key: shared[key] for key in inherited if key in shared}, **inner.entries}
    return inner.data(row.keys)


def _check(generator: Generator, problems: Problems) -> None:
    """Report names in the template that no element has, and foreign names in keys that decide about trust."""
    known = KEYS.get(generator.sort) or (sorted({key for element in generator.elements for key in element}) or ["value"])
    used = 0
    for key, entry in generator.template.entries.items():
        for scalar in scalars(entry.node):
            for match in EACH.finditer(scalar.text):
                name = _NAME.fullmatch(match[1])
                used += key == "name"
                if name is None:
                    problems.add(scalar.at, f"a template can only use ${{{{ each.KEY }}}}, not {match[0]}", id="RC-fleet-template")
                elif name[1] not in known:
                    problems.add(
                        scalar.at, f"each.{name[1]} does not exist; {one_of(known)}{did_you_mean(name[1], known)}", id="RC-fleet-template"
                    )
                elif generator.sort != "list" and (key in TRUSTED or _is_git(entry, scalar)):
                    problems.add(
                        scalar.at,
                        f"{key} must not use ${{{{ each.{name[1]} }}}}: what others can name must not decide whose token is used",
                        id="RC-fleet-template",
                    )
    if not used and "name" in generator.template.entries:
        problems.add(
            generator.template.entries["name"].node.at,
            f"every project would have this name; use for example {_example(generator.sort)}",
            id="RC-fleet-template",
        )


def _is_git(entry: MapEntry, scalar: Scalar) -> bool:
    """Whether a scalar of a template is the URL of the repository."""
    return (
        entry.key == "source" and isinstance(entry.node, Map) and "git" in entry.node.entries and entry.node.entries["git"].node is scalar
    )


def filled(node: Node, element: Mapping[str, str], problems: Problems) -> Node:
    """A copy of a node with `${{ each.KEY }}` replaced; every part keeps its position."""
    if isinstance(node, Map):
        return Map(node.at, {key: MapEntry(key, entry.at, filled(entry.node, element, problems)) for key, entry in node.entries.items()})
    if isinstance(node, List):
        return List(node.at, [filled(item, element, problems) for item in node.items])
    if EACH.search(node.text) is None:
        return node

    def value(match: re.Match[str]) -> str:
        name = _NAME.fullmatch(match[1])
        if name is None or name[1] not in element:
            problems.add(node.at, f"an element has no {match[1].strip()}", id="RC-fleet-template")
            return ""
        return element[name[1]]

    return Scalar(node.at, EACH.sub(value, node.text), False)
