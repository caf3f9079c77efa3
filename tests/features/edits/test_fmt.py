"""`fmt`: a project in canonical layout says the same, and nothing is written that could not be.

Every command that edits the files of a project keeps their line breaks and their byte order mark."""

from __future__ import annotations

import json
import random
import re
import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from reconciler.config import load
from reconciler.kinds import load as kinds
from reconciler.model import Declared
from reconciler.yamltext import line_ends
from reconciler.yamltext.format import ValueShape, layout
from tests.command_line import Cli
from tests.proofs import costly

EXAMPLES = Path(__file__).parents[3] / "examples"
PROJECTS = sorted(path.parent for path in EXAMPLES.rglob("reconciler.yaml"))
ROUGH = """\
# A project.
version: 1
organizations:
    acme:
        teams: {writers: {title: "Writers"}}   # who writes
        id: org_acme
project: rough
"""
SMOOTH = """\
# A project.
version: 1
project: rough

organizations:
  acme:
    id: org_acme
    teams: {writers: {title: Writers}}     # who writes
"""


def _asserted(declared: Declared) -> dict[str, Any]:
    return {name: replace(expected, source=None) for name, expected in declared.expected.items()}  # type: ignore[arg-type]


def said(root: Path) -> Any:
    """What a project declares, without where it says so."""
    project = load(root, kinds())
    resources = {
        address: replace(one, source=None, positions={}, lines={}, expected=_asserted(one))
        for address, one in project.desired.resources.items()
    }  # type: ignore[arg-type]
    return project.digest, resources


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_every_example_is_in_canonical_layout(cli: Cli, project: Path) -> None:
    cli("fmt", "--check", str(project), code=0)


@pytest.mark.parametrize("sandbox", [True, False])
def test_what_init_writes_is_in_canonical_layout(cli: Cli, sandbox: bool) -> None:
    cli("init", "docs", *(["--sandbox"] if sandbox else []))
    assert cli("fmt", "--check", "docs").exit_code == 0


def test_it_lays_out_a_file_and_names_it(cli: Cli) -> None:
    path = cli.write("reconciler.yaml", ROUGH)
    before = said(cli.root)
    done = cli("fmt")
    assert (done.exit_code, done.stdout) == (0, "reconciler.yaml\n")
    assert path.read_text(encoding="utf-8") == SMOOTH
    assert said(cli.root) == before
    assert cli("fmt").stdout == ""


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_looking_writes_nothing_and_exits_with_1(cli: Cli, option: str) -> None:
    path = cli.write("reconciler.yaml", ROUGH)
    done = cli("fmt", option, code=1)
    assert path.read_text(encoding="utf-8") == ROUGH
    assert ("+project: rough" in done.stdout) == (option == "--diff")
    path.write_text(SMOOTH, encoding="utf-8")
    assert (cli("fmt", option).exit_code, cli("fmt", option).stdout) == (0, "")


def test_permissions_and_links_stay(cli: Cli) -> None:
    path = cli.write("real.yaml", ROUGH)
    path.chmod(0o640)
    (cli.root / "reconciler.yaml").symlink_to("real.yaml")
    assert cli("fmt").exit_code == 0
    assert (cli.root / "reconciler.yaml").is_symlink()
    assert path.read_text(encoding="utf-8") == SMOOTH
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in cli.root.iterdir() if one.is_file()) == ["real.yaml", "reconciler.yaml"]


def test_a_file_that_is_not_yaml_is_shown_with_its_position_and_nothing_is_written(cli: Cli) -> None:
    path = cli.write("reconciler.yaml", ROUGH.replace("project:", "include: [more.yaml]\nproject:"))
    before = path.read_text(encoding="utf-8")
    cli.write("more.yaml", "organization: acme\nmembers: {a@b.example: admin\n")
    assert "more.yaml:" in cli("fmt", code=3).stderr
    assert path.read_text(encoding="utf-8") == before


def test_a_project_that_is_wrong_otherwise_can_be_laid_out(cli: Cli) -> None:
    path = cli.write("reconciler.yaml", ROUGH.replace("title", "titel"))
    assert cli("fmt").exit_code == 0
    assert path.read_text(encoding="utf-8") == SMOOTH.replace("title", "titel")


def test_without_a_project_it_says_what_makes_one(cli: Cli) -> None:
    assert "reconciler init" in cli("fmt", code=3).stderr


class Mixed(ValueShape):
    """Keys in any order."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.salt = chance.random()

    def below(self, key: str | None, keys: Sequence[str]) -> ValueShape:
        return self

    def rank(self, key: str) -> int:
        return zlib.crc32(f"{self.salt}{key}".encode())


def shuffled(text: str, chance: random.Random) -> str:
    """The same file with its keys in another order."""
    return layout(text, Mixed(chance))


@pytest.mark.parametrize("seed", range(5))
def test_whatever_order_keys_were_in_the_project_says_the_same_and_once_is_enough(cli: Cli, seed: int) -> None:
    root = cli.root / "acme"
    shutil.copytree(EXAMPLES / "acme", root)
    chance = random.Random(seed)
    for path in root.rglob("*.yaml"):
        path.write_text(shuffled(path.read_text(encoding="utf-8"), chance), encoding="utf-8")
    before = said(root)
    assert cli("fmt", "acme").stdout
    assert said(root) == before
    assert cli("fmt", "--check", "acme").exit_code == 0


PROJECT = """\
version: 1
project: case
service: {sandbox: sb.db, member: ada@acme.example}
vars:
  unused: {default: 1}
organizations:
  acme:
    id: org_acme
    title: Acme
    teams:
      # who writes
      writers: {title: Writers}
      authors:
        title: Authors
        members: []
"""
BOM = "\ufeff"
FORMS: dict[str, Callable[[str], str]] = {
    "CRLF and BOM": lambda text: BOM + text.replace("\n", "\r\n"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "BOM": lambda text: BOM + text,
    "LF": lambda text: text,
    "no last break": lambda text: text.replace("\n", "\r\n").removesuffix("\r\n"),
}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(cli: Cli, form: str) -> Cli:
    cli.write("reconciler.yaml", PROJECT)
    assert cli("apply", "--yes").exit_code == 0
    rewritten(cli, FORMS[form](PROJECT))
    return cli


def rewritten(cli: Cli, text: str) -> None:
    (cli.root / "reconciler.yaml").write_bytes(text.encode())


def text_of(cli: Cli) -> str:
    return (cli.root / "reconciler.yaml").read_bytes().decode()


def check(cli: Cli, form: str) -> list[str]:
    """The lines of the file, which must have the form still."""
    text = text_of(cli)
    assert text.startswith(BOM) == ("BOM" in form)
    bare = text.removeprefix(BOM)
    assert set(re.findall(r"\r\n|\r|\n", bare)) == {"\n" if form in ("LF", "BOM") else "\r\n"}
    assert BOM not in bare
    return re.split(r"\r\n|\n", bare)


@costly
def test_import_into_keeps_them(project: Cli, form: str) -> None:
    assert project("api", "PUT", "/orgs/org_acme/teams", "-f", "title=Readers", "--sandbox", "sb.db").exit_code == 0
    project("import", ".", "--into", code=0)
    lines = check(project, form)
    assert any("title: Readers" in line for line in lines)
    assert [line for line in lines if line in PROJECT.splitlines()] == PROJECT.splitlines()
    assert project("plan", "--detailed-exitcode").exit_code == 0


@costly
def test_accepting_drift_keeps_them(project: Cli, form: str) -> None:
    writers = project.json("state", "show", "acme/team/writers")["id"]
    assert project("api", "PATCH", f"/orgs/org_acme/teams/{writers}", "-f", "title=W2", "--sandbox", "sb.db").exit_code == 0
    project("drift", "--accept", "acme/team/writers", code=0)
    assert check(project, form) == PROJECT.replace("{title: Writers}", "{title: W2}").removesuffix(
        "\n" if form == "no last break" else ""
    ).split("\n")


def test_formatting_keeps_them(project: Cli, form: str) -> None:
    rough = PROJECT.replace("version: 1\n", "").replace("project: case\n", "project: case\nversion: 1\n").replace("Writers", '"Writers"')
    rewritten(project, FORMS[form](rough))
    assert project("fmt").exit_code == 0
    assert check(project, form)[0] == "version: 1"
    before = text_of(project)
    assert project("fmt", "--check").exit_code == 0
    assert text_of(project) == before


def test_fixing_a_finding_keeps_them(project: Cli, form: str) -> None:
    assert project("validate", "--fix").exit_code == 0
    lines = check(project, form)
    assert "vars:" not in lines
    assert lines[0] == "version: 1"
    first = "x-anchors: {}\n" + PROJECT.replace("  unused: {default: 1}\n", "").replace("vars:\n", "")
    rewritten(project, FORMS[form](first.replace("x-anchors: {}\n", "vars: {unused: {default: 1}}\n")))
    assert project("validate", "--fix").exit_code == 0
    assert check(project, form)[0] == "version: 1"


def test_a_file_with_several_line_breaks_keeps_each_in_the_lines_that_do_not_change(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT)
    assert cli("apply", "--yes").exit_code == 0
    mixed = PROJECT.replace("project: case\n", "project: case\r\n").replace("title: Acme\n", "title: Acme\r\n")
    rewritten(cli, mixed)
    writers = cli.json("state", "show", "acme/team/writers")["id"]
    assert cli("api", "PATCH", f"/orgs/org_acme/teams/{writers}", "-f", "title=W2", "--sandbox", "sb.db").exit_code == 0
    assert cli("drift", "--accept", "acme/team/writers").exit_code == 0
    assert text_of(cli) == mixed.replace("{title: Writers}", "{title: W2}")
    assert cli("api", "PUT", "/orgs/org_acme/teams", "-f", "title=Readers", "--sandbox", "sb.db").exit_code == 0
    assert cli("import", ".", "--into").exit_code == 0
    lines = iter(text_of(cli).splitlines(keepends=True))
    assert all(line in lines for line in mixed.replace("{title: Writers}", "{title: W2}").splitlines(keepends=True))  # in this order


def test_new_files_of_an_import_are_unchanged(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT)
    assert cli("apply", "--yes").exit_code == 0
    assert cli("import", "new", "--org", "org_acme", "--sandbox", "sb.db").exit_code == 0
    assert b"\r" not in (cli.root / "new" / "reconciler.yaml").read_bytes()
    assert json.loads(cli("plan", "new", "--format", "json", "--sandbox", "sb.db").stdout)["changes"] == []


LINES = st.lists(st.tuples(st.sampled_from(["a", "b", "", "key: value"]), st.sampled_from(["\n", "\r\n", "\r"])), min_size=1, max_size=8)


@given(lines=LINES, mark=st.sampled_from(["", BOM]))
def test_an_edit_that_changes_nothing_gives_the_same_text(lines: list[tuple[str, str]], mark: str) -> None:
    before = mark + "".join(text + end for text, end in lines).replace("\r\n", "\n").replace("\n", "\r\n" if mark else "\n")
    assert line_ends.as_before(line_ends.plain(before), before) == before


@given(lines=LINES, add=st.integers(0, 8))
def test_an_added_line_changes_no_line_break_of_another(lines: list[tuple[str, str]], add: int) -> None:
    before = "".join(f"{number} {text}{end}" for number, (text, end) in enumerate(lines))
    edited = line_ends.plain(before).split("\n")
    edited.insert(min(add, len(edited) - 1), "new")
    assert re.sub(r"new(\r\n|\r|\n)", "", line_ends.as_before("\n".join(edited), before), count=1) == before
