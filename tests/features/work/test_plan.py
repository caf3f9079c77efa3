"""What loses work in progress, and what is read of it: the pure part, with answers that a service may give."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.client.answers import Answer, WholeList
from reconciler.features.work.guard import listed_sorts
from reconciler.features.work.model import OPEN_WORK, OpenWork, PlannedWork, WorkEffect, WorkItem, WorkSort
from reconciler.features.work.plan import Loss, counted_sort, joined, losses, moment, unfinished, with_open_work
from reconciler.features.work.read import open_work
from reconciler.kinds import load as kinds
from reconciler.model import Action, Actual, Change, Delta, Exposure, Guards, Observed, Plan, Position
from reconciler.model.plan import Cause
from reconciler.report.layout import plain
from reconciler.report.plan import plan_sheet
from reconciler.report.schemas.plan import WORK_EFFECTS
from reconciler.report.sheet import sheet_text
from reconciler.resource.open_work import more_work, number_of
from reconciler.text.names import age

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
SPACE = kinds()["space"]
ORG = {"organization": "org_acme"}


def space(id: str = "spc_1", *, parent: str | None = None, **raw: Any) -> Observed:
    shown = {"id": id, "title": id, "comments": 0, "changeRequestsOpen": 0, "changeRequestsDraft": 0, **raw}
    return Observed("space", id, {"parent": parent, "title": id}, ORG, shown)


def actual(*observed: Observed) -> Actual:
    objects: dict[str, dict[str, Observed]] = {}
    for item in observed:
        objects.setdefault(item.kind, {})[item.id] = item
    return Actual(objects)


def change(name: str, id: str, *actions: Action, kind: str = "space", **more: Any) -> Change:
    return Change(Address.parse(f"acme/{kind}/{name}"), kind, actions, id=id, **more)


def lost(plan: Plan, seen: Actual) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        str(loss.address): (loss.effect.value, tuple(map(str, loss.within)))
        for loss in losses(kinds(), plan, seen, {Address.parse("acme"): "org_acme"})
    }


LOCK = Delta("editMode", "live", "locked", Cause.YOURS)
OPEN = Delta("editMode", "locked", "live", Cause.YOURS)
COLLECTION = Observed("collection", "col_1", {"parent": None}, ORG, {"id": "col_1"})
INNER = Observed("collection", "col_2", {"parent": "col_1"}, ORG, {"id": "col_2"})
READERS = Exposure(Address.parse("acme/space/a"), "space", "", None, None, "it can be read", readers=("anyone",), id="RC-more-readers")


@pytest.mark.parametrize(
    ("actions", "more", "effect"),
    [
        ((Action.DELETE,), {}, "delete"),
        ((Action.TRANSFER, Action.UPDATE), {}, "transfer"),
        ((Action.UPDATE,), {"fields": (LOCK,)}, "lock"),
        ((Action.MOVE, Action.UPDATE), {"fields": (LOCK,)}, "lock"),
        ((Action.UPDATE,), {"fields": (OPEN,)}, None),
        ((Action.UPDATE,), {"fields": (Delta("title", "a", "b", Cause.YOURS),)}, None),
        ((Action.MOVE,), {}, None),
        ((Action.FORGET,), {}, None),
        ((Action.RESTORE,), {}, None),
    ],
)
def test_of_what_happens_to_an_object_the_worst_for_its_work_counts(
    actions: tuple[Action, ...], more: dict[str, Any], effect: str | None
) -> None:
    found = lost(Plan("p", None, changes=(change("a", "spc_1", *actions, **more),)), actual(space()))
    assert found == ({"acme/space/a": (effect, ())} if effect else {})


def test_a_move_counts_where_others_can_read_the_object_afterwards() -> None:
    moved = Plan("p", None, changes=(change("a", "spc_1", Action.MOVE),))
    seen = actual(space())
    assert lost(moved, seen) == {}
    for readers in ({"exposures": (READERS,)}, {"lost_readers": {Address.parse("acme/space/a"): ("anyone",)}}):
        assert lost(Plan("p", None, changes=moved.changes, **readers), seen) == {"acme/space/a": ("move", ())}  # type: ignore[arg-type]


def test_what_is_in_a_container_at_any_depth_is_lost_with_it() -> None:
    seen = actual(COLLECTION, INNER, space("spc_1", parent="col_2"), space("spc_2"))
    transferred = Plan("p", None, changes=(change("old", "col_1", Action.TRANSFER, kind="collection"),))
    found = lost(transferred, seen)
    assert found["acme/space/spc_1"] == ("transfer", ("acme/collection/col_2", "acme/collection/old"))
    assert "acme/space/spc_2" not in found


def test_an_object_that_was_deleted_already_or_was_not_read_loses_nothing() -> None:
    gone = Observed("space", "spc_1", {}, ORG, {"comments": 3}, deleted_at=NOW)
    plan = Plan("p", None, changes=(change("a", "spc_1", Action.DELETE), change("b", "spc_9", Action.DELETE)))
    assert lost(plan, actual(gone)) == {}


# -- answers of a service ------------------------------------------------------------------------------------------------------------

WORD = next(word for word in SPACE.counted if word.number == "comments")


@pytest.mark.parametrize(("value", "number"), [(3, 3), (0, 0), (2.0, 2), (-1, None), (True, None), ("3", None), (None, None), ([], None)])
def test_a_number_that_is_none_is_unknown_and_not_nothing(value: Any, number: int | None) -> None:
    assert number_of({"comments": value}, WORD) == number
    assert number_of({}, WORD) is None


GARBAGE: list[Any] = [None, 7, "x", [], {}, {"status": "open"}, {"status": "open", "body": 3, "postedBy": [], "postedAt": {}, "id": 7}]


def test_garbage_in_a_list_gives_neither_titles_nor_errors() -> None:
    sort = counted_sort(WORD, 2, GARBAGE)
    assert sort == WorkSort("open comment", 2, (WorkItem(""), WorkItem("")))
    assert counted_sort(WORD, 1, [{"status": "resolved", "id": "c"}]).items == (), "what is resolved is not open"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-24T08:00:00+05:00", datetime(2026, 11, 24, 3, tzinfo=UTC)),
        ("2026-11-24T08:00:00", datetime(2026, 11, 24, 8, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
        (1_700_000_000, None),
    ],
)
def test_a_time_is_read_with_its_zone(text: Any, expected: datetime | None) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-90, "just now"), (59, "just now"), (60, "1 minute old"), (3_599, "59 minutes old"), (7_200, "2 hours old"),
        (86_399, "23 hours old"), (86_400, "1 day old"), (10**9, "11,574 days old"),
    ],
)  # fmt: skip
def test_an_age_is_in_the_largest_unit(seconds: float, text: str) -> None:
    assert age(seconds) == text


def test_an_unfinished_object_counts_and_a_finished_one_does_not() -> None:
    kind = kinds()["translation"]
    running = {"id": "t1", "status": "running", "language": "fr", "source": {"space": "spc_1"}}
    done = {"id": "t2", "status": "completed", "language": "de", "source": {"space": "spc_1"}}
    other = {"id": "t3", "status": "running", "language": "ja", "source": {"space": "spc_2"}}
    sort = unfinished(kind, [running, done, other], ("space", "spc_1"))
    assert sort == WorkSort("unfinished translation", 1, (WorkItem("t1", "fr, running"),))
    assert unfinished(kind, [done], None) is None


def test_two_sorts_with_one_noun_are_one() -> None:
    first, second = WorkSort("installed integration", 1, (WorkItem("a"),)), WorkSort("installed integration", 1, (WorkItem("b"),))
    assert joined((first,), second) == (WorkSort("installed integration", 2, (WorkItem("a"), WorkItem("b"))),)


def test_only_more_work_than_before_came_since() -> None:
    before, more = {"comments": 1, "changeRequestsOpen": 2}, {"comments": 2, "changeRequestsOpen": 1}
    assert more_work(SPACE.counted, before, more) == "open comments were 1 and are now 2"
    assert more_work(SPACE.counted, more, more) == more_work(SPACE.counted, {}, more) == more_work(SPACE.counted, before, {}) == ""


@dataclass
class Answers:
    """A reader of canned lists."""

    lists: dict[str, list[dict[str, Any]]]
    asked: list[str] = field(default_factory=list)

    async def get(self, path: str, query: dict[str, str] | None = None) -> Answer:
        self.asked.append(path)
        return Answer(200, {"items": self.lists.get(path, [])}, None)

    async def list(self, path: str, query: dict[str, str] | None = None, *, key: Any = None) -> WholeList:
        self.asked.append(path)
        return WholeList(tuple(self.lists.get(path, [])), 1, None)


def installation(selection: str) -> Observed:
    return Observed("installation", "ins_1", {"integration": "acme-chat"}, ORG, {"id": "ins_1", "space_selection": selection})


@pytest.mark.parametrize(("selection", "number"), [("some", 1), ("all", 0)])
def test_an_integration_that_is_installed_on_chosen_spaces_is_lost_with_them(selection: str, number: int) -> None:
    seen = actual(space(), installation(selection))
    (loss,) = losses(kinds(), Plan("p", None, changes=(change("a", "spc_1", Action.DELETE),)), seen, {})
    reader = Answers({"/integrations/acme-chat/spaces": [{"space": "spc_1", "integration": "acme-chat"}, {"space": "spc_2"}]})
    answers = asyncio.run(open_work(reader, kinds(), [loss], seen))  # type: ignore[arg-type]
    sorts = answers.get(loss.key, ())
    assert sorts == ((WorkSort("installed integration", 1, (WorkItem("ins_1", "acme-chat"),)),) if number else ())


def test_many_objects_read_a_bounded_number_of_lists() -> None:
    spaces = [space(f"spc_{number}", comments=1, changeRequestsOpen=1) for number in range(300)]
    plan = Plan("p", None, changes=tuple(change(item.id, item.id, Action.DELETE) for item in spaces))
    seen = actual(*spaces, *(space(f"stays_{number}") for number in range(300)))
    reader = Answers({})
    answers = asyncio.run(open_work(reader, kinds(), losses(kinds(), plan, seen, {}), seen))  # type: ignore[arg-type]
    assert len(reader.asked) == 200 + 1 + 100
    assert sum(sort.number or 0 for sorts in answers.values() for sort in sorts) == 600, "the numbers are known"


# -- the plan ------------------------------------------------------------------------------------------------------------------------


def planned(guards: Guards, effect: WorkEffect = WorkEffect.DELETE, number: int | None = 1, consents: Any = frozenset()) -> Plan:
    loss = Loss(Address.parse("acme/space/a"), SPACE, space(), effect)
    sorts = (WorkSort("open comment", number, (WorkItem("c1", "Why?", "Ada", NOW),) if number else (), "403" if number is None else ""),)
    return with_open_work(Plan("p", None), [loss], {loss.key: sorts}, guards, consents, NOW)


def test_what_is_unknown_is_shown_and_refuses_nothing() -> None:
    (work,) = planned(Guards(), number=None).feature(OPEN_WORK).works
    assert (work.blocks, work.asked, work.consents) == (True, False, ())


def test_a_continued_run_is_not_asked_again_for_the_same_work() -> None:
    plan = planned(Guards())
    (work,) = plan.feature(OPEN_WORK).works
    assert work.asked
    (again,) = planned(Guards(), consents=frozenset(plan.consents)).feature(OPEN_WORK).works
    assert (again.blocks, again.asked) == (True, False)
    (more,) = planned(Guards(), number=2, consents=frozenset(plan.consents)).feature(OPEN_WORK).works
    assert more.asked, "there is more of it"


def test_an_age_does_not_make_another_plan() -> None:
    plan, later = planned(Guards()), datetime(2027, 1, 1, tzinfo=UTC)
    loss = Loss(Address.parse("acme/space/a"), SPACE, space(), WorkEffect.DELETE)
    assert with_open_work(Plan("p", None), [loss], {loss.key: plan.feature(OPEN_WORK).works[0].sorts}, Guards(), frozenset(), later) == plan


def test_a_title_of_many_lines_is_one_line_and_long_ones_are_cut() -> None:
    item = WorkItem("c1", "first\n\nsecond " + "x" * 200, "Ada\nLovelace", datetime(2026, 11, 24, 12, tzinfo=UTC))
    work = OpenWork(Address.parse("acme/space/a"), "space", WorkEffect.DELETE, (WorkSort("open comment", 1, (item,)),), blocks=True)
    deleted = change("a", "spc_1", Action.DELETE, before=Position(None))
    text = plain(sheet_text(plan_sheet(Plan("p", None, changes=(deleted,)).with_feature(OPEN_WORK, PlannedWork((work,), NOW))), width=400))
    line = next(line for line in text.splitlines() if "contains" in line)
    assert "Ada Lovelace, 2 days old)" in line
    assert "…" in line
    assert len(line) < 200


def test_a_document_knows_what_can_happen_to_work() -> None:
    assert [*WorkEffect] == [*WORK_EFFECTS]


@pytest.mark.parametrize(("count", "text"), [(1, "1 a"), (2, "1 a and 2 bs"), (3, "1 a, 2 bs and 3 cs")])
def test_sorts_of_work_are_listed_as_in_a_sentence(count: int, text: str) -> None:
    sorts = tuple(WorkSort(noun, number) for number, noun in enumerate("abc"[:count], start=1))
    assert listed_sorts(OpenWork(Address.parse("acme/space/a"), "space", "lost", sorts)) == text
