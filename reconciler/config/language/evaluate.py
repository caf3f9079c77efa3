"""The expressions of a project as values.

In: the nodes of its files, variables. Out: the evaluated configuration (`nodes`), with problems reported. Expressions share a limit, so
that many small ones cannot exceed the limits of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from reconciler.config.keys import IGNORED
from reconciler.config.language.bounds import ExpressionError, NoValue, Usage
from reconciler.config.language.expressions import Evaluator, SecretValues
from reconciler.config.language.files import ALLOW_FILE, ProjectFiles
from reconciler.config.language.stand_ins import stand_in
from reconciler.config.language.variables import Variables
from reconciler.config.source.nodes import (
    FOR_EACH,
    UNKNOWN,
    UNREAD,
    List,
    Map,
    MapEntry,
    Node,
    Scalar,
    StandIn,
    holds_expression,
    lifted,
    literal,
)
from reconciler.config.source.problems import Problems
from reconciler.errors import Problem
from reconciler.model import Source

# Their expressions read `after` and `before`, which exist once there is a plan.
LATER: Final = ("policies",)  # top keys whose expressions are evaluated for each resource
_VARIABLE: Final = re.compile(r"\bvars\s*\.\s*(\w+)")


def _unevaluated(node: Node) -> Iterator[str]:
    """Every text in a node that contains an expression, keys included."""
    if isinstance(node, Scalar):
        if node.value is UNREAD and holds_expression(node.text):
            yield node.text
    elif isinstance(node, List):
        for item in node.items:
            yield from _unevaluated(item)
    else:
        for key, entry in node.entries.items():
            if holds_expression(key):
                yield key
            yield from _unevaluated(entry.node)


def _with_literal_keys(entries: dict[str, MapEntry]) -> dict[str, MapEntry]:
    """The entries of a map with `${{` where a key has `$${{`; a key with an expression is left unchanged, and refused where it is read."""
    literal_entries: dict[str, MapEntry] = {}
    for key, entry in entries.items():
        text = literal(key)
        if text is not None and text not in entries:
            entry.key = text
        literal_entries[entry.key] = entry
    return literal_entries


class Evaluation:
    """Replaces the scalars that contain expressions, in place. One per project: it counts the values created. `literal`: the names of files
    without expressions. `texts`: the SHA-256 of the texts that `file()` returned, by name."""

    def __init__(
        self, root: Path, variables: Variables, environment: str | None, problems: Problems, *, literal: Collection[str] = ()
    ) -> None:
        self.root, self.variables, self.environment, self.problems = root, variables, environment, problems
        self.literal = literal
        self.refused: Sequence[Path] = ()
        self.allowed: Sequence[Path] = ()  # files and folders outside the project that file() may read
        self.option = ALLOW_FILE  # what allows more; "" for nothing
        self.secrets: SecretValues | None = None
        self.stand_ins = False  # placeholder texts replace unknown values
        self.texts: dict[str, str] = {}
        self.work = Usage()  # of all expressions of the project

    def refuse(self, paths: list[Path]) -> None:
        """Make `file()` refuse these files from now on."""
        self.refused = paths
        # The evaluator has the old list; it is created again by the next expression.
        self.__dict__.pop("evaluator", None)

    @cached_property
    def evaluator(self) -> Evaluator:
        """The evaluator of scalars."""
        evaluator = Evaluator(
            vars=self.variables.values,
            tainted=self.variables.tainted,
            unset=self.variables.unset,
            env_name=self.environment,
            file=ProjectFiles(self.root, self.refused, texts=self.texts, allowed=self.allowed, option=self.option),
            work=self.work,
        )
        evaluator.secrets = self.secrets
        return evaluator

    def unused(self) -> dict[str, Source]:
        """The declared variables that no expression uses, and where they are declared."""
        if self.work.any_variable:
            return {}
        return {name: at for name, at in self.variables.places.items() if name not in self.work.variables}

    def mention(self, node: Node) -> None:
        """Record the variables that a node uses which is not evaluated."""
        for text in _unevaluated(node):
            self.evaluator.mention(text)

    def top(self, document: Map, *keys: str) -> None:
        """Evaluate the named top keys of a file, or all; ignored keys are left unchanged."""
        if document.at.file in self.literal:
            return
        for key, entry in document.entries.items():
            if (key in keys or not keys) and not key.startswith(IGNORED) and key not in LATER:
                entry.node = self.node(entry.node)

    def document(self, document: Node) -> Node:
        """All of a file, whatever it contains."""
        if document.at.file in self.literal:
            return document
        if not isinstance(document, Map):
            return self.node(document)
        self.top(document)
        return document

    def node(self, node: Node) -> Node:
        """The node with values for expressions; maps and lists are changed in place."""
        if isinstance(node, Map):
            # `each` has no value yet.
            if FOR_EACH in node.entries:
                return node  # evaluated once for each element, when its resources are read
            for entry in node.entries.values():
                entry.node = self.node(entry.node)
            # Keys last: what is in a map is evaluated even if one of its keys is refused later, so that all problems are found at once.
            if any(map(holds_expression, node.entries)):
                node.entries = _with_literal_keys(node.entries)
        elif isinstance(node, List):
            node.items = [self.node(item) for item in node.items]
        elif node.value is UNREAD and holds_expression(node.text):  # the result of an expression is not evaluated again
            return self.scalar(node, self.evaluator) or Scalar(node.at, "", False)
        return node

    def scalar(self, node: Scalar, evaluator: Evaluator, put: Callable[[str], str] = str) -> Node | None:
        """The value of a scalar that contains an expression; None, with a problem, if it has none. `put`: rewords a problem."""
        try:
            result, tainted = evaluator.scalar(node.text)
        except ExpressionError as error:
            # A placeholder was used as if it were the value (an index, a sum). That it fails says nothing about the project.
            if unset := self.variables.unset & set(_VARIABLE.findall(node.text)):
                return self._stand_in(node, unset)
            place = node.at
            if isinstance(error, NoValue):
                self.problems.settled.add(place)
            elif self.variables.failed & set(_VARIABLE.findall(node.text)):
                self.problems.settled.add(place)  # the variable's own problem reports it
            else:
                self.problems.settle(Problem(*place, put(error.message), id=error.id))
            return None
        if self.stand_ins and (result is UNKNOWN or not self.variables.unset.isdisjoint(tainted)):
            return self._stand_in(node, tainted, result)
        if isinstance(result, str):
            return Scalar(node.at, result, False, result, tainted, computed=True)
        value = lifted(result, node.at, tainted)
        return value if isinstance(value, Map) else replace(value, computed=True)

    def _stand_in(self, node: Scalar, names: Collection[str], value: Any = None) -> Scalar:
        """The text in place of a value that depends on these names; other text in the same value stays."""
        known = isinstance(value, str) and all(stand_in([name]) in value for name in names)
        text = StandIn(value) if known else stand_in(names)
        return Scalar(node.at, text, False, text, computed=True)
