"""The action, the component and the files of docs/pipelines.md: valid for the published schemas, pinned, and without holes.

The installation of the action for real: from the registry that pip uses, from a cache, and from a spoiled cache.

The lock file of the action and the component: everything that is required is pinned, by version and by hash.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reconciler import __version__
from reconciler.text.install import DISTRIBUTION, PUBLISHED
from tests.features.forges.pipelines.conftest import TRAPS
from tests.features.forges.pipelines.gitlab import COMPONENT, documents, jobs_of
from tests.features.forges.pipelines.pages import BLOCKS, COMMIT, OURS, files, workflow
from tests.features.forges.pipelines.python import LOCKED, ROOT, SANDBOX

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
TEXT = (ROOT / "action.yml").read_text(encoding="utf-8")
WHOLE = dict(reversed(BLOCKS))


def scripts() -> list[tuple[str, str]]:
    """Every script, by its name."""
    found = [(step["name"], step["run"]) for step in ACTION["runs"]["steps"] if "run" in step]
    for name, job in jobs_of(files(".gitlab-ci.yml")[0]).items():
        found.append((name, "\n".join([*job["before_script"], *job["script"]])))
    return found


@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="check-jsonschema is not installed: install the extra dev")
def test_every_file_is_valid_for_the_schema_that_its_service_publishes(tmp_path: Path) -> None:
    checks: dict[str, list[Path]] = {"vendor.github-actions": [ROOT / "action.yml"], "vendor.github-workflows": [], "vendor.gitlab-ci": []}
    checks["vendor.github-workflows"] += sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    whole = [(name, text, yaml.safe_load(text)) for name, text in BLOCKS]
    texts = [(name, text) for name, text, data in whole if not isinstance(data, list) and "known" not in data]  # not a baseline
    for number, (name, text) in enumerate(
        [*texts, *((".gitlab-ci.yml", text) for text in COMPONENT.read_text(encoding="utf-8").split("\n---\n"))]
    ):
        file = tmp_path / f"{number}.yml"
        file.write_text(text, encoding="utf-8")
        checks["vendor.gitlab-ci" if name == ".gitlab-ci.yml" else "vendor.github-workflows"].append(file)
    assert {schema: len(found) for schema, found in checks.items()} == {
        "vendor.github-actions": 1, "vendor.github-workflows": 4, "vendor.gitlab-ci": 4,
    }  # fmt: skip
    script = "import sys\nfrom check_jsonschema import main\nmain(sys.argv[1:])"
    running = [
        subprocess.Popen([sys.executable, "-c", script, "--builtin-schema", schema, *map(str, found)], stdout=subprocess.PIPE, text=True)
        for schema, found in checks.items()
    ]
    assert [(process.communicate(timeout=120)[0], process.returncode) for process in running] == [("ok -- validation done\n", 0)] * 3


def test_the_file_of_a_user_has_at_most_twenty_lines() -> None:
    lines = {
        name: [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")] for name, text in WHOLE.items()
    }
    assert len(lines[".github/workflows/documentation.yml"]) <= 20
    assert len(lines[".gitlab-ci.yml"]) <= 20


def test_every_action_of_others_is_pinned_by_its_commit_and_says_which_version_that_is() -> None:
    used = [line.partition("uses: ")[2] for text in (TEXT, *(text for _, text in BLOCKS)) for line in text.splitlines() if "uses: " in line]
    assert len(used) > 6
    assert [use for use in used if use != OURS and not re.fullmatch(rf"{COMMIT.pattern} # v\d+\.\d+\.\d+", use)] == []
    versions: dict[str, set[str]] = {}
    for use in used:
        versions.setdefault(use.partition("@")[0], set()).add(use)
    assert [uses for uses in versions.values() if len(uses) > 1] == []


def test_no_input_becomes_part_of_a_script() -> None:
    assert len(scripts()) == 8
    assert [name for name, script in scripts() if "${{" in script] == []
    _, body = documents()
    for job in yaml.safe_load(body).values():
        assert "$[[" not in "\n".join([*job.get("before_script", []), *job.get("script", [])])


@pytest.mark.parametrize(("name", "script"), scripts(), ids=[name for name, _ in scripts()])
def test_every_script_stops_at_its_first_error_and_is_one_of_its_shell(name: str, script: str) -> None:
    shell = "sh" if name.startswith("reconciler-") else "bash"
    assert script.startswith("set -eu\n" if shell == "sh" else "set -euo pipefail\n")
    done = subprocess.run([shell, "-n", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_token_is_never_in_the_environment_of_a_whole_job_or_workflow() -> None:
    for name in ("documentation", "environments"):
        found = workflow(name)
        assert [part for part in (found, *found["jobs"].values()) if "secrets." in str(part.get("env", ""))] == []
        assert "pull_request_target" not in str(found)


def test_the_page_lists_every_input_and_output() -> None:
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"`([\w-]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE))))
    inputs, _ = documents()
    assert {*ACTION["inputs"], *ACTION["outputs"], *inputs} - rows == set()
    assert set(ACTION["inputs"]) - {"github-token", "keep-plan"} <= set(inputs)
    assert {name: ACTION["inputs"][name]["default"] for name in ("command", "project", "environment", "arguments")} == {
        name: inputs[name]["default"] for name in ("command", "project", "environment", "arguments")
    }


def test_no_artifact_can_be_read_by_everybody() -> None:
    (kept,) = (step for step in ACTION["runs"]["steps"] if "upload-artifact" in step.get("uses", ""))
    assert "inputs.keep-plan == 'true'" in kept["if"]
    jobs = jobs_of(files(".gitlab-ci.yml")[0])
    assert {name: job["artifacts"]["access"] for name, job in jobs.items()} == dict.fromkeys(jobs, "developer")


def test_nothing_that_is_not_published_is_installed_by_its_name() -> None:
    """Whoever registers the name on PyPI would run their code where the tokens are."""
    assert not PUBLISHED, "a page, the component and this test may name the published version with its hash now"
    inputs, _ = documents()
    assert "default" not in inputs["package"]
    tracked = subprocess.run(["git", "ls-files", "*.md", "*.yml", "*.yaml", "*.py", "Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    pages = [ROOT / name for name in tracked.stdout.split() if not name.startswith(("tests/", "docs/decisions/"))]
    install = re.compile(rf"(?:pip|pipx|uvx|uv tool) .*{DISTRIBUTION}(?!==VERSION --hash)")
    wrong = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in pages
        for line in page.read_text(encoding="utf-8").splitlines()
        if install.search(line)
    ]
    assert [line for line in wrong if "whoever registers it first" not in line] == []


BASE = getattr(sys, "_base_executable", sys.executable)
"""The Python that this environment was made with: it has pip, as that of actions/setup-python has."""


def install(root: Path) -> str:
    """Run the step on a new machine whose cache is in `root`; the version that it installed."""
    (script,) = [
        step["run"]
        for step in yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
        if step["name"] == "Install Reconciler"
    ]
    shutil.rmtree(root / "temp" / "reconciler", ignore_errors=True)
    environ = {
        **os.environ, "PYTHON": BASE, "RUNNER_TEMP": str(root / "temp"), "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_PATH": str(root / "path"), "PYTHONPATH": "",
    }  # fmt: skip
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=root / "workspace", env=environ, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = (root / "path").read_text(encoding="utf-8").split()[-1]
    shown = subprocess.run([f"{folder}/reconciler", "--version"], cwd=root / "workspace", capture_output=True, text=True, timeout=60)
    return shown.stdout.strip()


@pytest.mark.proof
@pytest.mark.timeout(900)
def test_the_action_installs_what_is_locked_and_nothing_that_a_cache_or_a_repository_brings(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    for name, text in TRAPS.items():
        path = tmp_path / "workspace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert install(tmp_path) == f"reconciler {__version__}"
    packages = {file.name: file.read_bytes() for file in (tmp_path / "temp" / "reconciler-packages").iterdir()}
    assert len(packages) > 30
    assert install(tmp_path) == f"reconciler {__version__}"

    (spoiled,) = (tmp_path / "temp" / "reconciler-packages").glob("click-*.whl")
    with spoiled.open("ab") as file:
        file.write(b"more")
    assert install(tmp_path) == f"reconciler {__version__}"
    assert {file.name: file.read_bytes() for file in (tmp_path / "temp" / "reconciler-packages").iterdir()} == packages


EXTRAS: Final = ("bucket", "postgres")


def pins(*files: Path) -> dict[str, tuple[Requirement, int]]:
    """The requirements of lock files by their names, with the number of their hashes."""
    text = re.sub(r"^#.*\n", "", "".join(file.read_text(encoding="utf-8") for file in files or (LOCKED, SANDBOX)), flags=re.MULTILINE)
    found = [(Requirement(entry.partition(" \\")[0]), entry.count("--hash=sha256:")) for entry in re.split(r"\n(?=\S)", text.strip())]
    assert len({requirement.name for requirement, _ in found}) == len(found)
    return {canonicalize_name(requirement.name): (requirement, hashes) for requirement, hashes in found}


def test_every_package_is_pinned_by_one_version_and_by_hashes() -> None:
    for requirement, hashes in pins().values():
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), requirement
        assert hashes > 0, requirement


@pytest.mark.parametrize(("files", "extras"), [((LOCKED,), EXTRAS), ((LOCKED, SANDBOX), (*EXTRAS, "sandbox"))])
def test_the_lock_satisfies_what_is_required_and_what_that_requires(files: tuple[Path, ...], extras: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = pins(*files)
    waiting = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    seen: set[str] = set()
    while waiting:
        requirement = Requirement(waiting.pop())
        name, required = canonicalize_name(requirement.name), sorted(requirement.extras)
        pinned = str(known[name][0].specifier).removeprefix("==")
        assert requirement.specifier.contains(pinned), f"{requirement} is not satisfied by {pinned}"
        if name not in seen or required:
            seen.add(name)
            waiting += [text for text in _required(name, pinned) if _applies(text, required)]
    assert len(seen) > 25


def _required(name: str, pinned: str) -> list[str]:
    """What a package requires, as far as that version of it is installed here."""
    try:
        return (requires(name) or []) if version(name) == pinned else []
    except PackageNotFoundError:
        return []


def _applies(text: str, extras: list[str]) -> bool:
    marker = Requirement(text).marker
    return marker is None or any(marker.evaluate({**default_environment(), "extra": extra}) for extra in ("", *extras))
