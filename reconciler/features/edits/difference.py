"""Whether two versions of a project declare the same, up to the addresses that a rename changed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.urls.model.redirects import UrlSettings, url_settings
from reconciler.model import Declared, Desired

Moved = Callable[[Address], Address]
LEFT_OUT: Final = frozenset({"address", "source", "positions", "lines", "previously", "index", "expected"})
"""What a rename may change in a resource: where it is written, and its place in a map."""


def difference(before: Desired, after: Desired, moved: Moved) -> str | None:
    """The first difference, for a message; None if there is none. `moved`: the new address of each."""
    return next(_differences(before, after, moved), None)


def _differences(before: Desired, after: Desired, moved: Moved) -> Iterator[str]:
    yield from _resources(before.resources, after.resources, moved)
    removed = {address: excluded.declared for address, excluded in before.excluded.items()}
    yield from _resources(removed, {address: excluded.declared for address, excluded in after.excluded.items()}, moved)
    for name in ("prune", "protect", "guards"):
        if getattr(before, name) != getattr(after, name):
            yield name
    if _with(before.lister, moved) != after.lister:
        yield "service.member"
    lists = [(desired.patches, desired.access, desired.policies.rules, desired.policies.exemptions) for desired in (before, after)]
    if [*map(len, lists[0])] != [*map(len, lists[1])]:
        yield "which patches, tests of access, policies and exceptions there are"
        return
    every = (*before.resources, *before.excluded)
    for old, new in zip(before.patches, after.patches, strict=True):
        if {moved(address) for address in every if old.glob.matches(address)} != {
            moved(address) for address in every if new.glob.matches(moved(address))
        } or set(old.sets) != set(new.sets):
            yield f"the patch at {old.source}"
    for old_test, new_test in zip(before.access, after.access, strict=True):
        asked = [(demand.word, moved(address)) for demand, address in old_test.asks]
        if sorted(asked) != sorted((demand.word, address) for demand, address in new_test.asks) or (
            old_test.reader.link is not None and (moved(old_test.reader.link) != new_test.reader.link)
        ):
            yield f"the test of access at {old_test.source}"
    for old_rule, new_rule in zip(before.policies.rules, after.policies.rules, strict=True):
        about = {moved(address) for address, declared in before.resources.items() if old_rule.applies(address, declared.kind)}
        if about != {address for address, declared in after.resources.items() if new_rule.applies(address, declared.kind)}:
            yield f"the policy at {old_rule.source}"
    for old_line, new_line in zip(before.policies.exemptions, after.policies.exemptions, strict=True):
        about = {moved(address) for address in before.resources if old_line.covers(address)}
        if about != {address for address in after.resources if new_line.covers(address)}:
            yield f"the exception at {old_line.source}"
    sites, sites_after = ((url_settings(desired) or UrlSettings()).sites for desired in (before, after))
    if {moved(site): files.formats for site, files in sites.items()} != {site: files.formats for site, files in sites_after.items()}:
        yield "urls"


def _resources(before: Mapping[Address, Declared], after: Mapping[Address, Declared], moved: Moved) -> Iterator[str]:
    for address, declared in before.items():
        other = after.get(moved(address))
        if other is None:
            yield f"{address} at {declared.source}, which would not be declared any more"
            continue
        for name in (part.name for part in fields(Declared) if part.name not in LEFT_OUT):
            if name == "values":
                for key in {*declared.values, *other.values}:
                    if _with(declared.values.get(key), moved) != _with(other.values.get(key), _same):
                        yield f"{address}.{key}{f' at {at}' if (at := declared.positions.get(key)) is not None else ''}"
            elif _with(getattr(declared, name), moved) != _with(getattr(other, name), _same):
                yield f"{name} of {address} at {declared.source}"
    known = {moved(address) for address in before}
    yield from (f"{address}, which would be new" for address in after if address not in known)


def _same(address: Address) -> Address:
    return address


def _with(value: Any, moved: Moved) -> Any:
    """A value with the new addresses; lists are sorted where they contain addresses, as they are sets."""
    match value:
        case Address():
            return moved(value)
        case Mapping():
            return {key: _with(part, moved) for key, part in value.items()}
        case tuple() | list() | set() | frozenset():
            parts = [_with(part, moved) for part in value]
            return sorted(parts) if parts and all(isinstance(part, Address) for part in parts) else parts
        case _:
            return value
