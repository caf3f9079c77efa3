"""The small wrong changes that can be made in a module.

In: the text of a module. Out: changes, each of one expression or statement in one function. Forbidden: to run anything.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

OTHER: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
NAMES: Final = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Change:
    """`old`, at these bytes of a module, becomes `new`. `line`: the first line of the function, with its decorators."""

    module: str
    function: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.module} {self.function}: {self.old} -> {self.new}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def room_of(module: str) -> str:
    """A folder of the kernel, or a feature."""
    parts = module.split("/")
    return f"features/{parts[1]}" if parts[0] == "features" and len(parts) > 2 else parts[0] if len(parts) > 1 else "words"


def changes(module: str, source: bytes) -> list[Change]:
    """All changes of a module, in the order of its functions."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    result = []
    for name, function in _functions(ast.parse(source), ""):
        line = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        for node, new in _of_function(function):
            assert isinstance(node, ast.expr | ast.stmt)
            assert node.end_lineno is not None
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + (node.end_col_offset or 0)
            text = f"({ast.unparse(new)})" if isinstance(new, ast.expr) else "pass"
            change = Change(module, name, line, start, end, ast.unparse(node), text)
            result.append(change)
    return result


def _functions(node: ast.AST, around: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{around}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{around}{child.name}.")
        elif isinstance(child, ast.If | ast.Try):
            yield from _functions(child, around)


def _of_function(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Each node that can be changed, with what it becomes."""
    yields = sum(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
    for statement in function.body:
        yield from _of_node(statement, yields > 1)


def _of_node(node: ast.AST, several_yields: bool) -> Iterator[tuple[ast.AST, ast.AST]]:
    if isinstance(node, ast.Assert | ast.JoinedStr | ast.arguments | ast.Raise):
        return  # Python 3.11 has no positions of what is inside a formatted text
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
        yields = isinstance(node.value, ast.Yield | ast.YieldFrom)
        if not yields or several_yields:
            yield node, ast.Pass()
    elif isinstance(node, ast.AugAssign):
        yield node, ast.Pass()
    else:
        yield from _of_expression(node)
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.Constant):
        yield node.test, _not(node.test)
    if isinstance(node, ast.comprehension):
        yield from ((condition, ast.Constant(True)) for condition in node.ifs)
    skipped = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
    for child in ast.iter_child_nodes(node):
        if id(child) not in skipped and not isinstance(child, ast.FormattedValue):
            yield from _of_node(child, several_yields)


def _of_expression(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    changed = copy.deepcopy(node)
    if isinstance(changed, ast.Compare):
        changed.ops[0] = OTHER[type(changed.ops[0])]()
        yield node, changed
    elif isinstance(changed, ast.BoolOp):
        other = copy.deepcopy(changed)
        other.op = ast.And() if isinstance(changed.op, ast.Or) else ast.Or()
        yield node, other
        for dropped in range(len(changed.values)):
            rest = [value for index, value in enumerate(changed.values) if index != dropped]
            yield node, rest[0] if len(rest) == 1 else ast.BoolOp(changed.op, rest)
    elif isinstance(changed, ast.UnaryOp) and isinstance(changed.op, ast.Not):
        yield node, changed.operand
    elif isinstance(changed, ast.BinOp) and isinstance(changed.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.Add):
        yield node, changed.left
        yield node, changed.right
    elif isinstance(changed, ast.Constant) and type(changed.value) in (bool, int):
        changed.value = not changed.value if isinstance(changed.value, bool) else changed.value + 1
        yield node, changed
    elif isinstance(changed, ast.List | ast.Set) and len(changed.elts) > 1 and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        for index in range(len(changed.elts)):
            shorter = copy.deepcopy(changed)
            del shorter.elts[index]
            yield node, shorter
    elif isinstance(changed, ast.Call) and isinstance(changed.func, ast.Name):
        if changed.func.id in NAMES:
            changed.func.id = NAMES[changed.func.id]
            yield node, changed
        elif changed.func.id == "replace" and len(changed.keywords) > 1:
            for index in range(len(changed.keywords)):
                shorter_call = copy.deepcopy(changed)
                del shorter_call.keywords[index]
                yield node, shorter_call


def _not(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), copy.deepcopy(node))
