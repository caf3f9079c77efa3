"""Random edits of organizations whose parts have readers; equal seeds give equal trees."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator

from tests.organizations import CONDITIONS, LEVELS, SPACES, VISIBILITIES, Tree, section_with_readers, variant_with_readers


def edited(tree: Tree, chance: random.Random, number: int) -> Tree:
    """The tree after so many random edits; never the same tree."""
    result = copy.deepcopy(tree)
    while number > 0 or result == tree:
        chance.choice(EDITS)(result, chance)
        number -= 1
    return result


def nodes(tree: Tree) -> Iterator[tuple[list[Tree], Tree]]:
    """Every node of the content with the list it is in."""
    waiting: list[list[Tree]] = [tree["content"]]
    while waiting:
        row = waiting.pop()
        for node in row:
            yield row, node
            if "content" in node:
                waiting.append(node["content"])


def _sections(tree: Tree) -> list[Tree]:
    return [section for site in tree["sites"].values() for section in site["structure"]]


def _level(tree: Tree, chance: random.Random) -> None:
    chance.choice([node for _, node in nodes(tree) if node.get("space") != "blank"])["defaultLevel"] = chance.choice(LEVELS)


def _move(tree: Tree, chance: random.Random) -> None:
    row, node = chance.choice([(row, node) for row, node in nodes(tree) if node.get("space") != "blank"])
    inside = [node["content"], *(inner["content"] for _, inner in nodes(node) if "content" in inner)] if "content" in node else []
    rows = [tree["content"], *(other["content"] for _, other in nodes(tree) if "content" in other)]
    targets = [target for target in rows if all(target is not other for other in inside)]
    row.remove(node)
    chance.choice(targets).append(node)


def _visibility(tree: Tree, chance: random.Random) -> None:
    chance.choice(list(tree["sites"].values()))["visibility"] = chance.choice(VISIBILITIES)


def _publish(tree: Tree, chance: random.Random) -> None:
    chance.choice(list(tree["sites"].values()))["published"] = True  # never taken back: the service does not


def _agents(tree: Tree, chance: random.Random) -> None:
    chance.choice(list(tree["sites"].values()))["agentsContext"] = chance.choice(("included", "excluded"))


def _adaptive(tree: Tree, chance: random.Random) -> None:
    chance.choice(list(tree["sites"].values()))["adaptiveContent"] = {"enabled": chance.random() < 0.5}


def _conditions(tree: Tree, chance: random.Random) -> None:
    parts = [part for section in _sections(tree) for part in (section, *section["spaces"])]
    chance.choice(parts)["condition"] = chance.choice([None, *CONDITIONS])


def _link(tree: Tree, chance: random.Random) -> None:
    key, site = chance.choice(list(tree["sites"].items()))
    name, links = chance.choice(("partners", "press")), site["shareLinks"]
    if name in links and chance.random() < 0.3:
        del links[name]
    else:
        links[name] = {"name": f"{key} {name}", "active": chance.random() < 0.6}


def _add_section(tree: Tree, chance: random.Random) -> None:
    key, site = chance.choice(list(tree["sites"].items()))
    number = next(number for number in range(99) if all(part["section"] != f"{key}-{number}" for part in site["structure"]))
    site["structure"].insert(chance.randint(0, len(site["structure"])), section_with_readers(key, number, chance))


def _remove_section(tree: Tree, chance: random.Random) -> None:
    site = chance.choice(list(tree["sites"].values()))
    if len(site["structure"]) > 1:
        site["structure"].remove(chance.choice(site["structure"]))


def _add_variant(tree: Tree, chance: random.Random) -> None:
    section = chance.choice(_sections(tree))
    free = [space for space in SPACES if all(part["key"] != f"{section['section']}-{space}" for part in section["spaces"])]
    if free:
        section["spaces"].append(variant_with_readers(section["section"], chance.choice(free), chance))


def _remove_variant(tree: Tree, chance: random.Random) -> None:
    section = chance.choice(_sections(tree))
    if len(section["spaces"]) > 1:
        section["spaces"].remove(chance.choice(section["spaces"]))


def _show_another(tree: Tree, chance: random.Random) -> None:
    section = chance.choice(_sections(tree))
    chance.choice(section["spaces"])["space"] = chance.choice(SPACES)


def _copy(tree: Tree, chance: random.Random) -> None:
    """A new space that is a copy of another."""
    key = next(key for key in (f"copy{number}" for number in range(99)) if all(node.get("space") != key for _, node in nodes(tree)))
    created = {"space": key, "title": key.title(), "duplicateOf": chance.choice(SPACES), "defaultLevel": chance.choice(LEVELS)}
    chance.choice([tree["content"], *(node["content"] for _, node in nodes(tree) if "content" in node)]).append(created)


def _document(tree: Tree, chance: random.Random) -> None:
    tree["openapi"]["pets"]["visibility"] = chance.choice(("private", "public"))


EDITS: tuple[Callable[[Tree, random.Random], None], ...] = (
    _level, _move, _visibility, _publish, _agents, _adaptive, _conditions, _conditions, _link, _add_section, _remove_section, _add_variant,
    _remove_variant, _show_another, _copy, _document,
)  # fmt: skip


def conditions(*trees: Tree) -> set[frozenset[str]]:
    """Every set of conditions on the way to a space in any of these organizations."""
    result: set[frozenset[str]] = set()
    for section in (section for tree in trees for section in _sections(tree)):
        for part in (section, *section["spaces"]):
            outcome = frozenset(owner["condition"] for owner in (section, part) if owner.get("condition"))
            result |= {outcome} if outcome else set()
    return result
