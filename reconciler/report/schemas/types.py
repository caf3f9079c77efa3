"""The types that the fields of documents have: addresses, times, counts, enumerations.

In: nothing. Out: types for mypy with the constraints for pydantic and the JSON Schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Any, Final, NotRequired, TypeVar

from pydantic import AfterValidator, FailFast, Field, InstanceOf, with_config
from pydantic_core import core_schema
from typing_extensions import TypeAliasType, TypedDict

from reconciler.address import KIND_PATTERN, SEGMENT_PATTERN

T = TypeVar("T")
INTEGER_MAX: Final = 2**31 - 1  # of a column in a database


@with_config(strict=True, extra="forbid")
class Record(TypedDict):
    """An object with exactly these keys, whose values are not converted."""


class OneOf:
    """`Annotated[str, OneOf(Action)]`: one of the values of an enumeration."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = [str(value) for value in values]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], core_schema.CoreSchema]) -> core_schema.CoreSchema:
        return core_schema.literal_schema(self.values)


def doc(description: str) -> Any:
    """The description of a field in the JSON Schema."""
    return Field(description=description)


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError("a time with its zone")
    return text


def _different(values: list[str]) -> list[str]:
    if len(set(values)) < len(values):
        raise ValueError("a list of different values")
    return values


_ADDRESS = f"^{SEGMENT_PATTERN}(/{KIND_PATTERN}/{SEGMENT_PATTERN})*(/{KIND_PATTERN})?$"

# The first error is enough for a message; a wrong document of a million items should not make a million.
Items = Annotated[list[T], FailFast()]
# A title of the service can have half of a surrogate pair, and the document must still show it.
Text = InstanceOf[str]  # pydantic's own type refuses it
AddressText = TypeAliasType("AddressText", Annotated[str, Field(pattern=_ADDRESS, description="The stable name of a resource.")])
KindName = TypeAliasType("KindName", Annotated[str, Field(pattern=f"^{KIND_PATTERN}$")])
Count = Annotated[int, Field(ge=0)]
Number = Annotated[int, Field(ge=1)]
Stored = Annotated[int, Field(ge=0, le=INTEGER_MAX)]
StoredNumber = Annotated[int, Field(ge=1, le=INTEGER_MAX)]
Seconds = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
CommitId = Annotated[str, Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")]
Signature = Annotated[str, Field(pattern="^hmac-sha256:[0-9a-f]{64}$")]
RequestPath = Annotated[str, Field(pattern="^/v1/")]
Moment = Annotated[str, AfterValidator(_moment), Field(json_schema_extra={"format": "date-time"})]
Day = Annotated[str, Field(json_schema_extra={"format": "date"})]
Method = Annotated[str, OneOf(("POST", "PUT", "PATCH", "DELETE"))]
Ended = Annotated[str, OneOf(("done", "failed", "in-doubt", "not-sent", "recovered"))]
Different = Annotated[list[T], Field(min_length=1, json_schema_extra={"uniqueItems": True}), AfterValidator(_different)]
Object = dict[str, Any]
CauseId = TypeAliasType(
    "CauseId", Annotated[str, Field(pattern="^RC-[a-z0-9-]+$", description="The id of a cause: `reconciler explain ID`.")]
)


class SourceData(Record):
    file: Annotated[Text, doc("Relative to the project.")]
    line: Number


class SpotData(Record):
    parent: AddressText | None
    previous: AddressText | None


class ReasonData(Record):
    address: AddressText
    reason: Text


class UnmanagedData(Record):
    kind: KindName
    id: Text
    title: Text


class UnknownData(Record):
    kind: KindName
    reason: Text
    id: NotRequired[CauseId]


class ResourceData(Record):
    address: AddressText
    kind: KindName


class IgnoredData(Record):
    address: AddressText
    field: Annotated[Text, doc("The field, as the YAML calls it; `order` is the position among siblings.")]
