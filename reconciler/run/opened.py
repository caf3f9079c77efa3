"""One run, from top to bottom: the project is loaded, judged and admitted, the service connected, the state read, a plan made.

    Operation ---load--> project --judge--> rules --admit--> service --read--> state, key of its digests --plan--> Planned
                                             ^ whoever asked may stop here, before anything is created or sent

Each happens once, and in this order. Commands, agents, a fleet and rehearsals all begin here, and make a document of what a run returns.
What needs an answer of people is returned, or raised: a run asks nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

from reconciler.client.service import Reader
from reconciler.config import Project
from reconciler.kinds import load as load_kinds
from reconciler.model import Desired, State
from reconciler.resource import Kinds
from reconciler.run.connection.connecting import ConnectedService, connect, open_store
from reconciler.run.connection.leases import leased
from reconciler.run.connection.unseen import Unseen, unseen
from reconciler.run.loading import keyed, load
from reconciler.run.operation import Operation
from reconciler.run.planning import make
from reconciler.run.rules import JudgedProject, judged
from reconciler.run.stages import Planned, PlanSource, checked
from reconciler.run.voice import Voice
from reconciler.state import Journal, Store
from reconciler.state.connection import Connection

T = TypeVar("T")


@dataclass(frozen=True)
class SeenState:
    """What a run reads of its state. `key`: for digests; b"" where there is no state yet. `new`: the message about a state that has never
    seen the project."""

    state: State
    key: bytes
    new: Unseen | None


@dataclass
class Run:
    """One run. `by`: the project, and whose rules judge it. `plain`: the kinds, without a key for digests."""

    operation: Operation
    voice: Voice
    plain: Kinds
    judged: JudgedProject
    service: ConnectedService

    @classmethod
    @contextmanager
    def open(
        cls,
        operation: Operation,
        voice: Voice,
        *,
        create: bool = True,
        admit: Callable[[JudgedProject], None] = lambda judged_project: None,
    ) -> Iterator[Run]:
        """Load, judge, admit, connect. `create`: create a sandbox that does not exist; otherwise refuse it. `admit`: may raise.

        Raises `ConfigError`, and `UsageError` for a host that nobody confirmed.
        """
        kinds = load_kinds()
        judged_project = judged(operation, voice, kinds, load(operation, voice, kinds))
        admit(judged_project)
        with connect(operation, voice, judged_project.project, kinds, create=create) as service:
            yield cls(operation, voice, kinds, judged_project, service)

    @property
    def project(self) -> Project:
        """The project, judged."""
        return self.judged.project

    # -- the state -------------------------------------------------------------------------------------------------------------------

    def store(self) -> Store:
        """The state, opened to be read."""
        return open_store(self.operation, self.voice, self.project, self.service, create=False)

    @cached_property
    def seen(self) -> SeenState:
        """The state, read once."""
        with self.voice.lasting("Reading the state"), self.store() as store:
            return SeenState(store.read(), store.digest_key(), unseen(self.operation, self.project, self.service, store))

    @property
    def state(self) -> State:
        """What is tracked."""
        return self.seen.state

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds, with the key of the state's digests."""
        return keyed(self.plain, self.seen.key, self.project)

    def stored(self, work: Callable[[Connection, int], T]) -> T | None:
        """What `work` reads of the state."""
        with self.store() as store:
            return store.stored(work)

    def warn_unseen(self) -> None:
        """Warn if the state has never seen the project."""
        if self.seen.new is not None:
            self.voice.warn(str(self.seen.new), id="RC-unseen-state")

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the reader of a plan: about a state that has never seen the project, and whose rules judge it."""
        return (*((str(self.seen.new),) if self.seen.new is not None else ()), *self.judged.notes)

    # -- a plan ----------------------------------------------------------------------------------------------------------------------

    async def make(
        self, reader: Reader, *, everything: bool = False, pages: bool = True, rereads: bool = False,
        desired: Desired | None = None, state: State | None = None, operation: Operation | None = None,
    ) -> Planned:  # fmt: skip
        """A plan. `everything`: of all that exists. `pages`: also what happens to pages, and to what people are working on. `rereads`: of
        what was read before, nothing counts. `desired`, `state` and `operation`: instead of its own."""
        source = PlanSource(reader, self if pages else None, rereads=rereads, everything=everything)
        desired, state, operation = desired or self.project.desired, state or self.state, operation or self.operation
        return await make(source, self.kinds, desired, state, operation, stage=self.voice.stage)

    def plan(
        self,
        *,
        everything: bool = False,
        pages: bool = True,
        desired: Desired | None = None,
        state: State | None = None,
        operation: Operation | None = None,
    ) -> Planned:
        """A plan, read with a client that cannot write; see `make`. Raises `Refused` where too much is missing."""
        make = partial(self.make, everything=everything, pages=pages, desired=desired, state=state, operation=operation)
        with self.reading():
            return checked(self.ask(make))

    def reading(self, what: str = "") -> AbstractContextManager[None]:
        """The phase of a run in which it reads the service, after its state."""
        _ = self.seen
        return self.voice.phase(f"Reading {what or self.project.desired.project}", where=self.service.where)

    def ask(self, work: Callable[[Reader], Awaitable[T]]) -> T:
        """What `work` returns, with a client that can only read."""
        return asyncio.run(self._with_reader(work))

    async def _with_reader(self, work: Callable[[Reader], Awaitable[T]]) -> T:
        async with Reader(self.service.settings, listener=self.voice.listener) as reader:
            return await work(reader)

    # -- the lease --------------------------------------------------------------------------------------------------------------------

    @contextmanager
    def leased(self, command: str) -> Iterator[tuple[Store, Journal]]:
        """The state, created where there is none, under a lease."""
        with leased(self.operation, self.voice, self.project, self.service, command=command) as (store, journal):
            yield store, journal
