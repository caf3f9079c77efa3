"""The nouns of a run as frozen data, no logic: Desired, Actual, State, Plan, Outcome and what they are made of.

Values appear in three forms. *Written*: as the YAML has them after validation, references being `Address` or `Foreign`. *Request*: what is
sent, and the only form that is compared; references are ids, or still an `Address` where the object does not exist yet. *Shown*: for
people. `UNSET` is absence everywhere; `None` is a value (`null`).
"""

from __future__ import annotations

from reconciler.model.access import AccessTest as AccessTest
from reconciler.model.access import Demand as Demand
from reconciler.model.access import NamedReader as NamedReader
from reconciler.model.access import Pattern as Pattern
from reconciler.model.access import ReaderSort as ReaderSort
from reconciler.model.actual import Actual as Actual
from reconciler.model.actual import Allowance as Allowance
from reconciler.model.actual import Observed as Observed
from reconciler.model.actual import ServiceSpeed as ServiceSpeed
from reconciler.model.actual import Unknown as Unknown
from reconciler.model.consent import Consent as Consent
from reconciler.model.desired import ORDER as ORDER
from reconciler.model.desired import Declared as Declared
from reconciler.model.desired import Desired as Desired
from reconciler.model.desired import ExpectedValue as ExpectedValue
from reconciler.model.desired import Guards as Guards
from reconciler.model.desired import Moved as Moved
from reconciler.model.desired import Removed as Removed
from reconciler.model.desired import Rules as Rules
from reconciler.model.history import JournalEntry as JournalEntry
from reconciler.model.history import RecordedRun as RecordedRun
from reconciler.model.history import RunStatus as RunStatus
from reconciler.model.history import StateChange as StateChange
from reconciler.model.history import What as What
from reconciler.model.outcome import Edited as Edited
from reconciler.model.outcome import Outcome as Outcome
from reconciler.model.outcome import StepResult as StepResult
from reconciler.model.outcome import StepStatus as StepStatus
from reconciler.model.outcome import Withheld as Withheld
from reconciler.model.plan import Action as Action
from reconciler.model.plan import Blocked as Blocked
from reconciler.model.plan import BrokenUrl as BrokenUrl
from reconciler.model.plan import Cause as Cause
from reconciler.model.plan import Change as Change
from reconciler.model.plan import Delta as Delta
from reconciler.model.plan import Exposure as Exposure
from reconciler.model.plan import ForbiddenRequest as ForbiddenRequest
from reconciler.model.plan import Forecast as Forecast
from reconciler.model.plan import Plan as Plan
from reconciler.model.plan import PlanCost as PlanCost
from reconciler.model.plan import StateUpdate as StateUpdate
from reconciler.model.plan import Step as Step
from reconciler.model.plan import Unmanaged as Unmanaged
from reconciler.model.plan import waiting as waiting
from reconciler.model.policy import Exemption as Exemption
from reconciler.model.policy import Policies as Policies
from reconciler.model.policy import Policy as Policy
from reconciler.model.source import Source as Source
from reconciler.model.state import Before as Before
from reconciler.model.state import Binding as Binding
from reconciler.model.state import Intent as Intent
from reconciler.model.state import Origin as Origin
from reconciler.model.state import Position as Position
from reconciler.model.state import State as State
from reconciler.model.violation import RULES as RULES
from reconciler.model.violation import Concern as Concern
from reconciler.model.violation import Edit as Edit
from reconciler.model.violation import Finding as Finding
from reconciler.model.violation import Fix as Fix
from reconciler.model.violation import Ignore as Ignore
from reconciler.model.violation import LintRule as LintRule
from reconciler.model.violation import Severity as Severity
from reconciler.model.violation import Sort as Sort
from reconciler.model.violation import Violation as Violation
from reconciler.model.violation import cause_of_rule as cause_of_rule
