"""The README's commands are the ones CI runs, and what it links to is there."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.docs.walkthrough import follow
from tests.proofs import costly

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "reconciler").rglob("README.md")])


def command(name: str) -> str:
    """The README's command of that name, as CI reads it."""
    return subprocess.run([ROOT / ".ci" / "readme", name], check=True, capture_output=True, text=True).stdout.rstrip("\n")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings answer to, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", ["try", "test"])
def test_a_command_of_the_readme_is_one_line_that_can_be_copied(name: str) -> None:
    line = command(name)
    assert "\n" not in line
    assert line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert shlex.split(line)[0] == "python3"


@pytest.mark.parametrize("script", ["run", "check"])
def test_ci_takes_its_commands_from_the_readme(script: str) -> None:
    text = (ROOT / ".ci" / script).read_text(encoding="utf-8")
    assert ".ci/readme try" in text if script == "check" else "export RECONCILER_CI_TRY=1" in text
    assert "pip install" not in text
    assert "-m pytest" not in text


def test_ci_ends_with_the_tests_of_the_readme_and_what_was_checked_beside_them() -> None:
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("exec .ci/check")
    script = (ROOT / ".ci" / "check").read_text(encoding="utf-8")
    assert script.index('eval "${test% && *}"') < script.index('eval "${test##* && } --push"')
    assert command("test").rpartition(" && ")[2].startswith(".venv/bin/python -m pytest")
    assert script.rstrip().endswith('exit "$failed"')


@pytest.mark.parametrize("name", ["try", "test"])
def test_the_extras_that_the_readme_installs_exist(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", command(name))
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_the_paths_that_the_readme_names_exist() -> None:
    paths = re.findall(r"\bexamples/\w+", command("try"))
    assert paths
    assert all((ROOT / path / "reconciler.yaml").is_file() for path in paths)


@costly
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (fragment and fragment not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_the_readme_has_fewer_than_200_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200


@costly
def test_the_tutorial_of_the_readme_produces_the_output_that_it_shows(tmp_path: Path) -> None:
    tutorial = re.search(r"^## Tutorial$(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert tutorial is not None
    follow(tutorial[1], tmp_path)


@costly
def test_the_tutorial_from_nothing_to_production_produces_the_output_that_it_shows(tmp_path: Path) -> None:
    follow((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"), tmp_path)
