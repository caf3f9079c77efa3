"""The inside of structured values: which keys are compared, and which lists have an order. Pure.

A service adds keys to its objects when it is updated. A key that is unknown here and that nobody wrote is neither compared nor removed, and
a request that sends the value repeats it:

    written   {type: rules, rules: [{rule: R, users: [ada]}]}
    read      {type: rules, rules: [{rule: R, users: [ada], minimum: 1}]}      the same: nobody wrote `minimum`
    sent      {type: rules, rules: [{rule: R, users: [bo],  minimum: 1}]}      after `users` was changed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from reconciler.resource.values import UNSET, WireForm


@dataclass(frozen=True, eq=False)
class Shape:
    """A structured value. Used in `Annotated[...]`, beside a type that does not say it.

    `known`: the keys of a map that are compared even if nobody wrote them. `keys`: the shapes of values by their key. `every`: users choose
    the keys of the map: all are compared, and their values have this shape. `items`: the shape of the items of a list. `unordered`: the
    list has no order, and no item twice. `tag`: the key of a map that says what the map is: two maps with different values there have
    nothing in common. `form`: returns the request's form of a value without an inside; see `WireForm`.
    """

    known: frozenset[str] = frozenset()
    keys: Mapping[str, Shape] = field(default_factory=dict)
    every: Shape | None = None
    items: Shape | None = None
    unordered: bool = False
    tag: str = ""
    form: Callable[[Any], Any] | None = None

    def inner(self, key: str) -> Shape:
        """The shape of the value under a key."""
        return self.every if self.every is not None else self.keys.get(key, PLAIN)

    def compares(self, key: str) -> bool:
        """Whether a key is compared even if nobody wrote it."""
        return self.every is not None or key in self.known

    def tag_of(self, value: Any) -> Any:
        """What a map says that it is; None for anything else."""
        return value.get(self.tag) if self.tag and isinstance(value, Mapping) else None


PLAIN = Shape()
"""A value of which only what somebody wrote is compared."""


def shape_of(hint: Any) -> Shape | None:
    """The shape that a type says; None if its values have no inside."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *extras = get_args(hint)
        return next((extra for extra in extras if isinstance(extra, Shape)), None) or shape_of(inner)
    if origin in (Union, UnionType):
        return next((shape for option in get_args(hint) if (shape := shape_of(option)) is not None), None)
    if is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        return Shape(known=frozenset(hints), keys={name: _part(part) for name, part in hints.items()})
    kind = origin or hint
    if kind is dict:
        return Shape(every=_part(get_args(hint)[1]))
    if kind in (list, set, frozenset):
        return Shape(items=_part(next(iter(get_args(hint)), Any)), unordered=kind is not list)
    return PLAIN if hint is Any else None


def _part(hint: Any) -> Shape:
    """The shape of a part of a value, which may have a form of its own, and may be left out."""
    hint = get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    form = next((extra.body for extra in extras if isinstance(extra, WireForm)), None)
    return shape_of(hint) or (Shape(form=form) if form is not None else PLAIN)


def normal(shape: Shape, value: Any) -> Any:
    """The value with its unordered lists in one order, each item once."""
    if isinstance(value, Mapping):
        return {key: normal(shape.inner(key), part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        parts = [normal(shape.items or PLAIN, part) for part in value]
        different = {_spelled(part): part for part in parts} if shape.unordered else {}
        return [different[text] for text in sorted(different)] if shape.unordered else parts
    return value if shape.form is None else shape.form(value)


def managed(shape: Shape, value: Any, written: Sequence[Any]) -> Any:
    """The part of a value that is compared: known keys, and the keys that one of the written values has in the same place.
    All of a map that has no counterpart in them."""
    return normal(shape, _managed(shape, value, written))


def _managed(shape: Shape, value: Any, written: Sequence[Any]) -> Any:
    if isinstance(value, Mapping):
        maps = [other for other in written if isinstance(other, Mapping) and shape.tag_of(other) == shape.tag_of(value)]
        return {
            key: _managed(shape.inner(key), part, [other[key] for other in maps if key in other])
            for key, part in value.items()
            if not maps or shape.compares(key) or any(key in other for other in maps)
        }
    if isinstance(value, list | tuple):
        items = [item for other in written if isinstance(other, list | tuple) for item in other]
        return [_managed(shape.items or PLAIN, part, items) for part in value]
    return value


def completed(shape: Shape, wanted: Any, now: Any, sent: Any = UNSET) -> Any:
    """The wanted value with what `managed` leaves out of the current one: what a request sends. `sent`: the last sent value; what it had
    and the wanted one lacks was removed by the user, and is not repeated."""
    if isinstance(wanted, Mapping) and isinstance(now, Mapping):
        if shape.tag_of(wanted) != shape.tag_of(now):
            return wanted
        last: Mapping[str, Any] = sent if isinstance(sent, Mapping) else {}
        kept = {key: part for key, part in now.items() if not (key in wanted or key in last or shape.compares(key))}
        parts = {key: completed(shape.inner(key), part, now.get(key), last.get(key, UNSET)) for key, part in wanted.items()}
        return {**parts, **kept}
    if isinstance(wanted, list) and isinstance(now, list):
        inner = shape.items or PLAIN
        last_items = sent if isinstance(sent, list) else []
        pairs = zip(wanted, _counterparts(shape, wanted, now), _counterparts(shape, wanted, last_items), strict=True)
        return [completed(inner, item, other, last) for item, other, last in pairs]
    return wanted


def _counterparts(shape: Shape, wanted: Sequence[Any], others: Sequence[Any]) -> Iterator[Any]:
    """For each item the item of another list that is the same thing: with the same written parts, else with the same tag, else in the same
    place of an ordered list of the same length; None where there is none."""
    inner, left = shape.items or PLAIN, list(enumerate(others))
    by_place = not shape.unordered and not inner.tag and len(wanted) == len(others)
    for place, item in enumerate(wanted):
        same = [(at, other) for at, other in left if managed(inner, other, (item,)) == normal(inner, item)] if not by_place else []
        alike = [(at, other) for at, other in left if inner.tag and inner.tag_of(other) == inner.tag_of(item) is not None]
        pair = (place, others[place]) if by_place else next(iter([*same, *alike]), None)
        if pair is not None and not by_place:
            left.remove(pair)
        yield pair[1] if pair is not None else None


def _spelled(value: Any) -> str:
    """A text that is the same for equal values, whatever the order of their keys."""
    if isinstance(value, Mapping):
        return repr([(key, _spelled(value[key])) for key in sorted(value, key=str)])
    return repr([_spelled(part) for part in value]) if isinstance(value, list) else repr(value)
