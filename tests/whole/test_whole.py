"""What commands answer on organizations with two of everything is what was reviewed, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.whole.scenes import DOCUMENTS, SCENES, texts


@pytest.mark.parametrize("name", SCENES)
def test_a_command_answers_this_and_nothing_else(name: str, tmp_path: Path) -> None:
    written = texts(SCENES[name], tmp_path)
    kept = {path.name.split(".")[1]: path.read_text(encoding="utf-8") for path in DOCUMENTS.glob(f"{name}.*.json")}
    assert written.keys() == kept.keys()
    for document, text in written.items():
        assert text.splitlines() == kept[document].splitlines(), "read the difference; if it is meant: python -m tests.whole"
