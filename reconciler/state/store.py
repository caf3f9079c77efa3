"""The store: one scope's state in a database, to read, or to write under the lease.

In: a URL and a scope. Out: `State`, or a `Journal`. Forbidden: writing anything when opened without `create`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar
from uuid import uuid4

from reconciler.address import Address
from reconciler.errors import Refused, StateError
from reconciler.model import JournalEntry, RecordedRun, State, StateChange
from reconciler.model.state import SiteRun, StateScope
from reconciler.report.schemas.state import StateDocument
from reconciler.state.bucket.objects import Objects
from reconciler.state.connection import Connection
from reconciler.state.database import Database, connect
from reconciler.state.errors import again
from reconciler.state.history import (
    read_entries,
    read_ids,
    read_later,
    read_recorded_by,
    read_runs,
    read_site_runs,
    read_state_changes,
    read_undos,
    read_users,
    read_verified,
)
from reconciler.state.journal import Journal
from reconciler.state.lease import (
    LEASE_SECONDS,
    Condition,
    Holder,
    Lease,
    Uninterrupted,
    file_holder,
    lock_file,
    row_holder,
    writable,
)
from reconciler.state.reading import (
    find,
    former,
    has_seen,
    projects_of,
    read_addresses,
    read_commands,
    read_last_known,
    read_others,
    read_state,
    read_tracking,
)
from reconciler.state.sqlite import SqliteFile
from reconciler.state.tables.values import plain
from reconciler.state.transfer import Document, checked, pulled
from reconciler.state.unsaved import Spare

DIGEST_KEY_BYTES: Final = 32

T = TypeVar("T")

__all__ = ["StateScope", "Store"]


class Store:
    """One scope's state. Open it with `open`, and close it, or use it in a `with` block."""

    def __init__(
        self,
        database: Database,
        scope: StateScope,
        *,
        clock: Callable[[], datetime],
        create: bool,
        beside: Path | None = None,
        lag: float = 0.0,
        uninterrupted: Uninterrupted = nullcontext,
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._create = create
        self._beside = beside
        self._lag = timedelta(seconds=lag)
        self._uninterrupted = uninterrupted
        self._spare_key = secrets.token_bytes(DIGEST_KEY_BYTES)

    @classmethod
    def open(
        cls,
        url: str | Objects,
        scope: StateScope,
        *,
        clock: Callable[[], datetime],
        create: bool,
        beside: Path | None = None,
        lag: float = 0.0,
        uninterrupted: Uninterrupted = nullcontext,
    ) -> Store:
        """Open the state at `url`, or the one that these objects are; without `create`, a missing state reads as empty, and nothing is
        written, created or migrated.

        `beside`: the folder for outcomes that the database cannot store; None: they are not kept. `lag`: seconds for which a list of the
        service may not show what was written. `uninterrupted`: a block in which signals wait, for taking and giving back a lease: a person
        waits for it, so it is short. Raises StateError, with a hint, where it cannot be opened.
        """
        database = connect(url, create=create)
        store = cls(database, scope, clock=clock, create=create, beside=beside, lag=lag, uninterrupted=uninterrupted)
        if create:
            try:
                store._make_state()
            except BaseException:
                database.close()
                raise
        return store

    def stored(self, work: Callable[[Connection, int], T]) -> T | None:
        """What `work` reads of this scope's row; None where there is no row, or no database."""

        def on_row(connection: Connection) -> T | None:
            row = find(connection, self._scope)
            return None if row is None else work(connection, row.id)

        return self._database.read(on_row)

    def read(self) -> State:
        """The state as it is, without a lock, also while another run writes it; lineage "" and serial 0 where there is none."""

        def work(connection: Connection) -> State:
            row = find(connection, self._scope)
            if row is not None:
                return read_state(connection, row.id, self._lag, self._clock())
            others = read_others(connection, self._scope)
            foreign, projects = frozenset((row.kind, row.id) for row in others), projects_of(others, self._scope)
            return State("", 0, foreign=foreign, former=former(others, self._scope, ()), projects=projects)

        return self._database.read(work) or State("", 0)

    def site_runs(self, site: Address) -> tuple[SiteRun, ...]:
        """The runs that changed a site, or saw its URLs begin or end, newest first."""
        return self.stored(lambda connection, state: read_site_runs(connection, state, str(site))) or ()

    def seen(self) -> bool:
        """Whether this state was ever used for the project: whether any run tracked, sent or recorded anything in it."""
        return self.stored(has_seen) or False

    def tracking(self) -> tuple[tuple[StateScope, int], ...]:
        """The states in the same database that track resources, and how many; those on the same service first."""
        return self._database.read(lambda connection: read_tracking(connection, self._scope.service)) or ()

    def runs(self) -> tuple[RecordedRun, ...]:
        """Every run of this state, newest first. One without an end is `running` where it holds the state, and was killed where not."""
        runs = self.stored(read_runs) or ()
        if all(run.exit_code is not None for run in runs):
            return runs
        condition = self.condition()
        holder = condition.holder.run if condition.held and condition.holder is not None else None
        runs = self.stored(read_runs) or ()  # read again: a run may have ended before the holder was read
        return tuple(replace(run, running=run.exit_code is None and run.id == holder) for run in runs)

    def verified(self) -> datetime | None:
        """When the newest run began that ended with everything as the project declares it; None where none did."""
        return self.stored(read_verified)

    def users(self, plan: str) -> tuple[RecordedRun, ...]:
        """The runs that carried out the saved plan with this digest, newest first."""
        return self.stored(lambda connection, state: read_users(connection, state, plan)) or ()

    def recorded_by(self, plan: str) -> frozenset[str] | None:
        """The addresses with a request since the saved plan with this digest began to be carried out; None where no run carried it out, or
        where the state was replaced since."""
        return self.stored(lambda connection, state: read_recorded_by(connection, state, plan))

    def undos(self) -> tuple[str, ...]:
        """The runs of `undo` that did something after the last effective `apply`, newest first."""
        return self.stored(read_undos) or ()

    def entries(self, run: str) -> tuple[JournalEntry, ...]:
        """The journal of the run with this id, in the order in which it was sent."""
        return self.stored(lambda connection, state: read_entries(connection, state, run)) or ()

    def state_changes(self, run: str) -> tuple[StateChange, ...]:
        """The changes of bindings without a request by the run with this id."""
        return self.stored(lambda connection, state: read_state_changes(connection, state, run)) or ()

    def later_state_changes(self, run: str) -> tuple[tuple[StateChange, ...], ...]:
        """The same of each run that began after it, in the order in which they ran; first its own after its last request."""
        return self.stored(lambda connection, state: read_later(connection, state, run)) or ()

    def ids(self) -> frozenset[str]:
        """The ids of every object that any run acted on, created, tracked or stopped tracking."""
        return self.stored(read_ids) or frozenset()

    def pull(self) -> StateDocument | None:
        """All of it as one document; None where there is no state yet."""
        return self.stored(pulled)

    def check(self, document: Any) -> Document:
        """The document that was read from a file. Raises `UsageError` where it is not a state of this scope."""
        return checked(document, self._scope)

    def condition(self) -> Condition:
        """The condition of the state; nothing is written, created or migrated. Raises StateError for a state that cannot be read."""
        current, path = self._database.is_current(), self._database.path
        if path is not None:
            held, holder = file_holder(path)
            return Condition(self._database.where, current, writable(path), held, holder, path=path)
        holder, seconds = self._database.read(lambda connection: row_holder(connection, self._scope)) or (None, None)
        return Condition(self._database.where, current, True, holder is not None, holder, seconds)

    def digest_key(self) -> bytes:
        """The key of this state's digests, 32 random bytes; where there is no state yet a random one that this store forgets."""
        row = self._database.read(lambda connection: find(connection, self._scope))
        return self._spare_key if row is None else bytes(row.digest_key)

    @contextmanager
    def lease(self, *, who: str, command: str, run_id: str | None = None, instead_of: str | None = None) -> Iterator[Journal]:
        """Hold the lease during this block; raises Locked at once where another run has it. `run_id`: a uuid4 where not given.

        `instead_of`: take it from the run with that id, on a server; that run can write nothing from then on.
        """
        if not self._create:
            raise StateError(
                "the state was opened for reading only", id="RC-state-read-only", hint="This is a defect of Reconciler, please report it."
            )
        holder = self._holder(who, command, run_id)
        with ExitStack() as held:
            self._lock(held, holder)
            state = self._make_state()
            with self._uninterrupted():  # a lease that is taken is given back
                lease = self._take(held, state, holder, instead_of=instead_of)
            yield Journal(self._database, lease.state, lease, clock=self._clock, spare=self._spare(), lag=self._lag)

    @contextmanager
    def renaming(self, former: StateScope, *, who: str, command: str) -> Iterator[Journal]:
        """Hold the leases of this state and of that of `former`: another project name, another environment, or both, on the same service.

        The journal is that of `former`; `Journal.rename` gives it this scope's names. Raises Locked where another run has either of them.
        """
        holder, other = (self._holder(who, command) for _ in range(2))
        with ExitStack() as held:
            self._lock(held, holder)
            row = self._database.read(lambda connection: find(connection, former))
            if row is None:
                wrong = f"the state was moved in the meantime: nothing is tracked as {former.named} any more"
                raise StateError(wrong, id="RC-state-moved", hint="reconciler state list shows it.")
            mine = self._make_state()
            with self._uninterrupted():
                lease, second = self._take(held, row.id, holder), self._take(held, mine, other)
            held.callback(self._end_unfinished, other.run)
            yield Journal(self._database, row.id, lease, clock=self._clock, spare=None, lag=self._lag, renames=second)

    def _holder(self, who: str, command: str, run_id: str | None = None) -> Holder:
        # A process is named only where it must be on this machine: another machine's number would mislead.
        pid = os.getpid() if self._database.path else None
        return Holder(run_id or str(uuid4()), plain(who), plain(command), self._clock().isoformat(), pid)

    def _lock(self, held: ExitStack, holder: Holder) -> None:
        if self._database.path:
            held.enter_context(lock_file(self._database.path, holder))

    def _take(self, held: ExitStack, state: int, holder: Holder, *, instead_of: str | None = None) -> Lease:
        # The kernel's lock lasts as long as its process. A row of a server or a bucket must expire, because nobody notices a death there.
        seconds = None if self._database.path else LEASE_SECONDS
        lease = Lease(self._database, state, holder, seconds=seconds, instead_of=instead_of)
        held.enter_context(lease.keep_alive(self._uninterrupted))
        return lease

    def _end_unfinished(self, run: str) -> None:
        """Record that a run ended where nothing else does: its state was not moved."""
        ended = "UPDATE runs SET ended = :ended, exit_code = :code WHERE id = :run AND ended IS NULL"
        with suppress(StateError), self._database.write() as connection:
            connection.run(ended, ended=self._clock().isoformat(), code=Refused.exit_code, run=run)

    def _spare(self) -> Spare | None:
        """Where outcomes are kept; created before the first request, because the database may be unreachable when it is needed."""
        row = self._database.read(lambda connection: find(connection, self._scope)) if self._beside is not None else None
        return Spare(self._beside, row.lineage, bytes(row.digest_key)) if self._beside is not None and row is not None else None

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def _make_state(self) -> int:
        """The id of this scope's row, which is created where it is missing, perhaps by another run at the same time."""
        names = {**self._scope.columns, "lineage": str(uuid4()), "digest_key": secrets.token_bytes(DIGEST_KEY_BYTES)}

        def create() -> int:
            with self._database.write() as connection:
                if (row := find(connection, self._scope)) is None:
                    # Two runs may be here at once on a server: the second waits for the row of the first, and then adds none.
                    columns = "project, environment, service, lineage, serial, digest_key"
                    values = ":project, :environment, :service, :lineage, 0, :digest_key"
                    connection.run(f"INSERT INTO states ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING", **names)
                    row = find(connection, self._scope)
                    connection.run("INSERT INTO leases (state, epoch) VALUES (:state, 0) ON CONFLICT DO NOTHING", state=row.id)
                return int(row.id)

        return again(create)


def tracked_addresses(file: Path, project: str, environment: str) -> list[str]:
    """The addresses that the states of a project in a file track, on whichever service; for completion, which asks no service."""
    return SqliteFile(file, create=False).read(lambda connection: read_addresses(connection, project, environment)) or []


def recorded_runs(file: Path, project: str, environment: str) -> list[tuple[str, str, str]]:
    """The id, the command and the begin of each run of the states of a project in a file, newest first."""
    return SqliteFile(file, create=False).read(lambda connection: read_commands(connection, project, environment)) or []


def last_known(file: Path, project: str, environment: str, now: datetime) -> tuple[State, datetime | None, dict[str, list[str]]] | None:
    """What `read_last_known` finds in a file; None where the project has no state there."""
    return SqliteFile(file, create=False).read(lambda connection: read_last_known(connection, project, environment, timedelta(), now))
