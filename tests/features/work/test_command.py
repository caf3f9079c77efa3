"""What people are working on in what a plan deletes, replaces, transfers, moves to other readers or locks: shown, refused, consented to.

Through the command line, on the sandbox, which counts drafts and comments as the service does.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command_line import Cli
from tests.documents import valid
from tests.harness import Still
from tests.proofs import proof, tries

EVIL = 'Rewrite \x1b[31m<script>alert(1)</script> | `x` ${{ vars.y }} "v3"\nsecond line'
SEED: dict[str, Any] = {
    "organizations": [{"id": "org_acme", "title": "Acme"}, {"id": "org_labs", "title": "Labs"}],
    "members": [
        {"organization": "org_acme", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"},
        {"organization": "org_labs", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"},
        {"organization": "org_acme", "id": "usr_grace", "email": "grace@acme.example", "displayName": "Grace", "role": "edit"},
    ],
    "collections": [
        {"organization": "org_acme", "id": "col_old", "title": "Old"},
        {"organization": "org_acme", "id": "col_open", "title": "Open", "defaultLevel": "read"},
    ],
    "spaces": [
        {"organization": "org_acme", "id": "spc_blank", "title": "Blank"},
        {
            "organization": "org_acme",
            "id": "spc_legacy",
            "title": "Legacy",
            "changeRequests": [
                {"subject": EVIL[:100], "createdBy": "usr_grace", "createdAt": "2026-11-24T08:00:00+05:00"},
                {"subject": "Closed", "createdBy": "usr_grace", "status": "archived"},
            ],
            "comments": [
                {"markdown": "Is this still true?", "postedBy": "usr_grace"},
                {"markdown": "Yes", "postedBy": "usr_ada", "status": "resolved"},
            ],
        },
        {
            "organization": "org_acme",
            "id": "spc_guide",
            "title": "Guide",
            "pages": [{"title": "Start", "markdown": "See [legacy](/spaces/spc_legacy)."}],
        },
        {
            "organization": "org_acme",
            "id": "spc_inner",
            "title": "Inner",
            "parent": "col_old",
            "comments": [{"markdown": f"comment {number}", "postedBy": "usr_grace"} for number in range(7)],
        },
        {
            "organization": "org_acme",
            "id": "spc_hidden",
            "title": "Hidden",
            "parent": "col_old",
            "changeRequests": [{"subject": "Quick fix", "createdBy": "usr_grace", "status": "open"}],
        },
        {"organization": "org_acme", "id": "spc_quiet", "title": "Quiet"},
        {"organization": "org_labs", "id": "spc_lab", "title": "Lab"},
    ],
}


def document() -> dict[str, Any]:
    return {
        "version": 1,
        "project": "p",
        "service": {"sandbox": ".reconciler/sandbox.db", "member": "ada@acme.example"},
        "guards": {"maxDelete": {"percent": 100}},
        "organizations": {
            "acme": {
                "id": "org_acme",
                "content": [
                    {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True},
                    {"space": "legacy", "id": "spc_legacy", "title": "Legacy", "editMode": "live"},
                    {"space": "guide", "id": "spc_guide", "title": "Guide"},
                    {"space": "quiet", "id": "spc_quiet", "title": "Quiet"},
                    {
                        "collection": "old",
                        "id": "col_old",
                        "title": "Old",
                        "content": [{"space": "inner", "id": "spc_inner", "title": "Inner"}],
                    },
                    {"collection": "open", "id": "col_open", "title": "Open", "defaultLevel": "read", "content": []},
                ],
            },
            "labs": {"id": "org_labs", "content": [{"space": "lab", "id": "spc_lab", "title": "Lab"}]},
        },
    }


Content = list[dict[str, Any]]


def content(project: dict[str, Any]) -> Content:
    nodes: Content = project["organizations"]["acme"]["content"]
    return nodes


def node(project: dict[str, Any], key: str) -> dict[str, Any]:
    return next(item for item in content(project) if key in (item.get("space"), item.get("collection")))


def without(project: dict[str, Any], *keys: str) -> None:
    content(project)[:] = [item for item in content(project) if not {item.get("space"), item.get("collection")} & set(keys)]


def deleting(*addresses: str) -> dict[str, Any]:
    """The project without these, and with the consent of the protection."""
    project = document()
    without(project, *(address.rpartition("/")[2] for address in addresses))
    project["removed"] = [{"address": address, "action": "delete-all"} for address in addresses]
    return project


def write(cli: Cli, project: dict[str, Any]) -> None:
    cli.write("p/reconciler.yaml", yaml.safe_dump(project, sort_keys=False))


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, applied once; every test works on a copy."""
    cli = Cli(tmp_path_factory.mktemp("work"))
    write(cli, document())
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump(SEED))
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    return cli.root


@pytest.fixture
def cli(living: Path, tmp_path: Path) -> Cli:
    shutil.copytree(living, tmp_path, dirs_exist_ok=True)
    return Cli(tmp_path, clock=Still())


def open_work(cli: Cli, *words: str) -> list[dict[str, Any]]:
    plan = cli.json("plan", "p", *words)
    valid(plan, "plan")
    return list(plan.get("openWork", []))


def numbers(entry: dict[str, Any]) -> dict[str, int]:
    return {sort["noun"]: sort["number"] for sort in entry["sorts"]}


def gets(cli: Cli, *words: str) -> Counter[str]:
    """The requests of a plan, by path."""
    lines = cli("plan", "p", "-v", *words).stderr.splitlines()
    return Counter(line.split()[1].removeprefix("/v1") for line in lines if line.startswith("GET "))


# -- what is shown -------------------------------------------------------------------------------------------------------------------


def test_a_delete_names_drafts_comments_and_links_with_titles_authors_and_ages(cli: Cli) -> None:
    write(cli, deleting("acme/space/legacy"))
    planned = cli("plan", "p", code=4)
    line = " ".join(planned.stdout.split())
    assert "! contains 1 draft change request (" in line
    assert "Grace, 2 days old)" in line or "days old)" in line
    assert '1 open comment ("Is this still true?", Grace, ' in line
    assert '1 link from another space ("Start", Guide)' in line
    assert "(ends with the delete; requires consent)" in line
    assert "Work in progress ends with the delete:" in planned.stdout
    (entry,) = open_work(cli)
    assert (entry["address"], entry["effect"], entry["blocks"], entry["asked"]) == ("acme/space/legacy", "delete", True, True)
    assert numbers(entry) == {"draft change request": 1, "open comment": 1, "link from another space": 1}
    (draft,) = next(sort["items"] for sort in entry["sorts"] if sort["noun"] == "draft change request")
    assert draft["since"] == "2026-11-24T03:00:00Z", "the time zone of the service does not change the moment"


def test_a_container_contains_the_work_of_what_is_in_it_managed_or_not(cli: Cli) -> None:
    write(cli, deleting("acme/collection/old"))
    planned = cli("plan", "p", code=4)
    whole = " ".join(planned.stdout.split())
    assert "7 open comments and 1 open change request, in acme/space/inner and acme/space/spc_hidden" in whole
    inner, hidden = sorted(open_work(cli), key=lambda entry: str(entry["address"]))
    assert (inner["address"], hidden["address"]) == ("acme/space/inner", "acme/space/spc_hidden")
    assert inner["within"] == hidden["within"] == ["acme/collection/old"]
    assert len(next(iter(inner["sorts"]))["items"]) == 5, "at most five titles"
    assert "and 2 more" in planned.stdout
    cli("apply", "p", "--yes", "--allow-open-work", "acme/collection/old", code=0)


def test_hostile_titles_are_harmless_in_every_report(cli: Cli) -> None:
    write(cli, deleting("acme/space/legacy"))
    reports = {name: cli.root / f"r.{name}" for name in ("markdown", "html", "junit", "sarif", "json")}
    planned = cli("plan", "p", *(word for name, path in reports.items() for word in ("--report", f"{name}={path}")), code=4)
    texts = {name: path.read_text(encoding="utf-8") for name, path in reports.items()}
    for name, text in {"text": planned.stdout, **texts}.items():
        assert "\x1b[31m" not in text, name
        assert "draft change request" in text, f"{name} shows it"
    assert "<script>" not in texts["html"]
    assert "\\x1b[31m" in planned.stdout, "it is shown, escaped"
    shown = cli("show", str(reports["json"])).stdout
    assert "1 draft change request" in shown, "a document says it again"


def test_a_lock_and_a_move_to_other_readers_are_shown_and_not_refused(cli: Cli) -> None:
    project = document()
    node(project, "legacy")["editMode"] = "locked"
    write(cli, project)
    assert [(entry["effect"], entry["blocks"]) for entry in open_work(cli)] == [("lock", False)]
    assert "cannot continue while it is locked" in cli("plan", "p", code=0).stdout

    project = document()
    moved = node(project, "legacy")
    without(project, "legacy")
    node(project, "open")["content"] = [moved]
    write(cli, project)
    planned = cli("plan", "p", code=0).stdout
    assert ("gets other readers" in planned) == bool(open_work(cli))
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)


def test_a_transfer_shows_the_work_in_what_it_transfers(cli: Cli) -> None:
    project = document()
    without(project, "old")
    moved = {"collection": "old", "title": "Old", "content": [{"space": "inner", "title": "Inner", "duplicateOf": "lab"}]}
    project["organizations"]["labs"]["content"].append(moved)
    project["moved"] = [{"from": "acme/collection/old", "to": "labs/collection/old"}]
    write(cli, project)
    entries = {str(entry["address"]): entry for entry in open_work(cli)}
    assert {entry["effect"] for entry in entries.values()} == {"transfer"}
    assert sum(numbers(entry).get("open comment", 0) for entry in entries.values()) == 7
    assert sum(numbers(entry).get("open change request", 0) for entry in entries.values()) == 1
    cli("plan", "p", "--out", "t.json", "--allow-exposure", "**", code=0)
    cli("apply", "p", "--yes", "--plan", "t.json", code=0)


# -- requests ------------------------------------------------------------------------------------------------------------------------


def test_a_plan_that_ends_no_work_sends_no_request_more(cli: Cli) -> None:
    project = document()
    without(project, "quiet")
    node(project, "guide")["title"] = "The guide"
    content(project).append({"space": "new", "title": "New", "duplicateOf": "blank"})
    write(cli, project)
    ignoring = json.loads(json.dumps(project))
    changing = gets(cli)
    ignoring["guards"]["openWork"] = "ignore"
    write(cli, ignoring)
    assert gets(cli) == changing
    assert not any(path.endswith(("/links", "/comments", "/change-requests")) for path in changing)


def test_a_delete_reads_a_list_for_each_sort_that_is_counted_and_the_links_of_the_rest(cli: Cli) -> None:
    write(cli, deleting("acme/space/legacy", "acme/space/quiet"))
    asked = gets(cli)
    ignoring = deleting("acme/space/legacy", "acme/space/quiet")
    ignoring["guards"]["openWork"] = "ignore"
    write(cli, ignoring)
    more = asked - gets(cli)
    lists = {"/spaces/spc_legacy/change-requests": 1, "/spaces/spc_legacy/comments": 1}
    links = {f"/spaces/{id}/links": 1 for id in ("spc_blank", "spc_guide", "spc_inner", "spc_hidden")}
    assert dict(more) == {**lists, **links}, "nothing is counted in the quiet space, so no list of it is read"
    assert open_work(cli) == []


def test_the_links_to_a_published_space_are_read_once_for_its_urls_and_its_work(cli: Cli) -> None:
    site = {"title": "Docs", "visibility": "public", "published": True, "structure": ["legacy", "guide"]}
    project = document()
    project["organizations"]["acme"]["sites"] = {"docs": site}
    write(cli, project)
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    project = deleting("acme/space/legacy")
    project["organizations"]["acme"]["sites"] = {"docs": {**site, "structure": ["guide"]}}
    write(cli, project)
    links = {path: number for path, number in gets(cli).items() if path.endswith("/links")}
    assert len(links) >= 3
    assert set(links.values()) == {1}


REFUSALS = [{"fault": "forbidden"}, {"fault": "error", "status": 500}, {"fault": "not-json"}]


@pytest.mark.parametrize("rule", REFUSALS, ids=["403", "500", "not JSON"])
def test_of_a_list_that_is_refused_the_number_is_known_and_the_titles_are_not(cli: Cli, rule: dict[str, Any]) -> None:
    write(cli, deleting("acme/space/legacy"))
    faults = [{**rule, "operation": f"GET /spaces/*/{name}"} for name in ("change-requests", "comments", "links")]
    set_faults(cli, faults)
    text = " ".join(cli("plan", "p", code=4).stdout.split())
    assert "1 draft change request (titles unknown: " in text
    assert "1 open comment (titles unknown: " in text
    assert "an unknown number of links from another space (" in text
    (entry,) = open_work(cli)
    assert entry["asked"], "what is counted requires consent, whatever its title"


def set_faults(cli: Cli, rules: list[dict[str, Any]]) -> None:
    words = [word for rule in rules for word in ("--rule", json.dumps(rule))]
    cli("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", *words, code=0)


# -- consent -------------------------------------------------------------------------------------------------------------------------


def test_the_refusal_prints_the_way_past_it_and_nothing_else_is_consent(cli: Cli) -> None:
    write(cli, deleting("acme/space/legacy"))
    refused = cli("apply", "p", "--yes", code=4)
    assert "[RC-open-work]" in refused.stderr
    assert "acme/space/legacy (delete): 1 draft change request, 1 open comment and 1 link from another space" in refused.stderr
    assert "--allow-open-work acme/space/legacy" in refused.stderr
    ignored = cli("apply", "p", "--yes", env={"RECONCILER_ALLOW_OPEN_WORK": "**"}, code=4)
    assert "RECONCILER_ALLOW_OPEN_WORK is ignored" in ignored.stderr
    cli("apply", "p", "--yes", "--allow-exposure", "**", "--allow-delete", "9", code=4)
    cli("apply", "p", "--yes", "--allow-open-work", "acme/space/other", code=4)
    cli("apply", "p", "--yes", "--allow-open-work", "acme/space/legacy", code=0)
    back = cli("undo", "last", "p", "--yes", code=0).stdout
    assert "contains" not in back, "what is restored loses nothing"


LEVELS = [
    # guards.openWork, what the plan does, whether it is refused, whether it is shown
    (None, "delete", True, True),
    (None, "lock", False, True),
    ("block", "lock", True, True),
    ("warn", "delete", False, True),
    ("ignore", "delete", False, False),
]


@pytest.mark.parametrize(("level", "what", "refused", "shown"), LEVELS)
def test_the_guard_blocks_warns_or_ignores(cli: Cli, level: str | None, what: str, refused: bool, shown: bool) -> None:
    project = deleting("acme/space/legacy") if what == "delete" else document()
    if what == "lock":
        node(project, "legacy")["editMode"] = "locked"
    if level is not None:
        project["guards"]["openWork"] = level
    write(cli, project)
    planned = cli("plan", "p", code=4 if refused else 0)
    assert ("! contains" in planned.stdout) is shown
    loosened = level in ("warn", "ignore")
    assert ("openWork" in planned.stdout) is loosened, "a looser rule is an exposure"


def test_a_wrong_level_is_an_error_with_its_position(cli: Cli) -> None:
    project = document()
    project["guards"]["openWork"] = "maybe"
    write(cli, project)
    refused = cli("plan", "p", code=3)
    assert "guards.openWork" in refused.stderr
    assert "block, warn, ignore" in refused.stderr.replace(" or ", ", ")


def post(cli: Cli, space: str = "spc_legacy") -> str:
    """One more comment."""
    words = ("-f", "body[markdown]=later", "--sandbox", "p/.reconciler/sandbox.db")
    return str(json.loads(cli("api", "POST", f"/spaces/{space}/comments", *words, code=0).stdout)["id"])


def resolve(cli: Cli, comment: str, space: str = "spc_legacy") -> None:
    words = ("-f", "resolved=true", "--sandbox", "p/.reconciler/sandbox.db")
    cli("api", "PUT", f"/spaces/{space}/comments/{comment}", *words, code=0)


def test_a_saved_plan_covers_what_it_shows_and_not_what_came_since(cli: Cli) -> None:
    write(cli, deleting("acme/space/legacy"))
    cli("plan", "p", "--out", "plan.json", code=4)
    assert not (cli.root / "plan.json").exists(), "a refused plan is not saved"
    before = post(cli)
    cli("plan", "p", "--out", "plan.json", "--allow-open-work", "acme/space/legacy", code=0)
    saved = json.loads((cli.root / "plan.json").read_text())
    valid(saved, "saved-plan")
    assert saved["options"]["allowOpenWork"] == ["acme/space/legacy"]
    assert "later" not in json.dumps(saved["consents"])
    more = post(cli)
    stale = cli("apply", "p", "--plan", "plan.json", "--yes", code=6)
    assert "people began more work in it since the plan was saved" in stale.stderr
    resolve(cli, more)
    resolve(cli, before)
    cli("apply", "p", "--plan", "plan.json", "--yes", code=0)


def test_a_file_of_before_does_not_cover_work(cli: Cli) -> None:
    project = deleting("acme/space/legacy")
    project["guards"]["openWork"] = "ignore"
    write(cli, project)
    cli("plan", "p", "--out", "plan.json", "--allow-exposure", "**", code=0)
    write(cli, deleting("acme/space/legacy"))
    cli("apply", "p", "--plan", "plan.json", "--yes", code=6)


def test_a_rehearsal_lists_what_apply_would_refuse(cli: Cli) -> None:
    write(cli, deleting("acme/space/legacy"))
    shown = cli("rehearse", "p").stdout
    assert "acme/space/legacy (delete): 1 draft change request, 1 open comment and 1 link from another space" in shown


# -- the proof -----------------------------------------------------------------------------------------------------------------------


def organization(chance: random.Random) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """A seed of random content, its project, and the addresses that are deleted from it."""
    spaces: list[dict[str, Any]] = [{"organization": "org_acme", "id": "spc_blank", "title": "Blank"}]
    nodes: Content = [{"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}]
    collections, ids = [], []
    for number in range(chance.randint(1, 3)):
        collections.append({"organization": "org_acme", "id": f"col_{number}", "title": f"C{number}"})
        nodes.append({"collection": f"c{number}", "id": f"col_{number}", "title": f"C{number}", "content": []})
    for number in range(chance.randint(2, 6)):
        id = f"spc_{number}"
        parent = chance.choice([None, *(item["id"] for item in collections)])
        ids.append(id)
        statuses = [chance.choice(["draft", "open", "archived"]) for _ in range(chance.choice([0, 0, 1, 2, 7]))]
        comments = [chance.choice(["open", "resolved"]) for _ in range(chance.choice([0, 0, 1, 6]))]
        spaces.append(
            {
                "organization": "org_acme",
                "id": id,
                "title": f"S{number}",
                "parent": parent,
                "changeRequests": [{"subject": f"{id} {index}", "createdBy": "usr_ada", "status": it} for index, it in enumerate(statuses)],
                "comments": [{"markdown": f"{id} {index}", "postedBy": "usr_ada", "status": it} for index, it in enumerate(comments)],
            }
        )
        if chance.random() < 0.7:
            declared = {"space": f"s{number}", "id": id, "title": f"S{number}"}
            inside = next((item for item in nodes if item.get("id") == parent), None)
            (nodes if inside is None else inside["content"]).append(declared)
    for space in spaces:
        links = [f"[x](/spaces/{chance.choice(ids)})" for _ in range(chance.choice([0, 1, 3]))]
        space["pages"] = [{"title": "Page", "markdown": " ".join(links)}]
    seed = {"organizations": SEED["organizations"][:1], "members": SEED["members"][:1], "collections": collections, "spaces": spaces}
    project = document()
    project["organizations"] = {"acme": {"id": "org_acme", "content": nodes}}
    known = [f"acme/space/{item['space']}" for item in nodes if "space" in item and item["space"] != "blank"]
    known += [f"acme/collection/{item['collection']}" for item in nodes if "collection" in item]
    return seed, project, chance.sample(known, chance.randint(1, len(known)))


def lost_work(seed: dict[str, Any], gone: set[str]) -> Iterator[tuple[str, str, int]]:
    """What the deletes end, from the seed alone."""
    for space in seed["spaces"]:
        if space["id"] not in gone:
            continue
        for status in ("open", "draft"):
            number = sum(item["status"] == status for item in space["changeRequests"])
            yield space["id"], f"{status} change request", number
        yield space["id"], "open comment", sum(item["status"] == "open" for item in space["comments"])
        others = [item for item in seed["spaces"] if item["id"] not in gone]
        links = sum(page["markdown"].count(f"/spaces/{space['id']})") for item in others for page in item["pages"])
        yield space["id"], "link from another space", links


def assert_nothing_is_lost_unnamed(root: Path, seed_number: int) -> None:
    chance = random.Random(seed_number)
    seed, project, deleted = organization(chance)
    cli = Cli(root)
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump(seed))
    write(cli, project)
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    without(project, *(address.rpartition("/")[2] for address in deleted))
    project["removed"] = [{"address": address, "action": "delete-all"} for address in deleted]
    write(cli, project)
    plan = cli.json("plan", "p", "--allow-open-work", "**", "--allow-delete", "99")
    ids = {f"acme/space/{item['title'].lower()}": item["id"] for item in seed["spaces"]}
    named = {
        (ids.get(entry["address"], entry["address"].rpartition("/")[2]), sort["noun"]): sort["number"]
        for entry in plan.get("openWork", [])
        for sort in entry["sorts"]
    }
    before = {item["id"] for item in seed["spaces"]}
    cli("apply", "p", "--yes", "--allow-open-work", "**", "--allow-delete", "99", code=0)
    sandbox = ("--sandbox", "p/.reconciler/sandbox.db")
    listed = json.loads(cli("api", "GET", "/orgs/org_acme/members/usr_ada/spaces", "--paginate", *sandbox, code=0).stdout)
    gone = before - {item["space"]["id"] for item in listed}
    expected = {(id, noun): number for id, noun, number in lost_work(seed, gone) if number}
    assert named == expected, f"named {named}, lost {expected}"


@pytest.mark.parametrize("number", [0, *(pytest.param(number, marks=proof) for number in range(1, tries(1000, 300)))])
def test_random_deletions_lose_nothing_that_the_plan_did_not_name(tmp_path: Path, number: int) -> None:
    assert_nothing_is_lost_unnamed(tmp_path, number)


def test_a_rehearsal_shows_the_work_that_is_not_refused(cli: Cli) -> None:
    project = document()
    node(project, "legacy")["editMode"] = "locked"
    write(cli, project)
    shown = cli.json("rehearse", "p")
    assert shown["openWork"] == ["acme/space/legacy (lock): 1 draft change request and 1 open comment"]
