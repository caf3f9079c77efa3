"""Values of declared fields: absence, references, and their form in requests. Frozen data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import TypeAdapter
from pydantic_core import core_schema

from reconciler.text.names import a


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
    """A reference to an object outside the project, by the service's id (`{id: …}` in the YAML), and its kind."""

    id: str
    kind: str = field(default="", compare=False)  # "": any container


def _validated(hint: Any, value: Any) -> Any:

    return TypeAdapter(hint).validate_python(value)


class To(NamedTuple):
    """`Annotated[Address, To("space")]`: the value is a reference to a resource of that kind; it becomes an id when it is sent.

    `anywhere`: `{id: …}` may name an object of any container, as the service allows.
    """

    kind: str
    anywhere: bool = False

    def reference(self, value: Any) -> Named | Foreign:
        """What a written reference names. Raises `ValueError` if it is not a reference."""
        if isinstance(value, str):
            return Named(self.kind, value)
        if isinstance(value, Mapping) and set(value) == {"id"} and isinstance(value["id"], str):
            return Foreign(value["id"], "" if self.anywhere else self.kind)
        raise ValueError(f"expected the key of {a(self.kind)}, or {{id: …}} for one outside the project")

    def part(self, value: Any) -> Named | Foreign:
        """The same for a part of a value. Raises pydantic's `ValidationError`, which quotes the part, not the whole."""
        try:
            return self.reference(value)
        except ValueError:
            return _validated(Annotated[Any, self], value)  # type: ignore[no-any-return]

    def parts(self, values: list[Any]) -> list[Named | Foreign]:
        """The same for each item of a list. Raises pydantic's `ValidationError`, which says which item is not a reference."""
        try:
            return [self.reference(value) for value in values]
        except ValueError:
            return _validated(list[Annotated[Any, self]], values)  # type: ignore[no-any-return]

    @property
    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of a written reference."""
        text = {"type": "string"}
        outside = {"type": "object", "properties": {"id": text}, "required": ["id"], "additionalProperties": False}
        return {"description": f"The key of {a(self.kind)}, or {{id: …}} for one outside the project.", "anyOf": [text, outside]}

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:

        return core_schema.no_info_plain_validator_function(self.reference)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return self.json_schema


class WireForm(NamedTuple):
    """How a value is sent if not as written: `body` returns the request's form, `show` the YAML's form.

    Both are total and pure, and `body` returns a request's form unchanged. Used in `Annotated[...]`, beside the type.
    """

    body: Callable[[Any], Any]
    show: Callable[[Any], Any]


class Checked(NamedTuple):
    """A check beyond a value's type: `check` returns the value to store, or raises `ValueError` that says what is expected. Total and pure.

    Used in `Annotated[...]`, beside the type. Like pydantic's `AfterValidator`, without its import.
    """

    check: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:

        return core_schema.no_info_after_validator_function(self.check, handler(source))


class WithheldError(ValueError):
    """A check refuses a value that may be secret: the message, the end of a sentence about the field, does not quote it."""


class Len(NamedTuple):
    """How long a text is, or how many items a list or map has: at least `least`, at most `most` unless that is None.

    Used in `Annotated[...]`, beside the type. Like `Len` of annotated_types, whose import takes longer than that of all kinds.
    """

    least: int
    most: int | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        least = {"min_length": self.least} if self.least else {}
        most = {"max_length": self.most} if self.most is not None else {}
        schema: core_schema.CoreSchema = {**handler(source), **least, **most}
        return schema


class Matching(NamedTuple):
    """A text that matches a regular expression in pydantic's dialect. Used in `Annotated[...]`, beside `str`."""

    pattern: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        schema: core_schema.CoreSchema = {**handler(source), "pattern": self.pattern}
        return schema


class Known:
    """The values of a text that the service has today and may add to: another one is a finding of lint, not an error.

    Used in `Annotated[...]`, beside `str`.
    """

    def __init__(self, *values: str) -> None:
        self.values = values

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "examples": list(self.values)}


@dataclass(frozen=True, eq=False)
class JsonSchema:
    """What the JSON Schema of a value says besides its type: `examples`, `format`; of `Any`, all of it.

    Used in `Annotated[...]`, beside the type.
    """

    words: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), **self.words}


class Derived(NamedTuple):
    """The service derives the value from another one when it creates the object, and never again: a path from a title.

    `source`: the field that it is derived from: `title` of the object itself, or `space.title` of what its field `space` refers to. `form`:
    the derived value, "" if only the service knows it; if siblings may not have the same value (`unique`), the service appends -2, -3, …
    Total and pure.
    """

    source: str
    form: Callable[[str], str]

    @property
    def reference(self) -> str | None:
        """The field that refers to the object with the source; None if that is the object itself."""
        return self.source.partition(".")[0] if "." in self.source else None

    @property
    def field(self) -> str:
        """The name of the source field."""
        return self.source.rpartition(".")[2]


class Spelled(NamedTuple):
    """How a request's value is written in the YAML, if that does not follow from its type. Used in `Annotated[...]`, beside the type.

    `write(value, name)`, where `name(kind, id)` is the written reference: a key, or `{id: …}`. Total and pure.
    """

    write: Callable[[Any, Callable[[str, str], Any]], Any]
