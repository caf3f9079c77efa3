"""`console`: what an expression of the project gives, in one shot, from a pipe and at a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest

from reconciler import exits
from tests.command_line import Cli

PROJECT = """\
version: 1
project: small
service: {member: ada@acme.example}
vars:
  brand: {default: Acme}
  langs: {default: [en, fr]}
  build: {env: RECONCILER_VAR_BUILD}
organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }}
    members: {ada@acme.example: admin}
    content: [{space: blank, id: spc_blank, title: Blank, template: true}]
"""


@pytest.fixture
def small(cli: Cli) -> Cli:
    cli.write("reconciler.yaml", PROJECT)
    cli.write("data/domains.json", '["acme.example"]')
    return cli


VALUES = [
    ("vars.brand", '"Acme"'),
    ('vars.brand ~ " guides"', '"Acme guides"'),
    ("${{ vars.brand }} guides", '"Acme guides"'),
    ("vars.langs | length", "2"),
    ("vars.langs", '["en", "fr"]'),
    ("vars.langs[1] | upper", '"FR"'),
    ("env.name", "null"),
    ('env.name == "production"', "false"),
    ('json(file("data/domains.json"))[0]', '"acme.example"'),
    ("range(1, 3)", "[1, 2]"),
    ("acme.title", '"Acme"'),
    ("acme/space/blank", '{"title": "Blank", "template": true}'),
    ("acme/member/ada@acme.example.role", '"admin"'),
    ("vars.build", "(no value)"),
]


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_a_value_is_printed_as_json(small: Cli, expression: str, value: str) -> None:
    shown = small("console", "--expression", expression, code=exits.DONE).stdout
    assert shown.split() == (value + "\n").split() or value.strip("{}") in shown


WRONG = [
    ("vars.brnd", 'variable "brnd" is not declared under vars; did you mean "brand"?'),
    ("brand", 'did you mean "vars.brand"?'),
    ("each.key", "each is only available inside forEach"),
    ('file("/etc/passwd")', "is outside the project"),
    ('file("../x")', "is outside the project"),
    ("acme/space/blnk", 'acme/space/blnk is not declared; did you mean "acme/space/blank"?'),
    ("acme/space/blank.titel", 'does not declare titel; did you mean "title"?'),
    ("1 +", "the expression cannot be read"),
    ('"a" * 100000000', "longer than"),
    ("secrets.x", "there are no secrets here"),
    ("().__class__", ""),
]


@pytest.mark.parametrize(("expression", "says"), WRONG)
def test_what_is_wrong_is_said_and_the_exit_code_is_3(small: Cli, expression: str, says: str) -> None:
    result = small("console", "-e", expression, code=exits.WRONG)
    assert says in result.stderr
    assert result.stdout == ""


def test_a_value_from_the_environment_is_hidden_unless_it_is_public(small: Cli) -> None:
    env = {"RECONCILER_VAR_BUILD": "swordfish"}
    assert small("console", "-e", "vars.build", env=env, code=exits.DONE).stdout == "(hidden)\n"
    assert small("console", "-e", 'vars.build ~ "x"', env=env, code=exits.DONE).stdout == "(hidden)\n"
    refused = small("console", "-e", "vars.build[0]", env=env, code=exits.WRONG)
    assert "swordfish" not in refused.stdout + refused.stderr
    assert "swordfish" not in small("console", "-e", "vars", env=env, code=exits.WRONG).stderr
    assert small("console", "-e", "vars.build", "--public-var", "build", env=env).stdout == '"swordfish"\n'


def test_secrets_are_not_decrypted(cli: Cli) -> None:
    from tests.docs.test_examples import EXAMPLES

    assert cli("console", EXAMPLES / "secrets", "-e", "secrets.billing.apiKey", code=exits.DONE).stdout == "(hidden)\n"
    shown = cli("console", EXAMPLES / "secrets", "-e", "example/integration/example-billing", code=exits.DONE).stdout
    assert '"secrets": "(hidden)"' in shown


def test_each_line_of_standard_input_is_an_expression(small: Cli) -> None:
    result = small("console", input="vars.brand\n\nvars.brnd\n1 + 1\nexit\n", code=exits.WRONG)
    assert result.stdout == '"Acme"\n2\n'
    assert result.stderr.count("error:") == 1


def test_a_long_session_does_not_reach_the_limits_of_one_project(small: Cli) -> None:
    lines = '("a" * 100000) | length\n' * 200
    assert small("console", input=lines, code=exits.DONE).stdout == "100000\n" * 200


def test_an_invalid_project_is_reported(small: Cli) -> None:
    small.edit("reconciler.yaml", "title: Blank", "titel: Blank")
    assert 'did you mean "title"?' in small("console", "-e", "1", code=exits.WRONG).stderr


def test_at_a_terminal_names_are_completed_and_lines_are_remembered(small: Cli) -> None:
    """Typed into a pseudo-terminal, as a person does it: `vars.br<Tab>`, then the line before by the arrow, then Ctrl-D."""
    pytest.importorskip("readline")
    home = small.root / "home"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "TERM": "xterm", "LANG": "C.UTF-8"}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "reconciler", "console"], cwd=small.root, env=env, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = ""

    def until(text: str) -> None:
        nonlocal shown
        start, end = len(shown), time.monotonic() + 60
        while text not in shown[start:]:
            assert time.monotonic() < end, shown
            if select.select([ours], [], [], 1)[0]:
                shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(ours, 4096).decode(errors="replace"))

    try:
        until("> ")
        os.write(ours, b"vars.br\t | upper\n")
        until('"ACME"')
        os.write(ours, b"acme/space/bl\t.title\n")
        until('"Blank"')
        os.write(ours, b"\x1b[A\x1b[A\n")
        until('"ACME"')
        os.write(ours, b"exit\n")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        os.close(ours)
    history = home / ".config" / "reconciler" / "console_history"
    assert "vars.brand | upper" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0
