"""Sections of equal titles in several groups are the normal case: each is known by its group, without an id."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.apply.test_kill import Killed, killing
from tests.harness import ORGANIZATION, Org
from tests.organizations import SMALL
from tests.proofs import sampled, stride

PRODUCTS = ("mail", "maps", "pay")
TITLES = ("Get started", "Reference")
SECTIONS = {f"{product}-{index}" for product in PRODUCTS for index in range(len(TITLES))}


def section(key: str, product: str, title: str) -> dict[str, Any]:
    return {"section": key, "title": title, "path": key, "spaces": [{"space": product, "key": key}]}


def group(product: str, titles: Sequence[str] = TITLES) -> dict[str, Any]:
    sections = [section(f"{product}-{index}", product, title) for index, title in enumerate(titles)]
    return {"group": product, "title": product.title(), "structure": sections}


def products(*groups: dict[str, Any]) -> dict[str, Any]:
    blank = {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}
    spaces = [{"space": product, "title": product.title()} for product in PRODUCTS]
    structure = list(groups or [group(product) for product in PRODUCTS])
    return {"members": SMALL["members"], "content": [blank, *spaces], "sites": {"docs": {"title": "Docs", "structure": structure}}}


@pytest.fixture
def org(tmp_path: Path) -> Org:
    org = Org(tmp_path)
    org.write(products())
    return org


def tracked(org: Org) -> dict[str, str]:
    """The ids of the sections by their keys."""
    bindings = org.remembered().bindings.items()
    return {address.key: binding.id for address, binding in bindings if address.kind == "section"}


def shown(org: Org) -> list[tuple[str, str]]:
    """The sections as somebody else's client sees them: the title of the group and their own."""
    (site,) = org.items(f"/orgs/{ORGANIZATION}/sites")
    base = f"/orgs/{ORGANIZATION}/sites/{site['id']}"
    groups = {one["id"]: one["title"] for one in org.items(f"{base}/section-groups")}
    return sorted((groups.get(one.get("sectionGroup"), ""), one["title"]) for one in org.items(f"{base}/sections"))


EXPECTED = sorted((product.title(), title) for product in PRODUCTS for title in TITLES)


def test_nothing_is_said_of_equal_titles_in_several_groups(org: Org) -> None:
    assert org.plan().notes == ()


def test_equal_titles_in_one_group_are_said(org: Org) -> None:
    org.write(products(group("mail", ("Get started", "Get started")), group("maps")))
    (note,) = org.plan().notes
    assert "acme/site/docs/section/mail-1" in note
    assert "with the same title as acme/site/docs/section/mail-0" in note


@pytest.mark.parametrize("seed", range(4))
def test_a_lost_state_finds_each_in_its_group_in_whatever_order_they_are_written(org: Org, seed: int) -> None:
    org.apply()
    before = tracked(org)
    org.lose_state()
    groups = [group(product) for product in PRODUCTS]
    random.Random(seed).shuffle(groups)
    for one in groups:
        random.Random(seed).shuffle(one["structure"])
    org.write(products(*groups))
    plan = org.plan()
    assert plan.blocked == ()
    assert not [step for step in plan.steps if step.verb == "create"]
    org.apply()
    assert tracked(org) == before
    assert org.plan().empty
    assert shown(org) == EXPECTED


@pytest.mark.parametrize("product", PRODUCTS)
def test_one_that_somebody_deleted_takes_no_other_one_from_its_group(org: Org, product: str) -> None:
    org.apply()
    before = tracked(org)
    (site,) = org.items(f"/orgs/{ORGANIZATION}/sites")
    org.call("DELETE", f"/orgs/{ORGANIZATION}/sites/{site['id']}/sections/{before[f'{product}-0'].rpartition('/')[2]}")
    org.lose_state()
    org.apply()
    after = tracked(org)
    assert {key for key in SECTIONS if after[key] != before[key]} == {f"{product}-0"}
    assert shown(org) == EXPECTED


def test_one_that_somebody_moved_into_a_group_of_no_other_one_is_moved_back(org: Org) -> None:
    org.write(products(group("mail"), group("maps", ("Guides",))))
    org.apply()
    before = tracked(org)
    org.lose_state()
    org.write(products(group("mail", ("Reference",)), {**group("maps", ("Guides", "Get started"))}))
    plan = org.plan()
    assert plan.blocked == ()
    org.apply()
    assert tracked(org)["maps-1"] == before["mail-0"]


@sampled
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_request_there_is_one_of_each_in_each_group(tmp_path: Path, when: str) -> None:
    calm = Org(tmp_path / "calm")
    calm.write(products())
    writes = len(calm.apply().results)
    for nth in range(1, writes + 1, stride(5)):
        org = Org(tmp_path / str(nth))
        org.write(products())
        org.way = killing(nth, when)
        with pytest.raises(Killed):
            org.apply()
        org.way = None
        if nth % 2:
            org.lose_state()
        assert org.apply().leftover == ()
        assert org.plan().empty, f"killed {when} write {nth}"
        assert shown(org) == EXPECTED, f"killed {when} write {nth}"
