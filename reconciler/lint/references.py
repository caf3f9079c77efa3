"""Rules about resources without references to them: a space that no site shows, a member who is in no team. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.address import Address
from reconciler.lint.facts import LintFacts, addresses, finding
from reconciler.model import Finding
from reconciler.resource import Missed


def missed(facts: LintFacts) -> Iterator[Finding]:
    """Report the resources that `missed` of a declaration describes.

    Only if the container has a resource that could refer: an organization without sites publishes nothing, so its spaces are on no site.
    The source of copies is a template and need not be shown.
    """
    words = {
        (name, field.name): field.missed for name, kind in facts.kinds.items() for field in kind.fields.values() if field.missed is not None
    }
    for (referring, name), word in words.items():
        named: set[Address] = set()
        scopes: set[Address] = set()
        for declared in facts.resources:
            if declared.kind == referring and name in declared.values:
                named.update(addresses(declared.values[name]))
                scopes.update(declared.address.containers)
        yield from _missed(facts, word, named, scopes)


def _missed(facts: LintFacts, word: Missed, named: set[Address], scopes: set[Address]) -> Iterator[Finding]:
    for declared in facts.resources:
        if declared.kind != word.kind or declared.address in named or declared.address in facts.copied:
            continue
        if declared.address.container in scopes:
            yield finding(word.rule, f"it {word.says}", declared, remedy="refer to it, or remove it if nobody needs it")
