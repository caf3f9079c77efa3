"""Booleans, enumerations, numbers and references come back as they were sent, or the step has failed and nothing is remembered as seen.

A service that stores something else than it was sent: the run says so, the journal shows it, and `expect` is compared with it.
A service that stores names in its own form: nothing is created twice, whatever is lost, and nothing is changed for ever.
A service that requires different names, which no document of it says: names are exchanged in one run, whatever interrupts it.
What can be inherited, cleared and sent as a text arrives as it was written, and the plan after it is empty."""

from __future__ import annotations

from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.model import Binding, Outcome, StepStatus
from reconciler.plan.changes import Names
from reconciler.report.history import RunRecord, run_document, run_sheet
from reconciler.report.layout import plain
from reconciler.report.sheet import sheet_text
from reconciler.text.names import canonical
from tests.apply.test_kill import Killed
from tests.harness import ORGANIZATION, Org, entries, kinds, runs
from tests.meddling import Meddled
from tests.odd import Alter, OddOrg, texts, titles, trimmed
from tests.proofs import costly
from tests.small import applied, node, small
from tests.transports import Onward, Way

LINK = "acme/site/docs/share-link/partners"


@pytest.fixture
def org(tmp_path: Path) -> Meddled:
    org = Meddled(tmp_path)
    applied(org, small())
    return org


def binding(org: Meddled, address: str) -> Binding:
    return next(one for at, one in org.remembered().bindings.items() if str(at) == address)


@costly
@pytest.mark.parametrize(("shown", "says"), [(True, "answered active: True"), (None, "does not show active")])
def test_an_update_that_does_not_come_back_has_failed(org: Meddled, shown: Any, says: str) -> None:
    tree = small()
    tree["sites"]["docs"]["shareLinks"]["partners"]["active"] = False
    org.write(tree)
    org.answered = {"share-link": {"active": shown}}
    (result,) = org.apply().results
    assert result.status is StepStatus.FAILED
    assert result.error == f"the service {says} where False was sent: not taken"
    assert binding(org, LINK).seen["active"] is True
    assert binding(org, LINK).sent["active"] is True


def test_a_reference_that_does_not_come_back_has_failed(org: Meddled) -> None:
    tree = small()
    tree["content"].append(tree["content"][1]["content"].pop(2))
    org.write(tree)
    org.answered = {"collection": {"parent": "col_elsewhere"}}
    (result,) = org.apply().results
    assert (str(result.step.address), result.status) == ("acme/collection/deep", StepStatus.FAILED)
    assert "parent" in str(result.error)


def test_an_object_created_with_other_values_is_tracked_and_failed_and_never_created_twice(org: Meddled) -> None:
    tree = small()
    tree["content"].append({"collection": "new", "title": "New", "content": []})
    node(tree, "other")["content"].append({"collection": "inner", "title": "Inner"})
    org.write(tree)
    org.answered = {"collection": {"parent": "col_elsewhere"}}
    inner = next(result for result in org.apply().results if str(result.step.address) == "acme/collection/inner")
    assert inner.status is StepStatus.FAILED
    assert "not taken" in str(inner.error)
    assert "parent" not in binding(org, "acme/collection/inner").seen
    made = binding(org, "acme/collection/inner").id
    org.answered = {}
    org.apply()
    assert binding(org, "acme/collection/inner").id == made
    assert org.plan().empty


def test_what_no_answer_showed_is_remembered_as_the_reading_after_the_run_shows_it(org: Meddled) -> None:
    tree = small()
    tree["teams"]["writers"]["title"] = "Authors"
    org.write(tree)
    org.answered = {"team": {"title": None}}
    outcome = org.apply()
    assert [(result.status, outcome.edited) for result in outcome.results] == [(StepStatus.DONE, ())]
    kept = binding(org, "acme/team/writers")
    assert (kept.sent["title"], kept.seen.get("title")) == ("Authors", "Authors")


KEPT = "acme/team/writers: the service keeps title as 'Writers'"


def writers(title: str) -> dict[str, Any]:
    return {"teams": {"writers": {"title": title}}}


def altered(outcome: Outcome) -> list[str]:
    return [note for note in outcome.notes if "the service keeps" in note]


def test_a_create_says_what_the_service_made_of_it_once(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=texts(trimmed))
    org.write(writers("Writers "))
    outcome = org.apply()
    assert altered(outcome) == [KEPT]
    assert outcome.went_through
    assert org.plan().empty
    assert org.apply().notes == ()


def test_an_update_says_the_same(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=texts(trimmed))
    org.write(writers("Authors"))
    assert altered(org.apply()) == []
    org.write(writers("Writers "))
    assert altered(org.apply()) == [KEPT]
    assert org.plan().empty


def test_an_answer_that_shows_nothing_is_compared_with_the_next_reading(tmp_path: Path) -> None:
    def without_title(path: str, data: bytes) -> bytes:
        return data.replace(b'"title"', b'"hidden"') if (path.endswith("/sites") and b'"items"' not in data) else data

    org = OddOrg(tmp_path, alter=texts(trimmed), answer=without_title)
    org.write({"sites": {"docs": {"title": "Documentation "}}})
    assert altered(org.apply()) == ["acme/site/docs: the service keeps title as 'Documentation'"]
    assert org.plan().empty


def test_the_journal_shows_both_values(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=texts(trimmed))
    org.write(writers("Writers "))
    org.apply()
    run = runs(org)[0]
    text = plain(sheet_text(run_sheet(RunRecord(run, entries(org, run.id), ()), kinds(), Names()), width=120))
    assert "the service keeps Writers" in text
    (step,) = run_document(RunRecord(run, entries(org, run.id), ()), kinds(), Names())["steps"]
    assert [field for field in step["fields"] if field["name"] == "title"] == [
        {"name": "title", "before": None, "after": "Writers ", "kept": "Writers"}
    ]


def test_a_drift_after_an_altered_create_is_a_drift(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=texts(trimmed))
    org.write(writers("Writers "))
    org.apply()
    org.call("PATCH", f"/orgs/{ORGANIZATION}/teams/{org.id('acme/team/writers')}", {"title": "Others"})
    assert [step.verb for step in org.plan().steps] == ["update"]


def test_an_expected_value_that_comes_back_different_is_left_over(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=lambda body: {**body, "title": "Other"} if "title" in body else body)
    org.write({"sites": {"docs": {"title": "Documentation", "expect": {"basename": "documentation"}}}})
    outcome = org.apply()
    assert [str(address) for address in outcome.leftover] == ["acme/site/docs"]
    assert [note for note in outcome.notes if "expect.basename is documentation, but the service has other" in note]


TEAMS = f"/orgs/{ORGANIZATION}/teams"
NFD = "E\u0301quipe"
NFC = "\u00c9quipe"
PROJECT: dict[str, Any] = {
    "teams": {"writers": {"title": "Writers "}, "equipe": {"title": NFD}, "two": {"title": "Two  words"}},
    "content": [{"collection": "product", "title": " Product"}],
    "sites": {"docs": {"title": "Documentation "}},
}
ALTERED: dict[str, Alter] = {
    "trimmed": texts(trimmed),
    "folded": texts(lambda text: " ".join(trimmed(text).split())),
    "numbered": titles(lambda text: f"{trimmed(text)} (1)"),
    "cut": titles(lambda text: trimmed(text)[:7]),
    "upper case": titles(lambda text: trimmed(text).upper()),
}


def names(org: OddOrg) -> list[str]:
    lists = (TEAMS, f"/orgs/{ORGANIZATION}/collections", f"/orgs/{ORGANIZATION}/sites")
    return sorted(item["title"] for path in lists for item in org.items(path))


@costly
@pytest.mark.parametrize("altered", list(ALTERED))
def test_a_lost_answer_creates_nothing_twice(altered: str, tmp_path: Path) -> None:
    lost: set[str] = set()

    def lose(method: str, path: str) -> bool:
        first = method in ("PUT", "POST") and path not in lost
        lost.add(path)
        return first

    org = OddOrg(tmp_path, alter=ALTERED[altered], lose=lose)
    org.write(PROJECT)
    for _ in range(4):
        org.apply()
    assert len(names(org)) == 5
    assert not org.apply().results
    plan = org.plan()
    assert plan.empty, plan


@pytest.mark.parametrize("altered", ["trimmed", "folded"])
def test_a_lost_state_creates_nothing_twice_and_the_next_plan_is_empty(altered: str, tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=ALTERED[altered])
    org.write(PROJECT)
    org.apply()
    before = names(org)
    for _ in range(2):
        org.lose_state()
        org.apply()
        assert names(org) == before
        plan = org.plan()
    assert plan.empty, plan


LONG = "Documentation of the partners of Acme"
CUT_TO_24: Alter = titles(lambda text: text[:24])


@pytest.mark.parametrize(("title", "alter"), [("Documentation", ALTERED["numbered"]), (LONG, CUT_TO_24)])
def test_a_lost_state_creates_no_second_object_beside_one_that_was_numbered_or_cut(title: str, alter: Alter, tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=alter)
    org.write({"sites": {"docs": {"title": title}}, "teams": {"writers": {"title": title}}})
    org.apply()
    id, before = org.id("acme/site/docs"), names(org)
    org.lose_state()
    plan = org.plan()
    assert {str(blocked.address): blocked.id for blocked in plan.blocked} == dict.fromkeys(
        ("acme/site/docs", "acme/team/writers"), "RC-may-exist-altered"
    )
    assert not plan.steps
    org.write({"sites": {"docs": {"title": title, "id": id}}, "teams": {"writers": {"title": title, "adopt": "never"}}})
    org.apply()
    assert org.plan().empty
    assert len(names(org)) == len(before) + 1


def test_a_number_that_is_part_of_a_name_and_a_longer_name_beside_it_block_nothing(tmp_path: Path) -> None:
    org = OddOrg(tmp_path)
    for title in ("Guides 2", "Documentation of Acme", "The longest name of all that exist"):
        org.call("PUT", TEAMS, {"title": title})
    org.write({"teams": {"guides": {"title": "Guides"}, "partners": {"title": "Documentation of Acme for partners"}}})
    assert [step.verb for step in org.plan().steps] == ["create", "create"]
    org.write({"teams": {"one": {"title": "Documentation of Acme"}, "two": {"title": "Guides"}}})
    assert not org.plan().blocked
    org.call("PUT", TEAMS, {"title": "Guides (1)"})
    org.write({"teams": {"one": {"title": "Guides"}, "two": {"title": "Guides (1)"}}})
    assert [(step.verb, str(step.address)) for step in org.plan().steps] == [("create", "acme/team/one")]


def test_objects_that_a_name_matches_equally_are_named_and_nothing_is_created(tmp_path: Path) -> None:
    org = OddOrg(tmp_path)
    ids = [org.call("PUT", TEAMS, {"title": title})["id"] for title in (NFC, NFD)]
    org.write({"teams": {"equipe": {"title": f" {NFC}"}}})
    (blocked,) = org.plan().blocked
    assert blocked.id == "RC-several-match"
    assert all(id in blocked.reason for id in ids)
    assert "reconciler adopt acme/team/equipe ID" in blocked.remedy
    assert not org.plan().steps


@pytest.mark.parametrize("titles", [("Writers", "Writers "), ("Writers ", "Writers")])
def test_an_object_that_two_resources_match_is_given_to_neither(titles: tuple[str, str], tmp_path: Path) -> None:
    org = OddOrg(tmp_path)
    id = org.call("PUT", TEAMS, {"title": "Writers"})["id"]
    org.write({"teams": dict(zip("ab", ({"title": title} for title in titles), strict=True))})
    plan = org.plan()
    assert {str(blocked.address): blocked.id for blocked in plan.blocked} == dict.fromkeys(
        ("acme/team/a", "acme/team/b"), "RC-matches-several"
    )
    assert all(id in blocked.reason and "reconciler.yaml:" in blocked.reason for blocked in plan.blocked)
    assert not plan.steps


def test_a_tracked_twin_leaves_the_other_object_to_the_other_resource(tmp_path: Path) -> None:
    org = OddOrg(tmp_path)
    org.write({"teams": {"a": {"title": "Writers"}}})
    org.apply()
    org.write({"teams": {"a": {"title": "Writers"}, "b": {"title": "Writers "}}})
    org.apply()
    assert sorted(team["title"] for team in org.items(TEAMS) if "riters" in team["title"]) == ["Writers", "Writers "]


def test_a_name_that_differs_in_case_is_another_one_and_the_plan_says_so(tmp_path: Path) -> None:
    org = OddOrg(tmp_path)
    id = org.call("PUT", TEAMS, {"title": "writers"})["id"]
    org.write({"teams": {"a": {"title": "Writers"}}})
    plan = org.plan()
    assert [step.verb for step in plan.steps] == ["create"]
    (note,) = [note for note in plan.notes if id in note]
    assert "differs from that of the unmanaged team" in note
    assert f"reconciler adopt acme/team/a {id}" in note
    org.write({"teams": {"a": {"title": "writers", "id": id}}})
    assert not [note for note in org.plan().notes if "unmanaged" in note]


def test_a_rename_to_a_name_that_differs_in_case_from_an_unmanaged_one_is_said(tmp_path: Path) -> None:
    org = OddOrg(tmp_path)
    org.write({"teams": {"a": {"title": "Authors"}}})
    org.apply()
    org.call("PUT", TEAMS, {"title": "writers"})
    org.write({"teams": {"a": {"title": "WRITERS"}}})
    assert [note for note in org.plan().notes if "only in case" in note]


def test_a_key_in_another_spelling_is_a_probable_rename(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=ALTERED["trimmed"])
    org.write({"teams": {"equipe": {"title": NFD}}})
    org.apply()
    org.write({"teams": {"crew": {"title": NFD}}})
    plan = org.plan()
    assert {blocked.id for blocked in plan.blocked} == {"RC-probable-rename"}
    assert not plan.steps


CONFLICT = 409


def unique(org: OddOrg, status: int = CONFLICT, *, caseless: bool = False) -> OddOrg:
    """Refuse a title that another object of the same kind has."""

    def refuse(method: str, path: str, body: Any) -> int | None:
        for kind, segment in (("team", "teams"), ("collection", "collections"), ("site", "sites")):
            parts = path.strip("/").split("/")
            if segment not in parts or "title" not in body or parts[-1] == "move":
                continue
            mine = parts[-1] if parts[-1] != segment else None
            for other in org.app.state.service.store.select(kind, organization=ORGANIZATION):
                if other["id"] != mine and canonical(other["title"], caseless=caseless) == canonical(body["title"], caseless=caseless):
                    return status
        return None

    org.refuse = refuse
    return org


def teams(**titles: str) -> dict[str, Any]:
    return {"teams": {key: {"title": title} for key, title in titles.items()}}


def titles_by_key(org: OddOrg, *keys: str) -> dict[str, str]:
    titles = {team["id"]: team["title"] for team in org.items(TEAMS)}
    return {key: titles[org.id(f"acme/team/{key}")] for key in keys}


def writes(org: OddOrg) -> int:
    return len(org.bodies)


BEFORE = {"a": "Alpha", "b": "Beta", "c": "Gamma", "d": "Delta"}


@costly
@pytest.mark.parametrize("after", list(permutations(["Alpha", "Beta", "Gamma"])))
@pytest.mark.parametrize("status", [409, 422])
def test_any_exchange_of_names_is_done_in_one_run(after: tuple[str, ...], status: int, tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path), status)
    org.write(teams(**dict(zip("abc", BEFORE.values(), strict=False))))
    org.apply()
    org.write(teams(**dict(zip("abc", after, strict=True))))
    outcome = org.apply()
    assert titles_by_key(org, *"abc") == dict(zip("abc", after, strict=True))
    assert outcome.went_through
    assert org.plan().empty
    circles = after != ("Alpha", "Beta", "Gamma")
    assert len([note for note in outcome.notes if "until its turn" in note]) == circles


def test_two_circles_take_two_detours(tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path))
    org.write(teams(**BEFORE))
    org.apply()
    begun = writes(org)
    org.write(teams(a="Beta", b="Alpha", c="Delta", d="Gamma"))
    assert org.apply().went_through
    assert titles_by_key(org, *"abcd") == {"a": "Beta", "b": "Alpha", "c": "Delta", "d": "Gamma"}
    assert writes(org) - begun == 4 + 2 + 2  # what was refused, and the detours


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_a_chain_gives_names_up_first_and_is_never_refused(order: tuple[str, ...], tmp_path: Path) -> None:
    first, second, third = order
    org = unique(OddOrg(tmp_path))
    org.write(teams(**{first: "Alpha", second: "Beta", third: "Gamma"}))
    org.apply()
    begun = writes(org)
    after = {first: "Beta", second: "Gamma", third: "New"}
    org.write(teams(**after))
    assert org.apply().went_through
    assert titles_by_key(org, *order) == after
    assert writes(org) - begun == 3


def test_a_created_object_takes_the_name_that_another_gives_up(tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path))
    org.write(teams(b="Beta"))
    org.apply()
    begun = writes(org)
    org.write(teams(a="Beta", b="Gamma"))
    assert org.apply().went_through
    assert titles_by_key(org, *"ab") == {"a": "Beta", "b": "Gamma"}
    assert writes(org) - begun == 2


@pytest.mark.parametrize("kept", [False, True])
def test_a_deleted_object_frees_its_name(kept: bool, tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path))
    key = "c" if kept else "a"
    org.write(teams(b="Beta", **({"c": "Gamma"} if kept else {})))
    org.apply()
    org.write(teams(**{key: "Beta"}), removed=[{"address": "acme/team/b", "action": "delete"}])
    assert org.apply().went_through
    assert titles_by_key(org, key) == {key: "Beta"}
    assert "acme/team/b" not in {str(address) for address in org.store().read().bindings}
    assert org.plan().empty


def test_equal_names_cost_no_request_where_they_are_accepted(tmp_path: Path) -> None:
    org = OddOrg(tmp_path)
    org.write(teams(a="Alpha", b="Beta"))
    org.apply()
    begun = writes(org)
    org.write(teams(a="Beta", b="Alpha"))
    outcome = org.apply()
    assert (writes(org) - begun, outcome.notes) == (2, ())


def test_a_name_that_an_unmanaged_object_keeps_fails_and_nothing_is_renamed(tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path))
    org.write(teams(a="Alpha"))
    org.apply()
    org.call("PUT", TEAMS, {"title": "Beta"})
    org.write(teams(a="Beta"))
    assert [result.id for result in org.apply().results] == ["RC-request-conflict"]
    assert sorted(team["title"] for team in org.items(TEAMS)) == ["Alpha", "Beta"]


def test_names_that_differ_only_in_case_are_exchanged_too(tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path), caseless=True)
    org.write(teams(a="Alpha", b="Beta"))
    org.apply()
    org.write(teams(a="BETA", b="alpha"))
    assert org.apply().went_through
    assert titles_by_key(org, *"ab") == {"a": "BETA", "b": "alpha"}


def test_an_object_created_under_a_mark_takes_the_name_of_another(tmp_path: Path) -> None:
    digits = iter(f"{number:08x}" for number in range(100))
    org = unique(OddOrg(tmp_path, nonce=lambda: next(digits)))
    org.write(teams(b="Beta"))
    org.apply()
    org.write(teams(a="Beta", b="Gamma"))
    assert org.apply().went_through
    assert titles_by_key(org, *"ab") == {"a": "Beta", "b": "Gamma"}


def dying(nth: int, when: str) -> Way:
    """Nothing gets through from the nth write on, except for that one itself when it dies after it."""
    writes = 0

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        nonlocal writes
        writes += request.method != "GET"
        if request.method == "GET" or writes < nth:
            return await onward(request)
        if writes == nth and when == "after":
            await onward(request)
        raise Killed

    return way


@costly
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 6))
@pytest.mark.parametrize("after", [("Beta", "Alpha", "Gamma"), ("Beta", "Gamma", "Alpha")])
def test_a_run_that_dies_at_any_request_is_continued_by_the_next(nth: int, when: str, after: tuple[str, ...], tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path))
    org.write(teams(a="Alpha", b="Beta", c="Gamma"))
    org.apply()
    org.write(teams(**dict(zip("abc", after, strict=True))))
    org.way = dying(nth, when)
    with suppress(Killed):
        org.apply()
    org.way = None
    for _ in range(2):
        org.apply()
    assert titles_by_key(org, *"abc") == dict(zip("abc", after, strict=True))
    assert len(org.items(TEAMS)) == 3
    assert org.plan().empty


def test_a_lost_state_recognizes_the_object_with_a_temporary_name(tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path))
    org.write(teams(a="Alpha", b="Beta"))
    org.apply()
    org.write(teams(a="Beta", b="Alpha"))
    org.way = dying(3, "after")  # the exchange is refused, b is moved aside, and a has its new name
    with pytest.raises(Killed):
        org.apply()
    org.way = None
    org.lose_state()
    assert org.apply().went_through
    assert sorted(team["title"] for team in org.items(TEAMS)) == ["Alpha", "Beta"]
    assert org.plan().empty


SECTIONS = "/orgs/org_acme/sites/{}/sections"


def sent(org: Org, address: str) -> list[Any]:
    """The bodies of the last run's requests on an address."""
    assert org.made is not None
    return [step.body for step in org.made.steps if str(step.address) == address]


@costly
@pytest.mark.parametrize(("kind", "key", "path"), [("space", "one", "spaces"), ("collection", "deep", "collections")])
def test_a_level_can_be_inherited_and_set_again(acme: Org, kind: str, key: str, path: str) -> None:
    tree = small()
    for level in ("read", "inherit", "guest", "inherit", "comment"):
        node(tree, key)["defaultLevel"] = level
        applied(acme, tree)
        assert acme.call("GET", f"/{path}/{acme.id(f'acme/{kind}/{key}')}")["defaultLevel"] == (None if level == "guest" else level)


@costly
def test_what_a_level_that_is_no_longer_inherited_opens_is_said(acme: Org) -> None:
    tree = small()
    node(tree, "one")["defaultLevel"] = "inherit"
    node(tree, "product")["defaultLevel"] = "read"
    applied(acme, tree)
    node(tree, "one")["defaultLevel"] = "edit"
    acme.write(tree)
    assert [str(exposure.address) for exposure in acme.plan().exposures] == ["acme/space/one"]
    applied(acme, tree)
    node(tree, "one")["defaultLevel"] = "inherit"
    acme.write(tree)
    assert acme.plan().exposures == ()
    node(tree, "product")["defaultLevel"] = "admin"
    acme.write(tree)
    assert "acme/space/one" in {str(address) for exposure in acme.plan().exposures for address in (exposure.address, *exposure.reaches)}


@costly
def test_texts_are_cleared_with_null(acme: Org) -> None:
    tree = small()
    guides = node(tree, "guides")
    guides |= {"icon": "gear", "description": "All of it"}
    node(tree, "reference")["icon"] = "book"
    applied(acme, tree)
    guides |= {"icon": None, "description": None}
    for key, field in (("reference", "icon"), ("one", "emoji"), ("other", "description")):
        node(tree, key)[field] = None
    applied(acme, tree)
    assert sent(acme, "acme/site/docs/section/guides") == [{"icon": None, "description": None}]
    assert sent(acme, "acme/site/docs/group/reference") == [{"icon": None}]
    assert sent(acme, "acme/space/one") == [{"emoji": None}]
    assert sent(acme, "acme/collection/other") == [{"description": ""}]
    site = acme.id("acme/site/docs")
    shown = next(section for section in acme.items(SECTIONS.format(site)) if section["title"] == "Guides")
    assert not {"icon", "description"} & shown.keys()
    acme.call("PATCH", f"{SECTIONS.format(site)}/{shown['id']}", {"icon": "gear"})
    assert [(str(change.address), [field.name for field in change.fields]) for change in acme.plan().changes] == [
        ("acme/site/docs/section/guides", ["icon"])
    ]


@costly
@pytest.mark.parametrize(
    ("written", "body"),
    [("none", {"type": "none"}), ("inherit", {"type": "inherit"}), ({"type": "rules", "rules": []}, {"type": "rules", "rules": []})],
)
def test_merge_rules_of_an_organization_are_sent_as_they_are_written(acme: Org, written: Any, body: Any) -> None:
    tree = small()
    tree["mergeRules"] = written
    applied(acme, tree)
    assert sent(acme, "acme") == [{"mergeRules": body}]


def test_a_specification_can_be_sent_as_a_text(acme: Org) -> None:
    tree = small()
    tree["openapi"]["pets"]["source"] = {"text": "openapi: 3.1.0"}
    applied(acme, tree)
    assert sent(acme, "acme/openapi/pets") == [{"source": {"text": "openapi: 3.1.0"}}]
    assert "sourceURL" not in acme.call("GET", "/orgs/org_acme/openapi/pets")
    tree["openapi"]["pets"]["source"] = {"text": "openapi: 3.0.0"}
    applied(acme, tree)
    assert sent(acme, "acme/openapi/pets") == [{"source": {"text": "openapi: 3.0.0"}}]
    tree["openapi"]["pets"]["source"] = {"url": "https://pets.example/new.json"}
    applied(acme, tree)
    assert acme.call("GET", "/orgs/org_acme/openapi/pets")["sourceURL"] == "https://pets.example/new.json"
