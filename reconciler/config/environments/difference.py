"""What differs between two environments of a project: settings, resources that only one of them has, ids, fields, order. Pure."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from reconciler.address import Address
from reconciler.config.keys import IGNORE_CHANGES, PROJECT
from reconciler.config.settings import Project, ProjectSettings
from reconciler.model import Declared, Desired
from reconciler.resource import UNSET, Foreign, Kinds

HIDDEN: Final = "(hidden)"
NOTHING: Final = "(not set)"
_PLAIN: Final = re.compile(r'(?!(?:null|true|false|-?\d[\d.eE+-]*)\Z|["\[{(])\S(?:.*\S)?')
# What an environment may set, and is compared: every setting that a project has as a value of its own.
_SETTINGS: Final = {
    name: key.attribute
    for setting in PROJECT
    if setting.role == "setting" and setting.name != "project"
    for name, key in setting.leaves()
    if key.attribute in ProjectSettings.__dataclass_fields__
}


def differences(kinds: Kinds, first: Project, second: Project) -> Iterator[str]:
    """A line for each difference: what it is about, its value in one environment, and in the other."""
    yield from _settings(first.settings, second.settings)
    names = (str(first.desired.environment), str(second.desired.environment))
    for name in ("prune", "guards"):
        yield from _line(name, _rule(first.desired, name), _rule(second.desired, name))
    for name in ("protect", "access"):
        yield from _members(name, getattr(first.desired.rules, name), getattr(second.desired.rules, name), names)
    yield from _policies(first.desired, second.desired, names)
    left, right = _declared(first.desired), _declared(second.desired)
    for address in sorted({*left, *right}):
        first_value, second_value = left.get(address), right.get(address)
        if first_value is None or second_value is None:
            yield f"{address}: only in {names[1] if first_value is None else names[0]}"
        else:
            yield from _resource(kinds, first_value, second_value)
    yield from _orders(kinds, left, right)


def _settings(first: ProjectSettings, second: ProjectSettings) -> Iterator[str]:
    for name, attribute in _SETTINGS.items():
        yield from _line(name, _setting(first, attribute), _setting(second, attribute))


def _setting(settings: ProjectSettings, attribute: str) -> Any:
    value = getattr(settings, attribute)
    return str(value).replace(f"{settings.root}/", "") if attribute in ("sandbox", "state") and value is not None else _known(value)


def _known(value: Any) -> Any:
    """A value, of which None means that there is none. Of a field, `null` is a value."""
    return UNSET if value is None else value


def _rule(desired: Desired, name: str) -> Any:
    value = getattr(desired.rules, name)
    if name == "guards":
        return vars(value)
    return dict(value) if isinstance(value, Mapping) else value


def _members(name: str, first: Collection[str], second: Collection[str], names: tuple[str, str]) -> Iterator[str]:
    """A line for each member of a set that only one of them has."""
    for member in sorted({*first} ^ {*second}):
        yield f"{name} {member}: only in {names[0] if member in first else names[1]}"


def _policies(first: Desired, second: Desired, names: tuple[str, str]) -> Iterator[str]:
    """Policies that only one of them has, or that have another level, and exceptions."""
    left, right = ({policy.id: str(policy.level) for policy in desired.policies.rules} for desired in (first, second))
    for id in dict.fromkeys((*left, *right)):
        yield from _line(f"policy {id}", left.get(id, UNSET), right.get(id, UNSET))
    yield from _members("exception", first.policies.exceptions, second.policies.exceptions, names)


def _declared(desired: Desired) -> dict[Address, Declared]:
    return {address: declared for address, declared in desired.resources.items() if not declared.implied}


def _resource(kinds: Kinds, first: Declared, second: Declared) -> Iterator[str]:
    yield from _line(f"{first.address}.id", _known(first.id), _known(second.id))
    for name in dict.fromkeys((*first.values, *second.values)):
        first_value, second_value = first.values.get(name, UNSET), second.values.get(name, UNSET)
        if first_value != second_value and kinds[first.kind].fields[name].sensitive:
            yield f"{first.address}.{name}: {HIDDEN}"
        else:
            yield from _line(f"{first.address}.{name}", first_value, second_value)
    for name in ("protect", "adopt"):
        yield from _line(f"{first.address}.{name}", _known(getattr(first, name)), _known(getattr(second, name)))
    yield from _line(f"{first.address}.{IGNORE_CHANGES}", sorted(first.ignores), sorted(second.ignores))


def _orders(kinds: Kinds, first: Mapping[Address, Declared], second: Mapping[Address, Declared]) -> Iterator[str]:
    """Ordered lists whose nodes both have, in another order."""
    rows: list[dict[tuple[str, str], list[str]]] = [defaultdict(list), defaultdict(list)]
    for row, resources, others in ((rows[0], first, second), (rows[1], second, first)):
        for address, declared in resources.items():
            if kinds[declared.kind].place.in_list and address in others and others[address].parent == declared.parent:
                row[(str(declared.parent), declared.section)].append(address.key)
    for (parent, section), keys in rows[0].items():
        yield from _line(f"the order of {section} in {parent}", keys, rows[1][(parent, section)])


def _line(name: str, first: Any, second: Any) -> Iterator[str]:
    """The line, if the values differ in what JSON shows of them."""
    if _json(first) != _json(second):
        yield f"{name}: {_shown(first)} -> {_shown(second)}"


def _shown(value: Any) -> str:
    """A text that cannot be mistaken for another value, or for nothing, is without quotes."""
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else _json(value)


def _json(value: Any) -> str:
    return NOTHING if value is UNSET else json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Values that JSON cannot represent."""
    if isinstance(value, Foreign):
        return {"id": value.id}
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)
