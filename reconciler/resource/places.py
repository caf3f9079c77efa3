"""Where resources of a kind are declared in the YAML: in a map, in an ordered list, or as a value of their own. Frozen data.

    teams: {writers: {title: Writers}}          Keyed("teams"): a map, in no order
    structure: [{section: guides}, …]           ListItem("section", {"site": "structure"}): an ordered list, shared with other kinds
    agentInstructions: Cite the source.         SingleValue("agentInstructions", value_is="instructions"): one resource without a key

Code outside `resource` never tests the class of a place: whatever it needs to know is an attribute that every place has.

    in_list       whether resources are items of a list, whose order is content; `alone`: which contains no other kind
    tag           the first key of an item of the list
    bare_is       the field, or the tag, that a bare scalar sets: `ada@…: admin`, `- guides`
    key_is        the field whose value is the key itself
    value_is      the field that the whole value sets; the container has one such resource, without a key
    sections      every name of a section that contains resources of the kind
    section_in    the name of their section in the YAML of a kind (None: at the top of a file); "" if it has none
    hosts         the kinds whose YAML contains such a section, with its name; given the kind of the fixed container, None for a root
    write         the YAML below the section's name for one resource with these keys
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class _InContainer:
    """A place with one section name, in the YAML of the fixed container."""

    section: str

    in_list: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    tag: ClassVar[str | None] = None

    @property
    def sections(self) -> tuple[str, ...]:
        return (self.section,)

    def section_in(self, host: str | None) -> str:
        return self.section

    def hosts(self, within: str | None) -> Mapping[str, str]:
        return {within: self.section} if within is not None else {}


@dataclass(frozen=True)
class Keyed(_InContainer):
    """A map in the container's YAML."""

    # the field that a bare scalar sets; None if every resource is a map
    bare: str | None = None
    # the field whose value is the key itself; None if the key is only a name
    key_is: str | None = None

    value_is: ClassVar[str | None] = None

    @property
    def bare_is(self) -> str | None:
        return self.bare

    def write(self, key: str, keys: Mapping[str, Any]) -> Any:
        return {key: keys[self.bare] if self.bare is not None and list(keys) == [self.bare] else dict(keys)}


@dataclass(frozen=True)
class SingleValue(_InContainer):
    """A single value in the container's YAML."""

    # the field that it sets
    value_is: str

    bare_is: ClassVar[str | None] = None
    key_is: ClassVar[str | None] = None

    def write(self, key: str, keys: Mapping[str, Any]) -> Any:
        return keys[self.value_is]


@dataclass(frozen=True)
class ListItem:
    """An item of an ordered list, which items of other kinds may share."""

    # the item's first key. Its value is the resource's key, or, if a field has the tag's name, that field's value (a reference), which is
    # the key too unless `key` says otherwise
    tag: str
    # the name of its list in the YAML of each kind that has one
    lists: Mapping[str, str]
    # whether `- guides` may be written for `- {<tag>: guides}`
    bare: bool = False
    # whether a list with nodes of this kind contains nothing else
    alone: bool = False

    in_list: ClassVar[bool] = True
    key_is: ClassVar[str | None] = None
    value_is: ClassVar[str | None] = None

    @property
    def bare_is(self) -> str | None:
        return self.tag if self.bare else None

    @property
    def sections(self) -> tuple[str, ...]:
        return tuple(self.lists.values())

    def section_in(self, host: str | None) -> str:
        return self.lists.get(host or "", "")

    def hosts(self, within: str | None) -> Mapping[str, str]:
        return self.lists

    def write(self, key: str, keys: Mapping[str, Any]) -> Any:
        return [{self.tag: keys.get(self.tag, key), **keys}]


Place = Keyed | SingleValue | ListItem
