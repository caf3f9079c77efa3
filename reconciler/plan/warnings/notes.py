"""What people should know of a plan although nothing is refused for it. Pure.

In: the drafts and removals, and what was read. Out: sentences about names that siblings share, conditions that may hide nothing, values
that a request may lose, and requests that the token may not send; and the published URLs that stop working.

A new URL is given only where it follows from the current one: a segment of it changes, and maybe one of what contains it. URLs of objects
that nobody can read yet do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Actual, BrokenUrl, Declared, Desired, ForbiddenRequest, Observed, Step
from reconciler.model.codec import comparable
from reconciler.plan.containment import Key, containers
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.variants import with_segment
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds, Permission, placeholders
from reconciler.resource.conditions import claim_mistakes, mistake
from reconciler.text.names import canonical

NaturalKey = tuple[str, Address | None, tuple[str, ...]]


def twins(drafts: Mapping[Address, Draft], run_drafts: Mapping[Address, Draft]) -> Iterator[str]:
    """A sentence for each resource of this run (`run_drafts`) that would be created with the natural key of a sibling in `drafts`."""
    siblings: dict[NaturalKey, list[Draft]] = {}
    growing = {(draft.kind.name, draft.address.container) for draft in run_drafts.values() if draft.is_new}
    for draft in drafts.values():
        key = _natural_key(draft) if growing and (draft.kind.name, draft.address.container) in growing else None
        if key is not None:
            siblings.setdefault(key, []).append(draft)
    for alike in siblings.values():
        for index, draft in enumerate(alike if len(alike) > 1 else ()):
            created = draft.address in run_drafts and draft.active and draft.is_new and draft.old is None and draft.declared.adopt
            other = alike[0] if index else alike[1]
            if created and (index or not other.is_new):
                names = " and ".join(field.name for field in draft.kind.keys if field.role is not FieldRole.INSIDE)
                yield (
                    f"{_position(draft.declared)} would be created with the same {names} as {_position(other.declared)}; "
                    f"if this is intended, write adopt: never on {draft.address}; if not, change one of them"
                )


def similar_names(
    actual: Actual, drafts: Mapping[Address, Draft], run_drafts: Mapping[Address, Draft], removals: Mapping[Address, Removal]
) -> Iterator[str]:
    """A sentence for each resource of this run that gets a name which differs from that of another object only in case, white space or
    Unicode form. What is declared with another name, or deleted, does not count."""
    naming = [draft for draft in run_drafts.values() if draft.active and _names_it(draft)]
    if not naming:
        return
    ids = {(draft.kind.name, draft.id) for draft in drafts.values() if draft.id is not None}
    ids |= {(removal.kind.name, removal.id) for removal in removals.values() if removal.deletes}
    groups: dict[tuple[Any, ...], list[Observed]] = {}
    for kind in {draft.kind.name: draft.kind for draft in naming}.values():
        for observed in actual.objects.get(kind.name, {}).values():
            if observed.deleted_at is None and (kind.name, observed.id) not in ids:
                groups.setdefault(_folded_key(kind, observed.values, observed.within.get(kind.within or "")), []).append(observed)
    scopes = {draft.address: draft.id for draft in drafts.values()}
    for draft in naming:
        scope = scopes.get(draft.address.container) if draft.address.container is not None else None
        name = next(field.name for field in draft.kind.keys if _is_text(field))
        similar = groups.get(_folded_key(draft.kind, draft.wants, scope), [])
        for observed in [other for other in similar if other.values.get(name) != draft.wants[name]][:1]:
            other = f"the unmanaged {draft.kind.name} {bare(observed.id)} ({observed.values.get(name)!r})"
            yield (
                f"{_position(draft.declared)} gets the {name} {draft.wants[name]!r}, which differs from that of {other} only in case, "
                f"white space or Unicode form; if it is the same object: reconciler adopt {draft.address:sh} {bare(observed.id)}"
            )


def _is_text(field: Field) -> bool:
    return field.role is FieldRole.VALUE and field.refers is None and not field.sensitive


def _names_it(draft: Draft) -> bool:
    """Whether the run gives the object a name: it is created, or its name changes."""
    texts = {field.name for field in draft.kind.keys if _is_text(field) and isinstance(draft.wants.get(field.name), str)}
    return bool(texts) and (draft.is_new or any(difference.field.name in texts for difference in draft.sendable))


def _folded_key(kind: Kind, values: Mapping[str, Any], scope: str | None) -> tuple[Any, ...]:
    parts = (values.get(field.name, UNSET) for field in kind.keys)
    return kind.name, scope, *(canonical(part, caseless=True) if isinstance(part, str) else repr(part) for part in parts)


def _natural_key(draft: Draft) -> NaturalKey | None:
    place = draft.kind.tells_apart
    fields = draft.kind.keys if place is None else (*draft.kind.keys, place)
    values = tuple(draft.wants.get(field.name, UNSET) for field in draft.kind.keys)
    if not values or UNSET in values or draft.declared.implied:
        return None
    return draft.kind.name, draft.address.container, tuple(comparable(field, draft.wants.get(field.name)) for field in fields)


def _position(declared: Declared) -> str:
    return f"{declared.address} ({declared.source.file_and_line})"


# -- conditions that may hide nothing ----------------------------------------------------------------------------------------------


def schemas_to_read(kinds: Kinds, desired: Desired, drafts: Iterable[Draft], ids: Mapping[Address, str]) -> frozenset[Key]:
    """The lists with the schemas of claims that conditions of this plan depend on and that the project does not manage."""
    return frozenset((kind.name, ids[container]) for _, kind, container, _ in _unmanaged(kinds, desired, drafts) if container in ids)


def condition_notes(kinds: Kinds, desired: Desired, drafts: Iterable[Draft], ids: Mapping[Address, str], actual: Actual) -> Iterator[str]:
    """One sentence for each condition that the plan writes and that may hide nothing."""
    for draft, name, condition in _written(drafts):
        wrong = mistake(condition)
        if wrong is not None:
            yield f"{draft.address}: {name} cannot be understood ({wrong}), so everybody may see it"
    for draft, kind, container, conditions in _unmanaged(kinds, desired, drafts):
        assert kind.claims is not None
        failures = [failure for failure in actual.unknown if (failure.kind, failure.scope) == (kind.name, ids.get(container))]
        yield from (f"{draft.address}: its claims could not be checked: {failure.reason}" for failure in failures)
        shown = [observed for observed in actual.objects.get(kind.name, {}).values() if container in ids]
        schemas = [kind.claims(observed.values) for observed in shown if observed.within.get(str(kind.within)) == ids[container]]
        for name, condition in conditions:
            for wrong_claim in (claim_mistake for schema in schemas for claim_mistake in claim_mistakes(condition, schema)):
                yield f"{draft.address}: {name} may hide nothing: {wrong_claim.message} ({container}, not managed)"


def _written(drafts: Iterable[Draft]) -> Iterator[tuple[Draft, str, str]]:
    """Every condition that is written: its draft, its field and its text."""
    for draft in drafts:
        if draft.active:
            for difference in draft.sendable:
                if difference.field.condition and isinstance(difference.after, str):
                    yield draft, difference.field.name, difference.after


def _unmanaged(kinds: Kinds, desired: Desired, drafts: Iterable[Draft]) -> Iterator[tuple[Draft, Kind, Address, list[tuple[str, str]]]]:
    """Each draft with conditions whose container has no declared schema of claims: the schema's kind, the container, the conditions."""
    declaring = {kind.name: kind for kind in kinds.values() if kind.claims is not None}
    declared = {(resource.kind, address.container) for address, resource in desired.resources.items() if resource.kind in declaring}
    written: dict[Address, tuple[Draft, list[tuple[str, str]]]] = {}
    for draft, name, condition in _written(drafts):
        written.setdefault(draft.address, (draft, []))[1].append((name, condition))
    for draft, conditions in written.values():
        for kind in declaring.values():
            container = draft.address.container
            if container is not None and kind.within == draft.kind.within and (kind.name, container) not in declared:
                yield draft, kind, container, conditions


# -- values that the service never shows -------------------------------------------------------------------------------------------


def unshown(drafts: Mapping[Address, Draft]) -> Iterator[str]:
    """A sentence for each object of this run that the next request replaces for the first time."""
    for draft in drafts.values():
        verb = draft.kind.api.get("update")
        if verb is None or not verb.whole or draft.is_new or not draft.active or not draft.sendable:
            continue
        sent = draft.binding.sent if draft.binding is not None else {}
        if any(name in sent for name in verb.whole):
            continue
        names = [field.name for field in draft.kind.sent_by("update") if not field.readable and draft.wants.get(field.name, UNSET) is UNSET]
        if names:
            what = " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
            lost = f"the request replaces the whole {draft.kind.name}, and the service never shows its {what}"
            yield f"{draft.address}: {lost}: if it has them, they may be lost unless you write them"


def unstarted(kinds: Kinds, steps: Iterable[Step], ids: Mapping[Address, str]) -> Iterator[str]:
    """A sentence for each object of this run that the service processes only when somebody starts it."""
    for address, step in {step.address: step for step in steps if step.verb in ("create", "update")}.items():
        kind = kinds[step.kind]
        if kind.work is not None and kind.work.start:
            outer = {name: bare(ids[of]) for name in kinds.containers(kind.name) if (of := kinds.container(address, name)) in ids}
            known = {**outer, "id": bare(ids[address]) if address in ids else "ID"}
            path = kind.work.start.format_map({name: known.get(name, "ID") for name in placeholders(kind.work.start)})
            yield f"{address}: the service changes nothing of its result until somebody starts it: reconciler api POST {path}"


# -- permissions -------------------------------------------------------------------------------------------------------------------


def forbidden_requests(kinds: Kinds, actual: Actual, steps: Sequence[Step], ids: Mapping[Address, str]) -> tuple[ForbiddenRequest, ...]:
    """One for each step whose kind names a permission that the token lacks."""
    requests = []
    for step in steps:
        kind = kinds[step.kind]
        permission = kind.create_permission if step.verb == "create" else kind.permission
        if permission is None:
            continue
        holder, of = _holder(kinds, actual, kind, permission, step, ids)
        permissions = holder.raw.get("permissions") if holder is not None else None
        if isinstance(permissions, Mapping) and permissions.get(permission.flag) is False:
            requests.append(ForbiddenRequest(step.address, step.verb, permission.flag, of))
    return tuple(requests)


def _holder(
    kinds: Kinds, actual: Actual, kind: Kind, permission: Permission, step: Step, ids: Mapping[Address, str]
) -> tuple[Observed | None, Address]:
    """(the object whose permissions apply, its address); None where it does not exist yet."""
    if permission.of is None:
        return (actual.find(kind.name, step.target) if isinstance(step.target, str) else None), step.address
    of = kinds.container(step.address, permission.of)
    return (actual.find(permission.of, ids[of]) if of in ids else None), of


# -- Published URLs ------------------------------------------------------------------------------------------------------------------

ANEW = "it is recreated"
CHOSEN = f"{ANEW}; the service chooses the URL"


def broken_urls(
    kinds: Kinds,
    actual: Actual,
    drafts: Mapping[Address, Draft],
    removals: Mapping[Address, Removal],
    recreated: Mapping[Address, str] = {},
    called: Callable[[Key], Address] | None = None,
) -> Iterator[BrokenUrl]:
    """One for each object whose published URL breaks; the URLs below it break with it and are not reported again. `recreated`: the new URLs
    of what is recreated, as far as they are known. `called`: the address of an object; None leaves out what shows nothing afterwards."""
    lines = [*_broken(kinds, actual, drafts, removals, recreated)]
    yield from lines
    if called is not None:
        yield from _emptied(kinds, actual, drafts, removals, called, lines)


def _broken(
    kinds: Kinds, actual: Actual, drafts: Mapping[Address, Draft], removals: Mapping[Address, Removal], recreated: Mapping[Address, str]
) -> Iterator[BrokenUrl]:
    """Those of what is replaced, changed or deleted."""
    renamed = dict(_renamed(drafts))
    for draft in drafts.values():
        if draft.active and draft.old is not None:
            url = recreated.get(draft.address)
            broken = _gone(kinds, actual, draft.address, draft.kind, draft.old, CHOSEN if url is None else ANEW)
            yield from (replace(line, after=url) for line in broken if line.before != url)
        elif draft.active and draft.differences and draft.observed is not None:
            yield from _changed(kinds, actual, draft, draft.observed, renamed)
    for removal in removals.values():
        if removal.deletes and removal.observed is not None and not (removal.deleted_with or removal.replaces):
            yield from _gone(kinds, actual, removal.address, removal.kind, removal.observed, "it is deleted")


def _emptied(
    kinds: Kinds,
    actual: Actual,
    drafts: Mapping[Address, Draft],
    removals: Mapping[Address, Removal],
    called: Callable[[Key], Address],
    lines: Collection[BrokenUrl],
) -> Iterator[BrokenUrl]:
    """What remains and shows something that is deleted: readers find nothing at its URL. `lines`: of the URLs that break otherwise."""
    leaving = {(removal.kind.name, removal.id): address for address, removal in removals.items() if removal.deletes}
    sent = {
        (draft.kind.name, draft.id): {difference.field.name for difference in draft.sendable} for draft in drafts.values() if draft.active
    }
    replaced = {(draft.kind.name, draft.old.id) for draft in drafts.values() if draft.active and draft.old is not None}
    ended = {line.address for line in lines if line.after is None}
    for kind in kinds.values() if leaving else ():
        for field in kind.shows if kind.published is not None else ():
            for observed in actual.objects.get(kind.name, {}).values():
                key, shown = (kind.name, observed.id), (str(field.refers), str(observed.values.get(field.name)))
                if shown not in leaving or observed.deleted_at is not None or field.name in sent.get(key, ()):
                    continue
                around = {key, *containers(kind, observed)}
                if not around & {*leaving, *replaced} and ended.isdisjoint(map(called, around)):
                    yield from _gone(kinds, actual, called(key), kind, observed, f"it shows {leaving[shown]}, which is deleted")


def _gone(kinds: Kinds, actual: Actual, address: Address, kind: Kind, now: Observed, reason: str) -> Iterator[BrokenUrl]:
    url = kind.url(now.raw)
    if url is not None and is_read(kinds, actual, kind, now):
        yield BrokenUrl(address, kind.name, _open(kind, url), None, reason)


def _open(kind: Kind, url: str) -> str | None:
    return None if kind.published is not None and kind.published.secret else url


def is_read(kinds: Kinds, actual: Actual, kind: Kind, now: Observed) -> bool:
    """Whether people read the object at its published URL: neither it nor a container is set otherwise."""
    if kind.published is not None and kind.published.unless is not None:
        field, value = kind.published.unless
        if now.values.get(field) == value:
            return False
    for name, id in now.within.items():
        outer = actual.find(name, id)
        if outer is not None and kinds[name].published is not None and not is_read(kinds, actual, kinds[name], outer):
            return False
    return True


Renamed = Mapping[str, tuple[Any, Any]]
"""By URL, the former and the new value of the segment that the run changes."""


def _renamed(drafts: Mapping[Address, Draft]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for draft in drafts.values():
        url = draft.kind.url(draft.observed.raw) if draft.active and draft.differences and draft.observed is not None else None
        if url is not None:
            for difference in draft.sendable:
                if difference.field.address == "segment" and url is not None:
                    yield url, (difference.before, difference.after)


def _outer(url: str, renamed: Renamed) -> str:
    """The longest URL above this one whose segment changes; "" if there is none."""
    parts = url.split("/")
    return next((outer for end in range(len(parts) - 1, 0, -1) if (outer := "/".join(parts[:end])) in renamed), "")


def _with_outer(url: str, segment: tuple[Any, Any] | None, renamed: Renamed) -> str | None:
    """The URL after the run: with its own segment replaced, and those of what contains it; None if one of them is not in the URL."""
    outer = _outer(url, renamed)
    tail: str | None = url[len(outer) :]
    if segment is not None:
        tail = with_segment(tail, *segment)
    head = _with_outer(outer, renamed[outer], renamed) if outer else ""
    return head + tail if head is not None and tail is not None else None


def _changed(kinds: Kinds, actual: Actual, draft: Draft, now: Observed, renamed: Renamed) -> Iterator[BrokenUrl]:
    kind = draft.kind
    url = kind.url(now.raw)
    read = url is not None and is_read(kinds, actual, kind, now)
    after, reasons = url, []
    for difference in draft.sendable:
        source = draft.declared.positions.get(difference.field.name, draft.declared.source)
        if difference.field.address == "whole" and difference.before not in (None, UNSET):
            then = difference.after if isinstance(difference.after, str) else None
            yield BrokenUrl(draft.address, kind.name, str(difference.before), then, f"{difference.field.name} changes", source)
        elif difference.field.address == "segment" and read:
            after = _with_outer(url, (difference.before, difference.after), renamed) if after is not None and url is not None else None
            reasons.append(f"{difference.field.name} changes")
        elif read and difference.before in difference.field.opens and difference.after not in difference.field.opens:
            after = None
            before, then = (
                str(value).lower() if isinstance(value, bool) else str(value)
                for value in map(difference.field.shown, (difference.before, difference.after))
            )
            reasons.append(f"{difference.field.name} {before} -> {then}")
    if reasons and url is not None:
        yield BrokenUrl(draft.address, kind.name, _open(kind, url), after, " and ".join(reasons), draft.declared.source)
