"""Values that the service derives from other values when it creates an object: which ones, and what each needs first. Pure.

In: drafts, removals, and what was read. Out: the value that each created object will have, whose value it comes from, and which requests
must have succeeded for it to be as shown. The service sets such a value once; it never follows its source.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Actual, Observed, waiting
from reconciler.model.codec import title
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.world import Decisions, World
from reconciler.resource import UNSET, Derived, Field, FieldRole, Foreign, Kinds

Level = tuple[str, Any, Any]
"""Where a unique value must be unique: the kind, the fixed container, and the node that replaces when it changes."""


@dataclass(frozen=True)
class Derivation:
    """What a created object gets in one field. `value`: None where only the service knows it. `taken`: what prevents the plain value.

    `source`: the resource whose value it comes from, None for an object outside the project. `requires`: siblings that must have their own
    value first. `after`: what is deleted first. `shown`: no request sets the field, so people read it here. `refused`: what has the
    declared value by the time it is sent; "" where nothing has it.
    """

    field: Field
    derived: Derived
    value: str | None
    source: Address | None
    shown: bool
    plain: str
    taken: str = ""
    requires: tuple[Address, ...] = ()
    after: tuple[Address, ...] = ()
    refused: str = ""

    @property
    def note(self) -> str:
        if self.value is None:
            return f"the service derives it from the {self.derived.field}"
        return f"from the {self.derived.field}" + (f"; {self.taken} has {self.plain}" if self.taken else "")


def level(draft: Draft | Removal, *, now: bool) -> Level:
    """Where the object is now, or where it will be."""
    kind, inside = draft.kind, draft.kind.inside
    node: Any = None
    if inside is not None and inside.role is FieldRole.INSIDE and inside.on_change == "replace":
        if now and draft.moves_into is not None:
            node = draft.moves_into
        elif now:
            node = draft.observed.values.get(inside.name) if draft.observed else None
        elif isinstance(draft, Draft):
            node = draft.wants.get(inside.name)
    return kind.name, draft.address.container, node


# -- where a value comes from -------------------------------------------------------------------------------------------------------


def source_of(derived: Derived, draft: Draft) -> Address | Foreign | None:
    """The resource whose value it comes from; None where it is unknown."""
    if derived.reference is None:
        return draft.address
    named = draft.declared.values.get(derived.reference, UNSET)
    return named if isinstance(named, Address | Foreign) else None


def _text(kinds: Kinds, actual: Actual, drafts: Mapping[Address, Draft], derived: Derived, draft: Draft) -> Any:
    """The value it is derived from, as it will be when the object is created; UNSET where it is not known."""
    source = source_of(derived, draft)
    if isinstance(source, Address) and source in drafts:
        wanted = drafts[source].wants.get(derived.field, UNSET)
        observed = drafts[source].observed
        return wanted if wanted is not UNSET or observed is None else observed.values.get(derived.field, UNSET)
    kind = draft.kind.fields[derived.reference].refers if derived.reference is not None else None
    now = actual.find(kind, source.id) if kind is not None and isinstance(source, Foreign) else None
    return now.values.get(derived.field, UNSET) if now is not None else UNSET


def pending_sources(drafts: Mapping[Address, Draft], draft: Draft) -> Iterator[Address]:
    """The existing resources from which a created one derives a value that this plan is to change first."""
    for declared_field in derived_fields(draft) if draft.is_new else ():
        assert declared_field.derived is not None
        source = source_of(declared_field.derived, draft)
        other = drafts.get(source) if isinstance(source, Address) and source != draft.address else None
        if other is not None and other.observed is not None and draft.wants.get(declared_field.name, UNSET) is UNSET:
            wanted = other.wants.get(declared_field.derived.field, UNSET)
            if wanted is not UNSET and wanted != other.observed.values.get(declared_field.derived.field, UNSET):
                yield other.address


def derived_fields(draft: Draft | Removal) -> list[Field]:
    return [declared_field for declared_field in draft.kind.fields.values() if declared_field.derived is not None]


def pending_derivations(world: World, decisions: Decisions) -> Decisions:
    """Block creates whose derived value comes from a value that should change but cannot in this run: the derived value would stay
    wrong."""
    run_drafts, _ = decisions.of_this_run()
    drafts = {**decisions.drafts, **run_drafts}
    for address in run_drafts:
        for source in pending_sources(drafts, drafts[address]) if drafts[address].active else ():
            if source in run_drafts and drafts[source].active:
                continue
            draft = _without_source(drafts[address], drafts[source])
            drafts[address] = draft
            parent = drafts.get(draft.created_with) if draft.created_with in run_drafts else None
            if parent is not None and parent.active and draft.blocked is not None:
                drafts[parent.address] = replace(parent, blocked=waiting(parent.address, draft.blocked, parent.declared.source))
    return replace(decisions, drafts=drafts)


def _without_source(draft: Draft, source: Draft) -> Draft:
    """The draft, blocked because the source of a derived value does not have its declared value yet."""
    names = " and ".join(field.name for field in derived_fields(draft))
    reason = f"waits for {source.address}: the service derives {names} from a value that is still to change there"
    if source.blocked is not None:
        return replace(draft, blocked=waiting(draft.address, source.blocked, draft.declared.source, reason=reason))
    return draft.block(reason, f"include {source.address}, or write the value", id="RC-derived-from-pending")


# -- the value ----------------------------------------------------------------------------------------------------------------------


def derivations(
    kinds: Kinds,
    actual: Actual,
    ids: Mapping[Address, str],
    drafts: Mapping[Address, Draft],
    run_drafts: Mapping[Address, Draft],
    removals: Mapping[Address, Removal],
) -> dict[Address, Derivation]:
    """The derived values of the created objects, by address, in the order of their creation. `drafts`: all; `run_drafts` and `removals`: of
    this run."""
    born: dict[tuple[str, Level], list[Draft]] = defaultdict(list)
    for draft in run_drafts.values():
        if draft.is_new and draft.active:
            for declared_field in derived_fields(draft):
                born[declared_field.name, level(draft, now=False)].append(draft)
    if not born:
        return {}
    everyone = _Everyone(kinds, actual, ids, drafts, run_drafts, removals)
    result: dict[Address, Derivation] = {}
    for (name, where), created in born.items():
        result.update(_level(everyone, where, kinds[where[0]].fields[name], created))
    return result


@dataclass
class _Row:
    """The values in use on one level. `freed`: by whose change or delete in this run. `deleted`: in use by what is deleted."""

    taken: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    freed: dict[str, list[Address]] = field(default_factory=lambda: defaultdict(list))
    last: dict[str, Address] = field(default_factory=dict)

    def free(self, plain: str) -> str:
        number, value = 1, plain
        while value in self.taken:
            number += 1
            value = f"{plain}-{number}"
        return value


class _Everyone:
    """The objects that have a value now, by level; computed once."""

    def __init__(
        self,
        kinds: Kinds,
        actual: Actual,
        ids: Mapping[Address, str],
        drafts: Mapping[Address, Draft],
        run_drafts: Mapping[Address, Draft],
        removals: Mapping[Address, Removal],
    ) -> None:
        self.kinds, self.actual, self.drafts, self.run_drafts = kinds, actual, drafts, run_drafts
        self.leaving = {(removal.kind.name, removal.id): removal for removal in removals.values() if removal.deletes}
        self.holding = {(draft.kind.name, draft.id): draft for draft in drafts.values() if draft.id is not None}
        self.mentioned = {id for draft in run_drafts.values() if draft.active for id in draft.released}
        containers = {id: address for address, id in ids.items()}
        self.present: dict[Level, list[Observed]] = defaultdict(list)
        for kind in kinds.values():
            if all(declared_field.derived is None for declared_field in kind.fields.values()):
                continue
            inside = kind.inside
            nested = inside is not None and inside.role is FieldRole.INSIDE and inside.on_change == "replace"
            for observed in actual.objects.get(kind.name, {}).values():
                managed = self.leaving.get((kind.name, observed.id)) or self.holding.get((kind.name, observed.id))
                node = observed.values.get(inside.name) if inside is not None and nested else None
                if managed is not None and managed.moves_into is not None:
                    node = managed.moves_into
                if observed.deleted_at is None:
                    self.present[kind.name, containers.get(observed.within.get(kind.within or "", "")), node].append(observed)

    def row(self, where: Level, declared_field: Field) -> _Row:
        """The values in use on a level before anything is created there."""
        row, leaving = _Row(), []
        for now in self.present.get(where, ()):
            value = now.values.get(declared_field.name)
            if not isinstance(value, str):
                continue
            removal, draft = self.leaving.get((now.kind, now.id)), self.holding.get((now.kind, now.id))
            change = (
                next((difference for difference in draft.sendable if difference.field is declared_field), None)
                if draft is not None
                else None
            )
            if removal is not None:
                leaving.append((value, removal))
            elif draft is not None and change is not None and draft.active and draft.address in self.run_drafts:
                row.freed[value].append(draft.address)
                row.taken[str(change.after)] = str(draft.address)
            else:
                row.taken[value] = str(draft.address) if draft is not None else f"{now.kind} {title(now)!r}"
        remain = bool(row.taken)
        for value, removal in leaving:
            if remain and removal.deleted_with is None and removal.replaces is None and bare(removal.id) not in self.mentioned:
                row.freed[value].append(removal.address)
            else:
                row.taken.setdefault(value, str(removal.address))
                row.deleted.add(value)
        return row


def _level(everyone: _Everyone, where: Level, declared_field: Field, created: Iterable[Draft]) -> Iterator[tuple[Address, Derivation]]:
    """The values on one level, in the order in which the objects are created."""
    row, derived = everyone.row(where, declared_field), declared_field.derived
    assert derived is not None
    for draft in created:
        written = draft.wants.get(declared_field.name, UNSET)
        text = _text(everyone.kinds, everyone.actual, everyone.drafts, derived, draft)
        plain = derived.form(text) if isinstance(text, str) else ""
        source = source_of(derived, draft)
        value = (row.free(plain) if declared_field.unique else plain) if plain else None
        taken = row.taken.get(plain, "") if value != plain else ""
        waits = not declared_field.unique or not isinstance(written, str) or written in row.deleted
        refused = "" if waits else row.taken.get(written, "")
        earlier = [*([row.last[plain]] if plain in row.last else []), *row.freed.get(plain, [])] if plain else []
        yield draft.address, Derivation(
            field=declared_field, derived=derived, value=value, source=source if isinstance(source, Address) else None,
            shown=written is UNSET, plain=plain, taken=taken,
            requires=tuple(at for at in earlier if at in everyone.run_drafts),
            after=tuple(at for at in earlier if at not in everyone.run_drafts), refused=refused,
        )  # fmt: skip
        if plain:
            row.last[plain] = draft.address
        if isinstance(written, str):
            row.taken[written] = str(draft.address)
            row.last[written] = draft.address
        elif value is not None:
            row.taken[value] = str(draft.address)


# -- what people read -----------------------------------------------------------------------------------------------------------------


def suffix_notes(drafts: Mapping[Address, Draft], derivations: Mapping[Address, Derivation]) -> list[str]:
    """A sentence for each created object that does not get the plain value, or whose declared value another object has by then."""
    refused, taken = [], []
    for address, derivation in derivations.items():
        name = derivation.field.name
        if derivation.refused:
            written = drafts[address].wants[name]
            why = f"because {derivation.refused} has it by then"
            refused.append(f"{address}: the service will refuse {name} {written!r}, {why}; write another {name} there")
        if derivation.shown and derivation.taken and derivation.value is not None:
            why = f"because {derivation.taken} has {derivation.plain}"
            taken.append(f"{address}: {name} will be {derivation.value}, {why}; write {name} to choose another")
    return refused + taken


def unchanged_notes(drafts: Mapping[Address, Draft], run_drafts: Mapping[Address, Draft]) -> list[str]:
    """A sentence for each value that stays the same although this plan changes the value it was derived from."""
    notes = []
    for draft in drafts.values():
        if draft.observed is None or draft.declared.implied:
            continue
        for declared_field in derived_fields(draft):
            now = draft.observed.values.get(declared_field.name)
            if draft.wants.get(declared_field.name, UNSET) is not UNSET or not isinstance(now, str) or declared_field.derived is None:
                continue
            source = source_of(declared_field.derived, draft)
            other = run_drafts.get(source) if isinstance(source, Address) else None
            change = (
                next((difference for difference in other.sendable if difference.field.name == declared_field.derived.field), None)
                if other and other.active
                else None
            )
            if change is None or not isinstance(change.before, str) or not isinstance(change.after, str):
                continue
            old, new = declared_field.derived.form(change.before), declared_field.derived.form(change.after)
            if old != new and re.fullmatch(rf"{re.escape(old)}(-\d+)?", now):
                way = f"; to change it, write {declared_field.name}: {new}" if new else ""
                notes.append(
                    f"{draft.address}: {declared_field.name} stays {now}, it does not follow the {declared_field.derived.field}{way}"
                )
    return notes
