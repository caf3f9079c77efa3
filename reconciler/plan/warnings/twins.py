"""Siblings that are declared with the same natural key. Pure.

In: the drafts. Out: a sentence for each resource that would be created beside another of the same name. The service allows it, so it is not
an error; but where the state is lost, the two cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.address import Address
from reconciler.model import Declared
from reconciler.plan.decisions import Draft
from reconciler.resource import UNSET, FieldRole

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


def _natural_key(draft: Draft) -> Key | None:
    values = tuple(draft.wants.get(field.name, UNSET) for field in draft.kind.keys)
    if not values or UNSET in values or draft.declared.implied:
        return None
    return draft.kind.name, draft.address.container, tuple(repr(value) for value in values)


def _sentence(draft: Draft, other: Draft) -> str:
    names = " and ".join(field.name for field in draft.kind.keys if field.role is not FieldRole.INSIDE)
    return (
        f"{_position(draft.declared)} would be created with the same {names} as {_position(other.declared)}; "
        f"if this is intended, write adopt: never on {draft.address}; if not, change one of them"
    )


def _position(declared: Declared) -> str:
    return f"{declared.address} ({declared.source.file_and_line})"
