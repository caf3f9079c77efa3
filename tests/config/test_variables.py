"""Variables: who gives a value, which values are accepted, and which variables nobody uses.

A number that would be written in another way as a text (`1.10` is 1.1) must be quoted, wherever an untyped value can be one."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from reconciler.config import Project, load
from reconciler.config.project import FileAccess
from reconciler.config.source import json_text
from reconciler.config.source.nodes import plain
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
    assert title(loaded(tmp_path, json.dumps({"brand": {"names": ["Acme", "Beta"]}, "sso": False}, indent=2))) == "Beta"


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


NUMBERS_BODY = "organizations:\n  acme:\n    id: org_acme\n    title: is ${{ vars.brand }}\n"
LOSES = {
    "1.10": "1.1", "1e3": "1000.0", "0x1F": "31", "0o17": "15", "010": "10", ".5": "0.5", "5.": "5.0", "+1": "1", "-0": "0", ".inf": "inf",
}  # fmt: skip
KEEPS = ("1.1", "1.0", "31", "0", "-7", "1_000", "12:30", "2026-01-31", "1.10.0", "0b1", "yes", "v1.10", "0.5", "1000000000000000000")
FINITE = [text for text in LOSES if text != ".inf"]


def refused(text: str) -> str:
    return f'{text} is a number and means {LOSES[text]}; quote it to keep its text: "{text}"'


@pytest.mark.parametrize("text", LOSES)
@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ("  brand: {{default: {}}}", "4:20"),
        ("  brand: {{enum: [{}]}}", "4:18"),
        ("  brand: {{default: [a, {}]}}", "4:24"),
        ("  brand: {{type: list, default: [[{}]]}}", "4:34"),
        ("  brand: {{default: {{a: {}}}}}", "4:24"),
        ("  brand: {{type: map, default: {{a: {{b: [{}]}}}}}}", "4:40"),
    ],
)
def test_a_number_of_an_untyped_variable_that_loses_its_text_is_an_error(tmp_path: Path, text: str, variables: str, place: str) -> None:
    write(tmp_path, variables.format(text))
    assert f"reconciler.yaml:{place}  vars.brand: {refused(text)}" in problems(tmp_path)


@pytest.mark.parametrize("text", FINITE)
@pytest.mark.parametrize("kind", ["number", "string"])
def test_a_declared_type_says_what_a_number_is(tmp_path: Path, text: str, kind: str) -> None:
    body = NUMBERS_BODY if kind == "string" else NUMBERS_BODY.replace("vars.brand", "vars.brand + 0.25")
    write(tmp_path, f"  brand: {{type: {kind}, default: {text}, env: {ENV}}}", body, staging=f"vars: {{brand: {text}}}\n")
    shown = f"is {text if kind == 'string' else float(LOSES[text]) + 0.25}"
    assert title(loaded(tmp_path, environment="staging")) == shown
    assert title(loaded(tmp_path, f"brand: {text}\n", environment="staging")) == shown
    assert title(loaded(tmp_path, environment="staging", variables={"brand": text})) == shown
    assert title(loaded(tmp_path, environment="staging", environ={ENV: text}, public=["brand"])) == shown


@pytest.mark.parametrize("text", ["010", "+1", "0x1F"])
def test_a_whole_number_that_is_declared_may_be_written_freely(tmp_path: Path, text: str) -> None:
    write(tmp_path, f"  brand: {{type: integer, default: {text}}}", NUMBERS_BODY.replace("vars.brand", "vars.brand + 1"))
    assert title(loaded(tmp_path, variables={"brand": text})) == f"is {int(LOSES[text]) + 1}"


@pytest.mark.parametrize("text", KEEPS)
def test_a_number_that_keeps_its_text_needs_no_quotes(tmp_path: Path, text: str) -> None:
    write(tmp_path, f"  brand: {{default: {text}}}", NUMBERS_BODY)
    assert title(loaded(tmp_path)) == f"is {text}"
    assert title(loaded(tmp_path, f"brand: {text}\n")) == f"is {text}"
    assert title(loaded(tmp_path, variables={"brand": text})) == f"is {text}"


@pytest.mark.parametrize("text", LOSES)
def test_so_is_one_that_an_environment_a_file_or_the_command_line_gives(tmp_path: Path, text: str) -> None:
    write(tmp_path, f"  brand: {{default: 7.5, env: {ENV}}}", staging=f"vars: {{brand: {text}}}\n", other="{}\n")
    assert f"environments/staging.yaml:1:15  vars.brand: {refused(text)}" in problems(tmp_path, environment="staging")
    assert f"1.yaml:1:8  vars.brand: {refused(text)}" in problems(tmp_path, f"brand: {text}\n", environment="other")
    way = "declare the variable with type: string to keep its text, or with type: number"
    says = f"vars.brand: --var brand: {text} is a number and means {LOSES[text]}; {way}"
    assert says in problems(tmp_path, environment="other", variables={"brand": text})
    hidden = problems(tmp_path, environment="other", environ={ENV: text})
    assert f"{ENV}: a number in it would change as a text; {way}" in hidden


@pytest.mark.parametrize("text", ["1.10", "1e3", "1E400", "-0.0e1"])
def test_json_of_the_command_line_keeps_its_numbers_or_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path, "  brand: {type: list}", NUMBERS_BODY.replace("vars.brand", "vars.brand[0]"))
    says = problems(tmp_path, variables={"brand": f'["a", {{"b": {text}}}]'})
    assert f"--var brand: {text} is a number and means " in says
    assert "quote it in the JSON" in says
    assert title(loaded(tmp_path, variables={"brand": f'["{text}", 1.5]'})) == f"is {text}"


@pytest.mark.parametrize("text", LOSES)
@pytest.mark.parametrize(("each", "column"), [("[{}]", 19), ("[a, {}]", 22), ("{{a: {}}}", 22), ("[{{version: {}}}]", 29), ("[[{}]]", 20)])
def test_so_is_an_element_of_a_for_each(tmp_path: Path, text: str, each: str, column: int) -> None:
    teams = f"    teams:\n      x:\n        forEach: {each.format(text)}\n        title: T\n"
    write(tmp_path, "  brand: {default: a}", NUMBERS_BODY + teams)
    assert f"reconciler.yaml:11:{column}  acme: {refused(text)}" in problems(tmp_path)


def test_a_key_is_a_text_and_needs_no_quotes(tmp_path: Path) -> None:
    teams = '    teams:\n      "v${{ each.key }}":\n        forEach: {1.10: a, 010: b, 1e3: c}\n        title: ${{ each.key }}\n'
    write(tmp_path, "  brand: {default: a}", NUMBERS_BODY + teams)
    resources = loaded(tmp_path).desired.resources
    assert {str(at): declared.values["title"] for at, declared in resources.items() if at.kind == "team"} == {
        "acme/team/v1.10": "1.10", "acme/team/v010": "010", "acme/team/v1e3": "1e3",
    }  # fmt: skip


@pytest.mark.parametrize("expression", ["[1.9, 1.10]", "'v' ~ 2.10", "1.10", "vars.n * 1.50"])
def test_a_version_inside_an_expression_must_be_quoted_too(tmp_path: Path, expression: str) -> None:
    write(tmp_path, "  n: {default: 2}", NUMBERS_BODY.replace("vars.brand", expression))
    assert "is a number and means" in problems(tmp_path)
    assert "or quote it to keep its text" in problems(tmp_path)


@pytest.mark.parametrize("text", ["1.10", "1e3", "1.50", "2E-1"])
def test_a_number_in_a_json_file_loses_no_text_without_a_word(tmp_path: Path, text: str) -> None:
    (tmp_path / "data.json").write_text(f'{{"version": {text}, "unused": 1.20}}', encoding="utf-8")
    read = 'json(file("data.json")).version'
    write(tmp_path, "  n: {default: 2}", NUMBERS_BODY.replace("vars.brand", read))
    assert f"JSON: {text} is a number and means " in problems(tmp_path)
    write(
        tmp_path, "  n: {default: 2}", NUMBERS_BODY.replace("vars.brand", f"({read} * vars.n) > 0")
    )  # as a number it may be written freely
    assert title(loaded(tmp_path)) == "is true"
    (tmp_path / "data.json").write_text(f"[{text}]", encoding="utf-8")
    teams = '    teams:\n      "${{ each.key }}":\n        forEach: ${{ json(file("data.json")) }}\n        title: T\n'
    write(tmp_path, "  n: {default: 2}", NUMBERS_BODY.replace("${{ vars.brand }}", "it") + teams)
    assert f"JSON: {text} is a number and means " in problems(tmp_path)


# -- JSON ------------------------------------------------------------------------------------------------------------------------------


def test_a_key_that_is_written_twice_in_json_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "teams.json").write_text('{"a": {"title": "A"},\n "b": {"title": "B"},\n  "a": {"title": "C"}}', encoding="utf-8")
    teams = '    teams:\n      "${{ each.key }}":\n        forEach: ${{ json(file("teams.json")) }}\n        title: T\n'
    write(tmp_path, "  n: {default: 2}", NUMBERS_BODY.replace("${{ vars.brand }}", "it") + teams)
    assert 'json: the key "a" is written twice at line 3, column 3; first at line 1, column 2' in problems(tmp_path)
    write(tmp_path, "  brand: {type: map}")
    assert 'the key "a" is written twice at line 1, column 10' in problems(tmp_path, variables={"brand": '{"a": 1, "a": 2}'})
    assert '1.yaml:2:10  the key "b" is written twice; first at 1.yaml:2:3' in problems(tmp_path, '{"brand":\n {"b": 1,"b": 2}}')
    write(tmp_path, f"  brand: {{type: map, env: {ENV}}}")
    hidden = problems(tmp_path, environ={ENV: '{"s3cret": 1, "s3cret": 2}'})
    assert ("has a map in which a key is written twice" in hidden, "s3cret" in hidden) == (True, False)


PAIRS = (
    r'{"brand": "\ud83d\ude00 \u00e9/"}', '\ufeff{\n\t"brand"\t:\t"' + r"\uD83D\uDE00 é\/" + '"\n}', '{"brand": "😀 é/"}', 'brand: "😀 é/"',
)  # fmt: skip


@pytest.mark.parametrize("text", PAIRS)
def test_a_file_of_variables_may_be_all_that_json_allows(tmp_path: Path, text: str) -> None:
    write(tmp_path, "  brand: {type: string}", NUMBERS_BODY)
    assert title(loaded(tmp_path, text)) == "is 😀 é/"


@pytest.mark.parametrize("half", [r"\ud83d", r"\ude00", r"\ude00\ud83d", r"a\ud83db", r"\ud83d\u0041"])
def test_half_of_a_surrogate_pair_is_an_error_with_its_place(tmp_path: Path, half: str) -> None:
    write(tmp_path, "  brand: {type: string}")
    says = problems(tmp_path, f'{{\n "brand": "{half}"\n}}')
    assert r"1.yaml:2:11  the text contains \ud" in says
    assert "which is half of a character" in says
    assert "1.yaml:1:2  the text contains" in problems(tmp_path, f'{{"{half}": "x"}}')


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=st.dictionaries(st.text(), JSON, max_size=4), ascii=st.booleans(), indent=st.sampled_from([None, 2, "\t"]))
def test_the_nodes_of_json_are_what_python_reads(value: Any, ascii: bool, indent: Any) -> None:
    document = json_text.document(json.dumps(value, ensure_ascii=ascii, indent=indent).encode(), "x.json")
    assert document is not None
    assert document.data is not None
    assert document.problems == ()
    assert plain(document.data) == value
