"""Random organizations with members and providers of single sign-on: can somebody administer and sign in at every moment?

A moment is what the sandbox's own objects say after a request. Nothing of the planner is in it.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.audience.moments import Cut, Watched
from tests.certificates import IDP, pem
from tests.harness import ORGANIZATION, SEED, TOKEN, Org

Tree = dict[str, Any]

PEOPLE: Final = ("ada", "linus", "grace", "sam")
ROLES: Final = ("admin", "read", "create")
PROVIDERS: Final = ("okta", "entra")
RUNS_MAX: Final = 5
REFUSAL: Final = {"fault": "forbidden"}
ERROR: Final = {"fault": "error", "status": 500, "when": "before"}
LOST: Final = {"fault": "error", "status": 502, "when": "after"}
"""The request is done, and nobody learns of it."""


@dataclass(frozen=True)
class Entrance:
    """How people can get in after a request. `enrolled`: the members of single sign-on."""

    request: str
    admins: int
    providers: int
    enforced: bool
    enrolled: frozenset[str]

    def open(self) -> bool:
        """Whether people can sign in."""
        return self.providers > 0 or not self.enforced


@dataclass
class Doors(Watched):
    """An organization that keeps an entrance for every request that writes. `fault`: what happens to those that are `refused`."""

    fault: dict[str, Any] = field(default_factory=lambda: dict(REFUSAL))
    entrances: list[Entrance] = field(default_factory=list)
    failing: set[tuple[str, str]] = field(default_factory=set)

    def begin(self, *, cut: int | None = None, refused: Iterable[int] = (), concurrency: int = 1) -> None:
        self.cut, self.refused, self.concurrency = cut, frozenset(refused), concurrency
        self.writes, self.failing = 0, set()
        self.entrances = [self.entrance("")]

    def entrance(self, request: str) -> Entrance:
        store = self.app.state.service.store
        members = store.select("member", organization=ORGANIZATION)
        (organization,) = [item for item in store.select("organization") if item["id"] == ORGANIZATION]
        return Entrance(
            request,
            sum(member["role"] == "admin" for member in members),
            len(store.select("saml", organization=ORGANIZATION)),
            bool(organization.get("sso")),
            frozenset(member["id"] for member in members if member.get("_sso")),
        )

    def transport(self) -> httpx2.AsyncBaseTransport:
        return Passing(Org.transport(self), self)


class Passing(httpx2.AsyncBaseTransport):
    """Passes requests on; after each that writes, an entrance is kept. A request that fails does so however often it is sent."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, org: Doors) -> None:
        self.inner, self.org = inner, org

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        org = self.org
        if request.method == "GET":
            return await self.inner.handle_async_request(request)
        org.writes += 1
        if org.cut is not None and org.writes >= org.cut:
            raise Cut
        name = (f"{request.method} {request.url.path}", request.content.decode())
        if org.writes in org.refused:
            org.failing.add(name)
        if name in org.failing:
            request.headers["X-Sandbox-Fault"] = json.dumps(org.fault)
        answer = await self.inner.handle_async_request(request)
        body = await answer.aread()
        org.entrances.append(org.entrance(f"{' '.join(name)} -> {answer.status_code}"))
        return httpx2.Response(answer.status_code, headers=answer.headers, content=body, request=request)

    async def aclose(self) -> None:
        await self.inner.aclose()


# -- random organizations ------------------------------------------------------------------------------------------------------------


def doors(root: Path) -> Doors:
    """An organization whose token belongs to no member, so that everybody may lose the role."""
    seed = copy.deepcopy(SEED)
    del seed["tokens"]
    names = (*PEOPLE, "outsider")
    seed["members"] = [
        {"organization": ORGANIZATION, "id": f"usr_{name}", "email": f"{name}@acme.example", "displayName": name, "role": role}
        for name, role in zip(names, ("admin", "read", "read", "read", "read"), strict=True)
    ]
    org = Doors(root, seed)
    org.app.state.service.control = TOKEN  # it acts as an admin whoever has the role
    return org


def world(chance: random.Random) -> Tree:
    """An organization in which somebody can administer and sign in: one or two admins, and `sso` only where there is a provider."""
    members: Tree = {f"{name}@acme.example": {"role": chance.choice(ROLES[1:])} for name in PEOPLE}
    for name in chance.sample(PEOPLE, chance.choice((1, 1, 2))):
        members[f"{name}@acme.example"]["role"] = "admin"
    tree: Tree = {"members": members, "saml": {name: provider(name, chance) for name in PROVIDERS if chance.random() < 0.3}}
    if tree["saml"] and chance.random() < 0.5:
        tree["sso"] = chance.random() < 0.6
    return tree


def provider(name: str, chance: random.Random) -> Tree:
    url = f"https://{name}.example/{chance.randint(1, 3)}"
    return {"label": name.title(), "entityID": f"http://{name}.example", "ssoURL": url, "certificate": pem(IDP)}


def edited(tree: Tree, chance: random.Random) -> Tree:
    """The tree with other roles, members, providers and settings, whether or not that leaves a way in."""
    after = copy.deepcopy(tree)
    for member in after["members"].values():
        if member["role"] == "admin" or chance.random() < 0.4:
            member["role"] = chance.choice(ROLES)
        if chance.random() < 0.2:
            member["sso"] = True
    for name in PEOPLE:
        if chance.random() < 0.1:
            del after["members"][f"{name}@acme.example"]
    for name in PROVIDERS:
        if chance.random() < 0.3:
            after["saml"] = {key: value for key, value in after["saml"].items() if key != name}
        elif chance.random() < 0.5:
            after["saml"][name] = provider(name, chance)
    if chance.random() < 0.6:
        after["sso"] = chance.random() < 0.7
    after["title"] = chance.choice(("Acme", "Acme Inc", "The Acme"))
    return after


def removed(before: Tree, after: Tree) -> list[Tree]:
    """What may be deleted although it is the last one."""
    return [{"address": f"acme/saml/{key}", "action": "delete"} for key in before["saml"] if key not in after["saml"]]


# -- every way to apply an edit ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Edit:
    """An organization before and after, and the least number of admins."""

    before: Tree
    after: Tree
    least: int


@dataclass
class Ways:
    """All runs of one edit; `violations`: moments at which nobody could get in, in words."""

    org: Doors
    image: Path
    violations: list[str] = field(default_factory=list)
    writes: int = 0
    runs: int = 0

    def try_all(self, edit: Edit, *, many: int, faults: Iterable[dict[str, Any]]) -> Ways:
        """Apply the edit one request at a time and many at once, cut before each request, and with each request failing."""
        top: Tree = {"guards": {"minAdmins": edit.least, "maxDelete": {"percent": 100, "atLeast": 99}}, "prune": {"member": "owned"}}
        top["service"] = {}
        self.org.write(edit.before, **{**top, "guards": {"minAdmins": 0}})
        self.org.begin()
        self.finish()
        self.org.save(self.image)
        self.org.write(edit.after, **top, removed=removed(edit.before, edit.after))
        self.org.begin()
        self.finish()
        end, self.writes = self.org.entrances[-1], self.org.writes
        self.look(edit, end, "whole")
        for number in range(1, self.writes + 1):
            self.again(edit, end, f"cut before {number}", cut=number)
            for fault in faults:
                self.again(edit, end, f"{number} fails: {fault}", refused=(number,), fault=fault)
                self.again(edit, end, f"{number} fails, many at once: {fault}", refused=(number,), fault=fault, concurrency=many)
        return self

    def again(self, edit: Edit, end: Entrance, run: str, *, fault: dict[str, Any] | None = None, **how: Any) -> None:
        self.org.restore(self.image)
        self.org.begin(**how)
        self.org.fault = dict(fault or REFUSAL)
        self.finish()
        self.look(edit, end, run)

    def finish(self) -> None:
        """Apply until a run that is not cut changes nothing; what fails, fails in the first run only."""
        for _ in range(RUNS_MAX):
            before = self.org.writes
            outcome = self.org.run()
            self.org.refused, self.org.failing = frozenset(), set()
            if outcome is not None and self.org.writes == before:
                return
        raise AssertionError(f"something is left to do after {RUNS_MAX} runs")

    def look(self, edit: Edit, end: Entrance, run: str) -> None:
        self.runs += 1
        start = self.org.entrances[0]
        least = min(start.admins, end.admins, max(edit.least, 1))
        for problem in problems(self.org.entrances, start, least):
            requests = "".join(f"\n    {entrance}" for entrance in self.org.entrances)
            self.violations.append(f"{run}: {problem}{requests}")


def problems(entrances: list[Entrance], start: Entrance, least: int) -> Iterator[str]:
    """What is wrong at each moment, in words."""
    enrolled = start.enrolled
    for entrance in entrances:
        if entrance.admins < least:
            yield f"{entrance.admins} admins, not {least}, after {entrance.request}"
        if start.open() and not entrance.open():
            yield f"nobody can sign in after {entrance.request}"
        if entrance.enrolled - enrolled and not entrance.providers:
            yield f"somebody was added to single sign-on without a provider by {entrance.request}"
        enrolled = entrance.enrolled
