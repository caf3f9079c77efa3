"""The extension for VS Code is built and packaged with the real vsce, and starts nothing in a workspace that is not trusted."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@needs_node
def test_nothing_is_started_without_trust_and_the_configured_command_with_it() -> None:
    done = subprocess.run(["node", EXTENSION / "test" / "trust.js"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_the_manifest_asks_for_trust_and_activates_on_projects_only() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    assert manifest["capabilities"]["untrustedWorkspaces"]["supported"] is False
    assert manifest["activationEvents"] == ["workspaceContains:**/reconciler.yaml"]


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)


@needs_node
@pytest.mark.timeout(600)
def test_vsce_packages_it_with_what_it_needs(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = Path(shutil.copytree(EXTENSION, tmp_path / "vscode", ignore=shutil.ignore_patterns("node_modules")))
    installed = run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", folder=folder)
    if installed.returncode:
        pytest.skip(f"npm cannot install vsce here: {installed.stderr.strip().splitlines()[-1:]}")
    packaged = run("npm", "run", "package", folder=folder)
    assert packaged.returncode == 0, packaged.stdout + packaged.stderr
    (vsix,) = folder.glob("*.vsix")
    with zipfile.ZipFile(vsix) as archive:
        names = archive.namelist()
    assert "extension/extension.js" in names
    assert any(name.startswith("extension/node_modules/vscode-languageclient/") for name in names)
    assert not any("/test/trust.js" in name or "/vsce/" in name for name in names)


@pytest.mark.skipif(shutil.which("code") is None, reason="VS Code is not installed, so there is no extension host")
def test_the_extension_host_shows_the_problems_of_a_project(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXTENSION, tmp_path / "vscode"))
    assert run("npm", "install", "--ignore-scripts", "--omit=dev", "--no-package-lock", folder=folder).returncode == 0
    project = tmp_path / "project"
    project.mkdir()
    (project / "reconciler.yaml").write_text("version: 1\nproject: mine\norganisations: {}\n", encoding="utf-8")
    tests = folder / "test" / "host.js"
    done = run(
        "code", str(project), "--disable-workspace-trust", f"--user-data-dir={tmp_path / 'user'}", f"--extensionDevelopmentPath={folder}",
        f"--extensionTestsPath={tests}", folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
