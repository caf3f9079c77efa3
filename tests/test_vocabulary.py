"""What people read is plain English: pages, help texts, messages, docstrings and names of tests contain no phrase of the list that
readers would have to decipher.

The list bans meanings, not words: "holds a lock", "in place" and "make a request" are good English. What a page, an option or a message may
say all the same is in `ALLOWED`, with the reason.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from tests.sources import ROOT, nodes, package

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "reconciler").rglob("README.md")])
TESTS = sorted((ROOT / "tests").rglob("*.py"))
BANNED: Final = {
    # a phrase: what to write instead
    r"\bshall\b": "must, should",
    r"\banew\b": "again; recreate",
    r"\bafresh\b": "again",
    r"\blet(s|ting)? go\b": "stop managing; no longer managed",
    r"\b(goes|go|going|comes|come|take[ns]?|taking) (it |them |this )?along\b": "is deleted with; includes",
    r"\b(stand|stands|stood) (in|elsewhere|there|beside|behind|below|within|only|at|on|alone)\b": "is in, is defined in; is at",
    r"\b(is|are|was|were|not|stay|stays|already) bound\b|\bbound (to|by|already|there|twice|objects?|resources?)\b": "tracked",
    r"\b(deleted|changed|moved|edited|renamed) outside\b(?! Reconciler| any)": "outside Reconciler",
    r"\b(strayed|meddled)\b": "changed outside Reconciler",
    r"\btells? (of|how|that|only|which|what|the rest)\b|\b(is|are|was) told\b": "shows, reports, lists",
    r"\b(cannot|can|could not) be told (?!apart|from)": "is unknown",
    r"\bmay have landed\b": "in doubt",
    r"\bword of consent\b|\bagrees? to\b": "consent, allow",
    r"\b(?<!you )wants? (a|an|the|consent|at least|something|that|leave)\b": "requires",
    r"\bwhat (becomes|became|has become) of\b": "what happens to, what happened to",
    r"\b(that|what|which|it|one|already|not|and) is(?: not)? there\b(?! is| are)|\bis not there\b|\bare not there\b": "exists",
    r"\bin peace\b": "without an interruption",
    r"\b(?<!there )(?<!There )is no (?!longer\b|more\b|such\b|way\b|need\b|reason\b)[a-z]": "is not a",
    r"\bis gone\b|\bare gone\b": "no longer exists, was deleted",
    r"\b(is|are|it) (as|where) (it|they) (is|was|were|are)\b|\bstays? (as|where) (it|they) (is|are|was)\b": "is unchanged, was not changed",
    r"\bhalf a character\b": "an incomplete character",
    r"\bwhose token (it|this) is\b": "the owner of the token",
    r"\bpublic address(es)?\b": "published URL",
    r"\bnobody declared\b": "unmanaged",
    r"\bafter all (that|is)\b|\bso much\b": "say it plainly",
}
ALLOWED: Final[dict[str, str]] = {}


def phrases(text: str) -> list[str]:
    """The banned phrases of a text, with what to write instead."""
    text = re.sub(r"\s+", " ", text)
    return [
        f"{match[0]!r} in {text[max(match.start() - 50, 0) : match.end() + 30]!r}: write {instead!r}"
        for pattern, instead in BANNED.items()
        for match in re.finditer(pattern, text)
        if not any(allowed in text and match[0] in allowed for allowed in ALLOWED)
    ]


def prose(page: Path) -> str:
    """A page without its blocks of code and its inline code."""
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`", "``", re.sub(r"\]\([^)]*\)", "]", text))


def literals(module: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that contain a space, with their lines. Docstrings are left out, and so are the values in f-strings."""
    texts = [node for node in nodes(module) if isinstance(node, ast.Expr | ast.JoinedStr | ast.Constant)]
    documentation = {id(node.value) for node in texts if isinstance(node, ast.Expr)}
    parts = {id(part) for node in texts if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in texts:
        if id(node) in documentation or id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield node.lineno, text


def documentation(module: Path) -> Iterator[tuple[int, str]]:
    """The docstrings and the comments of a module, with their lines."""
    for node in nodes(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(module.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command of the program, by what is typed for it."""
    from reconciler.assembled import main

    waiting: list[tuple[str, click.Command]] = [("reconciler", main)]
    while waiting:
        name, command = waiting.pop()
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name)
            for word in command.list_commands(context):
                inner = command.get_command(context, word)
                assert inner is not None
                waiting.append((f"{name} {word}", inner))


def test_every_page_is_plain_english() -> None:
    assert [f"{page.relative_to(ROOT)}: {phrase}" for page in PAGES for phrase in phrases(prose(page))] == []


def test_the_messages_of_every_module_are_plain_english() -> None:
    texts = [(module, line, text) for module in package() for line, text in literals(module)]
    assert [f"{module.relative_to(ROOT)}:{line}: {phrase}" for module, line, text in texts for phrase in phrases(text)] == []


def test_the_docstrings_and_comments_of_every_module_are_plain_english() -> None:
    texts = [(module, line, text) for module in package() for line, text in documentation(module)]
    assert [f"{module.relative_to(ROOT)}:{line}: {phrase}" for module, line, text in texts for phrase in phrases(text)] == []


def test_the_names_of_the_tests_are_plain_english() -> None:
    # By their lines: parsing all tests takes longer than to run most of them.
    names = [
        (module, name) for module in TESTS for name in re.findall(r"^ *(?:async )?def (test_\w+)", module.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(names) > 3_000
    assert [f"{module.relative_to(ROOT)}: {phrase}" for module, name in names for phrase in phrases(name.replace("_", " "))] == []


def test_the_article_before_the_name_of_a_kind_follows_from_the_name() -> None:
    strings = [(module, node) for module in package() for node in nodes(module) if isinstance(node, ast.JoinedStr)]
    wrong = [
        f"{module.relative_to(ROOT)}: {ast.unparse(value)}"
        for module, text, value in [(module, *pair) for module, node in strings for pair in itertools.pairwise(node.values)]
        if isinstance(text, ast.Constant) and isinstance(value, ast.FormattedValue) and re.search(r"\ban? $", str(text.value))
        if re.fullmatch(r"(\w+\.)*kind(\.name)?", ast.unparse(value.value))
    ]
    assert wrong == []  # write {a(kind.name)}


def test_help_texts_are_plain_english_and_complete() -> None:
    wrong: list[str] = []
    for name, command in commands():
        texts = {"": command.help or "", " (short)": command.get_short_help_str(200)}
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                texts[f" {parameter.opts[-1]}"] = parameter.help or ""
        for what, text in texts.items():
            wrong += [f"{name}{what}: {phrase}" for phrase in phrases(text)]
            if not text.strip():
                wrong.append(f"{name}{what} has no help text")
            elif re.match(r"[A-Z]", text) is None or not re.search(r"[.\])…]$", text.split("\n\n")[0].strip()):
                wrong.append(f"{name}{what} is no sentence: {text[:60]!r}")
    assert wrong == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Write down how your organization shall be",
        "it is let go of and stays as it is",
        "says what goes along with it",
        "acme/team/writers is bound to team_1 already",
        "12 objects were deleted outside",
        "the request may have landed",
        "a list stands in one file",
        "a request that wants a token",
        "reconciler apply reads what became of it",
        "the space is not there",
    ],
)
def test_a_phrase_of_the_list_is_found(sentence: str) -> None:
    assert phrases(sentence) != []


@pytest.mark.parametrize(
    "sentence",
    [
        "the run holds a lock on the state",
        "the anchor is in place",
        "make a request",
        "it was deleted outside Reconciler",
        "there is no token for the service",
        "the two cannot be told apart",
        "it is no longer managed",
    ],
)
def test_good_english_is_not_found(sentence: str) -> None:
    assert phrases(sentence) == []
