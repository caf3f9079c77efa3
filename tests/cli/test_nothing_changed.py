"""`validate` of a project that was valid before: the same sentence without reading YAML, and never a sentence that is no longer true."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.wiring import sealed
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
def valid(cli: Cli) -> Cli:
    """A project with a state, which `validate` found valid."""
    cli.write("reconciler.yaml", PROJECT)
    cli.write("parts/a.yaml", PART)
    cli.write("domains.json", '["acme.example"]')
    assert cli("validate").stdout == VALID
    assert not (cli.root / REMEMBERED).exists()  # without a state there is no key
    make_state(cli.root / ".reconciler/state.db")
    assert cli("validate").stdout == VALID
    return cli


def make_state(path: Path) -> None:
    """A database with a key, as far as it is looked at."""
    path.parent.mkdir(exist_ok=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE states (id INTEGER PRIMARY KEY, digest_key BLOB)")
        database.execute("INSERT INTO states VALUES (1, ?)", (os.urandom(32),))
    database.close()


def reads_yaml(cli: Cli) -> bool:
    """Whether a `validate` reads the files again."""
    return "yaml" in imported(COMMAND, str(cli.root), "validate", env={"HOME": str(cli.root / "home")})


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


def test_what_was_written_with_another_key_is_ignored(valid: Cli) -> None:
    (valid.root / ".reconciler/state.db").unlink()
    assert reads_yaml(valid)
    make_state(valid.root / ".reconciler/state.db")
    assert reads_yaml(valid)
    assert not reads_yaml(valid)


def test_a_state_elsewhere_does_not_vouch_for_what_is_beside_the_project(valid: Cli) -> None:
    remembered = (valid.root / REMEMBERED).read_bytes()
    assert valid("validate", env={"RECONCILER_STATE": "postgresql+psycopg://db.example/x"}).stdout == VALID
    valid.edit("reconciler.yaml", "project: mine", "project: mine\nstate: postgresql+psycopg://db.example/x")
    assert valid("validate").stdout == VALID
    assert (valid.root / REMEMBERED).read_bytes() == remembered


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
    names = (".reconciler/state.db", "other.db", "a/b.db")
    for name in names:
        make_state(tmp_path / name)
    seals = {name: sealed.Seal.of(tmp_path, b"", f"sqlite:///{tmp_path / name}") for name in names}
    assert sealed.Seal.of(tmp_path, text.encode()) == (seals[file] if file is not None else None)


def test_a_sealed_file_is_of_one_name_and_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_state(tmp_path / ".reconciler/state.db")
    seal = sealed.Seal.of(tmp_path, b"")
    assert seal is not None
    seal.write("a.json", {"value": [1, None]})
    assert seal.read("a.json") == {"value": [1, None]}
    seal.path("a.json").rename(seal.path("b.json"))
    assert seal.read("b.json") is None
    seal.write("a.json", 1)
    monkeypatch.setattr(sealed, "_program", "an older one")
    assert seal.read("a.json") is None


def test_a_value_that_may_be_a_secret_is_not_in_what_is_remembered(valid: Cli) -> None:
    valid.edit("reconciler.yaml", "title: ${{ vars.brand }}", "title: ${{ vars.owner }}")
    secret = {"RECONCILER_VAR_OWNER": "hunter2"}
    assert valid("validate", env=secret).exit_code != 0
    assert valid("validate", "--public-var", "owner", env=secret).exit_code == 0
    known = (valid.root / REMEMBERED).read_text(encoding="utf-8")
    assert set(json.loads(known.partition("\n")[2])) == {"given", "names", "files", "warnings", "found"}
    assert "hunter2" not in known


def test_a_warning_is_printed_again_where_nothing_changed(valid: Cli) -> None:
    """What is remembered has its warnings: an unused variable makes no command slower, and none silent."""
    assert (valid.root / REMEMBERED).is_file()
    for _ in range(2):
        assert "vars.owner is not used" in valid("validate").stderr
