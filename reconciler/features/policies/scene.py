"""The facts that policy expressions can use: the resources, the actions on them, their siblings and contents. Pure."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.address import Address
from reconciler.config.language.bounds import ExpressionError
from reconciler.features.policies.section.keys import KEEP
from reconciler.model import Declared, Desired, Observed, Source
from reconciler.model.codec import request
from reconciler.plan.changes import Names, named
from reconciler.resource import UNSET, Field, Kind, Kinds

Values = Mapping[str, Any]

NOTHING: Final = Names()


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """One resource. `before`, `after`: its fields, None where it does not exist then. `actor`: the token's permissions on it. `parent`: its
    container."""

    address: Address
    kind: str
    actions: tuple[str, ...] = (KEEP,)
    before: Values | None = None
    after: Values | None = None
    actor: Mapping[str, Any] = field(default_factory=dict)
    parent: Address | None = None
    source: Source | None = None

    @property
    def unchanged(self) -> bool:
        """Whether all that the service shows of it is unchanged."""
        before, after = self.before, self.after
        return before is not None and after is not None and all(after.get(name, UNSET) == value for name, value in before.items())


Inside = Callable[[Address, str], Sequence[Values]]
"""The fields of all objects of a kind in a container. Raises `ExpressionError` where they are not all known."""


def _unknown(container: Address, kind: str) -> Sequence[Values]:
    raise ExpressionError(f"the {kind} objects in {container} are not known here", id="RC-unread")


class Scene:
    """The facts that policies are evaluated on. `planned`: whether they come from a plan, so that `when`, `before` and the like have a
    meaning."""

    def __init__(self, subjects: Iterable[Subject], *, planned: bool = True, inside: Inside = _unknown) -> None:
        self.subjects = tuple(subjects)
        self.planned = planned
        self._inside = inside
        self._kinds: dict[str, list[Subject]] = defaultdict(list)
        for subject in self.subjects:
            self._kinds[subject.kind].append(subject)
        self._counts = Counter((action, kind) for kind, some in self._kinds.items() for subject in some for action in subject.actions)
        self._beside: dict[str, Counter[tuple[str, Address | None, str]]] = {}
        self._within: dict[tuple[Address, str, str], Counter[str]] = {}

    def of_kind(self, kind: str) -> Sequence[Subject]:
        """The resources of a kind, in their order."""
        return self._kinds.get(kind, ())

    def count(self, action: str, kind: str | None = None) -> int:
        """The number of resources with an action."""
        if kind is not None:
            return self._counts[(action, kind)]
        return sum(number for (name, _), number in self._counts.items() if name == action)

    def counted(self, action: str, kind: str | None = None) -> Iterator[Address]:
        """What `count` counts; of `keep`, all that changes."""
        for subject in self.subjects if kind is None else self.of_kind(kind):
            if action in subject.actions or (action == KEEP and KEEP not in subject.actions):
                yield subject.address

    def others(self, subject: Subject, field: str) -> int:
        """How many other resources of the same kind and parent have the same value of a field."""
        # Counted once for all resources: comparing each with each would be quadratic, and a project has 10,000.
        if field not in self._beside:
            every = [(some, some.after) for some in self.subjects if some.after is not None]
            self._beside[field] = Counter((some.kind, some.parent, _key(after[field])) for some, after in every if field in after)
        if subject.after is None or field not in subject.after:
            raise ExpressionError(f"others: {field} is not known", id="RC-unread")
        return self._beside[field][(subject.kind, subject.parent, _key(subject.after[field]))] - 1

    def inside(self, subject: Subject, kind: str, *about: Any) -> int:
        """The number of objects of a kind in a resource; only those with a value of a field if both are given."""
        if not about:
            return len(self._inside(subject.address, kind))
        name, value = about
        key = (subject.address, kind, str(name))
        if key not in self._within:
            self._within[key] = Counter(_key(values[name]) for values in self._inside(subject.address, kind) if name in values)
        return self._within[key][_key(value)]


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


class Partial(Mapping[str, Any]):
    """The fields that the YAML sets. `touched`: an expression read a field that it does not set."""

    def __init__(self, values: Values, silent: Iterable[str]) -> None:
        self.values_, self.silent, self.touched = values, frozenset(silent), False

    def __getitem__(self, key: str) -> Any:
        return self.values_[key]

    def __contains__(self, key: object) -> bool:
        self.touched |= key in self.silent
        return key in self.values_

    def __iter__(self) -> Iterator[str]:
        self.touched |= bool(self.silent)
        return iter(self.values_)

    def __len__(self) -> int:
        self.touched |= bool(self.silent)
        return len(self.values_)


def of_configuration(kinds: Kinds, desired: Desired) -> Scene:
    """The resources as declared; fields that are not written are unknown."""
    scenes = []
    for address, declared in desired.resources.items():
        if not declared.implied:
            kind = kinds[declared.kind]
            values = written(kind, declared)
            silent = [name for name, field in kind.fields.items() if visible(field) and name not in values]
            after = Partial(values, silent)
            scenes.append(Subject(address, declared.kind, after=after, parent=declared.parent, source=declared.source))
    return Scene(scenes, planned=False)


def visible(field: Field) -> bool:
    """Whether a policy can see a field."""
    return not field.sensitive


def written(kind: Kind, declared: Declared) -> dict[str, Any]:
    """The fields of a resource in the YAML, in the form in which plans show them."""
    fields = kind.fields
    return {
        name: shown(fields[name], request(fields[name], value, {}), NOTHING, declared.address)
        for name, value in declared.values.items()
        if value is not UNSET and name in fields and visible(fields[name])
    }


def observed_values(kind: Kind, observed: Observed, names: Names, address: Address) -> dict[str, Any]:
    """The fields of an object of the service, in the form in which plans show them."""
    fields = kind.fields
    return {
        name: shown(fields[name], value, names, address)
        for name, value in observed.values.items()
        if value is not UNSET and name in fields and visible(fields[name])
    }


def shown(field: Field, value: Any, names: Names, address: Address) -> Any:
    """A request's value as people read it; unordered values are sorted alphabetically."""
    if value is None or (isinstance(value, bool) and field.wire_form is None):
        return value if field.wire_form is None else field.shown(value)
    texts = named(field.shown(value), names, address)
    return sorted(texts, key=str) if field.unordered and isinstance(texts, list) else texts
