"""What each member may do with each space: the sandbox's answers over HTTP, and a table of the rules that shares no code with it."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.sandbox import copies
from reconciler.sandbox.sites.asked import AskedReader, readable
from reconciler.sandbox.sites.audience import Audience
from reconciler.sandbox.sites.named import read_by
from reconciler.sandbox.sites.readers import Reader
from tests.proofs import spread
from tests.sandbox.box import ADA, CARA, CONTROL, RITA, SEED, ZOE, Box

ROLES = ("read", "comment", "edit", "review", "create", "admin")
SPACES = ("spc_root", "spc_one", "spc_two", "spc_deep")
Document = dict[str, Any]


def reached(box: Box, user: str) -> dict[str, str]:
    """The permission of a member in every space that they reach."""
    return {entry["space"]["id"]: entry["permission"] for entry in box.items(f"/orgs/org_a/members/{user}/spaces")}


def levels_at(box: Box, id: str) -> dict[str, str]:
    """The readers of an object with their levels, as the control endpoint names them."""
    entries = box.send("GET", "/_sandbox/readers", token=CONTROL, params={"organization": "org_a"}).json()["items"]
    return next({reader["reader"]: reader["level"] for reader in entry["readers"]} for entry in entries if entry["id"] == id)


def given(tmp_path: Path, **lists: Any) -> Box:
    """The usual sandbox with these changes of its entries, by id."""
    document = {name: [entry | lists.get(name, {}).get(entry.get("id"), {}) for entry in entries] for name, entries in SEED.items()}
    return Box(tmp_path, document | {"teams": lists.get("made", [])})


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    made: list[Box] = []

    def make(**lists: Any) -> Box:
        made.append(given(tmp_path, **lists))
        return made[-1]

    yield make
    for box in made:
        box.close()


# -- the nearest counts ------------------------------------------------------------------------------------------------------------


def test_the_level_that_is_set_nearest_to_a_space_counts_and_not_the_highest(box: Box) -> None:
    assert reached(box, "usr_rita") == {}
    box.patch("/collections/col_guides", {"defaultLevel": "edit"})
    for id in ("spc_one", "spc_two", "spc_deep"):
        box.patch(f"/spaces/{id}", {"defaultLevel": "inherit"})
    assert reached(box, "usr_rita") == {"spc_one": "edit", "spc_two": "edit"}  # the collection of spc_deep admits nobody
    box.patch("/collections/col_inner", {"defaultLevel": "inherit"})
    assert reached(box, "usr_rita") == {"spc_one": "edit", "spc_two": "edit", "spc_deep": "edit"}
    box.patch("/collections/col_inner", {"defaultLevel": "comment"})
    box.patch("/spaces/spc_one", {"defaultLevel": "read"})
    assert reached(box, "usr_rita") == {"spc_one": "read", "spc_two": "edit", "spc_deep": "comment"}
    box.patch("/spaces/spc_two", {"defaultLevel": None})
    assert reached(box, "usr_rita") == {"spc_one": "read", "spc_deep": "comment"}
    box.move("/spaces/spc_deep", parent="col_guides")
    assert reached(box, "usr_rita") == {"spc_one": "read", "spc_deep": "edit"}


def test_inherit_at_the_top_is_the_role_of_each_member_and_nothing_for_guests(box: Box) -> None:
    box.patch("/spaces/spc_root", {"defaultLevel": "inherit"})
    assert [reached(box, user) for user in ("usr_rita", "usr_cara")] == [{"spc_root": "read"}, {"spc_root": "create"}]
    box.patch("/orgs/org_a/members/usr_rita", {"role": None})
    assert reached(box, "usr_rita") == {}
    assert levels_at(box, "spc_root") == {f"role:{role}": role for role in ROLES[:-1]} | {"admin": "admin"}


def test_a_role_at_a_space_is_that_of_every_member_whatever_their_own_is(box: Box) -> None:
    box.patch("/spaces/spc_root", {"defaultLevel": "comment"})
    box.patch("/orgs/org_a/members/usr_rita", {"role": None})
    assert [reached(box, user) for user in ("usr_rita", "usr_cara")] == [{"spc_root": "comment"}] * 2
    everybody = {f"role:{role}": "comment" for role in ("guest", *ROLES[:-1])}
    assert levels_at(box, "spc_root") == everybody | {"admin": "admin"}


def test_admins_reach_every_space_as_admins_and_nobody_a_deleted_one(box: Box) -> None:
    box.patch("/spaces/spc_root", {"defaultLevel": "read"})
    assert reached(box, "usr_ada") == dict.fromkeys(SPACES, "admin")
    assert reached(box, "usr_rita") == {"spc_root": "read"}
    box.delete("/spaces/spc_root")
    assert (set(reached(box, "usr_ada")), reached(box, "usr_rita")) == (set(SPACES) - {"spc_root"}, {})
    assert levels_at(box, "spc_root") == {}


def test_a_collection_has_readers_like_a_space(box: Box) -> None:
    box.patch("/collections/col_guides", {"defaultLevel": "review"})
    assert levels_at(box, "col_inner") == {"admin": "admin"}
    box.patch("/collections/col_inner", {"defaultLevel": "inherit"})
    assert levels_at(box, "col_inner") == levels_at(box, "col_guides")
    assert levels_at(box, "col_inner")["role:guest"] == "review"


# -- what single people and teams were given ---------------------------------------------------------------------------------------


def test_what_a_person_was_given_counts_before_what_their_teams_were_and_before_the_level(make: Any) -> None:
    teams = [{"organization": "org_a", "id": f"team_{name}", "members": ["usr_rita", "usr_cara"]} for name in ("one", "two")]
    granted = [{"team": "team_one", "role": "review"}, {"team": "team_two", "role": "comment"}, {"member": "usr_cara", "role": "read"}]
    box = make(spaces={"spc_root": {"defaultLevel": "edit", "grants": granted}}, made=teams)
    assert [reached(box, user) for user in ("usr_rita", "usr_cara", "usr_ada")] == [
        {"spc_root": "review"},
        {"spc_root": "read"},
        dict.fromkeys(SPACES, "admin"),
    ]
    people = {name: level for name, level in levels_at(box, "spc_root").items() if name.startswith("person:")}
    assert people == {"person:usr_rita": "review", "person:usr_cara": "read"}


def test_what_was_given_at_a_collection_flows_down_until_something_nearer_is_set(make: Any) -> None:
    granted = {"grants": [{"member": "usr_rita", "role": "edit"}]}
    box = make(collections={"col_guides": granted, "col_inner": {"defaultLevel": "inherit"}})
    assert reached(box, "usr_rita") == {}
    for id in ("spc_one", "spc_deep"):
        box.patch(f"/spaces/{id}", {"defaultLevel": "inherit"})
    assert reached(box, "usr_rita") == {"spc_one": "edit", "spc_deep": "edit"}
    assert reached(box, "usr_cara") == {}
    box.patch("/spaces/spc_one", {"defaultLevel": "read"})
    box.patch("/collections/col_inner", {"defaultLevel": None})
    assert reached(box, "usr_rita") == {"spc_one": "read"}


def test_whoever_creates_a_collection_or_a_space_is_its_admin_and_a_copy_takes_over_nothing_that_was_given(make: Any) -> None:
    box = make(spaces={"spc_root": {"grants": [{"member": "usr_rita", "role": "edit"}], "createdBy": "usr_zoe"}})
    copied = box.post("/spaces/spc_root/duplicate", token=CARA)
    collection = box.post("/orgs/org_a/collections", {"title": "Mine"}, token=CARA)
    own = {f"role:{role}": role for role in ROLES[:-1]}
    creators = {"admin": "admin", "person:usr_cara": "admin"}
    assert levels_at(box, copied["id"]) == creators, "a copy has the level of its source"
    assert levels_at(box, collection["id"]) == {**own, **creators}, "a collection that is new inherits its level"
    assert (reached(box, "usr_rita"), reached(box, "usr_cara")) == ({"spc_root": "edit"}, {copied["id"]: "admin"})
    box.patch("/orgs/org_a/members/usr_zoe", {"role": "read"})
    assert reached(box, "usr_zoe") == {"spc_root": "admin"}


def test_who_leaves_and_comes_back_has_nothing_that_they_were_given(make: Any) -> None:
    box = make(
        spaces={"spc_root": {"grants": [{"member": "usr_rita", "role": "edit"}]}},
        organizations={"org_a": {"emailDomains": ["acme.example"], "defaultRole": "read"}},
    )
    box.delete("/orgs/org_a/members/usr_rita")
    assert box.send("POST", "/orgs/org_a/join", token=RITA).status_code == 204
    assert reached(box, "usr_rita") == {}


def test_a_transferred_space_takes_over_nothing_that_was_given(make: Any) -> None:
    box = make(spaces={"spc_root": {"grants": [{"member": "usr_zoe", "role": "edit"}], "defaultLevel": None}})
    box.post("/spaces/spc_root/transfer", {"organization": "org_b"}, status=200, token=ZOE)
    assert box.store.find("space", "spc_root").get("_grants") is None  # type: ignore[union-attr]


# -- disabled members, and who may ask ---------------------------------------------------------------------------------------------


def test_a_disabled_member_reaches_nothing_and_their_token_is_refused(make: Any) -> None:
    disabled = {"usr_zoe": {"disabled": True}, "usr_rita": {"disabled": True}}
    box = make(members=disabled, spaces={"spc_root": {"defaultLevel": "read", "grants": [{"member": "usr_rita", "role": "edit"}]}})
    assert reached(box, "usr_zoe") == reached(box, "usr_rita") == {}
    shown = {entry["id"]: (entry["disabled"], entry["spaces"]) for entry in box.items("/orgs/org_a/members")}
    assert shown == {"usr_ada": (False, 4), "usr_cara": (False, 1), "usr_zoe": (True, 0), "usr_rita": (True, 0)}
    assert set(levels_at(box, "org_a")) == {"joins:invite-link", "member:usr_ada", "member:usr_cara"}
    assert not any(name.startswith("person:") for name in levels_at(box, "spc_root"))
    for path in ("/orgs/org_a", "/spaces/spc_root", "/orgs/org_a/members", "/orgs/org_a/members/usr_zoe/spaces"):
        said = box.refused("GET", path, status=403, token=ZOE)
        assert said == "your membership of organization org_a is disabled"
    assert box.send("GET", "/orgs", token=ZOE).json()["items"] == []
    assert box.refused("POST", "/orgs/org_a/join", status=403, token=RITA)


def test_the_control_token_acts_as_the_first_admin_who_is_not_disabled(make: Any) -> None:
    box = make(members={"usr_ada": {"disabled": True}})
    posted = box.post("/spaces/spc_root/comments", {"body": {"markdown": "Hello"}}, status=200, token=CONTROL)
    assert posted["postedBy"]["id"] == "usr_zoe"


def test_a_guest_may_ask_about_themselves_only_and_every_other_member_about_everybody(box: Box) -> None:
    paths = [f"/orgs/org_a/members/usr_cara{part}" for part in ("", "/spaces", "/teams")]
    others = ["/orgs/org_a/members", "/orgs/org_a/teams", *paths]
    assert {box.send("GET", path, token=RITA).status_code for path in others} == {200}
    box.patch("/orgs/org_a/members/usr_rita", {"role": None})
    for path in others:
        assert box.refused("GET", path, status=403, token=RITA) == "you need the role read for this"
    assert {box.send("GET", path.replace("cara", "rita"), token=RITA).status_code for path in paths} == {200}
    assert box.send("GET", "/orgs/org_a", token=RITA).json()["permissions"]["listMembers"] is False


# -- teams -------------------------------------------------------------------------------------------------------------------------


def test_each_team_of_a_member_is_listed_with_their_role(make: Any) -> None:
    entries = ["usr_cara", {"id": "usr_rita", "role": "owner"}]
    box = make(made=[{"organization": "org_a", "id": "team_docs", "title": "Docs", "members": entries}])
    other = box.put("/orgs/org_a/teams", {"title": "Other", "members": ["usr_ada", "usr_rita"]}, status=201)

    def roles(user: str) -> dict[str, str]:
        return {entry["team"]["id"]: entry["member"]["role"] for entry in box.items(f"/orgs/org_a/members/{user}/teams")}

    assert roles("usr_rita") == {"team_docs": "owner", other["id"]: "read"}
    assert (roles("usr_cara"), roles("usr_ada")) == ({"team_docs": "read"}, {other["id"]: "owner"})
    assert {team["id"]: team["members"] for team in box.items("/orgs/org_a/teams")} == {"team_docs": 2, other["id"]: 2}
    assert {entry["id"]: entry["teams"] for entry in box.items("/orgs/org_a/members")} == {
        "usr_rita": 2, "usr_cara": 1, "usr_ada": 1, "usr_zoe": 0,
    }  # fmt: skip
    assert [[team["id"] for team in box.items("/orgs/org_a/teams", owner=user)] for user in ("usr_rita", "usr_ada", "usr_cara")] == [
        ["team_docs"], [other["id"]], [],
    ]  # fmt: skip
    box.delete("/orgs/org_a/members/usr_rita")
    assert {team["id"]: team["members"] for team in box.items("/orgs/org_a/teams")} == {"team_docs": 1, other["id"]: 1}


# -- random organizations against a table of the rules --------------------------------------------------------------------------


def random_organization(chance: random.Random, *, size: int = 1) -> Document:
    """An organization with nested collections, every sort of level, teams, grants, creators and disabled members."""
    people = [f"usr_{number}" for number in range(size * chance.randint(2, 6))]
    teams = [f"team_{number}" for number in range(chance.randint(0, 3))]
    collections = [f"col_{number}" for number in range(chance.randint(0, 6))]

    def content(id: str, parents: list[str]) -> Document:
        grants = [
            {"member": chance.choice(people), "role": chance.choice(ROLES)}
            if chance.random() < 0.5 or not teams
            else {"team": chance.choice(teams), "role": chance.choice(ROLES)}
            for _ in range(chance.choice((0, 0, 1, 2, 3)))
        ]
        fields: Document = {"id": id, "organization": "org_a", "grants": grants}
        fields["defaultLevel"] = chance.choice(("inherit", "inherit", "inherit", None, *ROLES))
        fields["parent"] = chance.choice((None, *parents))
        return fields | ({"createdBy": chance.choice(people)} if chance.random() < 0.2 else {})

    return {
        "organizations": [{"id": "org_a"}],
        "members": [
            {"organization": "org_a", "id": "usr_ada", "email": "ada@acme.example", "role": "admin"},
            *(
                {"organization": "org_a", "id": id, "email": f"{id}@acme.example", "role": chance.choice((None, *ROLES)),
                 "disabled": chance.random() < 0.2}
                for id in people
            ),
        ],
        "tokens": [{"token": ADA, "member": "usr_ada"}],
        "teams": [{"organization": "org_a", "id": id, "members": chance.sample(people, chance.randint(0, len(people)))} for id in teams],
        "collections": [content(id, collections[:number]) for number, id in enumerate(collections)],
        "spaces": [content(f"spc_{number}", collections) for number in range(size * chance.randint(1, 8))],
    }  # fmt: skip


def allowed(document: Document, member: Document, data: Document) -> str | None:
    """What the contract's notes say that one member may do with one space or collection, sentence by sentence."""
    if member.get("disabled"):
        return None
    if member["role"] == "admin":
        return "admin"
    user, at = member["id"], data
    while True:
        own = [grant["role"] for grant in at["grants"] if grant.get("member") == user]
        if not own and at.get("createdBy") == user:
            own = ["admin"]
        teams = {team["id"] for team in document["teams"] if user in team["members"]}
        theirs = own or [grant["role"] for grant in at["grants"] if grant.get("team") in teams]
        if theirs:
            return max(theirs, key=ROLES.index)
        if at["defaultLevel"] != "inherit":
            level: str | None = at["defaultLevel"]
            return level
        if at["parent"] is None:
            role: str | None = member["role"]
            return role
        at = next(collection for collection in document["collections"] if collection["id"] == at["parent"])


def edit(box: Box, document: Document, chance: random.Random) -> None:
    """Change the level of an object or move it, at the service and in the document."""
    kind = chance.choice(["spaces", *(["collections"] if document["collections"] else [])])
    data = chance.choice(document[kind])
    if chance.random() < 0.5:
        data["defaultLevel"] = chance.choice(("inherit", None, *ROLES))
        box.patch(f"/{kind}/{data['id']}", {"defaultLevel": data["defaultLevel"]})
    else:
        # A collection is moved into one that was created before it, which cannot be inside it.
        before = [item["id"] for item in document["collections"] if kind == "spaces" or item["id"] < data["id"]]
        data["parent"] = chance.choice((None, *before))
        box.move(f"/{kind}/{data['id']}", parent=data["parent"])


def agree(box: Box, document: Document, chance: random.Random) -> int:
    """Compare every answer about every member with the table; the pairs that were compared."""

    def read(asked: AskedReader) -> set[str]:
        """The spaces and collections of a reader, as commands ask about them, which a rehearsal agrees with."""
        alike = {id for kind, id in read_by(box.store, *asked) if kind in ("space", "collection")}
        assert {id for kind, id in readable(audience, asked) if kind in ("space", "collection")} == alike
        return alike

    def reaching(member: Document) -> set[str]:
        return {data["id"] for data in (*document["spaces"], *document["collections"]) if allowed(document, member, data) is not None}

    audience = Audience(box.store, box.store.select("organization")[0])
    shown = {entry["id"]: entry for entry in box.items("/orgs/org_a/members", limit=100)}
    entries = box.send("GET", "/_sandbox/readers", token=CONTROL, params={"organization": "org_a"}).json()["items"]
    readers = {entry["id"]: {reader["reader"]: reader["level"] for reader in entry["readers"]} for entry in entries}
    for member in document["members"]:
        wanted = {space["id"]: level for space in document["spaces"] if (level := allowed(document, member, space)) is not None}
        page, found, limit = None, {}, chance.choice((2, 100))
        while True:
            answer = box.get(f"/orgs/org_a/members/{member['id']}/spaces", limit=limit, **({"page": page} if page else {}))
            found |= {entry["space"]["id"]: entry["permission"] for entry in answer["items"]}
            assert answer["count"] == len(wanted)
            if "next" not in answer:
                break
            page = answer["next"]["page"]
        assert found == wanted, member
        teams = [entry["team"]["id"] for entry in box.items(f"/orgs/org_a/members/{member['id']}/teams")]
        assert set(teams) == {team["id"] for team in document["teams"] if member["id"] in team["members"]}
        assert (shown[member["id"]]["spaces"], shown[member["id"]]["teams"]) == (len(wanted), len(teams))
        for data in (*document["spaces"], *document["collections"]):
            named = readers[data["id"]]
            name = "admin" if member["role"] == "admin" else f"role:{member['role'] or 'guest'}"
            level = None if member.get("disabled") else named.get(f"person:{member['id']}", named.get(name))
            assert level == allowed(document, member, data), (member, data)
        assert read(AskedReader(Reader(), member=member["id"])) == reaching(member), member
    for role in (None, *ROLES):
        assert read(AskedReader(Reader(), role or "guest")) == reaching({"id": "", "role": role}), role
    return len(document["members"]) * (len(document["spaces"]) + len(document["collections"]))


@pytest.mark.parametrize("seed", spread(range(120), push=6))
def test_every_member_of_a_random_organization_reaches_what_the_rules_say(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    document = random_organization(chance)
    box = Box(tmp_path, document)
    pairs = agree(box, document, chance)
    for _ in range(4):
        edit(box, document, chance)
        pairs += agree(box, document, chance)
    box.close()
    assert pairs > 0


@pytest.mark.parametrize("seed", spread(range(200, 260), push=4))
def test_a_copy_of_what_is_known_of_each_person_answers_the_same_for_each(tmp_path: Path, seed: int) -> None:
    document = random_organization(random.Random(seed))
    box = Box(tmp_path, document)
    people = [f"/orgs/org_a/members/{member['id']}/{part}" for member in document["members"] for part in ("spaces", "teams")]
    lists = [f"/orgs/org_a/{part}" for part in ("members", "teams", "collections")]
    lists += [f"/collections/{collection['id']}/spaces" for collection in document["collections"]]
    known = {path: box.items(path) for path in (*people, *lists)}
    box.close()
    export = copies.copied("http://127.0.0.1:1", {"/orgs/org_a": {"id": "org_a", "title": "Acme", "inviteLinks": False}} | known)
    copies.write_copy(tmp_path / "copy.db", export)
    copied = copy.copy(box)
    copied.db = tmp_path / "copy.db"
    copied.open()
    copied.store.add_token(ADA, "usr_ada", "org_a", "write")
    again = {path: copied.items(path) for path in known}
    for path in known:
        assert sorted(map(plain, again[path])) == sorted(map(plain, known[path])), path
    copied.close()


def plain(item: Any) -> str:
    """An item of a list of people as it has to be the same in a copy."""
    if "permission" in item:
        return f"{item['space']['id']} {item['permission']}"
    if "team" in item:
        return f"{item['team']['id']} {item['team']['members']} {item['member']['role']}"
    return f"{item['id']} {item.get('role')} {item.get('disabled')} {item.get('spaces')} {item.get('teams')} {item.get('members')}"
