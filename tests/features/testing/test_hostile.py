"""A test file of a stranger reaches the files of its own folder, the twin, and nothing else."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from reconciler import exits
from reconciler.cli.reports import FORMATS
from tests.command_line import Cli
from tests.features.testing.projects import PROJECT, mismatches, outcome, small
from tests.proofs import costly

SEED = """\
organizations: [{id: org_acme, title: Acme}]
members: [{organization: org_acme, id: usr_ada, email: ada@acme.example, displayName: Ada, role: admin}]
spaces: [{organization: org_acme, id: spc_blank, title: Blank}]
collections: [{organization: org_acme, id: col_people, title: People}]
"""
FILES = [
    ("{seed: ../secret.yaml}", "is outside the project; copy it there; a test reads files of its own folder"),
    ("{seed: /etc/passwd}", "is outside the project"),
    ("{seed: ~/secret.yaml}", "is not a path inside the project"),
    ("{seed: .hidden.yaml}", "begins with a dot"),
    ("{seed: link.yaml}", "is a link to a file outside the project"),
    ("{seed: folder/seed.yaml}", "is a link to a file outside the project"),
    ("{seed: missing.yaml}", "no such file"),
    ("{project: ../reconciler.yaml}", "is outside the project"),
]


@pytest.mark.parametrize(("given", "says"), FILES)
def test_a_test_reads_files_of_its_own_folder_only(cli: Cli, given: str, says: str) -> None:
    small(cli).write("secret.yaml", "password: swordfish")
    cli.write("tests/.hidden.yaml", SEED)
    os.symlink(cli.root / "secret.yaml", cli.root / "tests/link.yaml")
    os.symlink(cli.root, cli.root / "tests/folder")
    cli.write("tests/it.yaml", f"tests: [{{name: a, given: {given}, expect: [{{plan: empty}}]}}]")
    result = cli("test", "tests/it.yaml", "--parallel", "1", code=exits.WRONG)
    assert "tests/it.yaml:1:3" in result.stderr
    assert says in result.stderr
    assert "--allow-file" not in result.stderr, "no option of this command"
    assert "swordfish" not in result.stdout + result.stderr


def test_a_seed_of_its_own_folder_is_what_exists_before(cli: Cli) -> None:
    small(cli).write("tests/seeds/living.yaml", SEED)
    expect = "steps: [], expect: [{plan: {adopt: 4}}]}"
    text = f"tests: [{{name: a, {expect}, {{name: b, given: {{seed: seeds/living.yaml}}, {expect}]"
    assert mismatches(outcome(cli, text)) == [(1, "adopt is 3 in the plan, and must be 4", "4", "3")]


def test_an_invalid_seed_is_reported_at_its_position(cli: Cli) -> None:
    small(cli).write("tests/seeds/living.yaml", SEED.replace("role: admin", "rol: admin"))
    cli.write("tests/it.yaml", "tests: [{name: a, given: {seed: seeds/living.yaml}, expect: [{plan: empty}]}]")
    assert "seeds/living.yaml:2:" in cli("test", ".", "--parallel", "1", code=exits.WRONG).stderr


def test_expressions_of_a_test_read_files_of_its_own_folder_only(cli: Cli) -> None:
    small(cli).write("secret.txt", "swordfish")
    cli.write("tests/it.yaml", "tests: [{name: a, expect: [{field: acme.title, is: '${{ file(\"../secret.txt\") }}'}]}]")
    result = cli("test", ".", "--parallel", "1", code=exits.WRONG)
    assert 'file("../secret.txt") is outside the project' in result.stderr
    assert "--allow-file" not in result.stderr, "no option of this command"
    assert "swordfish" not in result.stdout + result.stderr


@pytest.mark.parametrize("file", ["../secret.txt", "link.txt"])
def test_a_file_outside_a_tested_project_has_a_way_that_the_command_knows(cli: Cli, tmp_path: Path, file: str) -> None:
    project = PROJECT.replace("title: Manual", f"title: '${{{{ file(\"{file}\") }}}}'")
    small(cli, project=project).write("tests/it.yaml", "tests: [{name: a, expect: [{plan: empty}]}]")
    (tmp_path.parent / "secret.txt").write_text("swordfish")
    os.symlink(tmp_path.parent / "secret.txt", cli.root / "link.txt")
    result = cli("test", ".", "--parallel", "1", code=exits.WRONG)
    assert "outside the project; copy it there" in result.stderr
    assert "--allow-file" not in result.stderr, "no option of this command"


def test_a_snapshot_is_neither_read_nor_written_through_a_link(cli: Cli) -> None:
    small(cli).write("secret.txt", "swordfish")
    cli.write("tests/it.yaml", "tests: [{name: a, steps: [], expect: [{snapshot: plan.txt}]}]")
    os.symlink(cli.root / "secret.txt", cli.root / "tests/plan.txt")
    for words in ((), ("--update",)):
        result = cli("test", ".", "--parallel", "1", *words, code=exits.WRONG)
        assert "swordfish" not in result.stdout + result.stderr
    assert (cli.root / "secret.txt").read_text() == "swordfish"


def test_no_variable_of_the_environment_reaches_a_test(cli: Cli) -> None:
    small(cli, unknown=True)
    text = "tests: [{name: a, expect: [{field: acme/space/built.title, is: x}, {field: acme.title, is: '${{ vars.build }}'}]}]"
    cli.write("tests/it.yaml", text)
    env = {
        "RECONCILER_VAR_BUILD": "swordfish",
        "RECONCILER_TOKEN": "t0ken",
        "RECONCILER_BASE_URL": "https://service.example",
        "RECONCILER_STATE": "s3://b/p",
    }
    result = cli("test", ".", "--parallel", "1", env=env, code=exits.FAILED)
    assert "acme/space/built.title is Build unknown.vars.build, and must be x" in result.stdout
    assert "swordfish" not in result.stdout + result.stderr


def test_a_variable_has_the_value_that_the_test_gives_it(cli: Cli) -> None:
    small(cli, unknown=True)
    expect = "[{field: acme/space/built.title, is: Build 7}, {field: acme.title, is: Ax}]"
    text = f"tests: [{{name: a, with: {{vars: {{build: '7', brand: Ax}}}}, expect: {expect}}}]"
    assert mismatches(outcome(cli, text)) == []


def test_requests_of_a_test_reach_the_twin_only(cli: Cli) -> None:
    paths = ["//service.example/x", "/../../_sandbox/export", "/@service.example/", "/spaces/{acme/space/guides}/../../.."]
    steps = ", ".join(f'{{api: {{method: POST, path: "{path}"}}}}' for path in paths)
    found = mismatches(outcome(small(cli), f"tests: [{{name: a, steps: [apply, {steps}], expect: [{{plan: empty}}]}}]"))
    assert len(found) == len(paths)
    assert all("was refused: 40" in message for _, message, *_ in found), found


def test_a_run_leaves_nothing_behind(cli: Cli, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = set(small(cli).root.rglob("*"))
    outcome(cli, "tests: [{name: a, expect: [{plan: empty}]}]")
    new = {path.relative_to(cli.root).as_posix() for path in cli.root.rglob("*")} - {
        path.relative_to(cli.root).as_posix() for path in before
    }
    assert new == {"tests", "tests/it.yaml"}
    assert list(temporary.iterdir()) == []


NAMES = ["x\n::error::owned", "\x1b[31mred", "‮abc", "a" * 5000, "${{ vars.brand }}", "<failure/>]]>"]


@costly
@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_stays_text_in_every_format(cli: Cli, name: str) -> None:
    small(cli).write("tests/it.yaml", f"tests: [{{name: {json.dumps(name)}, steps: [], expect: [{{plan: empty}}]}}]")
    for form in ("text", *FORMATS):
        out = cli("test", ".", "--parallel", "1", "--format", form).stdout
        assert "\x1b" not in out
        assert not any(line.startswith("::error::") for line in out.splitlines())


def test_a_file_outside_the_project_is_tested_against_the_project_that_is_named(cli: Cli, tmp_path: Path) -> None:
    small(cli).write("elsewhere/it.yaml", "tests: [{name: a, expect: [{plan: empty}]}]")
    cli.root.joinpath("p").mkdir()
    cli.root.joinpath("reconciler.yaml").rename(cli.root / "p" / "reconciler.yaml")
    shown = cli("test", "p", "elsewhere/it.yaml", "--parallel", "1", code=exits.DONE).stdout
    assert re.search(r"^elsewhere/it\.yaml:1 +passed  a$", shown, re.MULTILINE)
