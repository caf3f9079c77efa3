"""Texts that look like expressions without being one: `${vars.brand}`, `{{ vars.brand }}`. Pure.

Only names that exist are reported, so that a page about templates has no finding: a declared variable, `each` in resources of `forEach`,
`env.name` in projects with environments, `secrets` in a sensitive field. A text of several lines is prose or a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from reconciler.lint.facts import LintFacts, finding
from reconciler.model import Declared, Finding, Source
from reconciler.resource import Field

EACH: Final = frozenset({"key", "value", "index", "parent"})
_LOOKALIKE: Final = re.compile(r"(?<![${])(?!\$\{\{)\$?\{\{?\s*((vars|each|env|secrets)\s*\.\s*(\w+)[^{}]*?)\s*\}\}?")


class Lookalike(NamedTuple):
    """A part of a text. `source`: the expression in it; `root`, `name`: `vars` and `brand` of `vars.brand`."""

    text: str
    source: str
    root: str
    name: str


def lookalikes(facts: LintFacts) -> Iterator[tuple[Declared, str, Lookalike]]:
    """Texts that look like expressions, with the resource and its field."""
    for declared in facts.resources:
        fields = facts.kinds[declared.kind].fields
        for name, value in declared.values.items():
            for text in _lines(value):
                for match in _LOOKALIKE.finditer(text):
                    part = Lookalike(match[0], match[1], match[2], match[3])
                    if _would_be(facts, declared, fields[name], part):
                        yield declared, name, part


def _lines(value: Any) -> Iterator[str]:
    """The texts of one line in a value that could contain an expression."""
    if isinstance(value, str):
        # Texts of several lines are templates and code samples of the documentation itself, where braces are common.
        if "{" in value and "\n" not in value:
            yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _lines(part)


def _would_be(facts: LintFacts, declared: Declared, field: Field, part: Lookalike) -> bool:
    """Whether an expression would be valid in this field."""
    match part.root:
        case "vars":
            # Only what would be valid: a page about GitHub Actions is full of ${{ github.ref }}, and means it.
            return part.name in facts.variables
        case "each":
            return part.name in EACH and declared.address in facts.desired.generated
        case "env":
            return part.name == "name" and facts.desired.environment is not None
        case _:
            return field.sensitive


def not_evaluated(facts: LintFacts) -> Iterator[Finding]:
    """A text that looks like an expression; a text of a `forEach` is reported once."""
    reported: set[tuple[Source, str]] = set()
    for declared, name, part in lookalikes(facts):
        place = (declared.positions.get(name, declared.source), part.text)
        if place in reported:
            continue
        reported.add(place)
        message = f"{name} contains {part.text}, which is not an expression: it is sent as it is"
        remedy = f"write ${{{{ {part.source} }}}}, or ignore the finding if it is a text"
        yield finding("not-evaluated", message, declared, field=name, remedy=remedy)
