"""Markdown and HTML: what they hold, what they never cut, and that nothing in them is markup but our own.

JUnit, SARIF and Code Quality, read by programs that others wrote; commands of GitHub, and no other command in them.
Graphs of resources and of steps."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any, Final

import junitparser
import pytest
import sarif_pydantic

from reconciler.errors import Problem
from reconciler.model import Action, Blocked, Declared, Desired, Finding, Plan, Severity, Source, StepStatus
from reconciler.report.findings import of_problem
from reconciler.report.formats.annotations import code_quality, github, github_findings, junit, sarif
from reconciler.report.formats.html import html as page
from reconciler.report.formats.markdown import LIMIT, markdown, marker
from reconciler.report.graph import COLOURS, Arrow, Graph, GraphNode, graph_text, resources, steps
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import Sheet
from reconciler.text.pages import pages
from tests.contains import assert_contains
from tests.proofs import costly
from tests.report.made import at, change, delta, outcome, plan, result, step, the_example

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
EVIL = '``` <script>alert(1)</script> @all [x](http://evil.example) </pre> \u202e\x1b[31m & "quoted"'


def html(sheet: Sheet) -> str:
    return page(sheet, created_at=NOW)


def test_a_comment_says_which_report_it_is_so_that_it_can_be_updated_in_place() -> None:
    first, second = plan_sheet(the_example()), plan_sheet(Plan("acme-docs", None))
    assert markdown(first).splitlines()[0] == markdown(second).splitlines()[0] == "<!-- reconciler:plan:acme-docs -->"
    assert marker(plan_sheet(Plan("acme-docs", "staging"))) == "<!-- reconciler:plan:acme-docs/staging -->"
    assert marker(plan_sheet(Plan("a--><b>", None))).count("--") == 2


def test_markdown_says_what_the_text_says() -> None:
    text = markdown(plan_sheet(the_example()))
    assert "**Plan: 1 to update, 1 to move, 1 to restore, 1 to adopt; 14 objects unmanaged. 3 requests.**" in text
    assert "@@ acme/site/docs/section/guides @@  sites/docs.yaml:12\n! ~ title  Guide -> Guides\n" in text
    assert markdown(outcome_sheet(outcome(result(1, "acme/team/a", StepStatus.FAILED, "400")))).count("update: 400") == 1


@costly
@pytest.mark.parametrize(("many", "gone"), [(5_000, 20), (5_000, 900), (10, 1_200)])
def test_a_comment_fits_and_no_deletion_is_cut(many: int, gone: int) -> None:
    calm = [change(f"acme/space/n{number}", Action.UPDATE, fields=(delta(f"f{number}", "a" * 40, "b"),)) for number in range(many)]
    deletes = [change(f"acme/space/gone-{number}", Action.DELETE, title="T" * 50, id=f"spc_{number}") for number in range(gone)]
    text = markdown(plan_sheet(plan(*calm, *deletes)))
    assert len(text) <= LIMIT
    assert all(f"acme/space/gone-{number}" in text for number in range(gone))
    if many > 10:
        assert re.search(r"\d+ entries more do not fit here", text)


def test_more_deletions_than_a_comment_can_name_are_counted() -> None:
    text = markdown(plan_sheet(plan(*(change(f"acme/space/{number:090}", Action.DELETE) for number in range(2_000)))))
    assert len(text) <= LIMIT
    assert "2,000 × delete: too many to list here" in text


def test_no_text_from_outside_leaves_the_block_of_a_comment() -> None:
    text = markdown(plan_sheet(plan(change("acme/space/a", Action.UPDATE, fields=(delta("title", EVIL, "b"),)), notes=(EVIL,))))
    fence = next(line for line in text.splitlines() if line.startswith("`"))
    inside, outside = text.split(fence[:-4])[1], text.split(fence[:-4])[2]
    assert len(fence) > len("```diff")
    assert "<script>" in inside
    assert not re.search(r"<script>|@all|\[x\]|http://", outside)
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("address", ["acme/member/ada@acme.example", "acme/space/a`b", "acme/space/`` @all ``"])
def test_a_command_in_a_comment_is_code_that_can_be_copied(address: str) -> None:
    note = f"Accept @all: reconciler drift --accept '{address}'"
    text = markdown(plan_sheet(plan(notes=(note,))))
    (code,) = re.findall(r"- Accept &#64;&#8203;all: (`+)(.*)\1\n", text)
    assert code[1] == note.partition(": ")[2]
    assert code[0] not in code[1], "it does not end the code"


class Tags(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.links += [name for name, _ in attrs if name in ("src", "href", "action") or name.startswith("on")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    "sheet",
    [
        plan_sheet(the_example()), plan_sheet(Plan("p", None)),
        outcome_sheet(outcome(result(1, "acme/team/a", StepStatus.FAILED, EVIL))),
        plan_sheet(plan(change("acme/space/a", Action.UPDATE, fields=(delta("title", EVIL, "b"),)), notes=(EVIL,))),
    ],
)  # fmt: skip
def test_a_page_is_well_formed_fetches_nothing_and_runs_nothing(sheet: Sheet) -> None:
    assert_calm(html(sheet))


def assert_calm(text: str) -> None:
    """A page is well-formed, and has nothing that fetches or runs anything."""
    tags = Tags(text)
    assert (tags.open, tags.links) == ([], [])
    assert not tags.names & {"script", "link", "img", "iframe", "object", "form"}
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import", text)
    assert "\x1b" not in text
    assert "\u202e" not in text


FINDINGS: Final = (
    Finding("RC-waits", Severity.ERROR, "it waits", "acme/space/a", Source("a b.yaml", 3, 5), "remove it"),
    Finding("RC-more-readers", Severity.WARNING, "<b>\x1b[31m &amp; ]]> \u202e", "acme/space/b", Source("b.yaml", 0, 0)),
    Finding("RC-more-readers", Severity.WARNING, "<b>\x1b[31m &amp; ]]> \u202e", "acme/space/b", Source("b.yaml", 9, 0)),
    Finding("RC-policy-violated", Severity.ERROR, "no place", rule="policy/two-admins"),
)


def test_junit_has_a_case_for_each_and_errors_fail() -> None:
    (suite,) = junitparser.JUnitXml.fromstring(junit(FINDINGS, title="Plan for docs", summary="Plan: 2 to do.", folder="docs").encode())
    assert (suite.tests, suite.failures, suite.errors) == (5, 2, 0)
    cases = list(suite)
    assert [case.is_passed for case in cases] == [True, False, True, True, False]
    assert cases[1].result[0].text == "docs/a b.yaml:3\nit waits\nremove it"


def test_junit_without_findings_has_a_test_that_passed() -> None:
    (suite,) = junitparser.JUnitXml.fromstring(junit((), title="t", summary="No changes.").encode())
    assert [case.is_passed for case in suite] == [True]


def test_sarif_is_read_with_rules_places_and_fingerprints_of_its_own() -> None:
    (run,) = sarif_pydantic.Sarif.model_validate(sarif(FINDINGS, folder="docs")).runs
    rules = run.tool.driver.rules or []
    assert {rule.id for rule in rules} == {"RC-waits", "RC-more-readers", "policy/two-admins"}
    assert [rules[result.rule_index or 0].id for result in run.results or []] == [finding.name for finding in FINDINGS]
    data: Any = sarif(FINDINGS, folder="docs")["runs"][0]["results"]
    place = data[0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "docs/a%20b.yaml"}, "region": {"startLine": 3, "startColumn": 5}}
    assert "region" not in data[1]["locations"][0]["physicalLocation"]
    assert len({result["partialFingerprints"]["reconciler/v1"] for result in data}) == len(FINDINGS)


def test_a_rule_of_sarif_is_the_page_of_its_cause() -> None:
    (rule, *_) = sarif(FINDINGS[:1], repository="https://git.example/acme/blob/v1")["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == pages()["RC-waits"].summary
    assert "**What to do**: Unblock the other one first" in rule["help"]["markdown"]
    assert rule["helpUri"] == "https://git.example/acme/blob/v1/reconciler/problems/plans.md#rc-waits"
    assert "helpUri" not in sarif(FINDINGS[:1])["runs"][0]["tool"]["driver"]["rules"][0]


def test_code_quality_has_what_gitlab_demands_of_each_entry() -> None:
    issues = code_quality(FINDINGS, folder="docs")
    for issue in issues:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= issue.keys()
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert isinstance(issue["location"]["lines"]["begin"], int)
        assert not issue["location"]["path"].startswith(("/", "./"))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_a_fingerprint_stays_while_lines_above_move() -> None:
    moved = [
        Finding(one.id, one.severity, one.message, one.address, one.source and one.source._replace(line=77), rule=one.rule)
        for one in FINDINGS
    ]
    assert [one["fingerprint"] for one in code_quality(moved)] == [one["fingerprint"] for one in code_quality(FINDINGS)]


COMMAND = re.compile(r"::(error|warning|notice) (?:(?:file|line|col|title)=[^,:\n]+,?)+::[^\n]*\n")


def test_deletes_and_blocked_resources_are_reported_at_their_lines() -> None:
    blocked = Blocked(at("acme/space/b"), "not now", "later", Source("content.yaml", 7), id="RC-waits")
    shown = github(plan_sheet(plan(change("acme/space/a", Action.DELETE), blocked=(blocked,))), folder="docs")
    assert re.search(r"^::warning title=acme/space/a::delete", shown, re.MULTILINE)
    assert re.search(r"^::error file=docs/content.yaml,line=7,title=acme/space/b::", shown, re.MULTILINE)
    assert shown.splitlines()[-1].startswith("::notice ")


def test_a_failed_step_is_an_error_and_starts_no_command() -> None:
    shown = github(outcome_sheet(outcome(result(1, "acme/team/a", StepStatus.FAILED, "no\n::error::x %0A::set-env name=a::b"))))
    assert all(COMMAND.fullmatch(f"{line}\n") for line in shown.splitlines())
    assert "::set-env" not in shown
    assert "%0A" not in shown


def test_every_problem_of_a_project_is_an_error_at_its_column() -> None:
    shown = github_findings([of_problem(Problem("a,b:c.yaml", 3, 9, "unknown field::x\r\n::error::y", id="RC-unknown-field"))])
    assert shown == "::error file=a%2Cb%3Ac.yaml,line=3,col=9,title=RC-unknown-field::unknown field: :x\\r\\n: :error: :y\n"


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
    assert_contains(
        graph_text(graph, "dot"),
        '  subgraph cluster_n1 {\n    label="Docs (site docs)";',
        '    n2 [label="a", fillcolor="#fbdcdc", color="#c62a2f"];\n  }\n',
        "  n3 -> n1 [lhead=cluster_n1];\n",
    )


def test_both_languages_escape_labels() -> None:
    graph = Graph({"a": GraphNode(('say "hi"; \x1b',)), "b": GraphNode(("b\\", "c"))}, (Arrow("a", "b"), Arrow("b", "a", faint=True)))
    assert graph_text(graph, "mermaid") == (
        "flowchart LR\n"
        '  n1["say #34;hi#34;#59; #92;x1b"]\n'
        '  n2["b#92;<br/>c"]\n'
        "  n1 --> n2\n"
        "  n2 -.-> n1\n"
    )  # fmt: skip
    assert_contains(
        graph_text(graph, "dot"),
        '  n1 [label="say \\"hi\\"; \\\\x1b"];\n',
        '  n2 [label="b\\\\\\nc"];\n',
        "  n1 -> n2;\n  n2 -> n1 [style=dashed];\n}\n",
    )


def test_every_node_is_one_line() -> None:
    def lines(number: int) -> int:
        nodes = {f"s{index}": GraphNode((f"s{index}",), inside=f"c{index % 10}") for index in range(number)}
        return graph_text(Graph({**{f"c{index}": GraphNode((f"c{index}",)) for index in range(10)}, **nodes}), "dot").count("\n")

    assert lines(2_000) - lines(1_000) == 1_000
