"""The figures in the docs are those of docs/reliability.json."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.reliability.record import Record, merged, result_of, table
from tests.reliability.result import Result

ROOT = Path(__file__).parents[2]


def published() -> list[Result]:
    return merged(map(result_of, Record(ROOT / "docs" / "reliability.json").document()["jobs"]))


def test_nothing_was_violated_and_the_table_is_the_files() -> None:
    assert sum(len(one.violations) for one in published()) == 0
    assert table(published()) in (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")


def test_the_summary_counts_as_the_file_does() -> None:
    runs: Counter[str] = Counter()
    for result in published():
        runs[result.experiment] += result.runs
    rows = re.findall(r"^\| .* \| `(\w+)` \| ([\d,]+) \| 0 \|$", (ROOT / "docs" / "proof.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: int(number.replace(",", "")) for name, number in rows} == runs
    assert f"In {runs.total():,} test runs" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_summary_says_how_many_edits_were_overwritten_and_how_often_a_fault_happened() -> None:
    counted: Counter[str] = Counter()
    for result in published():
        counted.update(result.counted)
    text = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
    assert f"({counted['overwritten within the window']:,} were overwritten there)" in text
    assert f"in {counted['runs in which one did']:,} of these runs one happened" in text
