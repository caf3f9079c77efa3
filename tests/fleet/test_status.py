"""Status, schedule and approvals: what is missing is never "no change".

What was read of health becomes a word by its age and the day; missing is Unknown, and no concern is lost by being one of many.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import product
from typing import Any

import pytest

from reconciler.features.health.model import CheckResult, Concern, Sort
from reconciler.fleet import approvals, health, schedule
from reconciler.fleet.approvals import ApprovalTerms, Decision
from reconciler.fleet.health import HealthReading, HealthWord, ProjectHealth
from reconciler.fleet.model import APPROVALS_DEFAULT, VALID_DEFAULT, ChangeClass, Window
from reconciler.fleet.people.directory import DeclaredPerson, Directory
from reconciler.fleet.status import Follower, ProjectFacts, Reading, StatusWord, as_data, of_data, of_documents, status, wave_before

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
ADA, GRACE, LINUS = (f"{name}@acme.example" for name in ("ada", "grace", "linus"))
WELL = ProjectHealth(HealthWord.HEALTHY)
GOOD = Reading("c0ffee", managed=10, coverage=1.0)


def seen(reading: Reading | None, *, age: int = 60, every: int = 600, error: str | None = None) -> ProjectFacts:
    return ProjectFacts(every, reading, NOW - timedelta(seconds=age) if reading is not None else None, error)


def test_only_a_fresh_whole_reading_without_differences_is_synced() -> None:
    missing: list[dict[str, Any]] = [{}, {"unreadable": ("site: 403",)}, {"in_doubt": 1}, {"new_state": "The state has never seen it."}]
    different: list[dict[str, Any]] = [{}, {"ahead": 1}, {"drift": 2}, {"both": 1}, {"unmanaged": 3}]
    for gap, change, age in product(missing, different, (60, 1_900)):
        made = status(seen(replace(GOOD, **gap, **change), age=age), NOW)
        expected = StatusWord.UNKNOWN if gap or age > 1_800 else StatusWord.OUT_OF_SYNC if change else StatusWord.SYNCED
        assert made.word is expected
        assert bool(made.causes) == (expected is not StatusWord.SYNCED)
        assert of_data(as_data(replace(GOOD, **gap, **change))) == replace(GOOD, **gap, **change)


def test_an_exposure_that_changes_nothing_else_waits_to_be_applied_and_is_counted_once() -> None:
    def exposure(address: str, cause: str | None = None) -> dict[str, Any]:
        return {"address": address, "cause": cause, "window": 0, "asked": True}

    def ahead(changes: list[str], *exposures: dict[str, Any]) -> int:
        said = [{"address": address, "fields": []} for address in changes]
        plan = {"changes": said, "blocked": [], "unknown": [], "inDoubt": [], "exposures": list(exposures)}
        return of_documents("c0ffee", plan, {"resources": [], "unknown": [], "summary": {"managed": 1, "unmanaged": 0}}).ahead

    assert ahead([]) == 0
    assert ahead([], exposure("acme/site/docs"), exposure("acme/site/docs")) == 1
    assert ahead(["acme/site/docs"], exposure("acme/site/docs"), exposure("acme/space/six", "acme/site/docs")) == 1
    assert ahead(["acme/team/a"], exposure("acme/site/docs")) == 2


def test_a_project_that_was_never_read_is_unknown_and_a_failure_is_named() -> None:
    assert status(seen(None), NOW).causes == ("it was never read",)
    assert status(seen(None, error="the token was refused"), NOW).causes == ("the last run failed: the token was refused",)
    failed = status(seen(GOOD, error="the repository cannot be read"), NOW)
    assert (failed.word, failed.causes) == (
        StatusWord.SYNCED,
        ("the last run failed: the repository cannot be read",),
    )  # until it is too old


def test_a_wave_waits_for_every_project_before_it() -> None:
    def first(**words: Any) -> Follower:
        return Follower(
            **(
                {"name": "a", "wave": 0, "word": StatusWord.SYNCED, "health": WELL, "commit": "new", "well_since": NOW - timedelta(hours=1)}
                | words
            )
        )

    def held(*others: Follower, wave: int = 1) -> str | None:
        return wave_before(wave, "new", others, timedelta(minutes=10), NOW)

    assert held(first()) is None
    assert held(first(word=StatusWord.UNKNOWN), wave=0) is None
    assert held(first(), first(name="b", word=StatusWord.OUT_OF_SYNC)) == "wave 0 is not Synced: b is OutOfSync"
    assert held(first(commit="old")) == "wave 0 is not at this commit yet: a"
    assert held(first(well_since=NOW - timedelta(minutes=1))) == "wave 0 is Synced and healthy for less than 10 min: a"
    assert held(first(health=ProjectHealth(HealthWord.WARNING))) is None
    assert held(first(health=ProjectHealth(HealthWord.UNKNOWN))) == "wave 0 is not healthy: a is Unknown"
    broken = ProjectHealth(HealthWord.BROKEN, sentences=("a/site/docs: readers find nothing",))
    assert held(first(health=broken)) == "wave 0 is not healthy: a is Broken (a/site/docs: readers find nothing)"
    assert held(first(word=StatusWord.UNKNOWN)) == "wave 0 is not Synced: a is Unknown"


def test_failures_back_off_and_end_with_the_first_success() -> None:
    delays = [schedule.delay(600, failures) for failures in range(12)]
    assert (delays[0], delays[1:4], max(delays)) == (600, [30, 60, 120], schedule.BACKOFF_MAX)
    assert schedule.delay(86_400, 40) <= 86_400


def test_a_window_may_end_after_midnight_in_its_own_zone() -> None:
    night = (Window((4,), time(22), time(6), "Europe/Berlin"),)  # Friday
    friday = datetime(2026, 11, 27, tzinfo=UTC)
    open_at = {hour: schedule.is_open(night, friday + timedelta(hours=hour)) for hour in range(48)}
    assert [hour for hour, is_open in open_at.items() if is_open] == list(range(21, 29))  # Berlin is an hour ahead
    assert schedule.is_open((), friday)


def change(*actions: str, fields: tuple[str, ...] = (), parents: tuple[str, str] = ("p", "p")) -> dict[str, Any]:
    place = {"before": {"parent": parents[0]}, "after": {"parent": parents[1]}}
    return {"actions": actions, "fields": [{"name": name} for name in fields], "place": place if "move" in actions else None}


@pytest.mark.parametrize(
    ("changes", "exposed", "expected"),
    [
        ([change("update", fields=("title",))], False, {ChangeClass.TITLES}),
        ([change("update", fields=("title", "visibility"))], False, {ChangeClass.UPDATE}),
        ([change("move")], False, {ChangeClass.ORDER}),
        ([change("move", parents=("p", "q"))], False, {ChangeClass.UPDATE}),
        ([change("create"), change("delete")], False, {ChangeClass.CREATE, ChangeClass.DELETE}),
        ([change("replace", fields=("slug",))], True, {ChangeClass.REPLACE, ChangeClass.EXPOSURE}),
        ([change("something new")], False, {ChangeClass.UPDATE}),
        ([], False, set()),
    ],
)
def test_a_plan_has_classes_of_change(changes: list[Any], exposed: bool, expected: set[ChangeClass]) -> None:
    assert approvals.classes({"changes": changes, "exposures": [{"asked": True}] if exposed else []}) == expected


def test_an_approval_is_of_a_person_for_one_plan_and_two_are_not_the_author() -> None:
    every = frozenset(ChangeClass)

    terms = ApprovalTerms(
        APPROVALS_DEFAULT, VALID_DEFAULT, "default", NOW, Directory(declared=(DeclaredPerson(None, frozenset({ADA})),))
    )  # fmt: skip

    def lacking(*approved: Decision, changes: set[ChangeClass]) -> dict[ChangeClass, int]:
        return approvals.judged(changes, terms, approved, digest="now", authors=["ada@acme.example"]).lacking

    assert lacking(changes={ChangeClass.TITLES, ChangeClass.ORDER}) == {}
    assert lacking(changes={ChangeClass.CREATE, ChangeClass.DELETE}) == {ChangeClass.CREATE: 1, ChangeClass.DELETE: 2}
    assert lacking(Decision(ADA, "now", every), changes={ChangeClass.CREATE}) == {}
    assert lacking(Decision(ADA, "now", every), Decision(LINUS, "now", every), changes={ChangeClass.DELETE}) == {ChangeClass.DELETE: 1}
    assert lacking(Decision(GRACE, "now", every), Decision(LINUS, "now", every), changes={ChangeClass.DELETE}) == {}
    assert lacking(Decision(GRACE, "before", every), Decision(LINUS, "now", every), changes={ChangeClass.DELETE}) == {ChangeClass.DELETE: 1}
    assert lacking(Decision(GRACE, "now", frozenset({ChangeClass.CREATE})), changes={ChangeClass.DELETE}) == {ChangeClass.DELETE: 2}


TODAY = NOW.date()
BROKEN = Concern(Sort.LINKS, "a/site/docs", "readers find nothing")


def ends(days: int) -> Concern:
    return Concern(Sort.EXPIRY, "a/saml/okta", "its certificate ends", TODAY + timedelta(days=days))


def word(checked: HealthReading | None, age: int = 60) -> HealthWord:
    return health.health(checked, NOW - timedelta(seconds=age), NOW, every=600).word


def test_only_a_fresh_reading_that_knows_everything_and_found_nothing_is_healthy() -> None:
    for broken, over, soon, gap, age in product((False, True), (False, True), (False, True), (False, True), (60, 1_900)):
        concerns = [BROKEN] * broken + [ends(-1)] * over + [ends(30)] * soon + [ends(31)]
        checked = HealthReading(tuple(concerns), ("nobody knows",) if gap else ())
        expected = (
            HealthWord.BROKEN if broken or over
            else HealthWord.UNKNOWN if gap or age > 1_800
            else HealthWord.WARNING if soon
            else HealthWord.HEALTHY
        )  # fmt: skip
        assert word(checked, age) is expected
        assert bool(health.health(checked, NOW - timedelta(seconds=age), NOW, every=600).sentences) == (expected is not HealthWord.HEALTHY)
        assert health.of_data(json.loads(json.dumps(health.as_data(checked)))) == checked
    assert word(None) is HealthWord.UNKNOWN
    assert health.health(HealthReading((ends(40),)), NOW, NOW, every=600, soon=41 * 86_400).word is HealthWord.WARNING


def test_of_many_concerns_what_is_broken_and_what_ends_first_is_kept_and_the_rest_counted() -> None:
    many = HealthReading((*(ends(days) for days in range(1_000, 0, -1)), BROKEN))
    kept = health.of_document(health.as_data(many))
    assert (kept.concerns[0], kept.concerns[1].until, len(kept.concerns) + kept.more) == (BROKEN, TODAY + timedelta(days=1), 1_001)
    assert health.health(kept, NOW, NOW, every=600).sentences[-1] == "and 801 more concerns"


def check(hours: float, *concerns: Concern, unread: tuple[str, ...] = ()) -> health.TimedCheck:
    made = NOW - timedelta(hours=hours)
    return health.TimedCheck(CheckResult("brokenLinks", at=made, requests=3, concerns=concerns, unread=unread), 86_400, "limits")


STALE = Concern(Sort.STALE, "a/space/b", "nobody changed 3 pages")
TOPIC = Concern(Sort.TOPICS, "a", "readers ask")


@pytest.mark.parametrize(
    ("made", "expected", "due"),
    [
        (check(1), HealthWord.HEALTHY, False),
        (check(25), HealthWord.HEALTHY, True),
        (check(49), HealthWord.UNKNOWN, True),
        (check(1, BROKEN), HealthWord.BROKEN, False),
        (check(1, STALE), HealthWord.WARNING, False),
        (check(1, TOPIC), HealthWord.HEALTHY, False),
        (check(1, unread=("403",)), HealthWord.UNKNOWN, True),
        (check(1, STALE, unread=("403",)), HealthWord.UNKNOWN, True),
    ],
)
def test_a_check_that_is_kept_counts_until_it_is_too_old(made: health.TimedCheck, expected: HealthWord, due: bool) -> None:
    checked = HealthReading(checks=(made,))
    assert word(checked) is expected
    assert made.is_due(NOW, "limits") is due
    assert made.is_due(NOW, "other limits")
    assert health.of_data(json.loads(json.dumps(health.as_data(checked)))) == checked
    assert health.of_document(health.as_data(checked)).checks == (made,)


def test_the_day_of_an_end_is_said_as_people_count() -> None:
    said = [health.sentence_of(ends(days), TODAY).removeprefix("a/saml/okta: its certificate ends") for days in (-1, 0, 1, 8)]
    assert said == [", which has passed", ", today", ", in 1 day", ", in 8 days"]
    assert isinstance(ends(1).until, date)
