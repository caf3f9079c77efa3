"""What single people may do, three times: the planner's model, the service's answer about each of them, and who reads what in the sandbox.

    the service about each person --.
    the plan, step by step ---------+--> at least, at most      <= compared for every person and space, before the first request,
    the sandbox after each request -----> the truth                 after each, and after the last

The planner asks once, before the run. Later it only knows what its own requests do, and must neither promise nor exclude too much.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.address import bare
from reconciler.client.service import Reader
from reconciler.model import Actual, Plan, Step
from reconciler.observe import observe, planned
from reconciler.plan.audience.people import PersonalAccess
from reconciler.plan.audience.readers import Audiences
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from reconciler.plan.simulation.simulate import Simulation
from reconciler.sandbox.sites.audience import Audience
from tests.audience.moments import Moment, Watched
from tests.harness import ORGANIZATION, TOKEN, kinds
from tests.proofs import spread
from tests.sandbox.test_levels import ROLES, random_organization
from tests.transports import Onward, Way

SIZE = 5  # times what the sandbox's own test of its rules has: about 2,000 pairs of a person and a space in a run
Ranks = Mapping[tuple[str, str], int]
"""By person and space, what the sandbox lets them do."""


@dataclass
class WatchedPeople(Watched):
    """An organization that keeps what every person may do with every space after each request that writes."""

    ranks: list[tuple[str, Ranks]] = field(default_factory=list)  # each with the request before it
    denied: set[str] = field(default_factory=set)  # people of whom the service does not say what they were given

    def now(self, request: str) -> Moment:
        store = self.app.state.service.store
        audience = Audience(store, store.select("organization")[0])
        spaces, people = store.select("space"), store.select("member")
        ranks = {(who["id"], of["id"]): audience.rank(who["id"], "space", of["id"]) for who in people for of in spaces}
        self.ranks.append((request, ranks))
        return Moment(request, {})

    def made_plan(self) -> tuple[Plan, Actual, dict[Any, str]]:
        """The plan, what was read for it, and the ids of what is declared."""

        async def made() -> tuple[Plan, Actual]:
            async with self.client(Reader) as reader:
                actual = await observe(reader, kinds(), desired, state)
                return await planned(reader, kinds(), actual, lambda seen: plan(kinds(), desired, state, seen))

        desired, state = self.load().desired, self.remembered()
        made_plan, actual = asyncio.run(made())
        return made_plan, actual, dict(identify(kinds(), desired, state, actual).ids)


def declared(document: Mapping[str, Any]) -> dict[str, Any]:
    """The content and the members of a document, as a project writes them."""

    def nodes(parent: str | None) -> list[dict[str, Any]]:
        listed = [("collection", data) for data in document["collections"]] + [("space", data) for data in document["spaces"]]
        return [
            {kind: data["id"].replace("_", "-"), "id": data["id"], "title": data["id"]}
            | ({"defaultLevel": data["defaultLevel"]} if data["defaultLevel"] else {})
            | ({"content": nodes(data["id"])} if kind == "collection" else {})
            for kind, data in listed
            if data["parent"] == parent
        ]

    return {"content": nodes(None), "members": {member["email"]: member["role"] or "guest" for member in document["members"]}}


def changed(document: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The document after a few changes of levels, places and roles."""
    result: dict[str, Any] = json.loads(json.dumps(document))
    for _ in range(chance.randint(1, 4)):
        kind = chance.choice(["spaces", *(["collections"] if result["collections"] else []), "members"])
        data = chance.choice(result[kind])
        if kind == "members":
            data["role"] = data["role"] if data["id"] == "usr_ada" else chance.choice((None, *ROLES))
        elif chance.random() < 0.5:
            data["defaultLevel"] = chance.choice(("inherit", *ROLES))
        else:
            outer = [item["id"] for item in result["collections"] if kind == "spaces" or item["id"] < data["id"]]
            data["parent"] = chance.choice((None, *outer))
    return result


def denying(people: Collection[str]) -> Way:
    """Shows nobody where these people were given access."""

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        parts = request.url.path.split("/")
        if "members" in parts[:-1] and parts[-1] == "spaces" and parts[-2] in people:
            return httpx2.Response(403, json={"error": {"code": 403, "message": "not for you"}}, request=request)
        return await onward(request)

    return way


def begun(root: Path, seed: int) -> tuple[WatchedPeople, dict[str, Any]]:
    chance = random.Random(seed)
    text = json.dumps(random_organization(chance, size=SIZE)).replace("org_a", ORGANIZATION)
    document = json.loads(text)
    document["tokens"] = [{"token": TOKEN, "member": "usr_ada"}]
    for data in (*document["collections"], *document["spaces"]):
        data["title"] = data["id"]
    org = WatchedPeople(root, seed=document)
    if seed % 3 == 0:
        org.denied = {data["id"] for data in document["members"] if chance.random() < 0.2}
        org.way = denying(org.denied)
    service = {"member": "ada@acme.example", "readPeople": True}
    org.write(declared(document), service=service, defaults=None)
    org.apply()
    second = changed(document, chance)
    org.write(declared(second), service=service, defaults=None)
    return org, second


def sent(steps: Sequence[Step], request: str) -> Step:
    """The step whose request it was: `POST /spaces/spc_1/move {} -> 200`. They may be sent in another order than the plan shows."""
    parts = request.split()[1].split("/")
    verb, id = ("move", parts[-2]) if parts[-1] == "move" else ("update", parts[-1])
    (step,) = (step for step in steps if step.verb == verb and bare(str(step.target)) == id)
    return step


@pytest.mark.parametrize("seed", spread(range(900), 9))
def test_at_each_request_the_truth_is_between_least_and_most_and_before_the_first_it_is_known(tmp_path: Path, seed: int) -> None:
    org, _ = begun(tmp_path, seed)
    made, actual, ids = org.made_plan()
    org.ranks.clear()
    org.begin()
    assert org.run() is not None
    assert org.made is not None
    assert org.made.steps == made.steps
    assert len(org.ranks) == len(made.steps) + 1
    complete = actual.complete
    first = Audiences(kinds(), actual.objects, complete=complete)
    simulation = Simulation(kinds(), actual, ids=ids)
    for number, (request, truth) in enumerate(org.ranks):
        if request:
            simulation.run(sent(made.steps, request))
        personal = PersonalAccess(kinds(), Audiences(kinds(), simulation.objects, complete=complete), first, actual)
        for (who, space), rank in truth.items():
            level = personal.of(simulation.objects["member"][f"{ORGANIZATION}/{who}"], ("space", space))
            assert level.least <= rank <= level.most, (number, who, space)
            assert number or who in org.denied or level.least == level.most == rank, (who, space)
