"""A fetch that fails, or is killed, breaks nothing: neither the same project nor others of its repository.

The private folders of runs: what a killed worker left is removed, and never what is somebody's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler import programs
from reconciler.fleet.runs import folders
from reconciler.fleet.sources import copies, git, tree
from reconciler.fleet.sources.copies import SourceError
from tests.fleet.test_sources import Remote, checkout, remote
from tests.proofs import costly

__all__ = ["remote"]
DEEP = 3_000  # folders in folders

NEST = """\
import subprocess, sys
def git(*words, given=b""):
    return subprocess.run(["git", *words], input=given, capture_output=True, check=True).stdout.strip().decode()
good = git("rev-parse", "HEAD:docs")
blob = git("hash-object", "-w", "--stdin", given=b"x: 1")
tree = git("mktree", given=f"100644 blob {blob}\\ta\\n".encode())
for _ in range(int(sys.argv[1])):
    tree = git("mktree", given=f"040000 tree {tree}\\td\\n".encode())
both = git("mktree", given=f"040000 tree {tree}\\tdeep\\n040000 tree {good}\\tdocs\\n".encode())
print(git("-c", "user.name=a", "-c", "user.email=a@acme.example", "commit-tree", both, "-m", "deep"))
"""


def write(remote: Remote, text: str) -> str:
    (remote.folder / "docs").mkdir(exist_ok=True)
    (remote.folder / "docs/a.yaml").write_text(text)
    return remote.commit()


def left(cache: Path) -> list[str]:
    """What git left in copies: locks and files that it had not finished."""
    inside = [path for folder in cache.glob("*.git") for path in folder.rglob("*")]
    return [str(path) for path in inside if path.suffix == ".lock" or path.name.startswith("tmp_")]


@costly
def test_a_commit_of_thousands_of_folders_stops_no_other_project_of_its_repository(remote: Remote, tmp_path: Path) -> None:
    write(remote, "a: 1\n")
    made = subprocess.run([sys.executable, "-c", NEST, str(DEEP)], cwd=remote.folder, check=True, capture_output=True, text=True)
    remote("update-ref", "refs/heads/main", made.stdout.strip())
    for _ in range(2):
        assert checkout(tmp_path, remote.source("docs")) == {"a.yaml": "a: 1\n"}
        with pytest.raises(SourceError, match="is not allowed"):
            checkout(tmp_path, remote.source("deep"))
    commit = git.fetched(tmp_path / "cache", remote.source())
    assert [element["path"] for element in git.directories(commit, "*")] == ["deep", "docs"]
    assert git.authors(tmp_path / "cache", remote.source(), commit, None) == ("a@acme.example",)
    assert left(tmp_path / "cache") == []


@pytest.mark.parametrize("name", ["shallow.lock", "config.lock", "packed-refs.lock", "refs/kept/x.lock", "HEAD.lock"])
def test_what_a_killed_git_leaves_is_in_no_copy_that_is_used(remote: Remote, tmp_path: Path, name: str) -> None:
    first = write(remote, "a: 1\n")
    folder = git.fetched(tmp_path / "cache", remote.source()).folder
    (folder / name).write_text("")  # as an earlier version could leave it
    write(remote, "a: 2\n")
    assert checkout(tmp_path, remote.source("docs")) == {"a.yaml": "a: 2\n"}
    assert checkout(tmp_path, remote.source("docs", first)) == {"a.yaml": "a: 1\n"}


def test_a_fetch_that_is_killed_leaves_the_present_copy(remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(remote, "a: 1\n")
    cache = tmp_path / "cache"
    before = git.fetched(cache, remote.source())
    write(remote, "a: 2\n")
    with monkeypatch.context() as patched:
        patched.setattr(git, "SECONDS", 0.0)
        patched.setattr(git.git, "__kwdefaults__", {**git.git.__kwdefaults__, "seconds": 0.0})
        with pytest.raises(SourceError, match="git"):
            git.fetched(cache, remote.source())
    assert len(list(cache.glob("*.git"))) == 1, "the copy of the killed fetch is deleted"
    assert tree.write(before, remote.source("docs"), _empty(tmp_path)).joinpath("a.yaml").read_text() == "a: 1\n"
    assert checkout(tmp_path, remote.source("docs")) == {"a.yaml": "a: 2\n"}


def _empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_a_worker_that_is_killed_during_a_fetch_blocks_nobody(remote: Remote, tmp_path: Path) -> None:
    """Its git may go on: it writes into a copy that nobody uses."""
    write(remote, "a: 1\n")
    cache = tmp_path / "cache"
    git.fetched(cache, remote.source())
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom reconciler.fleet.sources import copies\n"
        "def fetch(folder):\n    (folder / 'shallow.lock').write_text('')\n    os.kill(os.getpid(), 9)\n"
        "copies.renewed(Path(sys.argv[1]), sys.argv[2], fetch, lambda *_: False)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(cache), remote.source().git], check=False).returncode == -9
    assert len(left(cache)) == 1
    write(remote, "a: 2\n")
    assert checkout(tmp_path, remote.source("docs")) == {"a.yaml": "a: 2\n"}
    for folder in cache.glob("*.git"):
        os.utime(folder, (0, 0))
    checkout(tmp_path, remote.source("docs"))
    assert left(cache) == [], "what is old and not the present copy is deleted"
    assert len(list(cache.glob("*.git"))) == 1


def test_a_copy_that_fetches_cannot_use_is_begun_again(remote: Remote, tmp_path: Path) -> None:
    write(remote, "a: 1\n")
    for pack in (git.fetched(tmp_path / "cache", remote.source()).folder / "objects/pack").iterdir():
        pack.unlink()
        pack.write_bytes(b"broken")
    write(remote, "a: 2\n")
    assert checkout(tmp_path, remote.source("docs")) == {"a.yaml": "a: 2\n"}


def test_a_commit_that_is_known_makes_no_new_copy_and_a_hundred_fetches_do_not_grow_for_ever(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    cache = tmp_path / "cache"
    write(remote, "a: 1\n")
    assert len({git.fetched(cache, remote.source()).folder for _ in range(3)}) == 1
    monkeypatch.setattr(copies, "FETCHES_MAX", 2)
    kept = []
    for number in range(2, 6):
        write(remote, f"a: {number}\n")
        kept.append(len(list((git.fetched(cache, remote.source()).folder / "refs/kept").iterdir())))
    assert kept == [2, 1, 2, 1]


@pytest.mark.parametrize("text", ["7", "", "x" * 200, "0123456789abcdef 1\n", "../../../../etc/pa 1\n"])
def test_a_lock_file_that_names_no_copy_begins_one(remote: Remote, tmp_path: Path, text: str) -> None:
    write(remote, "a: 1\n")
    cache = tmp_path / "cache"
    git.fetched(cache, remote.source())
    (lock,) = cache.glob("*.lock")
    lock.write_text(text)
    assert checkout(tmp_path, remote.source("docs")) == {"a.yaml": "a: 1\n"}


def test_a_program_that_complains_at_length_is_not_killed(tmp_path: Path) -> None:
    words = ["/bin/sh", "-c", "yes complaint | head -c 5000000 >&2; echo done"]
    ended = programs.run(words, environ={"PATH": os.environ["PATH"]}, folder=tmp_path, seconds=60, most=100)
    assert (ended.code, ended.out, ended.large, len(ended.err)) == (0, b"done\n", False, 100)


WORKER = """if True:
    import subprocess, sys, time
    from pathlib import Path
    from reconciler.fleet.runs import folders
    idle, busy = (folders.create(f"run-{number}-", Path(sys.argv[1])) for number in (1, 2))
    (busy.path / "token").write_text("left")
    run = subprocess.Popen(["sleep", "600"], pass_fds=(busy.lock,))
    print(idle.path, busy.path, run.pid, flush=True)
    time.sleep(600)"""


def test_what_a_killed_worker_left_is_removed_as_soon_as_its_run_has_ended_and_nothing_else_is(tmp_path: Path) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data / "repositories", elsewhere / "kept"):
        folder.mkdir(parents=True)
    (data / "run-of-somebody").symlink_to(elsewhere)
    with subprocess.Popen([sys.executable, "-c", WORKER, str(data)], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        idle, busy, run = worker.stdout.readline().split()
        mine = folders.create(folders.RUN, data)
        folders.tidy(folders.RUN, data)
        assert all(folder.exists() for folder in (Path(idle), Path(busy), mine.path)), "their workers live"
        worker.kill()
        worker.wait()
        folders.tidy(folders.RUN, data)
        assert not Path(idle).exists()
        assert (Path(busy) / "token").exists(), "the process of its run has not ended"
        subprocess.run(["kill", "-KILL", run], check=True)
        while Path(busy).exists():  # the end of another's child cannot be waited for
            folders.tidy(folders.RUN, data)
        assert mine.path.exists()
        mine.remove()
    assert sorted(path.name for path in data.iterdir()) == ["repositories", "run-of-somebody"]
    assert (elsewhere / "kept").exists()
