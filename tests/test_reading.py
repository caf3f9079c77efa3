"""Files are read in one way, which refuses links out of a checkout, pipes, devices and endless files: `reconciler.links`."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.assembled import main
from reconciler.cli.commands.api import body_of_file
from reconciler.features.mcp.owners import Owners
from reconciler.links import LinkRefused, NotRegular, read_file
from tests.sources import PACKAGE, dotted, nodes, package

OWN = "a file of this package"
SHUT = "in a folder or under a name of its own, opened without following a link"
WORKERS = "in the folder of a worker, which checks whose it is"
WRITING = "it is written, not read"
OTHERS = {
    "links.py": "the one way",
    "writing.py": WRITING,
    "text/pages.py": OWN,
    "features/policies/section/keys.py": OWN,
    "features/rehearsal/page/page.py": OWN,
    "report/style/__init__.py": OWN,
    "fleet/pages/assets.py": OWN,
    "fleet/engine/queue.py": "a migration of procrastinate",
    "cli/help.py": "the metadata of this package",
    "config/source/files.py": "/proc and /sys; files of projects are opened there by `open_place` after their links are checked",
    "cli/program.py": "/dev/null",
    "cli/terminal/screen.py": "/dev/null",
    "own_files.py": "a folder that is locked, opened without following a link; files in it are opened by `open_regular`",
    "features/forges/pipeline/results.py": "reports that this job has just written, where others were removed before",
    "fleet/commands/work.py": WORKERS,
    "fleet/program/child.py": WORKERS,
    "fleet/secrets.py": "what the fleet file of the operator names, on the worker",
    "fleet/up/server.py": WORKERS,
    "fleet/sources/copies.py": WORKERS,
    "fleet/runs/folders.py": WORKERS,
    "run/job.py": "the event of the runner, which the runner names",
    "state/bucket/objects.py": "a folder that plays a bucket, for tests",
    "state/sqlite.py": WRITING,
    "state/lease.py": SHUT,
}
"""The modules that open files in other ways, and why no link, pipe or endless file of a checkout is there."""
MODES = {"r", "rb", "rt", "r+", "a+", "w", "wb", "a", "x"}


def opens(node: ast.AST) -> bool:
    """Whether a call opens or reads a file."""
    if not isinstance(node, ast.Call):
        return False
    called = dotted(node.func)
    if called in ("open", "os.open", "io.open", "click.open_file", "click.File"):
        return True
    if not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr in ("read_text", "read_bytes"):
        return True
    modes = [argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)]
    words = {keyword.arg for keyword in node.keywords}
    return node.func.attr == "open" and ((not node.args and words <= {"encoding", "errors", "mode"}) or bool(MODES & {*map(str, modes)}))


def openings() -> Iterator[str]:
    for path in package():
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("sandbox/") and any(map(opens, nodes(path))):
            yield name


def test_every_file_of_a_project_is_read_in_the_one_way_that_refuses_links() -> None:
    names = set(openings())
    assert names - OTHERS.keys() == set(), "use read_file or open_regular of reconciler.links, or say here why no link can be there"
    assert OTHERS.keys() - names == set(), "these no longer open anything"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in a home with a file of passwords."""
    (tmp_path / ".netrc").write_text("machine acme.example login ada@acme.example password hunter2\n* @hunter2\n")
    root = tmp_path / "checkout"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.mark.parametrize("target", ["../.netrc", ".hidden", "/etc/hostname"])
def test_a_link_out_of_a_checkout_or_to_a_hidden_file_is_not_read(checkout: Path, target: str) -> None:
    (checkout / ".hidden").write_text("secret")
    (checkout / "file.yaml").symlink_to(target)
    with pytest.raises(LinkRefused):
        read_file(checkout / "file.yaml", 100)


def test_outside_of_every_checkout_no_link_leads_out_of_the_folder_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "project" / "file.yaml").symlink_to("../secret")
    assert read_file(tmp_path / "project" / "file.yaml", 100) == b"x", "the operator's own link"
    with pytest.raises(LinkRefused):
        read_file(tmp_path / "project" / "file.yaml", 100, within=tmp_path / "project")


def test_neither_pipes_nor_devices_nor_endless_files_are_waited_for(checkout: Path) -> None:
    os.mkfifo(checkout / "pipe")
    with pytest.raises(NotRegular):
        read_file(checkout / "pipe", 100)
    with pytest.raises(NotRegular):
        read_file(Path("/dev/zero"), 100)
    with (checkout / "large").open("wb") as file:
        file.truncate(2**40)
    assert len(read_file(checkout / "large", 100)) == 101


NAMING = {
    "a body that is sent": ("api", "POST", "/orgs/org_acme/teams", "--sandbox", "s.db", "--input"),
    "a state": ("state", "push"),
    "variables": ("validate", "--var-file"),
    "variables of the environment": ("validate", "--env-file"),
    "a token": ("sandbox", "serve", "--db", "s.db", "--token-file"),
}
"""Commands that read a file whose name follows."""


@pytest.mark.parametrize("words", NAMING.values(), ids=NAMING)
def test_an_option_reads_neither_links_out_of_the_checkout_nor_pipes_in_it(
    checkout: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    (checkout / "link").symlink_to("../.netrc")
    os.mkfifo(checkout / "pipe")
    ended = CliRunner().invoke(main, [*words, "link"])
    assert (ended.exit_code, "RC-link-not-read" in ended.stderr) == (3, True), ended.stderr
    writer = os.open(checkout / "pipe", os.O_RDWR)  # so that who reads it does not wait for a writer
    os.write(writer, b"x")
    try:
        ended = CliRunner().invoke(main, [*words, "pipe"])
    finally:
        os.close(writer)
    assert (ended.exit_code, "it is not a regular file" in ended.stderr) == (3, True), ended.stderr


def test_a_pipe_outside_of_every_checkout_is_that_of_another_program(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    read, write = os.pipe()
    os.write(write, b'{"title": "x"}')
    os.close(write)
    assert body_of_file(Path(f"/dev/fd/{read}")) == {"title": "x"}
    os.close(read)


@pytest.mark.parametrize("place", ["CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS"])
@pytest.mark.parametrize("target", ["../.netrc", "{home}/.netrc", "owners"])
def test_owners_are_never_read_through_a_link(checkout: Path, place: str, target: str) -> None:
    (checkout / "owners").write_text("* @hunter2\n")
    (checkout / place).parent.mkdir(exist_ok=True)
    (checkout / place).symlink_to(
        os.path.relpath(checkout / "owners", (checkout / place).parent) if target == "owners" else target.format(home=checkout.parent)
    )
    assert Owners.of(checkout).of_file("reconciler.yaml") == ()


def test_a_folder_of_owners_that_is_a_link_is_not_followed(checkout: Path) -> None:
    (checkout.parent / "else").mkdir()
    (checkout.parent / "else" / "CODEOWNERS").write_text("* @hunter2\n")
    (checkout / ".github").symlink_to("../else")
    assert Owners.of(checkout).of_file("reconciler.yaml") == ()


def test_a_pipe_instead_of_owners_is_not_waited_for_and_the_next_file_counts(checkout: Path) -> None:
    os.mkfifo(checkout / "CODEOWNERS")
    (checkout / "docs").mkdir()
    (checkout / "docs" / "CODEOWNERS").write_text("*.yaml @acme/docs ada@acme.example not-an-owner\n")
    assert Owners.of(checkout).of_file("a/reconciler.yaml") == ("@acme/docs", "ada@acme.example")
