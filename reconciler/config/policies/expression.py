"""What an expression of a policy uses, without evaluating it: fields, calls, and whether it can be true or false. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from jinja2 import nodes
from jinja2.parser import Parser

from reconciler.config.language.compiler import ENVIRONMENT, compiled

_NEVER: Final = (nodes.BinExpr, nodes.Concat, nodes.List, nodes.Tuple, nodes.Dict, nodes.Neg, nodes.Pos, nodes.Slice)
_TEXTS: Final = frozenset({"lower", "upper", "capitalize", "title", "replace", "trim", "join", "string", "tojson"})
_OTHERS: Final = frozenset({"length", "int", "float", "abs", "round", "split", "sort", "unique", "reverse", "items"})


@dataclass(frozen=True)
class FunctionCall:
    """A call of a function by its name. `arguments`: the texts that are written; None for anything else."""

    name: str
    arguments: tuple[str | None, ...]


@dataclass(frozen=True)
class Uses:
    """`names`: what it uses of its context. `keys`: of each name, the keys that follow it; `whole`: the names that are used in another way
    too. `variables`: the variables, `any_variable`: it may use any. `calls`: in their order. `boolean`: whether it can be true or false,
    as far as its form says."""

    names: frozenset[str]
    keys: Mapping[str, frozenset[str]]
    whole: frozenset[str]
    variables: frozenset[str]
    any_variable: bool
    calls: tuple[FunctionCall, ...]
    boolean: bool


@lru_cache(maxsize=1_000)
def uses(text: str) -> Uses:
    """What an expression uses. Raises `ExpressionError` where it cannot be read."""
    expression = compiled(text)
    tree = Parser(ENVIRONMENT, text, state="variable").parse_expression()
    keys: dict[str, set[str]] = defaultdict(set)
    named: set[int] = set()
    calls = []
    for node in _walk(tree):
        if isinstance(node, nodes.Getattr | nodes.Getitem) and isinstance(node.node, nodes.Name) and (key := _key(node)) is not None:
            keys[node.node.name].add(key)
            named.add(id(node.node))
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
            calls.append(FunctionCall(node.node.name, tuple(_text(argument) for argument in node.args)))
    whole = {node.name for node in _walk(tree) if isinstance(node, nodes.Name) and id(node) not in named}
    found = {name: frozenset(some) for name, some in keys.items()}
    return Uses(
        expression.names, found, frozenset(whole), expression.variables, expression.all_variables, tuple(calls), _boolean(tree)
    )  # fmt: skip


def _walk(tree: nodes.Node) -> Iterator[nodes.Node]:
    pending = [tree]
    while pending:
        node = pending.pop(0)
        yield node
        pending += node.iter_child_nodes()


def _key(node: nodes.Getattr | nodes.Getitem) -> str | None:
    if isinstance(node, nodes.Getattr):
        return node.attr
    return _text(node.arg)


def _text(node: nodes.Node) -> str | None:
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


def _boolean(node: nodes.Node) -> bool:
    """Whether an expression of this form can be true or false."""
    match node:
        case nodes.Const():
            return isinstance(node.value, bool)
        case nodes.And() | nodes.Or():
            return _boolean(node.left) and _boolean(node.right)
        case nodes.CondExpr():
            return _boolean(node.expr1) and (node.expr2 is None or _boolean(node.expr2))
        case nodes.Filter():
            return node.name not in _TEXTS | _OTHERS
        case nodes.Compare() | nodes.Not() | nodes.Test():
            return True
        case _:
            return not isinstance(node, _NEVER)
