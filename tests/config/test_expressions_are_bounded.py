"""Expressions reach nothing in Python, show no secret and never run long."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from reconciler.config.language.bounds import ExpressionError
from reconciler.config.language.expressions import Evaluator
from reconciler.config.language.files import ProjectFiles
from tests.cage import fresh
from tests.config.test_expressions import EVALUATOR, VARS, error
from tests.proofs import spread


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
    assert (EVALUATOR.scalar(text).value, EVALUATOR.scalar(text).tainted) == (value, tainted)


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
        assert len(evaluator.scalar(near).value) == 1024 * 1024 - 2_000 + length
        assert len(evaluator.scalar(near.replace(" ~ ", " }}${{ ")).value) == 1024 * 1024 - 2_000 + length
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
    assert evaluator.scalar("${{ vars.secret }}").value == {"a": ["b"]}
    for text in (
        "${{ vars.secret.a }}",
        "${{ vars.secret ~ '' }}",
        "a${{ vars.secret }}",
        "${{ vars.secret.a[0] }}",
        "${{ vars.secret + [] }}",
    ):
        assert error(text, evaluator)[1] == CHANGED


def test_placeholders_of_unset_variables_are_tracked_and_may_be_used_anyhow() -> None:
    evaluator = Evaluator(vars={"a": "unknown.vars.a"}, unset={"a"})
    assert evaluator.scalar("${{ vars.a | upper }}").tainted == ("a",)


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


@pytest.mark.parametrize("name", spread(list(BOMBS), 6))
def test_a_bomb_is_an_error_within_two_seconds_and_a_quarter_of_a_gigabyte(name: str) -> None:
    message = fresh(PROGRAM.replace("TEXT", BOMBS[name], 1))
    assert message.strip()
    assert "memory" not in message
