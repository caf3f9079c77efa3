"""The nouns of a run as frozen data, no logic: Desired, Actual, State, Plan, Outcome and what they are made of.

Values appear in three forms. *Written*: as the YAML has them after validation, references being `Address` or `Foreign`. *Request*: what is
sent, and the only form that is compared; references are ids, or still an `Address` where the object does not exist yet. *Shown*: for
people. `UNSET` is absence everywhere; `None` is a value (`null`).
"""

from __future__ import annotations

from reconciler.model.access import (
    AccessTest as AccessTest,
    Demand as Demand,
    NamedReader as NamedReader,
    Pattern as Pattern,
    ReaderSort as ReaderSort,
)
from reconciler.model.actual import (
    Actual as Actual,
    Allowance as Allowance,
    Observed as Observed,
    ServiceSpeed as ServiceSpeed,
    Unknown as Unknown,
)
from reconciler.model.consent import Consent as Consent
from reconciler.model.desired import (
    ORDER as ORDER,
    Declared as Declared,
    Desired as Desired,
    ExpectedValue as ExpectedValue,
    Guards as Guards,
    Moved as Moved,
    Removed as Removed,
    Rules as Rules,
)
from reconciler.model.history import (
    JournalEntry as JournalEntry,
    RecordedRun as RecordedRun,
    RunStatus as RunStatus,
    StateChange as StateChange,
    What as What,
)
from reconciler.model.outcome import (
    Edited as Edited,
    Outcome as Outcome,
    StepResult as StepResult,
    StepStatus as StepStatus,
    Withheld as Withheld,
)
from reconciler.model.plan import (
    Action as Action,
    Blocked as Blocked,
    BrokenUrl as BrokenUrl,
    Cause as Cause,
    Change as Change,
    Delta as Delta,
    Exposure as Exposure,
    ForbiddenRequest as ForbiddenRequest,
    Forecast as Forecast,
    Plan as Plan,
    PlanCost as PlanCost,
    StateUpdate as StateUpdate,
    Step as Step,
    Unmanaged as Unmanaged,
    waiting as waiting,
)
from reconciler.model.policy import Exemption as Exemption, Policies as Policies, Policy as Policy
from reconciler.model.source import Source as Source
from reconciler.model.state import (
    Before as Before,
    Binding as Binding,
    Intent as Intent,
    Origin as Origin,
    Position as Position,
    State as State,
)
from reconciler.model.violation import (
    RULES as RULES,
    Concern as Concern,
    Edit as Edit,
    Finding as Finding,
    Fix as Fix,
    Ignore as Ignore,
    LintRule as LintRule,
    Severity as Severity,
    Sort as Sort,
    Violation as Violation,
    cause_of_rule as cause_of_rule,
)
