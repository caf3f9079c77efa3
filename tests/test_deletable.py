"""Each feature can be deleted: the kernel is imported, plans and applies without it, its own tests hold, and a key of the project file that
belongs to the deleted feature is an error that names it.

A push tries one feature, another every day; `-m proof` tries all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from reconciler import exits
from tests.command_line import Cli, initialised
from tests.proofs import LONG, proof
from tests.sources import ROOT
from tests.without_feature import FEATURES, copied, deleted_with, imports, kernel_exceptions, kernel_modules, kernel_tests, without

KERNEL_TESTS: Final = ("tests/resource", "tests/yamltext", "tests/test_address.py", "tests/plan/test_graph.py", "tests/plan/test_order.py")
"""Tests of the kernel that take seconds."""
KEYS: Final = {
    "access": "access: [{as: anyone, mustNotSee: [acme/space/api], reason: It is internal}]",
    "health": "health: {startPages: true}",
    "lint": "lint: {ignore: [{id: unused-variable}]}",
    "policies": "policies: [{id: named, on: [site], assert: '${{ after.title != env.name }}', message: a site needs a title}]",
    "urls": "urls: {gone: [{url: 'https://docs.example/a', reason: It was old}]}",
}
"""A key of the project file, by the feature that it belongs to."""
IMPORTS = """\
import importlib, sys
import reconciler
assert reconciler.__file__.startswith(sys.argv[1]), reconciler.__file__
for name in sys.stdin.read().split():
    importlib.import_module(name)
from reconciler.assembled import PARTS
for fill in PARTS.values():
    fill()
print(*sorted(name for name in sys.modules if name.startswith("reconciler.features.")))
"""


def _turn() -> str:
    """The feature of the day on which the newest commit was made."""
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    day = int(shown.stdout or 0) // 86_400  # a release without git tries the first
    return FEATURES[day % len(FEATURES)]


class Copy:
    """The package without a feature, and a folder beside it to work in."""

    def __init__(self, folder: Path, feature: str) -> None:
        self.deleted = deleted_with(feature)
        self.root = copied(folder / "package", self.deleted)
        self.work = folder / "work"
        self.work.mkdir()
        home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")}
        self._environ = {**os.environ, **home, "PYTHONPATH": str(self.root)}
        self._environ.pop(LONG, None)

    def __call__(self, *words: str, input: str | None = None, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """What an interpreter with the copy answers."""
        given = {"cwd": folder or self.work, "env": self._environ, "text": True, "capture_output": True}
        return subprocess.run([sys.executable, *words], input=input, check=False, **given)

    def done(self, *words: str, code: int = 0) -> str:
        """What a command line prints that ends with this exit code."""
        ended = self("-m", "reconciler", *words)
        assert ended.returncode == code, (words, self.deleted, ended.stdout + ended.stderr)
        assert "Traceback" not in ended.stderr
        return ended.stdout + ended.stderr


@pytest.mark.parametrize("feature", [pytest.param(feature, marks=() if feature == _turn() else proof) for feature in FEATURES])
def test_the_kernel_works_without_a_feature(feature: str, tmp_path: Path) -> None:
    copy = Copy(tmp_path, feature)
    imported = copy("-c", IMPORTS, str(copy.root), input=" ".join(kernel_modules()))
    assert imported.returncode == 0, imported.stderr
    assert {name.split(".")[2] for name in imported.stdout.split()} & copy.deleted == set()

    assert "Every day:" in copy.done("--help")
    copy.done("init", "p", "--sandbox")
    assert "+ " in copy.done("plan", "p", "--detailed-exitcode", code=exits.PENDING)
    assert "The plan is now empty." in copy.done("apply", "p", "--yes")
    copy.done("plan", "p", "--detailed-exitcode")

    file = copy.work / "p" / "reconciler.yaml"
    text = file.read_text(encoding="utf-8")
    for name, key in KEYS.items():
        if name in copy.deleted:
            file.write_text(f"{text}{key}\n", encoding="utf-8")
            said = copy.done("validate", "p", code=exits.WRONG)
            assert re.search(rf"reconciler\.yaml:\d+:\d+ +{key.partition(':')[0]} belongs to the feature {name}\b", said), said

    tests = copy("-m", "pytest", "-p", "no:xdist", *KERNEL_TESTS, folder=copy.root)
    assert tests.returncode == 0, tests.stdout + tests.stderr


@pytest.mark.parametrize("feature", KEYS)
def test_a_key_is_valid_as_long_as_its_feature_exists(feature: str, cli: Cli) -> None:
    initialised(cli)
    file = cli.root / "p" / "reconciler.yaml"
    file.write_text(f"{file.read_text(encoding='utf-8')}{KEYS[feature]}\n", encoding="utf-8")
    cli("validate", "p", code=exits.DONE)


def test_the_contract_of_the_kernel_has_no_exception() -> None:
    assert kernel_exceptions() == []


def test_no_test_of_the_kernel_imports_a_feature() -> None:
    above = ("reconciler.features.", "reconciler.fleet", "tests.features", "tests.fleet")
    modules = [*kernel_tests()]
    assert len(modules) > 100
    assert [(path.name, name) for path in modules for name in imports(path) if name.startswith(above)] == []
    assert any(name.startswith("reconciler.features.") for name in imports(ROOT / "tests" / "features" / "drift" / "test_groups.py"))


def test_the_lines_of_a_feature_are_deleted_and_no_others() -> None:
    text = """\
GROUPS = {'Look': {'urls': Lazy('reconciler.features.urls.command', 'URLs.'), 'work': Lazy('reconciler.features.work.command', 'Work.')}}

def assemble():
    from reconciler.features import urls, work
    from reconciler.features.urls.section import KEY as key
    from reconciler.run import STAGES, TABLES
    STAGES.fill(urls.STAGE, work.STAGE, Row('both', key))
    TABLES.fill(*urls.TABLES)
"""
    assert (
        without(text, frozenset({"urls"}))
        == """\
GROUPS = {'Look': {'work': Lazy('reconciler.features.work.command', 'Work.')}}

def assemble():
    from reconciler.features import work
    from reconciler.run import STAGES, TABLES
    STAGES.fill(work.STAGE)
    TABLES.fill()
"""
    )
    assert "reconciler.features" not in without((ROOT / "reconciler" / "assembled.py").read_text(encoding="utf-8"), frozenset(FEATURES))
