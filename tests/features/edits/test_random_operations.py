"""Operations on random projects lead to the project that the same change of its data gives; every comment and every other line stays."""

from __future__ import annotations

import copy
import difflib
import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.address import Address
from reconciler.config.resources.shapes import shapes
from reconciler.errors import ConfigError, ReconcilerError
from reconciler.features.edits.texts import ProjectTexts
from reconciler.model import Desired
from tests.features.edits.proposing import proposed, texts
from tests.harness import kinds
from tests.organizations import Tree, pair, project
from tests.proofs import costly, sampled, tries

WORDS = (
    "Guides", "Über", "مرحبا", "🚀 Go", "yes", "null", "1.10", "0x1F", "~", "- a", "a: b", "a #b", "{a}", "[a]", "*a", "&a b", "'a'",
    "!!int 1", '"a"', "a\nb", "a\n\nb\n", " a ", "%a", "@a", "`a`", "a\\b", "x" * 120, "<<", "?", "| a", "> a", "a\tb", "\u202ea", "$a",
    "{{ a }}", "#", "--- a",
)  # fmt: skip
FIELDS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "space": ("emoji", ("📗", "🚀")),
    "collection": ("description", WORDS[:20]),
    "section": ("description", WORDS[:20]),
    "group": ("icon", ("gear", "book")),
    "site-space": ("condition", ("visitor.claims.x", "visitor.claims['a b'] == \"c: d\"", None)),
    "site": ("visibility", ("public", "unlisted", "share-link")),
    "share-link": ("active", (True, False)),
    "openapi": ("source", ({"url": "https://c.example/x.json"}, {"url": "https://d.example/?a=b#c"})),
    "organization": ("mergeRules", ({"reviewers": ["ada@acme.example"]}, "inherit")),
}
TITLED = ("space", "collection", "section", "group", "site", "team", "organization")
ADDED = {"space": "acme", "collection": "acme", "section": "site", "share-link": "site", "team": "acme"}


@dataclass(frozen=True)
class Place:
    """A resource in the data of an organization. `holder`: its list or map; `at`: its index or key there."""

    address: Address
    kind: str
    host: Address | None
    holder: Any
    at: Any

    @property
    def body(self) -> Any:
        return self.holder[self.at]


def places(tree: Tree) -> dict[Address, Place]:
    """Every resource of an organization by address, found without the code that is tested."""
    root = Address.parse("acme")
    found = {root: Place(root, "organization", None, {"acme": tree}, "acme")}
    waiting = [found[root]]
    while waiting:
        place = waiting.pop()
        for inner in _below(place):
            found[inner.address] = inner
            waiting.append(inner)
    return found


def _below(place: Place) -> Iterator[Place]:
    shape = shapes(kinds())[place.kind]
    for name, part in place.body.items() if isinstance(place.body, dict) else ():
        if name in shape.sections:
            for key in part:
                yield Place(place.address.child(shape.sections[name].name, key), shape.sections[name].name, place.address, part, key)
        for at, node in enumerate(part if name in shape.lists else ()):
            tag = next(tag for tag in shape.lists[name] if tag in node)
            kind = shape.lists[name][tag]
            container = kinds().container(place.address, str(kind.within))
            yield Place(container.child(kind.name, node.get("key", node[tag])), kind.name, place.address, part, at)


class Drawn:
    """Draws operations on an organization, and carries each out in its data."""

    def __init__(self, chance: random.Random, tree: Tree) -> None:
        self.chance, self.tree, self.number = chance, tree, 0
        self.steps: list[dict[str, Any]] = []

    def draw(self) -> None:
        known = places(self.tree)
        place = self.chance.choice(list(known.values()))
        step = {"set": self.set, "unset": self.unset, "add": self.add, "move": self.move, "remove": self.remove}
        step[self.chance.choice([*step])](known, place)

    def set(self, known: dict[Address, Place], place: Place) -> None:
        self.number += 1
        values: dict[str, Any] = {}
        if place.kind in TITLED:
            values["title"] = f"{self.chance.choice(WORDS)[:40]} {self.number}"
        if place.kind in FIELDS and (not values or self.chance.random() < 0.5):
            name, options = FIELDS[place.kind]
            values[name] = self.chance.choice(options)
        if values and isinstance(place.body, dict):
            self.steps.append({"op": "set", "address": str(place.address), "fields": copy.deepcopy(values)})
            place.body.update(values)

    def unset(self, known: dict[Address, Place], place: Place) -> None:
        field = kinds()[place.kind].fields
        names = [name for name in place.body if name in field and not field[name].required] if isinstance(place.body, dict) else []
        names = [name for name in names if name not in (kinds()[place.kind].place.tag, "duplicateOf") and len(place.body) > 1]
        if names:
            name = self.chance.choice(names)
            self.steps.append({"op": "set", "address": str(place.address), "unset": [name]})
            del place.body[name]

    def add(self, known: dict[Address, Place], place: Place) -> None:
        self.number += 1
        name = self.chance.choice([*ADDED])
        kind, key = kinds()[name], f"new-{self.number}"
        hosts = kind.place.hosts(kind.within)
        host = self.chance.choice([other for other in known.values() if other.kind in hosts] or [None])  # type: ignore[list-item]
        if host is None:
            return
        title = f"{self.chance.choice(WORDS)[:30]} {self.number}"
        fields: dict[str, Any] = {"name" if name == "share-link" else "title": title}
        if name == "section":
            fields["spaces"] = ["blank", {"key": f"{key}-x", "space": "blank", "path": "x"}]
        address = kinds().container(host.address, str(kind.within)).child(name, key)
        step: dict[str, Any] = {"op": "add", "address": str(address), "in": str(host.address), "fields": copy.deepcopy(fields)}
        section = hosts[host.kind]
        if kind.place.in_list:
            row = host.body.setdefault(section, [])
            at = self._position(known, row, step)
            nodes = [{"space": node} if isinstance(node, str) else node for node in fields.get("spaces", [])]
            row.insert(at, {str(kind.place.tag): key, **fields, **({"spaces": nodes} if nodes else {})})
        else:
            host.body.setdefault(section, {})[key] = fields
        self.steps.append(step)

    def _position(self, known: dict[Address, Place], row: list[Tree], step: dict[str, Any]) -> int:
        members = {place.at: place.address for place in known.values() if place.holder is row and str(place.address) != step["address"]}
        choice = self.chance.random()
        if choice < 0.25:
            step["first"] = True
            return 0
        if choice < 0.6 and members:
            at = self.chance.choice([*members])
            step["after"] = str(members[at])
            return int(at) + 1
        return len(row)

    def move(self, known: dict[Address, Place], place: Place) -> None:
        kind = kinds()[place.kind]
        if not kind.place.in_list:
            return
        hosts = kind.place.hosts(kind.within)
        fits = [
            other for other in known.values()
            if other.kind in hosts and kinds().container(other.address, str(kind.within)) == place.address.container
            and not any(around == place.address for around in _around(known, other.address))
        ]  # fmt: skip
        host = self.chance.choice(fits)
        step: dict[str, Any] = {"op": "move", "address": str(place.address), "in": str(host.address)}
        row = host.body.setdefault(hosts[host.kind], [])
        node = place.holder.pop(place.at)
        row.insert(self._position(places(self.tree), row, step), node)
        self.steps.append(step)

    def remove(self, known: dict[Address, Place], place: Place) -> None:
        if place.host is not None:
            self.steps.append({"op": "remove", "address": str(place.address)})
            del place.holder[place.at]


def _around(known: dict[Address, Place], address: Address | None) -> Iterator[Address]:
    while address is not None:
        yield address
        address = known[address].host


class Dumper(yaml.SafeDumper):
    """Writes every value where it is, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def plain(tree: Tree) -> str:
    text: str = yaml.dump(project({"acme": tree}), Dumper=Dumper, allow_unicode=True, sort_keys=False)
    return text


def written(chance: random.Random, document: Tree) -> str:
    """The YAML of a project in one of several styles, with comments."""
    text: str = yaml.dump(
        document, Dumper=Dumper, allow_unicode=True, sort_keys=False, default_flow_style=chance.choice((False, None)), width=1_000
    )
    lines, depth = [], 0
    for number, line in enumerate(text.splitlines()):
        entry = re.match(r"( *)(- )?[\w@.-]+:( |$)", line)
        depth = 0 if entry else depth + 1
        if entry and chance.random() < 0.15 and not line.startswith(("version", "project")):
            lines.append(f"{entry[1]}# note {number}")
        plain = entry and not re.search(r"""["'|>]""", line) and depth == 0 and chance.random() < 0.1
        follows = text.splitlines()[number + 1 : number + 2]
        continued = bool(follows) and not re.match(r" *(- )*[\w@.-]+:( |$)| *- |[ ]*- *\{", follows[0])
        lines.append(f"{line}  # remark {number}" if plain and not continued else line)
    return "\n".join(lines) + "\n"


def declared(desired: Desired) -> dict[Address, Any]:
    """What a project declares, with the order of its lists."""
    rows: dict[Any, list[Address]] = {}
    result: dict[Address, Any] = {}
    for address, resource in desired.resources.items():
        ordered = kinds()[resource.kind].place.in_list
        rows.setdefault((resource.parent, resource.section), []).append(address if ordered else Address.parse("acme"))
        result[address] = (resource.kind, dict(resource.values), resource.parent, resource.section)
    return {**result, Address.parse("rows"): rows}


def notes(before: ProjectTexts | str) -> list[str]:
    text = before if isinstance(before, str) else before.texts["reconciler.yaml"]
    return sorted(re.findall(r"# (?:note|remark) \d+", text))


@costly
@sampled
@pytest.mark.parametrize("seed", range(4))
def test_operations_mean_what_they_mean_in_the_data(seed: int) -> None:
    chance = random.Random(f"operations {seed}")
    valid = refused = 0
    for _ in range(tries(2_500, 25)):
        tree, _ = pair(chance, full=chance.random() < 0.5)
        document = project({"acme": tree})
        text = written(chance, document)
        drawn = Drawn(chance, copy.deepcopy(tree))
        for _ in range(chance.randint(1, 6)):
            drawn.draw()
        if not drawn.steps:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                wanted = texts(Path(folder) / "wanted", plain(drawn.tree)).projects[None]
            except ConfigError:
                with pytest.raises(ReconcilerError):
                    proposed(texts(Path(folder) / "before", text), *drawn.steps)
                refused += 1
                continue
            before = texts(Path(folder) / "before", text)
            after = proposed(before, *drawn.steps)
            assert declared(after.projects[None].desired) == declared(wanted.desired), (text, drawn.steps)
            if not any(step["op"] == "remove" or "unset" in step for step in drawn.steps):
                assert notes(after) == notes(before), (text, drawn.steps, after.texts["reconciler.yaml"])
            assert set(notes(after)) <= set(notes(before))
            valid += 1
    assert valid > refused


@costly
@sampled
@pytest.mark.parametrize("seed", range(2))
def test_a_new_value_changes_the_lines_of_its_resource_only(seed: int) -> None:
    chance = random.Random(f"lines {seed}")
    for _ in range(tries(2_500, 25)):
        tree, _ = pair(chance)
        text = written(chance, project({"acme": tree}))
        drawn = Drawn(chance, copy.deepcopy(tree))
        known = places(drawn.tree)
        place = chance.choice([place for place in known.values() if place.kind in TITLED])
        drawn.set(known, place)
        with tempfile.TemporaryDirectory() as folder:
            before = texts(Path(folder), text)
            new = proposed(before, *drawn.steps).texts["reconciler.yaml"].splitlines()
            old, first = text.splitlines(), before.projects[None].desired.resources[place.address].source.line - 1
        steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        changed = [at for word, start, stop, *_ in steps if word != "equal" for at in range(start, max(stop, start + 1))]
        assert all(at >= first for at in changed), (text, drawn.steps)
        assert len(changed) <= 8, (text, drawn.steps, new)
