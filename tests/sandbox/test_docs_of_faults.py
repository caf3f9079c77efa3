"""What docs/sandbox.md says of faults is so: its rules can be read, and its table names every fault."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from reconciler.sandbox.faults import rules

TEXT = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")


def test_the_rules_of_the_example_can_be_read() -> None:
    example = re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    found = [rules.parse(json.dumps(one)) for one in yaml.safe_load(example[1])]
    assert [one.fault for one in found] == ["error", "rate-limit", "cut"]


def table() -> dict[str, list[str]]:
    """The rows of the table of faults: the words that each names, by its fault."""
    rows = TEXT.split("| fault | what happens |")[1].split("\n\n")[0].splitlines()[2:]
    cells = [row.split("|") for row in rows]
    return {cell[1].strip(" `"): re.findall(r"`([A-Za-z0-9-]+)`", cell[3]) for cell in cells}


def test_the_table_names_every_fault() -> None:
    assert set(table()) == set(rules.One.json_schema()["discriminator"]["mapping"])


@pytest.mark.parametrize("rule", get_args(get_args(rules.AnyRule)[0]), ids=lambda rule: rule.__name__)
def test_the_table_names_every_field_of_a_fault_and_says_which_are_required(rule: type[rules.Rule]) -> None:
    own = {name: field for name, field in rule.model_fields.items() if name not in rules.Rule.model_fields}
    (fault,) = get_args(own.pop("fault").annotation)
    assert set(own) <= set(table()[fault])
    row = next(line for line in TEXT.splitlines() if line.startswith(f"| `{fault}` |"))
    for name, field in own.items():
        assert not field.is_required() or f"`{name}` (required)" in row
