"""One editor and one server for all tests of this folder; each test has a project of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.lsp.editor import Editor

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="session")
def server() -> Iterator[Editor]:
    editor = Editor()
    yield editor
    assert editor.close() == 0
    assert editor.errors == []


@pytest.fixture
def editor(server: Editor) -> Iterator[Editor]:
    yield server
    for uri in list(server.texts):
        server.close_document(uri)
    server.texts.clear()
    server.diagnostics.clear()


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / "acme", tmp_path / "acme"))
