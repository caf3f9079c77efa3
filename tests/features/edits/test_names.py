"""The index of names: what is named where in the files of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.features.edits.names import NameIndex, NameRole, NameSort, Occurrence, names_of
from reconciler.features.edits.texts import project_texts
from tests.harness import kinds

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def acme() -> NameIndex:
    return names_of(project_texts(EXAMPLES / "acme", kinds()))


def text_of(names: NameIndex, occurrence: Occurrence) -> str:
    span = occurrence.span
    return names.texts.files[span.file].text.split("\n")[span.line - 1][span.column - 1 : span.end - 1]


def cursor(names: NameIndex, file: str, text: str) -> tuple[str, int, int]:
    """The position of the first `|` that would split a line of a file as the text has it."""
    before = text.partition("|")[0]
    at = names.texts.files[file].text.index(text.replace("|", "")) + len(before)
    return (file, *names.texts.files[file].source(at)[1:])


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if (path / "reconciler.yaml").is_file()))
def test_every_literal_occurrence_is_at_its_span(name: str) -> None:
    names = names_of(project_texts(EXAMPLES / name, kinds()))
    for occurrence in names.occurrences:
        if occurrence.literal and occurrence.role in (NameRole.DEFINITION, NameRole.KEY) and occurrence.sort is NameSort.RESOURCE:
            assert text_of(names, occurrence).casefold() == occurrence.name.rpartition("/")[2].casefold(), occurrence


def test_a_reference_leads_to_the_line_that_declares_it(acme: NameIndex) -> None:
    (definition,) = acme.definition_at(*cursor(acme, "sites/docs.yaml", "{space: gui|des, path"))
    assert (definition.name, definition.span.file, text_of(acme, definition)) == ("acme/space/guides", "content.yaml", "guides")


def test_references_of_a_space_are_in_sites_access_and_tests(acme: NameIndex) -> None:
    found = {(occurrence.span.file, occurrence.under) for occurrence in acme.references_of(NameSort.RESOURCE, "acme/space/guides")}
    assert {
        ("reconciler.yaml", "access.sees"),
        ("reconciler.yaml", "lint.ignore.address"),
        ("sites/docs.yaml", "space"),
        ("tests/readers.yaml", "expect.shows"),
    } <= found


def test_a_variable_and_a_file_are_found_in_expressions(acme: NameIndex) -> None:
    (definition,) = acme.definition_at(*cursor(acme, "content.yaml", "${{ vars.br|and }} guides"))
    assert (definition.sort, definition.span.file) == (NameSort.VARIABLE, "reconciler.yaml")
    (file,) = acme.at(*cursor(acme, "people.yaml", 'file("certs/ok|ta.pem")'))
    assert (file.sort, file.name) == (NameSort.FILE, "certs/okta.pem")


def test_an_included_file_is_where_its_name_leads(acme: NameIndex) -> None:
    (definition,) = acme.definition_at(*cursor(acme, "reconciler.yaml", "include: [peo|ple.yaml"))
    assert (definition.sort, definition.span.file) == (NameSort.FILE, "people.yaml")


def test_the_symbols_of_a_file_are_its_definitions_by_name_and_nothing_else(acme: NameIndex) -> None:
    assert [(symbol.detail, symbol.name, symbol.title) for symbol in acme.symbols("reconciler.yaml")] == [
        ("file", "reconciler.yaml", ""),
        ("variable", "brand", ""),
        ("variable", "domain", ""),
        ("variable", "tier", ""),
        ("organization", "acme", "Acme"),
    ]


def test_symbols_have_titles_containers_and_last_lines(acme: NameIndex) -> None:
    site = next(symbol for symbol in acme.symbols("sites/docs.yaml") if symbol.name == "acme/site/docs")
    assert (site.detail, site.title, site.container) == ("site", "Acme documentation", "acme")
    assert site.last == len(acme.texts.files["sites/docs.yaml"].text.rstrip().split("\n"))
