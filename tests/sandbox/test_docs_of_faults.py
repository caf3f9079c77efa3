"""What docs/sandbox.md says of faults is so: its rules can be read, and its table names every fault."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from reconciler.sandbox.faults import rules

TEXT = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")


def test_the_rules_of_the_example_can_be_read() -> None:
    example = re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    found = [rules.parse(json.dumps(one)) for one in yaml.safe_load(example[1])]
    assert [one.fault for one in found] == ["error", "rate-limit", "cut"]


def test_the_table_names_every_fault() -> None:
    table = TEXT.split("| fault | what happens |")[1].split("\n\n")[0]
    named = {word for row in table.splitlines()[2:] for word in re.findall(r"`([a-z0-9-]+)`", row.split("|")[1])}
    assert named == set(rules.One.json_schema()["discriminator"]["mapping"])
