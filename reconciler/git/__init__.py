"""The only module that starts git, so that no repository decides what runs.

A project's folder contains what others propose, so git could find a *bare repository* that somebody committed there and obey its
configuration, which names programs: of hooks, filters, monitors, transports, pagers. Three things prevent that.

- Commands run in the nearest folder with an entry named `.git`, which git never checks out, and discovery goes no higher.
  `safe.bareRepository` refuses what is left. The directory is never named with an option: git's own check of its owner, and the
  `safe.directory` of the user, stay in force.
- No command that needs no network may use any transport, not even for objects that a partial clone lacks. A fetch may use that of its
  URL and no other.
- Settings that name programs are overridden, since an earlier job may have written them into `.git/config`.

In: arguments, and the repository. Out: the output of git. Forbidden: a text of others in the place of an option.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from reconciler.errors import UsageError
from reconciler.programs import EndedCommand, program, run

SECONDS: Final = 120.0  # for one command
OUTPUT_MAX: Final = 64 * 2**20  # bytes of the output of one command
FETCH_MAX: Final = 512 * 2**20  # bytes of one fetch
BATCH: Final = 32 * 2**20  # bytes of files that one command reads, unless a single one is larger
HEADER: Final = 200  # bytes, at most, that git writes in front of a file
TRANSPORTS: Final = frozenset({"file", "git", "http", "https", "ssh"})

_PASSED: Final = (
    "HOME", "PATH", "USER", "LOGNAME", "SUDO_UID", "TMPDIR", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
)  # fmt: skip
_PASSED_ON_FETCH: Final = ("SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO")
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_COUNT, _KEY, _VALUE = "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"  # settings in the environment, also the user's
_SSH: Final = "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=20"

_ALWAYS: Final[Mapping[str, str]] = {
    # A bare repository that was committed as ordinary files has a configuration of its own; git must not discover it.
    "safe.bareRepository": "explicit",
    # Each of these can be a command, or leads to one: a monitor of the work tree, hooks, filters of attributes, a pager,
    # an editor, a program that lists the references of another repository.
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.alternateRefsCommand": "false",
    # Run on the side that gives objects away, which is this one when the URL is a folder.
    "uploadpack.packObjectsHook": "",
    # External diffs, and a look into submodules, whose own configuration would decide what runs there.
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    # Verifying a signature starts gpg, ssh-keygen or gpgsm.
    "log.showSignature": "false",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    # A submodule is another repository, at an URL that the commit names.
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    # Housekeeping in the background would go on after this command, and could run hooks of its own.
    "gc.auto": "0",
    "maintenance.auto": "false",
}
"""Settings that could name a program, or start one."""
_WITHOUT_NETWORK: Final[Mapping[str, str]] = {
    # Objects that a partial clone lacks would be fetched without being asked for.
    "protocol.allow": "never",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "core.askPass": "false",
    "credential.helper": "",
}
_NOTHING_OF_THE_USER: Final[Mapping[str, str]] = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_LIMITED: Final = 'ulimit -f "$1" && shift && exec "$@"'  # the command is arguments, never text of the script


class Blob(NamedTuple):
    """A file of a commit: its path, its mode and its object id."""

    path: str
    mode: str
    id: str


class MissingFile(Exception):
    """git has no content for an id; `index`: of the id."""

    def __init__(self, index: int) -> None:
        super().__init__(f"the content of file {index} is missing")
        self.index = index


@dataclass(frozen=True)
class GitRepository:
    """`folder`: has an entry named `.git`; or, if it is `own`, a bare repository that this program created."""

    folder: Path
    own: bool = False

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        url: str | None = None,
        fetch_max: int = FETCH_MAX,
        settings: Mapping[str, str] | None = None,
        most: int = OUTPUT_MAX,
        seconds: float = SECONDS,
    ) -> EndedCommand:
        """Run git to its end. `given`: its input. `url`: what it may fetch from, at most `fetch_max` bytes. `settings`: more settings.

        Raises `UsageError` if git is not installed.
        """
        environ = _environ(None if self.own else self.folder, url=url, nothing=self.own and url is None, settings=settings)
        limit = None if url is None else fetch_max
        command = _command(environ, *((f"--git-dir={self.folder}",) if self.own else ()), *arguments, fetch_max=limit)
        return run(
            command, environ=environ, folder=self.folder.parent if self.own else self.folder, seconds=seconds, most=most, given=given
        )

    def without_filters(self) -> Mapping[str, str]:
        """Settings without which `.gitattributes` could start the filters of this repository and of this user."""
        ended = self.run("config", "--name-only", "-z", "--get-regexp", r"^filter\.")
        keys = ended.out.split(b"\0") if ended.code == 0 else []
        return {os.fsdecode(key): "false" if key.endswith(b".required") else "" for key in keys if key}

    def sizes(self, ids: Sequence[str]) -> list[int]:
        """The sizes of files, by their ids. Raises `MissingFile`."""
        lines = self.run("cat-file", "--batch-check", given=_asked(ids)).out.splitlines() if ids else []
        sizes: list[int] = []
        for line in lines:
            fields = line.split()
            if len(fields) != 3 or fields[1] != b"blob":
                break
            sizes.append(int(fields[2]))
        if len(sizes) != len(ids):
            raise MissingFile(len(sizes))
        return sizes

    def contents(self, ids: Sequence[str], sizes: Sequence[int]) -> Iterator[bytes]:
        """The content of files of these sizes, by their ids, as they were committed. Raises `MissingFile`."""
        at = 0
        while at < len(ids):
            count = _fitting(sizes[at:])
            yield from self._batch(ids[at : at + count], sizes[at : at + count], at)
            at += count

    def _batch(self, ids: Sequence[str], sizes: Sequence[int], first: int) -> Iterator[bytes]:
        out = self.run("cat-file", "--batch", given=_asked(ids), most=sum(sizes) + HEADER * len(ids)).out
        at = 0
        for index, size in enumerate(sizes):
            begin = out.find(b"\n", at) + 1
            if not begin or len(out) < begin + size + 1:
                raise MissingFile(first + index)
            yield out[begin : begin + size]
            at = begin + size + 1


def around(folder: Path) -> GitRepository | None:
    """The repository that contains a folder: the nearest one with an entry named `.git`; None if there is none."""
    real = Path(os.path.realpath(folder))
    return next((GitRepository(parent) for parent in (real, *real.parents) if os.path.lexists(parent / ".git")), None)


def is_installed() -> bool:
    """Whether there is a git command."""
    return program("git", os.environ) is not None


def create(folder: Path) -> EndedCommand:
    """Create a bare repository of our own. Raises `UsageError` if git is not installed."""
    # Without a template: the one of the machine may contain hooks.
    environ = _environ(None, nothing=True)
    command = _command(environ, "init", "--quiet", "--bare", "--template=", str(folder))
    return run(command, environ=environ, folder=folder.parent, seconds=SECONDS, most=2**16)


def user_email() -> str:
    """The e-mail address in the configuration of this user and machine, which no repository can change; "" if there is none."""
    # From the root of the file system, where no repository can be: `user.email` of a checkout is written by whoever made it.
    root = Path(Path.cwd().anchor)
    try:
        environ = _environ(root)
        ended = run(_command(environ, "config", "--get", "user.email"), environ=environ, folder=root, seconds=10, most=2**16)
    except (OSError, UsageError):
        return ""
    return ended.out.decode("utf-8", "replace").strip() if ended.code == 0 and not ended.late else ""


def transport(url: str) -> str:
    """The name of the transport of a URL as git names it; "" if only a program of the URL's own choice could open it."""
    scheme, mark, _ = url.partition("://")
    if mark:
        name = {"git+ssh": "ssh", "ssh+git": "ssh"}.get(scheme.lower(), scheme.lower())
        return name if name in TRANSPORTS else ""
    if "::" in url.partition("/")[0]:
        return ""
    return "ssh" if ":" in url.partition("/")[0] else "file"


def _asked(ids: Iterable[str]) -> bytes:
    return "".join(f"{id}\n" for id in ids).encode("ascii")


def _fitting(sizes: Sequence[int]) -> int:
    """How many of the first files one command reads; at least one."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if count and total > BATCH:
            return count
    return len(sizes)


def _command(environ: Mapping[str, str], *arguments: str, fetch_max: int | None = None) -> list[str]:
    """The command line. `fetch_max`: bytes of the largest file that git may write if it may use the network."""
    command = program("git", environ)
    if command is None:
        hint = "Install git, or compare without --from and --to."
        raise UsageError("the git command is not installed", id="RC-git-not-installed", hint=hint)
    settings = {**_ALWAYS, **(_WITHOUT_NETWORK if fetch_max is None else {})}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    limit = [] if fetch_max is None else ["/bin/sh", "-c", _LIMITED, "sh", str(fetch_max // 512)]
    return [*limit, command, "--no-pager", "--no-optional-locks", "--literal-pathspecs", *options, *arguments]


def _environ(
    folder: Path | None, *, url: str | None = None, nothing: bool = False, settings: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of git. `folder`: above which it looks for no repository. `nothing`: the configuration of the user is not needed."""
    passed = (*_PASSED, *(_PASSED_ON_FETCH if url is not None else ()))
    known = {name: value for name, value in os.environ.items() if name in passed or (url is not None and name.lower() in _PROXIES)}
    known |= _numbered([*([] if nothing else _given_settings()), *(settings or {}).items()])
    known |= _NOTHING_OF_THE_USER if nothing else {}
    known |= {"GIT_CEILING_DIRECTORIES": str(folder.parent)} if folder is not None else {}
    # Everything else in the environment is dropped: GIT_DIR, GIT_EXTERNAL_DIFF, GIT_PROXY_COMMAND and others name folders and programs,
    # and a job of a pipeline may have been given them by what it checked out.
    return known | {
        "GIT_ALLOW_PROTOCOL": "" if url is None else transport(_rewritten(url, known)),
        "GIT_ASKPASS": "true",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_SSH_COMMAND": "false" if url is None else _SSH,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _given_settings() -> list[tuple[str, str]]:
    """The settings in the environment, as some pipelines set `safe.directory`."""
    count = os.environ.get(_COUNT, "")
    numbers = islice(range(int(count)), 1_000) if count.isascii() and count.isdecimal() else ()
    return [(os.environ[f"{_KEY}{n}"], os.environ.get(f"{_VALUE}{n}", "")) for n in numbers if f"{_KEY}{n}" in os.environ]


def _numbered(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Settings as variables, which unlike options may have `=` in their names."""
    numbered = {f"{word}{n}": text for n, pair in enumerate(settings) for word, text in zip((_KEY, _VALUE), pair, strict=True)}
    return {_COUNT: str(len(settings)), **numbered} if settings else {}


def _rewritten(url: str, environ: Mapping[str, str]) -> str:
    """The URL as `url.….insteadOf` of the operator's own configuration rewrites it. Asks no server, and no repository."""
    root = Path(Path.cwd().anchor)
    alone = {**environ, "GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_CEILING_DIRECTORIES": str(root)}
    ended = run(_command(alone, "ls-remote", "--get-url", "--", url), environ=alone, folder=root, seconds=SECONDS, most=2**16)
    return os.fsdecode(ended.out).rstrip("\n") if ended.code == 0 else url
