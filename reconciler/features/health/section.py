"""`health:` of a project file: which checks are made, with their limits. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.config.keys import HEALTH, SEARCH
from reconciler.config.sections import ProjectSection, SectionReading
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map
from reconciler.config.source.problems import described, items_of
from reconciler.features.health.model import CHECKS, GoldenSearch, HealthChecks
from reconciler.model import Desired
from reconciler.text.patterns import pattern_problem

SEARCH_FORM: Final = 'write {site: docs, query: "reset password", finds: /account/**}'


def read_health(reading: SectionReading, desired: Desired) -> Desired:
    """The project with the checks of its health."""
    problems, values = reading.problems, reading.top.map(HEALTH)
    entry = reading.top.entries.get(HEALTH.name)
    inner = entry.node.entries.get("search") if entry is not None and isinstance(entry.node, Map) else None
    searches = []
    for node in items_of(inner, "a list", SEARCH_FORM, problems.add) if inner is not None else ():
        if not isinstance(node, Map):
            problems.add(node.at, f"a search must be a map, not {described(node)}; {SEARCH_FORM}", id="RC-wrong-form")
            continue
        keys = KeyReader("a search", node.entries, problems)
        values_of = keys.values(SEARCH)
        keys.rest()
        for key in keys.missing(SEARCH):
            problems.add(node.at, f"a search must have {key}; {SEARCH_FORM}", id="RC-missing-key")
            break
        if values_of["finds"] is not None and (wrong := pattern_problem(values_of["finds"])) is not None:
            at = node.entries["finds"].node
            problems.add(at.at, f"finds: {described(at)} is not a pattern of pages: {wrong}", id="RC-url-pattern")
        elif all(values_of.values()):
            searches.append(GoldenSearch(**values_of, source=node.at))
    return replace(desired, features={**desired.features, CHECKS: HealthChecks(searches=tuple(searches), **values)})


SECTION: Final = ProjectSection("health", read_health)
