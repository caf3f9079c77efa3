"""What all bodies of requests share: what is not known is ignored, or kept as long as it is sane JSON."""

from __future__ import annotations

import math
from typing import Any, Self

from pydantic import AnyUrl, BaseModel, ConfigDict, TypeAdapter, model_validator

DEPTH = 20  # levels of an object that is kept as it came


class Body(BaseModel):
    # a body is built when its endpoint is first asked: most processes meet few of the 60, and building all takes as long as their requests
    model_config = ConfigDict(extra="ignore", defer_build=True)

    def given(self) -> dict[str, Any]:
        """The fields that were in the body, null included."""
        return self.model_dump(exclude_unset=True)


class NotEmpty(Body):
    """A body that says at least one thing."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"minProperties": 1})

    @model_validator(mode="after")
    def something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"must have at least one of {', '.join(type(self).model_fields)}")
        return self


class Open(Body):
    """Keeps what it does not know, as long as it is plain JSON of a sane depth."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="before")
    @classmethod
    def plain(cls, data: Any) -> Any:
        waiting = [(data, 0)]
        while waiting:
            value, depth = waiting.pop()
            if depth > DEPTH:
                raise ValueError("nested too deeply")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{value} is not a JSON number")
            if isinstance(value, str) and any("\ud800" <= sign <= "\udfff" for sign in value):
                raise ValueError("text is not valid Unicode")
            inside = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
            waiting += [(part, depth + 1) for part in inside]
        return data


URI = {"type": "string", "format": "uri", "maxLength": 2048}


def uri(text: str) -> str:
    """The text, where it is a URI. Raises `ValueError`."""
    TypeAdapter(AnyUrl).validate_python(text)
    return text
