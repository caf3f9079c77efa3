"""Nothing that lies in the current folder is ours: no module, program or setting of it is run or believed by the way we start.

`test_every_command.py` tries each command of the program; here are the ways in which interpreters start.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from reconciler import interpreters
from tests.hostile.folders import MODULE, MODULES, HostileFolder
from tests.proofs import costly
from tests.sources import PACKAGE, ROOT, dotted, nodes, package

PROGRAM: Final = Path(sys.executable).with_name("reconciler")
RELATIVE: Final = "import os; os.environ['PYTHONPATH'] = ':.'\n"  # set after the start, which would run what is in the folder
WORKER: Final = """
import asyncio, sys
from pathlib import Path
from reconciler.fleet.runs import folders
from reconciler.fleet.runs.gate import VARIABLE
from reconciler.fleet.runs.process import execute, fork_server

async def run():
    data = Path(sys.argv[1])
    server, private = fork_server(data), folders.create("run-", data)
    try:
        secrets = {VARIABLE: str(data / "gate"), "TOKEN": "secret"}
        return await execute(["read", "--help"], server=server, folder=private, secrets=secrets, seconds=60)
    finally:
        await server.close()

if __name__ == "__main__":
    print(asyncio.run(run()))
"""
POOL: Final = """
from reconciler.features.testing.command import children
if __name__ == "__main__":
    with children(1, "spawn") as pool:
        print(sorted(pool.map(abs, [-1, -2])))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileFolder]:
    root = tmp_path_factory.mktemp("hostile")
    (root / "top").mkdir()
    planted = HostileFolder.plant(root / "top", root / "ran")
    yield planted
    assert not planted.ran


def run(folder: HostileFolder, *words: str | Path, env: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    """A process that starts in the folder, as somebody with relative folders in their PATH would start it."""
    home = folder.top.parent / "home"
    environ = {**os.environ, "HOME": str(home), "PATH": f".{os.pathsep}{os.environ['PATH']}", **env}
    return subprocess.run([*map(str, words)], cwd=folder.top, env=environ, capture_output=True, text=True, timeout=120, check=False)


def started(folder: HostileFolder, elsewhere: Path, program: str, *words: Path) -> subprocess.CompletedProcess[str]:
    """A program whose file is elsewhere, as that of the command `reconciler` is."""
    file = elsewhere / "program.py"
    file.write_text(RELATIVE + program, encoding="utf-8")
    return run(folder, sys.executable, file, *words)


# -- that the folder is hostile -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("-c", "import json"), {}), (("-m", "json.tool"), {}), (("-c", "import multiprocessing"), {}),
        (("-P", "-c", "import json"), {"PYTHONPATH": f"{os.pathsep}/nowhere"}), (("-m", "reconciler"), {}),
    ],
)  # fmt: skip
def test_plain_python_runs_what_is_in_the_folder(folder: HostileFolder, words: tuple[str, ...], env: Mapping[str, str]) -> None:
    run(folder, sys.executable, *words, env=env)
    assert folder.ran


def test_a_program_of_the_folder_is_run_by_a_relative_path_and_a_file_that_is_read_is_seen(folder: HostileFolder) -> None:
    run(folder, "/bin/sh", "-c", "git --version")
    assert folder.ran == ["git"]
    with folder.observed() as read:
        run(folder, shutil.which("cat") or "cat", ".env")
    assert read == {".env"}


# -- that we are not ----------------------------------------------------------------------------------------------------------------------


@costly
def test_the_process_that_has_the_tokens_of_a_fleet_imports_nothing_from_the_folder_where_its_worker_starts(
    folder: HostileFolder, tmp_path: Path
) -> None:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    data = folder.top / ".reconciler" / "fleet"  # the home of that process, so that modules of its user are there
    done = started(folder, tmp_path, WORKER, data)
    assert (folder.ran, done.returncode) == ([], 0), done.stderr
    assert done.stdout.startswith("(0, "), done.stdout


@costly
def test_a_fleet_runs_with_packages_that_one_user_has_installed(tmp_path: Path) -> None:
    """`pip install --user`: what has the tokens is started with another home directory, and finds them all the same."""
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    home, python = tmp_path / "home", sysconfig.get_path("stdlib").rpartition("/")[2]
    (home / ".local/lib" / python).mkdir(parents=True)
    (home / ".local/lib" / python / "site-packages").symlink_to(sysconfig.get_path("purelib"))
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "program.py").write_text(WORKER)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
    words = [os.path.realpath(sys.executable), str(tmp_path / "program.py"), str(tmp_path / "data")]
    done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.startswith("(0, "), done.stderr


@costly
def test_processes_of_tests_that_are_not_forked_import_nothing_from_the_folder(folder: HostileFolder, tmp_path: Path) -> None:
    done = started(folder, tmp_path, POOL)
    assert (folder.ran, done.stdout) == ([], "[1, 2]\n"), done.stderr


def test_the_command_imports_nothing_from_the_folder(folder: HostileFolder) -> None:
    done = run(folder, PROGRAM, "--version")
    assert (folder.ran, done.returncode) == ([], 0)


@costly
def test_python_m_imports_nothing_from_the_folder_once_the_program_runs(folder: HostileFolder, tmp_path: Path) -> None:
    """What Python itself imports before it, and the package, it would take from there: docs/security.md says so."""
    before = run(folder, sys.executable, "-P", "-c", "import runpy, sys; print(*sys.modules)").stdout.split()
    mild = HostileFolder(tmp_path, folder.marker)
    for name in MODULES.difference(before):
        mild.write(f"{name}.py", MODULE, name=name)
    done = run(mild, sys.executable, "-m", "reconciler", "validate")
    assert (folder.ran, done.returncode) == ([], 3), done.stderr
    assert run(folder, sys.executable, "-P", "-m", "reconciler", "validate").returncode == 3
    assert folder.ran == []


@costly
def test_the_commands_that_messages_print_import_nothing_from_the_folder(folder: HostileFolder) -> None:
    from reconciler.text.install import installing

    run(folder, "/bin/sh", "-c", f"PATH={os.environ['PATH']}; {installing('--help')}")
    assert folder.ran == []


# -- that there is no other way -----------------------------------------------------------------------------------------------------------


@costly
def test_one_module_knows_the_interpreter() -> None:
    knows = {
        path.relative_to(PACKAGE).as_posix()
        for path in package()
        for node in nodes(path)
        if (isinstance(node, ast.Attribute) and node.attr in ("executable", "_base_executable", "orig_argv", "set_executable"))
        or (isinstance(node, ast.ImportFrom) and node.module == "sys" and any("exec" in alias.name for alias in node.names))
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"(\S*/)?python[\d.]*", node.value))
    }
    assert knows == {"interpreters.py", "text/install.py"}, "an interpreter is started by reconciler.interpreters only"
    assert interpreters.interpreter("-m", "x")[1:3] == ["-P", "-s"]


def test_processes_of_multiprocessing_start_where_they_are_safe() -> None:
    """Whatever makes processes of multiprocessing is inside `safe_children`."""
    makers = {"ProcessPoolExecutor", "Process", "Manager"}
    for path in package():
        safe = {
            id(inner)
            for node in nodes(path)
            if isinstance(node, ast.With)
            for item in node.items
            if isinstance(item.context_expr, ast.Call) and dotted(item.context_expr.func) == "safe_children"
            for inner in ast.walk(node)
        }
        calls = [node for node in nodes(path) if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in makers]
        assert all(id(call) in safe for call in calls), path


PLAIN: Final = re.compile(r"\bpython3?(?:\"?,?\s+\"?)-(?:m|c)\b")


@pytest.mark.parametrize(
    "name", ["action.yml", "templates", "deploy", "compose.yaml", "Dockerfile", "editors/vscode/extension.js", ".pre-commit-hooks.yaml"]
)
def test_files_that_start_us_beside_a_checkout_start_no_plain_python(name: str) -> None:
    path = ROOT / name
    for file in [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]:
        lines = [
            line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith(("RUN ", " && "))
        ]  # in our own source
        assert [line for line in lines if PLAIN.search(line)] == [], file


def test_what_is_plain_is_recognized() -> None:
    assert all(PLAIN.search(text) for text in ("python -m x", "python3 -c x", '["python", "-c", "x"]'))
    assert not any(PLAIN.search(text) for text in ("python -I -m x", '["python", "-I", "-c"]', "python3 -P -m x"))
