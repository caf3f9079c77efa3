"""`${{ … }}` inside scalars: find the expressions, and insert their values.

In: a scalar's text, variables, functions. Out: its value and the tainted variables that it depends on. A text is never rendered as a
template: only the expressions are replaced, and everything else is unchanged, `{% … %}` and `{{ … }}` included. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from reconciler.config.keys import SECRETS
from reconciler.config.language.bounds import (
    TEXT_MAX,
    WORK,
    Compiled,
    ExpressionError,
    Function,
    NoValue,
    Path,
    Usage,
    plain,
    spend,
    text_of,
    text_room,
)
from reconciler.config.language.compiled import CACHE, compiled, concatenation, end_of_hole
from reconciler.config.language.functions import binary, from_json, numbers
from reconciler.config.source.nodes import HOLE_OPENING, SECRET, UNKNOWN
from reconciler.text.names import did_you_mean

HOLES_MAX: Final = 200  # in one scalar
# All secrets cost the same: who can write expressions could otherwise measure one, by filling the limit up to an error.
SECRET_SIZE: Final = 1_024  # characters that a secret counts as, whatever its length

JSON: Final = Function("json", from_json)
RANGE: Final = Function("range", numbers)

_OPENING: Final = re.compile(r"\$\$\{\{|\$\{\{")
# The form in which SOPS writes a value: ENC[AES256_GCM,data:…,type:int]. The type is readable without the key.
_NO_TEXT: Final = re.compile(r",type:(?:int|float|bool)\]\Z")  # the end of an encrypted number, or of true or false


@dataclass(frozen=True)
class Hole:
    """An expression in a text: its source, and where the hole begins and ends, braces included."""

    source: str
    start: int
    end: int


class Part(NamedTuple):
    """A part of a text. `size`: the characters that count towards the limits."""

    value: Any
    size: int


def holes(text: str) -> Iterator[str | Hole]:
    """Texts and holes in their order. Raises `ExpressionError` at a hole that is not closed."""
    at = count = 0
    while (opening := _OPENING.search(text, at)) is not None:
        if opening.start() > at:
            yield text[at : opening.start()]
        if opening[0] != HOLE_OPENING:
            yield HOLE_OPENING
            at = opening.end()
            continue
        count += 1
        if count > HOLES_MAX:
            raise ExpressionError(f"a text contains more than {HOLES_MAX} expressions", opening.start(), id="RC-expression-limit")
        hole = _hole(text, opening.start())
        yield hole
        at = hole.end
    if at < len(text):
        yield text[at:]


@lru_cache(maxsize=CACHE)
def _parts(text: str) -> tuple[str | Hole, ...]:
    """The texts and holes of a scalar, cached because `forEach` evaluates the same scalar many times."""
    return tuple(holes(text))


def _hole(text: str, start: int) -> Hole:
    end = end_of_hole(text, start)
    return Hole(text[start + len(HOLE_OPENING) : end - len("}}")], start, end)


class SecretValues(Protocol):
    """The values in encrypted files; `paths`: what an expression uses of them."""

    def origins(self, paths: Collection[Path]) -> frozenset[str]:
        """The names of the values. Raises `ExpressionError` for a name that no file has."""

    def values(self, paths: Collection[Path]) -> Mapping[str, Any] | None:
        """The values by name; None if nothing is decrypted. Raises `NoValue` if decryption fails."""

    def shown(self, path: Path) -> Any:
        """What the files show of a value without the key: its structure, and its texts as they are encrypted. Raises `ExpressionError` for
        a path that does not exist, and `LookupError` for one that leads into a text."""


class Evaluator:
    """Evaluates the scalars of a project.

    `vars`: values by name, `tainted` those of them that may be secrets, `unset` those that have a placeholder text instead of a value.
    `file`: reads a file of the project. `names`: other names (`each`). `work`: the work so far of all evaluators that share it. `secrets`:
    values from encrypted files, None where the project names none.
    """

    secrets: SecretValues | None = None

    def __init__(
        self,
        *,
        vars: Mapping[str, Any],
        tainted: Collection[str] = (),
        unset: Collection[str] = (),
        env_name: str | None = None,
        file: Callable[[str], str] | None = None,
        names: Mapping[str, Any] | None = None,
        work: Usage | None = None,
    ) -> None:
        self.work = work or Usage()
        self.vars, self.tainted, self.unset, self.env_name, self.file = vars, frozenset(tainted), frozenset(unset), env_name, file
        self.names = dict(names or {})
        self.context: dict[str, Any] = {"vars": vars, "env": {"name": env_name}, "json": JSON, "range": RANGE, **self.names}
        if file is not None:
            self.context["file"] = Function("file", file)

    def with_names(self, names: Mapping[str, Any]) -> Evaluator:
        """The same with more names, none of which depends on a tainted variable."""
        # One for each element of forEach: 10,000 elements share functions and variables, and differ in one name.
        evaluator = copy(self)
        evaluator.names = {**self.names, **names}
        evaluator.context = {**self.context, **names}
        return evaluator

    def scalar(self, text: str) -> tuple[Any, tuple[str, ...]]:
        """The value of a scalar: that of its hole if it is one whole hole, else a text. Second, the names of the tainted variables that it
        depends on, sorted. Raises `ExpressionError`."""
        parts = _parts(text)
        taint: set[str] = set()
        token = WORK.set(self.work)
        try:
            if len(parts) == 1 and isinstance(parts[0], Hole):
                return self._value(parts[0], taint, plain).value, tuple(sorted(taint))
            texts = [self._value(part, taint, text_of) if isinstance(part, Hole) else Part(part, len(part)) for part in parts]
        finally:
            WORK.reset(token)
        if any(part.value is UNKNOWN for part in texts):
            return UNKNOWN, tuple(sorted(taint))
        if sum(part.size for part in texts) > TEXT_MAX:
            raise ExpressionError(f"a text is longer than {TEXT_MAX:,} characters", id="RC-expression-limit")
        return "".join(part.value for part in texts), tuple(sorted(taint))

    def mention(self, text: str) -> None:
        """Record the variables that a scalar would use, without its value."""
        try:
            for part in _parts(text):
                if isinstance(part, Hole):
                    expression = compiled(part.source)
                    self.work.use(expression.variables, expression.all_variables)
        except ExpressionError:
            pass  # an unreadable expression uses nothing

    def _value(self, hole: Hole, taint: set[str], finish: Callable[[Any], Any]) -> Part:
        try:
            expression = compiled(hole.source)
            self._check(expression.names, expression.variables)
            self.work.use(expression.variables, expression.all_variables)
            secret = self._secret(expression)
            taint |= secret | (self.unset if expression.all_variables else self.unset & expression.variables)
            # From here on nothing is evaluated before it is certain that the value can only be the secret itself, or a join with it. A
            # comparison or an index would answer questions about it: `"a" if secrets.x[0] == "s" else …` reads it letter by letter.
            if secret:
                return self._over_secret(concatenation(hole.source), secret, finish)
            value = finish(expression(self.context))
            return Part(value, len(value) if isinstance(value, str) else 0)
        except NoValue:
            raise
        except ExpressionError as error:
            raise ExpressionError(error.message, hole.start, id=error.id) from None
        except RecursionError:
            raise ExpressionError("a value is nested too deeply", hole.start, id="RC-expression-limit") from None
        except MemoryError:
            raise ExpressionError("the expression uses too much memory", hole.start, id="RC-expression-limit") from None

    def _secret(self, expression: Compiled) -> frozenset[str]:
        """The tainted variables and the secrets that an expression may use."""
        secret = self.tainted if expression.all_variables else self.tainted & expression.variables
        if self.secrets is not None and expression.secrets:
            secret |= self.secrets.origins(expression.secrets)
        return secret

    # -- secrets: nothing here depends on a value, only on what the files show without the key and on the types of variables ------------

    def _over_secret(self, expression: Compiled, secret: frozenset[str], finish: Callable[[Any], Any]) -> Part:
        """The value of an expression over secrets: one of them, or a concatenation. Raises `ExpressionError` for anything else."""
        joins = finish is text_of or bool(expression.operands)
        if not self._is_unchanged(expression, joins):
            raise ExpressionError(_changed(secret), id="RC-secret-changed")
        part = self._joined(expression) if joins else self._unchanged(expression)
        spend(part.size)
        return part

    def _is_unchanged(self, expression: Compiled, joins: bool) -> bool:
        """Whether an expression contains secrets only as they are. `joins`: as parts of a text, which a list and a map cannot be."""
        if not self._secret(expression):
            return True
        if expression.operands:
            texts = expression.operator == "~" or all(map(self._adds, expression.operands))
            return texts and all(self._is_unchanged(operand, True) for operand in expression.operands)
        if expression.path is None:
            return False
        try:
            shown = self._shown(expression.path)
        except LookupError:
            return False
        return not (joins and (shown is None or isinstance(shown, Mapping | list)))

    def _adds(self, operand: Compiled) -> bool:
        """Whether `+` accepts an operand that contains a secret: it joins texts only."""
        if operand.operands or operand.path is None or not self._secret(operand):
            return True
        try:
            shown = self._shown(operand.path)
        except LookupError:
            return False
        return isinstance(shown, str) and _NO_TEXT.search(shown) is None

    def _shown(self, path: Path) -> Any:
        """What is known of a value: the type of a variable, for a secret what its file shows without the key.

        Raises `LookupError` for a part of a variable: whether it exists depends on its value."""
        if path[0] == SECRETS:
            return self.secrets.shown(path[1:]) if self.secrets is not None else None
        if len(path) != len(("vars", "NAME")):
            raise LookupError(path)
        return self.vars[str(path[1])]

    def _joined(self, expression: Compiled, adds: bool = False) -> Part:
        """The text of a concatenation. `adds`: by `+`, which accepts only texts.

        The length of a secret is not counted: whether a text is too long must not depend on it."""
        if not self._secret(expression):
            value = expression(self.context)
            text = binary("+", "", value) if adds else text_of(value)
            return Part(text, len(text))
        if not expression.operands:
            part = self._unchanged(expression)
            return part if part.value is UNKNOWN else Part(text_of(part.value), part.size)
        parts = [self._joined(operand, expression.operator == "+") for operand in expression.operands]
        size = sum(part.size for part in parts)
        text_room(size)
        return Part(UNKNOWN if any(part.value is UNKNOWN for part in parts) else "".join(part.value for part in parts), size)

    def _unchanged(self, expression: Compiled) -> Part:
        """The value of a variable or a secret."""
        context, size = self.context, SECRET_SIZE
        if self.secrets is not None and expression.secrets:
            values = self.secrets.values(expression.secrets)
            size = max(size, len(str(self.secrets.shown(expression.path[1:]))) if expression.path is not None else 0)
            if values is None:
                return Part(UNKNOWN, size)
            context = {**context, SECRETS: values}
        token = WORK.set(None)
        try:
            return Part(plain(expression(context)), size)
        finally:
            WORK.reset(token)

    # -- names -------------------------------------------------------------------------------------------------------------------------

    def _check(self, names: Collection[str], variables: Collection[str]) -> None:
        """Check that the names of an expression exist, whether or not its value needs them."""
        # All names are checked, also in a branch that is not taken: `x if env.name == "prod" else y` must not fail in production alone.
        for name in sorted(names):
            if name == SECRETS and self.secrets is None:
                raise ExpressionError(
                    f"there are no secrets here; name an encrypted file in the project file: {SECRETS}: FILE", id="RC-no-secrets-file"
                )
            if name == "each" and name not in self.context:
                raise ExpressionError("each is only available inside forEach", id="RC-each-elsewhere")
            if name not in self.context and name != SECRETS:
                known = [*self.context, *([SECRETS] if self.secrets is not None else [])]
                other = f'; did you mean "vars.{name}"?' if name in self.vars else did_you_mean(name, known)
                raise ExpressionError(f'"{name}" is not available in expressions{other}', id="RC-unknown-name")
        for name in sorted(variables):
            if name not in self.vars:
                raise ExpressionError(
                    f'variable "{name}" is not declared under vars{did_you_mean(name, self.vars)}', id="RC-unknown-variable"
                )


def _changed(secret: Collection[str]) -> str:
    """The message about an expression that does more with a secret than repeat it: the same whatever the value is."""
    uses, only = ", ".join(sorted(secret)), "or join it with texts (~), and nothing else"
    if any(map(SECRET.fullmatch, secret)):
        return f"an expression can repeat a secret ({uses}) {only}; store the value in the form that you need"
    public = " ".join(f"--public-var {name}" for name in sorted(secret))
    return f"an expression can repeat a value from the environment ({uses}) {only}, as it may be a secret; if it is not, pass {public}"
