"""Graphs of resources and of steps."""

from __future__ import annotations

from reconciler.model import Declared, Desired, Source
from reconciler.report.graph import Arrow, Graph, graph_text, resources, steps
from tests.report.made import at, plan, step


def declared(address: str, parent: str | None, **values: object) -> Declared:
    place = at(address)
    return Declared(place, place.kind or "organization", values, Source("a.yaml", 1), at(parent) if parent else None, "s", 0)


def desired(*found: Declared) -> Desired:
    return Desired("p", None, {one.address: one for one in found}, {}, frozenset())


def test_a_resource_points_to_what_holds_it_and_faintly_to_what_it_names() -> None:
    graph = resources(
        desired(
            declared("acme", None),
            declared("acme/team/b", "acme", members=frozenset({at("acme/member/x@y.z"), at("acme/member/a@y.z")})),
            declared("acme/member/x@y.z", "acme"),
            declared("acme/saml/okta", "acme", defaultTeam=at("acme/team/b"), other={"deep": [at("acme/team/b")]}),
        )
    )
    assert graph.arrows == (
        Arrow("acme/team/b", "acme"),
        Arrow("acme/team/b", "acme/member/x@y.z", faint=True),
        Arrow("acme/member/x@y.z", "acme"),
        Arrow("acme/saml/okta", "acme"),
        Arrow("acme/saml/okta", "acme/team/b", faint=True),
    )


def test_a_step_points_to_what_it_needs_and_faintly_to_what_it_follows() -> None:
    graph = steps(
        plan(
            steps=(step(1, "acme/team/a", "create"), step(2, "acme/team/b", needs=frozenset({1})), step(3, "acme", after=frozenset({2, 1})))
        )
    )
    assert graph.labels["1"] == "1 create acme/team/a"
    assert graph.arrows == (Arrow("2", "1"), Arrow("3", "1", faint=True), Arrow("3", "2", faint=True))


def test_both_languages_escape_labels() -> None:
    graph = Graph({"a": 'say "hi"; \x1b', "b": "b\\"}, (Arrow("a", "b"), Arrow("b", "a", faint=True)))
    assert graph_text(graph, "mermaid") == (
        "flowchart LR\n"
        '  n1["say #34;hi#34;#59; #92;x1b"]\n'
        '  n2["b#92;"]\n'
        "  n1 --> n2\n"
        "  n2 -.-> n1\n"
    )  # fmt: skip
    assert graph_text(graph, "dot") == (
        "digraph reconciler {\n"
        "  rankdir=LR;\n"
        "  node [shape=box];\n"
        '  n1 [label="say \\"hi\\"; \\\\x1b"];\n'
        '  n2 [label="b\\\\"];\n'
        "  n1 -> n2;\n"
        "  n2 -> n1 [style=dashed];\n"
        "}\n"
    )
