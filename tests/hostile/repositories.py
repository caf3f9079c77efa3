"""Repositories made to hurt: settings that name a program, and the plain git command that starts it.

Each is planted twice: as a bare repository that a pull request commits into the folder of a project, and in the `.git/config` of a
checkout. The plain command must start the program, or the test proves nothing.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MISSING = "1" * 40
PROJECT = "docs"
PROGRAM = "x.sh"
SIGNED = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n"


@dataclass(frozen=True)
class HostileSetting:
    """`config`: with {program}, {folder} and {port}, of a server that wants a password. `words`: the plain command. `hooks`: names of hooks
    that are the program. `terminal`: the plain command starts it at a terminal only."""

    name: str
    config: str
    words: tuple[str, ...]
    hooks: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    terminal: bool = False


def _promisor(name: str, remote: str) -> HostileSetting:
    config = f'[extensions]\n partialClone = origin\n[remote "origin"]\n promisor = true\n{remote}'
    return HostileSetting(name, config, ("rev-parse", "--verify", "--quiet", f"{MISSING}^{{commit}}"))


DRIVEN = {".gitattributes": "* filter=x diff=x\n"}
COMPARE = ("diff", "HEAD", "--")
SETTINGS = (
    HostileSetting("a monitor of the file system", "[core]\n fsmonitor = {program}\n", COMPARE),
    HostileSetting("a filter", '[filter "x"]\n clean = {program}\n', COMPARE, files=DRIVEN),
    HostileSetting("a filter that is required", '[filter "x"]\n clean = {program}\n required = true\n', COMPARE, files=DRIVEN),
    HostileSetting("a filter with = in its name", '[filter "x=y"]\n clean = {program}\n', COMPARE, files={".gitattributes": "* filter=x=y\n"}),
    HostileSetting("a filter process", '[filter "x"]\n process = {program}\n', COMPARE, files=DRIVEN),
    HostileSetting("a text conversion", '[diff "x"]\n textconv = {program}\n', COMPARE, files=DRIVEN),
    HostileSetting("a diff driver", '[diff "x"]\n command = {program}\n', COMPARE, files=DRIVEN),
    HostileSetting("an external diff", "[diff]\n external = {program}\n", COMPARE),
    HostileSetting("hooks", "[core]\n hooksPath = {folder}/hooks-x\n", ("status",), ("post-index-change",)),
    HostileSetting("an alias", "[alias]\n rev-parsed = !{program}\n", ("rev-parsed",)),
    HostileSetting("signatures in the log", "[log]\n showSignature = true\n[gpg]\n program = {program}\n", ("log", "-1")),
    _promisor("the transport ext", ' url = "ext::sh {program}"\n[protocol "ext"]\n allow = always\n'),
    _promisor("an ssh command", " url = ssh://host/x\n[core]\n sshCommand = {program}\n"),
    _promisor("the upload-pack of a folder", " url = {folder}\n uploadpack = {program}\n"),
    _promisor("the upload-pack of a URL", ' url = "file://{folder}"\n uploadpack = {program}\n[protocol]\n allow = always\n'),
    HostileSetting("a pager", "[core]\n pager = {program}\n", ("log", "-1"), terminal=True),
    HostileSetting("a pager of a command", "[pager]\n ls-tree = {program}\n", ("ls-tree", "HEAD"), terminal=True),
    _promisor("a credential helper", ' url = http://127.0.0.1:{port}/x\n[credential]\n helper = "!{program}"\n'),
    _promisor("a helper that asks for passwords", " url = http://127.0.0.1:{port}/x\n[core]\n askPass = {program}\n"),
    _promisor("a helper for a URL", ' url = http://127.0.0.1:{port}/x\n[credential "http://127.0.0.1:{port}"]\n helper = "!{program}"\n'),
    _promisor("a proxy", " url = git://127.0.0.1/x\n[core]\n gitProxy = {program}\n"),
)  # fmt: skip


def git(folder: Path, *words: str, check: bool = True, terminal: bool = False) -> str:
    """Plain git, as somebody would type it, with an empty configuration of the user. `terminal`: its output is one."""
    names = {f"GIT_{who}_{what}": "a@acme.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ = {**clean, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    if terminal:
        ours, its = pty.openpty()
        subprocess.run(["git", *words], cwd=folder, env={**environ, "TERM": "xterm"}, stdout=its, stderr=its, check=check, timeout=60)
        os.close(its)
        os.close(ours)
        return ""
    return subprocess.run(["git", *words], cwd=folder, env=environ, capture_output=True, text=True, check=check, timeout=60).stdout.strip()


@dataclass(frozen=True)
class Checkout:
    """`top`: of the checkout; `marker`: exists once the hostile program has run."""

    top: Path
    marker: Path

    @property
    def project(self) -> Path:
        return self.top / PROJECT

    def has_run(self) -> bool:
        """Whether the program has run since the last time this was asked."""
        ran = self.marker.exists()
        self.marker.unlink(missing_ok=True)
        return ran


def planted(folder: Path, setting: HostileSetting, files: Mapping[str, str]) -> Checkout:
    """A clone of a repository into whose project a bare repository with the setting was committed. `files`: of the project."""
    origin, checkout = folder / "origin", Checkout(folder / "checkout", folder / "ran")
    project = origin / PROJECT
    _written(project, {**files, **setting.files}, checkout.marker)
    _committed(project)
    inner = folder / "inner.git"
    (project / ".git").rename(inner)
    for name in ("HEAD", "index", "objects", "refs"):
        (shutil.copytree if (inner / name).is_dir() else shutil.copyfile)(inner / name, project / name)
    final = checkout.project
    (project / "config").write_text(f"[core]\n repositoryformatversion = 1\n bare = false\n worktree = {final}\n{_config(setting, final)}")
    _hooks(project, setting)
    _committed(origin)
    git(folder, "clone", "-q", str(origin), str(checkout.top))
    _edit(final, files)
    return checkout


def poisoned(folder: Path, setting: HostileSetting, files: Mapping[str, str]) -> Checkout:
    """A checkout whose own configuration has the setting, as an earlier job on this machine may have left it."""
    checkout = Checkout(folder / "checkout", folder / "ran")
    _written(checkout.project, {**files, **setting.files}, checkout.marker)
    _committed(checkout.top)
    _hooks(checkout.project, setting)
    with (checkout.top / ".git/config").open("a") as config:
        config.write(f"[core]\n repositoryformatversion = 1\n{_config(setting, checkout.project)}")
    _edit(checkout.project, files)
    return checkout


def _config(setting: HostileSetting, project: Path) -> str:
    return setting.config.replace("{program}", str(project / PROGRAM)).replace("{folder}", str(project))


def _hooks(project: Path, setting: HostileSetting) -> None:
    for name in setting.hooks:
        (project / "hooks-x").mkdir(exist_ok=True)
        shutil.copy(project / PROGRAM, project / "hooks-x" / name)


def _written(project: Path, files: Mapping[str, str], marker: Path) -> None:
    for name, text in {**files, PROGRAM: f"#!/bin/sh\ntouch {marker}\nexit 1\n"}.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    (project / PROGRAM).chmod(0o755)


def _committed(folder: Path) -> None:
    """A commit of everything with something that looks like a signature."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "one")
    head, _, message = (git(folder, "cat-file", "commit", "HEAD") + "\n").partition("\n\n")
    signed = folder / ".git" / "signed"
    signed.write_text(f"{head}\n{SIGNED}\n{message}")
    git(folder, "update-ref", "HEAD", git(folder, "hash-object", "-t", "commit", "-w", str(signed)))


def _edit(project: Path, files: Mapping[str, str]) -> None:
    """Change a file, so that git has to look into it."""
    name = next(iter(files))
    (project / name).write_text(files[name] + "# changed\n", encoding="utf-8")
