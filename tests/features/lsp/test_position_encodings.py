"""Editors that count positions in other units than UTF-16, and those that do not take edits with versions."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from lsprotocol import types

from reconciler.config import load
from reconciler.features.lsp.text import Text, edits_to
from reconciler.kinds import load as load_kinds
from tests.features.lsp.editor import Editor
from tests.proofs import costly

UTF8, UTF16, UTF32 = types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16, types.PositionEncodingKind.Utf32
BYTES: Final = {UTF8: ("utf-8", 1), UTF16: ("utf-16-le", 2), UTF32: ("utf-32-le", 4)}
FILES: Final = {
    "reconciler.yaml": """version: 1
project: odd
include: ["content.yaml", "sites/*.yaml"]
organizations:
  acme:
    id: org_acme
    title: Acme é🚀
access:
  - {as: anyone, reason: "🚀 é guides", mustNotSee: ["acme/space/guides"]}
""",
    "content.yaml": """content:
  - {space: blank, id: spc_blank, title: Blank, template: true}
  - {title: "🚀é🚀 guides", space: guides, duplicateOf: blank}   # é guides
""",
    "sites/docs.yaml": """sites:
  docs:
    title: Docs
    structure:
      - {section: use, title: "é🚀", path: use, spaces: [guides]}
""",
}


def position(text: str, offset: int, encoding: types.PositionEncodingKind) -> types.Position:
    codec, size = BYTES[encoding]
    line = text[:offset].rpartition("\n")[2]
    return types.Position(text.count("\n", 0, offset), len(line.encode(codec)) // size)


def offset(text: str, position: types.Position, encoding: types.PositionEncodingKind) -> int:
    """The offset of a position; fails where it is inside of a character."""
    codec, size = BYTES[encoding]
    lines = text.split("\n")
    before = lines[position.line].encode(codec)[: position.character * size].decode(codec)
    return sum(len(line) + 1 for line in lines[: position.line]) + len(before)


def applied(text: str, edits: list[types.TextEdit], encoding: types.PositionEncodingKind) -> str:
    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        start, end = (offset(text, at, encoding) for at in (edit.range.start, edit.range.end))
        text = text[:start] + edit.new_text + text[end:]
    return text


def edits_of(edit: types.WorkspaceEdit) -> dict[str, list[types.TextEdit]]:
    edits = {uri: list(some) for uri, some in (edit.changes or {}).items()}
    for part in edit.document_changes or ():
        assert isinstance(part, types.TextDocumentEdit)
        edits[part.text_document.uri] = [some for some in part.edits if isinstance(some, types.TextEdit)]
    return edits


@costly
@pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "plain"])
@pytest.mark.parametrize(
    ("offered", "chosen"),
    [((UTF8, UTF16, UTF32), UTF8), ((UTF16,), UTF16), ((), UTF16), ((UTF32, UTF16), UTF32)],
    ids=["utf-8", "utf-16", "nothing", "utf-32"],
)
def test_every_position_counts_in_the_units_that_were_agreed_on(
    tmp_path: Path, offered: tuple[types.PositionEncodingKind, ...], chosen: types.PositionEncodingKind, versioned: bool
) -> None:
    folder = tmp_path / "odd"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    editor = Editor(folder=folder, encodings=offered, versioned=versioned)
    try:
        assert editor.answer.capabilities.position_encoding == chosen
        path = folder / "content.yaml"
        uri = editor.open(path)
        # an edit behind letters that have several units: the server has to follow
        text = FILES["content.yaml"]
        at = position(text, text.index("   # é guides") + 1, chosen)
        change = types.TextDocumentContentChangePartial(types.Range(at, types.Position(at.line, at.character + 1)), "")
        text = text.replace("   # é", "  # é")
        editor.change(uri, text, change)
        here = position(text, text.index("space: guides") + len("space: "), chosen)
        document = types.TextDocumentIdentifier(uri)
        prepared = editor.wait(editor.client.text_document_prepare_rename_async(types.PrepareRenameParams(document, here)))
        assert isinstance(prepared, types.PrepareRenamePlaceholder)
        span = prepared.range
        assert text[offset(text, span.start, chosen) : offset(text, span.end, chosen)] == "guides"
        references = editor.wait(
            editor.client.text_document_references_async(types.ReferenceParams(types.ReferenceContext(True), document, here))
        )
        for place in references or ():
            read = text if place.uri == uri else FILES[Path(place.uri.removeprefix("file://")).relative_to(folder).as_posix()]
            marked = read[offset(read, place.range.start, chosen) : offset(read, place.range.end, chosen)]
            assert marked.endswith("guides")
        edit = editor.wait(editor.client.text_document_rename_async(types.RenameParams(document, here, "handbook")))
        assert edit is not None
        assert (edit.changes is None, edit.document_changes is None) == (versioned, not versioned)
        edits = edits_of(edit)
        after = dict(FILES)
        for name in FILES:
            path = folder / name
            after[name] = applied(text if path.as_uri() == uri else FILES[name], edits.get(path.as_uri(), []), chosen)
            path.write_bytes(after[name].encode())
    finally:
        assert editor.close() == 0
    assert after["sites/docs.yaml"] == FILES["sites/docs.yaml"].replace("[guides]", "[handbook]")
    assert after["reconciler.yaml"] == FILES["reconciler.yaml"].replace("space/guides", "space/handbook")
    assert '{title: "🚀é🚀 guides", space: handbook, ' in after["content.yaml"]
    assert "  # é guides" in after["content.yaml"]
    load(folder, load_kinds())


@costly
def test_an_editor_that_cannot_create_files_is_not_offered_to_split_one(acme: Path) -> None:
    titles = []
    for versioned in (True, False):
        editor = Editor(folder=acme, versioned=versioned)
        try:
            uri = editor.open(acme / "sites" / "docs.yaml")
            place = editor.at(uri, "structure:")
            asked = types.CodeActionParams(types.TextDocumentIdentifier(uri), types.Range(place, place), types.CodeActionContext([]))
            offered = editor.wait(editor.client.text_document_code_action_async(asked)) or []
            titles.append([action.title for action in offered if action.title.startswith("Split")])
        finally:
            assert editor.close() == 0
    assert (len(titles[0]), titles[1]) == (1, [])


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
def test_every_offset_of_a_text_has_one_position(encoding: types.PositionEncodingKind) -> None:
    content = "a: é🚀\r\n# \u2028 🚀🚀 é\n\n🚀"
    text = Text(content, encoding)
    for number in range(len(content) + 1):
        if content[number - 1 : number + 1] != "\r\n":  # no position is inside of a line end
            assert text.offset(text.position(number)) == number
    rocket = text.position(content.index("🚀"))
    if encoding is not UTF32:  # inside of a character: before it
        assert text.offset(types.Position(rocket.line, rocket.character + 1)) == content.index("🚀")
    assert text.offset(types.Position(0, 1_000)) == content.index("\r")


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [
        ("a\r\nb\r\nc\r\n", "a\r\nx\r\nc\r\n", [(1, 0, 1, 1, "x")]),
        ("a\r\nb\r\n", "a\r\n\r\nb\r\n", [(1, 0, 1, 0, "\r\n")]),
        ("a\r\nb\r\n", "a\nb\n", [(0, 1, 1, 0, "\n"), (1, 1, 2, 0, "\n")]),
        ("a\rb", "a\r\nb", [(0, 1, 1, 0, "\r\n")]),
        ("x\r\n", "x", [(0, 1, 1, 0, "")]),
        ("a\r\r\nb", "a\r\nb", [(0, 1, 2, 0, "\r\n")]),
    ],
)
def test_an_edit_beside_a_line_end_never_splits_it(before: str, after: str, edits: list[tuple[int, int, int, int, str]]) -> None:
    made = [
        (edit.range.start.line, edit.range.start.character, edit.range.end.line, edit.range.end.character, edit.new_text)
        for edit in edits_to(Text(before), after)
    ]
    assert made == edits
