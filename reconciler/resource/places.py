"""Where resources of a kind are declared in the YAML: in a map, in an ordered list, or as a value of their own. Frozen data.

Code outside `resource` never tests the class of a place: whatever it needs to know is an attribute that every place has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Place:
    """The attributes of every place.

    `in_list`: whether resources are items of a list, whose order is content. `tag`: the first key of such an item. `alone`: whether the
    list contains no other kind. `bare_is`: the field, or the tag, that a bare scalar sets. `key_is`: the field whose value is the key
    itself. `value_is`: the field that the whole value sets; the container has one such resource, without a key.
    """

    in_list = False
    alone = False
    tag: str | None = None
    bare_is: str | None = None
    key_is: str | None = None
    value_is: str | None = None

    @property
    def sections(self) -> tuple[str, ...]:
        """Every name of a section that contains resources of the kind."""
        raise NotImplementedError

    def section_in(self, host: str | None) -> str:
        """The name of their section in the YAML of a kind (None: at the top of a file); "" if it has none."""
        raise NotImplementedError

    def hosts(self, within: str | None) -> Mapping[str, str]:
        """The kinds whose YAML contains such a section, with its name. `within`: the kind of the fixed container, None for a root."""
        raise NotImplementedError

    def write(self, key: str, words: Mapping[str, Any]) -> Any:
        """The YAML below the section's name for one resource with these keys."""
        raise NotImplementedError


class _Named(Place):
    """A place with one section name, in the YAML of the fixed container."""

    section: str

    @property
    def sections(self) -> tuple[str, ...]:
        return (self.section,)

    def section_in(self, host: str | None) -> str:
        return self.section

    def hosts(self, within: str | None) -> Mapping[str, str]:
        return {within: self.section} if within is not None else {}


@dataclass(frozen=True)
class Keyed(_Named):
    """A map in the container's YAML: `teams: {writers: {…}}`.

    `bare` names the field that a bare scalar sets (`ada@…: admin`), `key_is` the field whose value is the key itself.
    """

    section: str
    bare: str | None = None
    key_is: str | None = None

    @property
    def bare_is(self) -> str | None:  # type: ignore[override]
        return self.bare

    def write(self, key: str, words: Mapping[str, Any]) -> Any:
        return {key: words[self.bare] if self.bare is not None and list(words) == [self.bare] else dict(words)}


@dataclass(frozen=True)
class SingleValue(_Named):
    """A single value in the container's YAML: `adaptiveSchema: {…}`. `value_is` names the field that it sets."""

    section: str
    value_is: str = field()  # without the default of `Place`

    def write(self, key: str, words: Mapping[str, Any]) -> Any:
        return words[self.value_is]


@dataclass(frozen=True)
class ListItem(Place):
    """An item of an ordered list: `content: [{space: guides, …}]`.

    `lists` maps each host kind to the name of its list. `tag` is the item's first key; its value is the resource's key, or, if a field has
    the tag's name, that field's value (a reference), which is the key too unless `key` says otherwise. `bare` allows `- guides` for `-
    {<tag>: guides}`. A list with nodes that are `alone` contains only nodes of their kind.
    """

    tag: str = field()  # without the default of `Place`
    lists: Mapping[str, str] = field()
    bare: bool = False
    alone: bool = False

    in_list = True

    @property
    def bare_is(self) -> str | None:  # type: ignore[override]
        return self.tag if self.bare else None

    @property
    def sections(self) -> tuple[str, ...]:
        return tuple(self.lists.values())

    def section_in(self, host: str | None) -> str:
        return self.lists.get(host or "", "")

    def hosts(self, within: str | None) -> Mapping[str, str]:
        return self.lists

    def write(self, key: str, words: Mapping[str, Any]) -> Any:
        return [{self.tag: words.get(self.tag, key), **words}]
