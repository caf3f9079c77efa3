"""Single people, as the service says what each may do: over HTTP to a sandbox whose seed gives access to people and teams."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import yaml

import reconciler
from reconciler import exits
from reconciler.features.access.section import MAPS
from tests.cli.test_progress import AT_ONCE, SLOW, narrated
from tests.command_line import Cli
from tests.documents import configuration
from tests.features.rehearsal.previewed import PreviewFile

ORG: dict[str, Any] = {"organization": "org_acme"}
PEOPLE = {"ada": "admin", "old": "admin", "vera": "read", "linus": "edit", "grace": "create", "gus": None}
SEED: dict[str, Any] = {
    "organizations": [{"id": "org_acme", "title": "Acme"}],
    "members": [
        {**ORG, "id": f"usr_{name}", "email": f"{name}@acme.example", "role": role, "disabled": name == "old"}
        for name, role in PEOPLE.items()
    ],
    "tokens": [{"token": "tok_ada", "member": "usr_ada"}],
    "teams": [{**ORG, "id": "team_writers", "title": "Writers", "members": ["usr_linus", "usr_old"]}],
    "collections": [
        {**ORG, "id": "col_people", "title": "People", "defaultLevel": None, "grants": [{"team": "team_writers", "role": "comment"}]},
    ],
    "spaces": [
        {**ORG, "id": "spc_open", "title": "Open", "defaultLevel": "inherit"},
        {**ORG, "id": "spc_salaries", "title": "Salaries", "defaultLevel": None, "grants": [{"member": "usr_vera", "role": "admin"}]},
        {**ORG, "id": "spc_plans", "title": "Plans", "parent": "col_people", "defaultLevel": "inherit"},
        {**ORG, "id": "spc_notes", "title": "Notes", "parent": "col_people", "defaultLevel": "read"},
    ],
}
PROJECT: dict[str, Any] = {
    "version": 1,
    "project": "acme",
    "service": {"sandbox": "s.db", "member": "ada@acme.example"},
    "organizations": {
        "acme": {
            "id": "org_acme",
            "members": {"ada@acme.example": "admin"},
            "teams": {"writers": {"id": "team_writers", "title": "Writers", "members": ["linus@acme.example", "old@acme.example"]}},
            "content": [
                {"space": "open", "id": "spc_open", "title": "Open"},
                {"space": "salaries", "id": "spc_salaries", "title": "Salaries"},
                {
                    "collection": "people",
                    "id": "col_people",
                    "title": "People",
                    "content": [
                        {"space": "plans", "id": "spc_plans", "title": "Plans"},
                        {"space": "notes", "id": "spc_notes", "title": "Notes"},
                    ],
                },
            ],
        }
    },
}


def project(**top: Any) -> dict[str, Any]:
    return copy.deepcopy({**PROJECT, **top})


def node(document: dict[str, Any], key: str) -> dict[str, Any]:
    def inside(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*content, *(inner for entry in content for inner in inside(entry.get("content", [])))]

    return next(entry for entry in inside(document["organizations"]["acme"]["content"]) if key in entry.values())


def write(cli: Cli, document: dict[str, Any]) -> None:
    cli.write("reconciler.yaml", yaml.safe_dump(document, sort_keys=False))


def demand(reader: Any, address: str, word: str = "mustNotSee") -> list[dict[str, Any]]:
    return [{"as": reader, word: [address]}]


@pytest.fixture
def acme(cli: Cli) -> Cli:
    cli.write("seed.yaml", yaml.safe_dump(SEED))
    cli("sandbox", "seed", "--db", "s.db", "seed.yaml", code=0)
    write(cli, project())
    cli("apply", "--yes", code=0)
    return cli


def who(cli: Cli, address: str) -> dict[str, tuple[str, str]]:
    (row,) = cli.json("access", "--who", address)["objects"]
    return {line["reader"].partition("@")[0]: (line["level"], line["reason"]) for line in row["after"]}


def test_everybody_who_can_read_an_object_is_named_with_the_reason(acme: Cli) -> None:
    assert who(acme, "acme/space/salaries") == {"ada": ("admin", "admin"), "vera": ("admin", "given one by one")}
    own = {"ada": ("admin", "admin"), "vera": ("read", "role read"), "linus": ("edit", "role edit"), "grace": ("create", "role create")}
    assert who(acme, "acme/space/open") == own
    assert who(acme, "acme/space/plans") == {"ada": ("admin", "admin"), "linus": ("comment", "given one by one")}
    everybody = {name: ("read", f"role {PEOPLE[name] or 'guest'}") for name in ("vera", "linus", "grace", "gus")}
    assert who(acme, "acme/space/notes") == {"ada": ("admin", "admin"), **everybody}, "the nearest level, before a grant around it"
    text = acme("access", "--who", "acme/space/salaries").stdout
    assert [line.split() for line in text.splitlines()[1:3]] == [
        ["ada@acme.example", "admin", "admin"],
        ["vera@acme.example", "admin", "given", "one", "by", "one"],
    ]


@pytest.mark.parametrize(
    ("reader", "address", "refused"),
    [
        ({"role": "read"}, "acme/space/salaries", False),
        ({"member": "vera@acme.example"}, "acme/space/salaries", True),
        ({"member": "linus@acme.example"}, "acme/space/salaries", False),
        ({"member": "linus@acme.example"}, "acme/space/plans", True),
        ({"member": "old@acme.example"}, "acme/space/open", False),
        ({"member": "gus@acme.example"}, "acme/space/open", False),
        ({"role": "read"}, "acme/space/open", True),
        ({"role": "guest"}, "acme/space/notes", True),
        ({"member": "nobody@acme.example"}, "acme/space/open", False),
        ({"team": "writers"}, "acme/space/plans", True),
        ({"team": "writers"}, "acme/space/salaries", False),
    ],
)
def test_who_must_not_see_something_does_not_by_any_way(acme: Cli, reader: Any, address: str, refused: bool) -> None:
    write(acme, project(access=demand(reader, address)))
    assert acme("plan").exit_code == (exits.REFUSED if refused else exits.DONE)


def test_somebody_who_is_not_a_member_is_said_to_be_none(acme: Cli) -> None:
    write(acme, project(access=demand({"member": "lunis@acme.example"}, "acme/space/plans")))
    plan = acme("plan")
    assert plan.exit_code == exits.DONE
    assert "access: lunis@acme.example is not a member of acme, and counts as anyone" in plan.stdout
    refused = acme("access", "--as", "member=lunis@acme.example")
    assert refused.exit_code == exits.WRONG
    assert "lunis@acme.example is not a member of the organization" in refused.stderr


def test_a_team_that_the_plan_creates_sees_what_its_declared_members_see(acme: Cli) -> None:
    created = project(access=demand({"team": "fresh"}, "acme/space/salaries"))
    created["organizations"]["acme"]["teams"]["fresh"] = {"title": "Fresh", "members": ["linus@acme.example"]}
    write(acme, created)
    assert "1 to create" in acme("plan").stdout
    created["organizations"]["acme"]["teams"]["fresh"]["members"] = ["vera@acme.example"]
    write(acme, created)
    assert acme("plan").exit_code == exits.REFUSED


def test_a_team_sees_what_each_of_its_members_sees(acme: Cli) -> None:
    """`old` is disabled, and so is in the team and sees nothing."""
    write(acme, project(access=demand({"team": "writers"}, "acme/space/plans", "sees")))
    refused = acme("plan")
    assert refused.exit_code == exits.REFUSED
    assert "1 of its 2 members can" in refused.stdout


def test_what_may_remain_after_a_plan_is_not_said_to_be_impossible(acme: Cli) -> None:
    """A member whose level is lowered may have been given the same: nothing shows it before the next reading."""
    closed = project(access=demand({"member": "vera@acme.example"}, "acme/space/open"))
    node(closed, "open")["defaultLevel"] = "guest"
    write(acme, closed)
    said = acme("plan").stdout
    assert "what they were given one by one may remain" in said
    assert "warning" in said
    acme("apply", "--yes", code=0)
    assert acme("plan").exit_code == exits.DONE
    assert "vera" not in who(acme, "acme/space/open")


def test_a_list_that_is_denied_makes_everything_possible(acme: Cli) -> None:
    rule = '{"fault": "forbidden", "ids": "usr_vera", "operation": "GET */spaces"}'
    acme("sandbox", "faults", "set", "--db", "s.db", "--rule", rule, code=0)
    write(acme, project(access=demand({"member": "vera@acme.example"}, "acme/space/salaries")))
    refused = acme("plan")
    assert refused.exit_code == exits.REFUSED
    assert "whether vera@acme.example can read it" in refused.stdout
    write(acme, project(access=demand({"member": "linus@acme.example"}, "acme/space/salaries")))
    assert acme("plan").exit_code == exits.DONE, "of the others the truth is known"


def test_an_exposure_names_the_people_who_are_new_and_only_where_they_are_read(acme: Cli) -> None:
    opened = project()
    node(opened, "salaries")["defaultLevel"] = "read"
    write(acme, opened)
    (line,) = acme.json("plan")["exposures"]
    assert line["readers"] == ["members"]
    opened["service"]["readPeople"] = True
    write(acme, opened)
    (line,) = acme.json("plan")["exposures"]
    assert line["readers"] == ["members: grace@acme.example, gus@acme.example, linus@acme.example"], "vera could before"


def test_people_are_asked_about_where_it_is_wanted_and_an_admin_and_a_disabled_one_only_about_teams(acme: Cli) -> None:
    def asked(*words: str) -> list[str]:
        said = acme(*words, "-vv").stderr
        return sorted(line.split()[1].partition("/members/")[2].partition("?")[0] for line in said.splitlines() if "/members/" in line)

    theirs = sorted([*(f"usr_{name}/spaces" for name in ("vera", "linus", "grace", "gus")), "usr_linus/teams", "usr_old/teams"])
    assert not set(theirs) & set(asked("plan"))
    assert set(theirs) <= set(asked("access", "--who", "acme/space/open"))
    write(acme, project(access=demand({"member": "linus@acme.example"}, "acme/space/salaries")))
    assert set(theirs) <= set(asked("plan"))
    reading = project(service={**PROJECT["service"], "readPeople": True})
    write(acme, reading)
    assert set(theirs) <= set(asked("plan"))


def test_how_many_people_are_asked_is_said_before_with_the_number_of_requests_and_then_counted(acme: Cli) -> None:
    acme("sandbox", "faults", "set", "--db", "s.db", "--rule", SLOW, code=0)
    asking = [line for line in narrated(acme, "access", "--who", "acme/space/open", program=AT_ONCE) if line.startswith("Asking what ")]
    assert asking[0] == "Asking what 5 people can read, at least 6 requests …"
    assert [line for line in asking[1:] if re.match(r"Asking what 5 people can read, at least 6 requests: \d of 6 requests", line)]


def test_a_person_who_joins_a_team_and_one_who_leaves_are_drift_by_name(acme: Cli) -> None:
    changed = copy.deepcopy(SEED)
    changed["teams"][0]["members"] = ["usr_linus", "usr_grace"]
    reading = project(service={**PROJECT["service"], "readPeople": True})
    write(acme, reading)
    assert acme("drift").exit_code == exits.DONE
    fewer = project(service=reading["service"])
    fewer["organizations"]["acme"]["teams"]["writers"]["members"] = ["linus@acme.example"]
    write(acme, fewer)
    said = acme("plan").stdout
    assert "acme/team/writers" in said
    assert "members" in said


def test_import_writes_teams_with_their_members_and_grants_beside_their_space(acme: Cli) -> None:
    acme("import", "new", "--org", "org_acme", "--people", "--sandbox", "s.db", "--state", "sqlite:///new.db", "--create-state", code=0)
    text = "".join(path.read_text() for path in sorted((acme.root / "new").rglob("*.yaml")))
    assert "members: [linus@acme.example, old@acme.example]" in text
    assert "# 1 person was given access one by one: vera@acme.example (admin)" in text
    assert "# 1 person was given access one by one: linus@acme.example (comment)" in text
    assert "readPeople: true" in text


@pytest.mark.parametrize("name", ["old", "gus"])
def test_a_disabled_admin_and_a_guest_do_not_keep_an_organization_alive(acme: Cli, name: str) -> None:
    left = project()
    left["organizations"]["acme"]["members"] = {"ada@acme.example": "edit", f"{name}@acme.example": PEOPLE[name] or "guest"}
    write(acme, left)
    assert "would leave 0 with role admin" in acme("plan").stdout


@pytest.mark.parametrize("sort", MAPS)
def test_the_schema_for_editors_accepts_every_reader_that_the_project_may_name(sort: str) -> None:
    value = {"claims": {"plan": "pro"}, "role": "guest"}.get(sort, "a-key")
    project = {"access": [{"as": {sort: value}, "mustNotSee": ["acme/space/open"]}]}
    assert [error.message for error in configuration().iter_errors(project)] == []


def rehearsed(cli: Cli, level: str, **service: Any) -> tuple[list[str], list[str]]:
    """What a rehearsal says of who reads `salaries` with this level, and the readers of the plan's exposures of it."""
    opened = project(service={**PROJECT["service"], **service})
    node(opened, "salaries")["defaultLevel"] = level
    write(cli, opened)
    said = cli("rehearse").stdout
    lines = [line.strip(" +-") for line in said.splitlines() if "newly read" in line or "no longer read" in line]
    return lines, [reader for exposure in cli.json("plan")["exposures"] for reader in exposure["readers"]]


def test_a_rehearsal_names_the_people_whom_the_plan_names_and_whoever_was_not_read(acme: Cli) -> None:
    people = "members: grace@acme.example, gus@acme.example, linus@acme.example"
    assert rehearsed(acme, "read", readPeople=True) == ([f"{people} can newly read acme/space/salaries"], [people])
    unread = "members and perhaps whoever was given access one by one can newly read acme/space/salaries"
    assert rehearsed(acme, "read") == ([unread], ["members"])


def test_the_preview_names_them_too(acme: Cli) -> None:
    rehearsed(acme, "comment", readPeople=True)
    acme("rehearse", "--report", "html=preview.html")
    shown = PreviewFile((acme.root / "preview.html").read_text(encoding="utf-8"))
    names = "grace@acme.example, gus@acme.example, linus@acme.example"
    assert f"members (comment): {names}" in shown.html, "on the first screen"
    assert [change["people"] for change in shown.document["readers"]["gained"] if change["who"] == "members (comment)"] == [names]


def test_who_may_keep_what_they_were_given_is_not_named_among_those_who_lose(acme: Cli) -> None:
    rehearsed(acme, "comment", readPeople=True)
    acme("apply", "--yes", "--allow-exposure", "**", code=0)
    assert rehearsed(acme, "guest", readPeople=True) == (["members (comment) can no longer read acme/space/salaries"], [])


def test_a_document_has_everybody_by_name_where_people_are_read_and_python_has_the_same(acme: Cli) -> None:
    assert "people" not in acme.json("access")
    named = {row["address"]: row for row in acme.json("access", "--people")["people"]}
    assert [(line["reader"], line["level"], line["reason"]) for line in named["acme/space/salaries"]["after"]] == [
        ("ada@acme.example", "admin", "admin"),
        ("vera@acme.example", "admin", "given one by one"),
    ]
    with reconciler.open(acme.root) as opened:
        assert {row["address"]: row for row in opened.access(people=True).as_document()["people"]} == named
        assert "people" not in opened.access().as_document()


def test_of_whoever_was_not_read_only_what_is_certain_is_said_and_what_may_be_more(acme: Cli) -> None:
    """Their role gives them more than the service may: what single people were given counts before the level, also where it is less."""
    commenting = project()
    node(commenting, "open")["defaultLevel"] = "comment"
    write(acme, commenting)
    acme("apply", "--yes", "--allow-exposure", "**", code=0)
    rule = '{"fault": "forbidden", "ids": "usr_linus", "operation": "GET */spaces"}'
    acme("sandbox", "faults", "set", "--db", "s.db", "--rule", rule, code=0)
    for words in (("--as", "member=linus@acme.example"), ("--who", "acme/space/open")):
        (row,) = (row for row in acme.json("access", *words)["objects"] if row["address"] == "acme/space/open")
        (line,) = (line for line in row["after"] if line["reader"] == "linus@acme.example")
        assert (line["level"], line["perhaps"]) == ("read", "admin"), words


@pytest.mark.parametrize("level", [None, "comment"])
def test_what_was_given_on_a_collection_that_no_space_inherits_from_is_never_no(cli: Cli, level: str | None) -> None:
    grants = [{"member": "usr_vera", "role": "read"}]
    seed = {**SEED, "collections": [{**ORG, "id": "col_people", "title": "People", "defaultLevel": level, "grants": grants}], "spaces": []}
    cli.write("seed.yaml", yaml.safe_dump(seed))
    cli("sandbox", "seed", "--db", "s.db", "seed.yaml", code=0)
    bare = project(access=demand({"member": "vera@acme.example"}, "acme/collection/people"))
    bare["organizations"]["acme"]["content"] = [{"collection": "people", "id": "col_people", "title": "People"}]
    bare["organizations"]["acme"]["teams"] = {}
    write(cli, bare)
    assert cli("plan").exit_code == exits.REFUSED
    (row,) = cli.json("access", "--who", "acme/collection/people")["objects"]
    (vera,) = (line for line in row["before"] if line["reader"] == "vera@acme.example")
    assert (vera["level"], vera["perhaps"], vera["doubt"][:20]) == (("read", "admin", "") if level else ("", "", "the service does not"))


def test_what_an_import_keeps_of_people_is_left_to_plan_by_the_tests_without_a_service(acme: Cli) -> None:
    words = ("--people", "--access-tests", "--sandbox", "s.db", "--state", "sqlite:///new.db", "--create-state")
    acme("import", "new", "--org", "org_acme", *words, code=0)
    said = acme("test", "new", "--parallel", "1", code=0).stdout
    assert "left to plan: vera@acme.example cannot read acme/space/salaries, and must see it, by what the files say" in said
    assert acme("plan", "new", "--sandbox", "s.db", "--state", "sqlite:///new.db").exit_code == exits.DONE
