"""The nouns of a run as frozen data, no logic: Desired, Actual, State, Plan, Outcome and what they are made of.

Values appear in three forms. *Written*: as the YAML has them after validation, references being `Address` or `Foreign`. *Request*: what is
sent, and the only form that is compared; references are ids, or still an `Address` where the object does not exist yet. *Shown*: for
people. `UNSET` is absence everywhere; `None` is a value (`null`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.deferred import deferred

if TYPE_CHECKING:
    from reconciler.model.access import AccessTest, Demand, NamedReader, Pattern, ReaderSort
    from reconciler.model.actual import Actual, Allowance, Observed, ServiceSpeed, Unknown
    from reconciler.model.consent import Consent
    from reconciler.model.desired import ORDER, Declared, Desired, ExpectedValue, Guards, Moved, Removed, Rules
    from reconciler.model.history import JournalEntry, RecordedRun, RunStatus, StateChange, What
    from reconciler.model.outcome import Edited, Outcome, StepResult, StepStatus, Withheld
    from reconciler.model.plan import (
        Action,
        Blocked,
        BrokenUrl,
        Cause,
        Change,
        Delta,
        Exposure,
        ForbiddenRequest,
        Forecast,
        Plan,
        PlanCost,
        SiblingSpot,
        StateUpdate,
        Step,
        Unmanaged,
        waiting,
    )
    from reconciler.model.policy import Exemption, Policies, Policy
    from reconciler.model.source import Source
    from reconciler.model.state import Before, Binding, Intent, Origin, SiblingPlace, SiblingPosition, State
    from reconciler.model.violation import RULES, Concern, Edit, Finding, Fix, Ignore, LintRule, Severity, Sort, Violation, cause_of_rule

__all__ = [
    "ORDER",
    "RULES",
    "AccessTest",
    "Action",
    "Actual",
    "Allowance",
    "Before",
    "Binding",
    "Blocked",
    "BrokenUrl",
    "Cause",
    "Change",
    "Concern",
    "Consent",
    "Declared",
    "Delta",
    "Demand",
    "Desired",
    "Edit",
    "Edited",
    "Exemption",
    "ExpectedValue",
    "Exposure",
    "Finding",
    "Fix",
    "ForbiddenRequest",
    "Forecast",
    "Guards",
    "Ignore",
    "Intent",
    "JournalEntry",
    "LintRule",
    "Moved",
    "NamedReader",
    "Observed",
    "Origin",
    "Outcome",
    "Pattern",
    "Plan",
    "PlanCost",
    "Policies",
    "Policy",
    "ReaderSort",
    "RecordedRun",
    "Removed",
    "Rules",
    "RunStatus",
    "ServiceSpeed",
    "Severity",
    "SiblingPlace",
    "SiblingPosition",
    "SiblingSpot",
    "Sort",
    "Source",
    "State",
    "StateChange",
    "StateUpdate",
    "Step",
    "StepResult",
    "StepStatus",
    "Unknown",
    "Unmanaged",
    "Violation",
    "What",
    "Withheld",
    "cause_of_rule",
    "waiting",
]

if not TYPE_CHECKING:
    __getattr__ = deferred(
        __name__,
        {
            "access": "AccessTest Demand NamedReader Pattern ReaderSort",
            "actual": "Actual Allowance Observed ServiceSpeed Unknown",
            "consent": "Consent",
            "desired": "ORDER Declared Desired ExpectedValue Guards Moved Removed Rules",
            "history": "JournalEntry RecordedRun RunStatus StateChange What",
            "outcome": "Edited Outcome StepResult StepStatus Withheld",
            "plan": (
                "Action Blocked BrokenUrl Cause Change Delta Exposure ForbiddenRequest Forecast Plan PlanCost "
                "SiblingSpot StateUpdate Step Unmanaged waiting"
            ),
            "policy": "Exemption Policies Policy",
            "source": "Source",
            "state": "Before Binding Intent Origin SiblingPlace SiblingPosition State",
            "violation": "RULES Concern Edit Finding Fix Ignore LintRule Severity Sort Violation cause_of_rule",
        },
    )
