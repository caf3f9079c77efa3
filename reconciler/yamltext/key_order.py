"""The order of keys in a project's maps, from what the kinds declare: what identifies a resource first, its contents last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.resource import RESERVED, FieldRole, Kind, Kinds

IGNORED: Final = "x-"  # top-level keys with this prefix define anchors
FOR_EACH: Final = "forEach"
LATE: Final = 1_000  # unknown keys come before the contents of a resource, which keep their own order


@dataclass(eq=False)
class ValueShape:
    """The shape of a value, which decides the order of its keys. `ranks`: the position of each known key; equal ones keep the author's
    order.

    `inside`: the shapes of the values of known keys; `each`: of all other values of a map, or of the items of a list; `tags`: the shapes of
    items by the first key that it contains.
    """

    ranks: Mapping[str, int] = field(default_factory=dict)
    inside: Mapping[str, ValueShape] = field(default_factory=dict)
    each: ValueShape | None = None
    tags: Mapping[str, ValueShape] = field(default_factory=dict)

    def below(self, key: str | None, keys: Sequence[str]) -> ValueShape:
        """The shape of the value of a key, or of an item (key None) with these keys."""
        if key is not None and key in self.inside:
            return self.inside[key]
        if key is None:
            return next((self.tags[tag] for tag in keys if tag in self.tags), ANY)
        return self.each or ANY

    def rank(self, key: str) -> int:
        """The sort key of a key."""
        return self.ranks.get(IGNORED if key.startswith(IGNORED) else key, LATE)


ANY = ValueShape()
TEST: Final = ValueShape(tags={"as": ValueShape({word: at for at, word in enumerate(("as", "sees", "mustNotSee", "reason"))})})
"""The list of access tests."""


def _items(*keys: str) -> ValueShape:
    """A list of maps with these keys, in their order."""
    item = ValueShape({key: at for at, key in enumerate(keys)})
    return ValueShape(tags=dict.fromkeys(keys, item))


RULES: Final[Mapping[str, ValueShape]] = {
    "policies": _items("id", "on", "when", "assert", "message", "level", "reason"),
    "use": _items("policy", "level"),
    "exceptions": _items("policy", "address", "until", "reason"),
}
"""The section of policies."""


def document(kinds: Kinds, top: Sequence[str]) -> ValueShape:
    """The shape of a project file, and of every file it includes. `top`: the keys that only the project file has, in their order."""
    shapes = {name: ValueShape() for name in kinds}
    for name, kind in kinds.items():
        _fill(shapes[name], kinds, kind, shapes)
    ranks = {word: at for at, word in enumerate((*(root.name for root in kinds.roots), *top))}
    ranks[IGNORED] = ranks.get("vars", LATE)
    inside: dict[str, ValueShape] = {"defaults": ValueShape(inside=shapes), "access": TEST, **RULES}
    for root in kinds.roots:
        inside |= shapes[root.name].inside
        inside[root.place.section_in(None)] = ValueShape(each=shapes[root.name])
    ranks |= {word: LATE + 1 for word in inside if word not in ranks} | {"removed": LATE + 2, "moved": LATE + 2, "patch": LATE + 2}
    tags = {str(kind.place.tag): shapes[name] for name, kind in kinds.items() if kind.place.in_list}  # of a file that is a list of nodes
    nested = {
        section: ValueShape(tags=tags) if shape.tags else shape
        for kind_shape in shapes.values()
        for section, shape in kind_shape.inside.items()
        if shape is not ANY
    }
    return ValueShape(ranks, {**nested, **inside}, tags=tags)


def _fill(shape: ValueShape, kinds: Kinds, kind: Kind, shapes: Mapping[str, ValueShape]) -> None:
    fields = [declared_field for declared_field in kind.fields.values() if declared_field.written]
    identity = [declared_field.name for declared_field in fields if declared_field.key]
    values = [declared_field.name for declared_field in fields if not declared_field.key and declared_field.role is not FieldRole.SEED]
    seeds = [declared_field.name for declared_field in fields if declared_field.role is FieldRole.SEED]
    tag = [kind.place.tag] if kind.place.tag is not None else []
    names = dict.fromkeys([FOR_EACH, "key", *tag, "id", *identity, *values, *seeds, *kinds.flags(kind.name), *RESERVED])
    shape.ranks = {word: at for at, word in enumerate(names)}
    sections = {section: ValueShape(each=shapes[inner.name]) for section, inner in kinds.sections(kind.name).items()}
    lists = {
        section: ValueShape(tags={str(member.place.tag): shapes[member.name] for member in members})
        for section, members in kinds.lists(kind.name).items()
    }
    shape.inside = {**sections, **lists, **dict.fromkeys(kinds.singles(kind.name), ANY)}
    shape.ranks |= dict.fromkeys(shape.inside, LATE + 1)
