"""Two random organizations whose parts have readers, and random edits that give something of one to the other."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass
from typing import Any

import yaml

from tests.audience.moments import Watched
from tests.audience.worlds import edited, nodes
from tests.organizations import IDS, LEVELS, Tree, project, with_readers

ROOTS = {key: IDS[key] for key in ("acme", "beta")}
Both = dict[str, Any]
"""`organizations`: both trees, by key; `moved`: lines; `sites`: all sites, as conditions are looked for there."""


@dataclass
class TwoWatched(Watched):
    """A project with two organizations, whose members and agents are different people."""

    several: bool = True

    def write(self, both: Both, **top: Any) -> None:  # type: ignore[override]
        document = project(both["organizations"], transfers=both["moved"], **top)
        super().write(yaml.safe_dump(document, allow_unicode=True, sort_keys=False))


def both(acme: Tree, beta: Tree, moved: list[tuple[str, str]]) -> Both:
    sites = {f"{key}/{name}": site for key, tree in (("acme", acme), ("beta", beta)) for name, site in tree["sites"].items()}
    return {"organizations": {"acme": acme, "beta": beta}, "moved": moved, "sites": sites}


def worlds(chance: random.Random) -> Both:
    """Two organizations with the same keys."""
    acme, beta = with_readers(chance), with_readers(chance)
    beta["content"][0] = {"space": "blank", "id": "spc_base", "title": "Base"}
    return both(acme, beta, [])


def given(first: Both, chance: random.Random, changes: int) -> Both:
    """Both after a few edits and after something was given to the other one."""
    trees = {key: copy.deepcopy(tree) for key, tree in first["organizations"].items()}
    for _ in range(changes):
        key = chance.choice([*trees])
        trees[key] = edited(trees[key], chance, 1)
    moved: list[tuple[str, str]] = []
    for _ in range(chance.randint(1, 2)):
        _give(trees, *chance.sample([*ROOTS], 2), chance, moved)
    return both(trees["acme"], trees["beta"], moved)


def _give(trees: dict[str, Tree], source: str, target: str, chance: random.Random, moved: list[tuple[str, str]]) -> None:
    known = {old for old, _ in moved} | {new for _, new in moved}
    choices = [
        (row, node)
        for row, node in nodes(trees[source])
        if node.get("space") != "blank" and not any(_address(source, inner) in known for inner in _all(node))
    ]
    choices = [(row, node) for row, node in choices if not any(str(inner.get("space", "")).startswith("copy") for inner in _all(node))]
    if not choices:
        return
    row, node = chance.choice(choices)
    row.remove(node)
    spaces = {inner["space"] for inner in _all(node) if "space" in inner}
    _show_no_more(trees[source], spaces, chance)
    for inner in _all(node):
        name = "space" if "space" in inner else "collection"
        old = _address(source, inner)
        inner[name] = f"{source}-{inner[name]}"
        moved.append((old, _address(target, inner)))
        if chance.random() < 0.3:
            inner["defaultLevel"] = chance.choice(LEVELS)
    rows = [trees[target]["content"], *(other["content"] for _, other in nodes(trees[target]) if "content" in other)]
    chance.choice(rows).append(node)
    for space in sorted(spaces):
        if chance.random() < 0.4:
            site = chance.choice([*trees[target]["sites"].values()])
            section = chance.choice(site["structure"])
            shown = f"{source}-{space}"
            section["spaces"].append({"key": f"{section['section']}-{shown}", "space": shown, "path": shown})


def _show_no_more(tree: Tree, spaces: set[str], chance: random.Random) -> None:
    """No site shows the spaces, and nothing is a copy of them."""
    for section in (section for site in tree["sites"].values() for section in site["structure"]):
        kept = [part for part in section["spaces"] if part["space"] not in spaces]
        if not kept or chance.random() < 0.3:
            for part in section["spaces"]:
                part["space"] = "blank" if part["space"] in spaces else part["space"]
        else:
            section["spaces"] = kept
    for _, node in nodes(tree):
        if node.get("duplicateOf") in spaces:
            node["duplicateOf"] = "blank"


def _address(root: str, node: Tree) -> str:
    name = "space" if "space" in node else "collection"
    return f"{root}/{name}/{node[name]}"


def _all(node: Tree) -> list[Tree]:
    result = [node]
    for at in result:
        result += at.get("content", [])
    return result
