"""Rules about containers whose readers see one part first. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.lint.facts import LintFacts, finding
from reconciler.model import Finding
from reconciler.resource import Field, FieldRole


def _choices(facts: LintFacts, kind: str) -> list[Field]:
    return [field for field in facts.kinds[kind].fields.values() if field.role is FieldRole.CHOICE]


def nothing_to_show(facts: LintFacts) -> Iterator[Finding]:
    """A new container without any part, or one with a declared empty list. The parts of an existing one may be unmanaged."""
    for declared in facts.resources:
        fields = _choices(facts, declared.kind)
        if not fields or any(facts.parts[declared.address, field.name] for field in fields):
            continue
        kinds = [str(field.to) for field in fields]
        if declared.id is None or any((declared.address, kind) in facts.desired.written for kind in kinds):
            parts = " and no ".join(kinds)
            yield finding("nothing-to-show", f"it contains no {parts}, so readers find nothing", declared, remedy=f"declare a {kinds[0]}")


def no_default(facts: LintFacts) -> Iterator[Finding]:
    """Several parts, and none of them is the default."""
    for declared in facts.resources:
        for field in _choices(facts, declared.kind):
            number = facts.parts[declared.address, field.name]
            if number > 1 and field.name not in declared.values:
                message = f"it has {number} parts of kind {field.to} and no {field.flag}: readers land on the one that was created first"
                yield finding("no-default", message, declared, remedy=f'write "{field.flag}: true" on one {field.to}')
