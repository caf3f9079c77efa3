"""A service that requires different names, which no document of it says: names are exchanged in one run, whatever interrupts it."""

from __future__ import annotations

from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.text.names import canonical
from tests.harness import ORGANIZATION
from tests.odd import OddOrg
from tests.undo.undoing import runs, undo

TEAMS = f"/orgs/{ORGANIZATION}/teams"
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
    outcome = org.apply()
    assert [result.id for result in outcome.results] == ["RC-request-conflict"]
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


class Dead(BaseException):
    """The process is gone."""


class Mortal(OddOrg):
    """Its apply dies before or after its nth write; 0: never."""

    nth, when = 0, "before"

    def transport(self) -> httpx2.AsyncBaseTransport:
        return Dying(self, super().transport())


class Dying(httpx2.AsyncBaseTransport):
    def __init__(self, org: Mortal, inner: httpx2.AsyncBaseTransport) -> None:
        self.org, self.inner, self.writes = org, inner, 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return await self.inner.handle_async_request(request)
        self.writes += 1
        if self.org.nth and self.writes >= self.org.nth:
            if self.writes == self.org.nth and self.org.when == "after":
                await self.inner.handle_async_request(request)
            raise Dead
        return await self.inner.handle_async_request(request)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 6))
@pytest.mark.parametrize("after", [("Beta", "Alpha", "Gamma"), ("Beta", "Gamma", "Alpha")])
def test_a_run_that_dies_at_any_request_is_continued_by_the_next(nth: int, when: str, after: tuple[str, ...], tmp_path: Path) -> None:
    org = unique(Mortal(tmp_path))
    org.write(teams(a="Alpha", b="Beta", c="Gamma"))
    org.apply()
    org.write(teams(**dict(zip("abc", after, strict=True))))
    assert isinstance(org, Mortal)
    org.nth, org.when = nth, when
    with suppress(Dead):
        org.apply()
    org.nth = 0
    for _ in range(2):
        org.apply()
    assert titles_by_key(org, *"abc") == dict(zip("abc", after, strict=True))
    assert len(org.items(TEAMS)) == 3
    assert org.plan().empty


def test_a_lost_state_recognizes_the_object_with_a_temporary_name(tmp_path: Path) -> None:
    org = unique(Mortal(tmp_path))
    org.write(teams(a="Alpha", b="Beta"))
    org.apply()
    org.write(teams(a="Beta", b="Alpha"))
    assert isinstance(org, Mortal)
    org.nth, org.when = 3, "after"  # the exchange is refused, b is moved aside, and a has its new name
    with pytest.raises(Dead):
        org.apply()
    org.nth = 0
    org.lose_state()
    assert org.apply().went_through
    assert sorted(team["title"] for team in org.items(TEAMS)) == ["Alpha", "Beta"]
    assert org.plan().empty


def test_an_exchange_with_a_detour_is_undone(tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path))
    org.write(teams(a="Alpha", b="Beta"))
    org.apply()
    org.write(teams(a="Beta", b="Alpha"))
    org.apply()
    undo(org, runs(org)[0].id)
    assert titles_by_key(org, *"ab") == {"a": "Alpha", "b": "Beta"}
