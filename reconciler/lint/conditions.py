"""Rules about conditions on visitors: whom they keep out is unknown, nobody, or everybody; claims that a schema does not have. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.config.access import conditions, schemas_of_claims
from reconciler.lint.facts import LintFacts, finding
from reconciler.model import Finding
from reconciler.resource.claims import claim_mistakes
from reconciler.resource.conditions import UNSIGNED, claims_in, excludes_everybody, excludes_nobody, mistake

FORMS = 'write it with visitor.claims.NAME, ==, !=, in, !, && and ||, such as visitor.claims.plan == "pro"'


def unclear_condition(facts: LintFacts) -> Iterator[Finding]:
    """A condition that has no meaning, so that everybody may see what it should hide."""
    for declared, name, condition in conditions(facts.kinds, facts.desired.resources):
        wrong = mistake(condition)
        if wrong is not None:
            message = f"{name} cannot be understood at character {wrong.at + 1}: {wrong}; it may hide nothing"
            yield finding("unclear-condition", message, declared, field=name, remedy=FORMS)


def constant_condition(facts: LintFacts) -> Iterator[Finding]:
    """A condition that every visitor meets, or that nobody can meet."""
    for declared, name, condition in conditions(facts.kinds, facts.desired.resources):
        if excludes_everybody(condition):
            message, remedy = f"{name} is never true, so no visitor sees it", "correct it, or remove what nobody can see"
        elif excludes_nobody(condition) and all(claim.path[0] != UNSIGNED for claim, _ in claims_in(condition)):
            message, remedy = f"{name} is always true, so it hides nothing", "correct it, or remove it"
        else:
            continue
        yield finding("constant-condition", message, declared, field=name, remedy=remedy)


def undeclared_claim(facts: LintFacts) -> Iterator[Finding]:
    """A condition on a claim, or on a value of a claim, that the schema of its container does not have."""
    schemas = schemas_of_claims(facts.kinds, facts.desired.resources)
    for declared, name, condition in conditions(facts.kinds, facts.desired.resources) if schemas else ():
        schema = schemas.get(declared.address.container)
        for wrong in claim_mistakes(condition, schema) if schema is not None else ():
            if not (wrong.unknown and wrong.closed):  # that one is an error of the project
                message, remedy = f"{name}: {wrong.message}", "correct it, or add it to the schema"
                yield finding("undeclared-claim", message, declared, field=name, remedy=remedy)
