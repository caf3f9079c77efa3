"""People are told once of what is new and once that it is over; what holds a URL is nowhere; a receiver that is away blocks nobody."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given, strategies as st
from sqlalchemy import select, text, update

from reconciler.features.health.model import Concern, Sort
from reconciler.fleet.approvals import LACKING
from reconciler.fleet.drift_groups import FleetDriftGroup, bounded
from reconciler.fleet.health import HealthWord, ProjectHealth
from reconciler.fleet.model import Event
from reconciler.fleet.notices.events import HOLD, LASTING, Announced, Seen, as_data, messages, of_data
from reconciler.fleet.status import ProjectStatus, Reading, StatusWord
from reconciler.fleet.store import FleetDatabase, projects, schema
from tests.fleet.test_store import declare, project
from tests.text.test_places import CALLED, CALLS

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
BROKEN = ProjectHealth(HealthWord.BROKEN, (Concern(Sort.LINKS, "a/site/docs", "readers find nothing"),))
AWAY = ProjectHealth(HealthWord.UNKNOWN)


def seen(word: StatusWord = StatusWord.SYNCED, health: ProjectHealth | None = None, **words: Any) -> Seen:
    reading = Reading("c0ffee", drift=int(word is StatusWord.OUT_OF_SYNC))
    status = ProjectStatus(word, ("drift: 1 resource changed outside Reconciler",) if word is not StatusWord.SYNCED else (), None, None)
    return Seen("acme", status, health or ProjectHealth(HealthWord.HEALTHY), reading, **words)


class Following:
    """A project over time, a minute from one end of a run to the next."""

    def __init__(self) -> None:
        self.announced, self.now = Announced(), NOW

    def then(self, now: Seen, minutes: float = 1) -> list[str]:
        self.now += timedelta(minutes=minutes)
        found, self.announced = messages(self.announced, now, self.now)
        assert of_data(json.loads(json.dumps(as_data(self.announced)))) == self.announced
        return [message.event.value for message in found]


def test_each_event_is_announced_once_and_recovered_once() -> None:
    acme = Following()
    assert (acme.then(seen()), acme.then(seen(StatusWord.OUT_OF_SYNC)), acme.then(seen(StatusWord.OUT_OF_SYNC))) == ([], ["outOfSync"], [])
    assert acme.then(replace(seen(StatusWord.OUT_OF_SYNC), reading=Reading("c0ffee", drift=1, ahead=2))) == [
        "outOfSync"
    ]  # something else too
    assert acme.then(seen(StatusWord.OUT_OF_SYNC, BROKEN)) == ["unhealthy"]
    assert acme.then(seen(health=BROKEN)) == []
    assert acme.then(seen()) == ["recovered"]
    assert acme.then(seen()) == []


def test_unknown_has_to_hold_and_a_run_to_fail_twice_but_an_apply_only_once() -> None:
    acme = Following()
    assert [acme.then(seen(StatusWord.UNKNOWN)) for _ in range(5)] == [[]] * 5
    assert acme.then(seen()) == []  # it did not hold
    assert acme.then(seen(StatusWord.UNKNOWN, AWAY)) == []
    assert acme.then(seen(StatusWord.UNKNOWN, AWAY), HOLD.total_seconds() / 60) == ["unknown"]
    assert acme.then(seen(StatusWord.UNKNOWN, AWAY), 600) == []
    assert acme.then(seen()) == ["recovered"]
    failed = "the token was refused [RC-token-refused]"
    assert acme.then(seen(error=failed, failures=1, read=False)) == []
    assert acme.then(seen(error=failed, failures=2, read=False)) == ["failed"]
    assert acme.then(seen(error=f"{failed} (again)", failures=3, read=False)) == []
    assert acme.then(seen()) == ["recovered"]
    assert acme.then(seen(error="apply ended with 5", failures=1, read=True)) == ["failed"]


def test_an_apply_is_not_announced_and_a_waiting_plan_once_for_each_digest() -> None:
    acme = Following()
    assert acme.then(seen(StatusWord.OUT_OF_SYNC, applied=True)) == ["applied"]  # the next run shows whether it is Synced
    assert acme.then(seen()) == []
    waits = LACKING + "create (1)"
    assert acme.then(seen(StatusWord.OUT_OF_SYNC, waits=waits, digest="ab")) == ["outOfSync", "needsApproval"]
    assert acme.then(seen(StatusWord.OUT_OF_SYNC, waits=waits, digest="ab")) == []
    assert acme.then(seen(StatusWord.OUT_OF_SYNC, waits=waits, digest="cd")) == ["needsApproval"]
    assert acme.then(seen(StatusWord.OUT_OF_SYNC, applied=True)) == ["applied"]
    assert acme.then(seen()) == ["recovered"]


def test_a_message_says_how_bad_it_is_and_ends_with_where_to_go_on() -> None:
    page = "https://fleet.example.com/projects/acme"
    worst = ProjectHealth(
        HealthWord.BROKEN, (Concern(Sort.EXPOSURE, "a/space/x", "it can be read by anyone"), *BROKEN.broken), sentences=("it can be read",)
    )
    ends, waits = replace(BROKEN, word=HealthWord.WARNING), LACKING + "create (1)"
    cases = {
        "failure": [seen(health=worst), seen(error="it failed [RC-x]", failures=2)],
        "warning": [seen(StatusWord.OUT_OF_SYNC), seen(health=ends), seen(waits=waits)],
        "info": [seen(applied=True)],
    }
    for severity, states in cases.items():
        for state in states:
            sent = messages(Announced(), replace(state, page=page), NOW)[0]
            assert [(message.severity, message.text.split("\n")[-1]) for message in sent] == [(severity, page)], state
    (first,), _ = messages(Announced(), seen(health=worst), NOW)
    assert first.text.startswith("a/space/x: it can be read by anyone\na/site/docs: readers find nothing\n")
    (drifted,), _ = messages(Announced(), seen(StatusWord.OUT_OF_SYNC), NOW)
    assert drifted.text.endswith("\nreconciler fleet drift acme"), "without a dashboard, the command"
    (over,), _ = messages(Announced({Event.OUT_OF_SYNC: frozenset({"drift"})}), seen(page=page), NOW)
    assert (over.severity, over.text) == ("success", f"It is Synced and Healthy.\n{page}")


STATES = st.builds(
    seen,
    st.sampled_from(StatusWord),
    st.sampled_from([None, BROKEN, AWAY]),
    error=st.sampled_from([None, None, "it failed [RC-x]"]),
    failures=st.integers(0, 3),
    applied=st.booleans(),
    read=st.booleans(),
    waits=st.sampled_from([None, LACKING + "create (1)"]),
)


@given(st.lists(STATES, max_size=12))
def test_whatever_happens_nothing_is_repeated_while_it_stays_so_and_a_recovery_follows_an_alarm(states: list[Seen]) -> None:
    acme, alarmed = Following(), False
    for state in states:
        events = acme.then(state)
        assert len(events) == len(set(events))
        if "recovered" in events:
            assert alarmed
            assert state.status.word is StatusWord.SYNCED
        alarmed = (alarmed and "recovered" not in events) or any(Event(event) in LASTING for event in events)
        assert [event for event in acme.then(replace(state, applied=False), 0) if event not in ("outOfSync", "recovered")] == []
        assert acme.then(replace(state, applied=False), 0) == []


# -- sending ----------------------------------------------------------------------------------------------------------------------


@contextmanager
def receiver(*codes: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """A server on a port, and the messages that it took; it answers with these codes first, and then with 200."""
    taken: list[dict[str, Any]] = []
    answers = iter(codes)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            code = next(answers, 200)
            if code == 200:
                taken.append(body)
            self.send_response(code)
            self.end_headers()

        def log_message(self, *words: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port, taken
        finally:
            server.shutdown()
            thread.join()


def rows(database: FleetDatabase) -> list[Any]:
    with database.transaction() as connection:
        return list(connection.execute(select(schema.notices).order_by(schema.notices.c.id)).mappings())


def due(database: FleetDatabase, **values: Any) -> None:
    with database.transaction() as connection:
        connection.execute(update(schema.notices).values(next_try=text("now()"), **values))


CANARY = "c4n4ry-s3cret"


def test_a_message_arrives_once_is_repeated_after_an_error_given_up_after_a_day_and_no_secret_is_in_a_row(
    database: FleetDatabase, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("apprise", reason="the extra `fleet` is not installed")
    from reconciler.fleet.runs.messages import announce, deliver

    targets = [
        {"url": "env:ALL", "on": [event.value for event in Event], "tenants": None},
        {"url": "env:OTHERS", "on": ["unhealthy"], "tenants": ["other"]},
    ]
    declare(database, project("acme"))
    with database.transaction() as connection:
        settings = {"notifications": targets, "dashboard": {"url": "https://fleet.example.com"}}
        projects.revise(connection, "f", "", 0, "ada", settings)
    data = {
        "word": "Broken",
        "concerns": [{"sort": "links", "address": "a", "sentence": "it is <b>gone", "until": None}],
        "unread": [],
        "more": 0,
    }
    with database.transaction() as connection:
        connection.execute(update(schema.projects).values(health=data, health_at=text("now()")))
        announce(connection, "acme")
        announce(connection, "acme")  # the end of another run in which nothing changed
    assert [(row["event"], row["target"]) for row in rows(database)] == [("unhealthy", "env:ALL")]
    deliver(database)
    assert "ALL is not set in the environment" in rows(database)[0]["error"]
    assert deliver(database) is False  # not yet again
    with receiver(500) as (port, taken):
        monkeypatch.setenv("ALL", f"json://ada:{CANARY}@127.0.0.1:{port}/{CANARY}?+X-Key={CANARY}")
        due(database)
        assert deliver(database) is True
        (row,) = rows(database)
        assert (row["sent_at"], row["tries"], taken) == (None, 2, [])
        assert row["error"]
        due(database)
        deliver(database)
        assert rows(database)[0]["error"] is None
        (body,) = taken
        assert (body["title"], body["type"]) == ("acme is Broken", "failure")
        assert body["message"] == "a: it is < b>gone\nhttps://fleet.example.com/projects/acme"
        assert deliver(database) is False
    (row,) = rows(database)
    assert (row["sent_at"] is not None, row["error"]) == (True, None)
    due(database, sent_at=None, at=text("now() - interval '25 hours'"))
    deliver(database)  # nobody listens there any more
    (row,) = rows(database)
    assert row["given_up_at"] is not None
    due(database)
    assert deliver(database) is False
    said = capfd.readouterr()
    for where in (json.dumps(dict(row), default=str), said.out, said.err, caplog.text):
        assert CANARY not in where


def test_a_project_that_nobody_reads_any_more_is_announced_although_no_run_ends(database: FleetDatabase) -> None:
    from reconciler.fleet.runs.messages import announce_quiet

    declare(database, project("acme"), project("paused"))
    target = {"url": "env:ALL", "on": ["unknown"], "tenants": None}
    with database.transaction() as connection:
        projects.revise(connection, "f", "", 0, "ada", {"notifications": [target]})
        projects.pause(connection, ["paused"], until=None, by="ada", reason="later")
        connection.execute(update(schema.projects).values(reading=as_stored(), read_at=text("now() - interval '2 hours'")))
        announce_quiet(connection)
    assert rows(database) == []  # it has to hold
    with database.transaction() as connection:
        past = (datetime.now(UTC) - HOLD).isoformat()
        connection.execute(
            update(schema.projects).where(schema.projects.c.name == "acme").values(announced={"open": {}, "unknownSince": past})
        )
    for _ in range(2):
        with database.transaction() as connection:
            announce_quiet(connection)
    assert [(row["event"], row["text"]) for row in rows(database)] == [
        ("unknown", "the last reading is 2 h old\nreconciler fleet status acme")
    ]


def as_stored() -> dict[str, Any]:
    from reconciler.fleet.status import as_data

    return as_data(Reading("c0ffee"))


# -- drift -------------------------------------------------------------------------------------------------------------------------------


def group(id: str, drift_class: str, found: datetime = NOW, **more: Any) -> FleetDriftGroup:
    return FleetDriftGroup(id, drift_class, f"change {id}", (f"a/space/{id}",), before=found.isoformat(), **more)


def drifts(*groups: FleetDriftGroup, word: StatusWord = StatusWord.OUT_OF_SYNC, **words: Any) -> Seen:
    now = seen(word, **words)
    return replace(now, reading=Reading("c0ffee", drift=len(groups), groups=groups), groups=groups)


def test_each_group_is_announced_once_and_again_only_if_it_changes() -> None:
    acme, exposed = Following(), group("one", "exposing")
    assert acme.then(drifts(exposed)) == ["outOfSync"]
    assert acme.then(drifts(exposed)) == []
    assert acme.then(drifts(exposed, group("two", "deleting"))) == ["outOfSync"]
    assert acme.then(drifts(group("three", "exposing"), group("two", "deleting"))) == ["outOfSync"], "another value is another group"
    assert acme.then(drifts(group("three", "exposing"), group("two", "deleting"), word=StatusWord.UNKNOWN)) == []
    assert acme.then(seen()) == ["recovered"]


def test_exposing_drift_is_announced_while_something_else_cannot_be_read() -> None:
    assert Following().then(drifts(group("one", "exposing"), word=StatusWord.UNKNOWN)) == ["outOfSync"]


def test_cosmetic_drift_is_silent_until_the_morning_and_for_ever_if_it_ended_before() -> None:
    night = datetime(2026, 11, 23, 2, 0, tzinfo=UTC)
    acme, other = Following(), Following()
    acme.now = other.now = night
    late = drifts(group("one", "cosmetic", night))
    assert acme.then(late) == []
    assert acme.then(late, minutes=5 * 60) == []
    assert acme.then(late, minutes=60) == ["outOfSync"]
    assert acme.then(late, minutes=24 * 60) == []
    assert other.then(late) == []
    assert other.then(seen(), minutes=600) == []
    berlin = replace(late, notify={"cosmetic": "08:00", "zone": "Asia/Tokyo"})
    third = Following()
    third.now = night  # eleven in Tokyo: the next morning
    assert (third.then(berlin, minutes=60), third.then(berlin, minutes=20 * 60)) == ([], ["outOfSync"])
    assert Following().then(replace(late, notify={"cosmetic": "now"})) == ["outOfSync"]
    assert Following().then(replace(late, notify={"cosmetic": "never"}), minutes=9_000) == []


def test_a_message_about_drift_has_class_bounds_readers_and_where_it_is_decided() -> None:
    exposed = group("one", "exposing", means=("new access for anyone: a/space/one",), after="2026-11-23T11:50:00Z")
    (message,), _ = messages(Announced(), drifts(exposed), NOW)
    assert (message.title, message.severity) == ("acme: exposing change", "failure")
    assert message.text.splitlines() == [
        "change one", "between 23 Nov 2026, 11:50 and 12:00 UTC", "new access for anyone: a/space/one", "reconciler fleet drift acme",
    ]  # fmt: skip
    many, _ = messages(Announced(), drifts(*(group(str(number), "deleting") for number in range(30))), NOW)
    assert [message.title for message in many] == ["acme: 30 deleting changes"]


def test_a_group_keeps_the_bounds_of_the_first_reading_that_had_it() -> None:
    first = bounded([group("one", "exposing")], [], read_at=NOW - timedelta(minutes=10))
    assert (first[0].after, first[0].before) == ("2026-11-23T11:50:00Z", NOW.isoformat())
    later = [group("one", "exposing", NOW + timedelta(hours=1)), group("two", "cosmetic", NOW + timedelta(hours=1))]
    again = bounded(later, first, read_at=None)
    assert again[0] == first[0]
    assert (again[1].after, again[1].before) == (None, later[1].before), "a reading that lacked something says nothing of what was there"


@pytest.mark.parametrize("text", CALLS)
def test_no_chat_calls_anybody_or_links_to_anything_because_of_a_title(text: str) -> None:
    assert CALLED.search(text), "the test knows it"
    group = FleetDriftGroup("g1", "exposing", f'somebody changed "{text}"', ("acme/site/docs",), (text,), None, None)
    health = ProjectHealth(HealthWord.BROKEN, (Concern(Sort.LINKS, "a/site/docs", f'"{text}" is broken'),))
    now = replace(seen(StatusWord.OUT_OF_SYNC, health), groups=(group,), error=text, failures=2)
    due, _ = messages(Announced(), now, NOW)
    assert len(due) > 2
    for message in due:
        assert CALLED.search(message.title + "\n" + message.text) is None, message.text


def test_the_page_of_the_fleet_remains_a_link() -> None:
    page = "https://fleet.acme.example/projects/acme"
    due, _ = messages(Announced(), replace(seen(StatusWord.OUT_OF_SYNC), page=page), NOW)
    assert [page in message.text for message in due] == [True]
