"""The nouns of a run as frozen data, no logic: Desired, Actual, State, Plan, Outcome and what they are made of.

Values appear in three forms. *Written*: as the YAML has them after validation, references being `Address` or `Foreign`. *Request*: what is
sent, and the only form that is compared; references are ids, or still an `Address` where the object is not born yet. *Shown*: for people.
`UNSET` is absence everywhere; `None` is a value (`null`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.deferred import deferred

if TYPE_CHECKING:
    from reconciler.model.access import AccessTest, Demand, NamedReader, Pattern, ReaderSort
    from reconciler.model.actual import Actual, Observed, Unknown
    from reconciler.model.consent import Consent
    from reconciler.model.desired import Declared, Desired, Expected, Guards, Moved, Removed, Rules
    from reconciler.model.history import Entry, Run, RunStatus, Turn, What
    from reconciler.model.outcome import Edited, Outcome, Result, Status, Withheld
    from reconciler.model.plan import (
        Action,
        Allowance,
        Blocked,
        BrokenUrl,
        Cause,
        Change,
        Delta,
        Exposure,
        Forbidden,
        Forecast,
        Memory,
        Plan,
        Spot,
        Step,
        Unmanaged,
        waiting,
    )
    from reconciler.model.policy import Exemption, Policies, Policy
    from reconciler.model.source import Source
    from reconciler.model.state import Before, Binding, Intent, Origin, Place, State, Stood
    from reconciler.model.violation import RULES, Concern, Edit, Finding, Fix, Ignore, Rule, Severity, Sort, Violation, cause_of_rule

__all__ = [
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
    "Entry",
    "Exemption",
    "Expected",
    "Exposure",
    "Finding",
    "Fix",
    "Forbidden",
    "Forecast",
    "Guards",
    "Ignore",
    "Intent",
    "Memory",
    "Moved",
    "NamedReader",
    "Observed",
    "Origin",
    "Outcome",
    "Pattern",
    "Place",
    "Plan",
    "Policies",
    "Policy",
    "ReaderSort",
    "Removed",
    "Result",
    "Rule",
    "Rules",
    "Run",
    "RunStatus",
    "Severity",
    "Sort",
    "Source",
    "Spot",
    "State",
    "Status",
    "Step",
    "Stood",
    "Turn",
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
            "actual": "Actual Observed Unknown",
            "consent": "Consent",
            "desired": "Declared Desired Expected Guards Moved Removed Rules",
            "history": "Entry Run RunStatus Turn What",
            "outcome": "Edited Outcome Result Status Withheld",
            "plan": (
                "Action Allowance Blocked BrokenUrl Cause Change Delta Exposure Forbidden Forecast Memory Plan Spot Step Unmanaged waiting"
            ),
            "policy": "Exemption Policies Policy",
            "source": "Source",
            "state": "Before Binding Intent Origin Place State Stood",
            "violation": "RULES Concern Edit Finding Fix Ignore Rule Severity Sort Violation cause_of_rule",
        },
    )
