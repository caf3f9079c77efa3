"""The requests that show objects of a kind, as a declaration names them in `reads`. Frozen data.

A kind often has several, because none is complete: a list proves that an object does not exist, a request by id finds one that the list
leaves out, and an answer of another kind may contain whole objects. `observe/` chooses among them, the cheapest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Listing(NamedTuple):
    """All objects of the kind below the objects in the path's placeholders; only a complete listing proves absence.

    `each` names a kind whose objects fill a placeholder of that name, one listing per object (spaces: per collection). `ordered`: the
    answer shows the siblings' order. `item` names the key of the object in each item, None if the item is the object. `lister`: a
    placeholder `{lister}` is filled with the id of a member who can see everything. `single`: the answer is the only possible object
    (`one_per`); a 404, or an answer that shows none of its fields, is a list without items. The declaration says `One`.
    """

    path: str
    each: str | None = None
    ordered: bool = False
    item: str | None = None
    lister: bool = False
    single: bool = False

    @property
    def names(self) -> str | None:
        """The other kind whose objects it needs; None if none."""
        return self.each

    @property
    def whole(self) -> bool:
        """Whether one such listing shows all objects of the kind in their container."""
        return self.each is None and not self.lister

    def object(self, item: Mapping[str, Any]) -> Any:
        """The object in an item of the answer."""
        return item if self.item is None else item.get(self.item)

    def id(self, item: Mapping[str, Any]) -> str:
        """The id of the object in an item, "" if it has none; it distinguishes the items of several pages."""
        return str((self.object(item) or {}).get("id"))


class Sighting(NamedTuple):
    """Objects of the kind shown completely inside objects of another kind; proves presence.

    `at`: the key of one object, or of a list. `all`: if their container has any object of the other kind, the list of those shows all
    objects of this kind in that container, in order: it proves absence, and their own list is not read. Otherwise it never does.
    """

    kind: str
    at: str
    all: bool = False

    @property
    def names(self) -> str | None:
        """The other kind whose objects it needs."""
        return self.kind


class One(NamedTuple):
    """One object by its own id, or, of a kind with `one_per`, by the path of its container; a 404 proves absence."""

    path: str

    @property
    def names(self) -> str | None:
        """The other kind whose objects it needs; None."""
        return None


class Lookup(NamedTuple):
    """The objects of the kind whose contents show one object of the kind `by`: a list, filtered by its id in `query`.

    Read only if a plan must know who can read that object.
    """

    path: str
    by: str
    query: str

    @property
    def names(self) -> str | None:
        """The other kind whose objects it needs."""
        return self.by


Reading = Listing | Sighting | One | Lookup
