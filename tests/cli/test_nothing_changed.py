"""`validate` of a project that was valid before: the same sentence without reading YAML, and never a sentence that is no longer true."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.options import Options
from reconciler.cli.wiring import sealed
from reconciler.cli.wiring.checked import CheckedProject
from reconciler.cli.wiring.sealed import digests
from tests.cli.conftest import Cli
from tests.cli.test_imports import COMMAND, imported

PROJECT = """
version: 1
project: mine
service: {baseUrl: "https://api.example.com", member: ada@acme.example}
include: ["parts/*.yaml"]
vars:
  brand: {default: Acme}
  owner: {default: nobody, env: RECONCILER_VAR_OWNER}
organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }}
    emailDomains: ${{ json(file("domains.json")) }}
"""
PART = "content:\n- {space: blank, id: spc_blank, title: Blank}\n- {space: a, title: A, duplicateOf: blank}\n"
VALID = "mine is valid: 3 resources in 2 files.\n"
REMEMBERED = Path(".reconciler/valid.json")


@pytest.fixture
def valid(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A project with a folder for such files, which `validate` found valid."""
    cli.home = tmp_path_factory.mktemp("home")
    cli.write("reconciler.yaml", PROJECT)
    cli.write("parts/a.yaml", PART)
    cli.write("domains.json", '["acme.example"]')
    assert cli("validate").stdout == VALID
    assert not (cli.root / ".reconciler").exists()  # no folder is created for it
    (cli.root / ".reconciler").mkdir()
    assert cli("validate").stdout == VALID
    return cli


def reads_yaml(cli: Cli) -> bool:
    """Whether a `validate` reads the files again."""
    return "yaml" in imported(COMMAND, str(cli.root), "validate", env=cli.user)


def test_nothing_is_read_again_and_only_the_owner_can_read_what_is_remembered(valid: Cli) -> None:
    assert stat.S_IMODE((valid.root / REMEMBERED).stat().st_mode) == 0o600
    assert valid("validate").stdout == VALID
    assert not reads_yaml(valid)


def misspelled(cli: Cli) -> None:
    """Another text of the same length, with the time of the one before."""
    path = cli.root / "parts/a.yaml"
    before = path.stat()
    cli.edit("parts/a.yaml", "title: A", "titel: A")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (misspelled, 'unknown field "titel"'),
        (lambda cli: cli.write("parts/b.yaml", "content: []\n"), "content is ordered"),
        (lambda cli: (cli.root / "parts/a.yaml").unlink(), "matches no file"),
        (lambda cli: cli.write("domains.json", "[1"), "json"),
        (lambda cli: cli.edit("reconciler.yaml", "version: 1", "version: 2"), "this program knows version 1"),
    ],
    ids=["text with the time of before", "new file", "lost file", "file()", "version"],
)
def test_what_is_no_longer_valid_is_reported(valid: Cli, change: Callable[[Cli], object], wrong: str) -> None:
    remembered = (valid.root / REMEMBERED).read_bytes()
    change(valid)
    result = valid("validate")
    assert result.exit_code != 0
    assert wrong in result.stderr
    assert (valid.root / REMEMBERED).read_bytes() == remembered  # only "valid" is remembered
    assert valid("validate").stderr == result.stderr


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("--var", "brand=" + "x" * 200), {}),
        (("--var", "nonsense=1"), {}),
        (("--public-var", "nonsense"), {}),
        ((), {"RECONCILER_VAR_OWNER": "ada"}),
    ],
)
def test_variables_and_the_environment_are_part_of_what_is_remembered(valid: Cli, words: tuple[str, ...], env: dict[str, str]) -> None:
    with_memory = valid("validate", *words, env=env)
    (valid.root / REMEMBERED).unlink()
    without = valid("validate", *words, env=env)
    assert (with_memory.exit_code, with_memory.output) == (without.exit_code, without.output)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: b"",
        lambda text: text[:-1],
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b"3 resources", b"4 resources"),
        lambda text: b"0" * 64 + text[64:],
        lambda text: text + b" ",
        lambda text: b"\xff\xfe not JSON",
    ],
    ids=["empty", "cut off", "half", "edited", "other digest", "longer", "not text"],
)
def test_what_somebody_else_wrote_is_ignored_and_written_again(valid: Cli, edit: Callable[[bytes], bytes]) -> None:
    path = valid.root / REMEMBERED
    genuine = path.read_bytes()
    path.write_bytes(edit(genuine))
    assert valid("validate").stdout == VALID
    assert path.read_bytes() == genuine


def test_what_came_with_the_project_is_not_believed(
    valid: Cli, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody seals a file on another machine, with a state of their own beside it, and commits both."""
    forged, home = "mine is valid: 900 resources in 1 file.\n", tmp_path_factory.mktemp("somebody")
    valid.edit("parts/a.yaml", "title: A", "titel: A")
    user, valid.home = valid.home, home
    assert valid("validate").exit_code == 3
    with monkeypatch.context() as machine:
        for name, value in valid.user.items():
            machine.setenv(name, value)
        checked = CheckedProject.of(Options(project=valid.root))
        assert checked is not None
        files = digests(valid.root, ["reconciler.yaml", "parts/a.yaml", "domains.json"])
        known = {"given": checked.given, "names": checked.names, "files": files, "outside": {}, "warnings": [], "found": forged}
        checked.seal.write(REMEMBERED.name, known)
    assert valid("validate").stdout == forged, "its author believes it"
    valid.home = user
    assert valid("validate").exit_code == 3


def test_what_another_user_wrote_is_ignored_and_written_again(valid: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    valid.home = tmp_path_factory.mktemp("other")
    assert reads_yaml(valid)
    assert not reads_yaml(valid)


def test_the_secret_of_the_user_is_created_once_and_only_the_user_can_read_it(valid: Cli) -> None:
    (file,) = valid.home.rglob("seal.key") if valid.home is not None else ()
    secret = file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(bytes.fromhex(secret)) == 32
    valid.edit("parts/a.yaml", "title: A", "title: B")
    assert reads_yaml(valid)
    assert file.read_text() == secret


def readable_by_others(file: Path) -> None:
    file.chmod(0o644)


def cut_off(file: Path) -> None:
    file.write_text(file.read_text()[:20])


def not_hexadecimal(file: Path) -> None:
    file.write_text("x" * 64)


def a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir(mode=0o700)


@pytest.mark.parametrize("spoil", [readable_by_others, cut_off, not_hexadecimal, a_pipe, a_folder])
def test_with_a_secret_that_is_none_nothing_is_remembered_or_believed(valid: Cli, spoil: Callable[[Path], None]) -> None:
    (file,) = valid.home.rglob("seal.key") if valid.home is not None else ()
    remembered = (valid.root / REMEMBERED).read_bytes()
    spoil(file)
    assert reads_yaml(valid)
    assert reads_yaml(valid)
    assert (valid.root / REMEMBERED).read_bytes() == remembered


def test_where_no_secret_can_be_created_nothing_is_remembered(valid: Cli, tmp_path: Path) -> None:
    valid.home = Path("/dev/null")
    assert valid("validate").stdout == VALID
    assert reads_yaml(valid)


def test_a_secret_that_the_project_contains_is_none(valid: Cli) -> None:
    """Where the folder of the user is in a checkout, a merge request can contain what it likes."""
    valid.home = None
    assert valid("validate").stdout == VALID
    assert reads_yaml(valid)
    assert not list(valid.root.rglob("seal.key"))


def test_nothing_is_written_where_a_link_in_place_of_the_folder_leads(valid: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "valid.json").write_text("somebody's")
    (valid.root / REMEMBERED).unlink()
    (valid.root / ".reconciler").rmdir()
    (valid.root / ".reconciler").symlink_to(other)
    assert valid("validate").stdout == VALID
    assert (other / "valid.json").read_text() == "somebody's"


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(valid: Cli) -> None:
    (valid.root / REMEMBERED).unlink()
    os.mkfifo(valid.root / REMEMBERED)
    assert valid("validate").stdout == VALID
    (valid.root / REMEMBERED).unlink()
    assert valid("validate").stdout == VALID
    (valid.root / "domains.json").unlink()
    os.mkfifo(valid.root / "domains.json")
    assert "is not a text file" in valid("validate").stderr
    (valid.root / "reconciler.yaml").unlink()
    os.mkfifo(valid.root / "reconciler.yaml")
    assert valid("validate").exit_code == 3


def test_with_a_state_on_a_server_validate_remembers_too(valid: Cli) -> None:
    """What a project declares does not depend on its state."""
    server = {"RECONCILER_STATE": "postgresql+psycopg://db.example/x"}
    remembered = (valid.root / REMEMBERED).read_bytes()
    assert valid("validate", env=server).stdout == VALID
    assert (valid.root / REMEMBERED).read_bytes() == remembered


def test_a_file_outside_is_looked_for_again_where_its_link_leads(valid: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whether it is allowed depends on that, and not on its text."""
    folder = tmp_path_factory.mktemp("outside")
    for name in ("allowed.json", "other.json"):
        (folder / name).write_text('["acme.example"]')
    (folder / "link.json").symlink_to("allowed.json")
    path = os.path.relpath(folder / "link.json", valid.root)
    valid.edit("reconciler.yaml", 'file("domains.json")', f'file("{path}")')
    words = ("validate", "--allow-file", str(folder / "allowed.json"))
    assert valid(*words).stdout == VALID
    assert valid(*words).stdout == VALID
    (folder / "link.json").unlink()
    (folder / "link.json").symlink_to("other.json")
    assert "is outside the project" in valid(*words).stderr


ENVIRONMENTS = """
version: 1
project: mine
service: {baseUrl: "https://api.example.com", member: ada@acme.example}
vars:
  brand: {default: Acme}
  region: {default: eu}
organizations: {acme: {id: org_acme, title: "${{ vars.brand }}"}}
"""


def test_what_another_environment_uses_is_part_of_what_is_remembered(valid: Cli) -> None:
    valid.write("reconciler.yaml", ENVIRONMENTS)
    uses = "patch: [{match: acme, set: {title: '${{ vars.region }}'}}]\n"
    for name, text in (("staging", "{}\n"), ("production", uses)):
        valid.write(f"environments/{name}.yaml", text)
    assert "warning" not in valid("validate", "--env", "staging").stderr
    valid.write("environments/production.yaml", uses.replace("region", "brand"))
    assert "vars.region is not used" in valid("validate", "--env", "staging").stderr
    valid.write("environments/production.yaml", uses)
    assert "warning" not in valid("validate", "--env", "staging").stderr


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("project: p\n", ".reconciler/state.db"),
        ("project: p\nstate: sqlite:///other.db  # ours\n", "other.db"),
        ('state: "sqlite:///a/b.db"\n', "a/b.db"),
        ("state: postgresql+psycopg://db/x\n", None),
        ("{project: p, state: sqlite:///other.db}\n", None),
        ("state: ${{ vars.state }}\n", None),
        ("x-a: {state: 1}\nstate: sqlite:///other.db\n", None),
    ],
)
def test_the_state_is_found_without_reading_yaml_or_not_at_all(tmp_path: Path, text: str, file: str | None) -> None:
    assert sealed.written_state(tmp_path, text.encode(), None) == (tmp_path / file if file is not None else None)
    assert sealed.written_state(tmp_path, text.encode(), "sqlite:///given.db") == Path("given.db")
    assert sealed.written_state(tmp_path, text.encode(), "postgresql+psycopg://db/x") is None


def test_a_sealed_file_is_of_one_name_and_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sealed.Seal.of(tmp_path) is None
    (tmp_path / ".reconciler").mkdir()
    seal = sealed.Seal.of(tmp_path)
    assert seal is not None
    seal.write("a.json", {"value": [1, None]})
    assert seal.read("a.json") == {"value": [1, None]}
    (seal.folder / "a.json").rename(seal.folder / "b.json")
    assert seal.read("b.json") is None
    seal.write("a.json", 1)
    monkeypatch.setattr(sealed, "_program", "an older one")
    assert seal.read("a.json") is None


def test_without_a_folder_in_the_project_it_is_beside_the_state_that_the_user_named(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    assert sealed.Seal.of(project, f"sqlite:///{elsewhere}/state.db") is None
    elsewhere.mkdir()
    seal = sealed.Seal.of(project, f"sqlite:///{elsewhere}/state.db")
    assert seal is not None
    seal.write("a.json", 1)
    assert [file.name for file in elsewhere.iterdir()] == [".state.db.a.json"]
    assert seal.read("a.json") == 1
    (project / ".reconciler").symlink_to(elsewhere)
    assert sealed.Seal.of(project, f"sqlite:///{elsewhere}/state.db") is None


def test_a_value_that_may_be_a_secret_is_not_in_what_is_remembered(valid: Cli) -> None:
    valid.edit("reconciler.yaml", "title: ${{ vars.brand }}", "title: ${{ vars.owner }}")
    secret = {"RECONCILER_VAR_OWNER": "hunter2"}
    assert valid("validate", env=secret).exit_code != 0
    assert valid("validate", "--public-var", "owner", env=secret).exit_code == 0
    known = (valid.root / REMEMBERED).read_text(encoding="utf-8")
    assert set(json.loads(known.partition("\n")[2])) == {"given", "names", "files", "outside", "warnings", "found"}
    assert "hunter2" not in known


def test_a_warning_is_printed_again_where_nothing_changed(valid: Cli) -> None:
    """What is remembered has its warnings: an unused variable makes no command slower, and none silent."""
    assert (valid.root / REMEMBERED).is_file()
    for _ in range(2):
        assert "vars.owner is not used" in valid("validate").stderr
