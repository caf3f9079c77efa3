"""Recovery against answers that are written here and a journal in memory: what it says, waits for, reads and remembers.

What an object says of a request whose answer was lost; without a service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest

from reconciler.address import Address
from reconciler.apply.evidence import could_be, effect, made_by, outline, parts, source_of, updated_binding
from reconciler.apply.recover import recover
from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.kinds import load, load as kinds
from reconciler.model import Binding, Desired, Intent, Observed, Origin, State
from reconciler.resource import UNSET
from reconciler.state import IntentEnding
from tests.harness import BASE, TOKEN, Still
from tests.transports import Through
from tests.virtual import run_virtually

ORG = "/orgs/org_acme"
TEAMS, SECTIONS, SPACES = f"{ORG}/teams", f"{ORG}/sites/s/sections", f"{ORG}/members/ada/spaces"
WRITERS = Address.parse("acme/team/writers")
NOW = datetime(2027, 1, 8, 12, tzinfo=UTC)


@dataclass
class Memory:
    """A journal that is a list: what was settled, and in which lists nothing may be made."""

    intents: list[Intent]
    bindings: dict[Address, Binding] = field(default_factory=dict)
    endings: list[IntentEnding] = field(default_factory=list)
    held: list[tuple[str, Address | None]] = field(default_factory=list)

    def state(self) -> State:
        return State("lineage", 1, self.bindings, self.open_intents())

    def open_intents(self) -> tuple[Intent, ...]:
        return tuple(self.intents)

    def settle(self, endings: list[IntentEnding]) -> None:
        self.endings += endings
        ended = {one.intent for one in endings}
        self.intents = [intent for intent in self.intents if intent.id not in ended]
        self.bindings |= {one.address: one for ending in endings for one in ending.bind}

    def hold(self, kind: str, container: Address | None) -> None:
        self.held.append((kind, container))

    def unsaved_endings(self) -> tuple[Any, ...]:
        return ()


@dataclass
class Service(httpx2.AsyncBaseTransport):
    """Answers by path: a status, a document, or a list of items; the date is `now`."""

    answers: dict[str, Any]
    seen: list[str] = field(default_factory=list)
    dated: bool = True

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.removeprefix("/v1")
        self.seen.append(path)
        found = self.answers.get(path, 404)
        if isinstance(found, int):
            return httpx2.Response(found, json={"error": {"code": found, "message": "no"}}, request=request)
        body = {"items": found} if isinstance(found, list) else found
        headers = {"Date": format_datetime(NOW, usegmt=True)} if self.dated else {}
        return httpx2.Response(200, content=json.dumps(body).encode(), headers=headers, request=request)


@dataclass
class Run:
    """One recovery: what it said, the waits with their reasons, and what is in the journal and was read."""

    notes: tuple[str, ...]
    waits: list[tuple[float, str]]
    journal: Memory
    service: Service

    @property
    def endings(self) -> list[tuple[int, str]]:
        return [(one.intent, one.status) for one in self.journal.endings]


def recovered(
    service: Service | dict[str, Any], *open: Intent, settle: float | None = None, meanwhile: Mapping[str, Any] = {}, **bound: Binding
) -> Run:
    """`meanwhile`: answers that are others after the waiting. `bound`: by any name."""
    service = service if isinstance(service, Service) else Service(service)
    journal = Memory(list(open), {one.address: one for one in bound.values()})
    waits: list[tuple[float, str]] = []

    async def wait(seconds: float, why: str) -> None:
        waits.append((seconds, why))
        service.answers |= meanwhile

    async def run() -> tuple[str, ...]:
        async with Reader(ClientSettings(BASE, TOKEN), transport=Through(service), clock=Still(), jitter=lambda: 0.5) as reader:
            return await recover(reader, kinds(), Desired("p", None, {}, {}, frozenset()), journal, settle=settle, wait=wait)  # type: ignore[arg-type]

    return Run(asyncio.run(run()), waits, journal, service)


def team(id: str = "t1", title: str = "Writers", **more: Any) -> dict[str, Any]:
    return {"object": "team", "id": id, "title": title, **more}


def intent(id: int = 1, address: Address = WRITERS, **parts: Any) -> Intent:
    base = Intent(
        id, "r", 1, address, address.kind, "create", "PUT", TEAMS, None, {"title": "Writers"}, frozenset(), NOW,
        NOW + timedelta(seconds=20), lookup=(TEAMS,),
    )  # fmt: skip
    return replace(base, **parts)


def bound(address: Address, id: str, **parts: Any) -> Binding:
    return replace(Binding(address, address.kind, id, Origin.CREATED), **parts)


# -- creates


def test_a_matching_object_is_tracked_with_its_equal_fields_and_kept_for_the_history() -> None:
    done = recovered({TEAMS: [team(), team("t2", "Others")]}, intent(writes={"title": "Writers", "nonsense": 1}), settle=30)
    assert done.notes == ("acme/team/writers: was created by an earlier run (t1)",)
    assert (done.waits, done.endings, done.service.seen) == ([], [(1, "recovered")], [TEAMS])
    (ending,) = done.journal.endings
    assert ending.bind == (Binding(WRITERS, "team", "t1", Origin.RECOVERED, {"title": "Writers"}, {"title": "Writers"}),)
    assert ending.after == {WRITERS: {"title": "Writers"}}


def test_what_differs_from_what_was_sent_is_not_taken_for_sent() -> None:
    site = Address.parse("acme/site/docs")
    mine = intent(address=site, writes={"title": "Docs", "type": "premium", "basename": "docs"}, lookup=(f"{ORG}/sites",))
    shown = {"object": "site", "id": "s1", "title": "Docs", "type": "basic", "basename": "docs"}
    (ending,) = recovered({f"{ORG}/sites": [shown]}, mine).journal.endings
    assert ending.bind[0].sent == {"title": "Docs"}  # the type differs, and no create carries the basename
    assert ending.after[site]["type"] == "basic"


def test_nothing_is_believed_absent_before_deadline_and_settle_time_by_the_clock_of_the_service() -> None:
    done = recovered({TEAMS: []}, intent(), settle=30)
    assert done.waits == [(50.0, "a request for acme/team/writers may still take effect")]
    assert (done.notes, done.endings) == (("acme/team/writers: was not created",), [(1, "not-sent")])
    assert done.service.seen == [TEAMS, TEAMS]


def test_what_comes_while_it_waits_is_found() -> None:
    assert recovered({TEAMS: []}, intent(), settle=30, meanwhile={TEAMS: [team()]}).endings == [(1, "recovered")]


def test_several_wait_together_for_the_latest_of_those_that_are_missing() -> None:
    others = [Address.parse(f"acme/team/{name}") for name in ("readers", "authors")]
    done = recovered(
        {TEAMS: [team()]}, intent(deadline=NOW + timedelta(days=1)), intent(2, others[0], writes={"title": "Readers"}, deadline=None),
        intent(3, others[1], writes={"title": "Authors"}), settle=30,
    )  # fmt: skip
    assert done.waits == [(50.0, "2 requests may still take effect")]
    assert done.endings == [(1, "recovered"), (2, "not-sent"), (3, "not-sent")]


def test_where_no_request_says_until_when_the_second_reading_is_a_second_later() -> None:
    assert recovered({TEAMS: []}, intent(deadline=None), settle=30).waits[0][0] == 1.0


def test_a_service_without_a_clock_is_waited_for_by_ours() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=100)
    ((seconds, _),) = recovered(Service({TEAMS: []}, dated=False), intent(deadline=soon), settle=30).waits
    assert 120 < seconds <= 130


def test_who_says_nothing_else_waits_by_sleeping() -> None:
    async def run() -> float:
        began = asyncio.get_running_loop().time()
        async with Reader(ClientSettings(BASE, TOKEN), transport=Through(Service({TEAMS: []})), clock=Still()) as reader:
            await recover(reader, kinds(), Desired("p", None, {}, {}, frozenset()), Memory([intent()]), settle=30)  # type: ignore[arg-type]
        return asyncio.get_running_loop().time() - began

    assert 50.0 <= run_virtually(run()) < 60.0


def test_where_no_request_outlives_its_run_nothing_waits() -> None:
    done = recovered({TEAMS: []}, intent())
    assert (done.waits, done.endings) == ([], [(1, "not-sent")])


def test_several_that_match_are_listed_once_and_nothing_waits() -> None:
    done = recovered({TEAMS: [team(), team("t2")]}, intent(), settle=30)
    assert done.notes == (
        "acme/team/writers: still in doubt, t1 ('Writers'), t2 ('Writers') match: reconciler adopt acme/team/writers ID, "
        "or, if it is none of them, reconciler state forget acme/team/writers --in-doubt",
    )
    assert (done.waits, done.endings) == ([], [])


def test_a_list_that_cannot_be_read_leaves_it_in_doubt_and_holds_what_would_be_made_there() -> None:
    done = recovered({TEAMS: 403}, intent(), settle=30)
    assert [note.partition(",")[0] for note in done.notes] == ["acme/team/writers: still in doubt"]
    assert (done.journal.held, done.endings, done.waits) == ([("team", Address.parse("acme"))], [], [])


def test_a_write_that_cannot_be_read_holds_nothing() -> None:
    done = recovered({f"{TEAMS}/t1": 403}, intent(verb="update", target="t1", lookup=(f"{TEAMS}/t1",)))
    assert (done.journal.held, done.endings) == ([], [])


@pytest.mark.parametrize("item", [7, None, {"id": "t1", "object": "checkout"}, {"object": "team"}])
def test_a_list_of_something_else_leaves_it_in_doubt(item: Any) -> None:
    done = recovered({TEAMS: [team(), item]}, intent())
    assert done.notes[0].startswith("acme/team/writers: still in doubt")
    assert done.endings == []


def test_a_kind_that_is_no_more_is_closed() -> None:
    done = recovered({}, intent(address=Address.parse("acme/badge/x")), settle=30)
    assert (done.notes, done.endings, done.waits) == (("acme/badge/x: was not created",), [(1, "not-sent")], [])


SECTION = Address.parse("acme/site/docs/section/guides")
CHILD = Address.parse("acme/site/docs/site-space/one")


def section(*children: Any, **more: Any) -> dict[str, Any]:
    return {"object": "site-section", "id": "c1", "title": "Guides", "siteSpaces": list(children), **more}


def bringing() -> Intent:
    return intent(address=SECTION, writes={"title": "Guides"}, lookup=(SECTIONS,), brings={"siteSpaces": str(CHILD)})


def test_the_first_child_that_a_create_brought_is_tracked_too() -> None:
    children = [{"object": "site-space", "id": id, "path": id} for id in ("v1", "v2")]
    (ending,) = recovered({SECTIONS: [section(*children)]}, bringing()).journal.endings
    assert [(one.address, one.id, one.origin, one.sent) for one in ending.bind][1:] == [(CHILD, "v1", Origin.RECOVERED, {})]
    assert (ending.after[CHILD]["path"], ending.after[SECTION]["title"]) == ("v1", "Guides")


@pytest.mark.parametrize("children", [[], [{"object": "checkout", "id": "v1"}], [7]])
def test_a_child_that_a_create_did_not_bring_is_not_tracked(children: list[Any]) -> None:
    (ending,) = recovered({SECTIONS: [section(*children)]}, bringing()).journal.endings
    assert [one.address for one in ending.bind] == [SECTION]
    assert list(ending.after) == [SECTION]


# -- copies


def space(id: str, title: str = "Blank (copy)", **more: Any) -> dict[str, Any]:
    return {"object": "space", "id": id, "title": title, "createdAt": NOW.isoformat(), **more}


def at(name: str) -> Address:
    return Address.parse(f"acme/space/{name}")


def copy(id: int, name: str, source: str = "blank", **parts: Any) -> Intent:
    return replace(intent(id, at(name), target=source, writes={}, lookup=(SPACES,), known=frozenset({"blank", "other"})), **parts)


def pages(*titles: str) -> dict[str, Any]:
    return {"pages": [{"title": title, "slug": title} for title in titles]}


def spaces(*shown: dict[str, Any], **tree: Any) -> dict[str, Any]:
    """The service with these spaces in its list; `tree`: pages by id, those of each where nothing is said."""
    outlines = {f"/spaces/{id}/content/pages": tree.get(id, pages("a", "b")) for id in ["blank", "other", *(one["id"] for one in shown)]}
    sources = {"/spaces/blank": space("blank", "Blank"), "/spaces/other": space("other", "Handbook")}
    return {SPACES: [{"space": one} for one in shown], **outlines, **sources}


def test_copies_of_one_source_are_interchangeable() -> None:
    done = recovered(spaces(space("c1"), space("c2")), copy(1, "one"), copy(2, "two"), settle=30)
    assert done.notes == tuple(f"acme/space/{name}: was created by an earlier run ({id})" for name, id in (("one", "c1"), ("two", "c2")))
    assert (done.waits, done.service.seen.count(SPACES)) == ([], 1)


def test_the_copies_that_exist_are_tracked_and_the_rest_was_not_created() -> None:
    done = recovered(spaces(space("c1")), copy(1, "one"), copy(2, "two"))
    assert done.notes == ("acme/space/one: was created by an earlier run (c1)", "acme/space/two: was not created")
    waited = recovered(spaces(space("c1")), copy(1, "one"), copy(2, "two"), settle=30)
    assert (len(waited.waits), waited.notes) == (1, done.notes)


def test_more_copies_than_were_asked_for_are_listed_for_each_and_nothing_waits() -> None:
    done = recovered(spaces(space("c1"), space("c2")), copy(1, "one"), settle=30)
    assert done.notes == (
        "acme/space/one: still in doubt, c1 ('Blank (copy)'), c2 ('Blank (copy)') match: reconciler adopt acme/space/one ID, "
        "or, if it is none of them, reconciler state forget acme/space/one --in-doubt",
    )
    assert (done.endings, done.waits) == ([], [])


def test_a_copy_whose_pages_differ_is_reported_and_left() -> None:
    done = recovered(spaces(space("c1"), space("c2"), c1=pages("x")), copy(1, "one"), copy(2, "two"))
    assert done.notes[:2] == ("acme/space/one: was created by an earlier run (c2)", "acme/space/two: was not created")
    assert done.notes[2:] == ("c1: new, but not a copy of the source, so considered somebody else's",)


def test_a_stranger_is_not_told_where_every_copy_was_found() -> None:
    done = recovered(spaces(space("c1"), space("c2"), c1=pages("x")), copy(1, "one"))
    assert done.notes == ("acme/space/one: was created by an earlier run (c2)",)


def test_a_copy_that_went_meanwhile_is_none() -> None:
    assert recovered(spaces(space("c1"), c1=404), copy(1, "one")).endings == [(1, "not-sent")]


def test_a_source_that_cannot_be_read_leaves_its_copies_in_doubt_and_holds_their_lists() -> None:
    done = recovered(spaces(space("c1"), blank=403), copy(1, "one"), copy(2, "two"))
    assert [note.partition(",")[0] for note in done.notes] == ["acme/space/one: still in doubt", "acme/space/two: still in doubt"]
    assert done.journal.held == [("space", Address.parse("acme"))] * 2


def test_copies_without_a_source_are_recognized_by_being_new_alone() -> None:
    assert recovered(spaces(space("c1"), c1=pages("x")), copy(1, "one", target=None)).endings == [(1, "recovered")]


def test_copies_of_two_sources_with_the_same_pages_differ_by_their_titles() -> None:
    done = recovered(spaces(space("c1"), space("c2", "Handbook (copy)")), copy(1, "one"), copy(2, "two", "other"))
    assert done.notes == ("acme/space/one: was created by an earlier run (c1)", "acme/space/two: was created by an earlier run (c2)")


def test_copies_whose_titles_tell_nothing_stay_in_doubt() -> None:
    done = recovered(spaces(space("c1", "Untitled")), copy(1, "one"), copy(2, "two", "other"))
    assert done.endings == []
    assert all(note.endswith("a new space may be a copy of any of blank, other, which have the same pages") for note in done.notes)


def test_titles_are_not_asked_where_the_pages_of_the_other_source_differ() -> None:
    done = recovered(spaces(space("c1", "Untitled"), other=pages("x")), copy(1, "one"), copy(2, "two", "other"))
    assert done.endings == [(1, "recovered"), (2, "not-sent")]
    assert "/spaces/other" not in done.service.seen


def test_only_creates_of_the_same_kind_make_other_sources() -> None:
    update = intent(2, at("two"), verb="update", target="other", lookup=("/spaces/other",), writes={"title": "X"})
    another = intent(3, target="other", writes={"title": "Nobody"})
    assert recovered({**spaces(space("c1", "Untitled")), TEAMS: []}, copy(1, "one"), update, another).endings[0] == (1, "recovered")


def test_where_nothing_new_is_found_no_source_is_read() -> None:
    done = recovered(spaces(), copy(1, "one"), copy(2, "two", "other"))
    assert done.endings == [(1, "not-sent"), (2, "not-sent")]
    assert set(done.service.seen) == {SPACES}


# -- writes to what exists


def update(**parts: Any) -> Intent:
    return replace(intent(verb="update", target="t1", writes={"title": "Authors"}, lookup=(f"{TEAMS}/t1",)), **parts)


OLD = bound(WRITERS, "t1", sent={"title": "Writers"}, seen={"title": "Writers"}, protected=True)


def test_an_update_that_is_there_is_remembered_as_sent_and_seen() -> None:
    done = recovered({f"{TEAMS}/t1": team(title="Authors")}, update(), settle=30, old=OLD)
    assert (done.notes, done.waits) == (("acme/team/writers: update was done by an earlier run",), [])
    (ending,) = done.journal.endings
    assert ending.bind == (replace(OLD, sent={"title": "Authors"}, seen={"title": "Authors"}),)
    assert (ending.status, ending.after) == ("recovered", {WRITERS: {"title": "Authors"}})


def test_an_update_of_an_untracked_or_retracked_address_tracks_nothing() -> None:
    answers = {f"{TEAMS}/t1": team(title="Authors")}
    assert recovered(answers, update()).journal.endings[0].bind == ()
    assert recovered(answers, update(), old=bound(WRITERS, "t2")).journal.endings[0].bind == ()


def test_an_update_without_effect_is_planned_again_once_it_can_no_longer_arrive() -> None:
    done = recovered({f"{TEAMS}/t1": team()}, update(), settle=30, old=OLD)
    assert (done.notes, done.endings) == (("acme/team/writers: update is planned again",), [(1, "not-sent")])
    assert [seconds for seconds, _ in done.waits] == [50.0]


def test_a_delete_of_an_object_that_no_longer_exists_was_done() -> None:
    done = recovered({}, update(verb="delete"), settle=30, old=OLD)
    assert (done.notes, done.waits) == (("acme/team/writers: delete was done by an earlier run",), [])
    (ending,) = done.journal.endings
    assert (ending.bind, ending.after) == ((), {})


def test_what_only_a_list_shows_is_looked_for_by_its_id() -> None:
    mine = intent(address=SECTION, verb="update", target="c1", writes={"title": "New"}, lookup=(SECTIONS,))
    others = section(id="c0", title="New")
    assert recovered({SECTIONS: [others, section(title="New")]}, mine).endings == [(1, "recovered")]
    assert recovered({SECTIONS: [others, section()]}, mine).endings == [(1, "not-sent")]


def test_an_answer_that_is_something_else_leaves_a_write_in_doubt() -> None:
    done = recovered({f"{TEAMS}/t1": {"object": "checkout", "id": "t1"}}, update(), settle=30)
    assert done.notes == (f"acme/team/writers: still in doubt, GET {TEAMS}/t1 answered something that is not a team",)
    assert (done.endings, done.waits) == ([], [])


def test_a_write_that_nothing_shows_is_waited_out_unread() -> None:
    for mine in (update(lookup=()), update(target=None)):
        done = recovered({}, mine, settle=30)
        assert (done.endings, len(done.waits), done.service.seen) == ([(1, "not-sent")], 1, [])


SENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SPACE, TEAM, SPEC = (load()[name] for name in ("space", "team", "openapi"))
NOBODY: frozenset[tuple[str, str]] = frozenset()


def unanswered_intent(verb: str = "create", **parts: Any) -> Intent:
    base: dict[str, Any] = {
        "id": 1, "run": "r", "step": 1, "address": Address.parse("acme/team/writers"), "kind": "team", "verb": verb, "method": "PUT",
        "path": "/", "target": None, "writes": {"title": "Writers"}, "known": frozenset(), "date": SENT, "deadline": SENT, "lookup": ("/",),
    }  # fmt: skip
    return Intent(**{**base, **parts})


def seen(id: str, *, made: datetime | str | None = SENT, deleted: datetime | None = None, **values: Any) -> Observed:
    raw = {} if made is None else {"createdAt": made if isinstance(made, str) else made.isoformat()}
    return Observed("team", id, values, {}, raw, deleted_at=deleted)


def ids(found: Sequence[Observed]) -> list[str]:
    return [one.id for one in found]


def test_a_create_made_what_is_new_of_its_key_and_nobodys() -> None:
    objects = [seen("old", title="Writers"), seen("other", title="Readers"), seen("theirs", title="Writers"), seen("it", title="Writers")]
    assert ids(
        made_by(TEAM, unanswered_intent(known=frozenset({"old"})), objects, frozenset({("team", "theirs"), ("space", "it")}))[0]
    ) == ["it"]


def test_a_key_that_was_not_sent_is_not_asked_for() -> None:
    assert ids(made_by(TEAM, unanswered_intent(writes={"members": []}), [seen("it", title="Whatever")], NOBODY)[0]) == ["it"]


def test_what_is_made_again_in_its_place_may_have_been_there_before() -> None:
    assert SPEC.api["create"].upsert
    mine = unanswered_intent(kind="openapi", writes={"slug": "pets"}, known=frozenset({"it"}))
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
    created, certainly = made_by(TEAM, unanswered_intent(writes={"title": sent}), [seen("it", title=shown)], NOBODY)
    assert (ids(created), certainly) == ([] if certain is None else ["it"], certain is not False)


def test_an_exact_name_is_preferred_to_an_altered_one_whichever_comes_first() -> None:
    objects = [seen("altered", title="Writers (1)"), seen("it", title="Writers")]
    for some in (objects, objects[::-1]):
        assert ids(made_by(TEAM, unanswered_intent(), some, NOBODY)[0]) == ["it"]


def test_two_altered_names_leave_the_choice_to_people() -> None:
    objects = [seen("a", title="Writers (1)"), seen("b", title="Writers (2)")]
    assert ids(made_by(TEAM, unanswered_intent(), objects, NOBODY)[0]) == ["a", "b"]


def test_an_object_with_the_name_of_another_create_in_doubt_is_that_ones() -> None:
    other = unanswered_intent(id=2, writes={"title": "Writers (1)"})
    assert ids(made_by(TEAM, unanswered_intent(), [seen("it", title="Writers (1)")], NOBODY, [other])[0]) == []
    assert ids(made_by(TEAM, other, [seen("it", title="Writers (1)")], NOBODY, [unanswered_intent()])[0]) == ["it"]


def test_only_names_that_people_choose_may_have_been_altered() -> None:
    mine = unanswered_intent(kind="openapi", writes={"slug": "pets"})
    assert ids(made_by(SPEC, mine, [seen("other", slug="pets-2"), seen("it", slug="Pets")], NOBODY)[0]) == ["it"]


@pytest.mark.parametrize(
    ("made", "counts"),
    [
        (SENT - timedelta(seconds=61), False),
        (SENT - timedelta(seconds=60), True),
        (SENT + timedelta(days=1), True),
        (None, True),
        ("?", True),
    ],
)
def test_a_copy_is_at_most_a_minute_older_than_its_request(made: Any, counts: bool) -> None:
    found = could_be(
        SPACE,
        [unanswered_intent(date=SENT + timedelta(hours=1)), unanswered_intent(date=SENT), unanswered_intent(date=None)],
        [seen("it", made=made)],
        NOBODY,
    )
    assert ids(found) == ["it"] * counts


def test_where_no_request_has_a_date_a_copy_may_be_of_any_age() -> None:
    assert ids(could_be(SPACE, [unanswered_intent(date=None)], [seen("it", made=SENT - timedelta(days=9))], NOBODY)) == ["it"]


def test_a_copy_that_matches_no_request_is_not_tracked_and_not_deleted() -> None:
    known = [unanswered_intent(known=frozenset({"a"})), unanswered_intent(known=frozenset({"b"}))]
    objects = [seen("a"), seen("b"), seen("c"), seen("d", deleted=SENT), seen("e")]
    assert ids(could_be(SPACE, known, objects, frozenset({("space", "c"), ("team", "e")}))) == ["e"]


def test_copies_come_oldest_first_and_then_by_id() -> None:
    objects = [seen("c", made=SENT + timedelta(seconds=1)), seen("b"), seen("a")]
    assert ids(could_be(SPACE, [unanswered_intent()], objects, NOBODY)) == ["a", "b", "c"]


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


THERE, DELETED = seen("it", title="Writers", members=[]), seen("it", deleted=SENT, title="Writers")


@pytest.mark.parametrize(
    ("mine", "now", "done"),
    [
        (unanswered_intent("delete"), None, True),
        (unanswered_intent("delete"), DELETED, True),
        (unanswered_intent("delete"), THERE, False),
        (unanswered_intent("restore"), THERE, True),
        (unanswered_intent("restore"), DELETED, False),
        (unanswered_intent("restore"), None, False),
        (unanswered_intent("update"), THERE, True),
        (unanswered_intent("update"), None, False),
        (unanswered_intent("update", writes={"title": "Authors"}), THERE, False),
        (unanswered_intent("update", writes={"title": "Writers", "members": ["x"]}), THERE, False),
        (unanswered_intent("update", writes={"title": "Writers", "unread": 1}), THERE, False),
        (unanswered_intent("update", writes={}), THERE, False),
        (unanswered_intent("move"), THERE, False),
        (unanswered_intent("move"), None, False),
    ],
)
def test_a_write_was_done_when_what_it_wanted_is_seen(mine: Intent, now: Observed | None, done: bool) -> None:
    assert effect(TEAM, mine, now) is done


def test_what_was_done_is_remembered_as_sent_and_as_it_is_seen() -> None:
    old = Binding(
        Address.parse("acme/team/writers"), "team", "it", Origin.CREATED, {"title": "Old", "rest": 1}, {"title": "Old", "kept": 2}
    )
    mine = unanswered_intent("update", writes={"title": "Writers", "hidden": 3})
    assert updated_binding(TEAM, old, mine, seen("it", title="Writers!", hidden=UNSET, extra=4)) == replace(
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
