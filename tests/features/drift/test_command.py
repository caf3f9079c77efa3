"""`reconciler drift`: what it says, what it exits with, and what it leaves alone."""

from __future__ import annotations

import json
import re
import sqlite3

import pytest
import yaml

from tests.command_line import Cli, applied_project
from tests.documents import valid
from tests.organizations import SEED
from tests.proofs import costly

WRITES = re.compile(r"\b(POST|PUT|PATCH|DELETE) /")
PROJECT = "p"


@pytest.fixture
def applied(cli: Cli) -> Cli:
    """A project that was applied to its own sandbox."""
    return applied_project(cli)


def ids(cli: Cli) -> dict[str, str]:
    with sqlite3.connect(cli.root / PROJECT / ".reconciler" / "state.db") as database:
        return dict(database.execute("SELECT address, id FROM bindings"))


def edit(cli: Cli, method: str, path: str, *fields: str) -> None:
    """A call by somebody else."""
    cli("api", method, path, "--sandbox", f"{PROJECT}/.reconciler/sandbox.db", *(word for one in fields for word in ("-f", one)), code=0)


def rename(cli: Cli) -> None:
    """The site gets another title."""
    site = next(id for address, id in ids(cli).items() if "/site/" in address and address.count("/") == 2)
    edit(cli, "PATCH", f"/orgs/org_acme/sites/{site}", "title=Handbook")


def test_nothing_changed_is_exit_0_and_one_line(applied: Cli) -> None:
    result = applied("drift", PROJECT, "-v")
    assert (result.exit_code, result.stdout) == (0, "No drift. 12 objects managed.\n")
    assert not WRITES.search(result.stderr)


def test_drift_exits_with_2_and_leaves_state_and_yaml_as_they_are(applied: Cli) -> None:
    rename(applied)
    files = {path: path.read_bytes() for path in (applied.root / PROJECT).rglob("*") if path.is_file() and "sandbox" not in path.name}
    result = applied("drift", PROJECT, "-v", code=2)
    assert re.search(r"~ title +\S.* -> Handbook\n", result.stdout)
    assert "Drift: 1 changed." in result.stdout
    assert not WRITES.search(result.stderr)
    assert files == {path: path.read_bytes() for path in files}


def test_accepting_is_offered_with_the_option_only_where_it_can_be_accepted_so(applied: Cli) -> None:
    edit(applied, "DELETE", f"/spaces/{next(id for address, id in ids(applied).items() if address.endswith('/space/api'))}")
    deleted = applied("drift", PROJECT).stdout
    assert "Accept by hand, in the YAML: remove the lines of what was deleted\n" in deleted
    assert "--accept" not in deleted
    rename(applied)
    both = applied("drift", PROJECT).stdout
    assert (
        "Accept all: reconciler drift p --accept acme/site/docs\nAccept by hand, in the YAML: remove the lines of what was deleted\n"
        in both
    )


def test_unmanaged_objects_alone_are_no_drift(applied: Cli) -> None:
    edit(applied, "POST", "/orgs/org_acme/collections", "title=Wild")
    result = applied("drift", PROJECT, code=0)
    assert '"Wild"' in result.stdout
    assert result.stdout.endswith("No drift; 1 object unmanaged. 12 objects managed.\n")


def test_the_document_fits_its_schema(applied: Cli) -> None:
    rename(applied)
    document = applied.json("drift", PROJECT, "--coverage")
    valid(document, "drift")
    assert next(iter(document)) == "format"
    assert document["summary"] | {"coverage": {}} == {
        "changed": 1, "deleted": 0, "moved": 0, "unmanaged": 0, "managed": 12, "silenced": 0, "unjudged": 0, "coverage": {}, "whole": True,
    }  # fmt: skip
    assert document["summary"]["coverage"]["site"] == 1.0
    (one,) = document["resources"]
    (field,) = one["fields"]
    assert {key: field[key] for key in ("name", "now", "cause", "cannotBeSet")} == {
        "name": "title", "now": "Handbook", "cause": "drift", "cannotBeSet": False,
    }  # fmt: skip
    assert field["lastApplied"] == field["declared"]


def test_a_target_keeps_the_rest_out(applied: Cli) -> None:
    rename(applied)
    assert applied("drift", PROJECT, "--target", "acme/space/*").exit_code == 0
    assert applied("drift", PROJECT, "--target", "acme/site/*").exit_code == 2
    assert applied("drift", PROJECT, "--target", "acme/sight/*").exit_code == 3


def test_accept_writes_the_yaml_and_leaves_nothing_to_do(applied: Cli) -> None:
    path = applied.root / PROJECT / "reconciler.yaml"
    applied.edit(f"{PROJECT}/reconciler.yaml", "    id: org_acme", "    id: org_acme  # ours\n    defaultRole: read  # for now")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert applied("apply", PROJECT, "--yes").exit_code == 0
    before = path.read_bytes()
    edit(applied, "PATCH", "/orgs/org_acme", "defaultRole=edit")
    result = applied("drift", PROJECT, "--accept", "acme.defaultRole", "--allow-exposure", "acme")
    assert (result.exit_code, result.stdout) == (0, "acme.defaultRole was updated in reconciler.yaml.\n")
    assert path.read_bytes() == before.replace(b"defaultRole: read  # for now", b"defaultRole: edit  # for now")
    assert applied("drift", PROJECT).stdout == "No drift. 12 objects managed.\n"
    assert applied("apply", PROJECT, "--yes", "--allow-exposure", "acme").exit_code == 0
    assert applied("plan", PROJECT, "--detailed-exitcode").exit_code == 0


def test_accept_moves_lines_and_leaves_nothing_to_do(applied: Cli) -> None:
    path = applied.root / PROJECT / "reconciler.yaml"
    known, calls = ids(applied), ("--sandbox", f"{PROJECT}/.reconciler/sandbox.db")
    place = {"parent": known["acme/collection/product"], "position": {"before": {"type": "space", "space": known["acme/space/guides"]}}}
    assert applied("api", "POST", f"/spaces/{known['acme/space/api']}/move", *calls, "--input", "-", input=json.dumps(place)).exit_code == 0
    guides, api = "- {space: guides, title: Guides, duplicateOf: blank}\n", "- {space: api, title: API reference, duplicateOf: blank}\n"
    before = path.read_text("utf-8")
    stray = next(one["address"] for one in applied.json("drift", PROJECT)["resources"])
    result = applied("drift", PROJECT, "--accept", stray)
    assert (result.exit_code, result.stdout) == (0, f"{stray}: its lines were moved.\n"), result.stderr
    assert path.read_text("utf-8") == before.replace(f"{guides}          {api}", f"{api}          {guides}")
    edit(applied, "POST", f"/spaces/{known['acme/space/api']}/move", "parent=null")
    result = applied("drift", PROJECT, "--accept", "acme/space/api")
    assert (result.exit_code, result.stdout) == (0, "acme/space/api.parent: its lines were moved.\n"), result.stderr
    assert path.read_text("utf-8") == before.replace(f"          {api}", "").replace(f"{guides}", f"{guides}      {api}")
    assert applied("plan", PROJECT, "--detailed-exitcode").exit_code == 0
    wild = json.loads(applied("api", "POST", "/orgs/org_acme/collections", *calls, "-f", "title=Wild").stdout)["id"]
    kept = path.read_bytes()
    edit(applied, "POST", f"/spaces/{known['acme/space/guides']}/move", f"parent={wild}")
    assert "which the YAML does not declare" in applied("drift", PROJECT, "--accept", "acme/space/guides", code=4).stderr
    assert path.read_bytes() == kept


def test_a_value_from_an_expression_is_not_overwritten_and_the_place_is_named(applied: Cli) -> None:
    path = applied.root / PROJECT / "reconciler.yaml"
    applied.edit(f"{PROJECT}/reconciler.yaml", "    id: org_acme", "    id: org_acme\n    title: ${{ 'Ac' ~ 'me' }}")
    assert applied("apply", PROJECT, "--yes").exit_code == 0
    edit(applied, "PATCH", "/orgs/org_acme", "title=Other")
    before = path.read_bytes()
    result = applied("drift", PROJECT, "--accept", "acme.title", code=4)
    assert "acme.title comes from an expression" in result.stderr
    assert re.search(r"reconciler\.yaml:\d+:12", result.stderr)
    assert path.read_bytes() == before


def test_what_would_not_be_valid_leaves_the_files_as_they_are(applied: Cli) -> None:
    assert applied("drift", PROJECT, "--accept", "acme.title").exit_code == 3
    assert applied("drift", PROJECT, "--accept", "nonsense").exit_code == 3


def test_a_report_in_each_format_is_written_beside_the_result(applied: Cli) -> None:
    rename(applied)
    result = applied(
        "drift", PROJECT, *(word for name in ("json", "markdown", "html") for word in ("--report", f"{name}={name}.out")), code=2
    )
    assert result.stdout.splitlines()[-1].startswith("Drift: 1 changed.")
    assert (applied.root / "html.out").read_text("utf-8").startswith("<!doctype html>")
    assert (applied.root / "markdown.out").read_text("utf-8").startswith("<!-- reconciler:drift:p -->")
    assert (applied.root / "json.out").read_text("utf-8").startswith('{\n  "format": "reconciler.drift/1"')
    assert applied("plan", PROJECT, "--format", "markdown").stdout.startswith("<!-- reconciler:plan:p -->")
    assert applied("plan", PROJECT, "--format", "html").stdout.startswith("<!doctype html>")
    assert applied("apply", PROJECT, "--yes", "--report", "html=o.html").exit_code == 0
    assert "Outcome for p" in (applied.root / "o.html").read_text("utf-8")


def test_a_report_that_cannot_be_written_is_said(applied: Cli) -> None:
    assert applied("drift", PROJECT, "--report", "pdf=x").exit_code == 3
    result = applied("drift", PROJECT, "--report", "html=no/such/folder.html", code=1)
    assert "the report no/such/folder.html cannot be written" in result.stderr


BASELINE = """
known:
  - {address: acme/site/*, field: title, reason: marketing renames it, until: 2999-12-31}
  - {address: acme/space/*, reason: nobody knows, until: 2999-12-31}
  - address: acme/**
    field: visibility
    reason: was tried
    until: 2020-01-01
"""


def test_known_drift_is_silenced_visibly_and_no_longer_fails(applied: Cli) -> None:
    rename(applied)
    applied.write("known.yaml", BASELINE)
    result = applied("drift", PROJECT, "--baseline", "known.yaml", code=0)
    said = " ".join(result.stdout.split())
    assert re.search(r"known, and ignored by the baseline: acme/site/\S+\.title \(marketing renames it, until 2999-12-31\)", said)
    assert "the baseline's entry for acme/**.visibility expired on 2020-01-01: was tried" in said
    assert "the baseline's entry for acme/space/* matches nothing: remove it" in said
    assert said.endswith("No drift; 1 known and ignored. 12 objects managed.")
    document = applied.json("drift", PROJECT, "--baseline", "known.yaml")
    valid(document, "drift")
    assert (document["summary"]["silenced"], document["resources"]) == (1, [])
    assert document["silenced"][0]["reason"] == "marketing renames it"


def test_a_baseline_silences_only_what_it_names(applied: Cli) -> None:
    rename(applied)
    applied.write("known.yaml", BASELINE.replace("field: title", "field: proxy"))
    assert applied("drift", PROJECT, "--baseline", "known.yaml").exit_code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- 1", "a baseline is"),
        ("known: [{address: acme, reason: x}]", "known.yaml:1:9  until is missing"),
        ("known: [{address: acme, reason: x, until: soon}]", "until is a date like 2026-12-31"),
        ("known: [{address: acme, reason: x, until: 2999-01-01, what: 1}]", 'unknown key "what"'),
        ("known: [{address: a//b, reason: x, until: 2999-01-01}]", "known.yaml:1:19"),
    ],
)
def test_a_wrong_baseline_is_refused_with_its_place(applied: Cli, text: str, said: str) -> None:
    applied.write("known.yaml", text)
    assert said in applied("drift", PROJECT, "--baseline", "known.yaml", code=3).stderr
    assert applied("drift", PROJECT, "--baseline", "nowhere.yaml").exit_code == 3


CASE = """version: 1
project: case
service: {sandbox: sandbox.db}
defaults: {space: {duplicateOf: blank}}
organizations:
  acme:
    id: org_acme
    content:
      - {space: blank, id: spc_blank, title: Blank, template: true}
      - {space: guides, title: Guides}
      - {space: api, title: API}
    sites:
      docs:
        title: Docs
        visibility: share-link
        published: true
        basename: docs
        shareLinks: {partners: Partners}
        structure:
          - {section: guides, title: Guides, path: guides, spaces: [guides], default: true}
          - {section: api, title: API, path: api, spaces: [api]}
"""


def case(cli: Cli) -> tuple[str, str]:
    """The case, applied in `c`; the paths of its site and of its section `api`."""
    cli.write("c/reconciler.yaml", CASE)
    cli.write("seed.yaml", yaml.safe_dump(SEED))
    cli("sandbox", "seed", "--db", "c/sandbox.db", "seed.yaml", code=0)
    cli("apply", "c", "--yes", "--allow-exposure", "**", code=0)
    known = {row["address"]: row["id"].rpartition("/")[2] for row in cli.json("state", "list", "c")["bindings"]}
    site = f"/orgs/org_acme/sites/{known['acme/site/docs']}"
    return site, f"{site}/sections/{known['acme/site/docs/section/api']}"


@costly
@pytest.mark.parametrize(
    ("edit", "drift_class"),
    [
        (("PATCH", "site", "-f", "basename=other", "-f", "visibility=public"), "exposing"),
        (("PATCH", "site", "-f", "visibility=visitor-auth"), "exposing"),
        (("DELETE", "section"), "deleting"),
    ],
    ids=["opened and moved", "for other readers", "deleted"],
)
def test_a_group_fails_on_every_class_that_it_belongs_to(cli: Cli, edit: tuple[str, ...], drift_class: str) -> None:
    site, section = case(cli)
    cli("api", *({"site": site, "section": section}.get(word, word) for word in edit), "--project", "c", code=0)
    said = cli("drift", "c", "--fail-on", drift_class, code=2).stdout
    stopped = "stop working" in said or "stops working" in said
    assert cli("drift", "c", "--fail-on", "breaking-urls").exit_code == (2 if stopped else 0), said
    assert stopped is ("visibility=visitor-auth" not in edit)
    assert cli("drift", "c", "--fail-on", "cosmetic,access").exit_code == 0


@costly
@pytest.mark.parametrize("readers", ["share-link", "public", "unlisted", "visitor-auth"])
def test_a_path_that_breaks_urls_does_so_whoever_may_read_the_site_by_now(cli: Cli, readers: str) -> None:
    site, section = case(cli)
    cli("api", "PATCH", section, "-f", "path=rest", "--project", "c", code=0)
    if readers != "share-link":
        cli("api", "PATCH", site, "-f", f"visibility={readers}", "--project", "c", code=0)
    drift = cli("drift", "c", "--fail-on", "breaking-urls", code=2).stdout
    assert "/api/**" in drift
    assert "/rest/" in drift
