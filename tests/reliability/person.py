"""Somebody who uses the service while a run is under way: one edit before its kth request, and what the run read and wrote since."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.harness import ORGANIZATION
from tests.reliability.world import World

ORG = f"/orgs/{ORGANIZATION}"
PLACES = {
    "space": "/spaces/{id}",
    "collection": "/collections/{id}",
    "team": ORG + "/teams/{id}",
    "site": ORG + "/sites/{id}",
    "share-link": ORG + "/sites/{site}/share-links/{id}",
}
NAMES = {"share-link": "name"}
NEAR = 0.7  # of the edits are of something that the run writes
ACTS = ("rename", "move", "delete", "child")


@dataclass(frozen=True)
class Edit:
    """What somebody did, to which object. `shows`: whether a document says so; `undoes`: whether a write, with its body, takes it back."""

    what: str
    id: str
    request: tuple[str, str, Any]
    shows: Callable[[Any], bool]
    undoes: Callable[[str, str, Any], bool]


@dataclass(frozen=True)
class Object:
    """Something of ours that stands in the service."""

    kind: str
    id: str
    path: str
    data: dict[str, Any]


def objects(world: World) -> list[Object]:
    """Everything that a person could edit, but what belongs to others and what copies are made of."""
    rows = world.service.connection.execute("select kind, id, data from objects order by kind, id")
    found = []
    for kind, id, text in rows:
        data = json.loads(text)
        if kind in PLACES and id not in world.foreign and id != "spc_blank" and not data.get("deletedAt"):
            found.append(Object(kind, id, PLACES[kind].format(id=id, site=data.get("site")), data))
    return found


def edit(act: str, chance: random.Random, all_: list[Object], touched: frozenset[str], doomed: frozenset[str]) -> Edit | None:
    """One edit by chance; None where there is nothing that could be edited so. `touched`: ids of what the run writes, which is edited
    more often; `doomed`: of what it deletes, with all that is in it."""
    able = {
        "rename": lambda one: True,
        "delete": lambda one: True,
        "move": lambda one: one.kind == "space",
        "child": lambda one: one.id in doomed and one.kind in ("collection", "site"),
    }[act]
    chosen = [one for one in all_ if able(one)]
    if not chosen:
        return None
    near = [one for one in chosen if one.id in touched]
    one = chance.choice(near if near and chance.random() < NEAR else chosen)
    return {"rename": _rename, "delete": _delete, "move": _move, "child": _child}[act](one, chance, all_)


def _rename(one: Object, chance: random.Random, all_: list[Object]) -> Edit:
    key, name = NAMES.get(one.kind, "title"), f"By hand {chance.randrange(10**6)}"
    return Edit(
        "rename", one.id, ("PATCH", one.path, {key: name}),
        lambda document: any(item.get(key) == name for item in _of(document, one.id)),
        lambda method, path, body: (
            (method == "DELETE" and f"{one.path}/".startswith(f"{path}/"))
            or (method == "PATCH" and path == one.path and body.get(key, name) != name)
        ),
    )  # fmt: skip


def _delete(one: Object, chance: random.Random, all_: list[Object]) -> Edit:
    return Edit("delete", one.id, ("DELETE", one.path, None), lambda document: False, lambda method, path, body: False)


def _move(one: Object, chance: random.Random, all_: list[Object]) -> Edit | None:
    others = [parent for parent in [None, *(other.id for other in all_ if other.kind == "collection")] if parent != one.data.get("parent")]
    if not others:
        return None
    to = chance.choice(others)
    return Edit(
        "move", one.id, ("POST", f"{one.path}/move", {"parent": to}),
        lambda document: any(item.get("object") == one.kind and item.get("parent") == to for item in _of(document, one.id)),
        lambda method, path, body: (
            (method == "POST" and path == f"{one.path}/move" and body.get("parent", to) != to)
            or (method == "DELETE" and path in (one.path, f"/collections/{to}"))
        ),
    )  # fmt: skip


def _child(one: Object, chance: random.Random, all_: list[Object]) -> Edit:
    name = f"Mine {chance.randrange(10**6)}"
    if one.kind == "site":
        request: tuple[str, str, Any] = ("POST", f"{one.path}/share-links", {"name": name})
    else:
        request = ("POST", f"{ORG}/collections", {"title": name, "parent": one.id})
    return Edit(
        "child", one.id, request,
        lambda document: any(name in (item.get("title"), item.get("name")) for item in _dicts(document)),
        lambda method, path, body: (method, path) == ("DELETE", one.path),
    )  # fmt: skip


def _of(document: Any, id: str) -> Iterator[dict[str, Any]]:
    return (item for item in _dicts(document) if item.get("id") == id)


def _dicts(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        yield document
        for value in document.values():
            yield from _dicts(value)
    elif isinstance(document, list):
        for value in document:
            yield from _dicts(value)


class Person(httpx2.AsyncBaseTransport):
    """Lets somebody edit before the kth request. `at`, `shown` and `undone`: virtual seconds of the edit, of the first answer to a reading
    that showed it (the request of number `shown_by`), and of the first write that took it back; None for what did not happen."""

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        world: World,
        k: int,
        act: str,
        chance: random.Random,
        touched: frozenset[str],
        doomed: frozenset[str],
    ) -> None:
        self.inner, self.world, self.k, self.act, self.chance = inner, world, k, act, chance
        self.touched, self.doomed = touched, doomed
        self.count = 0
        self.edit: Edit | None = None
        self.at = 0.0
        self.shown: float | None = None
        self.shown_by = 0
        self.undone: float | None = None
        self.undone_by = ""  # the method of that write
        self.under_way: dict[int, tuple[str, str, Any]] = {}  # writes by number that were sent and may not have taken effect yet

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.count += 1
        number = self.count
        if self.count == self.k:
            await self._edit()
        if request.method != "GET":
            body = json.loads(await request.aread() or b"{}")
            self.under_way[number] = (request.method, request.url.path.removeprefix("/v1"), body)
            self._undone(self.under_way[number])
        try:
            answer = await self.inner.handle_async_request(request)
        finally:
            self.under_way.pop(number, None)
        looked = request.method == "GET" and answer.status_code == 200 and not self._counts_copies(request.url.path)
        if self.edit is not None and self.shown is None and self.undone is None and looked:
            text = await answer.aread()
            if self.edit.shows(json.loads(text)):
                self.shown, self.shown_by = self.world.time.seconds, number
            return httpx2.Response(200, headers=answer.headers, content=text, request=request)
        return answer

    async def _edit(self) -> None:
        made = edit(self.act, self.chance, objects(self.world), self.touched, self.doomed)
        if made is None:
            return
        try:
            await self.world._call(*made.request)
        except AssertionError:  # the service refused it: there was nothing to edit
            return
        self.edit, self.at = made, self.world.time.seconds
        for write in self.under_way.values():
            self._undone(write)

    def _counts_copies(self, path: str) -> bool:
        """Whether the reading is asked for the ids of what is there before a copy is made, and for nothing else."""
        return self.world.made is not None and "/members/" in path and path.endswith("/spaces")

    def _undone(self, write: tuple[str, str, Any]) -> None:
        if self.edit is not None and self.undone is None and self.edit.undoes(*write):
            self.undone, self.undone_by = self.world.time.seconds, write[0]
