"""The journal of one run, and the bindings that change with it.

In: intents before, outcomes after each request. Out: transactions, each durable before its method returns; or StateError, and nothing
written. Forbidden: sending; deciding; writing without the lease.

The premise: a program can be killed between any two instructions, and a service cannot be asked whether it got a request. So what is about
to be sent is on the disk before it is sent, and what came of it is on the disk before anything is built on it:

        commit the intent  --->  send the request  --->  commit the ending
      A                    B                        C                      D

A kill leaves, for the next run:

    at A    nothing. The request was not sent, and the next plan has it again.
    at B    an open intent, and no effect. Recovery finds no object, waits until the request can no longer arrive, and closes the intent.
    at C    an open intent, and the effect. Recovery finds the object by what the intent says about it, and tracks it: nothing is created
            twice. Where it cannot tell B from C, the intent stays open, the address waits, and everything else continues.
    at D    an outcome, with every binding that follows from it: they are one transaction, so there is no outcome without its bindings.

An intent is open from its commit to its ending; `open_intents` lists those of all runs. "in-doubt" is an ending that leaves it open: the
run knows that it does not know. Nothing in the journal is ever changed or deleted, so it is the history too.

Three things are kept in memory, and each is only a shortcut that the database would confirm: lists of ids that are stored already, intents
that this run opened, and bindings that this run has written. Any failure, and any write but outcomes, empties them.

What cannot be written ends the run: after the first failure no intent is accepted, because its request could not be remembered. Endings are
still tried, and kept beside the project (`unsaved`) where the database stays away: their requests have been sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from shlex import quote
from typing import Any, Final, TypeVar

from reconciler.address import Address
from reconciler.errors import StateError
from reconciler.model import Binding, Consent, Intent, Position, Rules, State
from reconciler.model.state import IntentEnding
from reconciler.state.connection import Connection
from reconciler.state.database import Database
from reconciler.state.errors import CONTRADICTION
from reconciler.state.history import PUSH, bound, turned, write_consents, write_state_changes
from reconciler.state.lease import Lease
from reconciler.state.reading import read_state
from reconciler.state.tables import rows
from reconciler.state.tables.rows import after, read_renames, write_renames, write_rules
from reconciler.state.tables.schema import insert
from reconciler.state.tables.values import plain, to_json, to_json_or_null
from reconciler.state.transfer import Document, rename_state, replace_state
from reconciler.state.unsaved import Spare, save_or_warn

# Where a binding is, in the statements that change one.
_HERE: Final = "WHERE state = :state AND address = :address"

T = TypeVar("T")

_Fields = tuple[Address, Mapping[str, Any], Mapping[str, Any]]
"""Fields of a binding: what was sent and what was seen."""


class Journal:
    """What a run writes while it has the lease. `run` is its id.

    Every method is one transaction, which checks the lease. When it returns, its data survives a power cut; when it raises StateError,
    nothing was written. Each raises the state's serial, so that a document which was pulled before it is older; a push's own record of its
    run does not, because the state is what was pushed. `spare`: where outcomes are kept that the database cannot store. `lag`: how long a
    list may not show what was written. `renames`: the lease of the state whose name this one gets.
    """

    def __init__(
        self,
        database: Database,
        state: int,
        lease: Lease,
        *,
        clock: Callable[[], datetime],
        spare: Spare | None,
        lag: timedelta,
        renames: Lease | None = None,
    ) -> None:
        self._database = database
        self._state = state
        self._lease = lease
        self._clock = clock
        self._listed: dict[frozenset[str], str] = {}  # digests of what `known` has from us
        self._open: set[int] = set()  # intents of this run without an outcome
        self._stored: dict[Address, Binding] = {}  # bindings that the database has exactly so: nothing but outcomes was written since
        self._spare = spare
        self._lag = lag
        self._renames = renames
        self._failed: StateError | None = None
        self._held: frozenset[tuple[str, Address | None]] = frozenset()
        self._summary: dict[str, Any] = {}  # keys of the summary of this run
        self._recorded = 0  # objects of which other values were recorded, without a request
        self.run: str = lease.holder.run

    def intend(self, intents: Sequence[Intent]) -> tuple[Intent, ...]:
        """Record what is about to be sent; returns the same intents with this run's id and their own.

        Once anything could not be written, it raises the same error again, whether or not the database has recovered.
        """
        return self.commit(intents, ())

    def settle(self, endings: Sequence[IntentEnding]) -> None:
        """Record how intents ended, and everything that follows from it; raises StateError for one that is not open.

        What cannot be written is kept beside the project, for the next run; the error says where, and this run sends nothing more.
        """
        self.commit((), endings)

    def commit(self, intents: Sequence[Intent], endings: Sequence[IntentEnding]) -> tuple[Intent, ...]:
        """`intend` and `settle` in one transaction. After a failure only the endings are tried, and the first error is raised again."""
        failed = self._failed if intents else None
        numbered: tuple[Intent, ...] = ()
        if endings or (intents and failed is None):
            try:
                numbered = self._commit(() if failed else intents, endings)
            except StateError as error:
                failure = save_or_warn(self._spare, self.run, endings, error)
                self._failed = self._failed or failure
                if failure is error:
                    raise
                raise failure from error
        if failed is not None:
            raise failed
        return numbered

    def _commit(self, intents: Sequence[Intent], endings: Sequence[IntentEnding]) -> tuple[Intent, ...]:
        stored = self._stored
        try:
            with self._writing() as connection:
                numbered = self._intend(connection, intents)
                self._settle(connection, endings, stored)
        except BaseException as error:
            self._listed = {}
            # The keys of the tables refuse a clash, which costs nothing. Only then it is looked for, to name both addresses.
            if isinstance(error, StateError) and error.id == CONTRADICTION:
                new = {binding.address: binding for ending in endings for binding in ending.bind}
                leaving = {address for ending in endings for address in ending.forget}
                self._database.read(lambda connection: rows.refuse_clashes(connection, self._state, new.values(), leaving))
            raise
        self._stored = stored
        self._open |= {intent.id for intent in numbered}
        self._open -= {ending.intent for ending in endings}
        return numbered

    def _intend(self, connection: Connection, intents: Sequence[Intent]) -> tuple[Intent, ...]:
        if not intents:
            return ()
        lists = {ids: rows.known_row(ids, "a list of ids") for ids in {intent.known for intent in intents} if ids not in self._listed}
        connection.run_all(
            f"{insert('known')} ON CONFLICT DO NOTHING",
            [{"state": self._state, "digest": digest, "ids": text} for digest, text in lists.values()],
        )
        self._listed |= {ids: digest for ids, (digest, _) in lists.items()}
        # The lease makes this run the only one that numbers intents. The numbers are read again each time: another journal may have this
        # lease too, as `state mv` does.
        last = connection.value("SELECT max(id) FROM journal WHERE state = :state", state=self._state) or 0
        numbered = tuple(replace(intent, id=last + index, run=self.run) for index, intent in enumerate(intents, 1))
        at = self.now()
        connection.run_all(
            insert("journal"), [rows.intent_row(self._state, intent, at=at, known=self._listed[intent.known]) for intent in numbered]
        )
        connection.run_all(insert("open_intents"), [{"state": self._state, "intent": intent.id} for intent in numbered])
        befores = [row for intent in numbered if (row := rows.before_row(self._state, intent)) is not None]
        connection.run_all(insert("befores"), befores)
        return numbered

    def unsaved_endings(self) -> tuple[tuple[str, IntentEnding], ...]:
        """What earlier runs kept beside the project, with the id of the run: endings whose bindings have no values."""
        return self._spare.unsaved_endings() if self._spare is not None else ()

    def discard_unsaved_endings(self) -> None:
        """Remove what `unsaved_endings` has read."""
        if self._spare is not None:
            self._spare.discard()

    def hold(self, kind: str, container: Address | None) -> None:
        """Prevent this run from creating anything of that kind there; recorded in `State.held`."""
        self._held |= {(kind, container)}

    def _settle(self, connection: Connection, endings: Sequence[IntentEnding], stored: dict[Address, Binding]) -> None:
        """Record how intents ended. `stored`: the content of `_stored`, before and after."""
        if not endings:
            return
        self._check_open(connection, endings)
        at = self.now()
        # The database numbers outcomes: by their numbers a later one of the same intent wins.
        connection.run_all(insert("outcomes", "id"), [self._outcome(ending, at) for ending in endings])
        connection.run_all(
            insert("afters"), [rows.after_row(self._state, ending.intent, ending.after) for ending in endings if ending.after]
        )
        connection.run_all(
            "DELETE FROM open_intents WHERE state = :state AND intent = :intent",
            [{"state": self._state, "intent": ending.intent} for ending in endings if ending.status != "in-doubt"],
        )
        forget = [address for ending in endings for address in ending.forget]
        renames = [ending.rename for ending in endings if ending.rename]
        bind = [binding for ending in endings for binding in ending.bind]
        seen: list[_Fields] = [(address, {}, shown) for ending in endings for address, shown in ending.seen.items()]
        # Forget, then rename, then bind: an ending may give an address that it frees to another object.
        rows.unbind(connection, self._state, forget)
        self._carry(renames, connection)
        for address in [*stored] if renames else forget:
            stored.pop(address, None)
        rows.bind(connection, self._state, bind, stored)
        stored.update((binding.address, binding) for binding in bind)
        self._merge(connection, seen)
        for address, *_ in seen:
            stored.pop(address, None)

    def _carry(self, renames: Sequence[Mapping[Address, Address]], connection: Connection) -> None:
        """Give what was transferred its new addresses, and record that the lines of the YAML for that are done.

        A transfer back removes the record of the line that it reverses.
        """
        before = bound(connection, self._state) if renames else {}
        for rename in renames:
            self._rename(connection, rename)
            known = read_renames(connection, self._state)
            lines = {old: new for old, new in rename.items() if known.get(new) != old}
            write_renames(connection, self._state, {**after(known, rename), **lines})
        if renames:
            write_state_changes(connection, self._state, turned(before, bound(connection, self._state)), run=self.run, at=self.now())

    def remember(
        self,
        *,
        bind: Iterable[Binding] = (),
        forget: Iterable[Address] = (),
        places: Mapping[Address, Position] = {},
        rename: Mapping[Address, Address] = {},
        protect: Mapping[Address, bool] = {},
        fulfilled: Mapping[Address, Address] | None = None,
    ) -> None:
        """Change bindings without a request: forget, then rename, then bind, then place and protect. The changes are recorded as
        `StateChange`.

        `rename` names every address, those below a renamed one too, and may swap; places under a renamed address follow. Untracked
        addresses are skipped. `fulfilled`: the renames of the YAML that are done then; without it, recorded ones follow what is renamed,
        and one that is reverted is forgotten.
        """
        forget, bind = list(forget), list(bind)
        with self._writing() as connection:
            before = bound(connection, self._state) if forget or bind or rename or protect else {}
            rows.unbind(connection, self._state, forget)
            self._rename(connection, rename)
            if fulfilled is not None or rename:
                known = read_renames(connection, self._state) if fulfilled is None else fulfilled
                write_renames(connection, self._state, after(known, rename) if fulfilled is None else known)
            rows.refuse_clashes(connection, self._state, {binding.address: binding for binding in bind}.values())
            rows.bind(connection, self._state, bind)
            positions = [
                {"state": self._state, "address": str(address), "parent": rows.parent_text(place), "index": place.index}
                for address, place in places.items()
            ]
            connection.run_all(f"UPDATE bindings SET place_parent = :parent, place_index = :index {_HERE}", positions)
            flags = [{"state": self._state, "address": str(address), "protected": value} for address, value in protect.items()]
            connection.run_all(f"UPDATE bindings SET protected = :protected {_HERE}", flags)
            state_changes = tuple(turned(before, bound(connection, self._state))) if forget or bind or rename or protect else ()
            if state_changes:
                write_state_changes(connection, self._state, state_changes, run=self.run, at=self.now())
        changed = {(state_change.kind, state_change.id) for state_change in state_changes}
        self._recorded += sum(1 for binding in bind if binding.key not in changed)

    def remember_rules(self, rules: Rules) -> None:
        """Record the rules under which the project was applied."""
        with self._writing() as connection:
            write_rules(connection, self._state, rules)

    def replace(self, document: Document, *, force: bool = False) -> None:
        """Put a checked document of a whole state where this one is, with its serial; raises `Refused` where that would lose something."""
        with self._writing(raises=False) as connection:
            replace_state(connection, self._state, document, by=self.run, force=force)

    def rename(self) -> None:
        """Give this state the name of the one whose lease it holds too; raises `Refused` where that would lose something."""
        assert self._renames is not None
        with self._writing() as connection:
            self._renames.check(connection)
            rename_state(connection, self._state, self._renames.state, by=self._renames.holder.run)

    def note(self, address: Address, *, sent: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
        """Merge fields into a binding; UNSET removes a field's value. Raises StateError for an untracked address."""
        with self._writing() as connection:
            self._merge(connection, [(address, sent, seen)])

    def note_seen(self, seen: Mapping[Address, Mapping[str, Any]]) -> None:
        """Merge what was seen into bindings, all of them in one transaction; nothing where nothing was."""
        changes: list[_Fields] = [(address, {}, seen[address]) for address in seen if seen[address]]
        if changes:
            with self._writing() as connection:
                self._merge(connection, changes)

    def carry_out(self, plan: str) -> None:
        """Record that this run carries out the saved plan with this digest."""
        with self._writing() as connection:
            connection.run(insert("approvals"), state=self._state, run=self.run, digest=plan)

    def consented(self, consents: Collection[Consent]) -> None:
        """Record what this run is allowed to open, before its first request; the serial does not change, since no document has it."""
        with self._writing(raises=False) as connection:
            write_consents(connection, self._state, self.run, consents)

    def stored(self, work: Callable[[Connection, int], T]) -> T | None:
        """What `work` reads of this state."""
        return self._database.read(lambda connection: work(connection, self._state))

    def store(self, work: Callable[[Connection, int], T], *, raises: bool = True) -> T:
        """What `work` returns, which writes to tables that no binding depends on, in a transaction. `raises`: whether the serial grows."""
        with self._writing(raises=raises) as connection:
            return work(connection, self._state)

    def add_to_summary(self, what: Mapping[str, Any]) -> None:
        """Let this run keep something in its summary, from now on and when it has ended; nothing: it need not when it ends."""
        self._summary = dict(what)
        if what:
            with self._writing(raises=False) as connection:
                statement = "UPDATE runs SET summary = :text WHERE state = :state AND id = :run"
                connection.run(statement, state=self._state, run=self.run, text=to_json(self._summary, "the summary"))

    def finish(self, *, exit_code: int, summary: Mapping[str, Any]) -> None:
        """Record how this run ended; a run without this was killed. `summary`: of its outcome."""
        recorded = {"recorded": self._recorded} if self._recorded else {}
        text = to_json({**summary, **recorded, **self._summary}, "the summary")
        ended = "UPDATE runs SET ended = :ended, exit_code = :code, summary = :summary WHERE id = :run"
        with self._writing(raises=self._lease.holder.command != PUSH) as connection:
            connection.run(ended, ended=self.now(), code=exit_code, summary=text, run=self.run)

    def open_intents(self) -> tuple[Intent, ...]:
        """The requests of all runs whose outcome is not known, oldest first."""
        return self._database.read(lambda connection: rows.read_intents(connection, self._state)) or ()

    def state(self) -> State:
        """The state as it is now."""
        state = self._database.read(lambda connection: read_state(connection, self._state, self._lag, self._clock(), by=self.run))
        assert state is not None  # a lease is held on a state that exists
        return replace(state, held=self._held)

    @contextmanager
    def _writing(self, *, raises: bool = True) -> Iterator[Connection]:
        """A transaction under the lease. `raises`: whether the serial grows."""
        self._stored = {}
        with self._database.write() as connection:
            self._lease.check(connection)
            if raises:
                raise_serial = "UPDATE states SET serial = serial + 1, writer = :run WHERE id = :state"
                connection.run(raise_serial, state=self._state, run=self.run)
            yield connection

    def now(self) -> str:
        """The time of this machine, as rows have it."""
        return self._clock().isoformat()

    def _check_open(self, connection: Connection, endings: Sequence[IntentEnding]) -> None:
        waiting = {ending.intent for ending in endings}
        if len(waiting) < len(endings):
            raise StateError(
                "one intent cannot end twice", id="RC-journal-defect", hint="This is a defect of Reconciler, please report it."
            )
        waiting -= self._open
        if waiting:
            query = "SELECT intent FROM open_intents WHERE state = :state AND intent IN :intents"
            waiting -= {row.intent for row in connection.rows(query, state=self._state, intents=sorted(waiting))}
        if waiting:
            wrong = f"intent {min(waiting)} is not open in this state"
            raise StateError(wrong, id="RC-intent-not-open", hint="Run `reconciler plan` to see what is in doubt.")

    def _outcome(self, ending: IntentEnding, at: str) -> dict[str, Any]:
        return {
            "state": self._state,
            "intent": ending.intent,
            "at": at,
            "run": self.run,
            "status": ending.status,
            "error": None if ending.error is None else plain(ending.error),
            "bound": to_json({str(binding.address): binding.id for binding in ending.bind}, "an outcome"),
            "forgotten": to_json([str(address) for address in ending.forget], "an outcome"),
        }

    def _merge(self, connection: Connection, changes: Collection[_Fields]) -> None:
        """Write only the columns that are named, so that a field seen keeps what was sent."""
        self._check_bound(connection, {str(address) for address, sent, seen in changes if sent or seen})
        for column in ("sent", "seen"):
            merged = {
                (str(address), name): value
                for address, sent, seen in changes
                for name, value in (sent if column == "sent" else seen).items()
            }
            connection.run_all(
                f"INSERT INTO fields (state, address, name, {column}) VALUES (:state, :address, :name, :value)"
                f" ON CONFLICT (state, address, name) DO UPDATE SET {column} = excluded.{column}",
                [
                    {"state": self._state, "address": at, "name": name, "value": to_json_or_null(value, f"{name!r} of {at}")}
                    for (at, name), value in merged.items()
                ],
            )

    def _check_bound(self, connection: Connection, addresses: set[str]) -> None:
        missing = addresses - self._tracked(connection, addresses)
        if missing:
            wrong = f"{min(missing)} is not tracked, so nothing can be recorded for it"
            raise StateError(wrong, id="RC-not-tracked", hint="Track it with `reconciler adopt ADDRESS ID`.")

    def _rename(self, connection: Connection, rename: Mapping[Address, Address]) -> None:
        """Rename in two passes, through names that no address can have, so that chains and swaps do not collide."""
        moves = [(str(old), f"~{number}", str(new)) for number, (old, new) in enumerate(rename.items()) if old != new]
        if not moves:
            return
        aside = [{"state": self._state, "address": old, "new": between} for old, between, _ in moves]
        back = [{"state": self._state, "address": between, "new": new} for _, between, new in moves]
        move = f"UPDATE bindings SET address = :new {_HERE}"
        connection.run_all(move, aside)
        if taken := self._tracked(connection, {new for _, _, new in moves}):
            wrong = f"something cannot be renamed to {min(taken)}: that address is already tracked"
            raise StateError(wrong, id="RC-already-tracked", hint=f"Run `reconciler state forget {quote(min(taken))}` first.")
        connection.run_all(move, back)
        for step in (aside, back):
            connection.run_all("UPDATE bindings SET place_parent = :new WHERE state = :state AND place_parent = :address", step)

    def _tracked(self, connection: Connection, addresses: Collection[str]) -> set[str]:
        """Those of these addresses that are tracked."""
        query = "SELECT address FROM bindings WHERE state = :state AND address IN :addresses"
        return {row.address for row in connection.rows(query, state=self._state, addresses=sorted(addresses))}
