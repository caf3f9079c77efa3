"""A pull request is a set of files, and some of them are links: nothing is written to what they lead to, and nothing read from it."""

from __future__ import annotations

import ast
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reconciler import writing
from reconciler.errors import ReconcilerError
from reconciler.files import rewrite
from reconciler.links import LinkRefused, check_read, read_file, written_place
from tests.command_line import Cli, applied_project
from tests.hostile.repositories import git
from tests.proofs import costly
from tests.sources import PACKAGE, nodes, package

VICTIM = "the user's own file\n"
SECRET = "s3cr3t-of-the-runner: [\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Cli:
    """A checkout with the applied project `p`, and beside it a folder with the files that links lead to."""
    cli = Cli(tmp_path / "checkout", home=tmp_path / "home")
    cli.root.mkdir()
    applied_project(cli)
    git(cli.root, "init", "-q", "-b", "main")
    git(cli.root, "add", "-A")
    git(cli.root, "commit", "-q", "-m", "one")
    outside(cli).mkdir()
    (outside(cli) / "profile").write_text(VICTIM)
    return cli


def outside(cli: Cli) -> Path:
    return cli.root.parent / "outside"


def unchanged(cli: Cli) -> bool:
    """Whether nothing outside the checkout has changed."""
    return {path.name: path.read_text() for path in outside(cli).iterdir() if path.is_file()} == {"profile": VICTIM}


# -- writing -----------------------------------------------------------------------------------------------------------------------------

WRITES = (
    ("plan", "p", "--report", "json={file}"), ("plan", "p", "--report", "html={file}"), ("plan", "p", "--report", "markdown={file}"),
    ("plan", "p", "--report", "junit={file}"), ("plan", "p", "--report", "sarif={file}"), ("plan", "p", "--report", "github={file}"),
    ("apply", "p", "--yes", "--report", "json={file}"), ("drift", "p", "--report", "json={file}"), ("diff", "p", "--report", "json={file}"),
    ("validate", "p", "--report", "sarif={file}"), ("plan", "p", "--out", "{file}"), ("state", "pull", "p", "--out", "{file}"),
    ("--log-file", "{file}", "validate", "p"), ("validate", "p", "--log-file", "{file}"),
)  # fmt: skip


def links(cli: Cli) -> Iterator[tuple[str, Callable[[], None]]]:
    """Names of files to write, and how each is planted."""
    victim = outside(cli) / "profile"

    def link(name: str, target: Path | str) -> Callable[[], None]:
        def plant() -> None:
            (cli.root / name).parent.mkdir(parents=True, exist_ok=True)
            (cli.root / name).symlink_to(target)

        return plant

    yield "x.out", link("x.out", victim)
    yield "y.out", link("y.out", f"../{victim.parent.name}/profile")
    yield "dangling", link("dangling", outside(cli) / "new")
    yield "folder/profile", link("folder", outside(cli))
    yield "folder2/new", link("folder2", outside(cli))
    yield "a/b/folder/../../b/folder/profile", link("a/b/folder", outside(cli))
    yield str(cli.root / "absolute"), link("absolute", victim)
    yield "chain", lambda: (link("chain", "chain2")(), link("chain2", victim)())[0]


@costly
@pytest.mark.parametrize("words", WRITES, ids=" ".join)
def test_nothing_is_written_to_what_a_link_of_a_pull_request_leads_to(checkout: Cli, words: tuple[str, ...]) -> None:
    for name, plant in links(checkout):
        plant()
        done = checkout(*(word.replace("{file}", name) for word in words))
        assert unchanged(checkout), name
        assert (done.exit_code, "is a link, and nothing is written to what a link leads to" in done.stderr) == (3, True), done.stderr
        assert "RC-link-not-written" in done.stderr
        assert "Remove the link, or name what it leads to" in done.stderr


@pytest.mark.parametrize("how", ["link", "link inside", "committed", "inner link"])
def test_the_folder_of_a_pipeline_is_neither_a_link_nor_committed(checkout: Cli, how: str) -> None:
    reports = checkout.root / "reconciler-reports"
    if how.startswith("link"):
        (checkout.root / "inside").mkdir()
        reports.symlink_to(outside(checkout) if how == "link" else checkout.root / "inside")
    elif how == "committed":
        checkout.write("reconciler-reports/report.json", "{}")
        git(checkout.root, "add", "-A")
    else:
        reports.mkdir()
        (reports / "reconciler.sarif").symlink_to(outside(checkout) / "profile")
        git(checkout.root, "add", "-A")
    done = checkout("pipeline", "plan", "p", code=3)
    assert ("RC-link-not-written" if how.startswith("link") else "RC-reports-committed") in done.stderr
    assert unchanged(checkout)
    assert list((checkout.root / "inside").iterdir() if how == "link inside" else []) == []


def test_the_folder_of_a_pipeline_that_an_earlier_job_left_is_used_again(checkout: Cli) -> None:
    for _ in range(2):
        assert checkout("pipeline", "plan", "p").exit_code == 0
    (checkout.root / "reconciler-reports/reconciler.sarif").unlink()
    (checkout.root / "reconciler-reports/reconciler.sarif").symlink_to(outside(checkout) / "profile")
    assert checkout("pipeline", "plan", "p").exit_code == 0
    assert unchanged(checkout)


@pytest.mark.parametrize("words", [("fmt", "p"), ("validate", "p", "--lint", "--fix"), ("drift", "p", "--accept", "**")])
@pytest.mark.parametrize("name", ["p/reconciler.yaml", "p/more.yaml"])
def test_a_file_of_the_project_that_is_a_link_out_of_it_is_not_changed(checkout: Cli, words: tuple[str, ...], name: str) -> None:
    checkout.edit("p/reconciler.yaml", "version: 1\n", "version: 1\ninclude: [more.yaml]\n")
    checkout.write("p/more.yaml", "vars:   {unused:   1}\n")
    text = (checkout.root / name).read_text()
    (outside(checkout) / "profile").write_text(text)
    (checkout.root / name).unlink()
    (checkout.root / name).symlink_to(outside(checkout) / "profile")
    checkout(*words, code=3)
    assert (outside(checkout) / "profile").read_text() == text


def test_a_file_of_the_project_that_is_a_link_in_it_stays_a_link(checkout: Cli) -> None:
    checkout.edit("p/reconciler.yaml", "version: 1\n", "version: 1\ninclude: [more.yaml]\n")
    checkout.write("p/real.yaml", "vars:   {unused:   1}\n")
    (checkout.root / "p/more.yaml").symlink_to("real.yaml")
    assert checkout("fmt", "p").exit_code == 0
    assert (checkout.root / "p/more.yaml").is_symlink()
    assert (checkout.root / "p/real.yaml").read_text() != "vars:   {unused:   1}\n"


@costly
@pytest.mark.parametrize("name", [".gitignore", ".reconciler", "sites", "sites/docs.yaml", "."])
def test_an_import_writes_through_no_link(checkout: Cli, name: str) -> None:
    sandbox = next((checkout.root / "p/.reconciler").glob("*sandbox*.db"))
    new = checkout.root / "new"
    if name == ".":
        new.symlink_to(outside(checkout))
    else:
        (new / name).parent.mkdir(parents=True)
        (new / name).symlink_to(outside(checkout) / ("profile" if "." in name[1:] or name == ".gitignore" else "."))
    done = checkout("import", "new", "--org", "org_acme", "--sandbox", str(sandbox))
    assert unchanged(checkout), done.stderr
    assert name in ("sites", "sites/docs.yaml", ".gitignore") or done.exit_code == 3, done.stderr


@pytest.mark.parametrize("name", [".gitignore", ".reconciler", "."])
def test_a_new_project_is_written_through_no_link(checkout: Cli, name: str) -> None:
    new = checkout.root / "new"
    if name == ".":
        new.symlink_to(outside(checkout))
    else:
        new.mkdir()
        (new / name).symlink_to(outside(checkout) / "dangling" if name == ".gitignore" else outside(checkout))
    done = checkout("init", "new", "--sandbox")
    assert (done.exit_code, "RC-link-not-written" in done.stderr) == (3, True), done.stderr
    assert unchanged(checkout)


def test_schemas_the_state_and_the_sandbox_are_created_through_no_link(checkout: Cli) -> None:
    own = checkout.root / "p/.reconciler"
    own.rename(checkout.root / "kept")
    own.symlink_to(outside(checkout))
    for words in (("schema", "--write", "--project", "p"), ("plan", "p"), ("apply", "p", "--yes"), ("fmt", "p"), ("validate", "p")):
        checkout(*words)
        assert unchanged(checkout), words
        assert list(outside(checkout).iterdir()) == [outside(checkout) / "profile"]
    own.unlink()
    own.mkdir()
    for name in ("state.db", "sandbox.db"):
        (own / name).symlink_to(outside(checkout) / "new")
    for words in (("plan", "p"), ("apply", "p", "--yes"), ("sandbox", "serve", "--db", "p/.reconciler/sandbox.db")):
        done = checkout(*words)
        assert done.exit_code in (1, 3), done.stderr
        assert list(outside(checkout).iterdir()) == [outside(checkout) / "profile"]


def test_the_files_of_the_runner_are_appended_to_and_never_through_a_link(checkout: Cli) -> None:
    summary, output = checkout.root.parent / "summary", checkout.root.parent / "output"
    summary.write_text("before\n")
    output.write_text("before=1\n")
    job = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "push", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    assert checkout("pipeline", "plan", "p", env=job).exit_code == 0
    assert summary.read_text().startswith("before\n")
    assert "exit-code=0" in output.read_text().splitlines()


# -- the writer --------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside of every checkout, beside the current one."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "there"


def test_a_link_outside_of_checkouts_is_replaced_and_one_to_a_folder_is_followed(place: Path) -> None:
    victim = place / "victim"
    victim.write_text(VICTIM)
    (place / "link").symlink_to(victim)
    (place / "real").mkdir()
    (place / "folder").symlink_to(place / "real")
    writing.write_whole(place / "link", "new")
    writing.write_whole(place / "folder/x", "new")
    assert (victim.read_text(), (place / "link").is_symlink(), (place / "real/x").read_text()) == (VICTIM, False, "new")
    (place / "link2").symlink_to(victim)
    with pytest.raises(LinkRefused, match="link2 is a link"):
        os.close(writing.opened_for_appending(place / "link2"))
    assert victim.read_text() == VICTIM


def test_permissions_are_private_kept_or_those_of_the_umask(place: Path) -> None:
    before = os.umask(0o027)
    try:
        writing.write_whole(place / "private", "x")
        writing.write_out(place / "report", "x")
        (place / "kept").write_text("x")
        (place / "kept").chmod(0o604)
        writing.write_out(place / "kept", "y")
    finally:
        os.umask(before)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()} == {"private": 0o600, "report": 0o640, "kept": 0o604}


def test_a_pipe_and_a_device_are_written_to_and_never_replaced(place: Path) -> None:
    os.mkfifo(place / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((place / "pipe").read_text()))
    reader.start()
    writing.write_out(place / "pipe", "text")
    reader.join(10)
    assert read == ["text"]
    assert stat.S_ISFIFO((place / "pipe").stat().st_mode)
    writing.write_out(Path(os.devnull), "text")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    with pytest.raises(OSError, match="not a regular file"):
        writing.write_whole(place / "pipe", "text")
    with pytest.raises(OSError, match="not a regular file"):
        writing.write_whole(place, "text")


def test_an_open_file_of_this_process_is_written_to(place: Path) -> None:
    with (place / "x").open("w") as file:
        writing.write_out(Path(f"/dev/fd/{file.fileno()}"), "text")
    assert (place / "x").read_text() == "text"


def test_a_file_that_cannot_be_written_leaves_nothing_beside_it(place: Path) -> None:
    (place / "folder").mkdir()
    (place / "x").write_text("old")
    with pytest.raises(UnicodeEncodeError):
        writing.write_whole(place / "x", "\ud800")
    with pytest.raises(OSError, match="not a regular file"):
        writing.write_whole(place / "folder", "new")
    assert sorted(path.name for path in place.iterdir()) == ["folder", "x"]
    assert (place / "x").read_text() == "old"


def test_a_name_of_the_greatest_length_is_written(place: Path) -> None:
    writing.write_whole(place / ("ä" * 127), "x")
    assert [path.name for path in place.iterdir()] == ["ä" * 127]


def test_the_root_of_the_file_system_is_not_a_checkout(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "link").symlink_to(place / "real")
    (place / "real").mkdir()
    monkeypatch.chdir("/")
    assert written_place(place / "link/x") == place / "real/x"
    check_read(place / "link/x")
    monkeypatch.chdir(place)
    with pytest.raises(LinkRefused):
        written_place(Path("link/x"))


# -- reading -----------------------------------------------------------------------------------------------------------------------------

TARGETS = ("outside", "git", "hidden")


def target(cli: Cli, where: str) -> Path:
    """A file with a secret, outside of the checkout or hidden in it."""
    path = {"outside": outside(cli) / "secret", "git": cli.root / ".git/secret", "hidden": cli.root / ".env"}[where]
    path.write_text(SECRET)
    return path


READS = (
    ("p/reconciler.yaml", ("validate", "p")), ("p/reconciler.yaml", ("fmt", "p", "--diff")), ("p/reconciler.yaml", ("plan", "p")),
    ("p/reconciler.yaml", ("config", "render", "p")), ("p/reconciler.yaml", ("diff", "p")), ("p/reconciler.yaml", ("access", "p")),
    ("p/reconciler.yaml", ("state", "list", "p")), ("p/reconciler.yaml", ("pipeline", "plan", "p")),
    ("p/reconciler.yaml", ("validate", "p/reconciler.yaml")), ("p/reconciler.yaml", ("import", "p", "--into")),
    ("p/more.yaml", ("validate", "p")), ("p/environments/a.yaml", ("validate", "p", "--env", "a")),
    ("p/vars.yaml", ("validate", "p", "--var-file", "p/vars.yaml")),
    ("p/vars.json", ("validate", "p", "--var-file", "p/vars.json")), ("p/.vars", ("validate", "p", "--env-file", "p/.vars")),
    ("p/policies.test.yaml", ("policy", "test", "p/policies.test.yaml")), ("p/plan.json", ("apply", "p", "--plan", "p/plan.json")),
    ("p/known.yaml", ("drift", "p", "--baseline", "p/known.yaml")), ("fleet.yaml", ("fleet", "plan", "fleet.yaml")),
    ("p/seed.yaml", ("sandbox", "seed", "--db", "new.db", "p/seed.yaml")), ("p/faults.yaml", ("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "p/faults.yaml")),
    ("p/x.json", ("comment", "p/x.json", "--forge", "github", "--repository", "acme/x", "--pull", "1")),
)  # fmt: skip


@costly
@pytest.mark.parametrize("where", TARGETS)
@pytest.mark.parametrize(("name", "words"), READS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else value)
def test_what_a_link_of_a_pull_request_leads_to_is_not_in_an_error(checkout: Cli, where: str, name: str, words: tuple[str, ...]) -> None:
    if name == "p/more.yaml":
        checkout.edit("p/reconciler.yaml", "version: 1\n", "version: 1\ninclude: [more.yaml]\n")
    path = checkout.root / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target(checkout, where))
    done = checkout(*words)
    assert "s3cr3t" not in done.stdout + done.stderr
    assert done.exit_code != 0
    assert "link" in done.stderr + done.stdout, done.stderr


def test_the_names_of_files_that_a_linked_folder_contains_are_not_in_an_error(checkout: Cli) -> None:
    (outside(checkout) / "s3cr3t.txt").write_text("x")
    (outside(checkout) / "s3cr3t.yaml").write_text("x")
    (checkout.root / "p/environments").symlink_to(outside(checkout))
    (checkout.root / "p/more").symlink_to(outside(checkout))
    for words in (("validate", "p"), ("validate", "p", "--env", "x"), ("plan", "p", "--env", "s3")):
        done = checkout(*words)
        assert (done.exit_code, "s3cr3t" in done.stdout + done.stderr) == (3, False), done.stderr
    done = checkout("fmt", "p", "--diff")
    assert (done.exit_code, "s3cr3t" in done.stdout + done.stderr) == (0, False), done.stderr
    (checkout.root / "p/environments").unlink()
    checkout.edit("p/reconciler.yaml", "version: 1\n", "version: 1\ninclude: [more/*.yaml]\n")
    done = checkout("validate", "p")
    assert (done.exit_code, "s3cr3t" in done.stdout + done.stderr) == (3, False), done.stderr
    assert "more is a link" in done.stderr


def test_a_folder_of_a_project_that_is_a_link_out_of_the_checkout_is_refused_and_the_way_is_printed(checkout: Cli) -> None:
    (outside(checkout) / "reconciler.yaml").write_text(SECRET)
    (checkout.root / "q").symlink_to(outside(checkout))
    done = checkout("validate", "q")
    assert (done.exit_code, "s3cr3t" in done.stdout + done.stderr) == (3, False), done.stderr
    assert f"name that: {outside(checkout)}" in done.stderr
    (outside(checkout) / "reconciler.yaml").write_text((checkout.root / "p/reconciler.yaml").read_text())
    assert checkout("validate", str(outside(checkout))).exit_code == 0


@costly
@pytest.mark.parametrize(
    "name", ["p/reconciler.yaml", "p/more.yaml", "p/environments/a.yaml", "p/environments", "p/vars.yaml", "p", "r.json", "p/.reconciler"]
)
def test_a_link_to_itself_is_an_error_and_not_a_defect(checkout: Cli, name: str) -> None:
    checkout.edit("p/reconciler.yaml", "version: 1\n", "version: 1\ninclude: ['m*.yaml', real.yaml]\n")
    checkout.write("p/real.yaml", "x-a: 1\n")
    path = checkout.root / name
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        path.rename(checkout.root / "kept")
    path.symlink_to(path.name)
    (checkout.root / "p2").symlink_to("p3")
    (checkout.root / "p3").symlink_to("p2/x")
    for words in (
        ("validate", "p"), ("plan", "p", "--env", "a"), ("validate", "p", "--var-file", "p/vars.yaml"), ("fmt", "p"), ("plan", "p", "--report", "json=r.json"),
        ("apply", "p", "--plan", "r.json"), ("validate", "p2"), ("plan", "p", "--out", "p3/x"), ("init", "p2"), ("--log-file", "r.json", "plan", "p"),
        ("apply", "p", "--yes"), ("pipeline", "plan", "p", "--reports", "p2"), ("diff", "p"),
    ):  # fmt: skip
        done = checkout(*words)
        assert "defect" not in done.stderr, (words, done.stderr)
        assert unchanged(checkout)


def test_links_inside_a_project_are_read(checkout: Cli) -> None:
    (checkout.root / "p/reconciler.yaml").rename(checkout.root / "p/real.yaml")
    (checkout.root / "p/reconciler.yaml").symlink_to("real.yaml")
    (checkout.root / "link").symlink_to("p")
    for project in ("p", "link"):
        assert (checkout("validate", project).exit_code, checkout("plan", project).exit_code) == (0, 0)


# -- links that are put there in the middle of a run --------------------------------------------------------------------------------------


@pytest.fixture
def swapped(tmp_path: Path) -> Iterator[Path]:
    """A checkout in which `file`, and the folder of `sub/file`, are links out of it from one moment to the next."""
    folder, outside = tmp_path / "in", tmp_path / "out"
    for path in (folder / ".git", folder / "sub", outside):
        path.mkdir(parents=True)
    (outside / "file").write_text(VICTIM)
    for file in (folder / "file", folder / "sub/file"):
        file.write_text("mine")
    ended = threading.Event()

    def swap() -> None:
        new, sub = folder / "new", folder / "sub"
        while not ended.is_set():
            new.symlink_to(outside / "file")
            new.replace(folder / "file")
            sub.rename(folder / "away")
            sub.symlink_to(outside)
            new.write_text("mine")
            new.replace(folder / "file")
            sub.unlink()
            (folder / "away").rename(sub)

    with ThreadPoolExecutor(1) as pool:
        swapping = pool.submit(swap)
        try:
            yield folder
        finally:
            ended.set()
        swapping.result()
    assert (outside / "file").read_text() == VICTIM
    assert [path.name for path in outside.iterdir()] == ["file"]


def outcomes(act: Callable[[], bytes | list[str]]) -> set[bytes]:
    """What many tries of something lead to: a content, b"written", b"refused". Before a file was opened in the very place that had been
    looked at, one try in a hundred followed a link."""
    results = set()
    for _ in range(1_000):
        try:
            result = act()
            results.add(result if isinstance(result, bytes) else b"written")
        except (OSError, ReconcilerError):
            results.add(b"refused")
    return results


@costly
@pytest.mark.parametrize("name", ["file", "sub/file"])
def test_a_link_that_is_put_in_the_way_of_a_reading_is_not_followed(swapped: Path, name: str) -> None:
    assert outcomes(lambda: read_file(swapped / name, 100)) == {b"mine", b"refused"}
    assert outcomes(lambda: read_file(swapped / name, 100, within=swapped)) == {b"mine", b"refused"}


@pytest.mark.parametrize("name", ["file", "sub/file"])
def test_a_link_that_is_put_in_the_way_of_a_writing_is_not_followed(swapped: Path, name: str) -> None:
    assert outcomes(lambda: rewrite(swapped, {name: "mine"})) == {b"written", b"refused"}


# -- commits -----------------------------------------------------------------------------------------------------------------------------


def crafted(cli: Cli, entries: list[tuple[str, str, str]]) -> str:
    """A commit of a tree as `git mktree` would refuse it: entries of (mode, name, object) in this order."""
    raw = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(id) for mode, name, id in entries)
    (cli.root / ".git/raw").write_bytes(raw)
    tree = git(cli.root, "hash-object", "-t", "tree", "--literally", "-w", ".git/raw")
    return git(cli.root, "commit-tree", tree, "-m", "crafted")


def blob(cli: Cli, text: str) -> str:
    (cli.root / ".git/raw").write_text(text)
    return git(cli.root, "hash-object", "-w", ".git/raw")


def folder(cli: Cli, *entries: tuple[str, str, str]) -> str:
    raw = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(id) for mode, name, id in entries)
    (cli.root / ".git/raw").write_bytes(raw)
    return git(cli.root, "hash-object", "-t", "tree", "--literally", "-w", ".git/raw")


@costly
@pytest.mark.parametrize(
    "name",
    ["link and folder", "folder and link", "two files", "file and folder", "folder and file", "two links", "..", ".", ".git", ".GIT", "git~1", ".g\u200cit",
     "nested ..", "nested .git", ".git.", "slash"],
)  # fmt: skip
def test_a_crafted_commit_writes_nothing_outside_and_is_refused(checkout: Cli, name: str) -> None:
    (outside(checkout) / "profile").write_text(VICTIM)
    file, link = blob(checkout, "evil"), blob(checkout, str(outside(checkout)))
    project = ("100644", "reconciler.yaml", blob(checkout, (checkout.root / "p/reconciler.yaml").read_text()))
    inner = folder(checkout, ("100644", "profile", file))
    trees = {
        "link and folder": [("120000", "a", link), ("40000", "a", inner)],
        "folder and link": [("40000", "a", inner), ("120000", "a", link)],
        "two files": [("100644", "a", file), ("100644", "a", project[2])],
        "file and folder": [("100644", "a", file), ("40000", "a", inner)],
        "folder and file": [("40000", "a", inner), ("100644", "a", file)],
        "two links": [("120000", "a", link), ("120000", "a", file)],
        "nested ..": [("40000", "a", folder(checkout, ("40000", "..", inner)))],
        "nested .git": [("40000", "a", folder(checkout, ("40000", ".GiT", inner)))],
        "slash": [("100644", "../outside/profile", file)],
    }
    commit = crafted(checkout, [("40000", "p", folder(checkout, project, *trees.get(name, [("40000", name, inner)])))])
    git(checkout.root, "tag", "crafted", commit)
    done = checkout("diff", "p", "--from", "crafted", "--to", "crafted")
    assert unchanged(checkout)
    assert (done.exit_code, "which is not allowed" in done.stderr) == (1, True), done.stderr


def test_links_of_a_commit_are_kept_and_not_followed_out_of_it(checkout: Cli) -> None:
    checkout.edit("p/reconciler.yaml", "version: 1\n", "version: 1\ninclude: [more.yaml]\n")
    (checkout.root / "p/more.yaml").symlink_to("real.yaml")
    checkout.write("p/real.yaml", "x-a: 1\n")
    git(checkout.root, "add", "-A")
    git(checkout.root, "commit", "-q", "-m", "inside")
    checkout("diff", "p", "--from", "HEAD", "--to", "HEAD", code=0)
    (outside(checkout) / "secret").write_text(SECRET)
    for leads in (str(outside(checkout) / "secret"), "/proc/self/environ", "../../../../../../../../../etc/hostname"):
        (checkout.root / "p/more.yaml").unlink()
        (checkout.root / "p/more.yaml").symlink_to(leads)
        git(checkout.root, "add", "-A")
        git(checkout.root, "commit", "-q", "-m", leads)
        done = checkout("diff", "p", "--from", "HEAD", "--to", "HEAD")
        assert (done.exit_code, "s3cr3t" in done.stderr) == (3, False), done.stderr


# -- that there is no other way ----------------------------------------------------------------------------------------------------------

WRITERS = {
    "writing.py": "the writer",
    "state/sqlite.py": "the file of the state, created exclusively; SQLite writes it, and a copy of it where it must be read unchanged",
    "state/lease.py": "a lock file beside the state, opened without following a link",
    "state/bucket/objects.py": "a bucket that is a folder: objects that are replaced under conditions",
    "sandbox/file.py": "the file of the sandbox, which imports nothing of the program",
    "sandbox/server.py": "takes a new file of the sandbox away that could not be seeded",
    "fleet/up/server.py": "the access rules of a server, whose user keeps the file; not through a link",
    "fleet/sources/copies.py": "copies of repositories and their lock files in the folder of the worker",
    "fleet/up/move.py": "a cluster into the folder of its owner, after links, pipes and files of others were refused",
}
WRITING = {
    "write_text",
    "write_bytes",
    "touch",
    "symlink_to",
    "hardlink_to",
    "mkstemp",
    "NamedTemporaryFile",
    "FileHandler",
    "copyfile",
    "copytree",
    "copy",
    "move",
}


def writes(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    """Calls that write a file by its name."""
    for call in nodes:
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
        owner = call.func.value.id if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else ""
        modes = [word.value for word in (*call.args, *(given.value for given in call.keywords)) if isinstance(word, ast.Constant)]
        mode = any(isinstance(word, str) and set(word) <= set("rwxabt+U") and set(word) & set("wxa+") for word in modes)
        flags = owner == "os" and name == "open" and any(flag in ast.unparse(call) for flag in ("O_WRONLY", "O_RDWR", "O_CREAT"))
        moved = owner in ("os", "shutil") and name in (
            "replace",
            "rename",
            "link",
            "symlink",
            "copy",
            "copy2",
            "move",
            "truncate",
            "mkfifo",
        )
        if (
            (name in WRITING and owner not in ("copy",) and not (name in ("copy", "move") and owner != "shutil"))
            or (name == "open" and mode)
            or flags
            or moved
        ):
            yield call


def test_only_the_writer_writes_files_that_people_name() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): [ast.unparse(call)[:80] for call in calls]
        for path in package()
        if (calls := list(writes(nodes(path))))
    }
    others = {name: calls for name, calls in found.items() if name not in WRITERS}
    assert others == {
        "cli/program.py": ["formatter.write_text(end(path, codes))", "open(os.devnull, 'w', encoding='utf-8')"],  # of a help text
        "cli/terminal/screen.py": ["os.open(os.devnull, os.O_WRONLY)"],
    }
    assert set(WRITERS) - set(found) <= {"sandbox/server.py"}, "it writes nothing any more"


@pytest.mark.parametrize(
    "text",
    ["p.write_text('x')", "p.open('w')", "open(p, 'ab')", "open(p, mode='x')", "os.open(p, os.O_WRONLY | os.O_CREAT)", "os.replace(a, b)",
     "tempfile.mkstemp()", "shutil.copyfile(a, b)", "p.touch()", "shutil.move(a, b)", "p.open('r+')", "logging.FileHandler(p)"],
)  # fmt: skip
def test_a_call_that_writes_is_recognized(text: str) -> None:
    assert list(writes(ast.walk(ast.parse(text))))


@pytest.mark.parametrize(
    "text", ["p.open('rb')", "open(p)", "os.open(p, os.O_RDONLY)", "copy.copy(a)", "text.replace('a', 'w')", "x.copy()"]
)
def test_a_call_that_only_reads_is_not_recognized(text: str) -> None:
    assert not list(writes(ast.walk(ast.parse(text))))
