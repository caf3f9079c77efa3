"""Graphs of resources and of steps."""

from __future__ import annotations

from reconciler.model import Declared, Desired, Source
from reconciler.report.graph import COLOURS, Arrow, Graph, GraphNode, graph_text, resources, steps
from tests.report.made import at, plan, step


def declared(address: str, parent: str | None, **values: object) -> Declared:
    place = at(address)
    return Declared(place, place.kind or "organization", values, Source("a.yaml", 1), at(parent) if parent else None, "s", 0)


def desired(*found: Declared) -> Desired:
    return Desired("p", None, {one.address: one for one in found}, {}, frozenset())


def test_a_resource_is_framed_by_what_contains_it_and_points_to_what_it_names() -> None:
    graph = resources(
        desired(
            declared("acme", None),
            declared("acme/collection/product", "acme", title="Product"),
            declared("acme/space/guides", "acme/collection/product", title="Guides", duplicateOf=at("acme/space/blank")),
            declared("acme/space/blank", "acme"),
            declared("acme/team/b", "acme", members=frozenset({at("acme/member/x@y.z"), at("acme/member/a@y.z")})),
            declared("acme/member/x@y.z", "acme"),
            declared("acme/site/docs", None),
            declared("acme/site/docs/site-space/guides", None, space=at("acme/space/guides"), other={"deep": [at("acme/space/guides")]}),
        )
    )
    assert {name: node.inside for name, node in graph.nodes.items() if node.inside is not None} == {
        "acme/space/guides": "acme/collection/product",
        "acme/site/docs/site-space/guides": "acme/site/docs",
    }
    assert graph.nodes["acme/space/guides"].label == ("Guides", "space guides")
    assert graph.nodes["acme/space/blank"].label == ("space blank",)
    assert graph.arrows == (
        Arrow("acme/space/guides", "acme/space/blank", faint=True),
        Arrow("acme/team/b", "acme/member/x@y.z", faint=True),
        Arrow("acme/site/docs/site-space/guides", "acme/space/guides", faint=True),
    )


def test_a_step_points_to_what_it_needs_and_faintly_to_what_it_follows() -> None:
    made = plan(
        steps=(step(1, "acme/team/a", "create"), step(2, "acme/team/b", needs=frozenset({1})), step(3, "acme", after=frozenset({2, 1})))
    )
    graph = steps(made, desired(declared("acme/team/a", "acme", title="Authors")))
    assert graph.nodes["1"].label == ("1 create", "Authors", "team a")
    assert graph.arrows == (Arrow("2", "1"), Arrow("3", "1", faint=True), Arrow("3", "2", faint=True))


def test_a_step_has_the_colour_of_what_it_does_and_the_frame_of_its_resource() -> None:
    verbs = ("create", "update", "publish", "move", "delete", "restore")
    made = plan(steps=tuple(step(number, f"acme/site/docs/section/{verb}", verb) for number, verb in enumerate(verbs, 1)))
    graph = steps(made, desired(declared("acme/site/docs", None, title="Docs")))
    assert [graph.nodes[str(number)].style for number in range(1, 7)] == ["create", "update", "update", "move", "delete", "create"]
    assert {graph.nodes[str(number)].inside for number in range(1, 7)} == {"in acme/site/docs"}
    assert all(f'fillcolor="{fill}", color="{border}"' in graph_text(graph, "dot") for fill, border in COLOURS.values())
    assert "  class n6 delete\n" in graph_text(graph, "mermaid")


def test_the_step_of_a_site_is_inside_its_own_frame() -> None:
    made = plan(steps=(step(1, "acme/site/docs", "create"), step(2, "acme/site/docs/section/a", "create")))
    assert [steps(made, desired()).nodes[name].inside for name in ("1", "2")] == ["in acme/site/docs", "in acme/site/docs"]


def test_frames_are_subgraphs_in_both_languages() -> None:
    graph = Graph(
        {"s": GraphNode(("Docs", "site docs")), "a": GraphNode(("a",), "delete", "s"), "b": GraphNode(("b",))}, (Arrow("b", "s"),)
    )
    assert graph_text(graph, "mermaid") == (
        "flowchart LR\n"
        '  subgraph n1["Docs (site docs)"]\n'
        '    n2["a"]\n'
        "  end\n"
        '  n3["b"]\n'
        "  n3 --> n1\n"
        "  classDef delete fill:#fbdcdc,stroke:#c62a2f,color:#1c2024\n"
        "  class n2 delete\n"
    )  # fmt: skip
    drawn = graph_text(graph, "dot")
    assert '  subgraph cluster_n1 {\n    label="Docs (site docs)";' in drawn
    assert '    n2 [label="a", fillcolor="#fbdcdc", color="#c62a2f"];\n  }\n' in drawn
    assert "  n3 -> n1 [lhead=cluster_n1];\n" in drawn


def test_both_languages_escape_labels() -> None:
    graph = Graph({"a": GraphNode(('say "hi"; \x1b',)), "b": GraphNode(("b\\", "c"))}, (Arrow("a", "b"), Arrow("b", "a", faint=True)))
    assert graph_text(graph, "mermaid") == (
        "flowchart LR\n"
        '  n1["say #34;hi#34;#59; #92;x1b"]\n'
        '  n2["b#92;<br/>c"]\n'
        "  n1 --> n2\n"
        "  n2 -.-> n1\n"
    )  # fmt: skip
    drawn = graph_text(graph, "dot")
    assert '  n1 [label="say \\"hi\\"; \\\\x1b"];\n' in drawn
    assert '  n2 [label="b\\\\\\nc"];\n' in drawn
    assert "  n1 -> n2;\n  n2 -> n1 [style=dashed];\n}\n" in drawn


def test_every_node_is_one_line() -> None:
    def lines(number: int) -> int:
        nodes = {f"s{index}": GraphNode((f"s{index}",), inside=f"c{index % 10}") for index in range(number)}
        frames = {f"c{index}": GraphNode((f"c{index}",)) for index in range(10)}
        return graph_text(Graph({**frames, **nodes}), "dot").count("\n")

    assert lines(2_000) - lines(1_000) == 1_000
