"""A service that stores something else than it was sent: the run says so, the journal shows it, and `expect` is compared with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reconciler.model import Outcome
from reconciler.plan.changes import Names
from reconciler.report.history import run_document, run_text
from tests.harness import ORGANIZATION, kinds
from tests.odd import OddOrg, texts, trimmed
from tests.undo.undoing import entries, runs

KEPT = "acme/team/writers: the service keeps title as 'Writers'"


def writers(title: str) -> dict[str, Any]:
    return {"teams": {"writers": {"title": title}}}


def altered(outcome: Outcome) -> list[str]:
    return [note for note in outcome.notes if "the service keeps" in note]


def test_a_create_says_what_the_service_made_of_it_once(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=texts(trimmed))
    org.write(writers("Writers "))
    outcome = org.apply()
    assert altered(outcome) == [KEPT]
    assert outcome.went_through
    assert org.plan().empty
    assert org.apply().notes == ()


def test_an_update_says_the_same(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=texts(trimmed))
    org.write(writers("Authors"))
    assert altered(org.apply()) == []
    org.write(writers("Writers "))
    assert altered(org.apply()) == [KEPT]
    assert org.plan().empty


def test_an_answer_that_shows_nothing_is_compared_with_the_next_reading(tmp_path: Path) -> None:
    def without_title(path: str, data: bytes) -> bytes:
        created = path.endswith("/sites") and b'"items"' not in data
        return data.replace(b'"title"', b'"hidden"') if created else data

    org = OddOrg(tmp_path, alter=texts(trimmed), answer=without_title)
    org.write({"sites": {"docs": {"title": "Documentation "}}})
    assert altered(org.apply()) == ["acme/site/docs: the service keeps title as 'Documentation'"]
    assert org.plan().empty


def test_the_journal_shows_both_values(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=texts(trimmed))
    org.write(writers("Writers "))
    org.apply()
    run = runs(org)[0]
    text = "".join(span.text for span in run_text(run, entries(org, run.id), (), kinds(), Names(), width=120))
    assert "the service keeps Writers" in text
    (step,) = run_document(run, entries(org, run.id), (), kinds(), Names())["steps"]
    assert [field for field in step["fields"] if field["name"] == "title"] == [
        {"name": "title", "before": None, "after": "Writers ", "kept": "Writers"}
    ]


def test_a_drift_after_an_altered_create_is_a_drift(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=texts(trimmed))
    org.write(writers("Writers "))
    org.apply()
    org.call("PATCH", f"/orgs/{ORGANIZATION}/teams/{org.id('acme/team/writers')}", {"title": "Others"})
    assert [step.verb for step in org.plan().steps] == ["update"]


def test_an_expected_value_that_comes_back_different_is_left_over(tmp_path: Path) -> None:
    org = OddOrg(tmp_path, alter=lambda body: {**body, "title": "Other"} if "title" in body else body)
    org.write({"sites": {"docs": {"title": "Documentation", "expect": {"basename": "documentation"}}}})
    outcome = org.apply()
    assert [str(address) for address in outcome.leftover] == ["acme/site/docs"]
    assert [note for note in outcome.notes if "expect.basename is documentation, but the service has other" in note]
