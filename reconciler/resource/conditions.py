"""Conditions on visitors, such as `visitor.claims.plan == "pro"`: their grammar, and what can be decided of them. Pure.

The premise: the service evaluates conditions, and this module only predicts it. A wrong prediction in one direction hides an exposure, so
every question has an answer that is safe if nothing is known, and that is the answer whenever the service could behave differently:

    question               asked because                                       unknown
    holds                  an access test says what a reader must see          None: the test is undecided, which is reported
    excludes_nobody        a condition that keeps nobody out protects nothing  False: it may keep somebody out
    excludes_everybody     what nobody can see is probably a mistake           False: somebody may pass
    mistake                readers of an unclear condition count as all        an error with the place where the meaning ends

How a condition is read, and what is asked of its tree:

    visitor.claims.plan == "pro" && !visitor.claims.unsigned.beta
                                  &&
                      ==                      !
          Claim(plan)  Literal("pro")   Claim(unsigned, beta)      what a visitor sets keeps nobody out: they would set it

Whom a condition keeps out is decided by trying: each claim takes every value that the condition mentions, and one that it does not mention,
which stands for all others, because no operation of the grammar distinguishes them. Comparisons of order (`>`) would, so they are read and
never evaluated. With too many claims to try all (`TRIES_MAX`), a simpler rule looks at each part for itself.

The grammar: `visitor.claims.NAME`, deeper names, `["name"]`, texts, numbers, `true`, `false`, `null`, lists of these, `==`, `!=`, `in`,
`!`, `&&`, `||` and parentheses. The reference names only "expression"; examples of it are the source (`docs/decisions/0039`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Final, NamedTuple, NoReturn

from reconciler.text.names import did_you_mean, one_of

UNSIGNED: Final = "unsigned"  # among the claims: values that visitors set themselves
DEPTH_MAX: Final = 50
TRIES_MAX: Final = 5_000  # combinations of claims that are tried for one condition
ORDER: Final = ("<", ">", "<=", ">=")  # comparisons that are not evaluated
COMPARISONS: Final = {"==": "==", "===": "==", "!=": "!=", "!==": "!=", "in": "in"} | {sign: sign for sign in ORDER}
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_$][\w$]*)"""
    r"""|(?P<sign>===|!==|==|!=|<=|>=|&&|\|\||[!<>().,\[\]]))""",
    re.ASCII | re.DOTALL,
)
_CLAIM: Final = re.compile(r"""\bvisitor\s*\.\s*claims\s*(?:\.\s*([A-Za-z_$][\w$]*)|\[\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\])""", re.ASCII)
_CONSTANTS: Final = {"true": True, "false": False, "null": None, "undefined": None}
_MISSING: Final = object()
_FRESH: Final = "\x00"  # a text that no condition contains

Path = tuple[str, ...]


class Claim(NamedTuple):
    """The value of a claim: `visitor.claims.team.name` is ("team", "name")."""

    path: Path

    def __str__(self) -> str:
        plain = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
        return "visitor.claims" + "".join(f".{name}" if plain.fullmatch(name) else f'["{name}"]' for name in self.path)


class Literal(NamedTuple):
    """A value that is written in the condition; a list is a tuple."""

    value: Any


class Operator(NamedTuple):
    """`sign`: `!`, `&&`, `||`, or a comparison."""

    sign: str
    parts: tuple[Node, ...]


Node = Claim | Literal | Operator


class ConditionError(ValueError):
    """A condition has no meaning. `at`: the index of the character where that shows."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def parsed(condition: str) -> Node:
    """The tree of a condition. Raises `ConditionError`."""
    result = _tree(condition)
    if isinstance(result, ConditionError):
        raise ConditionError(str(result), result.at)
    return result


@lru_cache(maxsize=4096)
def mistake(condition: str) -> ConditionError | None:
    """Why it is unknown whom a condition keeps out, None if that is known: it has no meaning, or compares by order."""
    tree = _tree(condition)
    if isinstance(tree, ConditionError):
        return tree
    sign = next((node.sign for node in _nodes(tree) if isinstance(node, Operator) and node.sign in ORDER), None)
    return None if sign is None else ConditionError(f"{sign} is not known; known are ==, != and in", condition.find(sign))


@lru_cache(maxsize=4096)
def excludes_nobody(condition: str) -> bool:
    """Whether every visitor meets a condition, or can by claims that they set themselves; False if that is unknown."""
    if mistake(condition) is not None:
        return False
    tree = parsed(condition)
    signed, own = _choices(tree, signed=True), _choices(tree, signed=False)
    if _tries(signed) * _tries(own) > TRIES_MAX:
        return _is_open(tree)
    return all(any(truth(evaluated(tree, {**given, **chosen})) for chosen in _combinations(own)) for given in _combinations(signed))


@lru_cache(maxsize=4096)
def excludes_everybody(condition: str) -> bool:
    """Whether no visitor can meet a condition; False if that is unknown."""
    if mistake(condition) is not None:
        return False
    tree = parsed(condition)
    choices = {**_choices(tree, signed=True), **_choices(tree, signed=False)}
    return _tries(choices) <= TRIES_MAX and not any(truth(evaluated(tree, values)) for values in _combinations(choices))


def holds(condition: str, claims: Mapping[str, Any]) -> bool | None:
    """Whether a condition holds for a signed-in visitor with exactly these claims; None if it cannot be decided.

    Only equality with a value and whether a claim is set are decided; `&&` and `||` of what is undecided may still be.
    """
    tree = _tree(condition)
    return None if isinstance(tree, ConditionError) else _decided(tree, claims)


def names(condition: str) -> Iterator[str]:
    """The names of the signed claims that a condition reads, as far as they are written out."""
    for match in _CLAIM.finditer(condition):
        name = next(part for part in match.groups() if part is not None)
        if name != UNSIGNED:
            yield name


def claims_in(condition: str) -> Iterator[tuple[Claim, tuple[Any, ...]]]:
    """Each claim that a condition reads, with the values that it is compared with; nothing of a condition without meaning."""
    tree = _tree(condition)
    if isinstance(tree, ConditionError):
        return
    if isinstance(tree, Claim):
        yield tree, ()
    for operation in [node for node in _nodes(tree) if isinstance(node, Operator)]:
        others = [other.value for other in operation.parts if isinstance(other, Literal)] if operation.sign in COMPARISONS else []
        values = tuple(value for other in others for value in (other if isinstance(other, tuple) else (other,)))
        yield from ((part, values) for part in operation.parts if isinstance(part, Claim))


# -- evaluation --------------------------------------------------------------------------------------------------------------------


def evaluated(node: Node, claims: Mapping[Path, Any]) -> Any:
    """The value of a part of a condition, as the service computes it. `claims`: values by path; a missing one is null."""
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Claim):
        return claims.get(node.path)
    if node.sign == "!":
        return not truth(evaluated(node.parts[0], claims))
    left, right = node.parts
    if node.sign in ("&&", "||"):
        first = truth(evaluated(left, claims))
        return truth(evaluated(right, claims)) if first == (node.sign == "&&") else first
    value, other = evaluated(left, claims), evaluated(right, claims)
    if node.sign == "in":
        return isinstance(other, list | tuple) and any(same(value, entry) for entry in other)
    return same(value, other) == (node.sign == "==")


def truth(value: Any) -> bool:
    """Whether a value counts as true: all but null, false, 0 and the empty text."""
    return isinstance(value, list | tuple | Mapping) or bool(value)


def same(value: Any, other: Any) -> bool:
    """Whether two values are equal and of one type: 1 is not true."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return list(value) == list(other)
    return bool(value == other)


def any_of(parts: Sequence[bool | None]) -> bool | None:
    """Whether any part holds; None if that cannot be decided."""
    return True if True in parts else None if None in parts else False


def _decided(node: Node, claims: Mapping[str, Any]) -> bool | None:
    if isinstance(node, Claim):
        return _set(_value(node, claims))
    if isinstance(node, Literal) or node.sign == "!":
        return None
    if node.sign in ("&&", "||"):
        parts = [_decided(part, claims) for part in node.parts]
        if node.sign == "||":
            return any_of(parts)
        return False if False in parts else None if None in parts else True
    left, right = node.parts
    if node.sign == "in":
        entries = right.value if isinstance(right, Literal) and isinstance(right.value, tuple) else None
        return (
            any_of([_equal(_value(left, claims), entry) for entry in entries]) if entries is not None and isinstance(left, Claim) else None
        )
    if node.sign != "==" or isinstance(left, Claim) == isinstance(right, Claim):
        return None
    claim, other = (left, right) if isinstance(left, Claim) else (right, left)
    if not isinstance(claim, Claim) or not isinstance(other, Literal) or isinstance(other.value, tuple):
        return None
    return _equal(_value(claim, claims), other.value)


def _value(claim: Claim, claims: Mapping[str, Any]) -> Any:
    """The value of a claim; _MISSING if the visitor has no such claim, None if it is unknown."""
    value: Any = claims
    for name in () if claim.path[0] == UNSIGNED else claim.path:
        if value is _MISSING or not isinstance(value, Mapping):
            return _MISSING if value is _MISSING else None
        value = value.get(name, _MISSING)
    return None if claim.path[0] == UNSIGNED else value


def _equal(value: Any, other: Any) -> bool | None:
    """Whether a claim has a value; None for values of different types, which the service may still treat as equal."""
    if value is None or other is None:
        return None
    if value is _MISSING:
        return False
    return bool(value == other) if type(value) is type(other) or (_is_number(value) and _is_number(other)) else None


def _set(value: Any) -> bool | None:
    """Whether a claim alone makes a condition true."""
    if value is _MISSING:
        return False
    return bool(value) if isinstance(value, bool | str) or _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# -- whom a condition keeps out ----------------------------------------------------------------------------------------------------


def _nodes(node: Node) -> Iterator[Node]:
    """A tree and all that is in it."""
    yield node
    for part in node.parts if isinstance(node, Operator) else ():
        yield from _nodes(part)


def _choices(tree: Node, *, signed: bool) -> dict[Path, list[Any]]:
    """The claims in a tree, each with values that stand for all that it can have: the condition distinguishes no others."""
    literals = [node.value for node in _nodes(tree) if isinstance(node, Literal)]
    flat = [value for literal in literals for value in (literal if isinstance(literal, tuple) else (literal,))]
    values: list[Any] = [None, True, False, "", _FRESH]
    values += [value for value in (*flat, *literals) if not any(same(value, other) for other in values)]
    if any(isinstance(node, Operator) and node.sign == "in" and not isinstance(node.parts[1], Literal) for node in _nodes(tree)):
        values += [[], flat, *([value] for value in values)]
    paths = dict.fromkeys(node.path for node in _nodes(tree) if isinstance(node, Claim) and (node.path[0] != UNSIGNED) == signed)
    return dict.fromkeys(paths, values)


def _tries(choices: Mapping[Path, list[Any]]) -> int:
    tries = 1
    for values in choices.values():
        tries *= len(values)
    return tries


def _combinations(choices: Mapping[Path, list[Any]]) -> Iterator[dict[Path, Any]]:
    for values in product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def _is_open(node: Node, wanted: bool = True) -> bool:
    """Whether every visitor can give a part of a condition the wanted truth, part by part; for conditions with many claims."""
    if isinstance(node, Literal):
        return truth(node.value) is wanted
    if isinstance(node, Claim):
        return node.path[0] == UNSIGNED
    if node.sign == "!":
        return _is_open(node.parts[0], not wanted)
    if node.sign in ("&&", "||"):
        return (all if (node.sign == "&&") == wanted else any)(_is_open(part, wanted) for part in node.parts)
    claims = [part for part in node.parts if isinstance(part, Claim)]
    if all(isinstance(part, Literal) for part in node.parts):
        return truth(evaluated(node, {})) is wanted
    return len(claims) == 1 and claims[0].path[0] == UNSIGNED


# -- reading -----------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _tree(condition: str) -> Node | ConditionError:
    try:
        return _Parser(condition).whole()
    except ConditionError as error:
        return error


class _Parser:
    """Reads one condition from left to right. `next`: the index of the next token."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            token = _TOKEN.match(text, position)
            if token is None or token.lastgroup is None:
                at = position + len(text[position:]) - len(text[position:].lstrip())
                raise ConditionError(f"{_single(text[at:])} is not part of any condition", at)
            self.tokens.append((token.lastgroup, token.group(token.lastgroup), token.start(token.lastgroup)))
            position = token.end()
        self.end, self.next, self.depth = end, 0, 0

    def whole(self) -> Node:
        """The tree of the whole condition."""
        node = self._either()
        if self.next < len(self.tokens):
            self._wrong(f"{self.tokens[self.next][1]} is unexpected after what is complete")
        return node

    def _wrong(self, message: str) -> NoReturn:
        raise ConditionError(message, self.tokens[self.next][2] if self.next < len(self.tokens) else self.end)

    def _sign(self, *signs: str) -> str | None:
        """The next token, if it is one of these signs or words."""
        if self.next < len(self.tokens) and self.tokens[self.next][0] != "text" and self.tokens[self.next][1] in signs:
            self.next += 1
            return self.tokens[self.next - 1][1]
        return None

    def _need(self, sign: str) -> None:
        if self._sign(sign) is None:
            self._wrong(f"{sign} is missing")

    def _either(self) -> Node:
        node = self._both()
        while self._sign("||"):
            node = Operator("||", (node, self._both()))
        return node

    def _both(self) -> Node:
        node = self._compared()
        while self._sign("&&"):
            node = Operator("&&", (node, self._compared()))
        return node

    def _compared(self) -> Node:
        node = self._part()
        sign = self._sign(*COMPARISONS)
        return node if sign is None else Operator(COMPARISONS[sign], (node, self._part()))

    def _part(self) -> Node:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            self._wrong(f"more than {DEPTH_MAX} parts are inside each other")
        node: Node
        if self._sign("!"):
            node = Operator("!", (self._part(),))
        elif self._sign("("):
            node = self._either()
            self._need(")")
        elif self._sign("["):
            node = self._list()
        else:
            node = self._word()
        self.depth -= 1
        return node

    def _list(self) -> Node:
        values: list[Any] = []
        while self._sign("]") is None:
            if values:
                self._need(",")
            entry = self._part()
            if not isinstance(entry, Literal):
                self._wrong("a list contains values only")
            values.append(entry.value)
        return Literal(tuple(values))

    def _word(self) -> Node:
        if self.next >= len(self.tokens):
            self._wrong("it ends too early")
        sort, text, at = self.tokens[self.next]
        if sort == "sign":
            self._wrong(f"a value is missing before {text}")
        self.next += 1
        if sort == "text":
            return Literal(_unquoted(text))
        if sort == "number":
            return Literal(float(text) if "." in text else int(text))
        if text in _CONSTANTS:
            return Literal(_CONSTANTS[text])
        if text != "visitor":
            raise ConditionError(f"{text} is not known; a claim is written visitor.claims.NAME, and a text in quotes", at)
        path: list[str] = []
        while (sign := self._sign(".", "[")) is not None:
            path.append(self._name(sign))
        if len(path) < 2 or path[0] != "claims":
            raise ConditionError("only visitor.claims.NAME is known of a visitor", at)
        return Claim(tuple(path[1:]))

    def _name(self, sign: str) -> str:
        """A name after a dot or in brackets."""
        wanted = "name" if sign == "." else "text"
        if self.next >= len(self.tokens) or self.tokens[self.next][0] != wanted:
            self._wrong("a name is missing after the dot" if sign == "." else "a name in quotes is missing")
        text = self.tokens[self.next][1]
        self.next += 1
        if sign == ".":
            return text
        self._need("]")
        return _unquoted(text)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)


def _single(text: str) -> str:
    """The character that a text begins with; of a quote, that it is not closed."""
    return f"{text[0]} without its end" if text[0] in "\"'" else text[0]


# -- Claims against the schema that declares them ------------------------------------------------------------------------------------

TYPES: Final[Mapping[str, Any]] = {"boolean": bool, "string": str, "number": (int, float)}


class ClaimMistake(NamedTuple):
    """What is wrong with the use of a claim, as one sentence. `unknown`: the schema has no such claim. `closed`: nor can a visitor have
    one."""

    message: str
    unknown: bool
    closed: bool


def claim_mistakes(condition: str, schema: Mapping[str, Any]) -> Iterator[ClaimMistake]:
    """What is wrong with the claims in a condition, each once."""
    reported = set()
    for claim, values in claims_in(condition):
        for mistake in _mistakes(claim, values, schema):
            if mistake.message not in reported:
                reported.add(mistake.message)
                yield mistake


def _mistakes(claim: Claim, values: tuple[Any, ...], schema: Mapping[str, Any]) -> Iterator[ClaimMistake]:
    rule: Any = schema
    for name in claim.path:
        inner = rule.get("properties") if isinstance(rule, Mapping) else None
        properties = inner if isinstance(inner, Mapping) else {}
        if name not in properties:
            has_parts = isinstance(rule, Mapping) and rule.get("type") == "object"
            closed = not has_parts or rule.get("additionalProperties") is False
            hint = did_you_mean(name, [key for key in properties if isinstance(key, str)])
            yield ClaimMistake(f"the schema of claims has no {claim}{hint}", unknown=True, closed=closed)
            return
        rule = properties[name]
    allowed = rule.get("enum") if isinstance(rule, Mapping) else None
    if isinstance(rule, Mapping) and rule.get("type") == "array":
        rule = rule.get("items")
    types: Any = TYPES.get(str(rule.get("type"))) if isinstance(rule, Mapping) else None
    for value in values if types is not None else ():
        wrong_type = not isinstance(value, types) or (isinstance(value, bool) and types is not bool)
        if value is not None and (wrong_type or (isinstance(allowed, list) and value not in allowed)):
            choices = [str(choice) for choice in allowed] if isinstance(allowed, list) else []
            expected = one_of(choices) if choices else f"expected a {rule['type']}"
            near = did_you_mean(value, choices) if isinstance(value, str) else ""
            yield ClaimMistake(f"{claim} is never {_shown(value)}; {expected}{near}", unknown=False, closed=True)


def _shown(value: Any) -> str:
    """A value as it is written in a condition."""
    return f'"{value}"' if isinstance(value, str) else {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
