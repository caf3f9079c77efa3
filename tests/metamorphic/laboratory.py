"""A service in memory and virtual time, on which random organizations are applied in one way or another."""

from __future__ import annotations

import copy
import json
import random
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reconciler.address import bare
from reconciler.client import ClientSettings
from reconciler.client.service import Reader, Writer
from reconciler.model import Outcome, Plan, StepStatus
from tests.harness import BASE, TOKEN
from tests.metamorphic.canonical import canonical
from tests.organizations import SERVICE, below, project
from tests.reliability.databases import Sqlite
from tests.reliability.world import World
from tests.transports import Through

REFUSED = re.compile(r" is blocked: | is in doubt|^unknown: ")
CONFIRM = re.compile(r"\{address: (\S+), action: delete\}")
ADOPT = re.compile(r"if it is the same object: reconciler adopt acme/(\w+)/(\S+) (\w+);")
RUNS = 8  # what a plan puts off is done by the next run; nothing takes more than these


@dataclass
class Laboratory(World):
    """`concurrency`: requests under way at once; `slowest`: virtual seconds that a request or its answer may take."""

    concurrency: int = 16
    slowest: float = 0.2

    def client(self, cls: type[Reader] = Writer, *, token: str = TOKEN, failing: tuple[str, ...] = ()) -> Any:
        settings = ClientSettings(BASE, token, max_concurrency=self.concurrency)
        return cls(settings, transport=Through(self.transport()), clock=self.time, jitter=self.chance.random)

    def latency(self) -> float:
        return self.chance.uniform(0.001, self.slowest)

    def write(self, organization: Any, **top: Any) -> None:
        """Write the project as one file."""
        self.write_files({"reconciler.yaml": project({"acme": organization}, **top)})

    def write_files(self, files: Mapping[str, Any]) -> None:
        """Write the project as these files, and no others."""
        for path in self.project.glob("**/*.yaml"):
            path.unlink()
        for name, content in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")
        self.touch()

    def canonical(self, without: Collection[str] = (), *, listed: bool = False) -> dict[str, dict[str, Any]]:
        return canonical(self.service.connection, without, listed=listed)

    def converge(self, organization: Mapping[str, Any], **top: Any) -> None:
        """Write an organization and apply it as a person does who means what is written: what a plan asks to confirm is confirmed as it
        prints, what it puts off is done by the next run. At the end every step is done and nothing is left."""
        organization = copy.deepcopy(dict(organization))
        removed: dict[str, dict[str, str]] = {}
        for _ in range(RUNS):
            confirmed = {"removed": list(removed.values())} if removed else {}
            self.write(organization, **confirmed, **top)
            remedies = [blocked.remedy for blocked in self.plan().blocked]
            asked = {address for remedy in remedies for address in CONFIRM.findall(remedy)} - removed.keys()
            same = {pair for remedy in remedies for pair in ADOPT.findall(remedy)}
            if asked or same:
                removed |= {address: {"address": address, "action": "delete"} for address in asked}
                for kind, key, id in same:
                    identify(organization, kind, key, id)
                continue
            outcome = self.apply()
            troubles = [*failed(outcome), *(line for line in described(outcome.plan) if REFUSED.search(line))]
            assert not troubles, troubles
            if not outcome.plan.deferred:
                break
        left = described(self.plan())
        assert not left, left

    def tracked(self) -> dict[str, str]:
        """The id of every address in the state."""
        return {str(address): bare(binding.id) for address, binding in self.remembered().bindings.items()}

    def orphans(self) -> set[str]:
        """Ids of copies that a lost state knew, and that nobody can recognise because they have no title yet."""
        rows = self.service.connection.execute("select id, data from objects where kind = 'space'")
        tracked = set(self.tracked().values())
        return {id for id, data in rows if id not in tracked and json.loads(data)["title"].startswith("Copy of ")}

    def ids(self) -> set[str]:
        """The ids of everything that exists, but of the members, who are never deleted."""
        rows = self.service.connection.execute("select id, data from objects where kind != 'member'")
        return {id for id, data in rows if not json.loads(data).get("deletedAt")}

    def lose_state(self) -> None:
        assert self.database is not None
        self.database.put(None)


def identify(tree: Mapping[str, Any], kind: str, key: str, id: str) -> None:
    """Write the id of a node of the content, as `adopt` would remember it."""
    for node in below(tree["content"]):
        if node.get(kind) == key:
            node["id"] = id
            node.pop("duplicateOf", None)


def failed(outcome: Outcome) -> list[str]:
    return [
        f"{result.step.verb} {result.step.address}: {result.error}" for result in outcome.results if result.status is not StepStatus.DONE
    ]


def described(plan: Plan) -> list[str]:
    """What a plan would do or cannot do, a line each."""
    lines = [f"{change.address}: {' '.join(change.actions)} {[delta.name for delta in change.fields]}" for change in plan.changes]
    lines += [f"{step.verb} {step.address} {dict(step.writes)}" for step in plan.steps]
    lines += [f"{blocked.address} is blocked: {blocked.reason} ({blocked.remedy})" for blocked in plan.blocked]
    lines += [f"{address} is put off: {reason}" for address, reason in plan.deferred.items()]
    lines += [f"{address} is in doubt" for address in plan.in_doubt] + [f"unknown: {unknown}" for unknown in plan.unknown]
    return lines


@contextmanager
def laboratory(seed: int = 0, service: Mapping[str, Any] = SERVICE, **options: Any) -> Iterator[Laboratory]:
    """A service with nothing but what `service` holds. `seed`: of its delays."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        world = Laboratory(folder, seed=service, database=Sqlite(folder), chance=random.Random(seed), **options)
        try:
            yield world
        finally:
            world.service.connection.close()
