"""A budget that many share: against a service that counts, in any order of events, never more is sent than is left."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings, strategies as st

from reconciler.fleet.budget import BudgetReport, TokenBudget, as_data, of_data, report, take


@dataclass
class Service:
    """Fixed windows of `seconds`, `size` requests each; it counts what arrives and refuses what is too much."""

    size: int
    seconds: int
    window: int = -1
    used: int = 0
    refused: int = 0
    counts: list[int] = field(default_factory=list)

    def answer(self, now: float) -> BudgetReport:
        if int(now // self.seconds) != self.window:
            self.window, self.used = int(now // self.seconds), 0
        over = self.used >= self.size
        self.refused += over
        self.used += not over
        reset = (self.window + 1) * self.seconds - now
        return BudgetReport(self.size, self.size - self.used, reset + 0.5, over)  # its clock has whole seconds: never too early


EVENTS = st.lists(st.tuples(st.sampled_from(["take", "arrive", "answer", "lose", "wait"]), st.integers(0, 7)), max_size=150)


@settings(max_examples=150)
@given(EVENTS, st.integers(1, 6))
def test_never_more_is_sent_than_the_service_has_left(events: list[tuple[str, int]], size: int) -> None:
    service, budget, now = Service(size, 10), TokenBudget(), 0.0
    sent: dict[str, BudgetReport | None] = {}  # under way: None, not arrived yet
    for number, (event, which) in enumerate(events):
        now += 0.01
        budget = of_data(as_data(budget))  # as it is stored
        chosen = list(sent)[which % len(sent)] if sent else None
        if event == "take":
            budget, wait = take(budget, "GET", str(number), now)
            if wait == 0.0:
                sent[str(number)] = None
        elif event == "arrive" and chosen is not None and sent[chosen] is None:
            sent[chosen] = service.answer(now)
        elif event == "answer" and chosen is not None and sent[chosen] is not None:
            budget = report(budget, chosen, sent.pop(chosen), now)
        elif event == "lose" and chosen is not None:
            if sent.pop(chosen) is None:
                service.answer(now)  # it arrived, and nobody heard
            budget = report(budget, chosen, None, now)
        elif event == "wait" and not sent:  # what is under way across a reset is counted by the window in which it arrives
            now += which
    assert service.refused == 0


def test_a_token_that_is_used_up_waits_for_the_reset_and_then_one_asks() -> None:
    budget, wait = take(TokenBudget(), "GET", "1", 0.0)
    assert wait == 0.0
    assert take(budget, "GET", "2", 0.0)[1] > 0  # nothing is known yet, and one is asking
    budget = report(budget, "1", BudgetReport(100, 1, 10.0), 1.0)
    budget, wait = take(budget, "GET", "2", 1.0)
    assert wait == 0.0
    assert take(budget, "GET", "3", 2.0)[1] == 9.0
    budget = report(budget, "2", BudgetReport(100, 0, 9.0), 2.0)
    budget, wait = take(budget, "GET", "3", 12.0)
    assert wait == 0.0
    assert take(budget, "GET", "4", 12.0)[1] > 0


def test_without_limits_nobody_waits() -> None:
    budget, _ = take(TokenBudget(), "GET", "1", 0.0)
    budget = report(budget, "1", BudgetReport(), 0.1)
    for number in range(50):
        budget, wait = take(budget, "GET", f"more{number}", 0.2)
        assert wait == 0.0
