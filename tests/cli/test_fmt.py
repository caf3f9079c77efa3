"""`fmt`: a project in canonical layout says the same, and nothing is written that could not be."""

from __future__ import annotations

import random
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.kinds import load as kinds
from reconciler.model import Declared
from reconciler.yamltext.format import ValueShape, layout
from tests.cli.conftest import Cli

EXAMPLES = Path(__file__).parents[2] / "examples"
PROJECTS = sorted(path.parent for path in EXAMPLES.rglob("reconciler.yaml"))
ROUGH = """\
# A project.
version: 1
organizations:
    acme:
        teams: {writers: {title: "Writers"}}   # who writes
        id: org_acme
project: rough
"""
SMOOTH = """\
# A project.
version: 1
project: rough

organizations:
  acme:
    id: org_acme
    teams: {writers: {title: Writers}}     # who writes
"""


def _asserted(declared: Declared) -> dict[str, Any]:
    return {name: replace(expected, source=None) for name, expected in declared.expected.items()}  # type: ignore[arg-type]


def said(root: Path) -> Any:
    """What a project declares, without where it says so."""
    project = load(root, kinds())
    resources = {
        address: replace(one, source=None, positions={}, lines={}, expected=_asserted(one))
        for address, one in project.desired.resources.items()
    }  # type: ignore[arg-type]
    return project.digest, resources


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_every_example_is_in_canonical_layout(cli: Cli, project: Path) -> None:
    checked = cli("fmt", "--check", str(project))
    assert checked.exit_code == 0, checked.stdout


@pytest.mark.parametrize("sandbox", [True, False])
def test_what_init_writes_is_in_canonical_layout(cli: Cli, sandbox: bool) -> None:
    cli("init", "docs", *(["--sandbox"] if sandbox else []))
    assert cli("fmt", "--check", "docs").exit_code == 0


def test_it_lays_out_a_file_and_names_it(cli: Cli) -> None:
    path = cli.write("reconciler.yaml", ROUGH)
    before = said(cli.root)
    done = cli("fmt")
    assert (done.exit_code, done.stdout) == (0, "reconciler.yaml\n")
    assert path.read_text(encoding="utf-8") == SMOOTH
    assert said(cli.root) == before
    assert cli("fmt").stdout == ""


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_looking_writes_nothing_and_exits_with_1(cli: Cli, option: str) -> None:
    path = cli.write("reconciler.yaml", ROUGH)
    done = cli("fmt", option)
    assert done.exit_code == 1
    assert path.read_text(encoding="utf-8") == ROUGH
    assert ("+project: rough" in done.stdout) == (option == "--diff")
    path.write_text(SMOOTH, encoding="utf-8")
    assert (cli("fmt", option).exit_code, cli("fmt", option).stdout) == (0, "")


def test_permissions_and_links_stay(cli: Cli) -> None:
    path = cli.write("real.yaml", ROUGH)
    path.chmod(0o640)
    (cli.root / "reconciler.yaml").symlink_to("real.yaml")
    assert cli("fmt").exit_code == 0
    assert (cli.root / "reconciler.yaml").is_symlink()
    assert path.read_text(encoding="utf-8") == SMOOTH
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in cli.root.iterdir() if one.is_file()) == ["real.yaml", "reconciler.yaml"]


def test_a_file_that_is_not_yaml_is_shown_with_its_position_and_nothing_is_written(cli: Cli) -> None:
    path = cli.write("reconciler.yaml", ROUGH.replace("project:", "include: [more.yaml]\nproject:"))
    before = path.read_text(encoding="utf-8")
    cli.write("more.yaml", "organization: acme\nmembers: {a@b.example: admin\n")
    done = cli("fmt")
    assert done.exit_code == 3
    assert "more.yaml:" in done.stderr
    assert path.read_text(encoding="utf-8") == before


def test_a_project_that_is_wrong_otherwise_can_be_laid_out(cli: Cli) -> None:
    path = cli.write("reconciler.yaml", ROUGH.replace("title", "titel"))
    assert cli("fmt").exit_code == 0
    assert path.read_text(encoding="utf-8") == SMOOTH.replace("title", "titel")


def test_without_a_project_it_says_what_makes_one(cli: Cli) -> None:
    done = cli("fmt")
    assert done.exit_code == 3
    assert "reconciler init" in done.stderr


class Mixed(ValueShape):
    """Keys in any order."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.salt = chance.random()

    def below(self, key: str | None, keys: Sequence[str]) -> ValueShape:
        return self

    def rank(self, key: str) -> int:
        return zlib.crc32(f"{self.salt}{key}".encode())


def shuffled(text: str, chance: random.Random) -> str:
    """The same file with its keys in another order."""
    return layout(text, Mixed(chance))


@pytest.mark.parametrize("seed", range(5))
def test_whatever_order_keys_were_in_the_project_says_the_same_and_once_is_enough(cli: Cli, seed: int) -> None:
    root = cli.root / "acme"
    shutil.copytree(EXAMPLES / "acme", root)
    chance = random.Random(seed)
    for path in root.rglob("*.yaml"):
        path.write_text(shuffled(path.read_text(encoding="utf-8"), chance), encoding="utf-8")
    before = said(root)
    assert cli("fmt", "acme").stdout
    assert said(root) == before
    assert cli("fmt", "--check", "acme").exit_code == 0
