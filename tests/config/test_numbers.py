"""A number that would be written in another way as a text (`1.10` is 1.1) must be quoted, wherever an untyped value can be one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from reconciler.config.source import json_text
from reconciler.config.source.nodes import plain
from tests.config.test_variables import ENV, loaded, problems, title, write

BODY = "organizations:\n  acme:\n    id: org_acme\n    title: is ${{ vars.brand }}\n"
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
    body = BODY if kind == "string" else BODY.replace("vars.brand", "vars.brand + 0.25")
    write(tmp_path, f"  brand: {{type: {kind}, default: {text}, env: {ENV}}}", body, staging=f"vars: {{brand: {text}}}\n")
    shown = f"is {text if kind == 'string' else float(LOSES[text]) + 0.25}"
    assert title(loaded(tmp_path, environment="staging")) == shown
    assert title(loaded(tmp_path, f"brand: {text}\n", environment="staging")) == shown
    assert title(loaded(tmp_path, environment="staging", variables={"brand": text})) == shown
    assert title(loaded(tmp_path, environment="staging", environ={ENV: text}, public=["brand"])) == shown


@pytest.mark.parametrize("text", ["010", "+1", "0x1F"])
def test_a_whole_number_that_is_declared_may_be_written_freely(tmp_path: Path, text: str) -> None:
    write(tmp_path, f"  brand: {{type: integer, default: {text}}}", BODY.replace("vars.brand", "vars.brand + 1"))
    assert title(loaded(tmp_path, variables={"brand": text})) == f"is {int(LOSES[text]) + 1}"


@pytest.mark.parametrize("text", KEEPS)
def test_a_number_that_keeps_its_text_needs_no_quotes(tmp_path: Path, text: str) -> None:
    write(tmp_path, f"  brand: {{default: {text}}}", BODY)
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
    write(tmp_path, "  brand: {type: list}", BODY.replace("vars.brand", "vars.brand[0]"))
    says = problems(tmp_path, variables={"brand": f'["a", {{"b": {text}}}]'})
    assert f"--var brand: {text} is a number and means " in says
    assert "quote it in the JSON" in says
    assert title(loaded(tmp_path, variables={"brand": f'["{text}", 1.5]'})) == f"is {text}"


@pytest.mark.parametrize("text", LOSES)
@pytest.mark.parametrize(("each", "column"), [("[{}]", 19), ("[a, {}]", 22), ("{{a: {}}}", 22), ("[{{version: {}}}]", 29), ("[[{}]]", 20)])
def test_so_is_an_element_of_a_for_each(tmp_path: Path, text: str, each: str, column: int) -> None:
    teams = f"    teams:\n      x:\n        forEach: {each.format(text)}\n        title: T\n"
    write(tmp_path, "  brand: {default: a}", BODY + teams)
    assert f"reconciler.yaml:11:{column}  acme: {refused(text)}" in problems(tmp_path)


def test_a_key_is_a_text_and_needs_no_quotes(tmp_path: Path) -> None:
    teams = '    teams:\n      "v${{ each.key }}":\n        forEach: {1.10: a, 010: b, 1e3: c}\n        title: ${{ each.key }}\n'
    write(tmp_path, "  brand: {default: a}", BODY + teams)
    resources = loaded(tmp_path).desired.resources
    assert {str(at): declared.values["title"] for at, declared in resources.items() if at.kind == "team"} == {
        "acme/team/v1.10": "1.10", "acme/team/v010": "010", "acme/team/v1e3": "1e3",
    }  # fmt: skip


@pytest.mark.parametrize("expression", ["[1.9, 1.10]", "'v' ~ 2.10", "1.10", "vars.n * 1.50"])
def test_a_version_inside_an_expression_must_be_quoted_too(tmp_path: Path, expression: str) -> None:
    write(tmp_path, "  n: {default: 2}", BODY.replace("vars.brand", expression))
    assert "is a number and means" in problems(tmp_path)
    assert "or quote it to keep its text" in problems(tmp_path)


@pytest.mark.parametrize("text", ["1.10", "1e3", "1.50", "2E-1"])
def test_a_number_in_a_json_file_loses_no_text_without_a_word(tmp_path: Path, text: str) -> None:
    (tmp_path / "data.json").write_text(f'{{"version": {text}, "unused": 1.20}}', encoding="utf-8")
    read = 'json(file("data.json")).version'
    write(tmp_path, "  n: {default: 2}", BODY.replace("vars.brand", read))
    assert f"JSON: {text} is a number and means " in problems(tmp_path)
    write(tmp_path, "  n: {default: 2}", BODY.replace("vars.brand", f"({read} * vars.n) > 0"))  # as a number it may be written freely
    assert title(loaded(tmp_path)) == "is true"
    (tmp_path / "data.json").write_text(f"[{text}]", encoding="utf-8")
    teams = '    teams:\n      "${{ each.key }}":\n        forEach: ${{ json(file("data.json")) }}\n        title: T\n'
    write(tmp_path, "  n: {default: 2}", BODY.replace("${{ vars.brand }}", "it") + teams)
    assert f"JSON: {text} is a number and means " in problems(tmp_path)


# -- JSON ------------------------------------------------------------------------------------------------------------------------------


def test_a_key_that_is_written_twice_in_json_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "teams.json").write_text('{"a": {"title": "A"},\n "b": {"title": "B"},\n  "a": {"title": "C"}}', encoding="utf-8")
    teams = '    teams:\n      "${{ each.key }}":\n        forEach: ${{ json(file("teams.json")) }}\n        title: T\n'
    write(tmp_path, "  n: {default: 2}", BODY.replace("${{ vars.brand }}", "it") + teams)
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
    write(tmp_path, "  brand: {type: string}", BODY)
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
