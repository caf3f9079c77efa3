"""The values that most objects of a kind share, for `defaults`: written once where that makes the files shorter. Pure.

In: gathered objects, and the writer of their values. Out: values as written, by kind and field. Forbidden: the form of the YAML.

A default must not change what an object has, so every object that has another value must be able to write it: where one cannot (the
service does not show its value, or it has no written form), the field gets no default. And nothing is opened for resources that people add
later: what gives access without anybody's decision, or cannot be undone, is written where it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from reconciler.features.importer.entry import EntryWriter, comparable
from reconciler.features.importer.gather import GatheredObject, tag
from reconciler.features.importer.values import Unwritable
from reconciler.resource import UNSET, Field, FieldRole, Kind
from reconciler.yamltext.emit import closed

HEAD: Final = len("defaults:\n  : {}\n")  # characters that a kind costs


def shared_values(writer: EntryWriter) -> dict[str, dict[str, Any]]:
    """The defaults of a new project, by kind and field."""
    items: dict[str, list[GatheredObject]] = defaultdict(list)
    for item in writer.all.items.values():
        items[item.kind.name].append(item)
    defaults: dict[str, dict[str, Any]] = {}
    for name, some in items.items():
        kind = some[0].kind
        shared = {field.name: _shared(writer, some, field) for field in kind.fields.values() if len(some) > 1 and _may_share(kind, field)}
        values = {field: value for field, (value, gain) in shared.items() if gain > 0}
        if sum(shared[field][1] for field in values) > HEAD + len(name):
            defaults[name] = values
    return defaults


def _may_share(kind: Kind, field: Field) -> bool:
    """Whether objects can share a value of the field: not what identifies, hides or publishes a single one, and not a secret."""
    single = field.key or field.unique or field.address or field.condition or field.one_way or field.expires or field.hosted
    secret = field.sensitive or field.secret_allowed
    elsewhere = field is tag(kind) or field.name == kind.place.bare_is or kind.place.value_is is not None
    return field.role is FieldRole.VALUE and not (single or secret or elsewhere)


def _shared(writer: EntryWriter, items: Sequence[GatheredObject], field: Field) -> tuple[Any, int]:
    """The value that most of the objects have, and how many characters a default saves; 0 where there can be none."""
    values: dict[str, Any] = {}
    saved: dict[str, int] = defaultdict(int)  # what the entries of a value cost that are written today
    added: dict[str, int] = defaultdict(int)  # what its entries would cost that are left out today
    numbers: dict[str, int] = defaultdict(int)
    opening: set[str] = set()
    for item in items:
        try:
            value = writer.value(item, field)
        except Unwritable:
            return None, 0
        if value is UNSET:
            return None, 0
        text = comparable(value)
        values[text] = value
        numbers[text] += 1
        costs = added if writer.is_usual(item, field, value) else saved
        costs[text] += len(f"{field.name}: {closed(value)}, ")
        if item.kind.may_open(field.name, item.observed.values.get(field.name)):
            opening.add(text)
    most = max(numbers, key=lambda text: numbers[text])
    if most in opening or numbers[most] * 2 <= len(items):
        return None, 0
    gain = saved[most] - len(f"{field.name}: {closed(values[most])}, ") - sum(cost for text, cost in added.items() if text != most)
    return values[most], gain
