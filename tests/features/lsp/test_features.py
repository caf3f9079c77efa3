"""Each feature of the server, asked by a client over stdio."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from reconciler.config import load
from reconciler.features.lsp.language import Language
from reconciler.features.lsp.place import PathStep
from reconciler.kinds import load as load_kinds
from tests import processes
from tests.features.lsp.conftest import EXAMPLES
from tests.features.lsp.editor import Editor, applied, position
from tests.proofs import costly


def at(uri: str, position: types.Position) -> tuple[types.TextDocumentIdentifier, types.Position]:
    return types.TextDocumentIdentifier(uri), position


def completed(editor: Editor, uri: str, position: types.Position) -> dict[str, types.CompletionItem]:
    answer = editor.wait(editor.client.text_document_completion_async(types.CompletionParams(*at(uri, position))))
    assert isinstance(answer, types.CompletionList)
    return {item.label: item for item in answer.items}


def typed(editor: Editor, uri: str, before: str, after: str) -> dict[str, types.CompletionItem]:
    """What is offered at `|` in a text that replaces another one."""
    text = editor.texts[uri]
    assert before in text
    start = text.index(before) + after.index("|")
    editor.type(uri, text.replace(before, after.replace("|", ""), 1))
    return completed(editor, uri, position(editor.texts[uri], start))


def edited(editor: Editor, edit: types.WorkspaceEdit | None, root: Path) -> dict[str, str]:
    """The texts of files after an edit, by name."""
    assert edit is not None
    assert edit.document_changes is not None
    texts: dict[str, str] = {}
    for part in edit.document_changes:
        if isinstance(part, types.CreateFile):
            texts[name_of(part.uri, root)] = ""
        elif isinstance(part, types.TextDocumentEdit):
            uri, name = part.text_document.uri, name_of(part.text_document.uri, root)
            before = texts[name] if name in texts else editor.texts[uri] if uri in editor.texts else (root / name).read_bytes().decode()
            texts[name] = applied(before, [edit for edit in part.edits if isinstance(edit, types.TextEdit)])
    return texts


def name_of(uri: str, root: Path) -> str:
    return uri.removeprefix(f"{root.as_uri()}/")


def actions(editor: Editor, uri: str, mark: str, only: list[str] | None = None) -> dict[str, types.CodeAction]:
    place = editor.at(uri, mark)
    context = types.CodeActionContext([], only=only)
    asked = types.CodeActionParams(types.TextDocumentIdentifier(uri), types.Range(place, place), context)
    answer = editor.wait(editor.client.text_document_code_action_async(asked)) or []
    return {action.title: action for action in answer if isinstance(action, types.CodeAction)}


# -- completion ----------------------------------------------------------------------------------------------------------------------------


@costly
def test_keys_are_completed_with_their_sentences(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    offered = typed(editor, uri, "    visibility: public", "    vis|")
    assert "visibility" in offered
    assert "title" not in offered  # it is written already
    edit = offered["visibility"].text_edit
    assert isinstance(edit, types.TextEdit)
    assert (edit.new_text, editor.marked(uri, edit.range)) == ("visibility: ", "vis")
    assert offered["visibility"].documentation


def test_a_key_without_a_sentence_of_its_own_has_the_one_of_the_form_of_its_value() -> None:
    language = Language(load_kinds())
    (source,) = [form for form in language.file("reconciler.yaml", None) if form.schema]
    forms = language.around([source], [PathStep(key) for key in ("defaults", "openapi", "source")], {})
    assert language.keys(forms)["url"].doc == "Text; a text field uses the text as it is written."


def test_the_first_key_of_a_node_decides_which_keys_follow(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "content.yaml")
    spaces = typed(editor, uri, 'title: Get started, emoji: "🚀"}', 'title: Get started, emoji: "🚀", |}')
    assert "duplicateOf" in spaces
    assert "description" not in spaces
    assert "description" in typed(editor, uri, "    description: What customers read", "    desc|")


def test_values_of_an_enumeration_and_booleans_are_completed(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    assert {"public", "unlisted", "share-link", "visitor-auth"} == typed(editor, uri, "visibility: public", "visibility: |").keys()
    assert typed(editor, uri, "published: true", "published: |").keys() == {"true", "false"}


def test_references_are_completed_with_the_keys_that_exist(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    for after in ("spaces: [g|]", "spaces: [{space: |}]"):
        before = next(line for line in ("spaces: [get-started]", "spaces: [g]") if line in editor.texts[uri])
        offered = typed(editor, uri, before, after)
        assert {"guides", "get-started"} <= offered.keys()
        assert "docs" not in offered
    assert offered["guides"].documentation is not None


def test_variables_and_functions_are_completed_in_expressions(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    assert typed(editor, uri, "title: ${{ vars.brand }} documentation", "title: ${{ vars.b|").keys() == {"brand", "domain", "tier"}
    assert {"file", "json", "vars"} <= typed(editor, uri, "title: ${{ vars.b", "title: ${{ |").keys()
    editor.type(uri, editor.texts[uri].replace("title: ${{ ", "title: ${{ vars.brand | u", 1))
    assert "upper" in completed(editor, uri, editor.at(uri, "vars.brand | u", by=len("vars.brand | u")))


def test_secrets_are_completed_by_name_without_their_values(editor: Editor, tmp_path: Path) -> None:
    project = Path(shutil.copytree(EXAMPLES / "secrets", tmp_path / "secrets"))
    uri = editor.open(project / "reconciler.yaml")
    assert typed(editor, uri, "secrets.billing.apiKey", "secrets.|").keys() == {"billing"}
    assert typed(editor, uri, '"${{ secrets.', '"${{ vars.|').keys() == set(), "the project has no variables"
    offered = typed(editor, uri, '"${{ vars.', '"${{ secrets.billing.a|')
    assert offered.keys() == {"apiKey"}
    edit = offered["apiKey"].text_edit
    assert isinstance(edit, types.TextEdit)
    assert edit.new_text.endswith("apiKey")
    assert "ENC[" not in str(offered)


def test_patterns_of_addresses_are_completed_where_they_are_matched(editor: Editor, tmp_path: Path, acme: Path) -> None:
    (acme / "environments").mkdir()
    file = acme / "environments" / "staging.yaml"
    file.write_text("{}\n", encoding="utf-8")
    uri = editor.open(file)
    offered = typed(editor, uri, "{}", "patch:\n  - match: |")
    assert {"acme/space/*", "acme/space/guides"} <= offered.keys()
    assert offered["acme/space/*"].detail is not None


# -- hover ---------------------------------------------------------------------------------------------------------------------------------


def hovered(editor: Editor, uri: str, position: types.Position) -> str:
    answer = editor.wait(editor.client.text_document_hover_async(types.HoverParams(*at(uri, position))))
    assert answer is not None
    assert isinstance(answer.contents, types.MarkupContent)
    return answer.contents.value


def test_a_field_is_explained_with_its_limits_and_what_it_exposes(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    says = hovered(editor, uri, editor.at(uri, "visibility"))
    assert "**site.visibility**" in says
    assert "share-link" in says
    uri = editor.open(acme / "content.yaml")
    assert "can expose" in hovered(editor, uri, editor.at(uri, "defaultLevel"))


@pytest.mark.parametrize("by", [0, len("vars"), len("vars.br")])
def test_a_variable_is_explained_where_an_expression_uses_it(editor: Editor, acme: Path, by: int) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    says = hovered(editor, uri, editor.at(uri, "vars.brand", by=by))
    assert says.startswith("variable **brand**, declared at reconciler.yaml:")


@costly
def test_living_values_are_shown_with_their_age(editor: Editor, acme: Path) -> None:
    command = [sys.executable, "-m", "reconciler", "apply", acme, "--sandbox", acme / ".reconciler" / "acme.db", "--yes"]
    assert processes.run(command, capture_output=True).returncode == 0
    uri = editor.open(acme / "sites" / "docs.yaml")
    says = hovered(editor, uri, editor.at(uri, "basename: docs"))
    assert "last seen: `docs` (state just now)" in says
    says = hovered(editor, uri, editor.at(uri, "docs:"))
    assert "acme/site/docs" in says
    assert "tracked as" in says


def test_who_can_read_something_as_declared_and_what_is_demanded_of_it_is_shown(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "content.yaml")
    says = hovered(editor, uri, editor.at(uri, "handbook"))
    assert "as declared, it can be read by members with a role" in says
    assert "- anyone: must not see it" in says


# -- navigation ----------------------------------------------------------------------------------------------------------------------------


def places(editor: Editor, found: object, root: Path) -> set[tuple[str, int]]:
    assert isinstance(found, list | tuple)
    return {(name_of(location.uri, root), location.range.start.line + 1) for location in found}


def test_a_reference_leads_to_its_definition(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    found = editor.wait(
        editor.client.text_document_definition_async(types.DefinitionParams(*at(uri, editor.at(uri, "guides, path", by=2))))
    )
    assert isinstance(found, list | tuple)
    (location,) = found
    assert isinstance(location, types.Location)
    content = editor.open(acme / "content.yaml")
    assert location.uri == content
    assert editor.marked(content, location.range) == "guides"


def test_the_references_of_a_key_are_found_in_every_file(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "content.yaml")
    asked = types.ReferenceParams(types.ReferenceContext(True), *at(uri, editor.at(uri, "space: guides,", by=8)))
    found = places(editor, editor.wait(editor.client.text_document_references_async(asked)), acme)
    assert {name for name, _ in found} >= {"content.yaml", "sites/docs.yaml", "reconciler.yaml"}


def test_names_are_found_while_a_file_is_half_written(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    editor.wait(editor.client.text_document_document_symbol_async(types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))))
    editor.type(uri, "# one more line\n" + editor.texts[uri] + "x-more: [1, 2")
    found = editor.wait(
        editor.client.text_document_definition_async(types.DefinitionParams(*at(uri, editor.at(uri, "guides, path", by=2))))
    )
    assert places(editor, found, acme) == {("content.yaml", next_line(acme / "content.yaml", "space: guides,"))}


def next_line(path: Path, mark: str) -> int:
    return next(number for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1) if mark in line)


def test_symbols_are_listed_for_a_file_and_searched_in_the_project(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    symbols = editor.wait(editor.client.text_document_document_symbol_async(types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))))
    assert symbols is not None
    site = next(symbol for symbol in symbols if isinstance(symbol, types.DocumentSymbol) and symbol.name == "docs")
    assert "start" in {child.name for child in site.children or ()}
    found = editor.wait(editor.client.workspace_symbol_async(types.WorkspaceSymbolParams("get started"))) or []
    assert any(symbol.location.uri.endswith("content.yaml") for symbol in found)


# -- renames -------------------------------------------------------------------------------------------------------------------------------


def test_a_rename_changes_every_file_and_leaves_a_valid_project(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "content.yaml")
    place = editor.at(uri, "space: guides,", by=8)
    prepared = editor.wait(editor.client.text_document_prepare_rename_async(types.PrepareRenameParams(*at(uri, place))))
    assert isinstance(prepared, types.PrepareRenamePlaceholder)
    assert (prepared.placeholder, editor.marked(uri, prepared.range)) == ("guides", "guides")
    edit = editor.wait(editor.client.text_document_rename_async(types.RenameParams(*at(uri, place), new_name="manuals")))
    assert edit is not None
    for part in edit.document_changes or ():
        assert isinstance(part, types.TextDocumentEdit)
        assert all(len(change.new_text) < 100 for change in part.edits if isinstance(change, types.TextEdit))  # only what differs
    texts = edited(editor, edit, acme)
    assert "previously: [guides]" in texts["content.yaml"]
    for name, text in texts.items():
        (acme / name).write_bytes(text.encode())
    resources = {str(address) for address in load(acme, load_kinds()).desired.resources}
    assert "acme/space/manuals" in resources
    assert "acme/space/guides" not in resources


def test_what_cannot_be_renamed_says_why(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "content.yaml")
    with pytest.raises(JsonRpcException, match="only the key of a resource can be renamed"):
        editor.wait(editor.client.text_document_prepare_rename_async(types.PrepareRenameParams(*at(uri, editor.at(uri, "emoji")))))
    with pytest.raises(JsonRpcException, match="declared at"):
        editor.wait(
            editor.client.text_document_rename_async(
                types.RenameParams(*at(uri, editor.at(uri, "space: guides,", by=8)), new_name="get-started")
            )
        )


# -- actions -------------------------------------------------------------------------------------------------------------------------------


def test_a_misspelled_key_is_corrected(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    good = editor.texts[uri]
    editor.type(uri, good.replace("visibility:", "visibilty:", 1))
    action = actions(editor, uri, "visibilty")['Change "visibilty" to "visibility"']
    assert edited(editor, action.edit, acme) == {"sites/docs.yaml": good}


def test_a_misspelled_reference_is_corrected(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "sites" / "docs.yaml")
    good = editor.texts[uri]
    editor.type(uri, good.replace("spaces: [get-started]", "spaces: [get-startd]", 1))
    offered = actions(editor, uri, "[get-startd]")
    assert edited(editor, offered['Change "get-startd" to "get-started"'].edit, acme) == {"sites/docs.yaml": good}


def test_the_fixes_of_lint_are_offered_one_by_one_and_together(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "reconciler.yaml")
    good = editor.texts[uri]
    editor.type(uri, good.replace("vars:\n", "vars:\n  spare: {default: x}\n  more: {default: y}\n", 1))
    (action,) = actions(editor, uri, "spare").values()
    assert "spare" not in edited(editor, action.edit, acme)["reconciler.yaml"]
    (every,) = actions(editor, uri, "spare", only=["source.fixAll"]).values()
    assert edited(editor, every.edit, acme) == {"reconciler.yaml": good}


def test_a_key_that_replaces_another_gets_previously(editor: Editor, acme: Path) -> None:
    uri = editor.open(acme / "content.yaml")
    assert editor.problems(uri) == []
    editor.type(uri, editor.texts[uri].replace("{space: get-started, ", "{space: first-steps, "))
    docs = editor.open(acme / "sites" / "docs.yaml")
    editor.type(docs, editor.texts[docs].replace("get-started", "first-steps"))
    editor.problems(docs)
    editor.eventually(lambda: uri in editor.diagnostics and bool(editor.diagnostics[uri].diagnostics))
    (hint,) = [problem for problem in editor.diagnostics[uri].diagnostics if "previously: [get-started]" in problem.message]
    assert hint.severity == types.DiagnosticSeverity.Information
    offered = actions(editor, uri, "{space: first-steps")
    text = edited(editor, offered["It was get-started: add previously"].edit, acme)["content.yaml"]
    assert "previously: [get-started]" in text
    editor.type(uri, text)
    assert not any("previously" in problem.message for problem in editor.problems(uri))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_list_becomes_a_file_of_its_own(editor: Editor, acme: Path, end: str) -> None:
    file = acme / "sites" / "docs.yaml"
    file.write_bytes(file.read_bytes().replace(b"\n", end.encode()))
    before = load(acme, load_kinds()).desired.resources
    uri = editor.open(file)
    offered = actions(editor, uri, "structure:", only=["refactor.extract"])
    texts = edited(editor, offered["Split structure into sites/docs/structure.yaml"].edit, acme)
    for name, text in texts.items():
        (acme / name).parent.mkdir(exist_ok=True)
        (acme / name).write_bytes(text.encode())
    after = load(acme, load_kinds()).desired.resources
    assert list(after) == list(before)
    assert {address: declared.values for address, declared in after.items()} == {
        address: declared.values for address, declared in before.items()
    }
    assert texts["sites/docs/structure.yaml"].count(end) == texts["sites/docs/structure.yaml"].count("\n")


@costly
def test_the_server_reads_no_variable_of_the_environment(acme: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "RECONCILER_VAR_BRAND", "top-secret-value")
    editor = Editor()
    try:
        uri = editor.open(acme / "sites" / "docs.yaml")
        editor.type(uri, editor.texts[uri].replace("visibility: public", "visibility: ${{ vars.brand }}"))
        assert "top-secret-value" not in str(editor.problems(uri))
    finally:
        assert editor.close() == 0
