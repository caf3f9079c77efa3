"""Small changes to a module, each likely to be a bug: what a comparison, a condition, a number, a result or a statement is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change to a text. `what`: the old and the new; `node`, `change`: which one it is, for `tree`."""

    line: int
    what: str
    node: int
    change: int

    def tree(self, text: str) -> ast.Module:
        """The whole module with the change."""
        tree = ast.parse(text)
        node = next(each for at, each in enumerate(_nodes(tree)) if at == self.node)
        list(_changes(node))[self.change][1]()
        return ast.fix_missing_locations(tree)


def mutants(text: str) -> list[Mutant]:
    """Every change there is, in the order of the text.

    Left alone are annotations, imports, what stands in errors and in texts for people, and assertions.
    """
    return [
        Mutant(_line(node), what, number, index)
        for number, node in enumerate(_nodes(ast.parse(text)))
        for index, (what, _) in enumerate(_changes(node))
    ]


def _line(node: ast.AST) -> int:
    return int(getattr(node.iter if isinstance(node, ast.comprehension) else node, "lineno", 0))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """What may be changed, parents first."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases", "msg"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom, ast.Assert)):
                if isinstance(node, ast.Raise):
                    yield node
                continue
            if isinstance(node, ast.Assign | ast.AnnAssign) and _is_type(node):
                continue
            yield node
            yield from _nodes(node)


def _is_type(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether a name for a type is given, which no program sees."""
    return isinstance(node.value, ast.Subscript) and isinstance(node.value.value, ast.Name) and node.value.value.id[:1].isupper()


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """What can be changed at a node: how it is told, and what does it."""
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield _told(node, ops, at, COMPARISONS[type(op)]())
        case ast.BoolOp(op=op):
            yield _told(node, node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield _told(node, node, "op", ARITHMETIC[type(op)]())
        case ast.Constant(value=bool() as value):
            yield _told(node, node, "value", not value)
        case ast.Constant(value=int() | float() as value):
            yield _told(node, node, "value", value + 1)
        case ast.UnaryOp(op=ast.Not()):
            yield _told(node, node, "op", ast.UAdd(), lambda: _become(node, ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])))
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield _told(node, node, "value", ast.Constant(None))
        case ast.Break():
            yield "break -> continue", lambda: _become(node, ast.Continue())
        case ast.Continue():
            yield "continue -> break", lambda: _become(node, ast.Break())
        case ast.Raise():
            yield f"{_short(node)} -> nothing", lambda: _become(node, ast.Pass())
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield f"{_short(node)} -> nothing", lambda: _become(node, ast.Pass())
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign() | ast.Delete():
            yield f"{_short(node)} -> nothing", lambda: _become(node, ast.Pass())
    test = getattr(node, "test", None)
    if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.NamedExpr):
        yield _told(test, node, "test", ast.UnaryOp(ast.Not(), test))
    if isinstance(node, ast.comprehension):
        for at, one in enumerate(node.ifs):
            yield f"if {_short(one)} -> if True", lambda at=at: node.ifs.__setitem__(at, ast.Constant(True))  # type: ignore[misc]


def _told(shown: ast.AST, holder: Any, at: int | str, value: Any, does: Callable[[], None] | None = None) -> tuple[str, Callable[[], None]]:
    """One change in words, which tries it on a copy, and what does it."""

    def change() -> None:
        if isinstance(at, int):
            holder[at] = value
        else:
            setattr(holder, at, value)

    name = type(value).__name__ if isinstance(value, ast.operator | ast.cmpop | ast.boolop) else None
    text = name or (_short(value) if isinstance(value, ast.AST) and not isinstance(value, ast.UAdd) else repr(value))
    return f"{_short(shown)} -> {'without not' if does else text}", does or change


def _become(node: ast.AST, other: ast.AST) -> None:
    """Make a node another one, where it stands."""
    position = {name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset") if hasattr(node, name)}
    node.__class__ = other.__class__  # type: ignore[assignment]
    node.__dict__ = {**other.__dict__, **position}


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else f"{text[:89]}…"
