"""Every error, problem and warning has the id of its cause, and every id has a page of cause and remedy."""

from __future__ import annotations

from pathlib import Path

from reconciler.errors import ReconcilerError
from reconciler.model.lint import RULES
from reconciler.text.pages import pages
from tests.causes import walk

RECORDED = Path(__file__).parent / "ids.txt"


def test_every_report_to_a_user_has_the_id_of_its_cause() -> None:
    assert [call[:2] for call in walk.calls() if not walk.is_cause(call.id)] == []


def test_every_class_of_error_is_looked_at() -> None:
    def below(kind: type) -> set[str]:
        return {kind.__name__}.union(*map(below, kind.__subclasses__()))

    assert below(ReconcilerError) - walk.REPORTS == {"ConfigError"}  # which has an id for each of its problems


def test_every_id_has_a_page_and_every_page_an_id() -> None:
    assert walk.literals() | {f"RC-{rule}" for rule in RULES} == set(pages())


def test_no_id_is_ever_removed() -> None:
    recorded = RECORDED.read_text(encoding="utf-8").split()
    assert recorded == sorted(pages()), "add new ids to tests/causes/ids.txt; an id that was released stays, with its page"


def test_no_cause_has_a_name_that_says_nothing() -> None:
    empty = {"error", "other", "unknown", "misc", "general", "failure", "invalid", "problem", "generic"}
    assert {id for id in pages() if set(id.lower().split("-")[1:]) <= empty} == set()


def test_no_two_pages_say_the_same() -> None:
    summaries = [page.summary for page in pages().values()]
    assert len(summaries) == len(set(summaries))
    assert len({page.why + page.remedy for page in pages().values()}) == len(summaries)
