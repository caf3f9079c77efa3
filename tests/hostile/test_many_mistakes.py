"""A file with more mistakes than anybody reads is a list of the first ones, whatever file it is; never a defect, and never an endless list."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from reconciler.errors import PROBLEMS_MAX
from tests.command_line import Cli
from tests.proofs import costly
from tests.sources import PACKAGE, last, nodes, package

MANY: Final = PROBLEMS_MAX + 500
KEYS: Final = "".join(f"k{number}: 1\n" for number in range(MANY))
PROJECT: Final = "version: 1\nproject: docs\nservice: {sandbox: s.db}\norganizations: {acme: {id: org_acme, teams: {w: {title: W}}}}\n"
DATABASE: Final = ("--database", "postgresql://127.0.0.1:9/x")


def inside(text: str, spaces: int = 2) -> str:
    return "".join(f"{' ' * spaces}{line}\n" for line in text.splitlines())


def items(text: str) -> str:
    return "".join(f"  - {{{text.format(number)}}}\n" for number in range(MANY))


FILES: Final[dict[str, tuple[dict[str, str], tuple[str, ...]]]] = {
    "a project": ({"reconciler.yaml": PROJECT + KEYS}, ("validate",)),
    "a map of a project": ({"reconciler.yaml": PROJECT + "guards:\n" + inside(KEYS)}, ("validate",)),
    "the service of a project": (
        {"reconciler.yaml": PROJECT.replace("{sandbox: s.db}", "\n  sandbox: s.db\n" + inside(KEYS))}, ("validate",),
    ),
    "the rendered project": ({"reconciler.yaml": PROJECT + KEYS}, ("config", "render")),
    "a resource": ({"reconciler.yaml": PROJECT.replace("{title: W}", "{title: W, " + KEYS.replace("\n", ", ") + "}")}, ("validate",)),
    "an environment": ({"environments/e.yaml": KEYS}, ("validate", "--env", "e")),
    "policies": ({"reconciler.yaml": PROJECT + "policies:\n" + items("id: p{}")}, ("validate",)),
    "accepted findings": ({"reconciler.yaml": PROJECT + "lint:\n  ignore:\n" + inside(items("id: x{}"))}, ("validate",)),
    "a file of tests": ({"tests/x.yaml": "tests: [{name: a, expect: [{plan: empty}]}]\n" + KEYS}, ("test",)),
    "a test": ({"tests/x.yaml": "tests:\n  - name: a\n" + inside(KEYS, 4)}, ("test",)),
    "tests": ({"tests/x.yaml": "tests:\n" + items("name: a{}")}, ("test",)),
    "a named file of tests": ({"x.test.yaml": "tests: []\n" + KEYS}, ("test", ".", "x.test.yaml")),
    "examples of policies": ({"x.yaml": "examples: []\n" + KEYS}, ("policy", "test", "x.yaml", ".")),
    "policies of examples": ({"x.yaml": "examples: []\npolicies:\n" + items("id: p{}")}, ("policy", "test", "x.yaml", ".")),
    "an example": ({"x.yaml": "examples:\n  - name: a\n" + inside(KEYS, 4)}, ("policy", "test", "x.yaml", ".")),
    "a fleet": ({"fleet.yaml": "version: 1\nprojects: []\n" + KEYS}, ("fleet", "plan")),
    "projects of a fleet": ({"fleet.yaml": "version: 1\nprojects:\n" + items("x: {}")}, ("fleet", "plan")),
    "a seed": ({"seed.yaml": "organizations: []\n" + KEYS}, ("sandbox", "seed", "--db", "s.db", "seed.yaml")),
    "an entry of a seed": ({"seed.yaml": "organizations:\n  - id: a\n" + inside(KEYS, 4)}, ("sandbox", "seed", "--db", "s.db", "seed.yaml")),
    "a file of variables": ({"x.env": KEYS.replace(": ", "=")}, ("validate", "--env-file", "x.env")),
    "a file of variables in YAML": ({"vars.yaml": KEYS}, ("validate", "--var-file", "vars.yaml")),
    "entries of a seed": ({"seed.yaml": "organizations:\n" + items("x{}: 1")}, ("sandbox", "seed", "--db", "s.db", "seed.yaml")),
}  # fmt: skip


@costly
@pytest.mark.parametrize("name", FILES)
def test_the_first_mistakes_are_listed_and_the_rest_is_not_checked(tmp_path: Path, name: str) -> None:
    cli = Cli(tmp_path)
    files, words = FILES[name]
    for file, text in {"reconciler.yaml": PROJECT, **files}.items():
        cli.write(file, text)
    ended = cli(*words, code=3).stderr
    assert "RC-defect" not in ended
    lines = ended.splitlines()
    assert "and the rest was not checked" in lines[-1]
    assert PROBLEMS_MAX // 2 < len(lines) <= PROBLEMS_MAX + 5
    assert all(line.startswith(next(iter(files))) for line in lines if line.endswith("]"))


DOCUMENTS: Final[dict[str, tuple[Callable[[], object], tuple[str, ...]]]] = {
    "a saved plan": (lambda: {"format": "reconciler-plan", "version": 1, **dict.fromkeys(KEYS.split())}, ("apply", "--plan", "x.json")),
    "a state": (lambda: {"format": "reconciler-state", "version": 1, **dict.fromkeys(KEYS.split())}, ("state", "push", "x.json")),
    "operations": (lambda: [{"op": f"x{number}"} for number in range(MANY)], ("propose", "x.json")),
    "an operation": (lambda: [{"op": "set", **dict.fromkeys(KEYS.split())}], ("propose", "x.json")),
    "rules of faults": (lambda: [dict.fromkeys(KEYS.split())], ("sandbox", "faults", "set", "--db", "s.db", "--file", "x.json")),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_of_mistakes_ends_with_one_error(tmp_path: Path, name: str) -> None:
    cli = Cli(tmp_path)
    make, words = DOCUMENTS[name]
    cli.write("reconciler.yaml", PROJECT)
    cli("sandbox", "seed", "--for", ".", "--db", "s.db")
    cli.write("x.json", json.dumps(make()))
    ended = cli(*words)
    assert ended.exit_code == 3, ended.stderr
    assert "RC-defect" not in ended.stderr
    assert len(ended.stderr.splitlines()) < 20


def test_whatever_collects_problems_ends_when_there_are_enough() -> None:
    """Each module that makes a collection of problems catches `Enough`, or makes a silent one."""
    for path in package():
        makes = [node for node in nodes(path) if isinstance(node, ast.Call) and last(node.func) == "Problems"]
        loud = [node for node in makes if not any(keyword.arg == "silent" for keyword in node.keywords)]
        names = {last(node) for node in nodes(path) if isinstance(node, ast.Name | ast.Attribute)}
        catches = (
            path == PACKAGE / "features/policies/section/reading.py" or "raised" in names or "Enough" in names
        )  # its policies are ours
        assert not loud or catches, Path(path)
