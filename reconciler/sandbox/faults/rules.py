"""Rules of misbehaviour: how they are written, which requests they mean, and which of those they pick. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from starlette.types import Scope

from reconciler.sandbox.endpoints import Endpoint

READING = ("GET", "HEAD", "OPTIONS")
VERSION = "/v1"
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
Glob = Annotated[str, Field(min_length=1, max_length=300)]
Broken = Literal[500, 502, 503, 504]


@dataclass(frozen=True)
class Call:
    """One request, as rules see it. `template` and `operation` are None where no endpoint has that path."""

    method: str
    path: str
    template: str | None = None
    operation: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    body: bytes = b""

    @property
    def writes(self) -> bool:
        return self.method not in READING

    @property
    def lists(self) -> bool:
        return self.method == "GET" and not (self.template or self.path).endswith("}")

    def names(self) -> Iterator[str]:
        """Everything an operation's glob is compared with."""
        for path in (self.template, self.path):
            if path is not None:
                yield f"{self.method} {path}"
                yield f"{self.method} {path.removeprefix(VERSION)}"
        if self.operation is not None:
            yield self.operation
            head, *rest = self.operation.split("_")
            yield head + "".join(word.capitalize() for word in rest)

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def call_of(endpoints: Iterable[Endpoint], scope: Scope, body: bytes) -> Call:
    """A request as rules see it. `endpoints`: all under the version's prefix, in the order in which they are tried."""
    method, path, query = scope["method"], scope["path"], scope["query_string"].decode("latin-1")
    for endpoint in endpoints:
        match = _pattern(endpoint.path).fullmatch(path) if method == endpoint.method else None
        if match is not None:
            return Call(method, path, endpoint.path, endpoint.call.__name__, match.groupdict(), query, body)
    return Call(method, path, query=query, body=body)


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)(?::\w+)?\\}", r"(?P<\1>[^/]+)", re.escape(path)))


class Rule(BaseModel):
    """What all rules have. `ends`: the answer is decided, so later rules do not see the request."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)
    ends: ClassVar[bool] = True

    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    operation: Glob = "*"
    rate: Annotated[float, Field(ge=0, le=1)] = 1.0
    seed: int = 0
    nth: list[Annotated[int, Field(ge=1)]] | None = None
    times: Annotated[int, Field(ge=0)] | None = None

    def means(self, call: Call) -> bool:
        """Whether the misbehaviour is possible on this request."""
        return True

    def matches(self, call: Call) -> bool:
        return any(fnmatchcase(name, self.operation) for name in call.names()) and self.means(call)

    def picks(self, number: int) -> bool:
        """Whether the rule picks the matching request of this number, from 1; always the same for the same seed."""
        if self.nth is not None and number not in self.nth:
            return False
        rolled = int.from_bytes(hashlib.sha256(f"{self.seed}:{number}".encode()).digest()[:8]) / 2**64
        return rolled < self.rate


class Latency(Rule):
    """The request waits before anything happens, in seconds of the machine's clock."""

    ends: ClassVar[bool] = False
    fault: Literal["latency"]
    seconds: Seconds


class RateLimit(Rule):
    """429 beyond `limit` requests in `window` seconds of the service's clock; all answers carry X-RateLimit-*."""

    fault: Literal["rate-limit"]
    limit: Annotated[int, Field(ge=0, le=1_000_000)]
    window: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    kind: Literal["window", "bucket"] = "window"
    retryAfter: bool = True


class Error(Rule):
    """A 5xx, before or after the effect."""

    fault: Literal["error"]
    status: Broken = 500
    when: Literal["before", "after"] = "before"
    retryAfter: Seconds | None = None


class Cut(Rule):
    """The connection is cut before, during or after the answer; with `effect: false` nothing was done (only before it)."""

    fault: Literal["cut"]
    when: Literal["before", "during", "after"] = "before"
    effect: bool = True

    @model_validator(mode="after")
    def _possible(self) -> Cut:
        if not self.effect and self.when != "before":
            raise ValueError("effect: false requires when: before")
        return self


class Truncated(Rule):
    """Half of the body, as a whole answer."""

    fault: Literal["truncated"]


class NotJson(Rule):
    """A page of HTML in place of the answer, with its status or another one."""

    fault: Literal["not-json"]
    status: Annotated[int, Field(ge=200, le=599)] | None = None

    @model_validator(mode="after")
    def _bodied(self) -> NotJson:
        if self.status in (204, 205, 304):
            raise ValueError("status: an answer of this status has no body")
        return self


class Late(Rule):
    """The answer is lost, or is a 5xx; the write is done later: after seconds of the service's clock, or just before the next request."""

    fault: Literal["late"]
    seconds: Seconds = 0.0
    status: Broken | None = None

    def means(self, call: Call) -> bool:
        return call.writes


class ListLag(Rule):
    """A list answers what was true some writes or seconds ago."""

    ends: ClassVar[bool] = False
    fault: Literal["list-lag"]
    writes: Annotated[int, Field(ge=1, le=100)] | None = None
    seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None

    @model_validator(mode="after")
    def _one(self) -> ListLag:
        if (self.writes is None) == (self.seconds is None):
            raise ValueError("writes, seconds: expected one of them")
        return self

    def means(self, call: Call) -> bool:
        return call.lists


class UnstablePages(Rule):
    """Between two pages an item is repeated or left out."""

    ends: ClassVar[bool] = False
    fault: Literal["unstable-pages"]
    how: Literal["repeat", "omit"] = "repeat"

    def means(self, call: Call) -> bool:
        return call.lists and "page" in parse_qs(call.query)


class DeleteReset(Rule):
    """A delete that deleted something answers 205."""

    ends: ClassVar[bool] = False
    fault: Literal["delete-205"]

    def means(self, call: Call) -> bool:
        return call.method == "DELETE"


class Forbidden(Rule):
    """403 for the objects whose id, anywhere in the path, is like `ids`; without `ids`, for all that the operation means."""

    fault: Literal["forbidden"]
    ids: Glob = "*"

    def means(self, call: Call) -> bool:
        return self.ids == "*" or any(fnmatchcase(id, self.ids) for id in call.parameters.values())


class Checkout(Rule):
    """Publishing answers 200 with a checkout, and nothing is published."""

    fault: Literal["checkout"]

    def means(self, call: Call) -> bool:
        return call.method == "POST" and call.path.endswith("/publish")


class Conflicts(Rule):
    """A merge or update answers 200 with the result conflicts, and nothing is done."""

    fault: Literal["conflicts"]

    def means(self, call: Call) -> bool:
        return call.method == "POST" and call.path.endswith(("/merge", "/update"))


class PositionIgnored(Rule):
    """The position in the body is not heeded: what is made or moved lands at the end."""

    ends: ClassVar[bool] = False
    fault: Literal["position-ignored"]

    def means(self, call: Call) -> bool:
        body = call.json() if call.writes else None
        return isinstance(body, dict) and "position" in body


class VariantsWrapped(Rule):
    """A space at the root of a site gets a section of the site's title around it."""

    ends: ClassVar[bool] = False
    fault: Literal["variants-wrapped"]

    def means(self, call: Call) -> bool:
        return call.method == "POST" and call.path.endswith(("/sites", "/site-spaces"))


AnyRule = Annotated[
    Latency
    | RateLimit
    | Error
    | Cut
    | Truncated
    | NotJson
    | Late
    | ListLag
    | UnstablePages
    | DeleteReset
    | Forbidden
    | Checkout
    | Conflicts
    | PositionIgnored
    | VariantsWrapped,
    Field(discriminator="fault"),
]
One: TypeAdapter[AnyRule] = TypeAdapter(AnyRule, config=ConfigDict(defer_build=True))


def parse(text: str | bytes) -> AnyRule:
    """One rule from JSON. Raises ValueError, whose message names the field."""
    try:
        return One.validate_json(text)
    except ValidationError as error:
        parts = []
        for problem in error.errors()[:5]:
            place = ".".join(str(part) for part in problem["loc"][1:])
            parts.append(f"{place}: {problem['msg']}" if place else problem["msg"])
        raise ValueError("; ".join(parts)) from error


def label(rule: AnyRule, index: int) -> str:
    """What the log calls a rule of a set."""
    return rule.name or f"{index + 1}:{rule.fault}"
