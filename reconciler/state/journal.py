"""The journal of one run, and the bindings that change with it.

In: intents before, outcomes after each request. Out: transactions, each durable before its method returns; or StateError, and nothing
written. Forbidden: sending; deciding; writing without the lease.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from shlex import quote
from typing import Any, Final

from sqlalchemy import Connection, bindparam, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from reconciler.address import Address
from reconciler.errors import StateError
from reconciler.model import Binding, Consent, Intent, Rules, SiblingPlace, State
from reconciler.state.database import Database
from reconciler.state.ending import IntentEnding
from reconciler.state.lease import Lease
from reconciler.state.reading import read_state
from reconciler.state.tables import rows, values
from reconciler.state.tables.renames import after, read_renames, write_renames
from reconciler.state.tables.rules import write_rules
from reconciler.state.tables.schema import approvals, bindings, fields, open_intents, runs, states
from reconciler.state.tables.statements import ADD_AFTER, ADD_BEFORE, ADD_INTENT, ADD_KNOWN, ADD_OPEN, ADD_OUTCOME, CLOSE, LAST_INTENT
from reconciler.state.tables.turns import bound, turned, write_turns
from reconciler.state.transfer import push, rename_project
from reconciler.state.transfer.push import Document
from reconciler.state.unfinished import write_consents
from reconciler.state.unsaved import Spare, save_or_warn

_RAISE_SERIAL: Final = (
    update(states)
    .where(states.c.id == bindparam("of"), or_(states.c.writer.is_(None), states.c.writer != bindparam("by")))
    .values(serial=states.c.serial + 1, writer=bindparam("by"))
)
_OPEN: Final = select(open_intents.c.intent).where(
    open_intents.c.state == bindparam("of"), open_intents.c.intent.in_(bindparam("ids", expanding=True))
)
_BOUND: Final = select(bindings.c.address).where(
    bindings.c.state == bindparam("of"), bindings.c.address.in_(bindparam("ids", expanding=True))
)

_Fields = tuple[Address, Mapping[str, Any], Mapping[str, Any]]
"""Fields of a binding: what was sent and what was seen."""


class Journal:
    """What a run writes while it has the lease. `run` is its id.

    Every method is one transaction, which checks the lease. When it returns, its data survives a power cut; when it raises StateError,
    nothing was written. The first of a run that changes anything raises the state's serial by one. `spare`: where outcomes are kept that
    the database cannot store. `lag`: how long a list may not show what was written. `renames`: the lease of the state whose name this one
    gets.
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
        self._wrote = False
        self._spare = spare
        self._lag = lag
        self._renames = renames
        self._failed: StateError | None = None
        self._held: frozenset[tuple[str, Address | None]] = frozenset()
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
            with self._noticing():
                try:
                    numbered = self._commit(() if failed else intents, endings)
                except StateError as error:
                    failure = save_or_warn(self._spare, self.run, endings, error)
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
            if isinstance(error.__cause__, IntegrityError):
                self._refuse_clashes(endings)
            raise
        self._stored = stored
        self._open |= {intent.id for intent in numbered}
        self._open -= {ending.intent for ending in endings}
        return numbered

    def _intend(self, connection: Connection, intents: Sequence[Intent]) -> tuple[Intent, ...]:
        if not intents:
            return ()
        lists = {ids: rows.known_row(ids, "a list of ids") for ids in {intent.known for intent in intents} if ids not in self._listed}
        ADD_KNOWN.run_all(connection, [{"state": self._state, "digest": digest, "ids": text} for digest, text in lists.values()])
        self._listed |= {ids: digest for ids, (digest, _) in lists.items()}
        last = LAST_INTENT.run(connection, {"of": self._state}).scalar() or 0
        numbered = tuple(replace(intent, id=last + index, run=self.run) for index, intent in enumerate(intents, 1))
        at = self._now()
        ADD_INTENT.run_all(
            connection, [rows.intent_row(self._state, intent, at=at, known=self._listed[intent.known]) for intent in numbered]
        )
        ADD_OPEN.run_all(connection, [{"state": self._state, "intent": intent.id} for intent in numbered])
        ADD_BEFORE.run_all(connection, [row for intent in numbered if (row := rows.before_row(self._state, intent)) is not None])
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
        at = self._now()
        ADD_OUTCOME.run_all(connection, [self._outcome(ending, at) for ending in endings])
        ADD_AFTER.run_all(connection, [rows.after_row(self._state, ending.intent, ending.after) for ending in endings if ending.after])
        CLOSE.run_all(connection, [{"of": self._state, "at": ending.intent} for ending in endings if ending.status != "in-doubt"])
        forget = [address for ending in endings for address in ending.forget]
        renames = [ending.rename for ending in endings if ending.rename]
        bind = [binding for ending in endings for binding in ending.bind]
        seen: list[_Fields] = [(address, {}, shown) for ending in endings for address, shown in ending.seen.items()]
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
            write_turns(connection, self._state, turned(before, bound(connection, self._state)), run=self.run, at=self._now())

    def _refuse_clashes(self, endings: Sequence[IntentEnding]) -> None:
        """Raise StateError with a sentence about it where the database refused what two addresses would have."""
        new = {binding.address: binding for ending in endings for binding in ending.bind}
        leaving = {address for ending in endings for address in ending.forget}
        self._database.read(lambda connection: rows.refuse_clashes(connection, self._state, new.values(), leaving))

    def remember(
        self,
        *,
        bind: Iterable[Binding] = (),
        forget: Iterable[Address] = (),
        places: Mapping[Address, SiblingPlace] = {},
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
            at = {"of": self._state}
            if places:
                placed = [{**at, "at": str(a), "place_parent": place.parent, "place_index": place.index} for a, place in places.items()]
                columns: dict[Any, Any] = {name: bindparam(name) for name in ("place_parent", "place_index")}
                connection.execute(update(bindings).where(*_here()).values(columns), placed)
            if protect:
                protected = [{**at, "at": str(address), "protected": value} for address, value in protect.items()]
                connection.execute(update(bindings).where(*_here()).values(protected=bindparam("protected")), protected)
            turns = tuple(turned(before, bound(connection, self._state))) if forget or bind or rename or protect else ()
            if turns:
                write_turns(connection, self._state, turns, run=self.run, at=self._now())
        changed = {(turn.kind, turn.id) for turn in turns}
        self._recorded += sum(1 for binding in bind if (binding.kind, binding.id) not in changed)

    def remember_rules(self, rules: Rules) -> None:
        """Record the rules under which the project was applied."""
        with self._writing() as connection:
            write_rules(connection, self._state, rules)

    def replace(self, document: Document, *, force: bool = False) -> None:
        """Put a checked document of a whole state where this one is, with its serial; raises `Refused` where that would lose something."""
        self._stored = {}
        with self._database.write() as connection:
            self._lease.check(connection)
            push.replace(connection, self._state, document, by=self.run, force=force)

    def rename(self) -> None:
        """Give this state the name of the one whose lease it holds too; raises `Refused` where that would lose something."""
        assert self._renames is not None
        with self._writing() as connection:
            self._renames.check(connection)
            rename_project.rename(connection, self._state, self._renames.state, by=self._renames.holder.run)

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
        """Record that this run carries out the saved plan with this digest; the serial does not change."""
        with self._database.write() as connection:
            self._lease.check(connection)
            connection.execute(insert(approvals).values(state=self._state, run=self.run, digest=plan))

    def consented(self, consents: Collection[Consent]) -> None:
        """Record what this run is allowed to open, before its first request; the serial does not change."""
        with self._database.write() as connection:
            self._lease.check(connection)
            write_consents(connection, self._state, self.run, consents)

    def finish(self, *, exit_code: int, summary: Mapping[str, int]) -> None:
        """Record how this run ended; a run without this was killed."""
        recorded = {"recorded": self._recorded} if self._recorded else {}
        text = values.to_json({**summary, **recorded}, "the summary")
        with self._database.write() as connection:
            self._lease.check(connection)
            connection.execute(update(runs).where(runs.c.id == self.run).values(ended=self._now(), exit_code=exit_code, summary=text))

    def open_intents(self) -> tuple[Intent, ...]:
        """The requests of all runs whose outcome is not known, oldest first."""
        return self._database.read(lambda connection: rows.read_intents(connection, self._state)) or ()

    def state(self) -> State:
        """The state as it is now."""
        found = self._database.read(lambda connection: read_state(connection, self._state, self._lag, self._clock(), by=self.run))
        assert found is not None  # a lease is held on a state that exists
        return replace(found, held=self._held)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        try:
            yield
        except StateError as error:
            self._failed = self._failed or error
            raise

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        self._stored = {}
        with self._database.write() as connection:
            self._lease.check(connection)
            if not self._wrote:
                connection.execute(_RAISE_SERIAL, {"of": self._state, "by": self.run})
            yield connection
        self._wrote = True

    def _now(self) -> str:
        return self._clock().isoformat()

    def _check_open(self, connection: Connection, endings: Sequence[IntentEnding]) -> None:
        waiting = {ending.intent for ending in endings}
        if len(waiting) < len(endings):
            raise StateError(
                "one intent cannot end twice", id="RC-journal-defect", hint="This is a defect of Reconciler, please report it."
            )
        waiting -= self._open
        for ids in rows.chunks(sorted(waiting)):
            waiting -= set(connection.execute(_OPEN, {"of": self._state, "ids": ids}).scalars())
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
            "error": None if ending.error is None else rows.plain(ending.error),
            "bound": values.to_json({str(binding.address): binding.id for binding in ending.bind}, "an outcome"),
            "forgotten": values.to_json([str(address) for address in ending.forget], "an outcome"),
        }

    def _merge(self, connection: Connection, listed: Collection[_Fields]) -> None:
        """Write only the columns that are named, so that a field seen keeps what was sent."""
        self._check_bound(connection, {str(address) for address, sent, seen in listed if sent or seen})
        for column in ("sent", "seen"):
            merged = {
                (str(address), name): value
                for address, sent, seen in listed
                for name, value in (sent if column == "sent" else seen).items()
            }
            if merged:
                add = rows.inserting(connection)(fields)
                add = add.on_conflict_do_update(index_elements=["state", "address", "name"], set_={column: add.excluded[column]})
                connection.execute(
                    add,
                    [
                        {"state": self._state, "address": at, "name": name, column: values.to_json_or_null(value, f"{name!r} of {at}")}
                        for (at, name), value in merged.items()
                    ],
                )

    def _check_bound(self, connection: Connection, addresses: set[str]) -> None:
        missing = set(addresses)
        for some in rows.chunks(sorted(addresses)):
            missing -= set(connection.execute(_BOUND, {"of": self._state, "ids": some}).scalars())
        if missing:
            wrong = f"{min(missing)} is not tracked, so nothing can be recorded for it"
            raise StateError(wrong, id="RC-not-tracked", hint="Track it with `reconciler adopt ADDRESS ID`.")

    def _rename(self, connection: Connection, rename: Mapping[Address, Address]) -> None:
        """Rename in two passes, through names that no address can have, so that chains and swaps do not collide."""
        moves = [(str(old), f"~{number}", str(new)) for number, (old, new) in enumerate(rename.items()) if old != new]
        if not moves:
            return
        aside = [{"of": self._state, "at": old, "to": between} for old, between, _ in moves]
        back = [{"of": self._state, "at": between, "to": new} for _, between, new in moves]
        under = (bindings.c.state == bindparam("of"), bindings.c.place_parent == bindparam("at"))
        connection.execute(update(bindings).where(*_here()).values(address=bindparam("to")), aside)
        for some in rows.chunks([new for _, _, new in moves]):
            if taken := connection.execute(_BOUND, {"of": self._state, "ids": some}).scalars().first():
                wrong = f"something cannot be renamed to {taken}: that address is already tracked"
                raise StateError(wrong, id="RC-already-tracked", hint=f"Run `reconciler state forget {quote(taken)}` first.")
        connection.execute(update(bindings).where(*_here()).values(address=bindparam("to")), back)
        for pass_ in (aside, back):
            connection.execute(update(bindings).where(*under).values(place_parent=bindparam("to")), pass_)


def _here() -> tuple[Any, Any]:
    return bindings.c.state == bindparam("of"), bindings.c.address == bindparam("at")
