"""The proof notices what it is for: requests in a dangerous order, sent by hand; and nothing else."""

from __future__ import annotations

import asyncio
import copy
import random
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.audience.moments import MEMBERS, Watched
from tests.audience.proof import Proof, Violation
from tests.audience.worlds import EDITS, conditions, edited
from tests.harness import BASE, TOKEN
from tests.organizations import CONDITIONS, Tree, with_readers

FIRST: Tree = {
    "content": [
        {"space": "blank", "id": "spc_blank", "title": "Blank"},
        {"collection": "open", "title": "Open", "defaultLevel": "read", "content": [{"space": "guide", "title": "Guide"}]},
        {"space": "salaries", "title": "Salaries"},
    ],
    "sites": {
        "docs": {
            "title": "Docs",
            "visibility": "share-link",
            "published": True,
            "adaptiveContent": {"enabled": True},
            "structure": [
                {"section": "guides", "title": "Guides", "spaces": [{"key": "v1", "space": "guide", "path": "guide"}]},
                {"section": "secret", "title": "Secret", "spaces": [{"key": "v2", "space": "salaries", "path": "secret"}]},
            ],
            "shareLinks": {},
        }
    },
}

Request = tuple[str, str, Any]


@pytest.fixture
def proof(tmp_path: Path) -> Proof:
    return Proof(Watched(tmp_path), tmp_path / "image")


def tree(**changes: Any) -> Tree:
    """The first organization with other fields of its site; `condition`: of the secret section."""
    result = copy.deepcopy(FIRST)
    if "condition" in changes:
        result["sites"]["docs"]["structure"][1]["condition"] = changes.pop("condition")
    result["sites"]["docs"] |= changes
    return result


def by_hand(proof: Proof, second: Tree, *requests: Request) -> list[Violation]:
    """What is noticed where the edit is applied by these requests; `{KEY}` is an id, `{last}` that of the last answer."""
    org = proof.org
    org.asked = conditions(FIRST, second)
    org.write(FIRST)
    org.begin()
    proof.finish()
    org.save(proof.image)
    org.write(second)
    ends, _ = proof.whole(looked_at=False)
    org.restore(proof.image)
    ids = {address.rpartition("/")[2]: id for id, address in org.addresses().items()}
    org.begin()
    asyncio.run(_send(org, requests, ids))
    proof.look(ends, "by hand", proof.finish())
    return proof.violations


def _filled(body: Any, ids: dict[str, str]) -> Any:
    return {key: value.format_map(ids) if isinstance(value, str) else value for key, value in body.items()}


async def _send(org: Watched, requests: tuple[Request, ...], ids: dict[str, str]) -> None:
    async with httpx2.AsyncClient(transport=org.transport(), base_url=f"{BASE}/v1", headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        for method, path, body in requests:
            answer = await client.request(method, path.format_map(ids), json=_filled(body, ids))
            assert answer.is_success, answer.text
            ids["last"] = answer.json()["id"]


SITE = "/orgs/org_acme/sites/{docs}"
PUBLIC: Request = ("PATCH", SITE, {"visibility": "public"})
HIDE: Request = ("PATCH", f"{SITE}/sections/{{secret}}", {"condition": CONDITIONS[0]})


def lines(result: list[Violation]) -> list[tuple[str, str, str, int]]:
    return [(violation.name, violation.reader, violation.level, violation.number) for violation in result]


def test_publishing_before_hiding_is_noticed_for_every_object_and_reader_and_says_how_it_came_to_that(proof: Proof) -> None:
    result = by_hand(proof, tree(visibility="public", condition=CONDITIONS[0]), PUBLIC, HIDE)
    secret = ("acme/site/docs/section/secret", "acme/site/docs/site-space/v2", "acme/space/salaries")
    everybody = ("anyone", "anyone-with-the-address", "visitor")
    assert {(violation.name, violation.reader) for violation in result} == {(name, reader) for name in secret for reader in everybody}
    assert {(violation.run, violation.number, violation.level) for violation in result} == {("by hand", 1, "read")}
    assert str(result[0]).startswith("by hand: after request 1, ")
    assert str(result[0]).splitlines()[1].strip().startswith("PATCH /orgs/org_acme/sites/site_")


def test_hiding_before_publishing_is_not_noticed(proof: Proof) -> None:
    assert by_hand(proof, tree(visibility="public", condition=CONDITIONS[0]), HIDE, PUBLIC) == []
    assert (proof.runs, proof.moments) == (1, 3)


def test_what_a_plan_showed_to_be_open_for_a_while_is_counted_and_not_a_violation(proof: Proof) -> None:
    proof.window = lambda plan, name, reader: name == "acme/space/salaries" and reader != "visitor"
    result = by_hand(proof, tree(visibility="public", condition=CONDITIONS[0]), PUBLIC, HIDE)
    assert {(violation.name, violation.reader) for violation in result if "space/salaries" in violation.name} == {
        ("acme/space/salaries", "visitor")
    }
    assert proof.windows == 2


def test_a_level_that_is_too_high_for_a_moment_is_noticed(proof: Proof) -> None:
    second = tree(visibility="public")
    requests: list[Request] = [("PATCH", "/spaces/{guide}", {"defaultLevel": level}) for level in ("comment", None)]
    result = by_hand(proof, second, *requests, PUBLIC)
    assert {(violation.name, violation.reader, violation.level, violation.number) for violation in result} == {
        ("acme/space/guide", name, "comment", 1) for name in MEMBERS
    }


def test_a_space_that_moves_through_an_open_collection_is_noticed(proof: Proof) -> None:
    def sent(level: str | None) -> Request:
        return "PATCH", "/spaces/{salaries}", {"defaultLevel": level}

    moves: list[Request] = [("POST", "/spaces/{salaries}/move", {"parent": parent}) for parent in ("{open}", None)]
    result = by_hand(proof, tree(visibility="public"), moves[0], sent("inherit"), sent(None), moves[1])
    assert {(violation.name, violation.reader, violation.level, violation.number) for violation in result} == {
        ("acme/space/salaries", name, "read", 2) for name in MEMBERS
    }


@pytest.mark.parametrize("active", [True, False])
def test_the_holder_of_a_new_link_counts_where_it_is_active_at_the_end(proof: Proof, active: bool) -> None:
    """The link is made before the section is hidden from its holders."""
    second = tree(shareLinks={"partners": {"name": "Partners", "active": active}}, condition=CONDITIONS[0])
    result = by_hand(proof, second, ("POST", f"{SITE}/share-links", {"name": "Partners"}), HIDE)
    assert {violation.reader for violation in result} == ({"link:acme/site/docs/share-link/partners"} if active else set())
    assert {violation.name for violation in result if "space/" in violation.name} <= {"acme/space/salaries", "acme/site/docs/site-space/v2"}


def test_a_copy_may_be_read_by_those_who_read_its_source_and_by_nobody_else(proof: Proof) -> None:
    duplicate: Request = ("POST", "/spaces/{salaries}/duplicate", {})
    assert by_hand(proof, tree(visibility="public"), duplicate) == []
    result = by_hand(proof, tree(visibility="unlisted"), duplicate, ("PATCH", "/spaces/{last}", {"defaultLevel": "edit"}))
    (copied,) = proof.org.copies
    assert {(violation.name, violation.reader, violation.level) for violation in result} == {(copied, name, "edit") for name in MEMBERS}


def test_a_run_that_is_cut_sent_nothing_more_and_the_next_one_goes_on(proof: Proof) -> None:
    org = proof.org
    org.write(FIRST)
    org.begin()
    proof.finish()
    org.save(proof.image)
    org.write(tree(visibility="public", condition=CONDITIONS[0]))
    org.begin(cut=2)
    assert org.run() is None
    assert len(org.moments) == 2
    proof.finish()
    assert [moment.request.split()[0] for moment in org.moments[1:]] == ["PATCH", "PATCH"]
    org.restore(proof.image)
    org.begin(refused=(1,))
    proof.finish()
    assert [moment.request[-3:] for moment in org.moments[1:]].count("403") == 1
    assert org.addresses()


def test_equal_seeds_make_equal_worlds_and_an_edit_changes_something() -> None:
    for seed in range(50):
        first, second = (with_readers(random.Random(seed)) for _ in range(2))
        assert first == second
        changed = edited(first, random.Random(seed), 3)
        assert changed != first == second
        assert changed == edited(first, random.Random(seed), 3)


def test_every_edit_changes_some_world() -> None:
    for change in EDITS:
        trees = [(with_readers(random.Random(seed)), seed) for seed in range(40)]
        after = copy.deepcopy(trees)
        for changed, seed in after:
            change(changed, random.Random(seed))
        assert after != trees, change.__name__
