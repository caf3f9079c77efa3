"""CONTRIBUTING draws the house as it is, and the kernel is twenty files to read in a day."""

from __future__ import annotations

import re
from typing import Final

from tests.sources import PACKAGE, ROOT
from tests.without_feature import FEATURES, kernel_modules

TEXT: Final = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LINES: Final = range(4_000, 5_001)  # a day: two hours for a thousand


def _section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_constant_and_function_that_it_names_is_defined() -> None:
    constants = {*re.findall(r"`([A-Z][A-Z_]{3,})`", TEXT)} - {"REPOSITORY_URL", "UNSET"}
    functions = {*re.findall(r"`(\w+)\(?\)?`\]\(\S+\.py\)", TEXT)} - {"test_member", "test_every_guard"}
    code = "\n".join(path.read_text(encoding="utf-8") for folder in (PACKAGE, ROOT / "tests") for path in folder.rglob("*.py"))
    assert len(constants) > 10
    assert [name for name in constants if not re.search(rf"^\s*{name}\b *[:=]", code, flags=re.MULTILINE)] == []
    assert [
        name for name in functions if not re.search(rf"^\s*((async )?def|class) {name}\b|^{name}\b *[:=]", code, flags=re.MULTILINE)
    ] == []


def test_the_picture_of_the_house_has_every_folder_of_the_package() -> None:
    picture = _section("The house").split("```")[1]
    names = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert names | {*FEATURES} <= {*re.findall(r"\w+", picture)}
    (features,) = re.findall(r"^ +features/ (.*)$", picture, flags=re.MULTILINE)
    assert features.split() == [*FEATURES]


def test_the_kernel_is_read_in_twenty_files_of_four_to_five_thousand_lines_each_with_a_sentence() -> None:
    rows = re.findall(r"^\d+\. \[`([^`]+)`\]\((\S+)\): .+\.$", _section("Read the kernel in a day"), flags=re.MULTILINE)
    assert len({path for _, path in rows}) == 20
    assert [path for name, path in rows if path != f"reconciler/{name}"] == []
    assert sum(len((ROOT / path).read_text(encoding="utf-8").splitlines()) for _, path in rows) in LINES
    modules = {path.removesuffix(".py").replace("/", ".") for _, path in rows}
    assert modules <= {*kernel_modules(), "reconciler.assembled"}
