"""What is wrong with an expression of a policy, before it is ever evaluated: its names, fields, calls and secrets. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from reconciler.config.language.bounds import Compiled, ExpressionError
from reconciler.config.language.expressions import Hole, holes
from reconciler.config.source.nodes import Scalar
from reconciler.config.source.problems import Mistake, described
from reconciler.features.policies.section.keys import ACTIONS, EVERYWHERE, OF_A_RESOURCE
from reconciler.resource import Kind, Kinds
from reconciler.text.names import did_you_mean, one_of

Arguments = tuple[str | None, ...]
"""The texts that are written as arguments of a call; None for anything else."""

FORM: Final = 'write one expression: ${{ after.visibility != "public" }}'
FIELDS_OF: Final = ("before", "after")


@dataclass(frozen=True)
class ExpressionScope:
    """What the expressions of one policy can use. `kinds`: those that the policy checks, none for the whole plan. `variables`: by name;
    `secret`: the ones from the environment."""

    every: Kinds
    kinds: tuple[Kind, ...]
    whole: bool
    variables: Mapping[str, object]
    secret: Collection[str]

    @property
    def names(self) -> frozenset[str]:
        """The names that expressions can use."""
        return EVERYWHERE if self.whole else EVERYWHERE | OF_A_RESOURCE

    def fields(self) -> set[str]:
        """The fields of all its kinds that expressions can read."""
        return {name for kind in self.kinds for name, field in kind.fields.items() if not field.sensitive}

    def wrong(self, usage: Compiled) -> Mistake | None:
        """What is wrong with an expression that uses these, as one sentence; None if nothing is."""
        return next((message for check in CHECKS for message in check(self, usage)), None)


def expressions(text: str) -> list[str]:
    """The expressions in a text. Raises `ExpressionError`."""
    return [part.source for part in holes(text) if isinstance(part, Hole)]


def test_of(node: Scalar, name: str) -> str:
    """The expression of an assertion. Raises `ExpressionError` for anything else."""
    parts = list(holes(node.text))
    if len(parts) != 1 or not isinstance(parts[0], Hole):
        raise ExpressionError(f"{name} must be one expression, not {described(node)}; {FORM}", id="RC-policy-expression")
    return parts[0].source


def _names(scope: ExpressionScope, usage: Compiled) -> Iterator[Mistake]:
    for name in sorted(usage.names - scope.names):
        if scope.whole and name in OF_A_RESOURCE:
            yield Mistake(
                "RC-plan-policy", f'"{name}" is not available in a policy about the plan; write on: [KIND] for a policy about each resource'
            )
        else:
            yield Mistake("RC-unknown-name", f'"{name}" is not available in policies{_instead(name, scope)}')


def _instead(name: str, scope: ExpressionScope) -> str:
    return did_you_mean(name, scope.names) or f"; {one_of(sorted(scope.names))}"


def _variables(scope: ExpressionScope, usage: Compiled) -> Iterator[Mistake]:
    for name in sorted(usage.variables - scope.variables.keys()):
        yield Mistake("RC-unknown-variable", f'variable "{name}" is not declared under vars{did_you_mean(name, scope.variables)}')
    used = usage.variables if not usage.all_variables else scope.variables.keys()
    secret = sorted(used & set(scope.secret))
    if secret:
        public = " ".join(f"--public-var {name}" for name in secret)
        yield Mistake(
            "RC-would-show-secret",
            f"a policy cannot use a value from the environment ({', '.join(secret)}), which may be a secret; if it is not: {public}",
        )


def _fields(scope: ExpressionScope, usage: Compiled) -> Iterator[Mistake]:
    for name in FIELDS_OF:
        for key in sorted(usage.keys.get(name, ())):
            yield from _field(scope, name, key)
    for key in sorted(usage.keys.get("env", frozenset()) - {"name"}):
        yield Mistake("RC-unknown-key", f'env has no "{key}"; env.name is the name of the environment')


def _field(scope: ExpressionScope, name: str, key: str) -> Iterator[Mistake]:
    known = scope.fields()
    if key in known:
        return
    where = scope.kinds[0].name if len(scope.kinds) == 1 else "any kind that this policy is about"
    if any(key in kind.fields for kind in scope.kinds):
        yield Mistake("RC-would-show-secret", f'"{key}" of {where} is sensitive, and a policy cannot use it')
    elif key not in ("get", "items", "keys", "values"):  # methods of a map
        yield Mistake("RC-unknown-field", f'{name}.{key}: there is no field "{key}" of {where}{did_you_mean(key, known)}')


def _calls(scope: ExpressionScope, usage: Compiled) -> Iterator[Mistake]:
    for name, arguments in usage.calls:
        check = _ARGUMENTS.get(name)
        yield from check(scope, arguments) if check is not None else ()


def _count(scope: ExpressionScope, arguments: Arguments) -> Iterator[Mistake]:
    if not 1 <= len(arguments) <= 2:
        yield Mistake("RC-function-arguments", 'count requires an action, and can have a kind: count("delete", "space")')
        return
    action, *kind = arguments
    if action is not None and action not in ACTIONS:
        yield Mistake("RC-unknown-choice", f'count: there is no action "{action}"{did_you_mean(action, ACTIONS)}')
    yield from _kind(scope, "count", kind[0]) if kind else ()


def _inside(scope: ExpressionScope, arguments: Arguments) -> Iterator[Mistake]:
    name = arguments[0] if arguments else None
    if name is None or len(arguments) not in (1, 3):
        yield Mistake(
            "RC-function-arguments", 'inside requires a kind, and can have a field and its value: inside("member", "role", "admin")'
        )
        return
    if wrong := list(_kind(scope, "inside", name)):
        yield wrong[0]
        return
    kind = scope.every[name]
    if not any(kind.within == outer.name for outer in scope.kinds):
        outer = " or ".join(kind.name for kind in scope.kinds) or "the plan"
        yield Mistake("RC-matches-nothing", f"inside: there is no {name} in {outer}; it is part of {kind.within or 'nothing'}")
    elif len(arguments) == 3 and arguments[1] is not None:
        yield from _known_field("inside", arguments[1], (kind,))


def _others(scope: ExpressionScope, arguments: Arguments) -> Iterator[Mistake]:
    if len(arguments) != 1:
        yield Mistake("RC-function-arguments", 'others requires a field: others("title")')
    elif arguments[0] is not None:
        yield from _known_field("others", arguments[0], scope.kinds)


def _kind(scope: ExpressionScope, call: str, name: str | None) -> Iterator[Mistake]:
    if name is not None and name not in scope.every:
        yield Mistake("RC-unknown-kind", f'{call}: there is no kind "{name}"{did_you_mean(name, scope.every)}')


def _known_field(call: str, field: str, kinds: Collection[Kind]) -> Iterator[Mistake]:
    known = {name for kind in kinds for name, declared_field in kind.fields.items() if not declared_field.sensitive}
    if field not in known:
        yield Mistake(
            "RC-unknown-field",
            f'{call}: there is no field "{field}" of {" or ".join(kind.name for kind in kinds)}{did_you_mean(field, known)}',
        )


CHECKS: Final[tuple[Callable[[ExpressionScope, Compiled], Iterator[Mistake]], ...]] = (_names, _variables, _fields, _calls)
_ARGUMENTS: Final[Mapping[str, Callable[[ExpressionScope, Arguments], Iterator[Mistake]]]] = {
    "count": _count,
    "inside": _inside,
    "others": _others,
}
