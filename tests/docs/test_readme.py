"""The README's commands are the ones CI runs, and what it links to is there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


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
    assert ".ci/readme" in text
    assert "pip install" not in text
    assert "-m pytest" not in text


def test_ci_ends_with_the_tests_of_the_readme_and_what_was_checked_beside_them() -> None:
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("exec .ci/check")
    script = (ROOT / ".ci" / "check").read_text(encoding="utf-8")
    assert script.index('eval "${test% && *}"') < script.index('eval "${test##* && }"')
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


def blocks(section: str) -> list[tuple[str, str]]:
    """The blocks of code of a section of the README, in order: language and content."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = re.search(rf"^## {re.escape(section)}$(.*?)^## ", text, flags=re.DOTALL | re.MULTILINE)
    assert part is not None
    return re.findall(r"^```(\w+)\n(.*?)^```$", part[1], flags=re.DOTALL | re.MULTILINE)


def shell(script: str, folder: Path) -> str:
    """Run lines of shell as a reader would: beside nothing but this environment, with what goes wrong in between noticed by its output."""
    path = os.pathsep.join([str(processes.program()), str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("RECONCILER_", "NO_COLOR", "FORCE_COLOR"))}
    environ |= {"PATH": path, "HOME": str(folder), "COLUMNS": "100"}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environ, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_the_tutorial_of_the_readme_produces_the_output_that_it_shows(tmp_path: Path) -> None:
    folder, said = tmp_path, ""
    for language, content in blocks("Tutorial"):
        match language:
            case "sh":
                said = shell(content, folder)
                entered = re.search(r"^cd (\w+)$", content, flags=re.MULTILINE)
                folder = folder / entered[1] if entered else folder
            case "diff":
                old, new = ("".join(f"{line[1:]}\n" for line in content.splitlines() if line[0] == sign) for sign in "-+")
                file = folder / "reconciler.yaml"
                before = file.read_text(encoding="utf-8")
                assert before.count(old) == 1
                file.write_text(before.replace(old, new), encoding="utf-8")
            case "text":
                missing = [line for line in content.splitlines() if line not in said.splitlines()]
                assert missing == [], said
            case _:
                pytest.fail(f"a block of {language} that nothing checks")
