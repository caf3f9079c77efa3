"""The figures in the docs are those of docs/reliability.json."""

from __future__ import annotations

import re
from pathlib import Path

from tests.reliability.record import Record, merged, result_of, table
from tests.reliability.result import Result

ROOT = Path(__file__).parents[2]


def published() -> list[Result]:
    return merged(map(result_of, Record(ROOT / "docs" / "reliability.json").document()["jobs"]))


def test_nothing_was_violated_and_the_table_is_the_files() -> None:
    assert sum(len(one.violations) for one in published()) == 0
    assert table(published()) in (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")


def test_the_readme_counts_as_the_file_does() -> None:
    runs: dict[str, int] = {}
    for one in published():
        runs[one.experiment] = runs.get(one.experiment, 0) + one.runs
    told = re.findall(r"^\| .* `(\w+)` \| ([\d,]+) \| 0 \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: int(number.replace(",", "")) for name, number in told} == runs
