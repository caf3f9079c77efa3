"""Compile an expression: Jinja's syntax with our own operators, filters, tests and methods.

Nothing of Python is reachable: attributes are keys of maps and the listed methods, only a `Function` can be called, and operators and joins
go through `functions`, which limit them. Imported by `compiled` alone. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError, nodes
from jinja2.environment import TemplateExpression
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from reconciler.config.keys import SECRETS
from reconciler.config.language.bounds import Compiled, ExpressionError, Function, Path, kind_of, known, within_bounds
from reconciler.config.language.functions import FILTERS, MAP_METHODS, TESTS, TEXT_METHODS, binary, compared, joined, part, unary
from reconciler.config.source.nodes import HOLE_OPENING
from reconciler.text.names import did_you_mean

LENGTH_MAX: Final = 2_000  # characters of one expression
DEPTH_MAX: Final = 60  # nesting of one expression
BRACKETS_MAX: Final = 20  # nesting of brackets in one expression

_JOIN, _PART, _COMPARE = "(join)", "(part)", "(compare)"  # names of filters that nobody can write
_CHARACTER: Final = re.compile("unexpected char (?:'|\")(.)")
_WORDS: Final = (
    ("'end of template'", "end"),
    ("'end of print statement'", "end"),
    ("chunk after expression", "there is unexpected text after its end"),
)
_VERSION: Final = re.compile(r"[0-9]+\.[0-9]*0")  # 1.10: nobody writes a number so
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_DEEP: Final = "the expression is nested too deeply"
_ALLOWED: Final = (
    nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.CondExpr, nodes.Filter, nodes.Test, nodes.Call,
    nodes.Getitem, nodes.Getattr, nodes.Slice, nodes.Concat, nodes.Compare, nodes.Operand, nodes.BinExpr, nodes.UnaryExpr,
)  # fmt: skip

# Whether an expression can be true or false is decided by its form: "a policy that is a text" would be true for every resource.
_NEVER: Final = (nodes.BinExpr, nodes.Concat, nodes.List, nodes.Tuple, nodes.Dict, nodes.Neg, nodes.Pos, nodes.Slice)
_TEXTS: Final = frozenset({"lower", "upper", "capitalize", "title", "replace", "trim", "join", "string", "tojson"})
_OTHERS: Final = frozenset({"length", "int", "float", "abs", "round", "split", "sort", "unique", "reverse", "items"})


# Jinja's sandbox is a list of what is forbidden, and it had gaps (CVE-2016-10745, CVE-2019-10906, CVE-2024-56326: `format` of a text
# reaches attributes of its arguments). So attributes are not looked up at all here: there are keys of maps, and the methods that we list.
class _Environment(ImmutableSandboxedEnvironment):
    """Closes every way from a value to something of Python."""

    # Without these, Jinja generates Python's own operators, and `"a" * 10**9` runs before anything could count it.
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    intercepted_unops = frozenset({"+", "-"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return binary(operator, left, right)

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:
        return unary(operator, arg)

    # Only our own functions: neither a class, nor a bound method of a value, nor what a map contains.
    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 -- as it is declared there
        if not isinstance(__obj, Function):
            raise ExpressionError(f"{kind_of(known(__obj))} cannot be called", id="RC-expression-types")
        return __obj(*args, **kwargs)

    def getattr(self, obj: Any, attribute: str) -> Any:
        methods = TEXT_METHODS if isinstance(obj, str) else MAP_METHODS if isinstance(obj, Mapping) else {}
        # A key of the user's map wins over a method: `{items: 3}` has an entry `items`.
        if attribute in methods and not (isinstance(obj, Mapping) and attribute in obj):
            run = methods[attribute]
            return Function(attribute, lambda *args: run(obj, *args))
        if isinstance(obj, Mapping):
            return self.getitem(obj, attribute)
        raise ExpressionError(f'{kind_of(known(obj))} has no "{attribute}"{did_you_mean(attribute, methods)}', id="RC-unknown-part")

    def getitem(self, obj: Any, argument: Any) -> Any:
        known(argument)
        if isinstance(known(obj), Mapping) and isinstance(argument, str):
            if argument in obj:
                return obj[argument]
            meant = did_you_mean(argument, [key for key in obj if isinstance(key, str)])
            return self.undefined(f'there is no key "{argument}" here{meant}')
        if isinstance(obj, str | list | tuple) and isinstance(argument, int) and not isinstance(argument, bool):
            if -len(obj) <= argument < len(obj):
                return obj[argument]
            return self.undefined(f"there is no item {argument:,} here; the first item is 0")
        raise ExpressionError(f"{kind_of(obj)} has no items by {kind_of(argument)}", id="RC-expression-types")

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        return super()._generate(_Bounded().visit(source), *args, **kwargs)


class _Bounded(NodeTransformer):
    """Calls our own functions instead of the plain Python that Jinja would generate."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 -- as the visitor wants it
        self.generic_visit(node)
        return nodes.Filter(node.nodes[0], _JOIN, node.nodes[1:], [], None, None, lineno=node.lineno)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802 -- as the visitor wants it
        self.generic_visit(node)
        expression: nodes.Expr | None = None
        left = node.expr
        for operand in node.ops:
            pair = nodes.Filter(left, _COMPARE, [nodes.Const(operand.op), operand.expr], [], None, None, lineno=node.lineno)
            expression = pair if expression is None else nodes.And(expression, pair, lineno=node.lineno)
            left = operand.expr
        assert expression is not None
        return expression

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802 -- as the visitor wants it
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        bounds = [expression or nodes.Const(None, lineno=node.lineno) for expression in (node.arg.start, node.arg.stop, node.arg.step)]
        return nodes.Filter(node.node, _PART, bounds, [], None, None, lineno=node.lineno)


def _environment() -> _Environment:
    environment = _Environment(undefined=StrictUndefined, optimized=False, autoescape=False, cache_size=0, keep_trailing_newline=True)
    # Jinja's globals contain `lipsum` and `cycler`, with whose `__globals__` its published escapes begin.
    environment.globals.clear()
    environment.filters.clear()
    environment.filters.update(FILTERS)
    environment.filters.update({_JOIN: joined, _PART: part, _COMPARE: compared})
    environment.tests.clear()
    environment.tests.update(TESTS)
    return environment


ENVIRONMENT: Final = _environment()


def _value_of(run: Callable[[], Any]) -> Any:
    """The value; raises `ExpressionError` for any other exception."""
    try:
        return run()
    except UndefinedError as error:
        raise ExpressionError(str(error.message), id="RC-unknown-part") from None
    except TypeError:
        raise ExpressionError("the values have incompatible types", id="RC-expression-types") from None
    except RecursionError:
        raise ExpressionError(_DEEP, id="RC-expression-limit") from None
    except MemoryError:
        raise ExpressionError("the expression uses too much memory", id="RC-expression-limit") from None
    except ExpressionError:
        raise
    # A defect of a filter or of Jinja must end as a message about this expression. Its text is not shown: it may contain a secret.
    except Exception as error:
        raise ExpressionError(f"the expression cannot be evaluated ({type(error).__name__})", id="RC-expression-defect") from None


def _over(expression: TemplateExpression) -> Callable[[Mapping[str, Any]], Callable[[], Any]]:
    """The function that evaluates an expression with names: as Jinja does, without the copies that its templates need."""
    root = expression._template.root_render_func

    def over(names: Mapping[str, Any]) -> Callable[[], Any]:
        context = Context(ENVIRONMENT, names, None, {})  # type: ignore[arg-type]  # nothing is written to it

        def run() -> Any:
            for _ in root(context):
                pass
            return context.vars["result"]

        return lambda: _value_of(run)

    return over


def _nothing(names: Mapping[str, Any]) -> Callable[[], Any]:
    raise AssertionError("the expression is not compiled")


def whole(text: str) -> Compiled:
    """See `compiled.compiled`."""
    if not text.strip():
        raise ExpressionError("the expression is empty", id="RC-expression-syntax")
    try:
        tree = Parser(ENVIRONMENT, text, state="variable").parse_expression()
        parts = list(_walk(tree))
        over = _over(ENVIRONMENT.compile_expression(text, undefined_to_none=False))
    except TemplateSyntaxError as error:
        wrong = f"the expression cannot be read: {without_template_words(error.message)}{other_language(text)}"
        raise ExpressionError(wrong, id="RC-expression-syntax") from None
    # SyntaxError: Jinja generates Python, whose compiler has its own limit of nesting ("too many nested parentheses").
    except (RecursionError, SyntaxError, TemplateError):
        raise ExpressionError(_DEEP, id="RC-expression-limit") from None
    except (ValueError, MemoryError):
        raise ExpressionError("the expression cannot be read: a number is too large", id="RC-expression-limit") from None
    return replace(_described(tree, parts), over=over)


def parted(text: str) -> Compiled:
    """See `compiled.concatenation`."""
    tree = Parser(ENVIRONMENT, text, state="variable").parse_expression()
    # Jinja does this while it compiles, and here parts of one tree are compiled, not a whole template.
    tree.set_environment(ENVIRONMENT)
    return _operands(tree)


def _operands(tree: nodes.Expr) -> Compiled:
    """An expression and its operands. Compiling changes a tree, so it is described before that, and its operands are compiled first."""
    described = _described(tree, list(_walk(tree)))
    operands: tuple[Compiled, ...] = ()
    if isinstance(tree, nodes.Concat | nodes.Add):
        operands = tuple(map(_operands, tree.nodes if isinstance(tree, nodes.Concat) else [tree.left, tree.right]))
    template = nodes.Template([nodes.Assign(nodes.Name("result", "store"), tree, lineno=1)], lineno=1)
    over = _over(TemplateExpression(ENVIRONMENT.from_string(template), undefined_to_none=False))
    return replace(described, over=over, operator="+" if isinstance(tree, nodes.Add) else "~" if operands else "", operands=operands)


def _described(tree: nodes.Expr, parts: list[nodes.Node]) -> Compiled:
    """What an expression uses; it cannot run yet."""
    after = {id(node.node): node for node in parts if isinstance(node, nodes.Getattr | nodes.Getitem)}
    names = [node for node in parts if isinstance(node, nodes.Name)]
    paths = [(name.name, *_path(name, after)) for name in names]
    keys: dict[str, set[str | None]] = defaultdict(set)
    for path in paths:
        keys[str(path[0])].add(path[1] if len(path) > 1 and isinstance(path[1], str) else None)
    written = {name: frozenset(key for key in keys_of if key is not None) for name, keys_of in keys.items()}
    return Compiled(
        over=_nothing,
        names=frozenset(keys),
        variables=written.get("vars", frozenset()),
        all_variables=None in keys.get("vars", ()),
        secrets=frozenset(path[1:] for path in paths if path[0] == SECRETS),
        keys=written,
        calls=tuple(_calls(parts)),
        boolean=_boolean(tree),
        path=paths[0] if len(names) == 1 and _is_path(tree) else None,
    )


def _calls(parts: list[nodes.Node]) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    """The calls of functions by their names, from the left."""
    for node in reversed(parts):
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
            constants = [argument.value if isinstance(argument, nodes.Const) else None for argument in node.args]
            yield node.node.name, tuple(value if isinstance(value, str) else None for value in constants)


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


def _path(name: nodes.Name, after: Mapping[int, nodes.Getattr | nodes.Getitem]) -> Path:
    """The keys that are written after a name, up to the first that is computed."""
    path: list[str | int] = []
    node: nodes.Node = name
    while (next_part := after.get(id(node))) is not None and (key := _key(next_part)) is not None:
        path.append(key)
        node = next_part
    return tuple(path)


def _is_path(node: nodes.Node) -> bool:
    """Whether an expression is a name with written keys after it, and nothing else."""
    while isinstance(node, nodes.Getattr | nodes.Getitem) and _key(node) is not None:
        node = node.node
    return isinstance(node, nodes.Name)


def _key(node: nodes.Getattr | nodes.Getitem) -> str | int | None:
    """The key or the index as written; None if it is computed."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    written = node.arg.value if isinstance(node.arg, nodes.Const) else None
    return written if isinstance(written, str | int) and not isinstance(written, bool) else None


def _walk(tree: nodes.Node) -> Iterator[nodes.Node]:
    """Every part of an expression; raises `ExpressionError` for syntax that the language does not have."""
    pending = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > DEPTH_MAX:
            raise ExpressionError(_DEEP, id="RC-expression-limit")
        # What is not listed does not exist, also in a Jinja of next year.
        if not isinstance(node, _ALLOWED):
            raise ExpressionError("the expression uses something that this language does not support", id="RC-expression-syntax")
        # Jinja evaluates `x if false` to an undefined value, which would be reported far away from here.
        if isinstance(node, nodes.CondExpr) and node.expr2 is None:
            raise ExpressionError("an if requires an else", id="RC-expression-syntax")
        # `*` and `**` would let the length of a list, which is data, decide how a function is called.
        if isinstance(node, nodes.Filter | nodes.Test | nodes.Call) and (node.kwargs or node.dyn_args or node.dyn_kwargs):
            raise ExpressionError("arguments must be positional", id="RC-expression-syntax")
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise ExpressionError(f'filter "{node.name}" does not exist{did_you_mean(node.name, FILTERS)}', id="RC-unknown-function")
        if isinstance(node, nodes.Test) and node.name not in TESTS:
            raise ExpressionError(f'test "{node.name}" does not exist{did_you_mean(node.name, TESTS)}', id="RC-unknown-function")
        # The lexer has built a literal before anybody can count it; a number of 100,000 digits must not get further.
        if isinstance(node, nodes.Const):
            within_bounds(node.value)
        yield node
        pending += [(child, depth + 1) for child in node.iter_child_nodes()]


def end_of_hole(text: str, start: int) -> int:
    """See `compiled.end_of_hole`."""
    begin = start + len(HOLE_OPENING)
    rest = text[begin : begin + LENGTH_MAX + 2]
    # The lexer finds the end of the expression, not a search for "}}": a text or a map inside it may contain these characters.
    # "{{ " replaces the original braces: Jinja would interpret a "-" or "+" after "{{". The length is the same, so positions stay valid.
    lexed = "{{ " + rest.replace("\r", " ")
    at, depth = 0, 0
    try:
        for _, kind, value in ENVIRONMENT.lexer.tokeniter(lexed, None):
            if kind == "variable_end":
                end = begin + at - len("{{ ") + value.index("}}")
                if value.startswith("-"):
                    raise ExpressionError('there is a "-" before the end of the expression; remove it', start, id="RC-expression-syntax")
                return end + len("}}")
            at += len(value)
            # What a version looks like: 1.10 would become 1.1, and nobody would notice before the page is published.
            if kind == "float" and _VERSION.fullmatch(value) and str(float(value)) != value:
                wrong = f"{value} is a number and means {float(value)}; write {float(value)}, or quote it to keep its text"
                raise ExpressionError(wrong, start, id="RC-number-not-quoted")
            if kind == "operator":
                depth += (value in _OPEN) - (value in _CLOSE)
                if depth > BRACKETS_MAX:
                    raise ExpressionError(f"the expression has more than {BRACKETS_MAX} nested brackets", start, id="RC-expression-limit")
    except TemplateSyntaxError as error:
        if "}}" in rest:
            wrong = f"the expression cannot be read: {without_template_words(error.message)}{other_language(rest.partition('}}')[0])}"
            raise ExpressionError(wrong, start, id="RC-expression-syntax") from None
    if len(text) - begin > LENGTH_MAX:
        wrong = f'the expression does not end within {LENGTH_MAX:,} characters; "}}}}" is missing, or it is too long'
        raise ExpressionError(wrong, start, id="RC-expression-syntax")
    raise ExpressionError(
        'the expression does not end; "}}" is missing, or a quote or bracket before it is open', start, id="RC-expression-syntax"
    )


_OTHER_OPERATORS: Final = (
    (re.compile(r"&&"), 'write "and" instead of "&&"'),
    (re.compile(r"\|\|"), 'write "or" instead of "||"'),
    (re.compile(r"!(?!=)"), 'write "not" instead of "!"'),
    (re.compile(r"(?<![=!<>])=(?!=)"), 'write "==" to compare'),
)
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")


def other_language(text: str) -> str:
    """What to write instead of an operator of another language; "" if an unreadable expression contains none."""
    bare = _QUOTED.sub("", text)
    return next((f"; {way}" for pattern, way in _OTHER_OPERATORS if pattern.search(bare)), "")


def without_template_words(message: str | None) -> str:
    """Jinja's message without its mentions of templates."""
    message = message or "it is none"
    character = _CHARACTER.match(message)
    if character is not None:
        return "a quote is never closed" if character[1] in "'\"" else f'"{character[1]}" is not part of the language'
    for theirs, ours in _WORDS:
        message = message.replace(theirs, ours)
    return message[:1].lower() + message[1:].rstrip(".")
