"""Values of declared fields: absence, references, and how a value travels. Frozen data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any, Final, Literal

from pydantic_core import PydanticCustomError, core_schema

from reconciler.dataclass import dataclass
from reconciler.text.suggest import a


class _Unset(Enum):
    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET: Final = _Unset.UNSET
"""Absence: not written in the YAML (not managed), or not reported by the service (not known). Never `None`, which is a value."""

Unset = Literal[_Unset.UNSET]


@dataclass(frozen=True)
class Named:
    """A reference as written: the key of a resource of `kind`, not yet looked up. Lives only inside the configuration."""

    kind: str
    key: str


@dataclass(frozen=True)
class Foreign:
    """A reference to an object outside the project, by the service's id (`{id: …}` in the YAML), and of which kind it is."""

    id: str
    kind: str = field(default="", compare=False)  # "": it may belong to anybody


@dataclass(frozen=True)
class To:
    """`Annotated[Address, To("space")]`: the value is a reference to a resource of that kind; it becomes an id when it is sent.

    `anywhere`: `{id: …}` may name an object of any container, as the service allows.
    """

    kind: str
    anywhere: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        def named(value: Any) -> Named | Foreign:
            if isinstance(value, str):
                return Named(self.kind, value)
            if isinstance(value, Mapping) and set(value) == {"id"} and isinstance(value["id"], str):
                return Foreign(value["id"], "" if self.anywhere else self.kind)
            raise PydanticCustomError(
                "reference", "expected the key of {kind}, or {{id: …}} for one outside the project", {"kind": a(self.kind)}
            )

        return core_schema.no_info_plain_validator_function(named)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        text = {"type": "string"}
        outside = {"type": "object", "properties": {"id": text}, "required": ["id"], "additionalProperties": False}
        return {"description": f"The key of {a(self.kind)}, or {{id: …}} for one outside the project.", "anyOf": [text, outside]}


@dataclass(frozen=True)
class WireForm:
    """How a value travels when it is not sent as it is written: `body` makes the request's form, `show` makes the YAML's again.

    Both are total and pure, and `body` leaves a request's form as it is. Stands in `Annotated[...]`, beside the type.
    """

    body: Callable[[Any], Any]
    show: Callable[[Any], Any]


@dataclass(frozen=True)
class Derived:
    """The service makes the value from another one when it creates the object, and never again: a path from a title.

    `source`: the field that it is made from: `title` of the object itself, or `space.title` of what its field `space` refers to.
    `form`: the plain value that comes out, "" where only the service can tell; where siblings may not hold the same
    value (`unique`), the service appends -2, -3, … Total and pure.
    """

    source: str
    form: Callable[[str], str]

    @property
    def reference(self) -> str | None:
        """The field that refers to the object with the source; None where that is the object itself."""
        return self.source.partition(".")[0] if "." in self.source else None

    @property
    def field(self) -> str:
        """The name of the field that it is made from."""
        return self.source.rpartition(".")[2]


@dataclass(frozen=True)
class Spelled:
    """How a request's value is written in the YAML again, where its type does not tell. Stands in `Annotated[...]`, beside the type.

    `write(value, name)`, where `name(kind, id)` is a reference as it is written: a key, or `{id: …}`. Total and pure.
    """

    write: Callable[[Any, Callable[[str, str], Any]], Any]
