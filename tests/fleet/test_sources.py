"""Repositories of others: what is written is their files and nothing else, whatever they contain."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from reconciler.fleet.model import Repository
from reconciler.fleet.people.directory import of_settings
from reconciler.fleet.people.identity import is_readable
from reconciler.fleet.sources import git, tree
from reconciler.fleet.sources.copies import SourceError
from tests.proofs import costly


class Remote:
    """A repository of somebody else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self("init", "-q", "-b", "main")
        self("config", "uploadpack.allowFilter", "true")

    def __call__(self, *words: str) -> str:
        named = ("-c", "user.name=ada", "-c", "user.email=ada@acme.example", "-c", "protocol.file.allow=always")
        return subprocess.run(["git", *named, *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self) -> str:
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", "a change")
        return self("rev-parse", "HEAD")

    def source(self, path: str = ".", ref: str = "HEAD") -> Repository:
        return Repository(f"file://{self.folder}", ref, path)


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "remote")


def checkout(tmp_path: Path, source: Repository) -> dict[str, str]:
    """The files that a run would see, by their path below the project."""
    folder = tmp_path / f"checkout-{len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    root = tree.write(git.fetched(tmp_path / "cache", source), source, folder)
    files = [path for path in sorted(root.rglob("*")) if not path.is_dir()]
    assert not any(path.is_symlink() or os.access(path, os.X_OK) for path in files)
    return {path.relative_to(root).as_posix(): path.read_bytes().decode() for path in files}


def test_a_commit_is_written_as_it_is_without_filters_hooks_and_submodules(remote: Remote, tmp_path: Path) -> None:
    other = Remote(tmp_path / "other")
    other.commit()
    (remote.folder / "docs").mkdir()
    (remote.folder / "docs/a.yaml").write_text("a: 1 # $Id$\n")
    (remote.folder / ".gitattributes").write_text("*.yaml filter=evil text eol=crlf ident export-ignore\n")
    (remote.folder / "docs/run.sh").write_text("#!/bin/sh\n")
    (remote.folder / "docs/run.sh").chmod(0o755)
    (remote.folder / "docs/copy.yaml").symlink_to("a.yaml")
    remote("submodule", "--quiet", "add", f"file://{other.folder}", "docs/module")
    first = remote.commit()
    assert checkout(tmp_path, remote.source("docs")) == {"a.yaml": "a: 1 # $Id$\n", "copy.yaml": "a: 1 # $Id$\n", "run.sh": "#!/bin/sh\n"}
    (remote.folder / "docs/a.yaml").write_text("a: 2\n")
    remote.commit()
    assert checkout(tmp_path, remote.source("docs"))["a.yaml"] == "a: 2\n"
    assert checkout(tmp_path, remote.source("docs", first))["a.yaml"] == "a: 1 # $Id$\n"


def test_a_link_that_leads_out_and_a_file_that_is_too_large_are_errors_and_never_left_out(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (remote.folder / "docs").mkdir()
    (remote.folder / "secret.yaml").write_text("x: 1\n")
    for target in ("/etc/passwd", "../../../etc/passwd", "../secret.yaml", "loop"):
        (remote.folder / "docs/loop").unlink(missing_ok=True)
        (remote.folder / "docs/loop").symlink_to(target)
        remote.commit()
        with pytest.raises(SourceError, match="docs/loop is a link to something that is not a file below docs/"):
            checkout(tmp_path, remote.source("docs"))
    (remote.folder / "docs/loop").unlink()
    monkeypatch.setattr(git, "BLOB_MAX", 100)
    monkeypatch.setattr(tree, "BLOB_MAX", 100)
    (remote.folder / "docs/a.yaml").write_text("x" * 101)
    remote.commit()
    with pytest.raises(SourceError, match=r"docs/a\.yaml cannot be read, or is larger than"):
        checkout(tmp_path, remote.source("docs"))
    monkeypatch.setattr(git, "PACK_MAX", 512 * 8)
    (remote.folder / "docs/a.yaml").write_bytes(b"a: 1\n")
    for number in range(80):
        (remote.folder / f"docs/{number}").write_bytes(os.urandom(90))
    remote.commit()
    with pytest.raises(SourceError, match="cannot be read"):
        checkout(tmp_path, remote.source("docs"))


def test_a_name_that_git_allows_and_no_folder_should_is_an_error(remote: Remote, tmp_path: Path) -> None:
    (remote.folder / "docs").mkdir()
    (remote.folder / "docs" / "a\nb.yaml").write_text("a: 1\n")
    remote.commit()
    with pytest.raises(SourceError, match="is not allowed"):
        checkout(tmp_path, remote.source())


def test_what_does_not_exist_is_said(remote: Remote, tmp_path: Path) -> None:
    (remote.folder / "a.yaml").write_text("a: 1\n")
    remote.commit()
    with pytest.raises(SourceError, match="docs does not exist in commit"):
        checkout(tmp_path, remote.source("docs"))
    with pytest.raises(SourceError, match="couldn't find remote ref nothing"):
        checkout(tmp_path, remote.source(ref="nothing"))
    with pytest.raises(SourceError, match="does not appear to be a git repository"):
        checkout(tmp_path, Repository(f"file://{tmp_path}/nowhere"))


def test_directories_are_listed_by_their_whole_path(remote: Remote, tmp_path: Path) -> None:
    for path in ("orgs/b/deep", "orgs/a", "other/c"):
        (remote.folder / path).mkdir(parents=True)
        (remote.folder / path / "reconciler.yaml").write_text("version: 1\n")
    remote.commit()
    commit = git.fetched(tmp_path / "cache", remote.source())
    assert git.directories(commit, "orgs/*") == [{"name": "a", "path": "orgs/a"}, {"name": "b", "path": "orgs/b"}]
    assert [element["path"] for element in git.directories(commit, "*")] == ["orgs", "other"]


@costly
@pytest.mark.parametrize("filters", ["true", "false"])
def test_who_wrote_a_change_is_known_through_merges_co_authors_and_rewritten_history(
    remote: Remote, tmp_path: Path, filters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote("config", "uploadpack.allowFilter", filters)
    cache, source = tmp_path / "cache", remote.source(ref="main")

    def commit(name: str, message: str = "a change") -> str:
        remote("commit", "-q", "--allow-empty", "-m", message, "--author", f"{name.capitalize()} <{name.capitalize()}@acme.example>")
        return remote("rev-parse", "HEAD")

    def wrote(since: str | None) -> list[str]:
        return [email.partition("@")[0] for email in git.authors(cache, source, git.fetched(cache, source), since)]

    base = commit("old")
    assert wrote(None) == ["ada", "old"], "the committer counts as well"
    with monkeypatch.context() as patch:
        patch.setenv("GIT_COMMITTER_EMAIL", "noreply@github.com")
        base = commit("old")
    assert wrote(None) == ["old"], "GitHub commits what people merge on its site"
    remote("checkout", "-q", "-b", "branch")
    (remote.folder / "file").write_text("x")
    remote("add", "-A")
    commit("grace", "work\n\nCo-authored-by: Linus <LINUS@acme.example>\nCo-authored-by: nonsense")
    remote("checkout", "-q", "main")
    commit("other")
    remote("merge", "-q", "--no-ff", "-m", "merged", "branch")
    nonsense = "nonsense (no readable address)"
    assert wrote(None) == ["ada", "grace", "linus", nonsense], "without a commit before: what the merge brings"
    assert wrote(base) == ["ada", "grace", "linus", nonsense, "other"]
    assert wrote(remote("rev-parse", "HEAD")) == wrote(None), "what is applied again, after an undo"
    assert set(wrote("0" * 40)) >= {"ada", "grace", "linus", "other", "old"}, "whoever may have written it, where the history was rewritten"


@costly
def test_all_authors_since_the_last_applied_commit_count_however_many_and_whatever_was_rewritten(remote: Remote, tmp_path: Path) -> None:
    remote("config", "uploadpack.allowAnySHA1InWant", "true")
    cache, source = tmp_path / "cache", remote.source(ref="main")

    def commit(name: str, committer: str = "ada@acme.example") -> str:
        words = ("-c", f"user.email={committer}", "commit", "-q", "--allow-empty", "-m", "x", "--author", f"{name} <{name}@acme.example>")
        remote(*words)
        return remote("rev-parse", "HEAD")

    def wrote(since: str) -> list[str]:
        return [email.partition("@")[0] for email in git.authors(cache, source, git.fetched(cache, source), since)]

    commit("ancient")
    base = commit("old")
    commit("mallory")
    for _ in range(git.COMMITS_FIRST + 20):
        commit("bot")
    assert wrote(base) == ["ada", "bot", "mallory"], "mallory's commit is beyond what is read first"
    applied = commit("grace")
    remote("reset", "-q", "--hard", "HEAD~3")
    commit("linus")
    assert wrote(applied) == ["ada", "linus"], "a rewritten branch: what the applied commit did not have"
    remote("reset", "-q", "--hard", base)
    assert wrote(applied) == ["ada", "old"], "a branch that was reset to a commit before the applied one"


@costly
@pytest.mark.parametrize(
    "address", ["", " ", "\u200b", "\u3164@\u3164", "ada\u200b@acme.example", "@acme.example", "ada@", "root", "\xa0ada@acme.example"]
)
@pytest.mark.parametrize("place", ["author", "committer", "co-author"])
def test_whoever_writes_a_commit_without_a_readable_address_is_a_stranger(remote: Remote, tmp_path: Path, address: str, place: str) -> None:
    mallory, ada = f"Mallory <{address}>", "Ada <ada@acme.example>"
    trailer = f"\nCo-authored-by: {mallory}\n" if place == "co-author" else ""
    tree_of = remote("write-tree")
    lines = [
        f"tree {tree_of}",
        f"author {mallory if place == 'author' else ada} 1700000000 +0000",
        f"committer {mallory if place == 'committer' else ada} 1700000000 +0000",
        f"\nwork\n{trailer}",
    ]
    (tmp_path / "commit").write_bytes("\n".join(lines).encode())
    commit = remote("hash-object", "-t", "commit", "-w", "--literally", str(tmp_path / "commit"))
    remote("reset", "-q", "--hard", commit)
    cache, source = tmp_path / "cache", remote.source(ref="main")
    people = git.authors(cache, source, git.fetched(cache, source), None)
    (stranger,) = set(people) - {"ada@acme.example"}
    directory = of_settings(
        {"people": [{"subject": None, "addresses": ["ada@acme.example", "grace@acme.example", "mallory@acme.example"]}]}, ()
    )
    assert not directory.is_known(stranger)
    assert stranger.startswith("Mallory")
    assert stranger.isprintable()


HIDING: Final = {
    "an encoding of letters": "author {mallory}\ncommitter {mallory}\nencoding UTF-7\nx a+AAo-author {ada}+AAo-committer {ada}",
    "two lines": "author {mallory}\ncommitter {mallory}\nauthor {ada}\ncommitter {ada}",
    "two addresses": "author Ada <ada@acme.example> <mallory@acme.example> 1700000000 -0000\ncommitter {ada}",
    "two addresses, the other first": "author Mallory <mallory@acme.example> <ada@acme.example> 1700000000 -0000\ncommitter {ada}",
    "a zero": "author Mallory\0 <mallory@acme.example> 1700000000 -0000\ncommitter {ada}",
    "no committer": "author {ada}",
    "no author": "committer {ada}",
}


@pytest.mark.parametrize("header", HIDING.values(), ids=HIDING)
def test_no_header_of_a_commit_hides_who_wrote_it(remote: Remote, tmp_path: Path, header: str) -> None:
    """The forge reads mallory in it, and may have verified that it is she; git shows ada alone."""
    ada, mallory = "Ada <ada@acme.example> 1700000000 -0000", "Mallory <mallory@acme.example> 1700000000 -0000"
    text = f"tree {remote('write-tree')}\n{header.format(ada=ada, mallory=mallory)}\n\nwork\n"
    (tmp_path / "commit").write_bytes(text.encode())
    remote("reset", "-q", "--hard", remote("hash-object", "-t", "commit", "-w", "--literally", str(tmp_path / "commit")))
    cache, source = tmp_path / "cache", remote.source(ref="main")
    others = set(git.authors(cache, source, git.fetched(cache, source), None)) - {"ada@acme.example"}
    assert others == {"mallory@acme.example"} or any(not is_readable(other) for other in others), others


def test_a_file_of_the_repository_cannot_say_that_somebody_else_wrote_a_commit(remote: Remote, tmp_path: Path) -> None:
    (remote.folder / ".mailmap").write_text("Ada <ada@acme.example> <mallory@evil.example>\n")
    remote("add", "-A")
    remote("commit", "-q", "-m", "x", "--author", "Mallory <mallory@evil.example>")
    cache, source = tmp_path / "cache", remote.source(ref="main")
    assert "mallory@evil.example" in git.authors(cache, source, git.fetched(cache, source), None)


def test_a_project_of_too_many_files_or_bytes_is_an_error(remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (tree.FILES_MAX, tree.TREE_MAX, git.BLOB_MAX, git.PACK_MAX) == (20_000, 256 * 2**20, 16 * 2**20, 512 * 2**20)
    for number in range(3):
        (remote.folder / f"{number}.yaml").write_text("a: 1\n")
    remote.commit()
    monkeypatch.setattr(tree, "TREE_MAX", 14)
    with pytest.raises(SourceError, match="the files of the project are larger than"):
        checkout(tmp_path, remote.source())
    monkeypatch.setattr(tree, "FILES_MAX", 2)
    with pytest.raises(SourceError, match="contains more than 2 files"):
        checkout(tmp_path, remote.source())
