"""What applying a plan takes, before anybody agrees to it."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from reconciler.address import Address
from reconciler.model import Allowance, Desired, Forecast, Plan, PlanCost, ServiceSpeed, Step
from reconciler.plan.forecast import OWN_WORK, forecast, longest_path
from reconciler.report.plan import forecast_text
from tests.cli.conftest import Cli, applied_project, cli, initialised  # noqa: F401  a fixture
from tests.harness import kinds

COST = PlanCost(reads=20, reading=0.5, planning=0.25)
ANSWER = 0.64  # seconds: at 64 requests at the same time, a hundredth for each


def steps(number: int, *, chained: bool = False) -> tuple[Step, ...]:
    """Updates of so many spaces; each after the one before it, where they are chained."""
    spaces = (Address.parse(f"acme/space/s{id}") for id in range(1, number + 1))
    after = [frozenset({id}) if chained and id else frozenset[int]() for id in range(number)]
    return tuple(
        Step(id, address, "space", "update", "PATCH", ("spaces", f"spc_{id}"), after=after[id - 1]) for id, address in enumerate(spaces, 1)
    )


def ahead(
    some: tuple[Step, ...], *, answer: float = ANSWER, rate: float | None = None, allowance: Allowance | None = None, cost: PlanCost = COST
) -> Forecast:
    """What a plan of these steps takes, where the fastest answer takes a fourth of the average."""
    plan, desired = Plan("p", None, steps=some), Desired("p", None, {}, {}, frozenset())
    return forecast(kinds(), desired, plan, cost, ServiceSpeed(answer, answer / 4, 64, rate), allowance)


def test_an_apply_reads_and_plans_as_long_as_the_plan_did_and_plans_once_more_without_a_proof_at_the_end() -> None:
    assert ahead(steps(1)).seconds == pytest.approx(0.5 + 1.5 * 0.25 + ANSWER / 4 + ANSWER / 64)


def test_writes_that_do_not_wait_for_each_other_share_the_time_of_an_answer() -> None:
    assert ahead(steps(6400), cost=PlanCost(0, 0.0, 0.0)).seconds == pytest.approx(6401 * ANSWER / 64)


def test_writes_that_wait_for_each_other_take_at_least_the_fastest_answer_each() -> None:
    assert longest_path(steps(100, chained=True)) == 100
    assert longest_path(steps(100)) == 1
    seconds = ahead(steps(100, chained=True), cost=PlanCost(0, 0.0, 0.0)).seconds
    assert seconds == pytest.approx(100 * ANSWER / 4 + ANSWER / 64)


def test_a_service_that_answers_at_once_leaves_the_work_of_the_program() -> None:
    assert ahead(steps(1000), answer=0.0, cost=PlanCost(0, 0.0, 0.0)).seconds == pytest.approx(1001 * OWN_WORK)


def test_a_number_of_requests_a_second_is_kept() -> None:
    assert ahead(steps(999), rate=5.0, cost=PlanCost(0, 0.0, 0.0)).seconds == pytest.approx(200.0)


def test_what_the_limit_still_allows_does_not_wait() -> None:
    assert ahead(steps(60), allowance=Allowance(1000, 81, 50.0)).held == 0.0


@pytest.mark.parametrize(("left", "seconds"), [(80, 50.0), (1, 50.0), (0, 50.0), (None, 50.0 + 60.0)])
def test_what_it_does_not_waits_for_the_reset_and_then_for_whole_windows(left: int | None, seconds: float) -> None:
    limited = ahead(steps(60), allowance=Allowance(81 if left is not None else 80, left or 0, 50.0))  # 81 requests in all
    assert limited.seconds == pytest.approx(seconds)
    assert limited.held == pytest.approx(seconds - ahead(steps(60)).seconds)


@pytest.mark.parametrize(
    ("told", "window"), [(0.5, 1.0), (8.0, 10.0), (50.0, 60.0), (61.0, 60.0), (700.0, 900.0), (3000.0, 3600.0), (90_000.0, 90_000.0)]
)
def test_a_window_is_the_usual_one_that_the_longest_time_to_a_reset_fits_into(told: float, window: float) -> None:
    assert ahead(steps(60), allowance=Allowance(1, 0, 0.5, told)).seconds == pytest.approx(0.5 + 80 * window)


def test_nothing_to_send_takes_nothing() -> None:
    assert ahead((), allowance=Allowance(10, 0, 50.0)) == Forecast(0, 0, 0.0)


def test_it_is_said_in_one_sentence() -> None:
    assert forecast_text(Forecast(1, 40, 0.2)) == "Apply needs 1 write and about 40 reads: about 1 s."
    assert forecast_text(Forecast(2000, 40, 600.0, 480.0)).endswith("about 10 min, 8 min of them waiting for the rate limit.")
    assert forecast_text(Forecast(90_000, 40, 27_360.0)).endswith("about 7 h 36 min.")


def test_the_plan_tells_it_as_narration_and_as_data(cli: Cli) -> None:  # noqa: F811
    assert cli("init", "p", "--sandbox").exit_code == 0
    told = cli("plan", "p")
    assert " writes and about " in told.stderr
    assert "Apply needs" not in told.stdout
    shown = cli.json("plan", "p")["forecast"]
    assert shown["writes"] == cli.json("plan", "p")["summary"]["requests"] > 0
    assert shown["reads"] > 0
    assert cli("apply", "p", "--yes").exit_code == 0
    assert cli.json("plan", "p")["forecast"] == {"writes": 0, "reads": 0, "seconds": 0.0, "held": 0.0}


SPACES = "".join(f"          - {{space: s{number}, title: S{number}, duplicateOf: blank}}\n" for number in range(8))
REVERSED = "".join(reversed(SPACES.splitlines(keepends=True)))
GUIDES = "          - {space: guides, title: Guides, duplicateOf: blank}\n"


@pytest.mark.parametrize("case", ["first apply", "one title", "another order of a list"])
def test_the_forecast_has_the_requests_that_an_apply_sends(cli: Cli, case: str) -> None:  # noqa: F811
    if case == "first apply":
        initialised(cli)
    else:
        applied_project(cli)
    if case == "one title":
        cli.edit("p/reconciler.yaml", "title: API reference", "title: Reference")
    if case == "another order of a list":
        cli.edit("p/reconciler.yaml", GUIDES, GUIDES + SPACES)
        assert cli("apply", "p", "--yes").exit_code == 0
        cli.edit("p/reconciler.yaml", SPACES, REVERSED)
    shown = cli.json("plan", "p")["forecast"]
    applied = cli("apply", "p", "--yes", "-v", "--log-format", "json")
    assert applied.exit_code == 0
    events = [json.loads(line) for line in applied.stderr.splitlines()]
    sent = Counter(event["method"] == "GET" for event in events if event["event"] == "sending")
    assert shown["writes"] == sent[False]
    assert sent[True] / 2 <= shown["reads"] <= 2 * sent[True]
