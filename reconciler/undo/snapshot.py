"""One object, past or present, with what is known about it. Pure."""

from __future__ import annotations

from typing import Final

from reconciler.address import Address
from reconciler.dataclass import dataclass
from reconciler.model import Actual, Binding, Observed, Source, State
from reconciler.resource import Kind, Kinds

NOWHERE: Final = Source("(no line of the YAML)", 0)


@dataclass(frozen=True)
class ObservedObject:
    """One tracked object and what is shown of it now."""

    address: Address
    kind: Kind
    id: str
    binding: Binding | None
    observed: Observed | None


def things(kinds: Kinds, state: State, actual: Actual) -> dict[Address, ObservedObject]:
    """Every tracked object of a known kind."""
    return {
        address: ObservedObject(address, kinds[binding.kind], binding.id, binding, actual.find(binding.kind, binding.id))
        for address, binding in state.bindings.items()
        if binding.kind in kinds
    }
