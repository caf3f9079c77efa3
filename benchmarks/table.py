"""`benchmarks/run`: every row of the table, peers beside them where they are installed."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from benchmarks.peers import deck, terraform
from benchmarks.report import chart, machine, table
from benchmarks.rows import FULL, LARGE, LATENCY, QUICK, Extent, Row, editing, growth, note, offline, reading, rehearsing, start, writing

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)


def rows(extent: Extent) -> list[Row]:
    peer = deck.costs(extent.size, LATENCY, extent.times)
    if peer is None:
        note(f"Without decK: {deck.MISSING}.")
    diff, valid = peer or (None, None)
    found = [
        *start.rows(),
        *offline.rows(extent, valid),
        *editing.rows(extent),
        *reading.rows(extent, diff),
        *writing.rows(extent),
        *rehearsing.rows(extent),
        *growth.rows(extent),
    ]
    return [*found, *_terraform(extent)]


def _terraform(extent: Extent) -> list[Row]:
    if not extent.terraform:
        note("Without Terraform: it is measured only without --quick.")
        return []
    cost = terraform.cost(extent.terraform)
    if cost is None:
        note(f"Without Terraform: {terraform.MISSING}.")
        return []
    work = f"for comparison: Terraform, plan without changes, {extent.terraform:,} `terraform_data`, no network"
    return [Row(work, f"{cost.wall:.2f} s, {cost.cpu:.2f} s CPU, {cost.memory:.0f} MB", "", "", None)]


def main() -> None:
    parser = argparse.ArgumentParser("benchmarks/run", description="Measure every row of docs/performance.md and print the table.")
    parser.add_argument("--quick", action="store_true", help="fewer creates and one run each: under 3 minutes")
    parser.add_argument("--large", action="store_true", help="plans, validations and imports of 100,000 objects too: about half an hour")
    parser.add_argument("--write", action="store_true", help="write the table and the chart to docs/")
    arguments = parser.parse_args()
    found = rows(QUICK if arguments.quick else LARGE if arguments.large else FULL)
    text = f"{machine()}.\n\n{table(found)}"
    print(text)
    if arguments.write:
        page = DOCS / "performance.md"
        page.write_text(RESULTS.sub(lambda match: f"{match[1]}{text}{match[2]}", page.read_text(encoding="utf-8")), encoding="utf-8")
        (DOCS / "performance.svg").write_text(chart(found), encoding="utf-8")


if __name__ == "__main__":
    main()
