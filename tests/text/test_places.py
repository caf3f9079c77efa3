"""A text of strangers is escaped for the place where it is printed: what each place obeys, and that each writer uses its own."""

from __future__ import annotations

import ast
import html
import re

import pytest

from reconciler.text import escape
from reconciler.text.escape import PLACES
from tests.hostile.titles import TITLES
from tests.sources import PACKAGE, dotted, nodes, package

ORDERS = (
    "[skip ci]", "[ci skip]", "[no ci]", "[SKIP CI]", "[skip-ci]", "[ci-skip]", "[skip actions]", "[actions skip]",
    "[skip netlify]", "[skip azp]", "***NO_CI***", "--skip-ci", "Fixes #1", "closes: #12", "Resolves acme/docs#7", "fix GH-3",
    "Closes https://github.com/acme/docs/issues/1", "Implements PROJ-9", "(closed #4)", "@owners", "@acme/docs",
    "hello @everyone", "/merge", "/approve", "!12", "see &3 and $4", "[issue:12]", "fixes #1, #2 and #3", "#close ABC-1",
    "Closes issue https://gitlab.example/acme/docs/-/issues/1", "Closes issues PROJ-1", "completes ENG-12", "see GH-12",
    "https://gitlab.example/acme/docs/-/issues/1", "[epic:acme/12]", "[work_item:7]",
)  # fmt: skip
OBEYED = re.compile(
    r"\[(ci|no|skip)[ _-](ci|skip|actions|netlify|azp)\]|\[actions skip\]|\*\*\*NO_CI|--skip-ci|(?<!\w)@\w|#\d|^/\w|[!&$]\d|\[\w+:"
    r"|\b(clos(e[sd]?|ing)|complet(e[sd]|ing)|fix(e[sd]|ing)?|resolv(e[sd]?|ing)|implement(s|ed|ing)?):?\s+(issues? )?([A-Z]+-\d|\S*#\d)"
    r"|https?://\S|GH-\d",
    re.IGNORECASE,
)
CALLS = (
    "@everyone", "hi @here!", "x@everyone", "<!channel>", "<!here|here>", "<@U123>", "<@&99>", "<#C1>", "@all", "@channel",
    "@ada", "https://evil.example/login", "[click](https://evil.example)", "[click](mailto:a@evil.example)",
    "<https://evil.example|click>", "![x](http://evil.example/x.png)", "[x]: http://evil.example", "www.evil.example",
    "<mailto:a@evil.example>", "<at>Ada</at>",
)  # fmt: skip
CALLED = re.compile(r"(?<!\w)@\S|@(everyone|here|channel|all\b)|<\S|://|\]\(|\]:|www\.\w", re.IGNORECASE)

REFERENCE = re.compile(r"(?<!\w)@\w|[#!~&]\w|(?<!\S)[$%][\w\"]|GH-\d|[\[*]\w+:|://|www\.", re.IGNORECASE)


@pytest.mark.parametrize("text", [*ORDERS, *CALLS, "%12", '%"next"', "*iteration:4", "~label", "[vulnerability:1]"])
def test_no_forge_finds_a_reference_in_what_a_comment_shows(text: str) -> None:
    shown = html.unescape(escape.markdown(text))
    assert REFERENCE.search(shown) is None, shown
    assert shown.replace("\u200b", "") == text


@pytest.mark.parametrize(
    "text", ["Guides & more", "ada@acme.example", "C# and F#", "a [b] c", "50 % off!", "fixes typos", "sites/docs.yaml:4", "x - y"]
)
def test_ordinary_titles_are_unchanged_in_commits(text: str) -> None:
    assert escape.commit(text) == text


@pytest.mark.parametrize("place", PLACES)
def test_no_place_gets_a_second_line_or_an_invisible_character(place: str) -> None:
    for title in TITLES:
        shown = PLACES[place](title) if place != "log" else escape.log(escape.terminal(title))
        assert not {"\n", "\x1b", "\u202e"} & set(shown), (place, title)


WRITERS = {
    "report/formats/markdown.py": {"markdown", "terminal", "log"},
    "report/formats/html.py": {"html"},
    "report/formats/figures.py": {"html"},
    "report/graph.py": {"mermaid", "dot"},
    "report/formats/annotations.py": {"github", "github_property", "uri", "xml"},
    "features/urls/report/ledger.py": {"xml", "terminal"},
    "features/testing/report.py": {"xml"},
    "report/formats/brief.py": {"log", "terminal"},
    "report/formats/spreadsheet.py": {"spreadsheet"},
    "features/drift/accepted.py": {"commit"},
    "fleet/notices/events.py": {"chat"},
    "features/forges/pipeline/results.py": {"github", "terminal"},
    "cli/terminal/screen.py": {"log", "terminal"},
    "cli/terminal/log.py": {"log", "terminal"},
    "interface/results.py": {"log"},
    "cli/commands/config.py": {"log", "terminal"},
}
"""The places that the texts of each writer go to; every other one writes for a terminal."""


def used(path: str) -> set[str]:
    """The places that a module escapes for."""
    names: dict[str, str] = {}
    found = set()
    for node in nodes(PACKAGE / path):
        if isinstance(node, ast.ImportFrom) and node.module == "reconciler.text.escape":
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        if isinstance(node, ast.Attribute) and dotted(node).startswith("escape.") and node.attr in PLACES:
            found.add(node.attr)
    return found | {name for name in names.values() if name in PLACES}


def test_every_writer_escapes_for_its_own_place() -> None:
    paths = [path.relative_to(PACKAGE).as_posix() for path in package()]
    writers = {
        path: places
        for path in paths
        if path != "text/escape.py" and not path.startswith("sandbox/") and (places := used(path)) - {"terminal"}
    }
    assert writers == WRITERS
