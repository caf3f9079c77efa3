"""The requests that a kind is declared with. Frozen data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field as dataclass_field
from typing import Any, Final, Literal

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
    them; the names are those of fields that the service never shows, without which it is not sent.
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

    @property
    def placeholders(self) -> tuple[str, ...]:
        return placeholders(self.path)


def placeholders(path: str) -> tuple[str, ...]:
    """The names in braces of a path template, in order."""
    return tuple(re.findall(r"\{(\w[\w-]*)\}", path))


def POST(path: str, **words: Any) -> Verb:  # noqa: N802 - reads as the request it declares
    return Verb("POST", path, **words)


def PUT(path: str, **words: Any) -> Verb:  # noqa: N802
    return Verb("PUT", path, **words)


def PATCH(path: str, **words: Any) -> Verb:  # noqa: N802
    return Verb("PATCH", path, **words)


def DELETE(path: str, **words: Any) -> Verb:  # noqa: N802
    return Verb("DELETE", path, **words)


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
