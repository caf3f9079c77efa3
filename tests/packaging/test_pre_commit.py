"""The hooks in `.pre-commit-hooks.yaml`, run by the real pre-commit on a clone of this repository as the how-to configures them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from tests import processes

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / ".pre-commit-hooks.yaml"
PAGE = (ROOT / "docs" / "how-to" / "check-before-commit.md").read_text(encoding="utf-8")
FIRST, ENVIRONMENTS = re.findall(r"^```yaml\n# \.pre-commit-config\.yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PROJECT = """\
version: 1
project: handbook

organizations:
  acme:
    id: org_acme
    content:
      - {space: blank, id: spc_blank, title: "Blank"}
"""
FORMATTED = PROJECT.replace('"Blank"', "Blank")


def pre_commit() -> list[str]:
    """The command that starts pre-commit."""
    if find_spec("pre_commit") is not None:
        return [sys.executable, "-m", "pre_commit"]
    if program := shutil.which("pre-commit"):
        return [program]
    pytest.skip("pre-commit is not installed: install the extra dev")


def environ(home: Path) -> dict[str, str]:
    """An environment in which nothing belongs to the person who runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RECONCILER_", "GIT_", "PRE_COMMIT", "PYTHONPATH"))}
    path = os.pathsep.join([str(processes.program()), os.environ["PATH"]])
    author = {f"GIT_{who}_{what}": "ada@acme.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {**kept, **author, "PATH": path, "HOME": str(home), "PRE_COMMIT_HOME": str(home / "cache"), "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=environ(folder.parent), capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def committed(folder: Path) -> str:
    """Make a folder a repository; the commit of everything in it."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Everything")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What pre-commit clones: this repository, as far as it is needed to install it."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in (HOOKS.name, "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "reconciler", folder / "reconciler", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def repository(tmp_path: Path, clone: Path, page: str, files: dict[str, str], *, system: bool) -> Path:
    """A repository with a project, and the configuration of the page with the clone in it."""
    config = yaml.safe_load(page)
    for entry in config["repos"]:
        entry |= {"repo": str(clone), "rev": committed(clone)}
        for hook in entry["hooks"]:
            hook |= {"language": "system"} if system else {}
    folder = tmp_path / "repository"
    for name, text in {**files, ".pre-commit-config.yaml": yaml.safe_dump(config)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    committed(folder)
    return folder


def hooks(folder: Path) -> tuple[int, str]:
    """Run every hook on every file: the exit code, and the output."""
    done = subprocess.run(
        [*pre_commit(), "run", "--all-files", "--color", "never"],
        cwd=folder, env=environ(folder.parent), capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "system", [True, pytest.param(False, marks=pytest.mark.proof)], ids=["the installed program", "installed from PyPI"]
)
def test_the_hooks_format_the_files_and_report_the_problems_of_a_project(system: bool, tmp_path: Path, clone: Path) -> None:
    pre_commit()
    folder = repository(tmp_path, clone, FIRST, {"reconciler.yaml": PROJECT}, system=system)
    code, output = hooks(folder)
    assert (code, (folder / "reconciler.yaml").read_text(encoding="utf-8")) == (1, FORMATTED), output
    assert re.search(r"^reconciler fmt\.+Failed\n", output, re.MULTILINE)
    assert re.search(r"^reconciler validate\.+Passed\n", output, re.MULTILINE)
    code, output = hooks(folder)
    assert code == 0, output
    (folder / "reconciler.yaml").write_text(FORMATTED.replace("title:", "titel:"), encoding="utf-8")
    code, output = hooks(folder)
    assert code == 1
    assert re.search(r"^reconciler validate\.+Failed\n", output, re.MULTILINE)
    assert re.search(r'^reconciler\.yaml:8:\d+  acme/space/blank: unknown field "titel"', output, re.MULTILINE)


def test_a_hook_takes_the_project_and_the_environment_as_arguments(tmp_path: Path, clone: Path) -> None:
    pre_commit()
    files = {
        "docs/reconciler.yaml": FORMATTED,
        "docs/environments/staging.yaml": "patch: []\n",
        "docs/environments/production.yaml": "x: 1\n",
    }
    code, output = hooks(repository(tmp_path, clone, ENVIRONMENTS, files, system=True))
    assert code == 1
    assert re.search(r"^validate staging\.+Passed$", output, re.MULTILINE)
    assert re.search(r"^validate production\.+Failed$", output, re.MULTILINE)
    assert "environments/production.yaml:1:1" in output


def test_the_lint_hook_fails_for_what_is_probably_a_mistake(tmp_path: Path, clone: Path) -> None:
    pre_commit()
    page = FIRST.replace("reconciler-validate", "reconciler-lint")
    unused = FORMATTED.replace("organizations:", "vars:\n  brand: {default: Acme}\n\norganizations:")
    code, output = hooks(repository(tmp_path, clone, page, {"reconciler.yaml": unused}, system=True))
    assert code == 1, output
    assert re.search(r"^reconciler lint\.+Failed$", output, re.MULTILINE)
    assert re.search(r"^reconciler\.yaml:5:\d+ .*brand", output, re.MULTILINE), output


def test_the_page_names_every_hook() -> None:
    names = [hook["id"] for hook in yaml.safe_load(HOOKS.read_text(encoding="utf-8"))]
    assert re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE) == names
