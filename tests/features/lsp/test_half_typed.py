"""Half-typed documents: cut, doubled, with bytes of other places in them. The server answers everything, in time, and does not grow."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from lsprotocol import types

from reconciler.features.lsp.completion import _MEMBER, WRITTEN_MAX
from reconciler.features.lsp.place import _EMPTY, LINE_MAX, place_at
from reconciler.features.lsp.text import Text
from tests import proofs
from tests.effort import within
from tests.features.lsp.editor import Editor, position
from tests.proofs import costly

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
WORDS: Final = (
    "${{ ", "{", "[", "}", "]", ": ", "- ", "'", '"', "&a ", "*a", "<<: ", "|\n", "\t", "\n", "\r\n", "\r", "📘", "\x85", "\u2028",
    "\ufeff", "\x00", "!!str ", "? ", "---\n", "#", "forEach: ", "include: [x.yaml]", "previously: [", "${{ vars.", "\ud800", "  ",
    "%YAML 1.1\n",
)  # fmt: skip
FILES: Final = sorted(
    path.relative_to(EXAMPLES).as_posix()
    for path in EXAMPLES.rglob("*.yaml")
    if (EXAMPLES / path.relative_to(EXAMPLES).parts[0] / "reconciler.yaml").is_file()
)
SEEDS: Final = range(30)


@pytest.fixture
def own() -> Iterator[Editor]:
    editor = Editor()
    yield editor
    assert editor.errors == []
    assert editor.close() == 0


def damaged(text: str, chance: random.Random) -> str:
    """A text as it may be while somebody works on it."""
    at, end = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
    match chance.randrange(6):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + text[min(end, at + chance.randrange(1, 80)) :]
        case 2:
            return text[:end] + text[at:]
        case 3:
            return text[:at] + chance.choice(WORDS) + text[at:]
        case 4:
            lines = text.splitlines(keepends=True)
            chance.shuffle(lines)
            return "".join(lines)
        case _:
            return text[:at] + "".join(chance.choice(WORDS) for _ in range(chance.randrange(1, 6))) + text[at:]


def asked(editor: Editor, uri: str, place: types.Position) -> None:
    """Ask everything about a place. A refusal is an answer, an internal error is not."""
    document, client = types.TextDocumentIdentifier(uri), editor.client
    span = types.Range(place, place)
    questions = [
        lambda: client.text_document_completion_async(types.CompletionParams(document, place)),
        lambda: client.text_document_hover_async(types.HoverParams(document, place)),
        lambda: client.text_document_definition_async(types.DefinitionParams(document, place)),
        lambda: client.text_document_references_async(types.ReferenceParams(types.ReferenceContext(True), document, place)),
        lambda: client.text_document_document_symbol_async(types.DocumentSymbolParams(document)),
        lambda: client.text_document_code_action_async(types.CodeActionParams(document, span, types.CodeActionContext([]))),
        lambda: client.text_document_prepare_rename_async(types.PrepareRenameParams(document, place)),
    ]
    for question in questions:
        try:
            editor.wait(question())
        except Exception as error:
            assert getattr(error, "code", None) == -32803, error  # noqa: PT017


@pytest.mark.parametrize("seed", proofs.spread([*SEEDS], push=3))
def test_every_question_about_a_half_typed_document_is_answered(editor: Editor, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    name = chance.choice(FILES)
    example = name.partition("/")[0]
    shutil.copytree(EXAMPLES / example, tmp_path / example)
    uri = editor.open(tmp_path / name)
    for _ in range(12):
        text = editor.texts[uri]
        for _ in range(chance.randrange(1, 3)):
            text = damaged(text, chance)
        if text != editor.texts[uri]:
            editor.type(uri, text)
        asked(editor, uri, position(text, chance.randrange(len(text) + 1)))
        editor.problems(uri)
        if chance.random() < 0.5:
            editor.change(uri, whole := (tmp_path / name).read_bytes().decode(), types.TextDocumentContentChangeWholeDocument(whole))
    editor.close_document(uri)
    assert editor.errors == []


def memory(pid: int) -> int:
    """The resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


@costly
@proofs.sampled
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_does_not_grow_with_edits(own: Editor, acme: Path) -> None:
    uri = own.open(acme / "sites" / "docs.yaml")
    good = own.texts[uri]
    rounds, edits = proofs.tries(10, 3), 100
    sizes = []
    for number in range(rounds):
        for edit in range(edits):
            own.type(
                uri,
                good.replace(
                    "title: Guides", f"title: Guides {number} {edit}\n        x{edit}: [" if edit % 3 else f"title: Guides {edit}"
                ),
            )
            if edit % 5 == 0:
                asked(own, uri, own.at(uri, "title: Guides"))
            own.problems(uri)
        sizes.append(memory(own.pid))
    assert sizes[-1] - sizes[1] < 12 * 2**20, sizes


def test_brackets_that_are_longer_than_what_is_looked_at_are_not_looked_into() -> None:
    """A line of another author's may be endless; whatever is typed below it, the editor waits for nothing."""
    for count, inside in ((10, True), (LINE_MAX, False)):
        text = Text(f"x: {{ b: {'a' * count},\n  c: ")
        assert ("x" in place_at(text, len(text.text)).keys) is inside, count


@pytest.mark.parametrize("line", ["&" * 2_000, "! " * 2_000, "& & " * 1_000 + "x", " " * 2_000 + "x"])
def test_a_hostile_line_in_the_editor_is_read_once(line: str) -> None:
    assert _EMPTY.match(line + " x") is None
    assert _EMPTY.match("&a !b  # c") is not None


def test_a_long_line_is_looked_through_once() -> None:
    assert within(2, lambda: _MEMBER.search(("secrets." * 200_000)[-WRITTEN_MAX:] + " ")) is None
