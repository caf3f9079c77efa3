"""Fuzz targets that take a text: YAML, expressions, addresses, the layout of files, baselines, what reports print."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from reconciler.address import Address, Glob
from reconciler.config.keys import TOP
from reconciler.config.language.expressions import Evaluator, ExpressionError
from reconciler.config.source.reader import read
from reconciler.errors import ReconcilerError
from reconciler.features.drift.run import baselines
from reconciler.kinds import load
from reconciler.model import Action, StepStatus
from reconciler.report.formats.html import html
from reconciler.report.formats.markdown import markdown
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import Sheet
from reconciler.text.escape import is_plain
from reconciler.yamltext.format import document, layout
from tests.config.corpus import GOOD
from tests.report.made import change, delta, outcome, plan, plan_text, result
from tests.report.test_pages import Tags

SOURCES = tuple(file.read_text(encoding="utf-8") for project in GOOD for file in sorted(project.rglob("*.yaml")))
SCRAPS = (
    "", " ", "\n", "\t", ":", ": ", "- ", "? ", "{", "}", "[", "]", ",", "'", '"', "|", ">", "|-", "#", " #", "---\n", "...\n", "%YAML 1.1\n", "&a ", "*a ", "!!int ",
    "! ", "<<: ", "null", "~", "true", "007", "1e999", ".nan", "x" * 300, "${{", "}}", "${{ vars.a }}", "$${{", "\u2028", "\ufeff", "\0", "\u202e", "\x1b[31m", "é", "📘",
    "\r", "\r\n", "\\", "\\u202e", "\ud800", "<script>", "</pre>", "```", "@all", "-->", "&amp;", "::error::", "%0A", "|", "`", "![x](http://evil.example)",
)  # fmt: skip
CHARACTERS = "abc01 .:/*-_@{}[]()'\"|~%+,<>=!#&\n\\$é\u202e\x1b\0"
WORDS = (
    "vars", "vars.a", "vars.list", "env.name", "each", "file", "json", "(", ")", "[", "]", "{", "}", ".", ",", "|", "~", "+", "-", "*", "**", "/", "//", "%", "==", "<", "in",
    "not", "and", "or", "if", "else", "is", "defined", "none", "true", "1", "0", "'a'", '"', "'", "upper", "join", "tojson", "length", "default", "__class__", "${{", "}}", " ",
)  # fmt: skip
EVALUATOR = Evaluator(vars={"a": "text", "list": [1, 2, 3], "map": {"k": "v"}, "secret": "s3cr3t"}, tainted={"secret"})
SHAPE = document(load(), TOP)
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def edited(rng: random.Random, text: str) -> str:
    """The text with some of it cut out, doubled, or replaced by scraps."""
    for _ in range(rng.randint(1, 5)):
        start = rng.randint(0, len(text))
        match rng.randrange(3):
            case 0:
                text = text[:start] + rng.choice(SCRAPS) + text[start + rng.randint(0, 20) :]
            case 1:
                text = text[:start] + text[start : start + rng.randint(0, 60)] * rng.randint(0, 3) + text[start:]
            case _:
                text = text[:start] + text[start + rng.randint(0, 200) :]
    return text


def scribble(rng: random.Random, longest: int) -> str:
    """A text of characters and scraps that mean something somewhere."""
    return "".join(rng.choice(SCRAPS) if rng.random() < 0.3 else rng.choice(CHARACTERS) for _ in range(rng.randint(0, longest)))


def yaml_text(rng: random.Random) -> None:
    """The reader gives nodes, or problems of one line that stand somewhere."""
    text = edited(rng, rng.choice(SOURCES)[: rng.randint(1, 1_500)]) if rng.random() < 0.7 else scribble(rng, 60)
    found = read(text.encode("utf-8", "surrogatepass"), "a.yaml")
    assert found.data is not None or found.problems
    for problem in found.problems:
        assert (problem.line >= 1 and problem.column >= 1) or "this file is empty" in problem.message, problem
        assert "\n" not in problem.message


def expression(rng: random.Random) -> None:
    """An expression gives a value, or an error at one of its holes that shows no secret."""
    inside = "".join(rng.choice(WORDS) for _ in range(rng.randint(1, 14))) if rng.random() < 0.8 else scribble(rng, 30)
    text = f"{rng.choice(('', 'a '))}${{{{ {inside} }}}}{rng.choice(('', ' b'))}"
    try:
        EVALUATOR.scalar(text)
    except ExpressionError as error:
        assert text[error.offset :].startswith("${{")
        assert "s3cr3t" not in error.message


def address(rng: random.Random) -> None:
    """An address or a glob is what it prints, or a ValueError in one printable sentence."""
    parts = ("acme", "space", "site", "docs", "*", "**", "a*b", "", ".", "..", "É", "x" * 101, "\0", "a b", "-", "@")
    text = "/".join(rng.choice(parts) for _ in range(rng.randint(0, 7))) if rng.random() < 0.8 else scribble(rng, 20)
    for form in (Address, Glob):
        try:
            assert str(form.parse(text)) == text
        except ValueError as error:
            assert "\n" not in str(error)
    try:
        glob, name = Glob.parse(text), Address.parse("acme/site/docs/section/guides")
    except ValueError:
        return
    glob.matches(name)


def file_layout(rng: random.Random) -> None:
    """Laying out twice is laying out once, and what the file says stays."""
    text = edited(rng, rng.choice(SOURCES)[: rng.randint(1, 800)])
    if read(text.encode("utf-8", "surrogatepass"), "a.yaml").problems:
        return  # such a file is never laid out
    try:
        made = layout(text, SHAPE)
    except (ReconcilerError, yaml.YAMLError):
        return
    assert layout(made, SHAPE) == made


def baseline(rng: random.Random) -> None:
    """A baseline is read, or wrong at a place."""
    calm = "known:\n  - {address: acme/space/a, field: title, reason: known, until: 2027-01-01}\n  - {address: 'acme/**', reason: b}\n"
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        file = Path(folder) / "b.yaml"
        file.write_bytes(edited(rng, calm).encode("utf-8", "surrogatepass"))
        try:
            baselines.read(file)
        except ReconcilerError as error:
            assert str(error)


def report(rng: random.Random) -> None:
    """Nothing in a report is markup, or moves a cursor, but what the report itself means."""
    text = scribble(rng, 40)
    made = plan(change("acme/space/a", Action.UPDATE, fields=(delta("title", text, text[::-1]),), title=text, reason=text), notes=(text,))
    assert all(is_plain(one) or one == "\n" for one in "".join(part for _, part in plan_text(made, width=80)))
    for sheet in (plan_sheet(made), outcome_sheet(outcome(result(1, "acme/team/a", StepStatus.FAILED, text)))):
        _pages(sheet)


def _pages(sheet: Sheet) -> None:
    page = html(sheet, created_at=NOW)
    tags = Tags(page)
    assert (tags.open, tags.links) == ([], [])
    assert not tags.names & {"script", "link", "img", "iframe", "object", "form"}
    shown = markdown(sheet)
    outside = re.sub(r"(?ms)^(`{3,})[^\n]*\n.*?^\1$", "", shown)
    assert not re.search(r"<script|@all|\]\(http|^::", outside, re.MULTILINE), outside
    assert all(is_plain(one) or one == "\n" for one in page + shown)
