"""The runs of a state: what each of them did, with requests and without, and which one the next run continues.

In: a connection inside a transaction. Out: `RecordedRun`, `JournalEntry`, `StateChange` and `Consent`. Forbidden: changing bindings;
deciding what can be undone, or opened.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import Action, Consent, JournalEntry, RecordedRun, StateChange, What, renamed_with_containers
from reconciler.model.state import SiteRun
from reconciler.state.connection import Connection
from reconciler.state.tables.rows import INTENTS, intent_of
from reconciler.state.tables.schema import insert
from reconciler.state.tables.values import DONE, damaged, from_json, mapping, to_json

# -- Changes of bindings without a request -------------------------------------------------------------------------------------------

Bound = Mapping[tuple[str, str], tuple[str, bool]]
"""Address and protection by kind and id."""


def bound(connection: Connection, state: int) -> Bound:
    """The address and protection of every tracked object, by kind and id."""
    rows = connection.rows("SELECT kind, id, address, protected FROM bindings WHERE state = :state", state=state)
    return {(row.kind, row.id): (row.address, bool(row.protected)) for row in rows}


def turned(before: Bound, after: Bound) -> Iterator[StateChange]:
    """The differences between two sets of tracked objects, in the order of addresses."""
    for key, (address, protected) in sorted(before.items(), key=lambda pair: pair[1]):
        if key not in after:
            yield StateChange(What.FORGET, Address.parse(address), *key)
            continue
        now, kept = after[key]
        if now != address:
            yield StateChange(What.RENAME, Address.parse(now), *key, Address.parse(address))
        if kept != protected:
            yield StateChange(What.PROTECT if kept else What.UNPROTECT, Address.parse(now), *key)
    for key, (address, _) in sorted(after.items(), key=lambda pair: pair[1]):
        if key not in before:
            yield StateChange(What.ADOPT, Address.parse(address), *key)


def write_state_changes(connection: Connection, state: int, changes: Iterable[StateChange], *, run: str, at: str) -> None:
    """Append these changes, as made by that run."""
    # The lease makes this run the only writer, so the next number is nobody else's.
    last = connection.value("SELECT max(id) FROM turns WHERE state = :state", state=state) or 0
    rows = [
        {
            "state": state,
            "id": last + number,
            "at": at,
            "run": run,
            "what": change.what.value,
            "address": str(change.address),
            "kind": change.kind,
            "target": change.id,
            "old": None if change.old is None else str(change.old),
        }
        for number, change in enumerate(changes, 1)
    ]
    connection.run_all(insert("turns"), rows)


def read_state_changes(connection: Connection, state: int, run: str) -> tuple[StateChange, ...]:
    """The changes of bindings without a request by a run, in its order."""
    return tuple(map(_turn, connection.rows("SELECT * FROM turns WHERE state = :state AND run = :run ORDER BY id", state=state, run=run)))


def read_later(connection: Connection, state: int, run: str) -> tuple[tuple[StateChange, ...], ...]:
    """The same of each run that began after that one, in the order in which they ran; first its own changes after its last request."""
    runs = connection.rows("SELECT id, started FROM runs WHERE state = :state", state=state)
    turns = connection.rows("SELECT * FROM turns WHERE state = :state ORDER BY id", state=state)
    query = "SELECT at FROM journal WHERE state = :state AND run = :run ORDER BY id DESC LIMIT 1"
    last = connection.value(query, state=state, run=run)
    later: dict[str, list[StateChange]] = {}
    try:
        started = {row.id: datetime.fromisoformat(row.started) for row in runs}
        own_from = datetime.fromisoformat(last) if last is not None else None
        for row in turns:
            own = row.run == run and own_from is not None and datetime.fromisoformat(row.at) > own_from
            if run in started and (own or started[row.run] > started[run]):
                later.setdefault(row.run, []).append(_turn(row))
    except (ValueError, TypeError, KeyError) as error:
        raise damaged("when its runs changed it") from error
    return tuple(map(tuple, later.values()))


def count_state_changes(connection: Connection, state: int) -> Mapping[str, Mapping[str, int]]:
    """The number of changes of each sort, by run. What is renamed with its container does not count."""
    query = "SELECT run, what, count(*) AS number FROM turns WHERE state = :state GROUP BY run, what ORDER BY min(id)"
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for row in connection.rows(query, state=state):
        counts[row.run][row.what] = row.number
    renames: dict[str, dict[Address, Address]] = defaultdict(dict)
    query = "SELECT * FROM turns WHERE state = :state AND what = :what"
    for row in connection.rows(query, state=state, what=What.RENAME.value):
        change = _turn(row)
        if change.old is not None:
            renames[row.run][change.old] = change.address
    for run, renamed in renames.items():
        counts[run][What.RENAME.value] -= len(renamed_with_containers(renamed))
    return counts


def _turn(row: Any) -> StateChange:
    try:
        return StateChange(
            What(row.what), Address.parse(row.address), row.kind, row.target, None if row.old is None else Address.parse(row.old)
        )
    except (TypeError, ValueError) as error:
        raise damaged(f"the change {row.id} of a binding") from error


# -- Runs ----------------------------------------------------------------------------------------------------------------------------

RECORDED: Final = "record"  # what a run did that changed no binding but in the values of its fields
WHAT: Final = "what a run was allowed to open"
BOUND: Final = "what a request changed in the state"
CREATED: Final = Action.CREATE.value
DELETED: Final = Action.DELETE.value
PLANNED: Final = frozenset(action.value for action in Action)
ENDED_WELL: Final = 0  # the exit code of a run that ended well
SENT_NOTHING: Final = (1, 3, 4, 6)  # exit codes
APPLY: Final = "apply"
STATE_COMMANDS: Final = "state "  # beginnings of commands that change only the state
PUSH: Final = "state push"  # the command, as history has it
RECOVER: Final = "recover"  # the command of a run that only finds out what happened to the requests of others, as history has it
SENT_MAX: Final = 2**31 - 1  # beyond the number of any request
RUNS_READ: Final = 100  # how far back to look for a run that sent something


def read_runs(connection: Connection, state: int) -> tuple[RecordedRun, ...]:
    """Every run of a state, newest first."""
    # Of the outcomes of an intent the last one counts: after "in-doubt" a later run may have found out what happened.
    query = (
        "SELECT journal.run, journal.verb, outcomes.status, count(*) AS number FROM journal"
        " LEFT JOIN (SELECT intent, max(id) AS id FROM outcomes WHERE state = :state GROUP BY intent) AS latest"
        " ON latest.intent = journal.id"
        " LEFT JOIN outcomes ON outcomes.id = latest.id"
        " WHERE journal.state = :state GROUP BY journal.run, journal.verb, outcomes.status ORDER BY min(journal.id)"
    )
    did: dict[str, dict[str, int]] = defaultdict(dict)
    undone: dict[str, dict[str, int]] = defaultdict(dict)
    for row in connection.rows(query, state=state):
        counts, word = (did, row.verb) if row.status in DONE else (undone, row.status or "in-doubt")
        counts[row.run][word] = counts[row.run].get(word, 0) + row.number
    turned = count_state_changes(connection, state)
    rows = connection.rows("SELECT * FROM runs WHERE state = :state ORDER BY started DESC, id", state=state)
    runs = [_run(row, did[row.id], undone[row.id], turned.get(row.id, {})) for row in rows]
    # A run that ended recorded what it did. The requests of all others are read, and of no more: a journal can be long.
    untold = [run.id for run in runs if not run.changed and run.did]
    changed = _changed(connection, state, untold) if untold else {}
    return tuple(replace(run, changed=changed[run.id]) if run.id in changed else run for run in runs)


def _changed(connection: Connection, state: int, runs: Sequence[str]) -> dict[str, Counter[str]]:
    """By run, how many addresses it created, updated and so on, as far as its requests show it: what a create needs is part of it."""
    query = (
        "SELECT journal.run, journal.address, journal.verb, outcomes.bound, outcomes.forgotten FROM journal"
        " JOIN outcomes ON outcomes.state = journal.state AND outcomes.intent = journal.id"
        " WHERE journal.state = :state AND journal.run IN :runs AND outcomes.status IN :done ORDER BY outcomes.id"
    )
    verbs: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for row in connection.rows(query, state=state, runs=runs, done=DONE):
        others = mapping(row.bound, BOUND) if row.verb == CREATED else from_json(row.forgotten, BOUND) if row.verb == DELETED else ()
        for address in (row.address, *others):
            verbs[row.run].setdefault(address, set()).add(row.verb)
    return {run: Counter(word for done in some.values() for word in _words(done)) for run, some in verbs.items()}


def _words(verbs: set[str]) -> Iterator[str]:
    """The words of a plan for the requests about one address."""
    if CREATED in verbs:
        yield Action.REPLACE.value if DELETED in verbs else CREATED
    else:
        words = {verb if verb in PLANNED else Action.UPDATE.value for verb in verbs}
        yield from (action.value for action in Action if action.value in words)


def _run(row: Any, did: Mapping[str, int], undone: Mapping[str, int], turned: Mapping[str, int]) -> RecordedRun:
    try:
        ended = None if row.ended is None else datetime.fromisoformat(row.ended)
        summary = mapping(row.summary, "the summary of a run") if row.summary else {}
        turned = turned or ({} if did or undone else _recorded(summary))
        started, planned = datetime.fromisoformat(row.started), _numbers(summary.get("actions"))
        changed = {word: planned[word] for word in map(str, Action) if word in planned}
        return RecordedRun(row.id, row.who, row.command, started, ended, row.exit_code, did, undone, turned, changed=changed)
    except (TypeError, ValueError) as error:
        raise damaged(f"the run {row.id!r}") from error


def _recorded(summary: Mapping[str, Any]) -> dict[str, int]:
    """By what they are, the changes of the state of a run that only recorded values which the service had already."""
    return _numbers({RECORDED: summary.get("recorded")})


def _numbers(value: Any) -> dict[str, int]:
    """The numbers of a summary by their words; none in that of an older version."""
    return {word: number for word, number in value.items() if isinstance(number, int)} if isinstance(value, dict) else {}


def read_site_runs(connection: Connection, state: int, site: str) -> tuple[SiteRun, ...]:
    """The runs that changed a site, or saw its URLs begin or end, newest first. `site`: an address."""
    begun = "SELECT run, min(since) AS at, count(*) AS number FROM urls WHERE site = :site AND +state = :state GROUP BY run"
    ended = (
        "SELECT ender AS run, min(ended) AS at, count(*) AS number FROM urls WHERE site = :site AND +state = :state AND ended IS NOT NULL"
        " GROUP BY ender"
    )
    urls = [{row.run: row for row in connection.rows(query, state=state, site=site)} for query in (begun, ended)]
    query = (
        "SELECT journal.run, journal.verb, count(DISTINCT journal.id) AS number FROM journal"
        " JOIN outcomes ON outcomes.state = journal.state AND outcomes.intent = journal.id"
        " WHERE journal.state = :state AND outcomes.status IN :done"
        " AND (journal.address = :site OR substr(journal.address, 1, :length) = :below)"
        " GROUP BY journal.run, journal.verb ORDER BY min(journal.id)"
    )
    changed: dict[str, dict[str, int]] = defaultdict(dict)
    below = f"{site}/"
    for row in connection.rows(query, state=state, done=DONE, site=site, below=below, length=len(below)):
        changed[row.run][row.verb] = row.number
    rows = connection.rows("SELECT * FROM runs WHERE state = :state ORDER BY started, id", state=state)
    runs, live = [], 0
    for row in rows:
        first, last = (some.get(row.id) for some in urls)
        if first is None and last is None and row.id not in changed:
            continue
        began, over = (line.number if line is not None else 0 for line in (first, last))
        live += began - over
        summary = mapping(row.summary, "the summary of a run") if row.summary else {}
        commit = summary.get("commit")
        at = datetime.fromisoformat(next((line.at for line in (first, last) if line is not None), row.started))
        known = commit if isinstance(commit, str) else None
        runs.append(SiteRun(row.id, at, row.who, row.command, known, changed[row.id], began, over, live))
    return tuple(reversed(runs))


def read_undos(connection: Connection, state: int) -> tuple[str, ...]:
    """The runs of `undo` that did something after the last effective `apply`, newest first."""
    query = (
        "SELECT id, command FROM runs WHERE state = :state AND (command LIKE 'undo%' OR command LIKE 'apply%')"
        " AND (EXISTS (SELECT 1 FROM journal WHERE journal.state = runs.state AND journal.run = runs.id)"
        " OR EXISTS (SELECT 1 FROM turns WHERE turns.state = runs.state AND turns.run = runs.id))"
        " ORDER BY started DESC, id"
    )
    return tuple(row.id for row in takewhile(lambda row: row.command.startswith("undo"), connection.rows(query, state=state)))


def read_entries(connection: Connection, state: int, run: str) -> tuple[JournalEntry, ...]:
    """The journal of a run, in the order in which it was sent; a later run may have found out how a request ended."""
    query = (
        "SELECT outcomes.*, afters.value AS after FROM outcomes"
        " JOIN journal ON journal.state = outcomes.state AND journal.id = outcomes.intent"
        " LEFT JOIN afters ON afters.state = outcomes.state AND afters.intent = outcomes.intent"
        " WHERE outcomes.state = :state AND journal.run = :run ORDER BY outcomes.id"
    )
    latest = {row.intent: row for row in connection.rows(query, state=state, run=run)}
    lists: dict[str, frozenset[str]] = {}
    rows = connection.rows(f"{INTENTS} WHERE journal.state = :state AND journal.run = :run ORDER BY journal.id", state=state, run=run)
    return tuple(_entry(row, latest.get(row.id), lists) for row in rows)


def _entry(row: Any, outcome: Any, lists: dict[str, frozenset[str]]) -> JournalEntry:
    intent, at, what = intent_of(row, lists), datetime.fromisoformat(row.at), f"the outcome of intent {row.id}"
    if outcome is None:
        return JournalEntry(intent, at, "in-doubt")
    try:
        after = {} if outcome.after is None else from_json(outcome.after, what)
        return JournalEntry(
            intent,
            at,
            outcome.status,
            outcome.error,
            {Address.parse(address): id for address, id in from_json(outcome.bound, what).items()},
            tuple(Address.parse(address) for address in from_json(outcome.forgotten, what)),
            {Address.parse(address): seen for address, seen in after.items()},
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise damaged(what) from error


def read_users(connection: Connection, state: int, plan: str) -> tuple[RecordedRun, ...]:
    """The runs that carried out the saved plan with this digest, newest first."""
    rows = connection.rows("SELECT run FROM approvals WHERE state = :state AND digest = :plan", state=state, plan=plan)
    ids = {row.run for row in rows}
    return tuple(run for run in read_runs(connection, state) if run.id in ids) if ids else ()


def read_recorded_by(connection: Connection, state: int, plan: str) -> frozenset[str] | None:
    """The addresses with a request since the saved plan with this digest began to be carried out, of any run, whatever came of it; None
    where no run carried it out, or nobody knows because the state was replaced since. What its own run says that it did not send does not
    count."""
    uses = "SELECT run FROM approvals WHERE state = :state AND digest = :plan"
    users = [row.run for row in connection.rows(uses, state=state, plan=plan)]
    if not users:
        return None
    runs = connection.rows("SELECT id, started, command FROM runs WHERE state = :state", state=state)
    started = {row.id: datetime.fromisoformat(row.started) for row in runs}
    begun = min(started[run] for run in users)
    since = [run for run, moment in started.items() if moment >= begun]
    if any(row.command == PUSH and row.id in since for row in runs):
        return None
    # By the numbers of requests as far as there are any: the clocks of machines differ.
    first = connection.value("SELECT min(id) FROM journal WHERE state = :state AND run IN :users", state=state, users=users)
    query = "SELECT id, run, address FROM journal WHERE state = :state AND (run IN :since OR id >= :first)"
    rows = connection.rows(query, state=state, since=since, first=first if first is not None else SENT_MAX)
    ended: dict[int, set[bool]] = defaultdict(set)
    outcomes = "SELECT intent, run, status, forgotten FROM outcomes WHERE state = :state AND intent IN :intents"
    recorded_by = {row.id: row.run for row in rows}
    deleted: set[str] = set()
    for row in connection.rows(outcomes, state=state, intents=sorted(recorded_by)) if rows else ():
        ended[row.intent].add(row.status == "not-sent" and row.run == recorded_by[row.intent])
        deleted.update(from_json(row.forgotten, "an outcome"))
    return frozenset(deleted.union(row.address for row in rows if ended[row.id] != {True}))


def read_ids(connection: Connection, state: int) -> frozenset[str]:
    """The ids of every object that any run acted on, created, tracked or stopped tracking."""
    targets = "SELECT target FROM journal WHERE state = :state AND target IS NOT NULL UNION SELECT target FROM turns WHERE state = :state"
    ids = {row.target for row in connection.rows(targets, state=state)}
    for row in connection.rows("SELECT bound FROM outcomes WHERE state = :state AND bound <> '{}'", state=state):
        ids |= {id for id in mapping(row.bound, "an outcome").values() if isinstance(id, str)}
    return frozenset(ids)


WHOLE: Final = "whole"
"""The key of the summary of a run that was about the whole project."""


def read_verified(connection: Connection, state: int) -> datetime | None:
    """When the newest run began that ended with everything as the project declares it; None where no recorded one did."""
    query = (
        "SELECT id, started, summary FROM runs WHERE state = :state AND command = :command AND exit_code = :code"
        " ORDER BY started DESC LIMIT :most"
    )
    for row in connection.rows(query, state=state, command=APPLY, code=ENDED_WELL, most=RUNS_READ):
        if row.summary and mapping(row.summary, "the summary of a run").get(WHOLE) is True:
            try:
                return datetime.fromisoformat(row.started)
            except (TypeError, ValueError) as error:
                raise damaged(f"the run {row.id!r}") from error
    return None


# -- the run that the next one continues --------------------------------------------------------------------------------------------------


def is_unfinished(connection: Connection, state: int, *, by: str) -> bool:
    """Whether the newest run failed or did not end, ignoring the one that asks and those that sent nothing."""
    runs = _newest(connection, state, by)
    return next((run.exit_code for run in runs if run.exit_code not in SENT_NOTHING), ENDED_WELL) != ENDED_WELL


def read_readdressed(connection: Connection, state: int, *, by: str) -> frozenset[tuple[str, str]]:
    """Kind and id of what got another address since the last run that ended."""
    runs = [run.id for run in takewhile(lambda run: run.exit_code != ENDED_WELL, _newest(connection, state, by))]
    query = "SELECT kind, target FROM turns WHERE state = :state AND what = :what AND run IN :runs"
    return frozenset((row.kind, row.target) for row in connection.rows(query, state=state, what=What.RENAME.value, runs=runs))


def read_consents(connection: Connection, state: int, *, by: str) -> frozenset[Consent]:
    """Those of the newest run that was allowed anything, or continued one that was; none where a run has ended since."""
    for run in takewhile(lambda run: run.exit_code != ENDED_WELL, _newest(connection, state, by)):
        if run.consents is not None:
            return _consents(from_json(run.consents, WHAT))
    return frozenset()


def write_consents(connection: Connection, state: int, run: str, consents: Collection[Consent]) -> None:
    """Record these as the run's. Where it continues a run, record an empty set too: it ends what that run was allowed."""
    if consents or read_consents(connection, state, by=run):
        value = to_json([list(_columns(consent)) for consent in sorted(consents)], WHAT)
        connection.run(insert("consents"), state=state, run=run, value=value)


def _newest(connection: Connection, state: int, by: str) -> Sequence[Any]:
    """The newest runs that could send something, without the one that asks: id, exit code and consents."""
    query = (
        "SELECT runs.id, runs.exit_code, consents.value AS consents FROM runs"
        " LEFT JOIN consents ON consents.state = runs.state AND consents.run = runs.id"
        " WHERE runs.state = :state AND runs.id <> :by AND runs.command NOT LIKE :ignored AND runs.command <> :recover"
        " ORDER BY runs.started DESC LIMIT :most"
    )
    return connection.rows(query, state=state, by=by, ignored=f"{STATE_COMMANDS}%", recover=RECOVER, most=RUNS_READ)


def _columns(consent: Consent) -> tuple[str, ...]:
    return consent.address, consent.field, consent.principal, consent.level, consent.cause, consent.value


def _consents(value: Any) -> frozenset[Consent]:
    try:
        consents = [Consent(*row) for row in value]
    except TypeError as error:
        raise damaged(WHAT) from error
    if not all(isinstance(text, str) for consent in consents for text in _columns(consent)):
        raise damaged(WHAT)
    return frozenset(consents)
