"""Problems and findings appear as they are typed, at the right characters, from what is not saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from tests.features.lsp.editor import Editor, position

PROJECT = """\
version: 1
project: mine
service: {sandbox: .reconciler/sandbox.db}
organizations:
  acme:
    id: org_acme
    content:
      - {space: guides, title: Guides, id: spc_1}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    file = tmp_path / "reconciler.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    return file


def test_a_project_without_problems_is_reported_as_such(editor: Editor, acme: Path) -> None:
    assert editor.problems(editor.open(acme / "reconciler.yaml")) == []


def test_a_problem_is_at_its_key_with_its_id_and_a_link(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    editor.type(uri, editor.texts[uri].replace("visibility:", "visibilty:", 1))
    (problem,) = editor.problems(uri)
    assert editor.marked(uri, problem.range) == "visibilty"
    assert (problem.code, problem.severity) == ("RC-unknown-field", types.DiagnosticSeverity.Error)
    assert 'did you mean "visibility"?' in problem.message
    assert problem.code_description is not None
    assert problem.code_description.href.endswith(".md#rc-unknown-field")
    page = problem.code_description.href.removeprefix("file://").partition("#")[0]
    assert Path(page).is_file()


@pytest.mark.parametrize(
    ("before", "after", "mark", "code"),
    [
        ("visibility: unlisted", "visibility: [", None, "RC-yaml-syntax"),
        ("    steps:", "    step:", "step", "RC-unknown-key"),
        ("address: acme/site/docs", "address: acme/site/dogs", "acme/site/dogs", "RC-unknown-reference"),
        ("- {refused: RC-exposure-limit}", "- {refused: RC-exposure-limits}", None, "RC-unknown-cause"),
    ],
)
def test_a_problem_of_a_test_file_is_at_its_key(editor: Editor, acme: Path, before: str, after: str, mark: str | None, code: str) -> None:
    uri = editor.open(acme / "tests" / "colleagues.yaml")
    assert editor.problems(uri) == []
    assert before in editor.texts[uri]
    editor.type(uri, editor.texts[uri].replace(before, after, 1))
    problems = editor.problems(uri)
    assert code in {problem.code for problem in problems}
    assert mark is None or mark in {editor.marked(uri, problem.range) for problem in problems}


def test_a_test_file_follows_what_the_project_declares(editor: Editor, acme: Path) -> None:
    tests = editor.open(acme / "tests" / "colleagues.yaml")
    assert editor.problems(tests) == []
    content = editor.open(acme / "content.yaml")
    editor.type(content, editor.texts[content].replace("space: handbook,", "space: manual,"))
    editor.eventually(lambda: any("acme/space/handbook" in problem.message for problem in editor.diagnostics[tests].diagnostics))


def test_unsaved_texts_count_instead_of_those_on_the_disk(editor: Editor, acme: Path) -> None:
    content = editor.open(acme / "content.yaml")
    docs = editor.open(acme / "sites" / "docs.yaml")
    editor.type(content, editor.texts[content].replace("space: guides,", "space: manuals,"))
    assert any('no space "guides"' in problem.message for problem in editor.problems(docs))
    editor.close_document(content)
    editor.eventually(lambda: not editor.diagnostics[docs].diagnostics)


def test_a_half_written_file_keeps_what_it_last_said(editor: Editor, acme: Path) -> None:
    content = editor.open(acme / "content.yaml")
    docs = editor.open(acme / "sites" / "docs.yaml")
    editor.type(docs, editor.texts[docs].replace("published: true", "publishd: true", 1))
    assert [problem.code for problem in editor.problems(docs)] == ["RC-unknown-field"]
    editor.type(docs, "# one more line\n" + editor.texts[docs] + "\nx-more: [1, 2")
    broken = {problem.code: problem for problem in editor.problems(docs)}
    assert broken.keys() == {"RC-yaml-syntax", "RC-unknown-field"}
    assert editor.marked(docs, broken["RC-unknown-field"].range) == "publishd"  # where it is now, not where it was
    assert editor.problems(content) == []  # the site still refers to what it contains


def test_a_file_that_was_never_yaml_hides_no_other_problem(editor: Editor, acme: Path) -> None:
    (acme / "sites" / "docs.yaml").write_text("sites: {docs: [", encoding="utf-8")
    docs = editor.open(acme / "sites" / "docs.yaml")
    assert [problem.code for problem in editor.problems(docs)] == ["RC-yaml-syntax"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_positions_count_utf_16_units_and_every_line_end(editor: Editor, project: Path, end: str) -> None:
    text = PROJECT.replace("title: Guides,", 'title: "📘📘é", emojy: x,').replace("\n", end)
    uri = editor.open(project, text)
    (problem,) = editor.problems(uri)
    assert problem.range.start == position(text, text.index("emojy"))
    assert problem.range.start.character == text.splitlines()[7].index("emojy") + 2  # two pairs of surrogates
    assert editor.marked(uri, problem.range) == "emojy"
    editor.type(uri, text.replace("emojy: x", "emoji: x"))
    assert editor.problems(uri) == []
    editor.type(uri, text.replace("📘📘é", "📗é").replace("emojy", "emoji"))
    assert editor.problems(uri) == []
    assert editor.texts[uri].encode().count(b"\xf0") == 1


def test_lines_end_where_yaml_ends_them(editor: Editor, project: Path) -> None:
    text = PROJECT + "# a\x85b\n"
    uri = editor.open(project, text)
    assert len(editor.problems(uri)) == 1
    changed = types.TextDocumentContentChangePartial(types.Range(types.Position(8, 0), types.Position(8, 5)), "# ab")
    editor.change(uri, PROJECT + "# ab\n", changed)
    assert editor.problems(uri) == []


def test_findings_of_lint_are_warnings_with_their_remedy(editor: Editor, project: Path) -> None:
    uri = editor.open(project, PROJECT.replace("organizations:", "vars:\n  brand: {default: Acme}\norganizations:"))
    (finding,) = editor.problems(uri)
    assert (finding.code, finding.severity) == ("RC-unused-variable", types.DiagnosticSeverity.Warning)
    assert editor.marked(uri, finding.range) == "brand"


def test_each_project_of_a_workspace_has_its_own_problems(editor: Editor, tmp_path: Path) -> None:
    uris = []
    for name, text in (("one", PROJECT), ("two", PROJECT.replace("title: Guides", "titel: Guides"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "reconciler.yaml").write_text(text, encoding="utf-8")
        uris.append(editor.open(tmp_path / name / "reconciler.yaml"))
    assert editor.problems(uris[0]) == []
    assert [problem.code for problem in editor.problems(uris[1])] == ["RC-unknown-field"]


def test_a_file_of_no_project_has_no_problems_and_breaks_nothing(editor: Editor, tmp_path: Path, project: Path) -> None:
    other = tmp_path.parent / f"{tmp_path.name}-other.yaml"
    other.write_text("a: [", encoding="utf-8")
    editor.open(other)
    beside = tmp_path / "compose.yaml"
    beside.write_text("services: [", encoding="utf-8")
    assert editor.problems(editor.open(beside)) == []
    assert editor.problems(editor.open(project)) == []


def test_every_environment_is_checked(editor: Editor, project: Path) -> None:
    folder = project.parent / "environments"
    folder.mkdir()
    (folder / "staging.yaml").write_text("organizations: {acme: {id: org_s}}\n", encoding="utf-8")
    (folder / "production.yaml").write_text("patch: [{match: acme/space/guids, set: {title: G}}]\n", encoding="utf-8")
    uri = editor.open(folder / "production.yaml")
    assert any("guids" in problem.message for problem in editor.problems(uri))
    assert editor.problems(editor.open(folder / "staging.yaml")) == []


def test_a_variable_without_a_value_is_not_reported_while_somebody_types(editor: Editor, project: Path) -> None:
    text = PROJECT.replace("organizations:", "vars:\n  brand: {}\norganizations:").replace("title: Guides", 'title: "${{ vars.brand }}"')
    assert editor.problems(editor.open(project, text)) == []
