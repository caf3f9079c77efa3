"""The threat model promises what a test shows, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"
PROMISES = 52
"""As many as the page had when it was one of its own; a promise is added, and none is lost."""

LINK = re.compile(r"\[`(test_\w+)`\]\(\.\./(tests/[\w/]+\.py)\)")
FILE = re.compile(r"\[`(test_\w+\.py)`\]\(\.\./(tests/[\w/]+/\1)\)")


def promises() -> Iterator[str]:
    """The rows of the tables whose last column is a test, without their heads."""
    promising = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|") and not line.startswith("|---"):
            if promising and not line.endswith("| test |"):
                yield line
            promising = promising or line.endswith("| test |")
        elif not line.startswith("|"):
            promising = False


def proofs(row: str) -> list[tuple[str, str]]:
    """The names and files of the tests in the last cell of a row."""
    return LINK.findall(row.rstrip("|").rpartition("|")[2])


def is_test(name: str, file: str) -> bool:
    """Whether a file has a test of this name."""
    path = ROOT / file
    return path.is_file() and re.search(rf"^(async )?def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_the_page_has_promises() -> None:
    assert len([*promises()]) >= PROMISES
    tables = PAGE.read_text(encoding="utf-8").partition("\n## Who can do what\n")[2].partition("\n## ")[0]
    assert tables.count("|---|---|") == tables.count("| test |\n"), "a table without tests"


@pytest.mark.parametrize("row", [*promises()], ids=lambda row: row[2:50].strip())
def test_every_promise_names_a_test_that_exists(row: str) -> None:
    named, files = proofs(row), [file for _, file in FILE.findall(row)]
    assert named or files
    assert [entry for entry in named if not is_test(*entry)] == []
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert len(named) + len(files) == row.count("](../tests/")


def test_a_test_that_does_not_exist_is_noticed() -> None:
    assert proofs("| a | b | [`test_a`](../tests/docs/test_none.py) |") == [("test_a", "tests/docs/test_none.py")]
    assert not is_test("test_a", "tests/docs/test_none.py")
    assert not is_test("test_nothing", "tests/docs/test_threat_model.py")
    assert is_test("test_the_page_has_promises", "tests/docs/test_threat_model.py")


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("README.md", "docs/security.md#who-can-do-what"),
        ("SECURITY.md", "docs/security.md#who-can-do-what"),
        ("docs/security.md", "#who-can-do-what"),
        ("mkdocs.yml", "security.md"),
    ],
)
def test_the_threat_model_is_linked(page: str, link: str) -> None:
    assert link in (ROOT / page).read_text(encoding="utf-8")
