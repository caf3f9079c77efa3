"""The installed wheel is typed: the examples in Python pass the strictest check against it, and run with it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.sources import ROOT

EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the wheel, and the libraries of this one."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder / "dist"), str(ROOT))
    run(sys.executable, "-m", "venv", "--without-pip", str(folder / "environment"))
    python = folder / "environment" / "bin" / "python"
    (wheel,) = (folder / "dist").glob("*.whl")
    run(sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", str(wheel))
    (site,) = (folder / "environment" / "lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    where = run(str(python), "-c", "import reconciler; print(reconciler.__file__)", cwd=folder)
    assert Path(where).is_relative_to(folder)
    return python


def run(*words: str, cwd: Path | None = None) -> str:
    ended = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_examples_pass_mypy_strict_against_the_wheel(python: Path, tmp_path: Path) -> None:
    words = ("--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"))
    assert "no issues found in 3 source files" in run(str(python), "-m", "mypy", *words, *map(str, EXAMPLES), cwd=tmp_path)


def test_a_wrong_argument_is_found_by_mypy(python: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import reconciler\nreconciler.open(".", sandbox=3)\nreconciler.open(".").plan().change\n', encoding="utf-8")
    words = (str(python), "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"), str(wrong))
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=280).stdout
    assert "wrong.py:2: error" in said
    assert 'wrong.py:3: error: "PlanResult" has no attribute "change"' in said


def test_the_notebook_runs_with_the_wheel(python: Path, tmp_path: Path) -> None:
    assert run(str(python), str(ROOT / "examples" / "python" / "notebook.py"), cwd=tmp_path).startswith("80 changes")
