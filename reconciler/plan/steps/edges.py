"""The edges of the graph of steps, which the rules yield. Pure.

An edge belongs to the step that carries a reference, which breaks the cycles of the service: a create comes first, the field that refers
back is a later step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import NamedTuple

from reconciler.plan.steps.graph import Edges


class Wait(Enum):
    """What must have happened to the other step."""

    NEEDS = auto()
    """It has succeeded."""
    AFTER = auto()
    """It has ended in any way, including skipped."""


class Edge(NamedTuple):
    """One step waits for another. Numbers are the ids of steps; an edge from a step to itself means nothing.

    `otherwise`: what the step waits for instead where a preferred edge would make a circle. A tuple, because a large plan has a hundred
    thousand of them.
    """

    step: int
    on: int
    wait: Wait
    otherwise: frozenset[int] = frozenset()


def needs(step: int, others: Iterable[int]) -> Iterator[Edge]:
    """The step needs each of the others."""
    return (Edge(step, on, Wait.NEEDS) for on in others)


def after(step: int, others: Iterable[int]) -> Iterator[Edge]:
    """The step comes after each of the others."""
    return (Edge(step, on, Wait.AFTER) for on in others)


class Waits:
    """What each step waits for, by the edges that were added so far."""

    def __init__(self) -> None:
        self._of: dict[Wait, dict[int, set[int]]] = {wait: defaultdict(set) for wait in Wait}

    def add(self, edge: Edge) -> None:
        if edge.step != edge.on:
            self._of[edge.wait][edge.step].add(edge.on)

    def needed(self, step: int) -> frozenset[int]:
        """The steps that it needs."""
        return frozenset(self._of[Wait.NEEDS].get(step, ()))

    def of(self, step: int) -> Edges:
        """Everything that it waits for."""
        required = self.needed(step)
        return Edges(required, frozenset(self._of[Wait.AFTER].get(step, ())) - required)
