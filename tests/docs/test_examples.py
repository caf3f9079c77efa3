"""Each example is a project that works: its plan is the one that is checked in, and once applied nothing is left to do."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from reconciler.model import Declared
from tests import processes
from tests.proofs import costly, spread
from tests.sops import real

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
EXPECTED: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "expected.py"))
NAMES: list[str] = EXPECTED["NAMES"]


def run(folder: Path, command: str, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """As `docs/expected.py` runs it, without the time it takes to start."""
    environ = {word: value for word, value in os.environ.items() if not word.startswith(("RECONCILER_", "NO_COLOR", "FORCE_COLOR"))}
    bin = Path(sys.executable).parent
    keys = {"PATH": f"{bin}{os.pathsep}{environ.get('PATH', '')}", "SOPS_AGE_KEY_FILE": str(EXAMPLES / "secrets" / "age.key")}
    return processes.run(
        [sys.executable, "-m", "reconciler", command, *EXPECTED["words"](name), "--sandbox", f".reconciler/{name}.db", *options],
        cwd=folder, env={**environ, **keys, "HOME": str(folder), "COLUMNS": "100"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.fixture(params=NAMES)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A copy of an example, so that its state and its sandbox are its own."""
    if request.param == "secrets":
        real(tmp_path / "sops")  # skips where the commands are missing
    EXPECTED["copied"](request.param, tmp_path)
    name: str = request.param
    return name


def test_every_example_has_an_expected_plan() -> None:
    assert NAMES
    assert [name for name in NAMES if not EXPECTED["expected"](name).is_file()] == []


@costly
def test_the_first_plan_is_the_expected_one(example: str, tmp_path: Path) -> None:
    planned = run(tmp_path, "plan", example, "--color", "never")
    assert planned.returncode == 0, planned.stderr
    expected = EXPECTED["expected"](example).read_text(encoding="utf-8")
    if find_spec("cryptography") is None:
        assert fingerprints_alone(planned.stdout) == fingerprints_alone(expected), "if it is meant: python docs/expected.py"
    else:
        assert planned.stdout == expected, "if it is meant: python docs/expected.py"


def fingerprints_alone(text: str) -> str:
    """A plan as it is without the library that reads certificates: only their fingerprints are known."""
    return re.sub(r"(certificate) [^+~]*?(sha256 )", r"\1 \2", " ".join(text.split()))


@costly
@pytest.mark.parametrize("example", spread(NAMES, 3), indirect=True)
def test_after_an_apply_nothing_is_left_and_looking_sends_only_gets(example: str, tmp_path: Path) -> None:
    opens = {"integrations": "example/installation/*", "urls": "example/space/*", "handbook": "**"}.get(example)
    applied = run(tmp_path, "apply", example, "--yes", *(("--allow-exposure", opens) if opens is not None else ()))
    assert applied.returncode == 0, applied.stdout + applied.stderr
    again = run(tmp_path, "plan", example, "--detailed-exitcode", "-v")
    assert again.returncode == 0, again.stdout + again.stderr
    methods = re.findall(r"\b(GET|POST|PUT|PATCH|DELETE) /", again.stderr)
    assert "GET" in methods
    assert set(methods) == {"GET"}


def declared_in_examples() -> list[Declared]:
    """Every resource of every example."""
    from reconciler.config import load
    from reconciler.config.project import FileAccess
    from reconciler.kinds import load as kinds

    projects = [
        load(EXAMPLES / name, kinds(), environment=env or None, access=FileAccess(decrypt=False))
        for name, _, env in (example.partition("@") for example in NAMES)
    ]
    return [declared for project in projects for declared in project.desired.resources.values()]


def test_every_kind_is_in_an_example() -> None:
    from reconciler.kinds import load as kinds

    assert set(kinds()) - {declared.kind for declared in declared_in_examples()} == set()


def test_the_request_form_of_every_value_in_an_example_is_its_own_request_form() -> None:
    """What is compared has been through `WireForm.body` once, or twice: a plan would never be empty if that made a difference."""
    from reconciler.kinds import load as kinds
    from reconciler.model.codec import wanted

    for declared in declared_in_examples():
        kind = kinds()[declared.kind]
        for name, value in wanted(kind, declared, {}).items():
            assert kind.fields[name].body(value) == value, f"{declared.address}: {name}"
