"""`explain` and `schema`: what the declarations say, for people and for editors.

`validate --lint`: findings as text, JSON and annotations; exit codes; `--fix`; the state is read and not written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from reconciler.cli.commands.schema import NOT_FOR_EDITORS, file_name, schemas, write_all
from reconciler.cli.glossary import WORDS as GLOSSARY
from reconciler.kinds import load
from reconciler.report.explain import words
from reconciler.report.schemas.documents import documents
from reconciler.report.types import sample
from tests.command_line import Cli, applied_project
from tests.docs.test_readme import anchors
from tests.documents import service, valid
from tests.proofs import costly, spread

KINDS = load()
SCHEMAS = Path(__file__).parents[2] / "schemas"
CONFIG = Draft202012Validator(json.loads((SCHEMAS / "config.schema.json").read_text(encoding="utf-8")))
WORDS = [(kind.name, word) for kind in KINDS.values() for word in words(KINDS, kind)]


def test_without_a_word_it_lists_every_kind_with_what_it_is(cli: Cli) -> None:
    lines = cli("explain", env={"COLUMNS": "200"}).stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(KINDS)
    assert all(kind.doc in line for kind, line in zip(KINDS.values(), lines, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_kind_is_listed_and_its_example_is_valid(cli: Cli, kind: str) -> None:
    told = cli("explain", kind, code=0)
    listed = {line.split()[0] for line in told.stdout.splitlines() if line.startswith("   ")}
    assert set(words(KINDS, KINDS[kind])) <= listed
    example = told.stdout.partition("Example:\n")[2]
    assert example
    CONFIG.validate(yaml.safe_load(example))


@pytest.mark.parametrize(("kind", "word"), spread(WORDS, 40), ids=lambda word: word)
def test_every_word_is_explained_and_its_example_holds_it_and_is_valid(cli: Cli, kind: str, word: str) -> None:
    told = cli("explain", f"{kind}.{word}", code=0)
    assert told.stdout.startswith(f"{kind}.{word}\n")
    example = told.stdout.partition("Example:\n")[2]
    if example:
        CONFIG.validate(yaml.safe_load(example))
        place = KINDS[kind].place
        short = word in (place.key_is, place.bare_is, place.value_is)
        assert short or f"{word}:" in example


def test_an_example_that_breaks_the_schema_would_be_found() -> None:
    text = sample(KINDS, KINDS["site"], "visibility").replace("public", "everybody")
    assert not CONFIG.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("site.title", "text, 2 to 128 characters"),
        ("site.title", "required"),
        ("site.type", "cannot be changed after creation"),
        ("site.proxy", "clears it"),
        ("site.visibility", "public, unlisted, share-link, visitor-auth"),
        ("site.published", "once true, it stays true"),
        ("saml.defaultTeam", "a team by its key"),
        ("team.members", "the service never shows it"),
        ("member.role", "guards.minAdmins objects keep the value admin"),
        ("site-space.default", "the site (defaultSiteSpace)"),
        ("site.structure", "reconciler explain section"),
        ("environments", "patch            What differs in this environment."),
        ("patch", "remove           Remove them"),
        ("vars", "enum             The values that it accepts."),
    ],
)
def test_it_says_what_follows_from_the_declaration(cli: Cli, word: str, said: str) -> None:
    assert said in cli("explain", word, env={"COLUMNS": "200"}).stdout


def test_every_word_of_the_documentation_is_explained_with_a_page_that_exists(cli: Cli) -> None:
    assert {"variant", "exposure", "ledger", "guest", "inherit", "consent"} <= GLOSSARY.keys()
    for word, (text, page) in GLOSSARY.items():
        assert cli("explain", word, env={"COLUMNS": "400"}, code=0).stdout == f"{word}\n{text}\nMore: {page}\n"
        file, _, anchor = page.partition("#")
        assert (SCHEMAS.parent / file).exists()
        assert not anchor or anchor in anchors(SCHEMAS.parent / file)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("sync", "reconciler apply applies a project"),
        ("dump", "reconciler import DIR writes an existing organization as a project"),
        ("diff", "A command: Show what a change of the files means, without the service. reconciler diff --help says more."),
    ],
)
def test_commands_and_those_of_other_tools_are_explained(cli: Cli, word: str, said: str) -> None:
    assert said in cli("explain", word, env={"COLUMNS": "200"}, code=0).stdout


@pytest.mark.parametrize(
    ("word", "meant"),
    [("sit", "site"), ("sites", "site"), ("site.visibilty", "visibility"), ("section.defualt", "default"), ("exposre", "exposure")],
)
def test_a_typo_suggests_what_was_probably_meant(cli: Cli, word: str, meant: str) -> None:
    told = cli("explain", word, code=3)
    assert f'did you mean "{meant}"?' in told.stderr


COMMITTED = {"config": "config.schema.json", "test": "test.schema.json", "fleet": "fleet.schema.json", "catalog": "catalog.json"}


def test_every_schema_is_listed_and_printed_as_the_wheel_contains_it_and_what_editors_fetch_is_checked_in(cli: Cli, tmp_path: Path) -> None:
    names = [line.split()[0] for line in cli("schema").stdout.splitlines()]
    assert sorted(names) == sorted([*COMMITTED, *documents(), "service"])
    write_all(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(map(file_name, names))
    for name in names:
        printed = cli("schema", name).stdout
        assert printed == (tmp_path / file_name(name)).read_text(encoding="utf-8")
        assert name not in COMMITTED or printed == (SCHEMAS / COMMITTED[name]).read_text(encoding="utf-8")
    assert sorted(path.name for path in SCHEMAS.glob("*.json")) == sorted(COMMITTED.values())


def test_service_prints_the_document_that_a_sandbox_serves(cli: Cli) -> None:
    assert json.loads(cli("schema", "service").stdout)["paths"].keys() == service()["paths"].keys()


def test_every_schema_has_an_id_of_its_own_that_names_the_version_of_its_format() -> None:
    ids = {name: made()["$id"] for name, made in schemas().items() if name not in NOT_FOR_EDITORS}
    assert len(set(ids.values())) == len(ids)
    assert ids["config"] == "https://www.schemastore.org/docs-reconciler.json"
    assert ids["plan"] == "urn:docs-reconciler:plan:1"


def test_the_entry_for_the_catalog_of_schemastore_is_what_its_schema_asks_for() -> None:
    entry = json.loads((SCHEMAS / "catalog.json").read_text(encoding="utf-8"))
    assert set(entry) == {"name", "description", "fileMatch", "url"}, "the required keys and no unknown ones"
    assert entry["url"] == json.loads((SCHEMAS / "config.schema.json").read_text(encoding="utf-8"))["$id"]
    assert entry["url"].startswith("https://")


@costly
def test_schemas_are_written_into_the_project_for_editors_and_name_what_is_wrong(cli: Cli) -> None:
    assert cli("init", "p").exit_code == 0
    shutil.rmtree(cli.root / "p" / ".reconciler")
    (cli.root / "p" / "sub").mkdir()
    cli("-C", "p/sub", "schema", "--write", code=0)
    assert {path.name for path in (cli.root / "p" / ".reconciler").iterdir()} == {
        file_name(name) for name in schemas() if name not in NOT_FOR_EDITORS
    }
    modeline = (cli.root / "p" / "reconciler.yaml").read_text(encoding="utf-8").splitlines()[0].partition("$schema=")[2]
    checked = ("check_jsonschema", "--schemafile", str(cli.root / "p" / modeline), str(cli.root / "p" / "reconciler.yaml"))
    assert subprocess.run([sys.executable, "-m", *checked], capture_output=True, check=False).returncode == 0
    cli.edit("p/reconciler.yaml", "{section: guides, title", "{section: guides, titel")
    wrong = subprocess.run([sys.executable, "-m", *checked], capture_output=True, text=True, check=False)
    assert "$.organizations.acme.sites.docs.structure[0]: Additional properties are not allowed ('titel' was unexpected)" in wrong.stdout
    assert "not valid under any" not in wrong.stdout
    cli.edit("p/reconciler.yaml", "# yaml-language-server", "# no-language-server")
    assert "# yaml-language-server: $schema=.reconciler/config.schema.json" in cli("schema", "config", "--write", "--project", "p").stderr
    assert cli("schema", "--write").exit_code == 3
    assert cli("schema", "catalog", "--write", "--project", "p").exit_code == 3
    assert cli("schema", "service", "--write", "--project", "p").exit_code == 3


def test_an_unknown_schema_lists_the_existing_ones(cli: Cli) -> None:
    assert 'did you mean "plan"?' in cli("schema", "plans", code=3).stderr


@pytest.mark.parametrize("word", ["RC-locked", "rc-locked"])
def test_it_prints_the_page_of_a_cause(cli: Cli, word: str) -> None:
    printed = cli("explain", word).stdout
    assert "RC-locked: Another run holds the lock on the state." in printed
    assert "What to do: Wait for the other run." in printed


def test_a_cause_that_does_not_exist_comes_with_the_nearest(cli: Cli) -> None:
    assert "there is no cause 'RC-lokced'; did you mean \"RC-locked\"? [RC-unknown-cause]" in cli("explain", "RC-lokced", code=3).stderr


PROJECT = """\
version: 1
project: test
service: {sandbox: sandbox.db}
vars:
  rest: {default: 1}  # for later
organizations:
  acme:
    id: org_acme
    teams: {a: {title: Writers}, b: {title: Writers}}
"""


def test_findings_are_printed_with_place_rule_and_remedy_and_warnings_exit_with_0(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    result = cli("validate", "p", "--lint")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "reconciler.yaml:5:3  warning RC-unused-variable  vars.rest: no expression uses it\n"
        "  -> remove it (validate --fix does it)\n"
        "reconciler.yaml:9:45  warning RC-duplicate-title  acme/team/b: title 'Writers' is also the title of acme/team/a, next to it\n"
        "  -> give one of them another title\n"
        "test is valid: 3 resources in 1 file.\n"
        "2 warnings. validate --fix corrects 1 of them.\n"
    )
    assert cli("validate", "p", "--strict").exit_code == 3
    cli.edit("p/reconciler.yaml", "b: {title: Writers}", "b: {title: Authors}")
    assert cli("validate", "p", "--strict", "--fix").exit_code == 0
    assert "rest" not in (cli.root / "p" / "reconciler.yaml").read_text("utf-8")
    assert cli("validate", "p", "--strict").stdout.endswith("No findings.\n")


def test_json_is_one_list_of_findings_also_for_a_project_that_cannot_be_loaded(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    document = valid(cli.json("validate", "p", "--lint"), "findings")
    assert document["summary"] == {"error": 0, "warning": 2, "fixable": 1}
    assert [finding["id"] for finding in document["findings"]] == ["RC-unused-variable", "RC-duplicate-title"]
    assert document["findings"][0]["source"] == {"file": "reconciler.yaml", "line": 5, "column": 3}
    assert valid(cli.json("validate", "p"), "findings")["findings"] == []
    cli.edit("p/reconciler.yaml", "title: Writers", "titel: Writers")
    result = cli("validate", "p", "--format", "json", code=3)
    document = valid(json.loads(result.stdout), "findings")
    assert {finding["id"] for finding in document["findings"]} == {"RC-unknown-field"}
    assert 'unknown field "titel"' in document["findings"][0]["message"]


def test_annotations_have_the_level_of_the_finding(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    result = cli("validate", "p", "--lint", "--format", "github")
    assert "::warning file=p/reconciler.yaml,line=5,col=3,title=RC-unused-variable::vars.rest: no expression uses it\n" in result.stdout


def test_sarif_has_the_edits_of_what_can_be_fixed(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    (run,) = json.loads(cli("validate", "p", "--lint", "--format", "sarif").stdout)["runs"]
    assert [result["ruleId"] for result in run["results"] if result.get("fixes")] == ["RC-unused-variable"]


def test_a_fix_removes_the_values_that_environments_give_to_an_unused_variable(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    cli.write("p/environments/staging.yaml", "vars: {rest: 2}\n")
    cli.write("p/environments/production.yaml", "# production\nstate: sqlite:///production.db\nvars:\n  rest: 3\n")
    assert cli("validate", "p", "--env", "staging", "--fix").exit_code == 0
    for environment in ("staging", "production"):
        assert cli("validate", "p", "--env", environment).exit_code == 0
    assert (cli.root / "p/environments/production.yaml").read_text("utf-8") == "# production\nstate: sqlite:///production.db\n"


def test_a_rename_that_was_applied_is_found_by_the_state_and_removed(cli: Cli) -> None:
    applied_project(cli)
    assert "writers: {" in (cli.root / "p/reconciler.yaml").read_text("utf-8")
    cli.edit("p/reconciler.yaml", "writers: {", "authors: {previously: [writers], ")
    assert "previously-done" not in cli("validate", "p", "--lint").stdout
    assert cli("apply", "p", "--yes").exit_code == 0
    before = cli.json("state", "list", "p")
    assert "previously-done  " in cli("validate", "p", "--lint").stdout
    assert cli("validate", "p", "--fix").exit_code == 0
    assert "previously" not in (cli.root / "p/reconciler.yaml").read_text("utf-8")
    assert cli.json("state", "list", "p") == before
    assert "nothing to change" in cli("plan", "p").stdout.lower() or cli("plan", "p", "--detailed-exitcode").exit_code == 0
