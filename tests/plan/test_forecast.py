"""What applying a plan takes, before anybody agrees to it."""

from __future__ import annotations

import pytest

from reconciler.model import Allowance, Forecast
from reconciler.plan.forecast import forecast
from reconciler.report.warnings import forecast_text
from tests.cli.conftest import Cli, cli  # noqa: F401  a fixture

PACE = 0.05  # seconds a request


def test_without_a_rate_limit_it_goes_as_fast_as_the_reading_did() -> None:
    assert forecast(60, 20, 20 * PACE, None) == Forecast(60, 40, pytest.approx(100 * PACE))
    assert forecast(60, 1, PACE, None) == Forecast(60, 2, pytest.approx(62 * PACE))


def test_what_the_limit_still_allows_does_not_wait() -> None:
    assert forecast(60, 20, 1.0, Allowance(1000, 100, 50.0)).held == 0.0


@pytest.mark.parametrize(("left", "windows"), [(99, 1), (1, 1), (0, 2), (50, 1)])
def test_what_it_does_not_waits_for_as_many_resets_as_it_needs(left: int, windows: int) -> None:
    ahead = forecast(60, 20, 1.0, Allowance(99, left, 50.0))
    assert ahead.seconds == 50.0 * windows
    assert ahead.held == pytest.approx(50.0 * windows - 5.0)


def test_nothing_to_send_takes_nothing() -> None:
    assert forecast(0, 20, 1.0, Allowance(10, 0, 50.0)) == Forecast(0, 0, 0.0)


def test_it_is_said_in_one_sentence() -> None:
    assert forecast_text(Forecast(1, 40, 0.2)) == "Apply needs 1 write and about 40 reads: about 1 s."
    assert forecast_text(Forecast(2000, 40, 600.0, 480.0)).endswith("about 10 min, 8 min of them waiting for the rate limit.")


def test_the_plan_tells_it_as_narration_and_as_data(cli: Cli) -> None:  # noqa: F811
    assert cli("init", "p", "--sandbox").exit_code == 0
    told = cli("plan", "p")
    assert " writes and about " in told.stderr
    assert "Apply needs" not in told.stdout
    ahead = cli.json("plan", "p")["forecast"]
    assert ahead["writes"] == cli.json("plan", "p")["summary"]["requests"] > 0
    assert ahead["reads"] > 0
    assert cli("apply", "p", "--yes").exit_code == 0
    assert cli.json("plan", "p")["forecast"] == {"writes": 0, "reads": 0, "seconds": 0.0, "held": 0.0}
