"""What is published: the name, the metadata, the same bytes every time, the release workflow, the changelog."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from reconciler import __version__
from reconciler.cli.commands.schema import write_all
from reconciler.features.mcp.owners import Owners

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NOTES = runpy.run_path(str(ROOT / ".ci" / "release"))["notes"]
NAME = PROJECT["name"]
FOREIGN = "reconciler"
"""The name of somebody else's distribution: installing it installs something else."""

COMMAND = r"(?:\b(?:pip3?|pipx|uv|uv tool|uv pip) (?:install|run|add|inject)(?: -[\w-]+)*|\buvx(?: --[\w-]+)*)"
REQUIREMENT = rf"{FOREIGN}(?:\[[\w,]+\])?\s*[=~<>]="
INSTALLS = re.compile(rf"{COMMAND} [\"']?{FOREIGN}(?![\w/.-])|^\s*[\"']?{REQUIREMENT}", re.MULTILINE)


@pytest.mark.parametrize(
    "line",
    [
        "pip install {}",
        "uvx {}",
        "pipx run {} plan",
        'pip install -q "{}[postgres]"',
        "uvx --from {} x",
        "uv tool install {}",
        "{}[postgres]==0.1",
    ],
)
def test_a_line_that_installs_the_package_of_somebody_else_is_recognized(line: str) -> None:
    assert INSTALLS.search(line.format(FOREIGN))
    assert not INSTALLS.search(line.format(NAME))


def test_nothing_in_the_repository_installs_the_package_of_somebody_else() -> None:
    files = [path for pattern in ("*.md", "*.toml", "*.yml", "*.yaml", "Dockerfile", ".ci/*") for path in ROOT.glob(pattern)]
    files += [path for folder in ("docs", "examples", "reconciler", "schemas", ".github", "tests") for path in (ROOT / folder).rglob("*.*")]
    kinds = ("", ".md", ".py", ".toml", ".yml", ".yaml", ".html")
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in files if path.suffix in kinds and path.is_file()}
    assert len(texts) > 500
    found = [f"{path.relative_to(ROOT)}: {match[0]}" for path, text in texts.items() for match in INSTALLS.finditer(text)]
    assert found == [], f'"{FOREIGN}" is somebody else\'s distribution; write {NAME}, or uvx --from {NAME} {FOREIGN}'


def test_the_oldest_python_is_required_and_the_classifiers_name_those_that_a_release_tries() -> None:
    """No upper bound: pip would refuse a Python that is newer than a release, and nobody could try it."""
    named = {name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)}
    (workflow,) = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS if path.stem == "release"]
    assert named == set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"])
    assert PROJECT["requires-python"] == f">={min(named, key=lambda version: int(version.partition('.')[2]))}"


def test_the_newest_section_of_the_changelog_is_about_this_version() -> None:
    assert re.findall(r"^## (\S+)", CHANGELOG, re.MULTILINE)[0] == __version__


DATED = "# Changelog\n\n## 1.2.0 (2026-11-23)\n\n- New.\n\n## 1.1.0 (2026-10-01)\n\n- Old.\n"


def test_the_notes_of_a_release_are_the_newest_section() -> None:
    assert NOTES("v1.2.0", DATED, "1.2.0") == "- New."


@pytest.mark.parametrize(
    ("tag", "changelog", "version", "message"),
    [
        ("v1.2.1", DATED, "1.2.0", "the tag is v1.2.1"),
        ("1.2.0", DATED, "1.2.0", "use the tag v1.2.0"),
        ("v1.3.0", DATED, "1.3.0", "the newest section of CHANGELOG.md is 1.2.0"),
        ("v1.2.0", DATED.replace("2026-11-23", "not released yet"), "1.2.0", "replace what is in parentheses by the date"),
        ("v1.2.0", DATED.replace("- New.\n", ""), "1.2.0", "does not say what changed"),
    ],
)
def test_a_version_that_cannot_be_released_is_refused(tag: str, changelog: str, version: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        NOTES(tag, changelog, version)


def test_the_actions_of_the_workflows_are_pinned() -> None:
    for path in WORKFLOWS:
        actions = re.findall(r"uses: (\S+) #", path.read_text(encoding="utf-8"))
        assert len(actions) == len(re.findall(r"uses: ", path.read_text(encoding="utf-8")))
        assert [action for action in actions if not re.search(r"@[0-9a-f]{40}$", action)] == []


def test_zizmor_finds_nothing_in_the_workflows_and_the_action() -> None:
    program = shutil.which("zizmor") or shutil.which("zizmor", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("zizmor is not installed: install the extra dev")
    command = [program, "--offline", "--no-progress", "--quiet", ROOT / ".github", ROOT / "action.yml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_builds_a_release_is_pinned_by_hash_and_is_the_extra() -> None:
    text = (ROOT / ".ci" / "requirements.txt").read_text(encoding="utf-8")
    names = set(re.findall(r"^([\w-]+)==\S+.*\\$", text, re.MULTILINE))
    assert {re.split(r"[<>=]", requirement)[0] for requirement in PROJECT["optional-dependencies"]["release"]} | {"hatchling"} <= names
    assert len(names) == len(re.findall(r"^[\w-]+", text, re.MULTILINE))
    assert text.count("--hash=sha256:") >= len(names)
    (release,) = (path.read_text(encoding="utf-8") for path in WORKFLOWS if path.stem == "release")
    assert [line for line in [line for line in release.splitlines() if "pip install" in line] if "--no-deps" not in line] == []


def test_whoever_finds_a_vulnerability_reads_where_to_report_it_and_the_files_that_run_where_secrets_are_have_owners() -> None:
    assert "Report a vulnerability" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    owned = re.findall(r"^/(\S+)", (ROOT / ".github" / "CODEOWNERS").read_text(encoding="utf-8"), re.MULTILINE)
    assert {".github/", "action.yml", "templates/", ".ci/"} <= set(owned)
    assert [path for path in owned if not list(ROOT.glob(path.rstrip("/")))] == []
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert {update["package-ecosystem"] for update in updates} == {"github-actions", "pip", "docker", "npm"}


CODE: Final = ("reconciler/", "tests/", "docs/", "schemas/", "benchmarks/")
"""Folders of code and texts, which every change touches; of them, what decides what is installed or run is owned."""
DECIDES: Final = re.compile(
    r"(^|/)(requirements[^/]*\.txt|package(-lock)?\.json|[^/]*\.lock|pyproject\.toml|setup\.(py|cfg)|Dockerfile[^/]*|compose[^/]*\.ya?ml|conda\S*\.ya?ml|tox\.ini"
    r"|\.npmrc|\.pypirc|pip\.conf|Makefile|\.pre-commit\S*|\.gitmodules|\.gitattributes)$|\.(sh|service|env)$"
)


def test_every_file_that_decides_what_is_installed_or_run_has_owners() -> None:
    tracked = subprocess.run(["git", "ls-files", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    files = {line.partition("\t")[2]: line.startswith("100755") for line in tracked}
    owners = Owners.of(ROOT)
    deciding = {name for name, runs in files.items() if runs or DECIDES.search(name) or not name.startswith((*CODE, "examples/"))}
    texts = {name for name in deciding if "/" not in name and name.endswith((".md", "LICENSE"))}
    examples = {name for name in deciding if name.startswith("examples/")}
    assert sorted(name for name in deciding - texts - examples if not owners.of_file(name)) == []
    assert {"Dockerfile", "pyproject.toml", "reconciler/requirements-sandbox.txt", "editors/vscode/package-lock.json"} <= deciding


def names_and_hashes(file: str) -> dict[str, str]:
    """The pinned packages of a lock file, each with its version."""
    text = (ROOT / file).read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)==([^\s;]+).*\\\n +--hash=sha256:[0-9a-f]{64}", text, re.MULTILINE))
    assert len(pinned) == len(re.findall(r"^[\w.-]+", text, re.MULTILINE)), "every package has its hash"
    return pinned


def test_images_install_what_is_pinned_by_hash_and_the_lock_files_agree() -> None:
    locks = {path.name: names_and_hashes(f"reconciler/{path.name}") for path in sorted((ROOT / "reconciler").glob("requirements*.txt"))}
    pinned: dict[str, str] = {}
    for lock in locks.values():
        assert [name for name in lock if pinned.get(name, lock[name]) != lock[name]] == []
        pinned |= lock
    texts = "".join((ROOT / "reconciler" / name).read_text(encoding="utf-8") for name in locks)
    everywhere = set(re.findall(r"^([\w.-]+)==[^;\n]*$", texts, re.MULTILINE))  # without a condition such as sys_platform == "win32"
    extras = [
        requirement
        for extra in ("sandbox", "postgres", "bucket", "otel", "fleet")
        for requirement in (*PROJECT["optional-dependencies"][extra], *PROJECT["dependencies"])
    ]
    wanted = {re.split(r"[\[<>=;~! ]", requirement)[0].lower() for requirement in extras}
    assert wanted - everywhere == set()
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    installs = [line for line in dockerfile.replace("&&", "\n").splitlines() if "pip install" in line and "--no-index" not in line]
    assert installs
    assert [line for line in installs if "--require-hashes" not in line or "PIP_NO_DEPS=1" not in dockerfile] == []
    named = set(re.findall(r"--requirement (\S+)", dockerfile))
    assert named == {"requirements-build.txt", *locks}
    assert names_and_hashes(".ci/requirements-build.txt").keys() >= {"hatchling"}


def test_the_extension_for_vs_code_is_built_from_its_lock_file() -> None:
    lock = json.loads((ROOT / "editors" / "vscode" / "package-lock.json").read_text(encoding="utf-8"))
    package = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
    root = lock["packages"][""]
    assert (root["dependencies"], root["devDependencies"]) == (package["dependencies"], package["devDependencies"])
    assert [name for name, entry in lock["packages"].items() if name and not entry.get("integrity", "").startswith("sha512-")] == []
    ignored = subprocess.run(["git", "check-ignore", "--quiet", "editors/vscode/package-lock.json"], cwd=ROOT, check=False)
    assert ignored.returncode == 1
    assert "npm ci\n" in (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")


def built(folder: Path, *, seconds: int, repository: str = "") -> Path:
    """A copy of this repository, as old as `seconds` says, and its distributions. An odd number also has another umask and time zone."""
    if find_spec("build") is None:
        pytest.skip("build is not installed: install the extra release")
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", ".reconciler", "dist", "*.egg-info")
    shutil.copytree(ROOT, folder, ignore=ignored)
    for path in folder.rglob("*"):
        os.utime(path, (seconds, seconds))
        path.chmod(path.stat().st_mode | (0o020 if seconds % 2 else 0))
    environ = {
        **os.environ,
        "SOURCE_DATE_EPOCH": "1700000000",
        "REPOSITORY_URL": repository,
        "TZ": ("UTC", "Pacific/Auckland")[seconds % 2],
    }
    words, umask = [sys.executable, "-m", "build", "."], (0o022, 0o077)[seconds % 2]
    done = subprocess.run(words, cwd=folder, env=environ, umask=umask, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


@pytest.mark.proof
def test_two_builds_of_the_same_files_are_equal_to_the_byte_and_the_wheel_runs(tmp_path: Path) -> None:
    first, second = (
        built(tmp_path / name, seconds=seconds) for name, seconds in (("one", 1_600_000_000), ("deep/er/and another", 1_700_000_001))
    )
    names = sorted(path.name for path in first.iterdir())
    assert names == [f"docs_reconciler-{__version__}-py3-none-any.whl", f"docs_reconciler-{__version__}.tar.gz"]
    assert [name for name in names if (first / name).read_bytes() != (second / name).read_bytes()] == []
    with zipfile.ZipFile(first / names[0]) as wheel:
        folders = [ROOT / "reconciler" / "fleet" / "pages" / folder for folder in ("static", "templates")]
        assert {path.relative_to(ROOT).as_posix() for folder in folders for path in folder.iterdir()} <= set(wheel.namelist())
        write_all(tmp_path)
        schemas = {f"reconciler/schemas/{path.name}": path.read_bytes() for path in tmp_path.glob("*.json")}
        assert {name: wheel.read(name) for name in wheel.namelist() if name.startswith("reconciler/schemas/")} == schemas
    python = tmp_path / "environment" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True, timeout=120)
    subprocess.run([python, "-m", "pip", "install", "-q", f"{first / names[0]}[sandbox]"], check=True, capture_output=True, timeout=240)
    program = python.with_name("reconciler")
    for words in (["init", "docs", "--sandbox"], ["apply", "docs", "--yes"]):
        done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    assert "The plan is now empty." in done.stdout


@pytest.mark.proof
def test_a_release_names_its_repository_and_the_links_of_the_readme_lead_there(tmp_path: Path) -> None:
    metadata = described(built(tmp_path / "copy", seconds=1_600_000_000, repository="https://code.example.com/docs/reconciler"))
    files = f"https://code.example.com/docs/reconciler/blob/v{__version__}"
    assert f"Changelog, {files}/CHANGELOG.md" in (metadata.get_all("Project-URL") or [])
    text = str(metadata.get_payload())
    assert f"[Drift and reports]({files}/docs/drift.md)" in text
    assert f"![A plan in a terminal](https://code.example.com/docs/reconciler/raw/v{__version__}/docs/plan.svg)" in text
    assert [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith(("https://", "#"))] == []


def described(dist: Path) -> Message:
    """The metadata of a wheel."""
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))
