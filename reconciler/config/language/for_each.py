"""`forEach`: one node or entry for each element of a list or a map.

In: the map with `forEach`, not yet evaluated. Out: a copy of it for each element, evaluated with `each`; it may contain `forEach` again.
Each expression is compiled once. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from reconciler.address import Address
from reconciler.config.language.bounds import ExpressionError, kind_of, text_of
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.language.expressions import Evaluator
from reconciler.config.source.files import VALUES_MAX, room_for
from reconciler.config.source.nodes import (
    FOR_EACH,
    Each,
    Generated,
    List,
    Map,
    MapEntry,
    NestedForEach,
    Node,
    Scalar,
    StandIn,
    first_tainted,
    holds_expression,
    inexact_number,
    plain,
)
from reconciler.config.source.problems import Enough, Problems, described, empty, exposed, quote_number, read_from_file, shown
from reconciler.errors import Problem
from reconciler.model import Source
from reconciler.text.names import SHOWN_MAX

# A list of 1,000 inside a list of 1,000 is a million copies; memory is looked at while they are created.
STEP: Final = 100_000  # number of values after which the remaining memory is checked
_NO_KEY: Final = 'there is no key "key" here'
_NO_PARENT: Final = 'there is no key "parent" here'
_PARENT: Final = re.compile(r"\beach\s*\.\s*parent\b")
_MISSING: Final = re.compile(r'(?:there is no key|a [a-z ]+ has no) "(\w+)"(?: here)?|(\w+) is a function; .*')
_PATH: Final = re.compile(r"\beach(?:\s*\.\s*\w+)+")
_WORD: Final = re.compile(r"\w+")
_NO_KEY_HERE: Final = "the elements of this forEach have no key, as they are lists or maps; use each.index, or a value: each.value.NAME"


class ForEachCopies:
    """Creates the copies. `copies`: those of each map with `forEach`, by the identity of that map."""

    def __init__(self, evaluation: Evaluation, problems: Problems) -> None:
        self.evaluation, self.problems = evaluation, problems
        self.copies: dict[int, list[Any]] = {}
        self.values = 0

    def nodes(self, node: Map, about: Address | None) -> list[Node]:
        """The nodes of a list that one node generates."""
        copies: list[Node] = [self._body(node, scope, each) for scope, each in self._elements(node, about)]
        self.copies[id(node)] = copies
        # An empty list evaluates nothing below it, and its variables would be reported as unused in one environment.
        if not copies:
            self.evaluation.mention(node)
        return copies

    def entries(self, entry: MapEntry, about: Address | None) -> list[MapEntry]:
        """The entries of a map that one entry generates."""
        assert isinstance(entry.node, Map)
        copies = []
        for scope, each in self._elements(entry.node, about):
            key = self._key(entry, scope, about)
            if key is None:
                self.problems.partial = True
            else:
                copies.append(MapEntry(key, entry.at, self._body(entry.node, scope, each)))
        self.copies[id(entry.node)] = copies
        if not copies:
            self.evaluation.mention(Map(entry.at, {entry.key: entry}))
        return copies

    # -- elements ------------------------------------------------------------------------------------------------------------------

    def _elements(self, node: Map, about: Address | None) -> Iterator[tuple[Evaluator, Each]]:
        entry = node.entries[FOR_EACH]
        outer = node if isinstance(node, NestedForEach) else None
        scope: Evaluator = outer.scope if outer is not None else self.evaluation.evaluator
        collection = self._value(entry, scope, about)
        if collection is None:
            self.problems.partial = True  # the number of copies is unknown
            return
        elements, places = collection
        text = entry.node.text if isinstance(entry.node, Scalar) else f"the list at {entry.node.at}"
        pairs = elements.items() if isinstance(elements, Mapping) else enumerate(elements)
        for index, (key, element) in enumerate(pairs):
            each = {"value": element, "index": index}
            if isinstance(elements, Mapping) or (isinstance(element, str | int | float) and element is not None):
                try:
                    each["key"] = key if isinstance(elements, Mapping) else text_of(element)
                except ExpressionError as error:
                    self.problems.add(places[index] if places else entry.node.at, error.message, about, id=error.id)
                    self.problems.partial = True
                    return
            # An inner `each` hides the outer one, as in every language with loops; `each.parent` is the way to it.
            if outer is not None and "each" in outer.scope.names:
                each["parent"] = outer.scope.names["each"]
            name = shown(each["key"]) if "key" in each else ""
            label = name if isinstance(elements, Mapping) else f"{index} ({name})" if name else str(index)
            yield scope.with_names({"each": each}), Each(entry.at, label, text, places[index] if places else entry.node.at)

    def _value(self, entry: MapEntry, scope: Evaluator, about: Address | None) -> tuple[Any, list[Source]] | None:
        """A list or a map, and where its elements are written."""
        node = entry.node
        if isinstance(node, Scalar) and node.empty:
            self.problems.add(node.at, empty(FOR_EACH), about, id="RC-no-value")
            return None
        if isinstance(node, Scalar) and holds_expression(node.text):
            value = self._scalar(node, scope)
            if value is None:
                return None
        else:
            value = self._copy(node, scope)
        if isinstance(value, Scalar) and isinstance(value.value, StandIn):
            return [], []  # the elements are unknown
        # Keys of resources are printed in every plan, and elements become keys.
        tainted = first_tainted(value)
        if tainted is not None:
            self.problems.add(node.at, exposed(FOR_EACH, tainted.taint), about, id="RC-would-show-secret")
            return None
        if isinstance(value, Scalar):
            way = read_from_file(value) or "${{ vars.NAME }}"
            wrong = f"forEach must be a list or a map, not {described(value)}; write [a, b] or an expression: {way}"
            self.problems.add(node.at, wrong, about, id="RC-wrong-form")
            return None
        # `forEach: [1.10, 1.2]` would make the keys 1.1 and 1.2.
        number = inexact_number(value)
        if number is not None:
            self.problems.add(number.at, quote_number(number.text), about, id="RC-number-not-quoted")
            return None
        parts = value.items if isinstance(value, List) else [part.node for part in value.entries.values()]
        return plain(value), [part.at for part in parts]

    # -- copies --------------------------------------------------------------------------------------------------------------------

    def _body(self, node: Map, scope: Evaluator, element: Each) -> Generated:
        entries: dict[str, MapEntry] = {}
        for key, entry in node.entries.items():
            if key != FOR_EACH:
                entries[key] = MapEntry(key, entry.at, self._copy(entry.node, scope))
        return Generated(node.at, entries, element)

    def _copy(self, node: Node, scope: Evaluator) -> Node:
        """A copy of the node with values for expressions; a nested `forEach` waits, with the names that it may use."""
        self._counted(node.at)
        if isinstance(node, Scalar):
            # Shared by all copies, not copied: nothing changes a scalar after this.
            if not holds_expression(node.text):
                return node
            return self._scalar(node, scope) or Scalar(node.at, "", False)
        if isinstance(node, List):
            return List(node.at, [self._copy(item, scope) for item in node.items])
        if FOR_EACH in node.entries:
            return NestedForEach(node.at, node.entries, scope)
        entries: dict[str, MapEntry] = {}
        for entry in node.entries.values():
            key = entry.key
            if holds_expression(key) and not (isinstance(entry.node, Map) and FOR_EACH in entry.node.entries):
                text = self._key(entry, scope, None)
                if text is None:
                    continue
                key = text
            if key in entries:
                self.problems.add(entry.at, f"the key {shown(key)} is written twice; first at {entries[key].at}", id="RC-declared-twice")
                continue
            entries[key] = MapEntry(key, entry.at, self._copy(entry.node, scope))
        return Map(node.at, entries)

    def _scalar(self, node: Scalar, scope: Evaluator) -> Node | None:
        """The value of a scalar; None, with one problem per position, if it has none."""
        if node.at in self.problems.settled:
            return None
        value = self.evaluation.scalar(node, scope, lambda message: _in_other_words(message, node.text, scope.names.get("each", {})))
        if isinstance(value, Scalar):
            value.computed = False  # inside forEach a key may come from an expression
        return value

    def _key(self, entry: MapEntry, scope: Evaluator, about: Address | None) -> str | None:
        """The text of a key."""
        if not holds_expression(entry.key):
            return entry.key
        value = self._scalar(Scalar(entry.at, entry.key), scope)
        if not isinstance(value, Scalar) or (value.value is None and not value.taint):
            if value is not None:
                self.problems.add(entry.at, f"a key must be text, not {described(value)}", about, id="RC-not-a-key")
            return None
        if value.taint:
            self.problems.add(entry.at, exposed("a key", value.taint), about, id="RC-would-show-secret")
            return None
        try:
            return text_of(value.value)
        except ExpressionError:
            self.problems.add(entry.at, f"a key must be text, not {kind_of(value.value)}", about, id="RC-not-a-key")
            return None

    def _counted(self, at: Source) -> None:
        self.values += 1
        wrong = f"forEach makes more than {VALUES_MAX:,} values" if self.values > VALUES_MAX else None
        if self.values % STEP == 0 and not room_for(STEP):
            wrong = f"there is not enough memory for what forEach makes: {self.values:,} values so far"
        if wrong is not None:
            self.problems.settle(Problem(*at, wrong, id="RC-project-too-large"))
            raise Enough


def _in_other_words(message: str, text: str, each: Mapping[str, Any]) -> str:
    """The message about an expression if `each` lacks a name. No value of `each` is secret: `forEach` accepts no tainted one."""
    if message.startswith(_NO_PARENT) and _PARENT.search(text):
        return "each.parent is only available in a forEach inside another forEach"
    if message.startswith(_NO_KEY):
        return _NO_KEY_HERE
    missing = _MISSING.fullmatch(message)
    if missing is None:
        return message
    paths = (_WORD.findall(path[0])[1:] for path in _PATH.finditer(text))
    return next((wrong for path in paths if (wrong := _lacking(missing[1] or missing[2], path, each))), message)


def _lacking(name: str, path: Sequence[str], each: Mapping[str, Any]) -> str:
    """What a path from `each` lacks, and which names exist instead; "" if the error is not about this path."""
    value: Any = each
    for number, key in enumerate(path):
        where = ".".join(["each", *path[:number]])
        at = f" of element {shown(each.get('key', each['index']))}" if path[0] == "value" and number else ""
        if not isinstance(value, Mapping):
            return f'{where}{at} is {kind_of(value)} and has no key "{name}"' if key == name else ""
        if key not in value:
            return f'there is no key "{name}" in {where}{at}; it has {_listed(value)}' if key == name else ""
        value = value[key]
    return ""


def _listed(value: Mapping[str, Any]) -> str:
    return ", ".join([*value][:SHOWN_MAX]) + (", …" if len(value) > SHOWN_MAX else "") if value else "no keys"
