"""What differs between two environments of a project: settings, resources that only one of them has, ids, fields, order. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from reconciler.address import Address
from reconciler.config.keys import IGNORE_CHANGES
from reconciler.config.settings import Project, ProjectSettings
from reconciler.model import Declared, Desired
from reconciler.resource import UNSET, Foreign, Kinds

HIDDEN: Final = "(hidden)"
NOTHING: Final = "(not set)"
_SETTINGS: Final = {
    "service.baseUrl": "base_url", "service.sandbox": "sandbox", "service.member": "member", "service.timeout": "timeout",
    "state": "state", "recovery.settle": "settle",
}  # fmt: skip


def differences(kinds: Kinds, one: Project, other: Project) -> Iterator[str]:
    """A line for each difference: what it is about, its value in one environment, and in the other."""
    yield from _settings(one.settings, other.settings)
    names = (str(one.desired.environment), str(other.desired.environment))
    for name in ("prune", "guards"):
        yield from _line(name, _rule(one.desired, name), _rule(other.desired, name))
    for name in ("protect", "access"):
        yield from _members(name, getattr(one.desired.rules, name), getattr(other.desired.rules, name), names)
    yield from _policies(one.desired, other.desired, names)
    left, right = _declared(one.desired), _declared(other.desired)
    for address in sorted({*left, *right}):
        here, there = left.get(address), right.get(address)
        if here is None or there is None:
            yield f"{address}: only in {names[1] if here is None else names[0]}"
        else:
            yield from _resource(kinds, here, there)
    yield from _orders(kinds, left, right)


def _settings(one: ProjectSettings, other: ProjectSettings) -> Iterator[str]:
    for name, attribute in _SETTINGS.items():
        yield from _line(name, _setting(one, attribute), _setting(other, attribute))


def _setting(settings: ProjectSettings, attribute: str) -> Any:
    value = getattr(settings, attribute)
    return str(value).replace(f"{settings.root}/", "") if attribute in ("sandbox", "state") and value is not None else value


def _rule(desired: Desired, name: str) -> Any:
    value = getattr(desired.rules, name)
    if name == "guards":
        return vars(value)
    return dict(value) if isinstance(value, Mapping) else value


def _members(name: str, one: Collection[str], other: Collection[str], names: tuple[str, str]) -> Iterator[str]:
    """A line for each member of a set that only one of them has."""
    for member in sorted({*one} ^ {*other}):
        yield f"{name} {member}: only in {names[0] if member in one else names[1]}"


def _policies(one: Desired, other: Desired, names: tuple[str, str]) -> Iterator[str]:
    """Policies that only one of them has, or that have another level, and exceptions."""
    left, right = ({policy.id: str(policy.level) for policy in desired.policies.rules} for desired in (one, other))
    for id in dict.fromkeys((*left, *right)):
        yield from _line(f"policy {id}", left.get(id), right.get(id))
    yield from _members("exception", one.policies.exceptions, other.policies.exceptions, names)


def _declared(desired: Desired) -> dict[Address, Declared]:
    return {address: declared for address, declared in desired.resources.items() if not declared.implied}


def _resource(kinds: Kinds, one: Declared, other: Declared) -> Iterator[str]:
    yield from _line(f"{one.address}.id", one.id, other.id)
    for name in dict.fromkeys((*one.values, *other.values)):
        here, there = one.values.get(name, UNSET), other.values.get(name, UNSET)
        if here != there and kinds[one.kind].fields[name].sensitive:
            yield f"{one.address}.{name}: {HIDDEN}"
        else:
            yield from _line(f"{one.address}.{name}", here, there)
    for name in ("protect", "adopt"):
        yield from _line(f"{one.address}.{name}", getattr(one, name), getattr(other, name))
    yield from _line(f"{one.address}.{IGNORE_CHANGES}", sorted(one.ignores), sorted(other.ignores))


def _orders(kinds: Kinds, one: Mapping[Address, Declared], other: Mapping[Address, Declared]) -> Iterator[str]:
    """Ordered lists whose nodes both have, in another order."""
    rows: list[dict[tuple[str, str], list[str]]] = [defaultdict(list), defaultdict(list)]
    for row, resources, others in ((rows[0], one, other), (rows[1], other, one)):
        for address, declared in resources.items():
            if kinds[declared.kind].place.in_list and address in others and others[address].parent == declared.parent:
                row[(str(declared.parent), declared.section)].append(address.key)
    for (parent, section), keys in rows[0].items():
        yield from _line(f"the order of {section} in {parent}", keys, rows[1][(parent, section)])


def _line(name: str, one: Any, other: Any) -> Iterator[str]:
    if one != other:
        yield f"{name}: {_shown(one)} -> {_shown(other)}"


def _shown(value: Any) -> str:
    if value is UNSET or value is None:
        return NOTHING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Values that JSON cannot represent."""
    if isinstance(value, Foreign):
        return {"id": value.id}
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)
