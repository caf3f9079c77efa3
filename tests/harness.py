"""One project against one sandbox, in process: the sandbox over ASGI, a real state database, the real planner, client and apply.

Every request is kept as (method, path), so that a test can say what was sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import httpx2
import yaml

from reconciler.address import Glob, Selection, bare
from reconciler.apply import FRESH, ApplyOptions, apply
from reconciler.apply.recover import recover
from reconciler.apply.task import StepPermission
from reconciler.client import ClientSettings, SharedBudget
from reconciler.client.pacing import Clock
from reconciler.client.service import Reader, Writer
from reconciler.config import Project, load
from reconciler.kinds import load as declared_kinds
from reconciler.model import JournalEntry, Outcome, Plan, RecordedRun, State
from reconciler.observe import observe, planned
from reconciler.plan.planner import plan
from reconciler.plan.prove import prove
from reconciler.plan.world import World
from reconciler.resource import Kinds
from reconciler.run.guards import check
from reconciler.run.operation import Limits
from reconciler.sandbox.app import create_app
from reconciler.sandbox.seed import seed
from reconciler.state import StateScope, Store
from tests.organizations import ORGANIZATION as ORGANIZATION, SEED as SEED, TOKEN as TOKEN, project
from tests.transports import Onward, Through, Way, between

DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
BASE = "http://127.0.0.1:1"
WHOLE = Selection()


@cache
def kinds() -> Kinds:
    """All kinds, with a key for what a state keeps of secrets."""
    return declared_kinds().with_digest_key(b"the key of the tests")


class Still:
    """A clock that only sleeping moves, at once: nothing grows old on a slow machine, and nobody waits."""

    def __init__(self) -> None:
        self.slept = 0.0

    def monotonic(self) -> float:
        return 1000.0 + self.slept

    def wall(self) -> float:
        return time.time() + self.slept

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        await asyncio.sleep(0)


def recording(seen: list[tuple[str, str]]) -> Way:
    """Passes requests on and remembers them."""

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        seen.append((request.method, request.url.path.removeprefix("/v1")))
        return await onward(request)

    return way


def failing_at(segments: tuple[str, ...]) -> Way:
    """Refuses to show the paths that end in one of the given segments."""

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.url.path.rsplit("/", 1)[-1] in segments:
            return httpx2.Response(403, json={"error": {"code": 403, "message": "not for you"}}, request=request)
        return await onward(request)

    return way


@dataclass
class Org:
    """A project directory, a sandbox and a state database below `root`."""

    root: Path
    seed: Mapping[str, Any] = field(default_factory=lambda: SEED)
    name: str = "sandbox"
    scope_project: str = "test"
    environment: str | None = None
    fresh: float = FRESH  # below 0 everything is read again before it is written
    clock: Clock = field(default_factory=lambda: Still())
    deadline: float = 30.0
    requests: list[tuple[str, str]] = field(default_factory=list)
    url: str | None = None  # of the state; None: a file below `root`
    settle: float | None = None  # seconds that a lost request may take; None: no request outlives its run
    permission: StepPermission | None = None
    budget: SharedBudget | None = None
    nonce: Callable[[], str] | None = None  # where what is made is marked first
    verify: Literal["written", "full"] = "written"
    way: Way | None = None  # of each request to the service, as a test wants it; None: straight there
    made: Plan | None = None  # what the last apply planned, after so many requests:
    planned: int = 0

    def __post_init__(self) -> None:
        self.project = self.root / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.db = self.root / f"{self.name}.db"
        seed(self.db, self.seed)
        self.app = create_app(self.db)
        self.begun = self._changes()

    def untouched(self) -> bool:
        """Whether nothing was written since the sandbox was seeded, and an apply goes its usual way."""
        usual = type(self) is Org and (self.url, self.settle, self.nonce, self.way) == (None,) * 4 and isinstance(self.clock, Still)
        return usual and not self.requests and self._changes() == self.begun

    def _changes(self) -> tuple[int, int]:
        """What grows with each write to the sandbox's file, by this process or another one."""
        connection = self.app.state.service.store.connection
        return connection.total_changes, connection.execute("pragma data_version").fetchone()[0]

    # -- the project -------------------------------------------------------------------------------------------------------------

    def write(self, organization: Mapping[str, Any] | str, *, key: str = "acme", **top: Any) -> None:
        """Write `reconciler.yaml` with one organization (its YAML as data) under a key, or the whole text."""
        if isinstance(organization, str):
            (self.project / "reconciler.yaml").write_text(organization, encoding="utf-8")
            return
        document = project({key: organization}, **top)
        text = yaml.dump(document, Dumper=DUMPER, allow_unicode=True, sort_keys=False)
        (self.project / "reconciler.yaml").write_text(text, encoding="utf-8")

    def load(self) -> Project:
        return load(self.project, kinds(), environment=self.environment)

    # -- runs --------------------------------------------------------------------------------------------------------------------

    def store(self) -> Store:
        scope = StateScope(self.scope_project, self.environment, f"sandbox:{self.name}")
        url, beside = self.url or f"sqlite:///{self.root}/state.db", self.project / ".reconciler"
        return Store.open(url, scope, clock=lambda: datetime.now(UTC), create=True, beside=beside, lag=self.settle or 0.0)

    def remembered(self) -> State:
        """What the state database has, read in a moment."""
        with self.store() as store:
            return store.read()

    def lose_state(self) -> None:
        (self.root / "state.db").unlink()
        for beside in self.root.glob("state.db?*"):
            beside.unlink()

    def transport(self) -> httpx2.AsyncBaseTransport:
        transport = between(self.service_transport(), recording(self.requests))
        return between(transport, self.way) if self.way else transport

    def service_transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.ASGITransport(self.app)

    def client(self, cls: type[Reader] = Writer, *, token: str = TOKEN, failing: tuple[str, ...] = ()) -> Any:
        transport = between(self.transport(), failing_at(failing)) if failing else self.transport()
        return cls(ClientSettings(BASE, token, budget=self.budget), transport=Through(transport), clock=self.clock)

    def plan(
        self, *, allow_replace: tuple[str, ...] = (), targets: tuple[str, ...] = (), token: str = TOKEN, failing: tuple[str, ...] = ()
    ) -> Plan:
        """A plan by a client that cannot write; `failing` are last segments of paths that answer 403."""
        return asyncio.run(self._plan(allow_replace, Selection(tuple(Glob.parse(text) for text in targets)), token, failing))

    async def _plan(self, allow_replace: tuple[str, ...], selection: Selection, token: str, failing: tuple[str, ...]) -> Plan:
        desired = self.load().desired
        with self.store() as store:
            state = store.read()
            async with self.client(Reader, token=token, failing=failing) as reader:
                actual = await observe(reader, kinds(), desired, state)
                made, actual = await planned(
                    reader,
                    kinds(),
                    actual,
                    lambda actual: plan(kinds(), desired, state, actual, allow_replace=allow_replace, selection=selection),
                )
        return prove(World(kinds(), desired, state, actual, selection), made)

    def apply(self, *, allow_replace: tuple[str, ...] = ("**",), selection: Selection = WHOLE) -> Outcome:
        return asyncio.run(self._apply(allow_replace, selection))

    async def _apply(self, allow_replace: tuple[str, ...], selection: Selection = WHOLE) -> Outcome:
        desired = self.load().desired
        with self.store() as store, store.lease(who="test", command="apply") as journal:
            async with self.client() as writer:
                await recover(writer, kinds(), desired, journal, settle=self.settle)
                state = journal.state()
                actual = await observe(writer, kinds(), desired, state)
                made, actual = await planned(
                    writer,
                    kinds(),
                    actual,
                    lambda actual: plan(kinds(), desired, state, actual, allow_replace=allow_replace, selection=selection),
                )
                made = check(prove(World(kinds(), desired, state, actual, selection), made), desired, Limits().with_exposures)
                self.made, self.planned = made, len(self.requests)
                outcome = await apply(
                    writer,
                    kinds(),
                    desired,
                    made,
                    actual,
                    journal,
                    ApplyOptions(
                        deadline=self.deadline,
                        fresh=self.fresh,
                        nonce=self.nonce,
                        verify=self.verify,
                        selection=selection,
                        settle=self.settle or 0.0,
                        permission=self.permission,
                    ),
                )
                if outcome.went_through and made.state_update.rules is not None:
                    journal.remember_rules(made.state_update.rules)
                whole = outcome.went_through and not (outcome.leftover or made.blocked or made.deferred or made.in_doubt)
                journal.finish(exit_code=0 if whole else 5, summary={})
                return outcome

    # -- behind its back -----------------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One request by somebody else; answers the decoded body."""
        return asyncio.run(self._call(method, path, body))

    async def _call(self, method: str, path: str, body: Any) -> Any:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=BASE) as client:
            answer = await client.request(method, f"/v1{path}", json=body, headers={"Authorization": f"Bearer {TOKEN}"})
            assert answer.status_code < 300, answer.text
            return answer.json() if answer.content else None

    def items(self, path: str) -> list[dict[str, Any]]:
        return list(self.call("GET", f"{path}?limit=1000")["items"])

    def id(self, address: str) -> str:
        """The id an address is bound to, as the service calls it."""
        return next(bare(binding.id) for at, binding in self.remembered().bindings.items() if str(at) == address)


def runs(org: Org) -> tuple[RecordedRun, ...]:
    """Those that sent anything, newest first."""
    with org.store() as store:
        return tuple(run for run in store.runs() if run.anything)


def entries(org: Org, run: str) -> tuple[JournalEntry, ...]:
    with org.store() as store:
        return store.entries(run)
