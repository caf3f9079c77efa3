"""The embedded service behind --sandbox: how its file is named, and what a new one holds.

Controlling a sandbox from the command line: faults, clock, export and reset, of a file and of one that is served.
`reconciler sandbox readers`: who can read what a sandbox holds, as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.config import load
from reconciler.errors import ReconcilerError, UsageError
from reconciler.kinds import load as kinds
from reconciler.run.connection.embedded import checked, own_seed, seed_document
from reconciler.run.connection.seed_file import read_document, read_seed
from reconciler.sandbox.seed_fields import LISTS
from reconciler.sandbox.server import Embedded, embedded
from tests.certificates import IDP
from tests.command_line import Cli
from tests.sandbox.box import Box

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
    project = load(cli.root / "p", kinds())
    return seed_document(project, kinds(), own_seed(project))


def test_the_lists_that_the_kinds_declare_are_those_of_the_sandbox() -> None:
    assert {kind.seeds for kind in kinds().values() if kind.seeds} | {"tokens"} == set(LISTS)


def test_a_new_file_holds_what_the_project_takes_for_granted(cli: Cli) -> None:
    made = seed(cli)
    assert made["organizations"] == [{"id": "org_acme", "title": "Acme Inc"}, {"id": "org_second", "title": "second"}]
    assert [(one["organization"], one["id"], one["email"], one["role"]) for one in made["members"]] == [
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


def test_a_mistake_in_the_projects_own_seed_has_its_position_and_creates_no_sandbox(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    cli.write("p/sandbox.seed.yaml", "organizations: [{id: org_acme, titel: Acme}]\n")
    result = cli("plan", "p", "--sandbox", "s.db")
    assert result.exit_code == 3
    assert 'p/sandbox.seed.yaml:1:32  organizations[0]: unknown field "titel"; did you mean "title"? [RC-seed-invalid]' in result.stderr
    assert "error: 1 problem in the seed; nothing was loaded" in result.stderr
    assert not (cli.root / "s.db").exists()


def test_the_seed_can_be_planted_and_the_project_planned(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT.replace("{collection: new, title: New,", "{collection: new, id: col_3, title: New,"))
    assert "to adopt" in cli("plan", "p", "--sandbox", "s.db", code=0).stdout


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
    assert read_document(cli.write("seed.yaml", text)) == {"a": ["no", 7, 1.5, True, None, None, "5", "2026-01-01"], "b": None}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pages: []", 'seed.yaml:1:1  unknown list "pages"'),
        ("spaces: [{id: x}]", "seed.yaml:1:10  spaces[0]: organization is missing [RC-seed-invalid]"),
        ("organizations: 5", "seed.yaml:1:16  organizations must be a list, not a number"),
        ("organizations: [{id: o, titel: x}]", 'seed.yaml:1:25  organizations[0]: unknown field "titel"; did you mean "title"?'),
        (
            "organizations: [{id: o}]\nspaces:\n- {organization: x, id: s}",
            "seed.yaml:3:18  spaces[0]: organization: there is no organization x",
        ),
        ("organizations: [{id: 7}]", "error: 1 problem in the seed; nothing was loaded"),
    ],
)
def test_a_wrong_seed_is_refused_and_nothing_is_kept(cli: Cli, text: str, says: str) -> None:
    cli.write("seed.yaml", text)
    assert says in cli("sandbox", "seed", "--db", "s.db", "seed.yaml", code=3).stderr


SEED = "organizations: [{id: org_a, title: Acme}]\nmembers: [{organization: org_a, id: usr_a, email: a@acme.example, role: admin}]\n"
ERROR = '{"fault": "error", "status": 503, "name": "down"}'
AT = ("--db", "s.db")


@pytest.fixture
def seeded(cli: Cli) -> Cli:
    cli.write("seed.yaml", SEED)
    assert cli("sandbox", "seed", *AT, "seed.yaml").exit_code == 0
    return cli


@pytest.fixture
def served(seeded: Cli) -> Iterator[Embedded]:
    with embedded(seeded.root / "s.db") as running:
        yield running


def get(served: Embedded) -> int:
    return httpx2.get(f"{served.base_url}/v1/orgs", headers={"Authorization": f"Bearer {served.token}"}).status_code


def test_rules_are_set_shown_and_cleared_in_a_file(seeded: Cli) -> None:
    made = seeded("sandbox", "faults", "set", *AT, "--rule", ERROR)
    assert (made.exit_code, made.stderr) == (0, "1 rule active.\n")
    assert seeded("sandbox", "faults", "show", *AT).stdout.splitlines()[1].split() == ["down", "error", "*", "0", "0"]
    document = seeded.json("sandbox", "faults", "show", *AT)
    assert document["format"] == "reconciler.faults/1"
    assert [(one["name"], one["status"]) for one in document["rules"]] == [("down", 503)]
    assert seeded("sandbox", "faults", "clear", *AT).exit_code == 0
    assert seeded("sandbox", "faults", "show", *AT).stdout == ""


@pytest.mark.parametrize("text", ["- {fault: latency, seconds: 0}\n- {fault: truncated}\n", "rules: [{fault: latency, seconds: 0}]"])
def test_rules_come_from_a_file_and_then_from_the_line(seeded: Cli, text: str) -> None:
    seeded.write("rules.yaml", text)
    assert seeded("sandbox", "faults", "set", "rules.yaml", *AT, "--rule", ERROR).exit_code == 0
    names = [one["name"] for one in seeded.json("sandbox", "faults", "show", *AT)["rules"]]
    assert (names[0], names[-1]) == ("1:latency", "down")


def test_a_served_sandbox_is_controlled_by_its_address(seeded: Cli, served: Embedded) -> None:
    at = ("--base-url", served.base_url, "--token", served.token)
    assert seeded("sandbox", "faults", "set", *at, "--rule", ERROR).exit_code == 0
    assert (get(served), get(served)) == (503, 503)
    lines = seeded("sandbox", "faults", "log", *at).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["number", "1", "2"]
    assert lines[1].split()[2:] == ["down", "error", "GET", "/v1/orgs"]
    assert seeded("sandbox", "faults", "clear", "--log", *at).exit_code == 0
    assert get(served) == 200
    assert seeded("sandbox", "faults", "log", *at).stdout == ""


def test_the_token_may_come_from_the_environment_and_is_never_shown(seeded: Cli, served: Embedded) -> None:
    seeded("sandbox", "clock", "--base-url", served.base_url, env={"RECONCILER_TOKEN": served.token}, code=0)
    assert "wrong-token" not in seeded("sandbox", "clock", "--base-url", served.base_url, "--token", "wrong-token", code=3).stderr


def test_rules_set_in_the_file_befall_the_service_that_runs_on_it(seeded: Cli, served: Embedded) -> None:
    assert seeded("sandbox", "faults", "set", *AT, "--rule", ERROR).exit_code == 0
    assert get(served) == 503
    log = seeded.json("sandbox", "faults", "log", *AT)
    assert (log["format"], [entry["rule"] for entry in log["items"]]) == ("reconciler.faults-log/1", ["down"])


def test_the_clock_is_stopped_moved_and_shown(seeded: Cli) -> None:
    assert seeded("sandbox", "clock", *AT).stdout.endswith(" (running)\n")
    assert seeded("sandbox", "clock", *AT, "--now", "2031-01-01T00:00:00Z").stdout == "2031-01-01T00:00:00.000Z (stopped)\n"
    assert seeded.json("sandbox", "clock", *AT, "--advance", "90") == {"now": "2031-01-01T00:01:30.000Z", "still": True}


def test_a_reset_takes_everything_away_but_the_identity(seeded: Cli) -> None:
    before = seeded("sandbox", "export", *AT).stdout
    seeded("sandbox", "faults", "set", *AT, "--rule", ERROR)
    seeded("sandbox", "clock", *AT, "--now", "2031-01-01T00:00:00Z")
    assert seeded("sandbox", "reset", *AT).exit_code == 0
    after = json.loads(seeded("sandbox", "export", *AT).stdout)
    assert (after["objects"], after["identity"]) == ([], json.loads(before)["identity"])
    assert seeded.json("sandbox", "clock", *AT)["still"] is False
    assert seeded.json("sandbox", "faults", "show", *AT)["rules"] == []


def test_a_reset_to_a_seed_or_an_export_brings_it_back(seeded: Cli) -> None:
    first = json.loads(seeded("sandbox", "export", *AT).stdout)
    seeded.write("kept.json", json.dumps(first))
    assert [one["id"] for one in first["objects"]] == ["org_a:usr_a" if one["kind"] == "member" else "org_a" for one in first["objects"]]
    assert seeded("sandbox", "reset", *AT, "--seed", "seed.yaml").stderr == "It contains 2 objects now.\n"
    assert seeded("sandbox", "reset", *AT, "--export", "kept.json").exit_code == 0
    assert json.loads(seeded("sandbox", "export", *AT).stdout)["objects"] == first["objects"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("faults", "show"), "no sandbox was given"),
        (("faults", "show", *AT, "--base-url", "http://127.0.0.1:1"), "no sandbox was given"),
        (("faults", "show", "--db", "none.db"), "there is no sandbox none.db"),
        (("faults", "show", "--db", "seed.yaml"), "is a YAML file"),
        (("faults", "show", "--base-url", "https://api.example.com", "--token", "t"), "only listen on this machine"),
        (("faults", "show", "--base-url", "http://127.0.0.1:1"), "there is no control token"),
        (("faults", "set", *AT), "there are no rules"),
        (("faults", "set", *AT, "--rule", "{"), "is not JSON"),
        (("faults", "set", *AT, "--rule", '{"fault": "error", "rate": 2}'), "rate"),
        (("faults", "set", "seed.yaml", *AT), "is not a list of rules"),
        (("clock", *AT, "--now", "soon"), "now: expected an ISO 8601 time"),
        (("reset", *AT, "--seed", "seed.yaml", "--export", "x"), "cannot be combined"),
        (("reset", *AT, "--export", "seed.yaml"), "is not what sandbox export printed"),
        (("reset", *AT, "--export", "none.json"), "cannot be read"),
    ],
)
def test_a_command_line_that_cannot_be_followed_says_why(seeded: Cli, words: tuple[str, ...], says: str) -> None:
    before = seeded("sandbox", "export", *AT).stdout
    assert says in seeded("sandbox", *words, code=3).stderr
    assert json.loads(seeded("sandbox", "export", *AT).stdout)["objects"] == json.loads(before)["objects"]


def test_a_wrong_seed_leaves_what_was_there(seeded: Cli) -> None:
    seeded.write("wrong.yaml", "spaces: [{}]")
    result = seeded("sandbox", "reset", *AT, "--seed", "wrong.yaml")
    assert (result.exit_code, "spaces[0]" in result.stderr) == (3, True)
    assert len(json.loads(seeded("sandbox", "export", *AT).stdout)["objects"]) == 2


def test_where_nothing_answers_it_says_so(cli: Cli, tmp_path: Path) -> None:
    result = cli("sandbox", "clock", "--base-url", "http://127.0.0.1:9", "--token", "some-token", code=1)
    assert "no sandbox answers at http://127.0.0.1:9" in result.stderr


def test_a_token_comes_from_a_file_and_one_on_the_command_line_is_a_warning(cli: Cli, served: Embedded) -> None:
    file = cli.root / "token.txt"
    file.write_text(served.token + "\n")
    at = ("sandbox", "clock", "--base-url", served.base_url)
    assert "RC-secret-visible" not in cli(*at, "--token-file", str(file), code=0).stderr
    shown = cli(*at, "--token", served.token, code=0)
    assert "every user of this machine can read --token in the list of processes; pass --token-file FILE" in shown.stderr
    assert "RC-secret-visible" not in cli(*at, env={"RECONCILER_TOKEN": served.token}).stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty"), (b" \n", "is empty"), (b"x" * 5_000, "is larger than"), (b"\xff", "is not UTF-8"), (None, "cannot be")],
)
def test_a_file_without_a_token_is_an_error_that_says_so(cli: Cli, served: Embedded, content: bytes | None, said: str) -> None:
    file = cli.root / "token.txt"
    if content is not None:
        file.write_bytes(content)
    for more in ((), ("--token", "x")):
        assert said in cli("sandbox", "clock", "--base-url", served.base_url, "--token-file", str(file), *more, code=3).stderr


def test_a_token_and_a_file_of_one_are_refused_together(cli: Cli, served: Embedded) -> None:
    file = cli.root / "token.txt"
    file.write_text("a-token")
    for words in (("--token-file", str(file), "--token", "b-token"), ("--token", "b-token", "--token-file", str(file))):
        result = cli("sandbox", "clock", "--base-url", served.base_url, *words, code=3)
        assert "--token and --token-file cannot be combined" in result.stderr


READERS_AT = ("--db", "sandbox.db")


@pytest.fixture
def held(cli: Cli) -> Cli:
    """A sandbox with a public site, one behind a sign-in, and a space that members may edit."""
    box = Box(Path(cli.root))
    for title, space, visibility in (
        ("Docs", "spc_one", "public"),
        ("Intern", "spc_two", "visitor-auth"),
        ("Quiet", "spc_deep", "unlisted"),
    ):
        site = box.site(space, title=title)
        box.patch(site, {"visibility": visibility})
        box.post(f"{site}/publish", status=200)
    box.patch("/spaces/spc_two", {"defaultLevel": "edit"})
    box.close()
    return cli


def test_a_table_shows_the_widest_readers_of_every_object(held: Cli) -> None:
    found = held("sandbox", "readers", *READERS_AT, "--org", "org_a")
    assert (found.exit_code, found.stderr) == (0, "")
    rows = [line.split(maxsplit=3) for line in found.stdout.splitlines()]
    assert rows[0] == ["kind", "title", "id", "readers"]
    assert {row[2]: row[3] for row in rows if row[0] == "space"} == {
        "spc_root": "nobody",
        "spc_one": "anyone",
        "spc_two": "visitor, members (edit)",
        "spc_deep": "anyone-with-the-address",
    }
    assert [row[3] for row in rows if row[0] == "site"] == ["anyone-with-the-address", "visitor", "anyone"]
    assert [row[3] for row in rows if row[0] == "organization"] == ["joins:invite-link"]


def test_json_has_all_readers(held: Cli) -> None:
    entries = held.json("sandbox", "readers", *READERS_AT)["items"]
    (space,) = [entry for entry in entries if entry["id"] == "spc_one"]
    assert [entry["reader"] for entry in space["readers"]] == ["anyone", "anyone-with-the-address", "visitor", "admin"]
    assert {entry["organization"] for entry in entries} == {"org_a", "org_b"}
    (space,) = [
        entry
        for entry in held.json("sandbox", "readers", *READERS_AT, "--condition", "visitor.claims.x")["items"]
        if entry["id"] == "spc_one"
    ]
    assert "visitor:visitor.claims.x" in [entry["reader"] for entry in space["readers"]]


def test_an_organization_that_does_not_exist_is_said(held: Cli) -> None:
    found = held("sandbox", "readers", *READERS_AT, "--org", "org_z")
    assert (found.exit_code, found.stdout) == (3, "")
    assert "unknown organization org_z" in found.stderr


def test_help_has_an_example(cli: Cli) -> None:
    assert "reconciler sandbox readers --db sandbox.db --org org_acme" in cli("sandbox", "readers", "--help").stdout
