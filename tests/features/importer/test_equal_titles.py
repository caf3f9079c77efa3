"""What is told apart by its place needs no id after an import."""

from __future__ import annotations

from pathlib import Path

from tests.apply.test_equal_titles import group, products
from tests.features.importer.imported import imported
from tests.harness import Org


def of_sections(folder: Path) -> list[str]:
    return [line for file in folder.rglob("*.yaml") for line in file.read_text(encoding="utf-8").splitlines() if "id: sitesc_" in line]


def test_an_import_writes_no_ids_of_sections_in_several_groups(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write(products())
    org.apply()
    _, plan = imported(org, tmp_path / "imported")
    assert plan.empty
    assert of_sections(tmp_path / "imported") == []


def test_an_import_writes_the_ids_of_equal_titles_in_one_group(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write(products(group("mail", ("Get started", "Get started")), group("maps")))
    org.apply()
    _, plan = imported(org, tmp_path / "imported")
    assert plan.empty
    assert len(of_sections(tmp_path / "imported")) == 2
