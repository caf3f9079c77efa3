"""References by id: whether what they name belongs to the container in which it is declared. Pure.

In: a declared resource, one of its fields, what was read. Out: why the reference must not be sent. The service accepts the id of an object
in any organization, to copy, show or choose it; so no id is sent whose organization no reading showed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import WHEN_READ, Actual, Blocked, Declared, Observed
from reconciler.model.codec import outside, path_ids, request
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.natural_keys import listed, unread
from reconciler.resource import UNSET, Field, Foreign, Kind, Kinds


def outsider(kinds: Kinds, declared: Declared, field: Field, value: Any, actual: Actual, matches: Matches) -> Blocked | None:
    """Why a field must not be sent: it names an object that is not, or not known to be, in the declared container."""
    for reference in outside(value):
        kind, container = scope_of(kinds, declared.address, reference)
        if kind is None or container is None:
            continue
        within = path_ids(kinds, container, matches.id)
        id = kind.identity(reference.id, within)
        scope = within.get(kind.within or "")
        now = actual.find(kind.name, id)
        if now is not None and scope is not None and now.within.get(kind.within or "") == scope:
            continue
        source = declared.positions.get(field.name, declared.source)
        what = f"{field.name} names {kind.name} {bare(id)}"
        absent = (kind.name, id) in actual.absent or (listed(kind) and (kind.name, scope) in actual.complete)
        if now is not None or absent or (kind.name, id) in actual.elsewhere:
            way = f"correct the id: {declared.address} can only use what belongs to {container}"
            return Blocked(declared.address, f"{what}, which is not in {container}", way, source, id="RC-refers-outside")
        reason = unread(kind, {None, scope}, id, actual) or "it was not read"
        return Blocked(
            declared.address,
            f"{what}, and it is unknown whether that is in {container}: {reason}",
            WHEN_READ,
            source,
            id="RC-unread",
        )
    return None


def scope_of(kinds: Kinds, address: Address, reference: Foreign) -> tuple[Kind | None, Address | None]:
    """The kind that a reference names, and the container around an address to which what it names must belong; None where there is none."""
    kind = kinds.get(reference.kind)
    if kind is None or kind.within is None:
        return kind, None
    try:
        return kind, kinds.container(address, kind.within)
    except KeyError:
        return kind, None


def pending(kind: Kind, declared: Declared, now: Observed | None, ids: Mapping[Address, str]) -> Iterable[Foreign]:
    """The references by id that a request for a resource may carry: all where it may be created, else those of fields that differ."""
    for name, value in declared.values.items():
        field = kind.fields[name]
        if now is None or kind.replaceable or (field.compared and request(field, value, ids) != now.values.get(name, UNSET)):
            yield from outside(value)
