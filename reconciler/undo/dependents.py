"""The objects that are in another one, or refer to it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from reconciler.address import Address
from reconciler.model import Actual
from reconciler.model.codec import ids_in, title
from reconciler.resource import UNSET, Field, FieldRole, Kinds
from reconciler.undo.snapshot import ObservedObject


def used_by(
    kinds: Kinds, actual: Actual, known: Mapping[Address, ObservedObject], leaves: Callable[[Address, Field], bool]
) -> Iterator[tuple[str, str, str]]:
    """Every use: (id of the used object, id of its user, the user's name for people). `leaves`: whether a field of the user is about to
    change."""
    names = {object_.id: address for address, object_ in known.items()}
    for name, some in actual.objects.items():
        kind = kinds[name]
        for object_ in some.values():
            if object_.deleted_at is not None:
                continue
            address = names.get(object_.id)
            user = str(address) if address is not None else f"{name} {title(object_)!r}"
            used = {id for outer, id in object_.within.items() if outer == kind.within}
            for name_of_field, value in object_.values.items():
                field = kind.fields[name_of_field]
                if value is not UNSET and field.role is not FieldRole.CHOICE and not (address is not None and leaves(address, field)):
                    used |= set(ids_in(value))
            for id in used:
                yield id, object_.id, user
