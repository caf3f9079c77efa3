"""Members as readers of a rehearsal: one line for all who may do the same, and a name for who may do something else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.features.rehearsal.moments import Moments, reader_in_words
from reconciler.sandbox.sites.moment import moment
from tests.sandbox.box import BASE, SEED, Box

Lines = list[tuple[str, str]]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    made: list[Box] = []

    def make(level: str | None = None, **fields: Any) -> Box:
        """The usual sandbox; `level` and `fields`: of its space at the top."""
        changed = {"spc_root": {"defaultLevel": level, **fields}}
        made.append(Box(tmp_path, SEED | {"spaces": [space | changed.get(space["id"], {}) for space in SEED["spaces"]]}))
        return made[-1]

    yield make
    for box in made:
        box.close()


def changes(box: Box, level: str | None) -> tuple[Lines, Lines, int]:
    """Who can newly read the space, with who they were before, and who no longer can; and how many the moment counts."""
    moments = Moments(lambda: moment(box.store, BASE, ["org_a"]))
    box.patch("/spaces/spc_root", {"defaultLevel": level})
    moments.after("PATCH")
    gained, lost = (moments.changes(readings, {}) for readings in (moments.gained(), moments.lost()))
    lines = [sorted((change.who, change.before) for change in some) for some in (gained, lost)]
    assert {change.title for change in (*gained, *lost)} <= {"Root"}
    return lines[0], lines[1], moments.rows[-1].readers_gained


def test_members_of_all_roles_who_gain_the_same_are_one_reader(make: Any) -> None:
    assert changes(make(), "comment") == ([("members (comment)", "")], [], 1)


def test_members_who_may_do_more_are_said_to_have_read_it_before(make: Any) -> None:
    assert changes(make("read"), "edit") == ([("members (edit)", "members")], [], 1)


def test_members_who_lose_the_same_are_one_reader_and_who_may_do_less_has_lost_nothing(make: Any) -> None:
    assert changes(make("edit"), None) == ([], [("members (edit)", "")], 0)


def test_who_may_do_less_has_lost_nothing(make: Any) -> None:
    assert changes(make("edit"), "read") == ([], [], 0)


def test_where_each_role_counts_each_is_a_reader_and_guests_are_none(make: Any) -> None:
    roles = ("comment", "create", "edit", "read", "review")
    assert changes(make(), "inherit") == ([(f"members with the role {role}", "") for role in roles], [], 5)


def test_guests_and_lower_roles_gain_where_a_level_replaces_each_members_own_role(make: Any) -> None:
    gained, lost, _ = changes(make("inherit"), "edit")
    assert gained == [
        ("guests (edit)", ""),
        ("members with the role comment (edit)", "members with the role comment"),
        ("members with the role read (edit)", "members with the role read"),
    ]
    assert lost == []


def test_a_person_who_was_given_a_role_keeps_it_and_is_named_where_it_is_lost(make: Any) -> None:
    box = make("edit", grants=[{"member": "usr_rita", "role": "comment"}])
    assert changes(box, None) == ([], [("members (edit)", "")], 0)
    taken = moment(box.store, BASE, ["org_a"])
    people = [reading.reader for reading in taken.readings if reading.reader.startswith("person:")]
    assert people == ["person:usr_rita (comment)"]
    assert reader_in_words(people[0], taken.names) == "Rita (comment)"
    moments = Moments(lambda: moment(box.store, BASE, ["org_a"]))
    box.delete("/orgs/org_a/members/usr_rita")
    moments.after("DELETE")
    lost = {(change.who, change.kind) for change in moments.changes(moments.lost(), {})}
    assert lost == {("Rita (comment)", "space"), ("Rita", "organization")}


@pytest.mark.parametrize(
    ("role", "granted", "level"), [("review", "review", "edit"), ("read", "edit", None), ("read", "comment", "inherit")]
)
def test_a_person_keeps_what_they_were_given_whatever_becomes_of_the_level(make: Any, role: str, granted: str, level: str | None) -> None:
    box = make("inherit" if level != "inherit" else None, grants=[{"member": "usr_rita", "role": granted}])
    box.patch("/orgs/org_a/members/usr_rita", {"role": role})
    more, less, _ = changes(box, level)
    assert [who for who, _ in (*more, *less) if "Rita" in who] == []


def moved(tmp_path: Path, role: str | None, granted: str) -> tuple[Lines, Lines]:
    """What Rita gains and loses where a space leaves the collection in which she was given a role."""
    changed = {"col_guides": {"grants": [{"member": "usr_rita", "role": granted}]}, "spc_one": {"defaultLevel": "inherit"}}
    lists = {name: [entry | changed.get(entry["id"], {}) for entry in SEED[name]] for name in ("collections", "spaces")}
    box = Box(tmp_path, SEED | lists)
    box.patch("/orgs/org_a/members/usr_rita", {"role": role})
    moments = Moments(lambda: moment(box.store, BASE, ["org_a"]))
    box.move("/spaces/spc_one", parent=None)
    moments.after("POST")
    more, less = (moments.changes(readings, {}) for readings in (moments.gained(), moments.lost()))
    box.close()
    return tuple([(change.who, change.before) for change in some if "Rita" in change.who] for some in (more, less))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("role", "granted", "gained", "lost"),
    [
        ("edit", "edit", [], []),  # the role gives the same as the grant did
        ("edit", "read", [("Rita (edit)", "Rita")], []),
        ("read", "edit", [], []),  # less than before, but it is still read
        (None, "edit", [], [("Rita (edit)", "")]),
    ],
)
def test_a_person_who_is_no_longer_named_is_compared_by_what_their_role_gives_them(
    tmp_path: Path, role: str | None, granted: str, gained: Lines, lost: Lines
) -> None:
    assert moved(tmp_path, role, granted) == (gained, lost)
