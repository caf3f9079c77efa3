"""Each feature has a page that says what it is for: short, with every module, its docs and its tests.

`tests/docs/test_readme.py` follows the links, `tests/test_vocabulary.py` reads the sentences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.sources import PACKAGE, ROOT
from tests.without_feature import FEATURES

LINES: Final = range(10, 31)


def _page(feature: str) -> tuple[Path, str]:
    path = PACKAGE / "features" / feature / "README.md"
    return path, path.read_text(encoding="utf-8")


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_has_a_page_of_ten_to_thirty_lines_that_links_its_docs_and_its_tests(feature: str) -> None:
    path, text = _page(feature)
    assert len(text.splitlines()) in LINES
    links = [(path.parent / link).resolve() for link in re.findall(r"\]\(([^)]+)\)", text)]
    assert ROOT / "tests" / "features" / feature in links
    assert any(link.is_relative_to(ROOT / "docs") and not link.is_relative_to(ROOT / "docs" / "decisions") for link in links)


@pytest.mark.parametrize("feature", FEATURES)
def test_the_page_of_a_feature_lists_each_of_its_modules_and_folders(feature: str) -> None:
    path, text = _page(feature)
    names = [item.stem if item.suffix == ".py" else item.name for item in path.parent.iterdir() if item.suffix == ".py" or item.is_dir()]
    listed = [name.removesuffix(".py") for name in re.findall(r"^- \[`([^`]+)`\]", text, flags=re.MULTILINE)]
    assert sorted(listed) == sorted(name for name in names if not name.startswith("__"))
