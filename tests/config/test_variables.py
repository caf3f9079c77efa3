"""Variables: who gives a value, which values are accepted, and which variables nobody uses."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.config import Project, load
from reconciler.config.project import FileAccess
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from tests.effort import within

ENV = "RECONCILER_VAR_BRAND"
BODY = "organizations:\n  acme:\n    id: org_acme\n    title: ${{ vars.brand }}\n"


def write(folder: Path, variables: str, body: str = BODY, **environments: str) -> None:
    (folder / "reconciler.yaml").write_text(f"version: 1\nproject: test\nvars:\n{variables}\n{body}", encoding="utf-8")
    for name, text in environments.items():
        (folder / "environments").mkdir(exist_ok=True)
        (folder / "environments" / f"{name}.yaml").write_text(text, encoding="utf-8")


def loaded(folder: Path, *files: str, **options: Any) -> Project:
    given = tuple((f"{number}.yaml", text.encode()) for number, text in enumerate(files, 1))
    return load(folder, kinds(), access=FileAccess(given), **options)


def title(project: Project) -> Any:
    return next(iter(project.desired.resources.values())).values["title"]


def problems(folder: Path, *files: str, **options: Any) -> str:
    with pytest.raises(ConfigError) as error:
        loaded(folder, *files, **options)
    return str(error.value)


SOURCES = ("--var", "last file", "first file", "variable", "environment", "default")


@pytest.mark.parametrize("given", [some for count in (1, 2, 3, 6) for some in itertools.combinations(SOURCES, count)], ids="+".join)
def test_the_first_source_that_gives_a_value_wins(tmp_path: Path, given: tuple[str, ...]) -> None:
    """`--var`, the last `--var-file`, the others, the environment variable, the file of the environment, the default."""
    default = ", default: default" if "default" in given else ""
    write(
        tmp_path,
        f"  brand: {{type: string, env: {ENV}{default}}}",
        staging="vars: {brand: environment}\n" if "environment" in given else "{}\n",
    )
    files = [f"brand: {name}\n" if name in given else "{}\n" for name in ("first file", "last file")]
    result = loaded(
        tmp_path, *files, environment="staging", public=["brand"],
        variables={"brand": "--var"} if "--var" in given else {}, environ={ENV: "variable"} if "variable" in given else {},
    )  # fmt: skip
    assert title(result) == given[0]


def test_json_is_a_file_of_variables_and_keeps_its_types(tmp_path: Path) -> None:
    write(
        tmp_path,
        "  brand: {type: map}\n  sso: {type: boolean}",
        BODY.replace("vars.brand", "vars.brand.names[1]") + "    sso: ${{ vars.sso }}\n",
    )
    text = json.dumps({"brand": {"names": ["Acme", "Beta"]}, "sso": False}, indent=2)
    assert title(loaded(tmp_path, text)) == "Beta"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nbrnd: Acme\n", '1.yaml:1:1  variable "a" is not declared under vars of the project file\n'
            '1.yaml:2:1  variable "brnd" is not declared under vars of the project file; did you mean "brand"?'),
        ("\n\nbrand: [Acme]\n", "1.yaml:3:8  vars.brand: the value is a list, which is not of type string"),
        ("brand: null\n", "1.yaml:1:8  vars.brand: the value is null, which is not of type string"),
        ("brand:\n", "1.yaml:1:7  brand has no value"),
        ("brand: ${{ vars.x }}\n", "1.yaml:1:8  vars.brand: it cannot contain an expression"),
        ("- brand\n", "1.yaml:1:1  a file of variables must be a map of names and values, not a list"),
        ("", "1.yaml  this file is empty"),
        ("# nothing\n", "1.yaml  this file is empty"),
        ("brand: Acme\nbrand: Beta\n", "1.yaml:2:1  "),
        ("{brand: [", "1.yaml:"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_variables_is_an_error_at_its_line(tmp_path: Path, text: str, problem: str) -> None:
    write(tmp_path, "  brand: {type: string, default: Acme}")
    assert problem in problems(tmp_path, text)


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("{enum: [basic, pro], default: gold}", "4:40  vars.brand: default is \"gold\"; one of basic, pro"),
        ("{enum: [basic, pro], default: bsic}", 'one of basic, pro; did you mean "basic"?'),
        ("{enum: []}", "vars.brand: enum must be a list of values, not an empty list"),
        ("{enum: basic}", 'vars.brand: enum must be a list of values, not "basic"'),
        ("{type: integer, enum: [1, two]}", '4:36  vars.brand: enum contains "two", which is not of type integer'),
        ("{enum: ['${{ x }}']}", "vars.brand: enum cannot contain an expression"),
        ("{pattern: '[a-z'}", "4:20  vars.brand: pattern is not a regular expression: "),
        ("{pattern: 'a)|(b', default: a}", "vars.brand: pattern is not a regular expression: "),
        ("{pattern: '(?=a)a', default: a}", "vars.brand: pattern is not a regular expression: "),
        ("{type: list, pattern: a}", "vars.brand: pattern is for texts, but the variable is of type list; remove it"),
        ("{pattern: '[a-z]+', default: Acme9}", '4:39  vars.brand: default is "Acme9", which does not match [a-z]+'),
        ("{description: [no]}", "vars.brand: description must be text, not a list"),
        ("{description: The name that readers see}", "4:3  vars.brand: it has no value (\"The name that readers see\"); set it with"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_an_error_at_its_place(tmp_path: Path, declared: str, problem: str) -> None:
    write(tmp_path, f"  brand: {declared}".replace("  brand: ", "  brand: ", 1))
    assert problem in problems(tmp_path)


def test_a_value_that_is_not_accepted_is_reported_where_it_is_written(tmp_path: Path) -> None:
    write(tmp_path, "  brand: {enum: [Acme, Beta], env: RECONCILER_VAR_BRAND}")
    assert problems(tmp_path, "# why\nbrand: Gamma\n") == '1.yaml:2:8  vars.brand: the value is "Gamma"; one of Acme, Beta'
    assert problems(tmp_path, variables={"brand": "Bet"}).startswith('reconciler.yaml:4:3  vars.brand: --var brand is "Bet"; one of')
    public = problems(tmp_path, environ={ENV: "hunter2"}, public=["brand"])
    assert public == f"reconciler.yaml:4:3  vars.brand: {ENV} has a value that is not accepted; one of Acme, Beta"


@pytest.mark.parametrize("limit", ["enum: [hunter2, Beta]", "pattern: 'h.*'"])
def test_no_limit_tests_a_value_that_may_be_a_secret(tmp_path: Path, limit: str) -> None:
    write(tmp_path, f"  brand: {{{limit}, env: {ENV}}}")
    name = limit.partition(":")[0]
    said = (
        f"reconciler.yaml:4:11  vars.brand: {name} would test a value from the environment ({ENV}), which may be a secret; if it is not, "
    )
    for value in ("hunter2", "Beta", "other", ""):
        assert problems(tmp_path, environ={ENV: value}) == f"{said}pass --public-var brand; else remove {name}"
    assert title(loaded(tmp_path, environ={ENV: "hunter2"}, public=["brand"])) == "hunter2"


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("string", "\udcff", "contains bytes that are not UTF-8"),
        ("integer", "1" + "0" * 30, "is not of type integer"),
        ("number", "1e999", "is not of type number"),
        ("list", "[" * 150 + "]" * 150, "is not of type list"),
        ("map", '{"a": "\\ud800"}', "is not of type map"),
    ],
)
def test_a_value_that_no_expression_could_repeat_is_refused_where_it_is_declared(tmp_path: Path, kind: str, value: str, said: str) -> None:
    write(tmp_path, f"  brand: {{type: {kind}, env: {ENV}}}")
    assert problems(tmp_path, environ={ENV: value}) == f"reconciler.yaml:4:3  vars.brand: {ENV} {said}"


def test_a_default_is_checked_even_where_another_value_is_used(tmp_path: Path) -> None:
    write(tmp_path, "  brand: {enum: [Acme], default: Beta}")
    assert 'default is "Beta"' in problems(tmp_path, variables={"brand": "Acme"})


def test_the_whole_text_must_match_and_no_pattern_takes_long(tmp_path: Path) -> None:
    write(tmp_path, "  brand: {pattern: 'aa|bb'}")
    assert title(loaded(tmp_path, variables={"brand": "bb"})) == "bb"
    for wrong in ("aabb", "xbb", "bb\n"):
        assert "does not match" in problems(tmp_path, variables={"brand": wrong})
    write(tmp_path, "  brand: {pattern: '(a+)+$'}")
    assert "does not match" in within(2.0, lambda: problems(tmp_path, variables={"brand": "a" * 50_000 + "!"}))


def test_the_type_follows_from_the_values_that_are_accepted(tmp_path: Path) -> None:
    write(tmp_path, "  brand: {enum: [1, 2]}", BODY.replace("${{ vars.brand }}", "v${{ vars.brand + 1 }}"))
    assert title(loaded(tmp_path, variables={"brand": "2"})) == "v3"


# -- unused ----------------------------------------------------------------------------------------------------------------------------


def unused(folder: Path, **options: Any) -> list[str]:
    return [warning.split("  ")[1].split()[0] for warning in loaded(folder, **options).warnings]


def test_a_variable_that_no_expression_uses_is_a_warning_at_its_line(tmp_path: Path) -> None:
    write(tmp_path, "  brand: {default: Acme}\n  rest: {default: 1}")
    assert loaded(tmp_path).warnings == ("reconciler.yaml:5:3  vars.rest is not used; remove it, or use it",)


@pytest.mark.parametrize(
    "body",
    [
        "x-note: 1\norganizations: {acme: {id: org_acme, title: \"${{ vars['rest'] }}\"}}",
        'organizations: {acme: {id: org_acme, title: "${{ vars[vars.brand] }}"}}',
        "organizations: {acme: {id: org_acme, title: \"${{ 'ab' if true else vars.rest }}\"}}",
        'organizations: {acme: {id: org_acme, teams: {a: {forEach: [], title: "${{ vars.rest }}"}}}}',
        'organizations: {acme: {id: org_acme, teams: {"${{ vars.rest }}": {forEach: [], title: a}}}}',
        'organizations: {acme: {id: org_acme, teams: {"${{ each.key }}": {forEach: "${{ vars.rest }}", title: a}}}}',
    ],
)
def test_what_any_expression_may_use_is_used(tmp_path: Path, body: str) -> None:
    write(
        tmp_path,
        "  rest: {default: []}\n  brand: {default: rest}",
        body + '\nx-brand: &b ${{ vars.brand }}\ndefaults: {team: {title: "${{ vars.brand }}"}}',
    )
    if 'title: "${{ vars[' not in body:
        assert unused(tmp_path) == []


def test_what_only_another_environment_uses_is_used(tmp_path: Path) -> None:
    patch = "patch: [{match: acme, set: {title: '${{ vars.rest }}'}}]\n"
    write(tmp_path, "  brand: {default: Acme}\n  rest: {default: Beta}\n  third: {default: C}", staging="{}\n", production=patch)
    assert unused(tmp_path, environment="staging") == unused(tmp_path, environment="production") == ["vars.third"]
