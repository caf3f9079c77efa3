"""The embedded service behind --sandbox: how its file is named, and what a new one holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.sandboxes.embedded import checked, read_seed, seed_document
from reconciler.config import load
from reconciler.errors import ReconcilerError, UsageError
from reconciler.kinds import load as kinds
from reconciler.sandbox.seed import PLANTERS
from tests.certificates import IDP
from tests.cli.conftest import Cli

PROJECT = """\
version: 1
project: test
service: {member: ada@acme.example}
organizations:
  acme:
    id: org_acme
    title: Acme Inc
    mergeRules: {reviewers: [Grace.Hopper@acme.example]}
    members: {linus@acme.example: admin, ada@other.example: read}
    teams:
      writers: {title: Writers, id: team_1}
      others: {title: Others}
    content:
      - collection: product
        id: col_1
        title: Product
        content:
          - {space: blank, id: spc_blank, title: Blank}
          - {collection: deep, id: col_2, title: Deep}
      - {collection: new, title: New, content: [{space: old, id: spc_old, title: Old}]}
    saml:
      okta: {id: saml_1, label: Okta, entityID: "http://o/1", ssoURL: "https://o/sso", certificate: CERTIFICATE}
    openapi:
      pets: {id: spec_1, source: {url: "https://pets.example/a.json"}}
    sites:
      docs: {title: Documentation, id: site_1}
  second:
    id: org_second
""".replace("CERTIFICATE", IDP)


def seed(cli: Cli, text: str = PROJECT) -> dict[str, Any]:
    cli.write("p/reconciler.yaml", text)
    return seed_document(load(cli.root / "p", kinds()), kinds())


def test_the_lists_that_the_kinds_declare_are_those_of_the_sandbox() -> None:
    assert {kind.seeds for kind in kinds().values() if kind.seeds} | {"tokens"} == set(PLANTERS)


def test_a_new_file_holds_what_the_project_takes_for_granted(cli: Cli) -> None:
    made = seed(cli)
    assert made["organizations"] == [{"id": "org_acme", "title": "Acme Inc"}, {"id": "org_second", "title": "second"}]
    people = [(one["organization"], one["id"], one["email"], one["role"]) for one in made["members"]]
    assert people == [
        ("org_acme", "usr_ada", "ada@acme.example", "admin"),
        ("org_acme", "usr_ada_2", "ada@other.example", "read"),
        ("org_acme", "usr_linus", "linus@acme.example", "read"),
        ("org_acme", "usr_grace_hopper", "grace.hopper@acme.example", "read"),
        ("org_second", "usr_ada", "ada@acme.example", "admin"),
    ]
    assert made["collections"] == [
        {"organization": "org_acme", "id": "col_1", "title": "Product"},
        {"organization": "org_acme", "id": "col_2", "title": "Deep", "parent": "col_1"},
    ]
    assert made["spaces"] == [
        {"organization": "org_acme", "id": "spc_blank", "title": "Blank", "parent": "col_1"},
        {"organization": "org_acme", "id": "spc_old", "title": "Old"},
    ]
    assert made["teams"] == [{"organization": "org_acme", "id": "team_1", "title": "Writers"}]
    assert made["sites"] == [{"organization": "org_acme", "id": "site_1", "title": "Documentation"}]
    assert made["openapi"][0]["slug"] == "pets"
    assert made["saml"][0]["entityID"] == "http://o/1"


def test_without_a_member_the_first_admin_of_the_project_is_the_admin(cli: Cli) -> None:
    made = seed(cli, PROJECT.replace("service: {member: ada@acme.example}\n", ""))
    assert [one["email"] for one in made["members"] if one["role"] == "admin"] == ["linus@acme.example"] * 2


def test_a_project_without_admins_gets_one(cli: Cli) -> None:
    made = seed(cli, "version: 1\nproject: test\norganizations: {acme: {id: org_acme}}\n")
    assert [(one["email"], one["role"]) for one in made["members"]] == [("admin@sandbox.example", "admin")]


def test_the_projects_own_seed_goes_first_and_wins(cli: Cli) -> None:
    cli.write(
        "p/sandbox.seed.yaml",
        "organizations: [{id: org_acme, title: Acme of old}]\n"
        "members: [{organization: org_acme, id: usr_1, email: linus@acme.example, role: edit}]\n"
        "spaces: [{organization: org_acme, id: spc_extra, title: Extra}]\n",
    )
    made = seed(cli)
    assert made["organizations"] == [{"id": "org_acme", "title": "Acme of old"}, {"id": "org_second", "title": "second"}]
    assert [one["id"] for one in made["spaces"]] == ["spc_extra", "spc_blank", "spc_old"]
    assert [one["id"] for one in made["members"] if one["email"] == "linus@acme.example"] == ["usr_1"]


def test_the_seed_can_be_planted_and_the_project_planned(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT.replace("{collection: new, title: New,", "{collection: new, id: col_3, title: New,"))
    result = cli("plan", "p", "--sandbox", "s.db")
    assert result.exit_code == 0, result.stdout + result.stderr
    assert "to adopt" in result.stdout


@pytest.mark.parametrize("said", ["--sandbox", "service.sandbox:"])
def test_a_directory_is_refused_with_the_right_spelling(tmp_path: Path, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked(tmp_path, option=said)
    assert refused.value.hint == f"Pass a file in it: {said} {tmp_path / 'sandbox.db'}"


def test_a_yaml_file_is_refused_with_the_right_spelling() -> None:
    with pytest.raises(UsageError) as refused:
        checked(Path("seed.yaml"))
    assert "--sandbox .reconciler/sandbox.db" in str(refused.value.hint)
    assert "reconciler sandbox seed --db .reconciler/sandbox.db seed.yaml" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[[[", "seed.yaml:2:1"),
        ("", "this file is empty"),
        ("- a", "seed.yaml is not a map of lists"),
        ("just text", "seed.yaml is not a map of lists"),
        ("a: !!python/object:os.system x", "seed.yaml:1:4"),
        ("a: 1\nb: 2\na: 3", "seed.yaml:3:1"),
        ("a: \x01", "seed.yaml:1:4"),
        ("[" * 60_000, "seed.yaml:1:"),
    ],
    ids=["cut off", "empty", "a list", "a text", "a tag", "a key twice", "a control character", "deep"],
)
def test_a_seed_that_cannot_be_read_says_where(cli: Cli, text: str, where: str) -> None:
    with pytest.raises(ReconcilerError) as refused:
        read_seed(cli.write("seed.yaml", text))
    assert where in str(refused.value)
    assert refused.value.exit_code == 3


def test_a_seed_is_read_as_yaml_1_2(cli: Cli) -> None:
    text = "a: [no, 007, 1.5, true, null, ~, '5', 2026-01-01]\nb:\n"
    assert read_seed(cli.write("seed.yaml", text)) == {"a": ["no", 7, 1.5, True, None, None, "5", "2026-01-01"], "b": None}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pages: []", "unknown list"),
        ("spaces: [{id: x}]", "spaces[0].organization is missing"),
        ("organizations: 5", "expected a list"),
    ],
)
def test_a_wrong_seed_is_refused_and_nothing_is_kept(cli: Cli, text: str, says: str) -> None:
    cli.write("seed.yaml", text)
    result = cli("sandbox", "seed", "--db", "s.db", "seed.yaml")
    assert result.exit_code == 3
    assert says in result.stderr
