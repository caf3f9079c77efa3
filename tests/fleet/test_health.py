"""What was read of health becomes a word by its age and the day; missing is Unknown, and no concern is lost by being one of many."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from itertools import product

from reconciler.fleet import health
from reconciler.fleet.health import HealthReading, HealthWord
from reconciler.model import Concern, Sort

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
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
        made = health.health(checked, NOW - timedelta(seconds=age), NOW, every=600)
        assert bool(made.sentences) == (expected is not HealthWord.HEALTHY)
        assert health.of_data(json.loads(json.dumps(health.as_data(checked)))) == checked
    assert word(None) is HealthWord.UNKNOWN
    assert health.health(HealthReading((ends(40),)), NOW, NOW, every=600, soon=41 * 86_400).word is HealthWord.WARNING


def test_of_many_concerns_what_is_broken_and_what_ends_first_is_kept_and_the_rest_counted() -> None:
    many = HealthReading((*(ends(days) for days in range(1_000, 0, -1)), BROKEN))
    kept = health.of_document(health.as_data(many))
    assert (kept.concerns[0], kept.concerns[1].until, len(kept.concerns) + kept.more) == (BROKEN, TODAY + timedelta(days=1), 1_001)
    assert health.health(kept, NOW, NOW, every=600).sentences[-1] == "and 801 more concerns"


def test_the_day_of_an_end_is_said_as_people_count() -> None:
    said = [health.sentence_of(ends(days), TODAY).removeprefix("a/saml/okta: its certificate ends") for days in (-1, 0, 1, 8)]
    assert said == [", which is over", ", today", ", in 1 day", ", in 8 days"]
    assert isinstance(ends(1).until, date)
