"""The tests in the docs are tests of the acme example, and pass; the examples' own tests pass, and fit the schema for editors."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml

from reconciler import exits
from reconciler.features.testing import keys
from reconciler.features.testing.schema import schema
from reconciler.kinds import load
from tests.command_line import Cli
from tests.features.testing.test_wrong_files import WRONG
from tests.proofs import costly, spread

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/reconciler.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(schema(load()))


@costly
def test_the_tests_of_the_page_pass(cli: Cli) -> None:
    shutil.copytree(EXAMPLES / "acme", cli.root / "acme")
    blocks = [text for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE) if "\ntests:" in f"\n{text}"]
    assert len(blocks) >= 2
    for number, text in enumerate(blocks):
        VALIDATOR.validate(yaml.safe_load(text))
        cli.write(f"acme/tests/of-the-page-{number}.yaml", text)
    result = cli("test", "acme", *(f"acme/tests/of-the-page-{number}.yaml" for number in range(len(blocks))), "--parallel", "1")
    assert result.exit_code == exits.DONE, result.stdout + result.stderr


@costly
@pytest.mark.parametrize("name", spread(NAMES, 4))
def test_each_example_has_tests_that_pass(cli: Cli, name: str) -> None:
    result = cli("test", EXAMPLES / name, "--parallel", "1", "--format", "json")
    document = json.loads(result.stdout)
    assert result.exit_code == exits.DONE, document
    assert any(test["sort"] == "test" for test in document["tests"])


def test_each_test_file_of_the_examples_fits_the_schema() -> None:
    files = [*EXAMPLES.glob("*/tests/*.yaml"), *EXAMPLES.glob("*/*.test.yaml")]
    assert {file.relative_to(EXAMPLES).parts[0] for file in files} == set(NAMES)
    for file in files:
        VALIDATOR.validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def test_the_schema_refuses_what_it_can_know_without_the_project() -> None:
    refused = [text for text, _ in WRONG if not VALIDATOR.is_valid({"tests": yaml.safe_load(text)})]
    assert len(refused) > len(WRONG) // 3
    for word in ("expct", "aply", "udpate", "anybody", "evn"):
        assert any(word in text for text in refused), word


def test_every_key_of_the_table_is_in_the_schema() -> None:
    written = json.dumps(schema(load()))
    tables = (keys.TEST, keys.STEP, *keys.EXPECTATIONS.values())
    assert [key.name for table in tables for key in table if f'"{key.name}"' not in written] == []
