"""Which states a project of the fleet may use. Pure.

A state belongs to a project name, which is in the files of a repository. So the fleet file says which names a repository may use, by one
name or by a prefix and `*`: what a repository can write must not decide whose state it gets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.fleet.model import FleetProject

ANY: Final = "*"  # the end of a prefix


def is_allowed(allowed: str, name: str) -> bool:
    """Whether a project name of a repository is one that the fleet file allows."""
    return name.startswith(allowed[:-1]) if allowed.endswith(ANY) else name == allowed


def shared(projects: Iterable[FleetProject]) -> Iterator[tuple[FleetProject, FleetProject]]:
    """Pairs of projects of different tenants that may use the same state: the earlier one by name, and the other."""
    places: dict[tuple[str, str, str], list[FleetProject]] = defaultdict(list)
    for project in projects:
        if project.project:
            places[str(project.state), project.base_url, project.environment or ""].append(project)
    for claimants in places.values():
        yield from _shared(claimants)


def _shared(claimants: list[FleetProject]) -> Iterator[tuple[FleetProject, FleetProject]]:
    """The pairs in one place. In the order of their names, each follows all the prefixes that contain it."""
    around: list[FleetProject] = []
    for project in sorted(claimants, key=lambda claimant: (claimant.project.rstrip(ANY), not claimant.project.endswith(ANY))):
        name = project.project.rstrip(ANY)
        while around and not is_allowed(around[-1].project, name):
            around.pop()
        if around and around[-1].tenant != project.tenant:
            yield around[-1], project
        around.append(project)
