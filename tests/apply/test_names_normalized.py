"""A service that stores names in its own form: nothing is created twice, whatever is lost, and nothing is changed for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.harness import ORGANIZATION
from tests.odd import Alter, OddOrg, texts, titles, trimmed

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
