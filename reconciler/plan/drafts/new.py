"""Creates and replacements: whether they are possible, and with which values. Pure."""

from __future__ import annotations

from dataclasses import replace

from reconciler.model import Actual, Cause, Observed
from reconciler.plan.decisions import Create, Draft, Replace
from reconciler.plan.drafts.undeclared import left_behind
from reconciler.plan.matching.differences import FieldDifference
from reconciler.resource import UNSET, Field, FieldRole, Kind, Verb
from reconciler.text.suggest import a


def draft_create(draft: Draft, *, gone: bool, may_replace: bool) -> Draft:
    """The draft of a resource without an object, blocked where it cannot be created. `gone`: its object was deleted outside Reconciler."""
    kind, address, first = draft.kind, draft.address, draft.kind.first
    if "create" not in kind.api:
        return draft.block(
            f"no longer exists, and {a(kind.name)} cannot be created",
            f"stop managing it: reconciler state forget {address:sh}",
            id="RC-cannot-be-created",
        )
    if gone and kind.deleted_at is not None and not may_replace:
        reason = "was deleted outside Reconciler and can no longer be restored: its content is lost"
        return draft.block(reason, f"to recreate it: --allow-replace {address:sh}", id="RC-replacement-needs-consent")
    seed = kind.api["create"].copies
    if seed is not None and draft.wants.get(seed, UNSET) is UNSET:
        reason = f"does not exist, and the service creates {a(kind.name)} only as a copy of another"
        return draft.block(reason, f"write {seed}: KEY, or the id of an existing one", id="RC-nothing-to-copy")
    if first is not None and draft.wants.get(first.name, UNSET) is UNSET:
        return draft.block(f"cannot be created without a first {first.to}", f"give it one {first.to}", id="RC-first-part-missing")
    lacking = without(draft, draft.kind.api["create"])
    if lacking is not None:
        return draft.block(*lacking, id="RC-sent-together")
    return replace(draft, purpose=Create(), reason="deleted outside Reconciler" if gone else draft.reason, differences=_from_nothing(draft))


def without(draft: Draft, verb: Verb) -> tuple[str, str] | None:
    """Why a request that replaces the whole object is not sent, and what to do; None where it may be sent."""
    names = [name for name in verb.whole if draft.wants.get(name, UNSET) is UNSET]
    if not names:
        return None
    lost = f"the request replaces the whole {draft.kind.name}, and the service never shows {' and '.join(names)}"
    return f"cannot be sent without {' and '.join(names)}: {lost}", f"write {' and '.join(names)}"


def draft_replacement(draft: Draft, actual: Actual, id: str) -> Draft:
    """The draft of the resource that replaces the object `id`, with the values that the YAML does not manage."""
    old = actual.find(draft.kind.name, id)
    assert old is not None
    values, lost = _carried_over(draft.kind, old, dict(draft.wants), actual)
    draft = replace(draft, purpose=Replace(old), observed=None, id=None, wants={**draft.wants, **values})
    parts = [f"{'keeps' if names is values else 'loses'} {', '.join(names)}" for names in (values, lost) if names]
    reason = (" and ".join(parts) + left_behind(actual, draft.kind, old)).removeprefix("; ")
    return replace(draft, differences=_from_nothing(draft), reason=reason)


def _carried_over(kind: Kind, old: Observed, wants: dict[str, object], actual: Actual) -> tuple[dict[str, object], tuple[str, ...]]:
    """The values that the new object gets in addition to the declared ones, and the names of the fields that are lost.

    `wants`: the declared values, in the request form. A value that the YAML does not manage is kept where a request can write it, unless it
    must be unique among siblings and a sibling has it.
    """
    values: dict[str, object] = {}
    lost: list[str] = []
    for name, field in kind.fields.items():
        value = old.values.get(name, UNSET)
        if field.role is not FieldRole.VALUE or wants.get(name, UNSET) is not UNSET or value in (UNSET, None, ""):
            continue
        if value == (field.usual(old.raw) if callable(field.usual) else field.usual):
            continue  # the service sets it again by itself
        if field.on and not field.sensitive and not field.hosted and not (field.unique and _is_taken(kind, old, wants, actual, field)):
            values[name] = value
        else:
            lost.append(name)
    return values, tuple(lost)


def _is_taken(kind: Kind, old: Observed, wants: dict[str, object], actual: Actual, field: Field) -> bool:
    """Whether another object has the value in the location of the new one."""
    inside = kind.inside
    return any(
        observed.values.get(field.name) == old.values.get(field.name)
        and observed.within == old.within
        and (inside is None or observed.values.get(inside.name) == wants.get(inside.name))
        for observed in actual.objects.get(kind.name, {}).values()
        if observed.id != old.id
    )


def _from_nothing(draft: Draft) -> tuple[FieldDifference, ...]:
    """Every declared field of an object to create, as a difference from UNSET; values that the service sets by itself are left out."""
    differences = []
    for name, field in draft.kind.fields.items():
        value = draft.wants.get(name, UNSET)
        if value is UNSET or not field.compared:
            continue
        if (field.container and value is None) or (field.one_way and not value) or (not field.on and field.role is not FieldRole.MEMBER):
            continue
        differences.append(FieldDifference(field, UNSET, value, Cause.YOURS))
    return tuple(differences)
