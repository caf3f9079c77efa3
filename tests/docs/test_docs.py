"""What the docs say can be typed and found: commands with their options, functions behind links, tables made from declarations."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from docs.commands import COMMON, listed as commands_of_program, options as options_of
from docs.generate import PAGES as PAGES_OF_CODE, SITE
from reconciler.cli.option_table import ROWS
from reconciler.cli.other_words import ALIASES
from tests import browser
from tests.docs import pictures
from tests.docs.pictures import FOLDER, PICTURES, SIZE_MAX

ROOT = Path(__file__).parents[2]
BUILT = {ROOT / "docs" / name: page for name, page in SITE.items()}
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *BUILT])
"""Those of the repository, and those that only the site has."""
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))
SHELL = ("sh", "bash", "console", "shell")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def text_of(page: Path) -> str:
    """The text of a page."""
    return BUILT[page]() if page in BUILT else page.read_text(encoding="utf-8")


def fenced(text: str) -> Iterator[tuple[str, str]]:
    """The blocks of code of a page: language and content."""
    for block in re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, flags=re.DOTALL | re.MULTILINE):
        yield block[2], block[3]


def commands() -> list[tuple[str, str]]:
    """Every `reconciler …` that a page or an example tells people to type: where it stands, and the line."""
    found = []
    for page in PAGES:
        text = text_of(page)
        lines = [line.strip() for language, block in fenced(text) if language in SHELL for line in block.splitlines()]
        lines += re.findall(r"`(reconciler [^`]+)`", re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE))
        found += [(relative(page), part) for line in lines for part in parts(line)]
    for example in EXAMPLES:
        lines = re.findall(r"^#.*?(reconciler [^#\n]+)", example.read_text(encoding="utf-8"), flags=re.MULTILINE)
        found += [(relative(example), part) for line in lines for part in parts(line)]
    return sorted(set(found))


def parts(line: str) -> list[str]:
    """The calls of reconciler in a line of shell."""
    calls = [call.strip().removeprefix("$ ").removeprefix(".venv/bin/") for call in re.split(r"&&|\|\||;|\|", line.split(" #")[0])]
    return [call for call in calls if call.startswith("reconciler ") and re.match(r"reconciler (--?)?[a-z]", call)]


def words(call: str) -> list[str]:
    """The arguments of a call, without where its output goes."""
    return shlex.split(re.sub(r" +2?>.*| +&$| {2,}\(.*", "", call))[1:]


def unknown(call: str) -> str | None:
    """What of a call does not exist, None where all of it does."""
    from reconciler.assembled import main

    command: click.Command = main
    context = click.Context(main, info_name="reconciler")
    options: dict[str, click.Parameter] = {name: each for each in main.get_params(context) for name in each.opts}
    rest = words(call)
    if rest[:1] and rest[0] in ALIASES:
        return None
    for index, word in enumerate(rest):
        if word == "--":  # what follows is for another command
            return None
        if word.startswith("-"):
            name = word.partition("=")[0]
            if name not in options and name not in context.help_option_names:
                return f"{command.name} has no option {name}"
        elif isinstance(command, click.Group):
            inner = command.get_command(context, word)
            if inner is None:
                return f"{command.name} has no command {word}"
            command, context = inner, click.Context(inner, info_name=word, parent=context)
            options |= {name: each for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)}
            if not isinstance(inner, click.Group):
                return unparsed(inner, context, rest[index + 1 :])
    return None


def unparsed(command: click.Command, context: click.Context, arguments: list[str]) -> str | None:
    """What click says of the arguments of a command, None where it can parse them. The values themselves are not looked at."""
    if any("…" in argument or "$(" in argument for argument in arguments):
        return None
    try:
        _, extra, _ = command.make_parser(context).parse_args(arguments)
    except click.UsageError as error:
        return error.format_message()
    return f"too many arguments: {extra}" if extra else None


def test_every_command_in_the_docs_exists_with_its_options() -> None:
    assert [f"{where}: {call}: {wrong}" for where, call in commands() if (wrong := unknown(call)) is not None] == []


def test_a_command_that_does_not_exist_would_be_found() -> None:
    assert unknown("reconciler aply") is not None
    assert unknown("reconciler plan --no-such-option") is not None
    assert unknown("reconciler plan docs more") is not None
    assert unknown("reconciler plan --env") is not None
    assert unknown("reconciler plan examples/acme") is None


def defined(path: Path) -> set[str]:
    """The names that a module defines or gives on."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def test_a_name_that_links_to_a_module_is_defined_there() -> None:
    wrong = []
    for page in PAGES:
        for name, target in re.findall(r"\[`(\w+)`\]\(([^)#\s]+\.py)\)", text_of(page)):
            path = (page.parent / target).resolve()
            if name not in {path.parent.name if path.stem == "__init__" else path.stem, *defined(path)}:
                wrong.append(f"{relative(page)}: {name} in {target}")
    assert wrong == []


@pytest.mark.parametrize("name", PAGES_OF_CODE)
def test_a_page_of_the_reference_is_generated_from_the_code(name: str) -> None:
    page = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert PAGES_OF_CODE[name]() == page, "run: python -m docs.generate"


def test_the_reference_of_commands_says_what_several_commands_have_once() -> None:
    page = SITE["reference/commands.md"]()
    listing = PAGES_OF_CODE["options.md"]()
    for row in ROWS:
        assert page.count(f"| {row.settings['help']}") == 1, row.name
        assert listing.count(f"| {row.settings['help']}") == (row.group != "output" or f"--{row.name}" in COMMON), row.name
    assert "[environment and variables](#environment-and-variables), [connection and state](#connection-and-state).\n" in page


def test_the_listing_of_options_has_every_command_and_option_in_at_most_400_lines() -> None:
    listing = PAGES_OF_CODE["options.md"]()
    assert len(listing.splitlines()) <= 400
    missing = []
    for command, context in commands_of_program():
        path = context.command_path.removeprefix("reconciler ")
        section = listing.partition(f"\n## {path}\n")[2].partition("\n## ")[0]
        common = listing.partition("\n## init\n")[0]
        names = [name for option in options_of(context) for name in option.opts]
        missing += [f"{path} {name}" for name in names if not re.search(rf"(?<![\w-]){name}(?![\w-])", section + common)]
        assert section, command.name
    assert missing == []


def test_every_decision_has_a_number_of_its_own() -> None:
    numbers = [(page.name[:4], page.read_text(encoding="utf-8")[:6]) for page in (ROOT / "docs" / "decisions").glob("*.md")]
    assert [(name, title) for name, title in numbers if title != f"# {name}"] == []
    assert len(dict(numbers)) == len(numbers)


DECISIONS = ROOT / "docs" / "decisions"
FIRST = DECISIONS / "0000-which-to-read-first.md"


def test_a_superseded_decision_is_one_line_that_leads_to_the_one_that_holds() -> None:
    superseded = {page.name: page.read_text(encoding="utf-8").splitlines() for page in DECISIONS.glob("*.md")}
    superseded = {name: lines for name, lines in superseded.items() if any(line.lstrip("*").startswith("Superseded") for line in lines)}
    assert superseded
    assert {name: lines for name, lines in superseded.items() if len(lines) != 3 or not lines[2].startswith("Superseded by [")} == {}


def test_ten_decisions_are_read_first_and_every_other_one_is_linked_from_its_feature_or_by_its_area() -> None:
    text = FIRST.read_text(encoding="utf-8")
    first = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", text.partition("\nThe decisions of a feature")[0])
    assert len(set(first)) == 10
    linked = {*re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", text)}
    for page in (ROOT / "reconciler").rglob("README.md"):
        linked |= {*re.findall(r"decisions/(\d{4}-[\w-]+\.md)", page.read_text(encoding="utf-8"))}
    valid = {page.name for page in DECISIONS.glob("*.md") if "\nSuperseded by [" not in page.read_text(encoding="utf-8")} - {FIRST.name}
    assert sorted(valid - linked) == [], "link it from the README of its feature, or in 0000-which-to-read-first.md"
    assert sorted(linked - valid) == []


def test_every_word_of_a_declaration_is_in_its_decision_note() -> None:
    from reconciler import resource as vocabulary

    page = (ROOT / "docs" / "decisions" / "0001-kinds-are-declarations.md").read_text(encoding="utf-8")
    missing = []
    vocabulary_of_fields = ("field", "within", "one_per", "inside", "member_of", "choice", "first", "seed", "output")
    for name in ("Keyed", "ListItem", "SingleValue", "Listing", "Sighting", "One", *vocabulary_of_fields):
        assert hasattr(vocabulary, name)
        if f"{name}(" not in page:
            missing.append(name)
    words = {*vocabulary.Verb.__dataclass_fields__, *vocabulary.Field.__dataclass_fields__}
    of_one_role = {"to", "cascade", "one_per", "flag", "child_field", "join", "leave", "label", "copies"}  # parameters of those functions
    optional = words - of_one_role - {"method", "path", "name", "doc", "type", "role", "digest_key", "secrets"}
    missing += sorted(word for word in optional if re.search(rf"`(field\()?{word}\b", page) is None)
    assert missing == []


def test_nothing_in_the_docs_names_a_place_outside_the_repository() -> None:
    outside = re.compile(r"(?<![\w/.])/(?:work|home|root|tmp|opt|Users)/[\w./-]*")
    assert [(relative(page), place) for page in PAGES for place in outside.findall(text_of(page))] == []


def test_every_picture_of_a_page_is_made_by_the_script_is_small_and_has_a_text() -> None:
    files = {path.stem: path for path in FOLDER.iterdir()}
    assert set(files) == set(PICTURES), "run: python -m tests.docs.pictures"
    assert [path.name for path in files.values() if path.stat().st_size > SIZE_MAX] == []
    shown = re.compile(r"!\[([^\]]*)\]\((?:\.\./)?pictures/(\w+)\.png\)")
    texts = {name: text for page in PAGES for text, name in shown.findall(text_of(page))}
    assert texts.keys() == files.keys()
    assert all(len(text) > 40 for text in texts.values())


@pytest.mark.proof
def test_the_pictures_of_pages_can_be_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser.program()
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    pictures.main()
    assert all((tmp_path / f"{name}.png").stat().st_size > 20_000 for name in PICTURES)
