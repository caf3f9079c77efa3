"""No repository decides what runs on the machine of somebody who looks at a pull request, whatever its settings name."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

import pytest

from reconciler import git as ours, programs
from reconciler.errors import ReconcilerError, UsageError
from reconciler.fleet.model import Repository
from reconciler.fleet.sources import git as sources, tree
from reconciler.git.branches import BranchCommit, write_branch
from reconciler.git.working import WorkingRepository
from tests.command_line import Cli
from tests.hostile.repositories import MISSING, SETTINGS, Checkout, HostileSetting, git, planted, poisoned
from tests.proofs import costly
from tests.sources import PACKAGE, dotted, last, nodes, package

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
FILES = {"reconciler.yaml": "version: 1\nproject: docs\norganizations: {acme: {id: org_acme, teams: {writers: {title: Writers}}}}\n"}
BY_NAME = {setting.name: setting for setting in SETTINGS}


def everything(project: Path) -> list[str]:
    """Every call of git that a command makes about a project; what failed."""
    failures = []
    with refusals(failures):
        repository = WorkingRepository.around(project)
        commit = repository.commit("HEAD")
        repository.shared(commit, commit)
        repository.differs(commit, ["reconciler.yaml"])
        repository.before_renames(commit, None, "reconciler.yaml")
        repository.before_renames(commit, commit, "missing.yaml")
        with repository.files(commit):
            pass
        new = BranchCommit("reconciler/drift-docs", {"reconciler.yaml": "version: 1\n"}, "title", lambda message: False)
        write_branch(repository.repository, commit, new)
        with refusals(failures):
            repository.commit(MISSING)
        with refusals(failures):
            repository.commit("HEAD~7")
    ours.user_email()
    return failures


@contextlib.contextmanager
def refusals(failures: list[str]) -> Iterator[None]:
    try:
        yield
    except ReconcilerError as error:
        failures.append(error.id)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server that wants a password."""

    class WantsPassword(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), WantsPassword) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@costly
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
@pytest.mark.parametrize("plant", [planted, poisoned])
def test_a_setting_that_starts_a_program_of_plain_git_starts_none_of_ours(
    plant: Callable[..., Checkout], setting: HostileSetting, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = plant(tmp_path, replace(setting, config=setting.config.replace("{port}", str(port))), FILES)
    git(checkout.project, *setting.words, check=False, terminal=setting.terminal)
    assert checkout.has_run(), "plain git does not start it, so this shows nothing"
    monkeypatch.chdir(checkout.project)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    assert everything(checkout.project) == ["RC-unknown-commit", "RC-unknown-commit"]
    assert not checkout.has_run()


@costly
@pytest.mark.parametrize("name", ["a monitor of the file system", "the transport ext", "a filter"])
@pytest.mark.parametrize(
    "words", [("diff",), ("diff", "--from", "HEAD", "--to", "HEAD"), ("plan", "--out", "plan.json"), ("pipeline", "auto"), ("pipeline", "plan")]
)  # fmt: skip
def test_a_command_starts_nothing_that_a_pull_request_names(name: str, words: tuple[str, ...], tmp_path: Path) -> None:
    checkout = planted(tmp_path, BY_NAME[name], FILES)
    git(checkout.project, *BY_NAME[name].words, check=False)
    assert checkout.has_run()
    cli = Cli(checkout.project, home=tmp_path / "home")
    at = 1 if words[0] != "pipeline" else 2
    for variables in ({}, {"GIT_DIR": None, "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request"}):
        cli(*words[:at], ".", *words[at:], env=variables)
    assert not checkout.has_run()


def test_a_bare_repository_beside_a_git_folder_that_is_broken_is_not_used(tmp_path: Path) -> None:
    setting = BY_NAME["a monitor of the file system"]
    checkout = planted(tmp_path, setting, FILES)
    for inner in (checkout.project / ".git", checkout.project / "deep" / "er" / ".git"):
        inner.mkdir(parents=True)
        git(inner.parent, *setting.words, check=False)
        assert checkout.has_run()
        assert everything(inner.parent) == ["RC-not-a-repository"]
        assert not checkout.has_run()


def test_a_bare_repository_without_any_checkout_is_not_used(tmp_path: Path) -> None:
    setting = BY_NAME["a monitor of the file system"]
    checkout = planted(tmp_path, setting, FILES)
    shutil.rmtree(checkout.top / ".git")
    git(checkout.project, *setting.words, check=False)
    assert checkout.has_run()
    assert everything(checkout.project) == ["RC-not-a-repository"]
    assert not checkout.has_run()


def test_git_is_never_a_program_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = planted(tmp_path, SETTINGS[0], FILES)
    monkeypatch.chdir(checkout.top)
    for folder in (checkout.top, checkout.project):
        shutil.copy(checkout.project / "x.sh", folder / "git")
    for path in (".", "", "docs", f"docs{os.pathsep}."):
        with_ours = f"{path}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(["git", "--version"], env={**os.environ, "PATH": with_ours}, cwd=checkout.top, check=False)
        assert checkout.has_run(), path
        with monkeypatch.context() as patch:
            patch.setenv("PATH", with_ours)
            assert everything(checkout.project) == ["RC-unknown-commit", "RC-unknown-commit"]
        assert not checkout.has_run()


@pytest.mark.parametrize("path", [".", "", "docs", "./docs", "docs:.", "../checkout"])
def test_no_program_is_one_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    checkout = planted(tmp_path, SETTINGS[0], FILES)
    shutil.copy(checkout.project / "x.sh", checkout.top / "x.sh")
    monkeypatch.chdir(checkout.top)
    assert shutil.which("x.sh", path=path) is not None or path == ""
    assert programs.program("x.sh", {"PATH": path}) is None
    ended = programs.run(
        ["/usr/bin/env", "x.sh"], environ={"PATH": f"{path}{os.pathsep}/usr/bin"}, folder=checkout.top, seconds=10, most=1_000
    )
    assert ended.code == 127
    assert not checkout.has_run()


def test_the_operator_is_never_whom_a_repository_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = HostileSetting("a name", "[user]\n email = boss@acme.example\n", ("config", "user.email"))
    for place, plant in ((tmp_path / "a", planted), (tmp_path / "b", poisoned)):
        place.mkdir()
        checkout = plant(place, setting, FILES)
        assert git(checkout.project, *setting.words) == "boss@acme.example"
        monkeypatch.chdir(checkout.project)
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        assert ours.user_email() == ""
        own = place / "own"
        own.write_text("[user]\n email = ada@acme.example\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
        assert ours.user_email() == "ada@acme.example"


def test_the_configuration_of_a_submodule_starts_nothing(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, marker = tmp_path / "x.sh", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    program.chmod(0o755)
    outer = tmp_path / "outer"
    (outer / "docs").mkdir(parents=True)
    (outer / "docs/reconciler.yaml").write_text(FILES["reconciler.yaml"])
    git(outer, "init", "-q", "-b", "main")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(clone), "docs/sub")
    git(outer, "add", "-A")
    git(outer, "commit", "-q", "-m", "one")
    git(outer / "docs/sub", "config", "core.fsmonitor", str(program))
    git(outer, "config", "--file", ".gitmodules", "submodule.docs/sub.ignore", "none")  # outweighs diff.ignoreSubmodules
    git(outer, "diff", "HEAD", "--", check=False)
    assert marker.exists()
    marker.unlink()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    assert everything(outer / "docs") == ["RC-unknown-commit", "RC-unknown-commit"]
    assert not marker.exists()


# -- what must keep working --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the project in `docs`, and three commits."""
    folder = tmp_path / "clone"
    (folder / "docs").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for number in range(3):
        (folder / "docs/reconciler.yaml").write_text(FILES["reconciler.yaml"] + f"# {number}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", str(number))
    return folder


def same(project: Path, inside: str) -> None:
    repository = WorkingRepository.around(project)
    commit = repository.commit("HEAD")
    assert repository.inside == PurePosixPath(inside)
    assert not repository.differs(commit, ["reconciler.yaml"])
    with repository.files(commit) as files:
        assert (files / "reconciler.yaml").read_bytes() == (project / "reconciler.yaml").read_bytes()
    (project / "reconciler.yaml").write_text("version: 1\n")
    assert repository.differs(commit, ["reconciler.yaml"])
    assert repository.differs(commit, ["new.yaml"])


def test_a_checkout_is_read(clone: Path) -> None:
    same(clone / "docs", "docs")


def test_a_linked_worktree_is_read(clone: Path, tmp_path: Path) -> None:
    git(clone, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    assert (tmp_path / "tree/.git").is_file()
    same(tmp_path / "tree/docs", "docs")


def test_a_submodule_is_read(clone: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(clone), "sub")
    assert (outer / "sub/.git").is_file()
    same(outer / "sub/docs", "docs")


@pytest.fixture
def outer(clone: Path, tmp_path: Path) -> Path:
    """A repository whose folder `docs` is a project that includes a file of a submodule in it."""
    folder = tmp_path / "outer"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/reconciler.yaml").write_text(FILES["reconciler.yaml"])
    git(folder, "init", "-q", "-b", "main")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(clone), "docs/shared")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def test_the_files_of_a_submodule_are_those_of_the_commit_that_is_recorded(outer: Path) -> None:
    repository, names = WorkingRepository.around(outer / "docs"), ["reconciler.yaml", "shared/docs/reconciler.yaml"]
    commit, file = repository.commit("HEAD"), outer / "docs/shared/docs/reconciler.yaml"
    committed = file.read_bytes()
    assert not repository.differs(commit, names)
    assert repository.differs(commit, [*names, "shared/docs/new.yaml"])
    file.write_text("version: 1\n")
    assert repository.differs(commit, names)
    git(outer / "docs/shared", "commit", "-qam", "two")
    assert repository.differs(commit, names), "the commit that is recorded is another one"
    with repository.files(commit) as files:
        assert (files / "shared/docs/reconciler.yaml").read_bytes() == committed


def test_a_submodule_behind_a_link_is_not_read(outer: Path, clone: Path) -> None:
    secret = subprocess.run(["git", "-C", str(clone), "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    git(outer, "update-index", "--add", "--cacheinfo", f"160000,{secret},docs/link/{clone.name}")
    git(outer, "commit", "-q", "-m", "two")
    (outer / "docs/link").symlink_to(clone.parent)
    repository = WorkingRepository.around(outer / "docs")
    with repository.files(repository.commit("HEAD")) as files:
        assert sorted(path.name for path in files.iterdir()) == ["reconciler.yaml", "shared"]


def test_a_shallow_clone_is_read_and_its_missing_commits_are_said(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{clone}", "shallow")
    with pytest.raises(UsageError) as error:
        WorkingRepository.around(tmp_path / "shallow/docs").commit("HEAD~1")
    assert "--unshallow" in (error.value.hint or "")
    same(tmp_path / "shallow/docs", "docs")


def test_a_partial_clone_is_read_without_fetching_and_what_it_lacks_is_said(clone: Path, tmp_path: Path) -> None:
    git(clone, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{clone}", "partial")
    repository = WorkingRepository.around(tmp_path / "partial/docs")
    with (
        pytest.raises(ReconcilerError, match="git has no content of") as error,
        repository.files(repository.commit("HEAD~1")),
    ):
        pass
    assert error.value.id == "RC-git-content-missing"
    same(tmp_path / "partial/docs", "docs")


@costly
@pytest.mark.parametrize("name", ["a:b", "a b", "*", ":(top)x", "[a]", "ä\u0308", "-rf", "a\nb", "$(id)"])
def test_a_folder_with_an_unusual_name_is_read(clone: Path, tmp_path: Path, name: str) -> None:
    git(clone, "mv", "docs", f"./{name}")
    git(clone, "commit", "-q", "-m", "renamed")
    same(clone.rename(tmp_path / name) / name, name)


def test_a_link_to_a_checkout_is_read(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(clone / "docs")
    same(tmp_path / "link", "docs")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_checkout_of_somebody_else_is_refused_unless_the_user_says_that_it_is_safe(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (clone, clone / ".git"):
        os.chown(path, 12345, 12345)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.delenv("SUDO_UID", raising=False)
    with pytest.raises(UsageError) as error:
        WorkingRepository.around(clone / "docs")
    assert "dubious ownership" in (error.value.hint or "")
    for name, value in (("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "safe.directory"), ("GIT_CONFIG_VALUE_0", str(clone))):
        monkeypatch.setenv(name, value)
    same(clone / "docs", "docs")


def test_settings_of_a_hook_that_runs_us_are_not_taken(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("GIT_DIR", tmp_path / "nowhere"), ("GIT_INDEX_FILE", tmp_path / "index"), ("GIT_WORK_TREE", tmp_path)):
        monkeypatch.setenv(name, str(value))
    same(clone / "docs", "docs")


# -- the fleet ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://host/x", "https"), ("HTTPS://host/x", "https"), ("http://host/x", "http"), ("ssh://host/x", "ssh"), ("git+ssh://host/x", "ssh"),
        ("git@host:x/y.git", "ssh"), ("/srv/x.git", "file"), ("file:///srv/x.git", "file"), ("./a:b", "file"), ("git://host/x", "git"),
        ("ext::sh x.sh", ""), ("ext::sh://x", ""), ("fd::17", ""), ("foo://host/x", ""), ("a::b:c", ""), ("", "file"),
    ],
)  # fmt: skip
def test_a_fetch_may_use_the_transport_of_its_url_only(url: str, name: str) -> None:
    assert ours.transport(url) == name


@pytest.mark.parametrize(
    "rule", ['[url "ext::sh {program} "]\n insteadOf = /\n', '[protocol]\n allow = always\n[url "ext::sh {program} "]\n insteadOf = /\n']
)
def test_a_fetch_starts_no_program_that_a_url_names(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    program, marker = tmp_path / "x.sh", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    program.chmod(0o755)
    settings = tmp_path / "settings"
    settings.write_text(rule.replace("{program}", str(program)) + '[protocol "ext"]\n allow = always\n')
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "ls-remote", str(clone)], env={**clean, "GIT_CONFIG_GLOBAL": str(settings)}, capture_output=True, check=False)
    assert marker.exists()
    marker.unlink()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    with pytest.raises(sources.SourceError):
        sources.fetched(tmp_path / "cache", Repository(str(clone), "main", "docs"))
    assert not marker.exists()


def test_the_operator_may_rewrite_a_url_to_another_transport(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings").write_text(f'[url "file://{clone}"]\n insteadOf = https://git.invalid/docs.git\n')
    source = Repository("https://git.invalid/docs.git", "main", "docs")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    assert sources.fetched(tmp_path / "cache", source).id == git(clone, "rev-parse", "main").strip()


def test_a_fetch_takes_the_host_keys_of_ssh_that_are_known_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tmp_path / "said"
    (tmp_path / "ssh").write_text(f'#!/bin/sh\necho "$@" >> {said}\nexit 1\n')
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -o StrictHostKeyChecking=no")
    with pytest.raises(sources.SourceError):
        sources.fetched(tmp_path / "cache", Repository("ssh://git@git.example.com/x.git", "main", "docs"))
    assert all("StrictHostKeyChecking=yes" in call and "StrictHostKeyChecking=no" not in call for call in said.read_text().splitlines())


@costly
def test_a_fetch_of_a_hostile_commit_writes_its_files_and_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for number, setting in enumerate(SETTINGS):
        place = tmp_path / str(number)
        place.mkdir()
        checkout = planted(place, setting, FILES)
        source = Repository(str(checkout.top), "main", "docs")
        commit = sources.fetched(place / "cache", source)
        (place / "files").mkdir()
        assert (tree.write(commit, source, place / "files") / "config").is_file()
        assert sources.authors(place / "cache", source, commit, None) == ("a@acme.example",)
        assert not checkout.has_run(), setting.name


def test_our_own_copies_take_no_configuration_of_the_user_except_to_fetch(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "settings"
    own.write_text("[user]\n email = ada@acme.example\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    commit = sources.fetched(tmp_path / "cache", Repository(str(clone), "main", "docs"))
    repository = ours.GitRepository(commit.folder, own=True)
    assert repository.run("config", "--get", "user.email").out == b""
    assert repository.run("config", "--get", "user.email", url=str(clone)).out == b"ada@acme.example\n"
    assert ours.GitRepository(clone).run("config", "--get", "user.email").out == b"ada@acme.example\n"


# -- that there is no other way ----------------------------------------------------------------------------------------------------------

STARTERS = {
    "programs.py": "runs git and sops, without a shell, in a session of their own, within limits",
    "fleet/runs/forks.py": "starts the worker's own program, which forks a process for each run of a project",
    "features/testing/command.py": "forks itself to run several tests of a project at once",
}
STARTING = re.compile(
    r"(os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|fork\w*))|(asyncio\.create_subprocess_\w+)|(pty\.\w+)|(subprocess\.\w+)"
)


KEYS = {"git", "meant", "Key"}  # what declares or reads the key `git` of a fleet file, which is a URL


def starts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What in a module starts a program, or imports what does."""
    for node in nodes:
        if isinstance(node, ast.Call) and STARTING.fullmatch(dotted(node.func)):
            yield dotted(node.func)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in ("subprocess", "pty", "multiprocessing"))
        elif isinstance(node, ast.ImportFrom) and node.module in ("subprocess", "pty", "os", "multiprocessing"):
            yield from (alias.name for alias in node.names if node.module != "os" or STARTING.fullmatch(f"os.{alias.name}"))


def names_git(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Words of a module that are the command git: alone, or first in a line for a shell."""
    for node in nodes:
        called = last(node.func) if isinstance(node, ast.Call) else ""
        for word in [*node.args] if isinstance(node, ast.Call) and called not in KEYS else node.elts if isinstance(node, ast.List) else []:
            if isinstance(word, ast.Constant) and isinstance(word.value, str) and re.match(r"(\S*/)?git( |$)|.*\bexec git\b", word.value):
                yield word.value


def modules() -> dict[str, tuple[ast.AST, ...]]:
    """The nodes of each module of the package."""
    return {path.relative_to(PACKAGE).as_posix(): nodes(path) for path in package()}


@costly
def test_only_three_modules_start_programs_or_processes() -> None:
    assert {name for name, nodes in modules().items() if list(starts(nodes))} == set(STARTERS)


def test_only_one_module_starts_git() -> None:
    assert {name for name, nodes in modules().items() if any(word == "git" for word in names_git(nodes))} == {"git/__init__.py"}
    runners = {
        name for name, nodes in modules().items()
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "reconciler.programs" and any(alias.name == "run" for alias in node.names)
    }  # fmt: skip
    assert runners == {"git/__init__.py", "config/secrets/secrets.py"}


@pytest.mark.parametrize(
    "text",
    ["import subprocess", "from subprocess import run", "os.system('x')", "os.execvp('x', [])", "from os import system", "import pty"],
)
def test_what_starts_a_program_is_recognized(text: str) -> None:
    assert list(starts(ast.walk(ast.parse(text))))


@pytest.mark.parametrize(
    "text", ["run(['git', 'x'])", "which('git')", "exec('/usr/bin/git')", "shell('git status')", "['sh', '-c', 'exec git x']"]
)
def test_the_command_git_is_recognized(text: str) -> None:
    assert list(names_git(ast.walk(ast.parse(text))))
