"""Resources or steps as a graph, in the languages of mermaid and graphviz. The same input gives the same text.

Containers are drawn as frames: a site around its sections, a collection around its spaces. Arrows are references between resources, or the
requests that a request waits for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from reconciler.address import Address, addresses_in
from reconciler.model import Action, Desired, Plan, Step
from reconciler.report.words import STYLES
from reconciler.text import escape

Format = Literal["mermaid", "dot"]

COLOURS: Final = {  # colours of a style: fill, border
    "create": ("#d7f0df", "#1a7f4b"),
    "update": ("#fdf0cf", "#9a6700"),
    "move": ("#d5eff5", "#0b7285"),
    "delete": ("#fbdcdc", "#c62a2f"),
}
NAMES: Final = ("title", "label", "name")
# Longer titles make boxes so wide that a graph of a site cannot be read without scrolling.
TITLE_MAX: Final = 40  # characters of a title, to keep boxes small


@dataclass(frozen=True)
class GraphNode:
    """A box, or a frame if it contains other nodes. `label`: its lines. `style`: one of `COLOURS`. `inside`: the frame around it."""

    label: tuple[str, ...]
    style: str = ""
    inside: str | None = None


@dataclass(frozen=True)
class Arrow:
    """From one node to another; `faint`: a weaker relation, drawn dashed."""

    tail: str
    head: str
    faint: bool = False


@dataclass(frozen=True)
class Graph:
    """Nodes by name, and arrows between them."""

    nodes: Mapping[str, GraphNode]
    arrows: tuple[Arrow, ...] = ()
    inner: Mapping[str | None, list[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Both languages draw from the outside inwards.
        inner: dict[str | None, list[str]] = {}
        for name, node in self.nodes.items():
            inner.setdefault(node.inside if node.inside in self.nodes else None, []).append(name)
        object.__setattr__(self, "inner", inner)


def resources(desired: Desired) -> Graph:
    """Every declared resource, in the frames of its containers; a dashed arrow to each resource that it refers to."""
    nodes = {
        str(address): GraphNode(_label(address, declared.values), inside=_around(desired, address))
        for address, declared in desired.resources.items()
    }
    arrows: dict[tuple[str, str], Arrow] = {}
    for address, declared in desired.resources.items():
        around = {declared.parent, address.container}
        for other in addresses_in(list(declared.values.values())):
            pair = (str(address), str(other))
            # What contains a resource is drawn around it; an arrow to it would say it twice.
            if str(other) in nodes and other != address and other not in around:
                arrows.setdefault(pair, Arrow(*pair, faint=True))
    return Graph(nodes, tuple(arrows.values()))


def steps(plan: Plan, desired: Desired) -> Graph:
    """Every request of a plan in the colour of its action, in the frames of its resource's containers.

    An arrow leads to a required request, a dashed one to a request that only comes before.
    """
    frames: dict[str, GraphNode] = {}
    around = {step.address: _frames(desired, step.address, frames) for step in plan.steps}
    nodes: dict[str, GraphNode] = {}
    for step in plan.steps:
        declared = desired.resources.get(step.address)
        label = _label(step.address, declared.values if declared is not None else {})
        own = f"in {step.address}"
        nodes[str(step.id)] = GraphNode((f"{step.id} {step.verb}", *label), _style(step), own if own in frames else around[step.address])
    arrows = [Arrow(str(step.id), str(other)) for step in plan.steps for other in sorted(step.needs)]
    arrows += [Arrow(str(step.id), str(other), faint=True) for step in plan.steps for other in sorted(step.after)]
    return Graph({**frames, **nodes}, tuple(arrows))


def _around(desired: Desired, address: Address) -> str | None:
    """The resource drawn as the frame of an address: its container, except a root, which would frame everything."""
    declared = desired.resources.get(address)
    around = (declared.parent if declared is not None else None) or address.container
    return str(around) if around is not None and around.container is not None else None


def _frames(desired: Desired, address: Address, frames: dict[str, GraphNode]) -> str | None:
    """Add the frames around an address; returns the innermost."""
    around = _around(desired, address)
    if around is None:
        return None
    name = f"in {around}"
    if name not in frames:
        outer = Address.parse(around)
        declared = desired.resources.get(outer)
        label = _label(outer, declared.values if declared is not None else {})
        frames[name] = GraphNode(label, inside=_frames(desired, outer, frames))
    return name


def _label(address: Address, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The title, if any, and the last part of the address; the frame shows the part before."""
    title = next((value for name in NAMES if isinstance(value := values.get(name), str) and value), None)
    last = address.key if address.container is None or address.is_singleton else f"{address.kind} {address.key}"
    if title is None or title == address.key:
        return (last,)
    return (title if len(title) <= TITLE_MAX else f"{title[: TITLE_MAX - 1]}…", last)


def _style(step: Step) -> str:
    """The colour of a request's action; requests without one of their own update fields."""
    action = next((action for action in Action if action.value == step.verb), Action.UPDATE)
    return STYLES[action].value


def graph_text(graph: Graph, format: Format) -> str:
    """The graph in one of the two languages."""
    numbers = {name: f"n{number}" for number, name in enumerate(graph.nodes, start=1)}
    lines = _mermaid(graph, numbers) if format == "mermaid" else _dot(graph, numbers)
    return "\n".join(lines) + "\n"


def _heading(node: GraphNode) -> str:
    """The label of a frame: `Product (collection product)`."""
    first, *rest = node.label
    return f"{first} ({', '.join(rest)})" if rest else first


def _mermaid(graph: Graph, numbers: Mapping[str, str]) -> Iterator[str]:
    yield "flowchart LR"

    def inside(frame: str | None, indent: str) -> Iterator[str]:
        for name in graph.inner.get(frame, ()):
            label = "<br/>".join(map(escape.mermaid, graph.nodes[name].label))
            if name in graph.inner:
                yield f'{indent}subgraph {numbers[name]}["{escape.mermaid(_heading(graph.nodes[name]))}"]'
                yield from inside(name, indent + "  ")
                yield f"{indent}end"
            else:
                yield f'{indent}{numbers[name]}["{label}"]'

    yield from inside(None, "  ")
    for arrow in graph.arrows:
        yield f"  {numbers[arrow.tail]} {'-.->' if arrow.faint else '-->'} {numbers[arrow.head]}"
    for style, (fill, border) in COLOURS.items():
        coloured = [numbers[name] for name, node in graph.nodes.items() if node.style == style]
        if coloured:
            yield f"  classDef {style} fill:{fill},stroke:{border},color:#1c2024"
            yield f"  class {','.join(coloured)} {style}"


def _dot(graph: Graph, numbers: Mapping[str, str]) -> Iterator[str]:
    yield "digraph reconciler {"
    yield "  rankdir=LR; compound=true; nodesep=0.12; ranksep=1.2; fontname=Helvetica;"
    yield '  node [shape=box, style="rounded,filled", fillcolor="#f6f7f9", color="#9aa2ad", fontname=Helvetica, fontsize=11];'
    yield '  edge [color="#6b7280", arrowsize=0.7];'

    def inside(frame: str | None, indent: str) -> Iterator[str]:
        within = graph.inner.get(frame, ())
        leaves = [name for name in within if name not in graph.inner]
        for name in [*(name for name in within if name in graph.inner), *reversed(leaves)]:  # graphviz puts the first leaf at the bottom
            node, number = graph.nodes[name], numbers[name]
            if name in graph.inner:
                label = escape.dot(_heading(node))
                yield f"{indent}subgraph cluster_{number} {{"
                yield f'{indent}  label="{label}"; labeljust=l; style="rounded,filled"; fillcolor="#ffffff"; color="#9aa2ad"; fontsize=12;'
                # An edge of graphviz ends at a node, never at a frame: an invisible node stands for the frame (`ltail`, `lhead`).
                yield f'{indent}  {number} [shape=point, style=invis, width=0, height=0, label=""];'
                yield from inside(name, indent + "  ")
                yield f"{indent}}}"
            else:
                label = "\\n".join(map(escape.dot, node.label))
                colours = COLOURS.get(node.style)
                painted = f', fillcolor="{colours[0]}", color="{colours[1]}"' if colours else ""
                yield f'{indent}{number} [label="{label}"{painted}];'

    yield from inside(None, "  ")
    for arrow in graph.arrows:
        pairs = [
            *([f"ltail=cluster_{numbers[arrow.tail]}"] if arrow.tail in graph.inner else []),
            *([f"lhead=cluster_{numbers[arrow.head]}"] if arrow.head in graph.inner else []),
            *(["style=dashed"] if arrow.faint else []),
        ]
        attributes = f" [{', '.join(pairs)}]" if pairs else ""
        yield f"  {numbers[arrow.tail]} -> {numbers[arrow.head]}{attributes};"
    yield "}"
