"""The tracked objects, past or present, with what is known about each, and which objects use them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from reconciler.address import Address
from reconciler.model import Actual, Binding, Observed, Source, State
from reconciler.model.codec import ids_in, title
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds

NOWHERE: Final = Source("(no line of the YAML)", 0)


@dataclass(frozen=True)
class ObservedObject:
    """One tracked object and what is shown of it now."""

    address: Address
    kind: Kind
    id: str
    binding: Binding | None
    observed: Observed | None


def tracked_objects(kinds: Kinds, state: State, actual: Actual) -> dict[Address, ObservedObject]:
    """Every tracked object of a known kind."""
    return {
        address: ObservedObject(address, kinds[binding.kind], binding.id, binding, actual.find(binding.kind, binding.id))
        for address, binding in state.bindings.items()
        if binding.kind in kinds
    }


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
