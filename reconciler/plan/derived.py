"""Values that the service derives from other values when it creates an object: which ones, and what each needs first. Pure.

The premise: an object that is created without a slug gets the one that the service makes of its title. The service does so once, at that
moment: the slug does not follow the title later. So a plan that shows the slug of what it creates has to foresee two things:

- The *source* must have its final value before the create. If it is to change in this plan, its update comes first; if that update cannot
  be sent, the create waits, because the derived value would stay wrong for good.
- The value must be *free* at that moment. A slug is unique among siblings, and the service adds a suffix to one that is taken. So it counts
  which siblings have a value when the create is sent, and not which have one now:

      namespace: the site spaces of site docs        in use now             in use when each is created
      guide      stays                               guide                  guide
      old        is deleted in this run              api                    -         (freed: `after`, the create waits for the delete)
      new "API"  is created first                    -                      api
      new "Api"  is created second                   -                      api-2     (`requires`: it waits for the first)

A *namespace* is the set of siblings among which a value is unique: one kind, in one container, in one node of that where moving out of the
node means another object. In: drafts, removals, and what was read. Out: a `Derivation` for each created object.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field as item, replace
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Actual, Blocked, Observed, waiting
from reconciler.model.codec import title
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.matching.differences import FieldDifference
from reconciler.plan.world import Decisions, World
from reconciler.resource import UNSET, Derived, Field, FieldRole, Foreign, Kinds

Namespace = tuple[str, Any, Any]
"""The siblings among which a value is unique: the kind, the fixed container, and the node that replaces when it changes."""


@dataclass(frozen=True)
class Derivation:
    """What a created object gets in one field."""

    field: Field
    derived: Derived
    # The value that it will have; None where only the service knows it.
    value: str | None
    # The resource whose value it comes from; None for an object outside the project.
    source: Address | None
    # No request sets the field, so people read it here.
    shown: bool
    # The value without a suffix.
    plain: str
    # What prevents the plain value; "" where nothing does.
    taken: str = ""
    # Siblings that must have their own value first.
    requires: tuple[Address, ...] = ()
    # What is deleted first.
    after: tuple[Address, ...] = ()
    # What has the declared value by the time it is sent; "" where nothing has it.
    refused: str = ""

    @property
    def note(self) -> str:
        if self.value is None:
            return f"the service derives it from the {self.derived.field}"
        return f"from the {self.derived.field}" + (f"; {self.taken} has {self.plain}" if self.taken else "")


def namespace(draft: Draft | Removal, *, now: bool) -> Namespace:
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
    if not draft.is_new:
        return
    for field in derived_fields(draft):
        assert field.derived is not None
        source = source_of(field.derived, draft)
        other = drafts.get(source) if isinstance(source, Address) and source != draft.address else None
        if other is not None and other.observed is not None and draft.wants.get(field.name, UNSET) is UNSET:
            wanted = other.wants.get(field.derived.field, UNSET)
            if wanted is not UNSET and wanted != other.observed.values.get(field.derived.field, UNSET):
                yield other.address


def derived_fields(draft: Draft | Removal) -> list[Field]:
    return [field for field in draft.kind.fields.values() if field.derived is not None]


def pending_derivations(world: World, decisions: Decisions) -> Decisions:
    """Block creates whose derived value comes from a value that should change but cannot in this run: the derived value would stay
    wrong."""
    run_drafts, _ = decisions.of_this_run()
    drafts = {**decisions.drafts, **run_drafts}
    for address in run_drafts:
        if not drafts[address].active:
            continue
        for source in pending_sources(drafts, drafts[address]):
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


def derivations(world: World, decisions: Decisions) -> dict[Address, Derivation]:
    """The derived values of the created objects, by address, in the order of their creation."""
    run_drafts, _ = decisions.of_this_run()
    created_by_field: dict[tuple[str, Namespace], list[Draft]] = defaultdict(list)
    for draft in run_drafts.values():
        if draft.is_new and draft.active:
            for field in derived_fields(draft):
                created_by_field[field.name, namespace(draft, now=False)].append(draft)
    if not created_by_field:
        return {}
    in_use = ValuesInUse(world, decisions)
    result: dict[Address, Derivation] = {}
    for (name, where), created in created_by_field.items():
        result.update(_in_namespace(in_use, where, world.kinds[where[0]].fields[name], created))
    return result


@dataclass
class TakenValues:
    """The values in use in one namespace."""

    # By value: what has it, as people read it.
    taken: dict[str, str] = item(default_factory=dict)
    # Values of what is deleted in this run, but perhaps not before the create.
    deleted: set[str] = item(default_factory=set)
    # By value: what has it now, and gives it up in this run before the create.
    freed: dict[str, list[Address]] = item(default_factory=lambda: defaultdict(list))
    # By value: the resource of this run that asked for it last. The next one that asks for it waits for this one.
    last: dict[str, Address] = item(default_factory=dict)

    def free(self, plain: str) -> str:
        """The value that the service gives to the next object: the plain one, or the first free one with a suffix."""
        number, value = 1, plain
        while value in self.taken:
            number += 1
            value = f"{plain}-{number}"
        return value


class ValuesInUse:
    """The objects that have a value now, by namespace; computed once."""

    def __init__(self, world: World, decisions: Decisions) -> None:
        kinds, actual, drafts = world.kinds, world.actual, decisions.drafts
        run_drafts, removals = decisions.of_this_run()
        self.kinds, self.actual, self.drafts, self.run_drafts = kinds, actual, drafts, run_drafts
        self.leaving = {(removal.kind.name, removal.id): removal for removal in removals.values() if removal.deletes}
        self.managed = {(draft.kind.name, draft.id): draft for draft in drafts.values() if draft.id is not None}
        self.mentioned = {id for draft in run_drafts.values() if draft.active for id in draft.released}
        containers = {id: address for address, id in decisions.matches.ids.items()}
        # When the first section of a site is created, the service moves what is at the top into it, managed or not: it counts there.
        takes_in = {
            (name, change.container): change.trigger
            for change in decisions.rearrangements
            if change.trigger_id is None and change.trigger in run_drafts and drafts[change.trigger].active
            for name in change.names
        }
        self.present: dict[Namespace, list[Observed]] = defaultdict(list)
        for kind in kinds.values():
            if all(field.derived is None for field in kind.fields.values()):
                continue
            inside = kind.inside
            nested = inside is not None and inside.role is FieldRole.INSIDE and inside.on_change == "replace"
            for observed in actual.objects.get(kind.name, {}).values():
                container = containers.get(observed.within.get(kind.within or "", ""))
                node = observed.values.get(inside.name) if inside is not None and nested else None
                if node is None and container is not None:
                    node = takes_in.get((kind.name, container))
                if observed.deleted_at is None:
                    self.present[kind.name, container, node].append(observed)

    def values(self, where: Namespace, field: Field) -> TakenValues:
        """The values in use in a namespace before anything is created there."""
        values, leaving, changing = TakenValues(), list[tuple[str, Removal]](), dict[str, str]()
        for now in self.present.get(where, ()):
            value = now.values.get(field.name)
            if not isinstance(value, str):
                continue
            removal, draft = self.leaving.get((now.kind, now.id)), self.managed.get((now.kind, now.id))
            change = _change_of(draft, field.name)
            if removal is not None:
                leaving.append((value, removal))
            elif draft is not None and change is not None and draft.address in self.run_drafts:
                values.freed[value].append(draft.address)
                changing.setdefault(str(change.after), str(draft.address))
            else:
                values.taken[value] = str(draft.address) if draft is not None else f"{now.kind} {title(now)!r}"
        values.taken = changing | values.taken  # what keeps its value has it
        # A delete frees its value before the create only if it may come first. It may not where it would leave its container empty, where
        # it is part of another delete, where it belongs to a replacement, or where something must stop referring to the object before.
        remain = bool(values.taken)
        for value, removal in leaving:
            if remain and removal.deleted_with is None and removal.replaces is None and bare(removal.id) not in self.mentioned:
                values.freed[value].append(removal.address)
            else:
                values.taken.setdefault(value, str(removal.address))
                values.deleted.add(value)
        return values


def _change_of(draft: Draft | None, name: str) -> FieldDifference | None:
    """The change of a field that a request of this draft sends; None where none does."""
    if draft is None or not draft.active:
        return None
    return next((difference for difference in draft.sendable if difference.field.name == name), None)


def _in_namespace(in_use: ValuesInUse, where: Namespace, field: Field, created: Iterable[Draft]) -> Iterator[tuple[Address, Derivation]]:
    """The values in one namespace, in the order in which the objects are created: each takes its value away from the next."""
    values, derived = in_use.values(where, field), field.derived
    assert derived is not None
    for draft in created:
        change = _change_of(draft, field.name)
        written: Any = change.after if change is not None else UNSET
        text = _text(in_use.kinds, in_use.actual, in_use.drafts, derived, draft)
        plain = derived.form(text) if isinstance(text, str) else ""
        source = source_of(derived, draft)
        value = (values.free(plain) if field.unique else plain) if plain else None
        # A written value that something has by then is refused by the service, unless its holder is deleted: then the order decides.
        waits = not field.unique or not isinstance(written, str) or written in values.deleted
        earlier = [*([values.last[plain]] if plain in values.last else []), *values.freed.get(plain, [])] if plain else []
        yield (
            draft.address,
            Derivation(
                field=field,
                derived=derived,
                value=value,
                source=source if isinstance(source, Address) else None,
                shown=written is UNSET,
                plain=plain,
                taken=values.taken.get(plain, "") if value != plain else "",
                requires=tuple(at for at in earlier if at in in_use.run_drafts),
                after=tuple(at for at in earlier if at not in in_use.run_drafts),
                refused="" if waits else values.taken.get(written, ""),
            ),
        )
        if plain:
            values.last[plain] = draft.address
        if isinstance(written, str):
            values.taken[written] = str(draft.address)
            values.last[written] = draft.address
        elif value is not None:
            values.taken[value] = str(draft.address)


def taken_values(world: World, decisions: Decisions) -> Decisions:
    """Block the fields of this run whose declared value a sibling keeps: the service would refuse it. What keeps its value because of that
    may keep it from another one, so they are looked at again."""
    while refused := [*_refused(world, decisions)]:
        decisions = decisions.changed(refused)
    return decisions


def _refused(world: World, decisions: Decisions) -> Iterator[Draft]:
    run_drafts, _ = decisions.of_this_run()
    writing = [
        (draft, difference)
        for draft in run_drafts.values()
        if draft.active
        for difference in draft.sendable
        if difference.field.unique and difference.field.derived is not None and isinstance(difference.after, str)
    ]
    if not writing:
        return
    in_use, derived = ValuesInUse(world, decisions), derivations(world, decisions)
    known: dict[tuple[Namespace, str], TakenValues] = {}
    for draft, difference in writing:
        field, where = difference.field, namespace(draft, now=False)
        if draft.is_new:
            holder = derived[draft.address].refused if draft.address in derived else ""
        else:
            if (where, field.name) not in known:
                known[where, field.name] = in_use.values(where, field)
            values = known[where, field.name]
            holder = values.taken.get(difference.after, "") if difference.after not in values.deleted else ""
        if holder not in ("", str(draft.address)):
            yield draft.without(difference, _taken(draft, difference, holder, decisions))


def _taken(draft: Draft, difference: FieldDifference, holder: str, decisions: Decisions) -> Blocked:
    """Why a value is not sent, and what to do. `holder`: what has it, as people read it."""
    name, other = difference.field.name, next((other for other in decisions.meant().values() if str(other.address) == holder), None)
    remedy = f"write another {name}"
    if other is not None and other.observed is not None and any(change.field.name == name for change in other.sendable):
        # It is to get another value, but not in this run.
        remedy = "reconciler apply, once more" if other.deferred is not None else f"include {holder}, or {remedy}"
    source = draft.declared.positions.get(name, draft.declared.source)
    reason = f"the service would refuse {name} {difference.after!r}, because {holder} has it by then"
    return Blocked(draft.address, reason, remedy, source, id="RC-taken-by-sibling")


# -- what people read -----------------------------------------------------------------------------------------------------------------


def suffix_notes(derivations: Mapping[Address, Derivation]) -> list[str]:
    """A sentence for each created object that does not get the plain value."""
    taken = []
    for address, derivation in derivations.items():
        name = derivation.field.name
        if derivation.shown and derivation.taken and derivation.value is not None:
            why = f"because {derivation.taken} has {derivation.plain}"
            taken.append(f"{address}: {name} will be {derivation.value}, {why}; write {name} to choose another")
    return taken


def unchanged_notes(drafts: Mapping[Address, Draft], run_drafts: Mapping[Address, Draft]) -> Iterator[str]:
    """A sentence for each value that stays the same although this plan changes the value it was derived from."""
    for draft in drafts.values():
        if draft.observed is None or draft.declared.implied:
            continue
        for field in derived_fields(draft):
            now = draft.observed.values.get(field.name)
            if draft.wants.get(field.name, UNSET) is not UNSET or not isinstance(now, str) or field.derived is None:
                continue
            source = source_of(field.derived, draft)
            other = run_drafts.get(source) if isinstance(source, Address) else None
            change = _change_of(other, field.derived.field)
            if change is None or not isinstance(change.before, str) or not isinstance(change.after, str):
                continue
            old, new = field.derived.form(change.before), field.derived.form(change.after)
            if old != new and re.fullmatch(rf"{re.escape(old)}(-\d+)?", now):
                way = f"; to change it, write {field.name}: {new}" if new else ""
                yield f"{draft.address}: {field.name} stays {now}, it does not follow the {field.derived.field}{way}"
