"""Rules about lines that have no effect, or no longer: unused variables and defaults, completed renames. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.address import Address
from reconciler.lint.facts import LintFacts
from reconciler.lint.lookalikes import lookalikes
from reconciler.model import RULES, Finding, Fix, Source, cause_of_rule
from reconciler.plan.matching.renames import follow

REMOVE = "remove the line"


def unused_variable(facts: LintFacts) -> Iterator[Finding]:
    """A variable that nothing uses; except one that a text seems to use, which is a separate finding."""
    meant = {f"vars.{part.name}" for _, _, part in lookalikes(facts) if part.root == "vars"} if facts.unused else frozenset()
    for unused in _unused(facts, "unused-variable", "vars.", "no expression uses it"):
        if unused.address not in meant:
            yield unused


def unused_default(facts: LintFacts) -> Iterator[Finding]:
    yield from _unused(facts, "unused-default", "defaults.", "no resource takes it: each writes a value of its own, or there is none")


def _unused(facts: LintFacts, rule: str, prefix: str, message: str) -> Iterator[Finding]:
    for name, source in facts.unused.items():
        if name.startswith(prefix):
            yield Finding(cause_of_rule(rule), RULES[rule].severity, message, name, source, "remove it", Fix(f"remove {name}", (source,)))


def previously_done(facts: LintFacts) -> Iterator[Finding]:
    done = _done(facts)
    for declared in facts.resources:
        for old, source in declared.lines.items():
            if (old, declared.address) in done and declared.address not in facts.desired.generated:
                yield _renamed(facts, "previously-done", old, declared.address, source)


def moved_done(facts: LintFacts) -> Iterator[Finding]:
    done = _done(facts)
    for move in facts.desired.moved:
        if (move.old, move.new) in done:
            yield _renamed(facts, "moved-done", move.old, move.new, move.source)


def _renamed(facts: LintFacts, rule: str, old: Address, new: Address, source: Source) -> Finding:
    environment = facts.desired.environment
    where = f" in environment {environment}" if environment is not None else ""
    remedy = REMOVE if environment is None else "remove the line once the rename was applied in every environment"
    fix = Fix(f"remove {old}", (source,)) if environment is None else None
    message = f"it is tracked under this address already{where}, so nothing is renamed from {old}"
    return Finding(cause_of_rule(rule), RULES[rule].severity, message, str(new), source, remedy, fix)


def _done(facts: LintFacts) -> frozenset[tuple[Address, Address]]:
    """The renames of the YAML, former and present address, that the state has carried out."""
    state = facts.state
    lines = [(old, declared.address) for declared in facts.resources for old in declared.previously]
    lines += [(move.old, move.new) for move in facts.desired.moved]
    if state is None or not lines:
        return frozenset()
    former = follow(facts.kinds, facts.desired, state)
    pending = {*former.followed.values(), *former.refused}
    return frozenset(
        (old, new)
        for old, new in lines
        if new in state.bindings and old not in pending and (old not in state.bindings or old in facts.desired.resources)
    )
