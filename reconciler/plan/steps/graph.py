"""The graph of steps: an order for people to read, and the bookkeeping of a run that works on many steps at once.

In: numbered nodes, each with the nodes it needs and those it comes after. Out: a deterministic order, or the nodes that are
ready. Forbidden: knowledge of what a node does, I/O, waiting; whoever drives the schedule runs the steps.

Own code, because `graphlib` has neither an order among ready nodes nor two sorts of edges, and cannot skip what needs a failed node.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from heapq import heapify, heappop, heappush
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True)
class Edges:
    """What a node waits for: `needs` must have succeeded, `after` must have ended in any way, including skipped."""

    needs: frozenset[int] = frozenset()
    after: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        """Everything the node waits for."""
        return self.needs | self.after


class Cycle(Exception):
    """Nodes that wait for each other: each of `nodes` waits for the next, the last for the first."""

    def __init__(self, nodes: tuple[int, ...]) -> None:
        super().__init__(f"steps wait for each other: {' -> '.join(map(str, (*nodes, nodes[0])))}")
        self.nodes = nodes


def _by_number(node: int) -> tuple[int, ...]:
    return (node,)


def ordered(
    nodes: Mapping[int, Edges], rank: Mapping[int, tuple[Any, ...]] | Callable[[int], tuple[Any, ...]] = _by_number
) -> tuple[int, ...]:
    """All nodes, each behind what it waits for; of the possible next ones always the one with the smallest rank.

    Equal ranks go by number, so neither the order of the mapping nor that of the edges shows. Takes O(edges + n log n).
    Raises Cycle, and ValueError where an edge leads to no node.
    """
    _check(nodes)
    ranked = rank if callable(rank) else rank.__getitem__
    waiting = {node: len(edges.all) for node, edges in nodes.items()}
    followers = _followers(nodes, lambda edges: edges.all)
    possible = [(ranked(node), node) for node, count in waiting.items() if not count]
    heapify(possible)
    order: list[int] = []
    while possible:
        _, node = heappop(possible)
        order.append(node)
        for follower in followers[node]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heappush(possible, (ranked(follower), follower))
    if len(order) < len(nodes):
        raise Cycle(_cycle({node: edges for node, edges in nodes.items() if waiting[node]}))
    return tuple(order)


def _check(nodes: Mapping[int, Edges]) -> None:
    for node, edges in nodes.items():
        for other in sorted(edges.all):
            if other not in nodes:
                raise ValueError(f"step {node} waits for {other}, which is not a step")


def _followers(nodes: Mapping[int, Edges], of: Callable[[Edges], Iterable[int]]) -> dict[int, list[int]]:
    """For each node the nodes that wait for it, in ascending order."""
    followers: dict[int, list[int]] = {node: [] for node in nodes}
    for node in sorted(nodes):
        for other in of(nodes[node]):
            followers[other].append(node)
    return followers


def _cycle(stuck: Mapping[int, Edges]) -> tuple[int, ...]:
    """One cycle among nodes that each wait for another of them: the shortest through a node of some cycle.

    Not the shortest of all, which would take a search from every node.
    """
    waits = {node: sorted(other for other in edges.all if other in stuck) for node, edges in stuck.items()}
    start, met = min(stuck), set[int]()
    while start not in met:  # following the edges must end in a cycle
        met.add(start)
        start = waits[start][0]
    came_from: dict[int, int] = {}
    ahead = deque([start])
    while start not in came_from:
        node = ahead.popleft()
        for other in waits[node]:
            if other not in came_from:
                came_from[other] = node
                ahead.append(other)
    path = [start]
    while came_from[path[-1]] != start:
        path.append(came_from[path[-1]])
    path = [start, *reversed(path[1:])]
    smallest = path.index(min(path))
    return (*path[smallest:], *path[:smallest])


class Acyclic:
    """A graph to which edges are added; edges that would close a cycle are refused.

    Keeps an order in which every node comes after what it waits for; an edge that agrees with it costs nothing, any other one the part of
    the order that it reverses (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006). Raises Cycle
    where the initial graph has a cycle.
    """

    def __init__(self, waits: Mapping[int, Iterable[int]], rank: Mapping[int, tuple[Any, ...]]) -> None:
        """`waits`: every node with those it waits for. `rank`: an order that most of the edges to come agree with."""
        nodes = {node: Edges(frozenset(others)) for node, others in waits.items()}
        self._turn = {node: turn for turn, node in enumerate(ordered(nodes, rank))}
        self._waits = {node: set(edges.needs) for node, edges in nodes.items()}
        self._followers = {node: set(others) for node, others in _followers(nodes, lambda edges: edges.needs).items()}

    def add(self, node: int, on: int) -> bool:
        """Let a node wait for another; False, without a change, where that one waits for it, directly or indirectly."""
        if node == on:
            return False
        if self._turn[on] > self._turn[node]:
            behind = self._reached(node, self._followers, lambda turn: turn <= self._turn[on])
            if on in behind:
                return False
            ahead = self._reached(on, self._waits, lambda turn: turn >= self._turn[node])
            self._reorder(ahead, behind)
        self._waits[node].add(on)
        self._followers[on].add(node)
        return True

    def _reached(self, start: int, edges: Mapping[int, set[int]], within: Callable[[int], bool]) -> set[int]:
        met, ahead = {start}, [start]
        while ahead:
            for other in edges[ahead.pop()]:
                if other not in met and within(self._turn[other]):
                    met.add(other)
                    ahead.append(other)
        return met

    def _reorder(self, ahead: set[int], behind: set[int]) -> None:
        """Put one group before the other in the positions of both, each in its order."""
        nodes = [*sorted(ahead, key=self._turn.__getitem__), *sorted(behind, key=self._turn.__getitem__)]
        for node, turn in zip(nodes, sorted(self._turn[node] for node in nodes), strict=True):
            self._turn[node] = turn


class _StepStatus(Enum):
    WAITING = auto()
    READY = auto()
    RUNNING = auto()
    SUCCEEDED = auto()
    FAILED = auto()
    SKIPPED = auto()


class Schedule:
    """Which steps may run now, as others end: start what is `ready`, report how it ended, until `done`.

    Every tuple is in the order of `ordered` by the same rank. Asking for the next step, starting it and reporting it take O(log n), and
    reporting all steps O(edges) in addition. A step that is reported out of turn raises ValueError and changes nothing.
    """

    def __init__(
        self, nodes: Mapping[int, Edges], rank: Mapping[int, tuple[Any, ...]] | Callable[[int], tuple[Any, ...]] = _by_number
    ) -> None:
        """Raises Cycle, and ValueError where an edge leads to no node."""
        self._order = ordered(nodes, rank)
        self._turn = {node: turn for turn, node in enumerate(self._order)}
        self._open = {node: len(edges.all) for node, edges in nodes.items()}
        self._followers = _followers(nodes, lambda edges: edges.all)
        self._needed_by = _followers(nodes, lambda edges: edges.needs)
        self._stage = dict.fromkeys(nodes, _StepStatus.WAITING)
        self._ready = [turn for turn, node in enumerate(self._order) if not self._open[node]]  # a heap; what has started may still be in it
        self._ended = 0
        for turn in self._ready:
            self._stage[self._order[turn]] = _StepStatus.READY

    @property
    def done(self) -> bool:
        """Whether every step has ended."""
        return self._ended == len(self._stage)

    def ready(self, most: int | None = None) -> tuple[int, ...]:
        """The steps that may start and have not been started, or at most that many."""
        taken: list[int] = []
        while self._ready and (most is None or len(taken) < most):
            turn = heappop(self._ready)
            if self._stage[self._order[turn]] is _StepStatus.READY:
                taken.append(turn)
        for turn in taken:
            heappush(self._ready, turn)
        return tuple(self._order[turn] for turn in taken)

    def start(self, node: int) -> None:
        """Take a ready step."""
        self._expect(node, _StepStatus.READY, "started")
        self._stage[node] = _StepStatus.RUNNING

    def succeed(self, node: int) -> tuple[int, ...]:
        """Report a started step as done; returns the steps that this made ready."""
        self._expect(node, _StepStatus.RUNNING, "ended")
        return self._sorted(self._end(node, _StepStatus.SUCCEEDED))

    def fail(self, node: int) -> tuple[int, ...]:
        """Report a started step as failed; returns the steps that are skipped because they need it, directly or indirectly.

        Steps that only come after these may become ready: see `ready`.
        """
        self._expect(node, _StepStatus.RUNNING, "ended")
        skipped: list[int] = []
        met = {node}
        ahead = [node]
        while ahead:
            for follower in self._needed_by[ahead.pop()]:
                if follower not in met and self._stage[follower] is _StepStatus.WAITING:
                    met.add(follower)
                    skipped.append(follower)
                    ahead.append(follower)
        for follower in skipped:  # all of them first, so that none becomes ready when another ends
            self._stage[follower] = _StepStatus.SKIPPED
        self._end(node, _StepStatus.FAILED)
        for follower in skipped:
            self._end(follower, _StepStatus.SKIPPED)
        return self._sorted(skipped)

    def _end(self, node: int, stage: _StepStatus) -> list[int]:
        self._stage[node] = stage
        self._ended += 1
        released: list[int] = []
        for follower in self._followers[node]:
            self._open[follower] -= 1
            if not self._open[follower] and self._stage[follower] is _StepStatus.WAITING:
                self._stage[follower] = _StepStatus.READY
                heappush(self._ready, self._turn[follower])
                released.append(follower)
        return released

    def _expect(self, node: int, stage: _StepStatus, verb: str) -> None:
        if self._stage.get(node) is not stage:
            raise ValueError(f"step {node} cannot be {verb}: it is {self._stage[node].name.lower() if node in self._stage else 'unknown'}")

    def _sorted(self, some: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(some, key=self._turn.__getitem__))


# -- what a rule yields ------------------------------------------------------------------------------------------------------------


# What must have happened to the other step: it has succeeded, or has ended in any way, including skipped.
Wait = Literal["needs", "after"]


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
    return (Edge(step, on, "needs") for on in others)


def after(step: int, others: Iterable[int]) -> Iterator[Edge]:
    """The step comes after each of the others."""
    return (Edge(step, on, "after") for on in others)


class Waits:
    """What each step waits for, by the edges that were added so far."""

    def __init__(self) -> None:
        self._of: dict[Wait, dict[int, set[int]]] = {"needs": defaultdict(set), "after": defaultdict(set)}

    def add(self, edge: Edge) -> None:
        if edge.step != edge.on:
            self._of[edge.wait][edge.step].add(edge.on)

    def needed(self, step: int) -> frozenset[int]:
        """The steps that it needs."""
        return frozenset(self._of["needs"].get(step, ()))

    def needing(self, step: int, others: Iterable[int]) -> frozenset[int]:
        """Those of the others that need the step, directly or through what they need."""
        needs: dict[int, bool] = {step: True}
        for other in others:
            path = [other]
            while path:
                at = path[-1]
                waiting = [on for on in self.needed(at) if on not in needs] if at not in needs else []
                if waiting:
                    needs.setdefault(at, False)
                    path += waiting
                else:
                    needs[path.pop()] = at == step or any(needs[on] for on in self.needed(at))
        return frozenset(other for other in others if needs[other])

    def of(self, step: int) -> Edges:
        """Everything that it waits for."""
        required = self.needed(step)
        return Edges(required, frozenset(self._of["after"].get(step, ())) - required)
