"""What an apply did, as people read it."""

from __future__ import annotations

from reconciler.model import Action, Blocked, Edited, Plan, StepStatus
from reconciler.report.layout import plain
from reconciler.report.outcome import summary
from tests.report.made import at, change, outcome, outcome_text, plan, result

DONE = result(1, "acme/team/a", StepStatus.DONE)


def test_a_run_that_went_well_is_one_line() -> None:
    assert plain(outcome_text(outcome(*[DONE] * 23))) == "Applied 23 requests. The plan is now empty.\n"


def test_every_step_that_did_not_end_well_is_named_with_its_reason() -> None:
    made = outcome(
        DONE,
        result(2, "acme/site/docs", StepStatus.FAILED, "POST /orgs/org_acme/sites: 400 title is too short", verb="create"),
        result(3, "acme/site/docs/section/a", StepStatus.SKIPPED, "requires step 2 (acme/site/docs)", verb="create"),
        result(4, "acme/team/b", StepStatus.IN_DOUBT, "the connection broke", verb="create"),
        notes=("acme: the service keeps logo as 'x'",),
    )
    assert plain(outcome_text(made)) == (
        """\
acme/site/docs
  ! failed      create: POST /orgs/org_acme/sites: 400 title is too short
acme/site/docs/section/a
  . skipped     create: requires step 2 (acme/site/docs)
acme/team/b
  ? in doubt    create: the connection broke
acme: the service keeps logo as 'x'

Applied 1 of 4 requests: 1 failed, 1 in doubt, 1 skipped. The next apply resolves the requests in
doubt. Run it again to continue.
"""
    )


def test_what_is_left_is_never_called_empty() -> None:
    blocked = Plan("p", None, blocked=(Blocked(at("acme/site/docs"), "r", "m", id="RC-waits"),))
    assert summary(outcome(DONE, plan=blocked)) == "Applied 1 request. Left: 1 blocked."
    deferred = Plan("p", None, deferred={at("acme/site/docs"): "r"})
    assert summary(outcome(DONE, plan=deferred)) == "Applied 1 request. 1 resource left for a second run: apply again."
    assert summary(outcome(DONE, leftover=(at("acme"),))) == "Applied 1 request. 1 resource not as declared yet: plan again."


def test_an_interrupted_run_says_so_first() -> None:
    made = outcome(DONE, result(2, "acme/team/b", StepStatus.SKIPPED, "interrupted"), stopped="interrupted")
    assert summary(made) == "Interrupted. Applied 1 of 2 requests: 1 skipped. Run it again to continue."


def test_changes_of_the_state_alone_take_no_request() -> None:
    assert summary(outcome(plan=plan(change("acme/team/x", Action.ADOPT)))) == "Applied without any requests. The plan is now empty."
    assert summary(outcome()) == "Nothing to apply. The plan is now empty."


def test_foreign_changes_are_reported_by_address_and_field_and_not_as_a_failure() -> None:
    made = outcome(
        DONE,
        result(2, "acme/team/b", StepStatus.STALE, "title was 'B' and is now 'C'"),
        edited=(
            Edited(at("acme/space/one"), "title", "One", "Uno"),
            Edited(at("acme/space/one"), "secret", "a", "b", sensitive=True),
            Edited(at("acme/space/two"), None, says="was deleted; it can be restored"),
        ),
        unverified=(at("acme/team/a"),),
    )
    assert plain(outcome_text(made)) == (
        """\
acme/team/b
  ≠ stale       update: title was 'B' and is now 'C'
acme/space/one                           changed by somebody else during the run
  ~ title       One -> Uno
  ~ secret      (sensitive)
acme/space/two                           changed by somebody else during the run
  ~ differs     was deleted; it can be restored
acme/team/a
  ? not checked  it was written and could not be read again

Applied 1 of 2 requests: 1 stale. Somebody else changed 2 resources during the run: plan again. Run
it again to continue.
"""
    )
