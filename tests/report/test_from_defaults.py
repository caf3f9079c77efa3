"""Every report says which values a plan takes from `defaults`: one line of the files changes many objects."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from reconciler.report.reading import sheet_of
from tests.command_line import Cli
from tests.documents import valid

PROJECT = """\
version: 1
project: docs
defaults:
  space: {duplicateOf: blank, editMode: locked, language: de}
organizations:
  acme:
    id: org_acme
    content:
      - {space: blank, id: spc_blank, title: Blank, language: fr, template: true}
      - {space: guides, title: Guides}
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    cli.write("p/reconciler.yaml", PROJECT)
    return cli


def test_a_default_is_applied_to_a_space_with_an_id_and_the_plan_names_its_origin(cli: Cli) -> None:
    lines = cli("plan", "p", "--sandbox", "s.db", "--full").stdout.splitlines()
    (blank,) = [line for line in lines if "live -> locked" in line]
    assert blank.split("locked")[1].strip() == "(from defaults)"
    assert [line.split() for line in lines if "fr" in line.split()] == [["~", "language", "en", "->", "fr"]]  # its own line says so
    assert len([line for line in lines if "(from defaults)" in line]) == 3


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_printed_reports_name_it(cli: Cli, form: str) -> None:
    assert "from defaults" in html.unescape(cli("plan", "p", "--sandbox", "s.db", "--full", "--format", form).stdout)


def test_the_document_names_it_and_is_read_back(cli: Cli) -> None:
    document = valid(json.loads(cli("plan", "p", "--sandbox", "s.db", "--format", "json").stdout), "plan")
    fields = {(change["address"], field["name"]): field for change in document["changes"] for field in change["fields"]}
    assert fields[("acme/space/guides", "language")]["fromDefaults"] is True
    assert fields[("acme/space/blank", "editMode")]["fromDefaults"] is True
    assert "fromDefaults" not in fields[("acme/space/blank", "language")]
    notes = {line.note for entry in sheet_of(document).entries for line in entry.lines}
    assert "from defaults" in notes


def test_alike_changes_that_are_folded_name_it(cli: Cli) -> None:
    more = "".join(f"      - {{space: more-{number}, title: More {number}}}\n" for number in range(30))
    cli.write("p/reconciler.yaml", PROJECT + more)
    assert cli("apply", "p", "--sandbox", "s.db", "--yes").exit_code == 0
    cli.edit("p/reconciler.yaml", "language: de", "language: no")
    assert "language (from defaults) of acme/space/" in cli("plan", "p", "--sandbox", "s.db").stdout


def test_a_saved_plan_is_shown_with_the_notes_of_its_fields_as_the_plan_was(cli: Cli) -> None:
    site = "    sites:\n      docs: {title: Docs, visibility: public, published: true, structure: [guides]}\n"
    cli.write("p/reconciler.yaml", PROJECT + site)
    assert cli("apply", "p", "--sandbox", "s.db", "--yes", "--allow-exposure", "acme/**").exit_code == 0
    cli.write("p/reconciler.yaml", PROJECT + site.replace("published: true, ", "") + "      new: {title: New, visibility: public}\n")
    planned = cli("plan", "p", "--sandbox", "s.db", "--full", "--out", "plan.json")
    for printed in (planned, cli("show", "plan.json")):
        lines = [" ".join(line.split()) for line in printed.stdout.splitlines()]
        assert ". published true (no longer managed; it is left unchanged)" in lines
        assert "+ basename new (from the title)" in lines
