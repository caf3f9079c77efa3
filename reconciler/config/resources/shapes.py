"""What the YAML of each kind may contain, compiled once from the declarations; and a resource while it is read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from reconciler.address import Address
from reconciler.config.source.nodes import Each, Node
from reconciler.config.values import FieldReader, readers
from reconciler.model import ExpectedValue, Source
from reconciler.resource import RESERVED, Kind, Kinds


@dataclass(frozen=True, eq=False)
class KindShape:
    """One kind as the YAML shows it.

    `readers`: the fields users write. `sections`: its maps. `lists`: its ordered lists, each with the kinds of its nodes by tag. `singles`:
    its values that are resources of their own. `flags`: the keys of a resource of this kind by which its parent chooses it. `keys`: all of
    these and the reserved ones. `required`: the required fields. `unique`: those whose values must differ between siblings.
    """

    kind: Kind
    readers: Mapping[str, FieldReader]
    key_reader: FieldReader | None
    sections: Mapping[str, Kind]
    lists: Mapping[str, Mapping[str, Kind]]
    singles: Mapping[str, Kind]
    flags: frozenset[str]
    keys: tuple[str, ...]
    required: tuple[str, ...]
    unique: tuple[str, ...]

    @property
    def tag(self) -> str | None:
        """The first key of a list item of this kind; None for a kind that is declared in a map."""
        return self.kind.place.tag

    @property
    def bare(self) -> str | None:
        """The field that a bare value in a map sets."""
        return self.kind.place.bare_is if not self.kind.place.in_list else None


@lru_cache(maxsize=8)
def shapes(kinds: Kinds) -> Mapping[str, KindShape]:
    """The shape of every kind, by name."""
    return {name: _shape(kinds, kind) for name, kind in kinds.items()}


def _shape(kinds: Kinds, kind: Kind) -> KindShape:
    field_readers = readers(kind)
    key_is = kind.place.key_is
    key_reader = field_readers.pop(key_is) if key_is is not None else None
    sections, singles = kinds.sections(kind.name), kinds.singles(kind.name)
    lists = {section: {str(member.place.tag): member for member in members} for section, members in kinds.lists(kind.name).items()}
    flags = kinds.flags(kind.name)
    tag = (kind.place.tag,) if kind.place.tag is not None else ()
    keys = tuple(dict.fromkeys((*tag, *field_readers, *flags, *sections, *lists, *singles, *RESERVED)))
    required = tuple(name for name, declared in kind.fields.items() if declared.required)
    unique = tuple(name for name, declared in kind.fields.items() if declared.unique)
    return KindShape(kind, field_readers, key_reader, sections, lists, singles, frozenset(flags), keys, required, unique)


@dataclass(slots=True, eq=False)
class Item:
    """A resource as read, its references not yet resolved.

    `values`: by field, in the written form but for `Named`. `nodes`: the node of each value. `given`: the fields set by `defaults`;
    `patched`: those set only by the file of the environment. `first`: the first child of the kind its create brings. `flagged`: the child
    that set each of its choices. `meant`: the fields that misspelled keys probably mean. `unread`: its value is not a map, so nothing else
    in it is checked. `body`: its node. `each`: the element of the `forEach` that generated it or its container.
    """

    address: Address
    kind: Kind
    at: Source
    parent: Item | None
    section: str
    index: int
    values: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    patched: frozenset[str] = frozenset()
    first: Item | None = None
    flagged: dict[str, Item] = field(default_factory=dict)
    id: str | None = None
    previously: tuple[tuple[Address, Source], ...] = ()
    protect: bool | None = None
    adopt: bool = True
    expected: dict[str, ExpectedValue] = field(default_factory=dict)
    ignores: frozenset[str] = frozenset()
    meant: tuple[str, ...] = ()
    unread: bool = False
    body: Node | None = None
    each: Each | None = None

    def around(self, kind: str) -> Item | None:
        """The nearest item of a kind among this one and its containers; None if there is none."""
        at: Item | None = self
        while at is not None and at.kind.name != kind:
            at = at.parent
        return at
