"""The requests that a kind is declared with: those that show its objects (`reads`), and those that write them (`api`). Frozen data.

A kind often has several of the first, because none is complete: a list proves that an object does not exist, a request by id finds one that
the list leaves out, and an answer of another kind may contain whole objects. `observe/` chooses among them, the cheapest first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field as dataclass_field
from functools import partial
from typing import Any, Final, Literal, NamedTuple, get_args

# -- What shows objects --------------------------------------------------------------------------------------------------------------


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


class PersonalList(NamedTuple):
    """The objects of a kind that one person reaches, each with what they may do there; read only where a plan must know it.

    `item`: the key of the object in each item. `level`: a dotted path to the level in an item. `number`: the field of the person with the
    number of these objects, "" where it shows none: with 0 nothing needs to be read.
    """

    kind: str
    path: str
    item: str
    level: str
    number: str = ""


Reading = Listing | Sighting | One | Lookup


class Pages(NamedTuple):
    """The requests that show the pages of one object, read only if a plan changes a URL at which they answer.

    `tree`: all of them, those below another in its `pages`. `revision`: the key of an object that names what its pages are: the same
    revision is the same tree. `heading`: the `type` of a page that has no URL of its own; `document`: the type of one that always has a
    path and a text, others may have neither. `condition`: the key of a page with the condition that a visitor must meet to read it and
    those below it. The links in them: `links` of the kind.
    """

    tree: str
    revision: str
    heading: str
    document: str
    condition: str


# -- What writes them ----------------------------------------------------------------------------------------------------------------

Method = Literal["POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True)
class Verb:
    """One request the service understands for a kind.

    `upsert`: it creates, and may be sent twice. `copies`: the field that names the object a create copies; the service chooses the copy's
    title and location. `marker`: the field of a create that may contain a marker instead of a name until an update names the object.
    `fingerprint`: a request whose titles, slugs and order are the same for a copy and its source. `brings`: kinds of children that the
    answer shows as created, with their key in the answer. `reshapes`: kinds below the container that the service rearranges when the first
    object of this kind is created or the last one deleted. `anchors`: the kinds of siblings that a move can name, and how it names them,
    `{id}` being the sibling's id. `whole`: the request replaces the object, so it contains every field, unmanaged ones as the service shows
    them; the names are those of fields that the service never shows, without which it is not sent. `instead`: what the service may answer
    instead of the object, by the `type` of such an answer, and what that means, as a sentence without its full stop.
    """

    method: Method
    path: str
    name: str = ""
    upsert: bool = False
    copies: str | None = None
    marker: str | None = None
    fingerprint: str | None = None
    brings: Mapping[str, str] = dataclass_field(default_factory=dict)
    reshapes: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    anchors: Mapping[str, Mapping[str, str]] = dataclass_field(default_factory=dict)
    instead: Mapping[str, str] = dataclass_field(default_factory=dict)

    @property
    def placeholders(self) -> tuple[str, ...]:
        return placeholders(self.path)


def placeholders(path: str) -> tuple[str, ...]:
    """The names in braces of a path template, in order."""
    return tuple(re.findall(r"\{(\w[\w-]*)\}", path))


# They read as the requests that they declare: `create=POST("/teams")`.
POST, PUT, PATCH, DELETE = (partial(Verb, method) for method in get_args(Method))


class Verbs(dict[str, Verb]):
    """The verbs of a kind by name, in the order in which they are tried to send changed fields.

    `create`, `delete`, `restore`, `move` and `transfer` have their own meaning in the engine; every other verb sends fields of an
    existing object. A transfer moves an object, with all its contents, to the end of another container's top level.
    """

    def __init__(self, **verbs: Verb) -> None:
        super().__init__()
        for name, verb in verbs.items():
            self[name] = Verb(**{**vars(verb), "name": name})


LIFECYCLE: Final = ("create", "delete", "restore", "move", "transfer")
