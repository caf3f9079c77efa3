"""Expressions: where they stand in a text, what they give, and the words in which they are refused.

Expressions reach nothing in Python, show no secret and never run long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from reconciler.config import load
from reconciler.config.language.bounds import ExpressionError
from reconciler.config.language.expressions import Evaluator
from reconciler.config.language.files import ProjectFiles
from reconciler.config.source.nodes import holds_expression
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from tests.cage import fresh
from tests.proofs import costly, spread

VARS: dict[str, Any] = {
    "brand": "Acme", "n": 3, "share": 1.5, "on": True, "nothing": None, "list": ["b", "a", "b"], "map": {"x": 1, "items": 5},
    "products": [{"key": "cli", "title": "CLI"}], "template": "${{ vars.secret }}", "long": "x" * 1_000_000, "secret": "s3cr3t",
}  # fmt: skip
EVALUATOR = Evaluator(vars=VARS, tainted={"secret"}, env_name="staging", file=lambda path: f"<{path}>")


def value(text: str) -> Any:
    return EVALUATOR.scalar(text)[0]


def error(text: str, evaluator: Evaluator = EVALUATOR) -> tuple[int, str]:
    with pytest.raises(ExpressionError) as raised:
        evaluator.scalar(text)
    return raised.value.offset, raised.value.message


# -- holes -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["{% hint %}", "{# a #}", "{{ vars.brand }}", "{% raw %}{{ x }}{% endraw %}", "$ {{", "$", "}}", ""])
def test_nothing_else_is_evaluated(text: str) -> None:
    assert not holds_expression(text)
    assert value(text) == text
    assert value(text + " ${{ vars.n }}" + text) == f"{text} 3{text}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$${{ vars.n }}", "${{ vars.n }}"),
        ("a $${{ b }} ${{ vars.n }}", "a ${{ b }} 3"),
        ("$$${{", "$${{"),
        ("$${{ $${{", "${{ ${{"),
        ("${{ '${{' }}", "${{"),
        ('${{ "$${{" }}', "$${{"),
    ],
)
def test_two_dollars_are_a_literal(text: str, expected: str) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${{ '}}' }}", "}}"),
        ('${{ "}} \\" }}" }}', '}} " }}'),
        ("${{ {'a': {'b': 1}}}}", {"a": {"b": 1}}),
        ("${{ {'a': 1}['a'] }}}}", "1}}"),
        ("${{vars.n}}${{vars.n}}", "33"),
        ("${{-1}}", -1),
        ("${{+1}}", 1),
        ("${{\n vars.n\r\n}}", 3),
        ("${{ vars.n }}  ", "3  "),
    ],
)
def test_a_hole_ends_where_its_expression_does(text: str, expected: Any) -> None:
    assert value(text) == expected


def test_one_whole_hole_keeps_its_type() -> None:
    for name, expected in VARS.items():
        if name != "secret":
            problems = value(f"${{{{ vars.{name} }}}}")
            assert (problems, type(problems)) == (expected, type(expected))


def test_what_comes_out_is_never_evaluated_again() -> None:
    assert value("${{ vars.template }}") == value("${{ vars.template ~ '' }}") == "${{ vars.secret }}"
    assert value("a ${{ vars.template }}") == "a ${{ vars.secret }}"


def test_inside_a_text_booleans_are_written_as_in_yaml() -> None:
    assert value("${{ vars.on }} ${{ not vars.on }} ${{ vars.n }} ${{ vars.share }} ${{ 1 ~ true }}") == "true false 3 1.5 1true"


@pytest.mark.parametrize(("name", "kind"), [("nothing", "null"), ("list", "a list"), ("map", "a map")])
def test_inside_a_text_stands_no_null_list_or_map(name: str, kind: str) -> None:
    assert error(f"ab ${{{{ vars.{name} }}}}") == (3, f"{kind} cannot be part of a text")
    assert error(f"${{{{ 'ab' ~ vars.{name} }}}}") == (0, f"{kind} cannot be part of a text")


def test_what_comes_out_is_data_of_its_own() -> None:
    value("${{ vars.map }}")["x"] = 2
    assert VARS["map"]["x"] == 1


# -- the language ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("vars.map.items", 5),
        ("vars.map['x']", 1),
        ("vars.map.keys()", ["x", "items"]),
        ("vars.map | items", [["x", 1], ["items", 5]]),
        ("vars.map.y | default(2)", 2),
        ("vars.map.y is defined", False),
        ("vars.map.get('y', 'z')", "z"),
        ("vars.products[0].title", "CLI"),
        ("env.name", "staging"),
        ("env.name != 'staging' or vars.on", True),
        ("file('a.pem')", "<a.pem>"),
        ("json('{\"a\": [1, null]}').a", [1, None]),
        ("vars.n + 1", 4),
        ("vars.n * 2 - 7 // 2", 3),
        ("7 % 4", 3),
        ("2 ** 10", 1024),
        ("'a' * 3", "aaa"),
        ("'a' + 'b'", "ab"),
        ("vars.list + ['c']", ["b", "a", "b", "c"]),
        ("vars.list | unique | sort | join('-')", "a-b"),
        ("vars.list | length", 3),
        ("'a' in vars.list", True),
        ("vars.n in [1, 3]", True),
        ("vars.brand.lower()", "acme"),
        ("vars.brand | upper", "ACME"),
        ("vars.brand.startswith('Ac')", True),
        ("vars.brand | replace('c', 'x')", "Axme"),
        ("'a b' | split", ["a", "b"]),
        ("', '.join(['a', 1])", "a, 1"),
        ("vars.brand[1:3]", "cm"),
        ("vars.brand[::-1]", "emcA"),
        ("vars.list[-1]", "b"),
        ("'x' if vars.on else 'y'", "x"),
        ("(1, 2)", [1, 2]),
        ("{'a': 1}", {"a": 1}),
        ("'7' | int", 7),
        ("1.26 | round(1)", 1.3),
        ("[3, 1] | max", 3),
        ("['a'] | tojson", '["a"]'),
        ("3 is odd", True),
        ("vars.nothing is none", True),
        ("1 < 2 < 3", True),
        ("-vars.n | abs", 3),
        ("'  a ' | trim", "a"),
        ("'ab' | first", "a"),
    ],
)
def test_gives(expression: str, expected: Any) -> None:
    problems = value("${{ " + expression + " }}")
    assert (problems, type(problems)) == (expected, type(expected))


REFUSED = {
    "vars.brnd": 'variable "brnd" is not declared under vars; did you mean "brand"?',
    "vars['brnd']": 'variable "brnd" is not declared under vars; did you mean "brand"?',
    "1 if true else vars.brnd": 'variable "brnd" is not declared under vars; did you mean "brand"?',
    "brand": '"brand" is not available in expressions; did you mean "vars.brand"?',
    "var.brand": '"var" is not available in expressions; did you mean "vars"?',
    "range(9)": "range does not accept a number",
    "each.key": "each is only available inside forEach",
    "env.nam": 'there is no key "nam" here; did you mean "name"?',
    "vars.map.y": 'there is no key "y" here',
    "vars.list[3]": "there is no item 3 here; the first item is 0",
    "vars.list.x": 'a list has no "x"',
    "vars.n.x": 'a number has no "x"',
    "vars.list['x']": "a list has no items by a text",
    "vars.brand.uper()": 'a text has no "uper"; did you mean "upper"?',
    "vars.brand.upper": "upper is a function; call it: upper(…)",
    "[file]": "file is a function; call it: file(…)",
    "vars.brand()": "a text cannot be called",
    "vars.brand | uper": 'filter "uper" does not exist; did you mean "upper"?',
    "vars.brand | attr('x')": 'filter "attr" does not exist',
    "vars.n is callable": 'test "callable" does not exist',
    "vars.n | upper": "upper does not accept a number",
    "'a' is odd": "odd does not accept a text",
    "vars.brand.lower(1)": "lower does not accept a number",
    "vars['map'].get(1)": "get does not accept a number",
    "json(vars.map)": "json does not accept a map",
    "json('[1')": "json: the text is not JSON at its line 1, column 3",
    "json('NaN')": "json: NaN is not JSON",
    "'a' + 1": "+ does not support a text and a number; use ~ to join values to a text",
    "true + 1": "+ does not support true or false and a number",
    "'%s' % 1": "% does not support a text and a number",
    "[1] * 9": "* does not support a list and a number",
    "-'a'": "- does not support a text",
    "'a' < 1": "the values have incompatible types",
    "1 / 0": "division by zero",
    "9 ** 65": "an exponent is larger than 64",
    "9 ** 64": "a number is too large",
    "1e400": "a number is too large",
    "1e308 * 10": "a number is too large",
    "10000000000000000000000": "a number is too large",
    "(0 - 8) ** 0.5": "a negative number cannot be raised to that power",
    "vars.long * 2": "a text is longer than 1,048,576 characters",
    "vars.long + vars.long": "a text is longer than 1,048,576 characters",
    "vars.long ~ vars.long": "a text is longer than 1,048,576 characters",
    "vars.long.replace('x', vars.long)": "a text is longer than 1,048,576 characters",
    "vars.brand.replace('', 'x')": "replace requires a text to search for",
    "[vars.long, vars.long] | join": "a text is longer than 1,048,576 characters",
    "'x' if vars.on": "an if requires an else",
    "default(x=1)": "arguments must be positional",
    "vars.brand.replace(*vars.list)": "arguments must be positional",
    "'\\ud800'": "a text contains an incomplete character",
    "[1, 'a'] | sort": "sort requires a list of texts or a list of numbers",
    "[] | first": "first requires a value that is not empty",
    "vars.brand[::0]": "[…:…] does not allow a step of 0",
    "": "the expression is empty",
    "vars.n vars.n": "the expression cannot be read: there is unexpected text after its end",
    "vars.n +": "the expression cannot be read: unexpected end",
    "'a": "the expression cannot be read: a quote is never closed",
    "a @ b": 'the expression cannot be read: "@" is not part of the language',
    "(" * 21 + "1" + ")" * 21: "the expression has more than 20 nested brackets",
    "1 + " * 100 + "1": "the expression is nested too deeply",
    "not " * 400 + "1": "the expression is nested too deeply",
    " " * 2_000: 'the expression does not end within 2,000 characters; "}}" is missing, or it is too long',
}


@pytest.mark.parametrize("expression", REFUSED, ids=lambda text: text[:40])
def test_is_refused_in_exactly_these_words(expression: str) -> None:
    assert error("${{ " + expression + " }}") == (0, REFUSED[expression])


def test_a_hole_that_does_not_end_is_a_problem_at_its_place() -> None:
    assert error("ab ${{ vars.n") == (3, 'the expression does not end; "}}" is missing, or a quote or bracket before it is open')
    assert error("${{ vars.n }} ${{ (1") == (14, 'the expression does not end; "}}" is missing, or a quote or bracket before it is open')
    assert error("${{ (1 }}") == (0, "the expression cannot be read: unexpected '}', expected ')'")
    assert error("a: ${{ vars.brnd }}") == (3, 'variable "brnd" is not declared under vars; did you mean "brand"?')


def test_whitespace_control_is_refused() -> None:
    assert error("a ${{ vars.n -}} b") == (2, 'there is a "-" before the end of the expression; remove it')


def test_a_text_holds_so_many_expressions_and_no_more() -> None:
    assert value("${{ 1 }}" * 200) == "1" * 200
    assert error("${{ 1 }}" * 201) == (1600, "a text contains more than 200 expressions")


def test_all_texts_together_are_bounded() -> None:
    assert error("${{ vars.long }}" * 2) == (0, "a text is longer than 1,048,576 characters")


PLACES = {
    "a field": "    title: LITERAL\n",
    "a default": "    title: ${{ vars.brand }}\n",
    "an element of a default": "    title: ${{ vars.list[0] }}\n",
    "an environment": "    title: ${{ vars.given }}\n",
    "forEach": "    teams:\n      x:\n        forEach: [LITERAL]\n        title: ${{ each.value }}\n    title: Acme\n",
    "a key": "    sites: {docs: {title: Docs, adaptiveSchema: {type: object, properties: {LITERAL: {type: string}}}}}\n    title: Acme\n",
}


@pytest.mark.parametrize("text", ["${{ vars.x }}", "a ${{", "$${{", "${{ a }} $${{ b }}", "$$${{"])
@pytest.mark.parametrize("place", PLACES)
def test_a_literal_mark_can_be_written_everywhere(place: str, text: str, tmp_path: Path) -> None:
    escaped = json.dumps(text.replace("${{", "$${{"))
    names = f"vars: {{brand: {{default: {escaped}}}, list: {{default: [{escaped}]}}, given: {{default: x, enum: [x, {escaped}]}}}}\n"
    head = f"version: 1\nproject: test\n{names}organizations:\n  acme:\n    id: org_acme\n"
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "prod.yaml").write_text(f"vars: {{given: {escaped}}}\n", encoding="utf-8")
    (tmp_path / "reconciler.yaml").write_text(head + PLACES[place].replace("LITERAL", escaped), encoding="utf-8")
    resources = {str(at): declared.values for at, declared in load(tmp_path, kinds(), environment="prod").desired.resources.items()}
    match place:
        case "forEach":
            assert resources["acme/team/x"]["title"] == text
        case "a key":
            assert list(resources["acme/site/docs/adaptive-schema"]["jsonSchema"]["properties"]) == [text]
        case _:
            assert resources["acme"]["title"] == text


@pytest.mark.parametrize("default", ["['${{ vars.x }}']", "{a: '${{ vars.x }}'}", "'$${{ a }} ${{ b }}'"])
def test_a_default_never_contains_an_expression(default: str, tmp_path: Path) -> None:
    body = "organizations: {acme: {id: org_acme}}\n"
    text = f"version: 1\nproject: test\nvars: {{brand: {{default: {default}}}}}\n{body}"
    (tmp_path / "reconciler.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="default cannot contain an expression"):
        load(tmp_path, kinds())


def offset_of(text: str) -> int | None:
    """Where it fails, if it does."""
    try:
        EVALUATOR.scalar(text)
    except ExpressionError as raised:
        return raised.offset
    return None


ESCAPES = [
    "''.__class__.__mro__[1].__subclasses__()",
    "vars.__class__",
    "vars['__class__']",
    "vars.items.__self__",
    "file.__globals__",
    "file.run",
    "json.run.__globals__",
    "vars.brand.lower.run",
    "''.format",
    "'{0.__class__}'.format(1)",
    "''.format_map(vars)",
    "self",
    "self._TemplateReference__context",
    "loop",
    "lipsum.__globals__",
    "cycler",
    "joiner",
    "namespace()",
    "caller()",
    "super()",
    "varargs",
    "kwargs",
    "context",
    "environment",
    "vars.brand | attr('__class__')",
    "vars.list | map(attribute='__class__') | list",
    "dict()",
    "config",
    "[].append(1)",
    "vars.list.append(1)",
    "vars.map.update({})",
    "vars.map.pop('x')",
    "().__class__",
    "(1).__class__",
    "true.__class__",
    "vars.nothing.__class__",
    "vars.map.y.__class__",
    "json('{}').__class__",
    "'a'.encode()",
    "'a'.center(9)",
    "'a'.zfill(9)",
    "'a'.ljust(9)",
    "'a'.translate({})",
    "'a' | pprint",
    "'a' | format",
    "'a' | xmlattr",
    "'a' | safe",
    "'a' | wordwrap",
    "'a' | center(99999999)",
    "'a' | indent(99999999)",
    "_",
    "__import__('os')",
    "open('x')",
    "l_0_vars",
    "resolve",
    "undefined",
    "str_join",
    "(join)",
    "vars.brand | (join)",
]


@pytest.mark.parametrize("expression", ESCAPES)
def test_nothing_of_python_or_of_templates_is_in_reach(expression: str) -> None:
    error("${{ " + expression + " }}")


# -- taint -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "tainted"),
    [
        ("${{ vars.brand }}", "Acme", ()),
        ("${{ vars.secret }}", "s3cr3t", ("secret",)),
        ("${{ (vars['secret']) }}", "s3cr3t", ("secret",)),
        ("a ${{ vars.n }} ${{ vars['secret'] }}", "a 3 s3cr3t", ("secret",)),
        ("${{ vars.secret ~ 'x' }}", "s3cr3tx", ("secret",)),
        ("${{ 'Bearer ' + vars.secret }}", "Bearer s3cr3t", ("secret",)),
        ("${{ (vars.n + 1) ~ '-' ~ vars.secret ~ vars.secret }}", "4-s3cr3ts3cr3t", ("secret",)),
        ("${{ vars.brand | upper ~ ('(' + (vars.secret + ')')) }}", "ACME(s3cr3t)", ("secret",)),
        ("${{ file('a') ~ vars.list[0] ~ vars.secret }}", "<a>bs3cr3t", ("secret",)),
    ],
)
def test_a_secret_can_be_repeated_and_joined_with_texts(text: str, value: str, tainted: tuple[str, ...]) -> None:
    assert EVALUATOR.scalar(text) == (value, tainted)


CHANGED = (
    "an expression can repeat a value from the environment (secret) or join it with texts (~), and nothing else, as it may be a secret; "
    "if it is not, pass --public-var secret"
)


@pytest.mark.parametrize(
    "expression",
    [
        "file(vars.secret)", "vars.map[vars.secret]", "json(vars.secret)", "{'s3cr3t': 1}[vars.secret ~ 1]",
        "vars.secret == 'a'", "'a' if vars.secret else 'b'", "vars.secret if true else 1", "vars['sec' ~ 'ret']", "vars | length", "vars",
        "vars[vars.brand ~ ''] | default(1)", "json('{') if vars.secret[3] == 'a' else 'x'", "vars.secret[0]", "vars.secret[:2]",
        "vars.secret | first", "vars.secret.startswith('s')", "vars.secret | length", "vars.secret * 2", "vars.secret in 's3cr3t'",
        "vars.secret is defined", "not vars.secret", "vars.secret or 'x'", "vars.secret | default('x')", "vars.secret | upper",
        "[vars.secret]", "{'a': vars.secret}", "vars.secret ~ (1 if vars.secret else 2)", "1 / (vars.secret | length)", "vars.secret.x",
        "range(0, vars.secret | length)", "vars.brand.join(vars.secret)", "vars.brand | replace(vars.secret, '')",
        "vars.brand[vars.secret | length:]", "-vars.secret", "'a' ~ vars.secret[0]", "vars.secret < 'm'", "vars[0]",
    ],
)  # fmt: skip
def test_anything_else_over_a_secret_is_refused_in_words_that_depend_on_no_value(expression: str) -> None:
    texts, spent = [], []
    for secret in ("s3cr3t", "", "7", "a" * 5000, "{", "true"):
        evaluator = Evaluator(vars={**VARS, "secret": secret}, tainted={"secret"}, file=ProjectFiles(Path(__file__).parent))
        texts += [error(form.format(expression), evaluator) for form in ("${{{{ {} }}}}", "x ${{{{ {} }}}}")]
        spent.append(evaluator.work.spent)
    assert texts == [(0, CHANGED), (2, CHANGED)] * 6
    assert len({*spent[1:]}) == 1  # the first evaluation compiles the expression


def test_neither_a_limit_nor_the_work_depends_on_the_length_of_a_secret() -> None:
    near = "${{ file('long') ~ vars.secret }}"
    for length in (0, 1, 100, 5_000):
        evaluator = Evaluator(vars={"secret": "x" * length}, tainted={"secret"}, file=lambda _: "a" * (1024 * 1024 - 2_000))
        assert len(evaluator.scalar(near)[0]) == 1024 * 1024 - 2_000 + length
        assert len(evaluator.scalar(near.replace(" ~ ", " }}${{ "))[0]) == 1024 * 1024 - 2_000 + length
        over = Evaluator(vars={"secret": "x" * length}, tainted={"secret"}, file=lambda _: "a" * (1024 * 1024 - 100))
        assert error(near, over) == (0, "a text is longer than 1,048,576 characters")
    spent = []
    for length in (0, 1, 5_000):
        evaluator = Evaluator(vars={"secret": "x" * length}, tainted={"secret"})
        for text in ("${{ vars.secret }}", "${{ vars.secret ~ 'a' }}", "a${{ vars.secret }}"):
            evaluator.scalar(text)
        spent.append(evaluator.work.spent)
    assert len({*spent[1:]}) == 1  # the first evaluation compiles the expressions


def test_lists_and_maps_that_may_be_secret_are_repeated_whole() -> None:
    evaluator = Evaluator(vars={"secret": {"a": ["b"]}}, tainted={"secret"})
    assert evaluator.scalar("${{ vars.secret }}")[0] == {"a": ["b"]}
    for text in (
        "${{ vars.secret.a }}",
        "${{ vars.secret ~ '' }}",
        "a${{ vars.secret }}",
        "${{ vars.secret.a[0] }}",
        "${{ vars.secret + [] }}",
    ):
        assert error(text, evaluator)[1] == CHANGED


def test_placeholders_of_unset_variables_are_tracked_and_may_be_used_anyhow() -> None:
    assert Evaluator(vars={"a": "unknown.vars.a"}, unset={"a"}).scalar("${{ vars.a | upper }}")[1] == ("a",)


# -- bombs and noise ---------------------------------------------------------------------------------------------------------------


@given(st.text("${}'\" vars.nmap|()[]~+*%-01,:if else not\\\n", max_size=60))
def test_no_text_ends_in_anything_but_a_value_or_an_expression_error(text: str) -> None:
    for item in (text, "${{" + text + "}}", "a${{ " + text + " }}"):
        problems = offset_of(item)
        assert problems is None or item[problems:].startswith("${{")


BOMBS = {
    "powers": "'${{ ' + ' ** '.join(['9'] * 400) + ' }}'",
    "powers in brackets": "'${{ ((9 ** 9) ** 9) ** 9 }}'",
    "a text many times": "'${{ \"a\" * 9999999999 }}'",
    "a text many times in steps": "'${{ ' + 'vars.long | length * ' * 20 + '(\"a\" * 1000000 * 1000000) }}'",
    "a long text joined to itself": "'${{ ' + ' ~ '.join(['vars.long'] * 180) + ' }}'",
    "a list of long texts": "'${{ [' + ','.join(['vars.long'] * 180) + '] }}'",
    "slices of a long text": "'${{ [' + ','.join(['vars.long[1:]'] * 130) + '] }}'",
    "replacing every letter by a text": "'${{ vars.long | replace(\"x\", vars.long) }}'",
    "a text joined by a text": "'${{ vars.long.join(vars.long.split(\"x\")) }}'",
    "a text split many times": "'${{ [' + ','.join(['vars.long|split(\"x\")'] * 80) + '] }}'",
    "JSON of JSON": "'${{ vars.quotes' + '|tojson' * 50 + ' }}'",
    "JSON in depth": "'${{ json(vars.deep) }}'",
    "JSON in width, many times": "'${{ [' + ','.join(['json(vars.wide)'] * 110) + '] }}'",
    "a large list many times": "'${{ [' + ','.join(['vars.items'] * 150) + '] | tojson }}'",
    "sorting many times": "'${{ [' + ','.join(['vars.items|sort'] * 110) + '] }}'",
    "stripping a text by a text": "'${{ vars.long.strip(\"abcdefghij\" * 1000) }}'",
    "joining long texts": "'${{ vars.texts | join }}'",
    "the least of long texts": "'${{ vars.texts | min }}'",
    "sorting long texts": "'${{ vars.texts | sort }}'",
    "comparing long texts": "'${{ ' + ' and '.join(['vars.texts == vars.others'] * 60) + ' }}'",
    "looking for a text among long ones": "'${{ ' + ' or '.join(['vars.long in vars.others'] * 60) + ' }}'",
    "case many times": "'${{ vars.long' + '|upper|lower' * 29 + ' }}'",
    "a format with a width": "'${{ \"%999999999d\" % 1 }}'",
    "brackets": "'${{ ' + '(' * 900 + '1' + ')' * 900 + ' }}'",
    "brackets that never close": "'${{ ' + '[' * 1_000_000",
    "minus signs": "'${{ ' + '-' * 1900 + '1 }}'",
    "not, not": "'${{ ' + 'not ' * 480 + '1 }}'",
    "conditions": "'${{ ' + '1 if 0 else ' * 160 + 'x }}'",
    "attributes": "'${{ vars.map' + '.a' * 900 + ' }}'",
    "calls": "'${{ vars.map' + '()' * 900 + ' }}'",
    "a long number": "'${{ ' + '9' * 1990 + ' }}'",
    "a number to read": '\'${{ ("9" * 1000000)|int + json("9" * 1000000) }}\'',
    "many holes": "'${{ 1 }}' * 100_000",
    "many holes that never end": "'${{ (' * 200_000",
    "many literals": "'$${{' * 200_000 + '${{'",
    "an open quote": "'${{ \"' + 'a' * 1_000_000",
}
PROGRAM = """
from reconciler.config.language.bounds import ExpressionError
from reconciler.config.language.expressions import Evaluator
from tests.cage import confine
values = dict(
    long="x" * 2**20, quotes='"' * 100, deep="[" * 500_000, wide="[" + "[]," * 300_000 + "[]]", items=["abc"] * 100_000, map=dict(),
    texts=["x" * 2**19 + "y"] * 100_000, others=["x" * 2**19] * 50_000 + ["x" * 2**19 + "z"] * 50_000,
)
evaluator = Evaluator(vars=values)
evaluator.scalar("${{ 1 }}")
text = TEXT
confine()
try:
    evaluator.scalar(text)
except ExpressionError as error:
    print(error.message)
"""


@costly
@pytest.mark.parametrize("name", spread(list(BOMBS), 6))
def test_a_bomb_is_an_error_within_two_seconds_and_a_quarter_of_a_gigabyte(name: str) -> None:
    message = fresh(PROGRAM.replace("TEXT", BOMBS[name], 1))
    assert message.strip()
    assert "memory" not in message
