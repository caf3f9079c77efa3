"""A service whose answers were recorded once, and that then misbehaves on some paths or all, at once or from the nth request on.

`example` applies the flagship example to a sandbox; `record` keeps what one observation of it was answered; `observe_in` observes again
from the record, through a storm, in no time: sleeping only moves a clock.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.config import load
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Desired, State
from reconciler.observe import observe
from reconciler.run.connection.embedded import own_seed, seed_document
from tests.harness import BASE, TOKEN, Org
from tests.transports import Onward, Through, between

EXAMPLE = Path(__file__).parents[1] / "examples" / "acme"
Answers = Mapping[str, tuple[int, bytes]]
Answer = Callable[[httpx2.Request, int, bytes], tuple[int, bytes]]  # request, and what would have been answered


@dataclass
class Recorded(httpx2.AsyncBaseTransport):
    """Answers as it was recorded; an object that no recorded reading asked for by its id is found in the lists."""

    answers: Answers
    storm: Answer | None = None
    strikes: Callable[[str, int], bool] = lambda path, number: False
    seen: list[str] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    hidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._objects: dict[str, dict[str, Any]] = {}
        for _, body in self.answers.values():
            self._index(json.loads(body))

    def _index(self, value: Any) -> None:
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self._index(part)
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            for name in (value["id"], value.get("slug")):
                if isinstance(name, str) and len(self._objects.get(name, {})) < len(value):
                    self._objects[name] = value

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.removeprefix("/v1")
        self.seen.append(path)
        status, body = self._calm(path)
        if self.storm is not None and self.strikes(path, len(self.seen)):
            self.struck.append(path)
            status, body = self.storm(request, status, body)
        return httpx2.Response(status, content=body, headers={"Content-Type": "application/json"}, request=request)

    def _calm(self, path: str) -> tuple[int, bytes]:
        if path in self.answers:
            return self.answers[path]
        container, last = path.rsplit("/", 1)
        if (inside := self._inside(container, last)) is not None:
            return 200, json.dumps({"items": inside, "count": len(inside)}).encode()
        found = None if last in self.hidden else self._objects.get(last)
        return (404, b'{"error": {"code": 404, "message": "not found"}}') if found is None else (200, json.dumps(found).encode())

    def _inside(self, container: str, name: str) -> list[Any] | None:
        """What a list that was not recorded contains, where the items of a list beside it contain that: `siteSpaces` of sections."""
        first, *others = name.split("-")
        key = first + "".join(word.capitalize() for word in others)
        beside = [json.loads(body) for path, (_, body) in self.answers.items() if path.rpartition("/")[0] == container]
        items = [item for document in beside for item in document.get("items") or () if isinstance(item.get(key), list)]
        return [part for item in items for part in item[key]] if items else None


@dataclass(frozen=True)
class Record:
    """A project that is applied, what is remembered of it, and everything a plan of it reads."""

    desired: Desired
    state: State
    answers: Answers


def example(root: Path) -> Record:
    """The flagship example, applied."""
    shutil.copytree(EXAMPLE, root / "project", ignore=shutil.ignore_patterns(".reconciler"))
    project = load(root / "project", kinds())
    seed = {**seed_document(project, kinds(), own_seed(project)), "tokens": [{"token": TOKEN, "member": "usr_ada", "access": "write"}]}
    org = Org(root, seed=seed)
    assert not [result for result in org.apply().results if result.error is not None]
    return record(org)


def record(org: Org) -> Record:
    """What one observation reads."""
    desired, answers = org.load().desired, dict[str, tuple[int, bytes]]()
    state = org.remembered()

    async def keeping(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        answer = await onward(request)
        body = await answer.aread()
        answers[request.url.path.removeprefix("/v1")] = (answer.status_code, body)
        return httpx2.Response(answer.status_code, content=body, headers={"Content-Type": "application/json"}, request=request)

    async def look() -> Actual:
        async with Reader(ClientSettings(BASE, TOKEN), transport=Through(between(org.transport(), keeping))) as reader:
            return await observe(reader, kinds(), desired, state)

    asyncio.run(look())
    return Record(desired, state, answers)


def error(status: int) -> Answer:
    """Always this status."""
    return lambda request, was, body: (status, json.dumps({"error": {"code": status, "message": "so it is"}}).encode())


def says(body: bytes) -> Answer:
    """200 with this body, whatever was asked."""
    return lambda request, was, before: (200, body)


def shortened(*, honest: bool) -> Answer:
    """Lists lose every second item; an honest one still counts all of them."""

    def answer(request: httpx2.Request, status: int, body: bytes) -> tuple[int, bytes]:
        document = json.loads(body)
        if "items" not in document:
            return status, body
        items = document["items"][::2]
        return status, json.dumps({**document, "items": items, "count": len(document["items"]) if honest else len(items)}).encode()

    return answer


STORMS: Mapping[str, Answer] = {
    "401": error(401), "403": error(403), "404": error(404), "500": error(500), "503": error(503), "empty": says(b'{"items": []}'),
    "nothing": says(b"{}"), "a page": says(b"<html>moved</html>"), "a list of garbage": says(b'{"items": [{"id": 7}, null]}'),
    "cut": shortened(honest=True), "cut without a word": shortened(honest=False),
}  # fmt: skip
