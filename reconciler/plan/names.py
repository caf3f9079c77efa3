"""The addresses that people read in place of ids. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from reconciler.address import Address, bare


class Names(dict[str, Address]):
    """Addresses by id, as the engine calls the objects."""

    def near(self, id: str, where: Address) -> Address | None:
        """The address of a service id in a value of the resource at `where`; None where it is not known."""
        at: Address | None = where
        address = self.get(id)
        while address is None and at is not None:
            address, at = self._local.get((at, id)), at.container
        return address

    @cached_property
    def _local(self) -> dict[tuple[Address | None, str], Address]:
        """What has an id that is unique only within its container."""
        return {(address.container, bare(id)): address for id, address in self.items() if bare(id) != id}


def named(value: Any, names: Names, where: Address) -> Any:
    """A value in the request form, of the resource at `where`, with known ids replaced by addresses."""
    match value:
        case Address():
            return str(value)
        case str():
            return str(names.near(value, where) or value)
        case Mapping():
            return {key: named(part, names, where) for key, part in value.items()}
        case list() | tuple():
            return [named(part, names, where) for part in value]
        case _:
            return value
