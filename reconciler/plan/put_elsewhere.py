"""What a service puts into an unmanaged container, although it is declared at the top. Pure.

Nothing can put it back: whatever is created at the top again is put there again. So it is neither called done nor replaced, and the lines
that declare it in that container are written out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from reconciler.address import Address
from reconciler.model import Actual, Declared, Desired
from reconciler.plan.decisions import Draft
from reconciler.resource import Field, Kind, Kinds


def container_field(kinds: Kinds, kind: Kind, declared: Declared) -> Field | None:
    """The field that names where the service itself may put what is declared at the top of its container; None if it never does."""
    field = kind.inside
    if field is None or field.to is None or declared.parent != declared.address.container or kind.name not in kinds[field.to].reshapes:
        return None
    return field


def put_elsewhere(kinds: Kinds, desired: Desired, declared: Declared, kind: Kind, id: str, title: str) -> tuple[str, str]:
    """What happened, and what to do. `id`, `title`: of the container that contains the object now."""
    container, field = declared.address.container, kind.inside
    assert container is not None
    assert field is not None
    outer = kinds[str(field.to)]
    what = f"is in the {outer.name} {title!r} ({id}), into which the service put it: it lets none be at the top of {container}"
    line = f"{{{outer.place.tag}: {container.key}, id: {id}, title: {json.dumps(title)}, "
    items = ", ".join(_items(desired, kind, container))
    way = f"declare it there: in {container}, instead of what {kind.place.section_in(str(kind.within))}: has now: "
    return what, f"{way}- {line}{kind.place.section_in(outer.name)}: [{items}]}}"


def unread_lists(actual: Actual, drafts: Mapping[Address, Draft]) -> Iterator[tuple[str, str]]:
    """The lists that show into what the service put something."""
    for draft in drafts.values():
        if (
            draft.blocked is not None
            and draft.blocked.id == "RC-put-elsewhere"
            and draft.observed is not None
            and draft.kind.inside is not None
        ):
            list_ = str(draft.kind.inside.to), draft.observed.within.get(str(draft.kind.within), "")
            if list_ not in actual.complete:
                yield list_


def _items(desired: Desired, kind: Kind, container: Address) -> Iterator[str]:
    """The resources of a kind at the top of a container, as they are written in a list."""
    for address, resource in desired.resources.items():
        if resource.kind == kind.name and resource.parent == container == address.container:
            named = resource.values.get(str(kind.place.tag))
            key = named.key if isinstance(named, Address) else address.key
            yield str(key) if key == address.key else f"{{{kind.place.tag}: {key}, key: {address.key}}}"
