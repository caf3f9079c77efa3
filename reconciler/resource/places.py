"""Where the resources of a kind stand in the YAML: a map, an ordered list, or a value of its own. Frozen data that answers questions.

Nothing outside `resource` asks which class a place is: whoever needs to know more gives every place one more answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from reconciler.dataclass import dataclass


class Place:
    """What every place answers.

    `in_list`: whether resources are items of a list, whose order is content. `tag`: the first word of such an item. `alone`: whether the
    list contains no other kind. `bare_is`: the field, or the tag, that a bare scalar stands for. `key_is`: the field that the key
    itself is. `value_is`: the field that the whole value is; the container has one such resource, which has no key.
    """

    in_list = False
    alone = False
    tag: str | None = None
    bare_is: str | None = None
    key_is: str | None = None
    value_is: str | None = None

    @property
    def sections(self) -> tuple[str, ...]:
        """Every name under which resources of the kind stand."""
        raise NotImplementedError

    def section_in(self, host: str | None) -> str:
        """The name under which they stand in the YAML of a kind, None being the top of a file; "" where they stand in none."""
        raise NotImplementedError

    def hosts(self, within: str | None) -> Mapping[str, str]:
        """The kinds in whose YAML they stand, with the name there. `within`: the kind of the fixed container, None for a root."""
        raise NotImplementedError

    def write(self, key: str, words: Mapping[str, Any]) -> Any:
        """The YAML below the section's name for one resource with these words."""
        raise NotImplementedError


class _Named(Place):
    """A place with one name, in the YAML of the fixed container."""

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

    `bare` names the field that a bare scalar stands for (`ada@…: admin`), `key_is` the field that the key itself is.
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
    """A value in the container's YAML, of which there is one: `adaptiveSchema: {…}`. `value_is` names the field that it is."""

    section: str
    value_is: str = field()  # without the default that it has in `Place`

    def write(self, key: str, words: Mapping[str, Any]) -> Any:
        return words[self.value_is]


@dataclass(frozen=True)
class ListItem(Place):
    """An item of an ordered list: `content: [{space: guides, …}]`.

    `lists` maps each host kind to the name of its list. `tag` is the item's first word; its value is the key, or, where a field is called
    like the tag, that field's value (a reference), which is the key too unless `key` says otherwise. `bare` allows `- guides` for
    `- {<tag>: guides}`. In one list, nodes with `alone` stand only beside nodes of their own kind.
    """

    tag: str = field()  # without the default that it has in `Place`
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
