"""Objects that a request replaces as a whole, with values that the service never shows: those that are not declared may be lost. Pure.

In: the drafts of a run. Out: a sentence for each such object. Once this project has sent the whole, nothing is left that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.address import Address
from reconciler.plan.decisions import Draft
from reconciler.resource import UNSET


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
