"""`reconciler import` as people use it."""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path

import pytest

from reconciler.features.importer.keys import TakenKeys, slug
from reconciler.sandbox.seed import seed
from tests.command_line import Cli, prepared
from tests.features.importer.imported import everything, imported, written
from tests.harness import Org
from tests.newer import newer
from tests.proofs import costly
from tests.small import applied, small

ACME = Path(__file__).parents[3] / "examples" / "acme"


@pytest.fixture
def acme(tmp_path: Path) -> Cli:
    """A sandbox to which the flagship example was applied."""
    return flagship(Cli(tmp_path))


@prepared
def flagship(cli: Cli) -> Cli:
    shutil.copytree(ACME, cli.root / "acme")
    assert cli("apply", "acme", "--sandbox", "s.db", "--yes").exit_code == 0
    return cli


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.yaml"))}


@costly
def test_the_flagship_is_imported_and_the_plan_after_it_is_empty(acme: Cli) -> None:
    assert acme("import", "--sandbox", "s.db").stdout == "org_acme  Acme\n"
    shown = acme("import", "new", "--org", "org_acme", "--sandbox", "s.db", "--dry-run").stdout
    assert not (acme.root / "new").exists()
    result = acme("import", "new", "--org", "org_acme", "--sandbox", "s.db", code=0)
    assert result.stdout == "Wrote 6 files to new and tracked 80 objects.\n"
    made = files(acme.root / "new")
    assert sorted(made) == [
        "content.yaml", "reconciler.yaml", "sites/acme-documentation.yaml", "sites/acme-for-partners.yaml", "sites/acme-help-center.yaml",
    ]  # fmt: skip
    assert all(f"--- {path}\n{text}" in shown for path, text in made.items())
    assert "      - {space: get-started, id: spc_" in made["content.yaml"]
    assert "mergeRules: {reviewers: [ada@acme.example]}" in made["reconciler.yaml"]
    assert '        certificate: ${{ file("certs/okta.pem") }}\n' in made["reconciler.yaml"]
    assert (acme.root / "new" / "certs" / "okta.pem").read_text().startswith("-----BEGIN CERTIFICATE-----\n")
    assert "{section: webhooks, title: Webhooks, spaces: [webhooks]}" in made["sites/acme-documentation.yaml"]
    plan = acme("plan", "new", "--detailed-exitcode")  # the project names the sandbox itself
    assert plan.exit_code == 0, plan.stdout
    assert "--into" in acme("import", "new", "--org", "org_acme", "--sandbox", "s.db", code=3).stderr
    assert acme("import", "new", "--into", "--sandbox", "s.db").stdout == "Wrote 0 files to new and tracked 0 objects.\n"
    acme("import", "other", "--org", "org_acme", "--sandbox", "s.db")
    assert files(acme.root / "other") == files(acme.root / "new") == made


def test_into_a_project_goes_only_what_it_lacks_and_comments_stay(acme: Cli) -> None:
    acme("api", "POST", "/spaces/spc_blank/duplicate", "--sandbox", "s.db", "--project", "acme", code=0)
    acme("api", "PUT", "/orgs/org_acme/teams", "-f", "title=Überläufer", "--sandbox", "s.db", "--project", "acme", code=0)
    before = files(acme.root / "acme")
    acme("import", "acme", "--into", "--sandbox", "s.db", code=0)
    after = files(acme.root / "acme")
    diff = [
        line
        for name in before
        for line in difflib.unified_diff(before[name].splitlines(), after[name].splitlines(), n=0, lineterm="")
        if line[:1] in "+-" and not line.startswith(("+++", "---"))
    ]
    assert [line for line in diff if line.startswith("-")] == []
    assert "+  uberlaufer: {title: Überläufer}" in diff
    assert "+  - space: copy-of-blank-page-template" in diff
    acme("plan", "acme", "--sandbox", "s.db", "--detailed-exitcode", code=0)


def test_into_a_project_that_no_state_has_seen_creates_the_state_and_says_so(acme: Cli) -> None:
    text = "version: 1\nproject: new\nservice: {sandbox: ../s.db}\norganizations: {acme: {id: org_acme}}\n"
    acme.write("new/reconciler.yaml", text)
    assert "The import creates the state." in acme("import", "new", "--into", code=0).stderr
    assert acme("plan", "new", "--detailed-exitcode", code=0).stdout.startswith("No changes.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--org", "org_acme"), "no directory was given"),
        (("new", "--org", "org_none"), "organization org_none does not exist, or the token has no access to it"),
        (("--into",), "no project was given"),
        (("acme", "--into", "--org", "org_none"), "the project does not declare org_none"),
    ],
)
def test_what_cannot_be_imported_is_said_and_nothing_is_written(acme: Cli, words: tuple[str, ...], said: str) -> None:
    assert said in acme("import", *words, "--sandbox", "s.db", code=3).stderr
    assert not (acme.root / "new").exists()


def test_what_could_not_be_read_is_said_at_the_top(tmp_path: Path) -> None:
    org = Org(tmp_path)
    applied(org, small())
    found = written(everything(org, failing=("teams",)))
    assert "# Not seen: team in org_acme: GET /orgs/org_acme/teams: " in found.files["reconciler.yaml"]
    assert "defaultTeam: {id: " in found.files["reconciler.yaml"]
    assert any("team in org_acme" in one for one in found.missing)


def test_a_value_that_cannot_be_written_is_unchanged_and_reported(tmp_path: Path) -> None:
    site = {"organization": "org_acme", "id": "site_1", "title": "Docs", "visibility": "by-invitation"}
    found, plan = imported(newer(tmp_path, {**Org(tmp_path / "plain").seed, "sites": [site]}, ["by-invitation"]), tmp_path / "new")
    assert plan.empty
    assert '  # visibility is "by-invitation", which is left as it is: ' in found.files["reconciler.yaml"]


def test_keys_are_short_plain_and_free() -> None:
    assert [slug(text) for text in ("Überblick & Größe", "Привет, мир", "🚀", "", "مرحبا", "Don't", "Ω mega")] == [
        "uberblick-grosse", "privet-mir", "", "", "", "dont", "o-mega",
    ]  # fmt: skip
    assert slug("one two three four five six seven eight nine") == "one-two-three-four-five-six-seven-eight"
    taken = TakenKeys()
    keys = []
    for title in ("Overview", "Overview", "Overview", "Overview", "🚀", "🚀"):
        name = slug(title)
        keys.append(taken.free([name, f"product-{name}"] if name else [], "space"))
        taken.add(keys[-1])
    assert keys == ["overview", "product-overview", "overview-2", "overview-3", "space-1", "space-2"]


def test_the_owner_of_the_token_can_be_declared_and_is_otherwise_reported(acme: Cli) -> None:
    named = ("import", "new", "--org", "org_acme", "--sandbox", "s.db", "--dry-run")
    assert ", member: linus@acme.example}\n" in acme(*named, "--member", "Linus@ACME.example").stdout
    assert "nobody@acme.example is not a member of the organization" in acme(*named, "--member", "nobody@acme.example", code=3).stderr
    assert "Took" not in acme(*named).stderr  # there is one admin only
    acme("api", "PATCH", "/orgs/org_acme/members/usr_linus", "-f", "role=admin", "--sandbox", "s.db", "--project", "acme", code=0)
    assert "one of 2 with access to everything" in acme(*named).stderr


def test_what_is_inherited_is_written_as_it_is_and_not_in_a_comment(tmp_path: Path) -> None:
    org = Org(tmp_path / "org")
    applied(org, small())
    org.call("PATCH", f"/spaces/{org.id('acme/space/one')}", {"defaultLevel": "inherit", "mergeRules": {"type": "none"}})
    org.call("PATCH", f"/collections/{org.id('acme/collection/deep')}", {"defaultLevel": "inherit"})
    org.call("PATCH", "/orgs/org_acme", {"mergeRules": {"type": "none"}})
    found, plan = imported(org, tmp_path / "new")
    assert (plan.changes, plan.steps) == ((), ())
    text = "\n".join(text for _, text in found.files.items())
    assert text.count("defaultLevel: inherit") == 4, "a collection that is new inherits"
    assert text.count("mergeRules: none") == 2
    assert not [line for line in text.splitlines() if "inherit" in line and line.lstrip().startswith("#")]


def test_members_without_an_e_mail_are_left_alone_and_said(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    people = [
        {"organization": "org_acme", "id": "usr_ada", "email": "ada@acme.example", "role": "admin"},
        {"organization": "org_acme", "id": "usr_app", "displayName": "An app", "role": "admin"},
    ]
    seed(tmp_path / "s.db", {"organizations": [{"id": "org_acme", "title": "Acme"}], "members": people})
    cli("import", "p", "--org", "org_acme", "--sandbox", "s.db", code=0)
    text = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "p").rglob("*.yaml"))
    assert "the service shows no email of it" in text
    assert "cannot be a key" not in text
    cli("plan", "p", code=0)
    cli("access", "p", "--people", code=0)
