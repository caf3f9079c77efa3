"""An import that fails leaves nothing behind, whatever failed, and the same command works afterwards; and what an import needs."""

from __future__ import annotations

import contextlib
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.features.importer import command as importing
from reconciler.sandbox.server import Embedded, embedded
from reconciler.writing import FolderChange
from tests.command_line import Cli, prepared
from tests.harness import SEED, Still

ORG = ("--org", "org_acme")
SANDBOX = ("--sandbox", "s.db")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A sandbox with something to import."""
    return seeded(Cli(tmp_path))


@prepared
def seeded(cli: Cli) -> Cli:
    cli.write("hand/reconciler.yaml", HAND)
    assert cli("apply", "hand", *SANDBOX, "--yes").exit_code == 0
    return cli


HAND = """\
version: 1
project: docs
service: {member: ada@acme.example}
defaults: {space: {duplicateOf: blank}}
organizations:
  acme:
    id: org_acme
    teams: {writers: {title: Writers}}
    content:
      - {space: blank, id: spc_blank, title: Blank}
      - {space: guides, title: Guides}
"""


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder but the sandbox, hidden files included."""
    paths = [path for path in folder.rglob("*") if not path.name.startswith("s.db") and "home" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in paths}


@contextlib.contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """No file can have more bytes than that."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def works(cli: Cli, *words: str) -> None:
    result = cli("import", "new", *(words or (*ORG, *SANDBOX)))
    assert result.exit_code == 0, result.stderr
    plan = cli("plan", "new", "--detailed-exitcode")
    assert plan.exit_code == 0, plan.stdout


@pytest.mark.parametrize("operation", ["GET *", "GET /orgs/*"])
def test_a_service_that_fails_leaves_nothing(cli: Cli, operation: str) -> None:
    rule = f'{{"fault": "not-json", "operation": "{operation}"}}'
    assert cli("sandbox", "faults", "set", "--db", "s.db", "--rule", rule).exit_code == 0
    before, cli.clock = tree(cli.root), Still()
    assert cli("import", "new", *ORG, *SANDBOX).exit_code != 0
    assert tree(cli.root) == before
    assert cli("sandbox", "faults", "clear", "--db", "s.db").exit_code == 0
    works(cli)


def test_a_full_disk_leaves_nothing(cli: Cli) -> None:
    with embedded(cli.root / "served.db", seed=SEED) as running, full_disk(100_000):
        env = {"RECONCILER_BASE_URL": running.base_url, "RECONCILER_TOKEN": running.token}
        before = tree(cli.root)
        result = cli("import", "a/b/new", *ORG, env=env)
        assert result.exit_code == 3
        assert "the project cannot be written: file too large [RC-file-not-written]" in result.stderr
        assert tree(cli.root).keys() == before.keys()
    works(cli)


@pytest.mark.parametrize("folder", [None, "empty", "used"])
def test_a_state_that_cannot_be_opened_leaves_nothing(cli: Cli, folder: str | None) -> None:
    if folder is not None:
        (cli.root / "new").mkdir()
    if folder == "used":
        cli.write("new/README.md", "ours")
        cli.write("new/certs/other.pem", "ours")
    before = tree(cli.root)
    result = cli("import", "new", *ORG, *SANDBOX, "--state", "sqlite:////proc/none/state.db", "--create-state")
    assert result.exit_code != 0
    assert tree(cli.root) == before
    works(cli)
    assert all(tree(cli.root)[path] == content for path, content in before.items())


@pytest.mark.parametrize("existing", [False, True])
def test_an_interruption_before_anything_is_tracked_leaves_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch, existing: bool) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    if existing:
        cli.write("new/README.md", "ours")
    before = tree(cli.root)
    with monkeypatch.context() as patch:
        patch.setattr(importing, "prove", interrupted)
        assert cli("import", "new", *ORG, *SANDBOX).exit_code == 130
    assert tree(cli.root) == before
    works(cli)


def test_an_interruption_leaves_the_files_of_an_existing_project_as_they_were(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    works(cli)
    assert cli("api", "PUT", "/orgs/org_acme/teams", "-f", "title=Later", "--project", "new").exit_code == 0
    before = {path: content for path, content in tree(cli.root / "new").items() if not path.startswith(".reconciler/state.db")}

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(importing, "prove", interrupted)
        assert cli("import", "new", "--into").exit_code == 130
    assert {path: content for path, content in tree(cli.root / "new").items() if path in before} == before
    works(cli, "--into")


def test_a_killed_import_is_never_a_folder_with_half_of_its_files(tmp_path: Path) -> None:
    change = FolderChange(tmp_path / "a" / "new")
    change.write("reconciler.yaml", "version: 1\n")
    assert not (tmp_path / "a" / "new").exists()  # where it would be killed
    again = FolderChange(tmp_path / "a" / "new")
    again.write("reconciler.yaml", "version: 1\n")
    again.complete()
    assert [path.name for path in (tmp_path / "a" / "new").iterdir()] == ["reconciler.yaml"]
    change.take_back()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["new"]


def test_files_that_a_killed_import_left_in_a_folder_are_completed(cli: Cli) -> None:
    works(cli, *ORG, *SANDBOX, "--split")
    cli.write("other/content/spaces.yaml", (cli.root / "new" / "content" / "spaces.yaml").read_text())
    result = cli("import", "other", *ORG, *SANDBOX, "--split")
    assert result.exit_code == 0, result.stderr
    cli.write("third/content/spaces.yaml", "content: []  # ours\n")
    refused = cli("import", "third", *ORG, *SANDBOX, "--split")
    assert refused.exit_code == 3
    assert "third/content/spaces.yaml already exists" in refused.stderr
    assert tree(cli.root / "third").keys() == {"content", "content/spaces.yaml"}


def test_a_folder_that_somebody_else_creates_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    change = FolderChange(tmp_path / "new")
    change.write("reconciler.yaml", "version: 1\n")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "theirs").write_text("theirs")
    with pytest.raises(OSError, match="not empty"):
        change.complete()
    change.take_back()
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "theirs"]


# -- what it needs ---------------------------------------------------------------------------------------------------------------------


def test_an_import_without_service_and_token_names_both_variables(cli: Cli) -> None:
    result = cli("import", "new", *ORG)
    assert result.exit_code == 3
    assert "RECONCILER_BASE_URL" in result.stderr
    assert "RECONCILER_TOKEN" in result.stderr


@pytest.fixture
def running(cli: Cli) -> Iterator[Embedded]:
    with embedded(cli.root / "served.db", seed=SEED) as running:
        yield running


def test_the_host_of_an_import_is_confirmed_for_its_project_only(cli: Cli, running: Embedded) -> None:
    token = {"RECONCILER_TOKEN": running.token}
    result = cli("import", "new", *ORG, env={**token, "RECONCILER_BASE_URL": running.base_url})
    assert result.exit_code == 0, result.stderr
    plan = cli("plan", "new", "--detailed-exitcode", env=token)
    assert plan.exit_code == 0, plan.stderr
    shutil.copytree(cli.root / "new", cli.root / "copy")
    assert "you have not confirmed it" in cli("plan", "copy", env=token).stderr
