"""Conversations as they come in: one, a list of them, or a list inside an object."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field, StrictStr, ValidatorFunctionWrapHandler, WrapValidator

from reconciler.sandbox.body import Open
from reconciler.sandbox.file import iso


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
        return iso(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (OverflowError, ValueError) as error:
        raise ValueError("expected an ISO 8601 time") from error


class Metadata(Open):
    url: StrictStr | None = None
    attributes: dict[str, StrictStr] = Field(default_factory=dict)
    createdAt: Annotated[StrictStr, AfterValidator(_moment)] | None = None


class Part(Open):
    type: StrictStr
    role: StrictStr
    body: StrictStr


class Conversation(Open):
    id: Annotated[StrictStr, Field(min_length=1, pattern="^[^/]+$")]
    parts: list[Part]
    subject: StrictStr = ""
    metadata: Metadata = Metadata()


class Conversations(Open):
    conversations: list[Conversation]


def _either(data: Any, whole: ValidatorFunctionWrapHandler) -> list[Conversation]:
    """Whichever it is, its problems are named as if there were no other."""
    if isinstance(data, list):
        return Conversations.model_validate({"conversations": data}).conversations
    if isinstance(data, dict) and "conversations" in data and "id" not in data:
        return Conversations.model_validate(data).conversations
    return [Conversation.model_validate(data)]


Ingested: TypeAlias = Annotated[Conversation | Conversations | list[Conversation], WrapValidator(_either)]
