"""One broken text in a list: half a surrogate pair, as a program leaves it that cuts a title in the middle of an emoji.

What cannot be read is unknown: never a reason for a replacement, a refusal, or a request.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reconciler.client.exchange import decode
from reconciler.model import Plan
from reconciler.report.documents import plan_document
from reconciler.text.escape import as_json
from reconciler.text.unreadable import PartlyUnreadable, UnreadableText, unreadable_texts
from tests.harness import ORGANIZATION, Org
from tests.odd import OddOrg
from tests.plan.test_sections import SECTIONS, SITE, tree
from tests.proofs import costly, spread

TEAMS = f"/orgs/{ORGANIZATION}/teams"
HALVES = {"high, escaped": b"\\ud83d", "low, escaped": b"\\uDE00", "bytes": b"\xed\xa0\xbd", "alone in the text": b"\\ud83d\\ud83d"}


def broken(half: bytes, title: bytes = b"Editors") -> Any:
    return lambda path, data: data.replace(b'"' + title + b'"', b'"' + title + b" " + half + b'"')


def teams(*keys: str, **top: Any) -> dict[str, Any]:
    return {"teams": {key: {"title": key.title()} for key in keys}}


@pytest.fixture
def org(tmp_path: Path) -> OddOrg:
    org = OddOrg(tmp_path)
    org.write(teams("editors", "writers"))
    org.apply()
    return org


def blocked(plan: Plan) -> dict[str, str]:
    return {str(item.address): item.id for item in plan.blocked}


@pytest.mark.parametrize("half", list(HALVES))
def test_only_the_object_with_the_broken_title_is_unknown_and_it_is_named(half: str, org: OddOrg) -> None:
    id = org.id("acme/team/editors")
    org.answer = broken(HALVES[half])
    org.write({"teams": {"editors": {"title": "Editors"}, "writers": {"title": "Authors"}, "readers": {"title": "Readers"}}})
    plan = org.plan()
    assert blocked(plan) == {"acme/team/editors": "RC-unread"}
    assert [unknown.what for unknown in plan.unknown] == [f"team {id}"]
    assert "Editors" in plan.unknown[0].reason
    assert [(step.verb, str(step.address)) for step in plan.steps] == [("create", "acme/team/readers"), ("update", "acme/team/writers")]
    as_json(plan_document(plan, created_at=datetime.now(UTC))).encode()
    assert {str(result.step.address) for result in org.apply().results} == {"acme/team/readers", "acme/team/writers"}


def test_an_object_that_is_no_longer_declared_is_not_deleted(org: OddOrg) -> None:
    org.answer = broken(HALVES["bytes"])
    org.write(teams("writers"))
    plan = org.plan()
    assert blocked(plan) == {"acme/team/editors": "RC-unread"}
    assert not plan.steps


@pytest.mark.parametrize("prune", [None, "all"])
def test_a_lost_state_creates_no_second_object_and_deletes_none(prune: str | None, org: OddOrg) -> None:
    org.answer = broken(HALVES["high, escaped"])
    org.lose_state()
    org.write(teams("editors", "writers"), **({"prune": {"team": prune}} if prune else {}))
    plan = org.plan()
    assert blocked(plan) == {"acme/team/editors": "RC-unread"}
    assert not plan.steps


def test_a_container_is_not_deleted_with_an_unreadable_object_in_it(tmp_path: Path) -> None:
    org = OddOrg(tmp_path)
    org.write({"content": [{"collection": "product", "title": "Product", "content": [{"collection": "inner", "title": "Inner"}]}]})
    org.apply()
    org.answer = broken(HALVES["low, escaped"], b"Inner")
    org.write({"content": []})
    plan = org.plan()
    assert set(blocked(plan)) == {"acme/collection/product", "acme/collection/inner"}
    assert not plan.steps


def test_a_broken_answer_to_a_write_is_stored_and_printed(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, answer=broken(HALVES["high, escaped"]))
    org.write(teams("editors"))
    assert [note.encode("utf-8") for note in org.apply().notes if "the service keeps title" in note]
    assert blocked(org.plan()) == {"acme/team/editors": "RC-unread"}
    org.answer = lambda path, data: data
    assert not org.plan().blocked


def test_a_text_that_contains_the_replacement_character_is_read_as_it_is() -> None:
    whole, half = decode('{"items": [{"title": "a\ufffd"}, {"title": "b\\ud83d"}], "count": 2}'.encode())["items"]
    assert not isinstance(whole, PartlyUnreadable)
    assert not unreadable_texts(whole)
    assert isinstance(half, PartlyUnreadable)
    assert isinstance(half["title"], UnreadableText)
    assert half["title"] == "b\ufffd"


@pytest.mark.parametrize(
    "data", [b'{"a": NaN}', b'{"a": "\\ud83d", "b": NaN}', b'{"a": "\\ud83d"', b'{"a": "\xff"}', b"\xed\xa0\xbd", b'"\\ud83d" x', b""]
)
def test_what_is_otherwise_not_json_stays_unreadable(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(data)


def test_a_whole_pair_beside_half_a_one_is_kept() -> None:
    assert decode(b'["\\ud83d\\ude00", "\\ud83d"]') == ["\U0001f600", "\ufffd"]


LISTS = (
    "organizations", "members", "teams", "collections", "spaces", "sites", "sections", "section-groups", "site-spaces", "share-links",
    "saml", "openapi",
)  # fmt: skip


def wrongly(org: Org, *failing: str, allow_replace: tuple[str, ...] = ()) -> list[str]:
    """What a plan says that cannot be known."""
    plan = org.plan(failing=failing, allow_replace=allow_replace)
    said = [f"{step.verb} {step.address}" for step in plan.steps]
    said += [
        f"{refusal.address}: {refusal.reason} ({refusal.remedy})"
        for refusal in plan.blocked
        if "replace" in refusal.remedy or "cannot be changed" in refusal.reason
    ]
    return said


@costly
@pytest.mark.parametrize("name", spread(list(LISTS), 4))
def test_a_list_that_cannot_be_read_changes_nothing_of_an_organization_as_it_is_declared(acme: Org, name: str) -> None:
    assert (wrongly(acme, name), wrongly(acme, name, allow_replace=("**",))) == ([], [])


@costly
@pytest.mark.parametrize("name", ["sections", "section-groups", "site-spaces"])
def test_nor_where_the_state_is_lost(acme: Org, name: str) -> None:
    (acme.root / "state.db").unlink()
    assert wrongly(acme, name, allow_replace=("**",)) == []


def test_sections_that_cannot_be_read_are_no_reason_to_replace_what_moves_between_them(org: Org) -> None:
    org.write(tree(SECTIONS))
    org.apply()
    moved: list[Any] = [{**SECTIONS[0], "spaces": ["a", "c"]}, {**SECTIONS[1], "spaces": ["b", "d"]}, SECTIONS[2]]
    for structure in (moved, [*"abcdef"], [{"section": "w", "title": "Other", "spaces": ["a", "b"]}, *SECTIONS[1:]]):
        org.write(tree(structure))
        assert (wrongly(org, "sections", allow_replace=("**",)), wrongly(org, "sections")) == ([], [])
    org.write(tree(moved))
    one = {str(refusal.address): refusal for refusal in org.plan(failing=("sections",)).blocked}[f"{SITE}/site-space/b"]
    assert one.reason.startswith(f"section cannot be compared, {SITE}/section/y could not be read: ")
    assert one.remedy == "run again when it can be read"


def test_nothing_is_created_outside_sections_that_cannot_be_read(org: Org) -> None:
    org.write(tree(SECTIONS))
    org.apply()
    org.write(tree(["a", {"key": "again", "space": "b"}]))
    reasons = {str(refusal.address): refusal.reason for refusal in org.plan(failing=("sections",)).blocked}
    assert "the sections of acme/site/docs could not be read" in reasons[f"{SITE}/site-space/again"]


@costly
def test_no_field_that_refers_to_what_could_not_be_read_counts_as_drift(acme: Org) -> None:
    for name in LISTS:
        assert acme.plan(failing=(name,)).differing == {}
