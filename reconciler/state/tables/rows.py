"""Bindings, intents, rules and renames as rows of the tables, and back.

In: a connection inside a transaction, and values. Out: rows, or values. Forbidden: transactions, leases, deciding what is recorded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from shlex import quote
from sys import intern
from typing import Any, Final

from reconciler.address import Address
from reconciler.errors import StateError
from reconciler.model import Before, Binding, Guards, Intent, Origin, Position, Rules, renamed_with_containers
from reconciler.resource import UNSET
from reconciler.state.connection import Connection
from reconciler.state.tables.schema import insert
from reconciler.state.tables.values import damaged, decoded, from_json, mapping, to_json, to_json_or_null

# -- Bindings ---------------------------------------------------------------------------------------------------------------------


def read_bindings(connection: Connection, state: int) -> dict[Address, Binding]:
    """Every binding of a state, in the order of addresses."""
    fields = connection.rows("SELECT address, name, sent, seen FROM fields WHERE state = :state", state=state)
    # Most fields are seen as they were sent. Their texts are decoded once, and both sides share the value.
    differing = {address for address, _, sent, seen in fields if sent != seen}
    sent = _fields([(address, name, text) for address, name, text, _ in fields if text is not None], "sent")
    seen = {address: values for address, values in sent.items() if address not in differing}
    seen |= _fields([(address, name, text) for address, name, _, text in fields if text is not None and address in differing], "seen")
    rows = connection.rows("SELECT * FROM bindings WHERE state = :state", state=state)
    unsorted = [_binding(row, sent.get(row.address, {}), seen.get(row.address, {})) for row in rows]
    return {binding.address: binding for binding in sorted(unsorted, key=lambda binding: binding.address.parts)}


def _fields(present: Sequence[tuple[str, str, str]], column: str) -> dict[str, dict[str, Any]]:
    """The values of one column by address and name; of each row address, name and text."""
    values = decoded(
        [text for _, _, text in present], lambda number: f"what was {column} as {present[number][1]!r} of {present[number][0]}"
    )
    fields: dict[str, dict[str, Any]] = {}
    for (address, name, _), value in zip(present, values, strict=True):
        fields.setdefault(address, {})[intern(name)] = value
    return fields


def _binding(row: Any, sent: Mapping[str, Any], seen: Mapping[str, Any]) -> Binding:
    try:
        # NULL: never placed. An empty text: placed at the root, which has no address.
        parent = Address.parse(row.place_parent) if row.place_parent else None
        place = None if row.place_parent is None else Position(parent, row.place_index)
        return Binding(Address.parse(row.address), row.kind, row.id, Origin(row.origin), sent, seen, bool(row.protected), place)
    except (TypeError, ValueError) as error:
        raise damaged(f"the binding {row.address!r}") from error


def unbind(connection: Connection, state: int, addresses: Iterable[Address]) -> None:
    """Remove these addresses and their fields; untracked ones are skipped."""
    rows = [{"state": state, "address": str(address)} for address in addresses]
    connection.run_all("DELETE FROM bindings WHERE state = :state AND address = :address", rows)


def bind(connection: Connection, state: int, bound: Iterable[Binding], stored: Mapping[Address, Binding] = {}) -> None:
    """Replace the bindings of these addresses; the database refuses one whose object another address has.

    `stored`: bindings that the tables have exactly so. Where one differs in fields alone, only the fields with another value are written.
    """
    new: dict[Address, Binding] = {binding.address: binding for binding in bound}
    changed = {at: list(_changed(old, new[at])) for at in new if (old := stored.get(at)) is not None and _keeps(old, new[at])}
    whole = [binding for at, binding in new.items() if at not in changed]
    # Deleted and added, not updated: the fields that a binding no longer has are deleted with it.
    unbind(connection, state, [binding.address for binding in whole])
    connection.run_all(insert("bindings"), [_row(state, binding) for binding in whole])
    names = changed | {binding.address: [*binding.sent, *binding.seen] for binding in whole}
    connection.run_all(
        f"{insert('fields')} ON CONFLICT (state, address, name) DO UPDATE SET sent = excluded.sent, seen = excluded.seen",
        [row for at in names for row in _field_rows(state, new[at], names[at])],
    )


def _keeps(old: Binding, new: Binding) -> bool:
    """Whether a binding differs from an old one in values of fields alone, and forgets none of them."""
    same = (old.kind, old.id, old.origin, old.protected, old.place) == (new.kind, new.id, new.origin, new.protected, new.place)
    return same and all(name in new.sent or name in new.seen for name in (*old.sent, *old.seen))


def _changed(old: Binding, new: Binding) -> Iterator[str]:
    """The fields that do not have the very same values: equal ones, as 1 and True, may be different JSON."""
    for before, now in ((old.sent, new.sent), (old.seen, new.seen)):
        yield from (name for name in {**before, **now} if before.get(name, UNSET) is not now.get(name, UNSET))


def refuse_clashes(connection: Connection, state: int, new: Iterable[Binding], leaving: Collection[Address] = ()) -> None:
    """Raise StateError where two addresses would have one object; those that are `leaving`, and those that are new, have none before."""
    owners: dict[tuple[str, str], str] = {}
    for binding in new:
        owner = owners.setdefault(binding.key, str(binding.address))
        if owner != str(binding.address):
            raise _clash(binding.kind, binding.id, owner, str(binding.address))
    free = {*owners.values(), *map(str, leaving)}
    query = "SELECT address, kind, id FROM bindings WHERE state = :state AND id IN :ids"
    for row in connection.rows(query, state=state, ids=[id for _, id in owners]):
        if row.address not in free and (claimed := owners.get((row.kind, row.id))) is not None:
            raise _clash(row.kind, row.id, row.address, claimed)


def _clash(kind: str, id: str, owner: str, other: str) -> StateError:
    return StateError(
        f"{kind} {id!r} is tracked as {owner} and cannot be tracked as {other} too",
        id="RC-already-tracked",
        hint=f"Run `reconciler state forget {quote(owner)}` first, or keep that address.",
    )


def _row(state: int, binding: Binding) -> dict[str, Any]:
    return {
        "state": state,
        "address": str(binding.address),
        "kind": binding.kind,
        "id": binding.id,
        "origin": binding.origin.value,
        "protected": binding.protected,
        "place_parent": parent_text(binding.place) if binding.place else None,
        "place_index": binding.place.index if binding.place else None,
    }


def parent_text(position: Position) -> str:
    """The parent of a position as a text; an empty one at the root."""
    return "" if position.parent is None else str(position.parent)


def _field_rows(state: int, binding: Binding, names: Iterable[str]) -> list[dict[str, Any]]:
    """A row for each of these fields, what was sent and seen."""
    address = str(binding.address)
    return [
        {
            "state": state,
            "address": address,
            "name": name,
            "sent": to_json_or_null(binding.sent.get(name, UNSET), f"{name!r} of {address}"),
            "seen": to_json_or_null(binding.seen.get(name, UNSET), f"{name!r} of {address}"),
        }
        for name in dict.fromkeys(names)
    ]


# -- Intents ----------------------------------------------------------------------------------------------------------------------

# A list is stored once for all intents that saw it, and what undoing needs only where there is anything: so an intent is of three tables.
INTENTS: Final = (
    "SELECT journal.*, known.ids AS ids, befores.value AS before FROM journal"
    " LEFT JOIN known ON known.state = journal.state AND known.digest = journal.known"
    " LEFT JOIN befores ON befores.state = journal.state AND befores.intent = journal.id"
)
"""Rows that `intent_of` reads."""


def known_row(ids: frozenset[str], what: str) -> tuple[str, str]:
    """The digest under which a list's ids are stored, and the ids as JSON."""
    text = to_json(sorted(ids), what)
    return sha256(text.encode()).hexdigest(), text


def intent_row(state: int, intent: Intent, *, at: str, known: str) -> dict[str, Any]:
    """The row of an intent whose `known` ids are stored under that digest."""
    what = f"the intent to {intent.verb} {intent.address}"
    return {
        "state": state,
        "id": intent.id,
        "at": at,
        "run": intent.run,
        "step": intent.step,
        "address": str(intent.address),
        "kind": intent.kind,
        "verb": intent.verb,
        "method": intent.method,
        "path": intent.path,
        "target": intent.target,
        "writes": to_json({name: value for name, value in intent.writes.items() if value is not UNSET}, what),
        "known": known,
        "date": intent.date.isoformat() if intent.date else None,
        "deadline": intent.deadline.isoformat() if intent.deadline else None,
        "brings": to_json(dict(intent.brings), what),
        "lookup": to_json(list(intent.lookup), what),
    }


def before_row(state: int, intent: Intent) -> dict[str, Any] | None:
    """The row of the values before an intent; None where undoing it needs nothing."""
    before = intent.before
    if before == Before():
        return None
    position = before.position
    value: dict[str, Any] = {
        "values": {name: value for name, value in before.values.items() if value is not UNSET},
        "absent": sorted(name for name, value in before.values.items() if value is UNSET),
        "stood": None
        if position is None
        else [parent_text(position), position.index, None if position.previous is None else str(position.previous)],
        "replaces": before.replaces,
    }
    if before.takes:
        value["takes"] = [str(address) for address in before.takes]
    if before.renames:
        value["renames"] = {str(old): str(new) for old, new in before.renames.items()}
    if before.unmanaged:
        value["unmanaged"] = list(before.unmanaged)
    return {"state": state, "intent": intent.id, "value": to_json(value, f"what {intent.verb} {intent.address} met")}


def after_row(state: int, intent: int, after: Mapping[Address, Mapping[str, Any]]) -> dict[str, Any]:
    """The row of what was seen when an intent was done."""
    value = {str(at): {name: field for name, field in seen.items() if field is not UNSET} for at, seen in after.items()}
    return {"state": state, "intent": intent, "value": to_json(value, f"what was seen after intent {intent}")}


def _before(text: str | None, what: str) -> Before:
    if text is None:
        return Before()
    value = from_json(text, what)
    position = None
    if value["stood"] is not None:
        parent, index, previous = value["stood"]
        position = Position(Address.parse(parent) if parent else None, int(index), None if previous is None else Address.parse(previous))
    takes = tuple(Address.parse(text) for text in value.get("takes", ()))
    renames = {Address.parse(old): Address.parse(new) for old, new in value.get("renames", {}).items()}
    values = {**value["values"], **dict.fromkeys(value["absent"], UNSET)}
    return Before(values, position, value["replaces"], takes, renames, tuple(value.get("unmanaged", ())))


def read_intents(connection: Connection, state: int) -> tuple[Intent, ...]:
    """The open intents of a state, oldest first; `known` includes what their runs had created by then."""
    lists: dict[str, frozenset[str]] = {}
    opened = " JOIN open_intents ON open_intents.state = journal.state AND open_intents.intent = journal.id"
    rows = connection.rows(f"{INTENTS}{opened} WHERE journal.state = :state ORDER BY journal.id", state=state)
    intents = tuple(intent_of(row, lists) for row in rows)
    runs = {intent.run for intent in intents if intent.verb == "create"}
    if not runs:
        return intents
    # A list was read before the run began. What the run itself created since then is ours too, and must not be taken for the lost object.
    query = (
        "SELECT journal.run, journal.id, outcomes.bound FROM journal"
        " JOIN outcomes ON outcomes.state = journal.state AND outcomes.intent = journal.id"
        " WHERE journal.state = :state AND journal.verb = 'create' AND outcomes.bound <> '{}' AND journal.run IN :runs"
    )
    created: dict[str, set[str]] = defaultdict(set)
    for row in connection.rows(query, state=state, runs=sorted(runs)):
        created[row.run] |= {str(id) for id in mapping(row.bound, f"the outcome of intent {row.id}").values()}
    return tuple(replace(intent, known=intent.known | created[intent.run]) if intent.run in created else intent for intent in intents)


def intent_of(row: Any, lists: dict[str, frozenset[str]]) -> Intent:
    """The intent of a row of `INTENTS`; `lists` keeps what was decoded."""
    what = f"intent {row.id}"
    try:
        if row.known not in lists:
            lists[row.known] = frozenset(from_json(row.ids, what))
        return Intent(
            row.id, row.run, row.step, Address.parse(row.address), row.kind, row.verb, row.method, row.path, row.target,
            dict(from_json(row.writes, what)), lists[row.known], _moment(row.date), _moment(row.deadline),
            dict(from_json(row.brings, what)), tuple(from_json(row.lookup, what)), _before(row.before, what),
        )  # fmt: skip
    except (TypeError, ValueError, LookupError) as error:
        raise damaged(what) from error


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


# -- What the state remembers of the YAML: its rules, and its renames that are done --------------------------------------------------

RULES: Final = "the rules of the project"


def write_rules(connection: Connection, state: int, rules: Rules) -> None:
    """Replace the recorded rules by these."""
    # A limit that is not set is left out, as it was before it could be set.
    guards = {name: limit for name, limit in vars(rules.guards).items() if limit is not None}
    value = {"guards": guards, "prune": dict(rules.prune), "protect": sorted(rules.protect)}
    value |= {"access": sorted(rules.access)} if rules.access else {}
    value |= {"policies": dict(rules.policies)} if rules.policies else {}
    value |= {"exceptions": sorted(rules.exceptions)} if rules.exceptions else {}
    value |= {"ignored": sorted(rules.ignored)} if rules.ignored else {}
    replace = f"{insert('rules')} ON CONFLICT (state) DO UPDATE SET value = excluded.value"
    connection.run(replace, state=state, value=to_json(value, RULES))


def read_rules(connection: Connection, state: int) -> Rules | None:
    """The recorded rules, None where there are none; raises StateError where they are broken."""
    text = connection.value("SELECT value FROM rules WHERE state = :state", state=state)
    return None if text is None else rules_of(from_json(text, RULES))


def rules_of(value: Any) -> Rules:
    """The rules of a decoded row; raises StateError where it is broken."""
    try:
        guards, protect, access = Guards(**value["guards"]), frozenset(value["protect"]), frozenset(value.get("access", ()))
        policies, exceptions = dict(value.get("policies", {})), frozenset(value.get("exceptions", ()))
        return Rules(guards, value["prune"], protect, access, policies, exceptions, frozenset(value.get("ignored", ())))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise damaged(RULES) from error


def write_renames(connection: Connection, state: int, fulfilled: Mapping[Address, Address]) -> None:
    """Replace the recorded renames by these."""
    connection.run("DELETE FROM renames WHERE state = :state", state=state)
    rows = [{"state": state, "old": str(old), "new": str(new)} for old, new in sorted(fulfilled.items())]
    connection.run_all(insert("renames"), rows)


def read_renames(connection: Connection, state: int) -> dict[Address, Address]:
    """The recorded renames; raises StateError where they are broken."""
    rows = connection.rows("SELECT old, new FROM renames WHERE state = :state ORDER BY old", state=state)
    try:
        return {Address.parse(row.old): Address.parse(row.new) for row in rows}
    except (TypeError, ValueError) as error:
        raise damaged("the renames of the project") from error


def after(fulfilled: Mapping[Address, Address], rename: Mapping[Address, Address]) -> dict[Address, Address]:
    """The recorded renames when tracked addresses are renamed without the YAML: a reverted rename may happen again, and what is renamed as
    a line of the YAML says must not be renamed by that line again."""
    left: dict[Address, Address] = {}
    for old, new in fulfilled.items():
        container = next((above for above in old.containers if above in rename), None)
        was = old if container is None else old.renamed(container, rename[container])
        now = rename.get(new, new)
        if now != was:
            left[was] = now
    followers = renamed_with_containers(rename)
    for old, new in rename.items():
        if fulfilled.get(new) != old and old not in followers:
            left[old] = new
    return left
