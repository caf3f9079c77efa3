"""The JSON Schema that editors are given: fresh, true to what `load` takes, and of help where it does not take it.

The table of keys: what it says is what files may contain, what editors know and what a run is limited by.
"""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reconciler.config.key import Key
from reconciler.config.keys import ENVIRONMENT, GUARDS, PROJECT, TOP
from reconciler.config.schemas.document import schema
from reconciler.config.settings import KeyReader
from reconciler.config.source.files import Files
from reconciler.config.source.nodes import Map, plain
from reconciler.config.source.problems import Problems
from reconciler.config.source.reader import read
from reconciler.kinds import load, load as kinds
from reconciler.model import Guards
from tests.config.corpus import BROKEN, GOOD
from tests.documents import configuration
from tests.proofs import costly

ROOT = Path(__file__).parents[2]
PROJECTS = [*GOOD, *sorted(path.parent for path in (ROOT / "examples").glob("*/reconciler.yaml"))]
OTHERS = re.compile(r"sandbox|\.test\.|\.enc\.|\.sops\.")  # files that are no part of a project
FILES = [
    (project, file)
    for project in PROJECTS
    for file in sorted(project.rglob("*.yaml"))
    if not OTHERS.search(file.name) and file.parent.name != "tests"
]


def data(project: Path, file: Path) -> Any:
    """The file as data by the core schema, expressions as they are written."""
    problems = Problems([])
    node = Files(project, problems).read(file.relative_to(project).as_posix())
    assert node is not None, problems.found
    return plain(node)


def validator() -> Draft202012Validator:
    return configuration()


@costly
def test_the_schema_that_is_checked_in_is_fresh() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "schemas" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    stale = [name for name, text in generate.texts().items() if (ROOT / "schemas" / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run: python schemas/generate.py"


@costly
def test_the_schema_is_a_schema_and_always_the_same() -> None:
    Draft202012Validator.check_schema(schema(kinds()))
    assert json.dumps(schema(kinds())) == json.dumps(schema(kinds()))


@pytest.mark.parametrize(("project", "file"), FILES, ids=lambda path: path.name)
def test_a_good_file_fits_the_schema(project: Path, file: Path) -> None:
    assert [error.message for error in validator().iter_errors(data(project, file))] == []


@pytest.mark.parametrize(
    "name",
    [
        "a-bare-node-where-none-may-be",
        "a-list-where-text-belongs",
        "a-map-where-a-list-of-nodes-belongs",
        "a-node-that-says-not-what-it-is",
        "a-section-at-the-top-of-the-project-file",
        "bad-enum",
        "null-for-a-field-that-cannot-be-cleared",
        "null-for-a-list",
        "null-for-a-section",
        "reserved-words-of-the-wrong-form",
        "text-where-a-boolean-belongs",
        "title-too-long",
        "unknown-field",
        "unknown-key-at-the-top",
        "unknown-key-in-service",
        "unknown-kind-in-prune",
        "version-missing",
        "version-unknown",
    ],
)
def test_what_is_wrong_in_itself_does_not_fit_the_schema(name: str) -> None:
    project = next(path for path in BROKEN if path.name == name)
    assert list(validator().iter_errors(data(project, project / "reconciler.yaml")))


def test_every_field_and_kind_is_described() -> None:
    definitions = schema(kinds())["$defs"]
    for kind in kinds().values():
        result = definitions[kind.name]
        assert result["description"] == kind.doc
        if kind.place.value_is is not None:
            continue  # its only field is the whole value
        properties = result.get("properties") or result["then"]["properties"]
        for name, field in kind.fields.items():
            if field.written and field.doc:
                assert properties[name]["description"].startswith(field.doc)


@pytest.mark.parametrize(
    ("path", "wrong", "says"),
    [
        ("sites/docs/structure/0", {"section": "a", "titel": "A"}, "Additional properties are not allowed ('titel' was unexpected)"),
        ("sites/docs/structure/0", {"sectoin": "a"}, "'sectoin' is not one of ["),
        ("sites/docs/structure", 5, "5 is not of type 'array', 'object'"),
        ("content/0", {"space": "a", "protekt": True}, "Additional properties are not allowed ('protekt' was unexpected)"),
        ("content/0/template", "maybe", "'maybe' is not of type 'boolean'"),
        ("sites/docs/visibility", "publc", "'publc' is not one of ["),
        ("members/ada@acme.example", "admn", "'admn' is not one of ["),
        ("members/ada@acme.example", {"rol": "admin"}, "Additional properties are not allowed ('rol' was unexpected)"),
        ("content/0/template", "${{ }}", "'${{ }}' does not match"),
    ],
)
def test_an_editor_names_the_mistake_and_its_place(path: str, wrong: Any, says: str) -> None:
    acme: dict[str, Any] = {
        "id": "org_acme",
        "content": [{"space": "a"}],
        "sites": {"docs": {"title": "Documentation", "structure": [{"section": "a"}]}},
        "members": {},
    }
    holder: Any = acme
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for part in parents:
        holder = holder[part]
    holder[last] = wrong
    for file in (
        {"version": 1, "project": "p", "organizations": {"acme": acme}},
        {"organization": "acme", **{name: acme[name] for name in acme if name != "id"}},
    ):
        errors = {"/".join(map(str, error.absolute_path)): error.message for error in validator().iter_errors(file)}
        at = next(place for place in errors if place.endswith(path))
        assert errors[at].startswith(says)
        assert list(errors) == [at]


def values(text: str) -> tuple[dict[str, object], list[str]]:
    """The values of the keys of guards in a text, and what is wrong with it."""
    problems, document = Problems([]), read(text.encode(), "reconciler.yaml").data
    assert isinstance(document, Map)
    return KeyReader("", document.entries, problems).map(GUARDS), [problem.message for problem in problems.found]


def test_each_guard_is_a_field_of_the_limits_of_a_run() -> None:
    names, problems = values("prune: {}")
    assert Guards(**names) == Guards()  # type: ignore[arg-type]
    assert (set(names), problems) == ({field.name for field in fields(Guards)}, [])


def test_a_key_of_a_map_is_read_by_its_row() -> None:
    names, problems = values("guards: {maxDelete: {percent: 5, atLeast: 1.5}, minAdmin: 2}")
    assert (names["max_delete_percent"], names["max_delete_at_least"]) == (5.0, 3)
    assert problems == [
        "guards.maxDelete.atLeast must be a whole number, not 1.5",
        'unknown key "minAdmin" in guards; did you mean "minAdmins"?',
    ]


@pytest.mark.parametrize(("file", "keys"), [("project", PROJECT), ("environment", ENVIRONMENT)])
def test_editors_know_every_key_with_its_sentence(file: str, keys: tuple[Key, ...]) -> None:
    known = schema(load())["$defs"][file]["properties"]
    assert {key.name: key.doc for key in keys} == {key.name: known[key.name].get("description", "") for key in keys}


def test_the_order_of_the_rows_is_that_in_which_files_are_formatted() -> None:
    assert [*schema(load())["$defs"]["project"]["properties"]][: len(TOP)] == list(TOP)
