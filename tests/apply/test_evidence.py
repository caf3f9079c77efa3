"""What an object says of a request whose answer was lost; without a service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.apply.evidence import could_be, effect, made_by, outline, parts, source_of, updated_binding
from reconciler.kinds import load
from reconciler.model import Binding, Intent, Observed, Origin
from reconciler.resource import UNSET

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SPACE, TEAM, SPEC = (load()[name] for name in ("space", "team", "openapi"))
NOBODY: frozenset[tuple[str, str]] = frozenset()


def intent(verb: str = "create", **parts: Any) -> Intent:
    base: dict[str, Any] = {
        "id": 1, "run": "r", "step": 1, "address": Address.parse("acme/team/writers"), "kind": "team", "verb": verb, "method": "PUT",
        "path": "/", "target": None, "writes": {"title": "Writers"}, "known": frozenset(), "date": NOW, "deadline": NOW, "lookup": ("/",),
    }  # fmt: skip
    return Intent(**{**base, **parts})


def seen(id: str, *, made: datetime | str | None = NOW, deleted: datetime | None = None, **values: Any) -> Observed:
    raw = {} if made is None else {"createdAt": made if isinstance(made, str) else made.isoformat()}
    return Observed("team", id, values, {}, raw, deleted_at=deleted)


def ids(found: Sequence[Observed]) -> list[str]:
    return [one.id for one in found]


def test_a_create_made_what_is_new_of_its_key_and_nobodys() -> None:
    objects = [seen("old", title="Writers"), seen("other", title="Readers"), seen("theirs", title="Writers"), seen("it", title="Writers")]
    assert ids(made_by(TEAM, intent(known=frozenset({"old"})), objects, frozenset({("team", "theirs"), ("space", "it")}))[0]) == ["it"]


def test_a_key_that_was_not_sent_is_not_asked_for() -> None:
    assert ids(made_by(TEAM, intent(writes={"members": []}), [seen("it", title="Whatever")], NOBODY)[0]) == ["it"]


def test_what_is_made_again_in_its_place_may_have_been_there_before() -> None:
    assert SPEC.api["create"].upsert
    mine = intent(kind="openapi", writes={"slug": "pets"}, known=frozenset({"it"}))
    assert ids(made_by(SPEC, mine, [seen("it", slug="pets")], NOBODY)[0]) == ["it"]


@pytest.mark.parametrize(
    ("sent", "shown", "certain"),
    [
        ("Writers ", "Writers", True),
        ("E\u0301quipe", "\u00c9quipe", True),
        ("Writers  of\tdocs", "Writers of docs", True),
        ("writers", "Writers", True),
        ("Writers \U0001f680", "Writers", True),
        ("Writers", "Writers (1)", True),
        ("Writers", "Writers-2", True),
        ("Writers of guides", "Writers of", True),
        ("Writers of guides", "Writers of g…", True),
        ("Writers of guides", "Wr", False),
        ("Writers", "Writers of guides", False),
        ("Writers", "Readers", None),
        ("Writers", "", None),
    ],
)
def test_what_a_service_made_of_a_name_is_recognized_and_what_only_resembles_it_is_left_to_people(
    sent: str, shown: str, certain: bool | None
) -> None:
    created, certainly = made_by(TEAM, intent(writes={"title": sent}), [seen("it", title=shown)], NOBODY)
    assert (ids(created), certainly) == ([] if certain is None else ["it"], certain is not False)


def test_an_exact_name_is_preferred_to_an_altered_one_whichever_comes_first() -> None:
    objects = [seen("altered", title="Writers (1)"), seen("it", title="Writers")]
    for some in (objects, objects[::-1]):
        assert ids(made_by(TEAM, intent(), some, NOBODY)[0]) == ["it"]


def test_two_altered_names_leave_the_choice_to_people() -> None:
    objects = [seen("a", title="Writers (1)"), seen("b", title="Writers (2)")]
    assert ids(made_by(TEAM, intent(), objects, NOBODY)[0]) == ["a", "b"]


def test_an_object_with_the_name_of_another_create_in_doubt_is_that_ones() -> None:
    other = intent(id=2, writes={"title": "Writers (1)"})
    assert ids(made_by(TEAM, intent(), [seen("it", title="Writers (1)")], NOBODY, [other])[0]) == []
    assert ids(made_by(TEAM, other, [seen("it", title="Writers (1)")], NOBODY, [intent()])[0]) == ["it"]


def test_only_names_that_people_choose_may_have_been_altered() -> None:
    mine = intent(kind="openapi", writes={"slug": "pets"})
    assert ids(made_by(SPEC, mine, [seen("other", slug="pets-2"), seen("it", slug="Pets")], NOBODY)[0]) == ["it"]


@pytest.mark.parametrize(
    ("made", "counts"),
    [(NOW - timedelta(seconds=61), False), (NOW - timedelta(seconds=60), True), (NOW + timedelta(days=1), True), (None, True), ("?", True)],
)
def test_a_copy_is_at_most_a_minute_older_than_its_request(made: Any, counts: bool) -> None:
    found = could_be(SPACE, [intent(date=NOW + timedelta(hours=1)), intent(date=NOW), intent(date=None)], [seen("it", made=made)], NOBODY)
    assert ids(found) == ["it"] * counts


def test_where_no_request_has_a_date_a_copy_may_be_of_any_age() -> None:
    assert ids(could_be(SPACE, [intent(date=None)], [seen("it", made=NOW - timedelta(days=9))], NOBODY)) == ["it"]


def test_a_copy_that_matches_no_request_is_not_tracked_and_not_deleted() -> None:
    known = [intent(known=frozenset({"a"})), intent(known=frozenset({"b"}))]
    objects = [seen("a"), seen("b"), seen("c"), seen("d", deleted=NOW), seen("e")]
    assert ids(could_be(SPACE, known, objects, frozenset({("space", "c"), ("team", "e")}))) == ["e"]


def test_copies_come_oldest_first_and_then_by_id() -> None:
    objects = [seen("c", made=NOW + timedelta(seconds=1)), seen("b"), seen("a")]
    assert ids(could_be(SPACE, [intent()], objects, NOBODY)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("copy", "titles", "source"),
    [
        ("Copy of Guides", {"a": "Guides", "b": "Other"}, "a"),
        ("Copy of Guides two", {"a": "Guides", "b": "Guides two"}, "b"),
        ("Copy of Guides two", {"b": "Guides two", "a": "Guides", "c": "Copy"}, "b"),
        ("Copy of Guides", {"a": "Guides", "b": "Guides"}, None),
        ("Copy of Guides", {"a": "Guides", "b": "Guides", "c": "Copy of Guides"}, "c"),
        ("Copy of Guides", {"a": "Other"}, None),
        ("Copy of Guides", {"a": ""}, None),
        ("", {"a": "Other", "b": ""}, None),
    ],
)
def test_a_copy_is_of_the_source_whose_title_it_holds_the_longest_of_several(copy: str, titles: dict[str, str], source: str | None) -> None:
    assert source_of(copy, titles) == source


THERE, DELETED = seen("it", title="Writers", members=[]), seen("it", deleted=NOW, title="Writers")


@pytest.mark.parametrize(
    ("mine", "now", "done"),
    [
        (intent("delete"), None, True),
        (intent("delete"), DELETED, True),
        (intent("delete"), THERE, False),
        (intent("restore"), THERE, True),
        (intent("restore"), DELETED, False),
        (intent("restore"), None, False),
        (intent("update"), THERE, True),
        (intent("update"), None, False),
        (intent("update", writes={"title": "Authors"}), THERE, False),
        (intent("update", writes={"title": "Writers", "members": ["x"]}), THERE, False),
        (intent("update", writes={"title": "Writers", "unread": 1}), THERE, False),
        (intent("update", writes={}), THERE, False),
        (intent("move"), THERE, False),
        (intent("move"), None, False),
    ],
)
def test_a_write_was_done_when_what_it_wanted_is_seen(mine: Intent, now: Observed | None, done: bool) -> None:
    assert effect(TEAM, mine, now) is done


def test_what_was_done_is_remembered_as_sent_and_as_it_is_seen() -> None:
    old = Binding(
        Address.parse("acme/team/writers"), "team", "it", Origin.CREATED, {"title": "Old", "rest": 1}, {"title": "Old", "kept": 2}
    )
    mine = intent("update", writes={"title": "Writers", "hidden": 3})
    now = seen("it", title="Writers!", hidden=UNSET, extra=4)
    assert updated_binding(TEAM, old, mine, now) == replace(
        old, sent={"title": "Writers", "rest": 1, "hidden": 3}, seen={"title": "Writers!", "kept": 2}
    )


@pytest.mark.parametrize(("raw", "found"), [({"at": [1]}, [1]), ({"at": {"0": 1}}, []), ({"at": None}, []), ({}, []), ({"other": [1]}, [])])
def test_parts_are_a_list_or_none(raw: dict[str, Any], found: list[int]) -> None:
    assert parts(raw, "at") == found


def test_an_outline_is_titles_slugs_and_order_and_nothing_else() -> None:
    page = {"id": "1", "title": "A", "slug": "a", "pages": [{"title": "B", "slug": "b", "pages": []}]}
    assert outline({"pages": [page]}) == outline({"pages": [{**page, "id": "2", "kind": "sheet"}], "revision": "r"})
    for other in ({**page, "title": "X"}, {**page, "slug": "x"}, {**page, "pages": []}):
        assert outline({"pages": [other]}) != outline({"pages": [page]})
    assert outline([page, {}]) != outline([{}, page])
    assert outline("nothing") == outline(None) == []
