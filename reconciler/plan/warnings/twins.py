"""Names that a plan would give twice: to siblings that are declared, or to one that exists. Pure.

In: the drafts, and what was read. Out: a sentence for each resource that would be created with the name of a sibling, or that would get a
name which differs from that of another object only in case. The service allows it, so it is not an error; but where the state is lost, the
two cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Actual, Declared, Observed
from reconciler.model.codec import comparable
from reconciler.plan.decisions import Draft, Removal
from reconciler.resource import UNSET, Field, FieldRole, Kind
from reconciler.text.names import canonical

Key = tuple[str, Address | None, tuple[str, ...]]


def twins(drafts: Mapping[Address, Draft], run_drafts: Mapping[Address, Draft]) -> Iterator[str]:
    """A sentence for each resource of this run (`run_drafts`) that would be created with the natural key of a sibling in `drafts`."""
    siblings: dict[Key, list[Draft]] = {}
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
                yield _sentence(draft, other)


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


def _natural_key(draft: Draft) -> Key | None:
    values = tuple(draft.wants.get(field.name, UNSET) for field in draft.kind.keys)
    if not values or UNSET in values or draft.declared.implied:
        return None
    return draft.kind.name, draft.address.container, tuple(comparable(field, draft.wants[field.name]) for field in draft.kind.keys)


def _sentence(draft: Draft, other: Draft) -> str:
    names = " and ".join(field.name for field in draft.kind.keys if field.role is not FieldRole.INSIDE)
    return (
        f"{_position(draft.declared)} would be created with the same {names} as {_position(other.declared)}; "
        f"if this is intended, write adopt: never on {draft.address}; if not, change one of them"
    )


def _position(declared: Declared) -> str:
    return f"{declared.address} ({declared.source.file_and_line})"
