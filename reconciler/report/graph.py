"""Resources or steps as a graph, in the languages of mermaid and graphviz. The same input gives the same text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from reconciler.address import Address
from reconciler.model import Desired, Plan
from reconciler.report import escape

Format = Literal["mermaid", "dot"]


@dataclass(frozen=True)
class Arrow:
    """From one node to another; `faint`: a weaker tie, drawn dashed."""

    tail: str
    head: str
    faint: bool = False


@dataclass(frozen=True)
class Graph:
    """Labels by node, and arrows between nodes."""

    labels: Mapping[str, str]
    arrows: tuple[Arrow, ...]


def resources(desired: Desired) -> Graph:
    """Every declared resource; an arrow to what it stands in, a dashed one to what it refers to."""
    labels = {str(address): str(address) for address in desired.resources}
    arrows: dict[tuple[str, str], Arrow] = {}
    for address, declared in desired.resources.items():
        around = declared.parent or address.container
        held = [around] if around is not None else []
        for other in [*held, *_references(list(declared.values.values()))]:
            pair = (str(address), str(other))
            if str(other) in labels and other != address:
                arrows.setdefault(pair, Arrow(*pair, faint=other not in held))
    return Graph(labels, tuple(arrows.values()))


def steps(plan: Plan) -> Graph:
    """Every request of a plan; an arrow to what it needs, a dashed one to what it only comes after."""
    labels = {str(step.id): f"{step.id} {step.verb} {step.address}" for step in plan.steps}
    arrows = [Arrow(str(step.id), str(other)) for step in plan.steps for other in sorted(step.needs)]
    arrows += [Arrow(str(step.id), str(other), faint=True) for step in plan.steps for other in sorted(step.after)]
    return Graph(labels, tuple(arrows))


def _references(value: Any) -> Iterator[Address]:
    match value:
        case Address():
            yield value
        case Mapping():
            for part in value.values():
                yield from _references(part)
        case list() | tuple():
            for part in value:
                yield from _references(part)
        case set() | frozenset():
            yield from sorted(part for part in value if isinstance(part, Address))


def graph_text(graph: Graph, format: Format) -> str:
    """The graph in one of the two languages."""
    numbers = {node: f"n{number}" for number, node in enumerate(graph.labels, start=1)}
    match format:
        case "mermaid":
            lines = ["flowchart LR"]
            lines += [f'  {numbers[node]}["{escape.mermaid(label)}"]' for node, label in graph.labels.items()]
            lines += [f"  {numbers[one.tail]} {'-.->' if one.faint else '-->'} {numbers[one.head]}" for one in graph.arrows]
        case "dot":
            lines = ["digraph reconciler {", "  rankdir=LR;", "  node [shape=box];"]
            lines += [f'  {numbers[node]} [label="{escape.dot(label)}"];' for node, label in graph.labels.items()]
            lines += [f"  {numbers[one.tail]} -> {numbers[one.head]}{' [style=dashed]' if one.faint else ''};" for one in graph.arrows]
            lines.append("}")
    return "\n".join(lines) + "\n"
