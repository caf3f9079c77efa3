"""The nouns of a run as frozen data, no logic: Desired, Actual, State, Plan, Outcome and what they are made of.

Values appear in three forms. *Written*: as the YAML has them after validation, references being `Address` or `Foreign`. *Request*: what is
sent, and the only form that is compared; references are ids, or still an `Address` where the object does not exist yet. *Shown*: for
people. `UNSET` is absence everywhere; `None` is a value (`null`).
"""

from __future__ import annotations

from reconciler.model.actual import (
    Actual as Actual,
    Allowance as Allowance,
    Observed as Observed,
    ServiceSpeed as ServiceSpeed,
    Unknown as Unknown,
)
from reconciler.model.desired import (
    OPEN_WORK as OPEN_WORK,
    ORDER as ORDER,
    AccessTest as AccessTest,
    DeadUrls as DeadUrls,
    Declared as Declared,
    Demand as Demand,
    Desired as Desired,
    ExpectedValue as ExpectedValue,
    Guards as Guards,
    Moved as Moved,
    NamedReader as NamedReader,
    Pattern as Pattern,
    ReaderSort as ReaderSort,
    Removed as Removed,
    Rules as Rules,
)
from reconciler.model.findings import (
    Edit as Edit,
    Finding as Finding,
    Fix as Fix,
    Severity as Severity,
    Source as Source,
    Violation as Violation,
)
from reconciler.model.left_alone import (
    Blocked as Blocked,
    HeldChange as HeldChange,
    HeldPart as HeldPart,
    HeldRefusal as HeldRefusal,
    waiting as waiting,
)
from reconciler.model.listener import Listener as Listener
from reconciler.model.plan import (
    WHEN_READ as WHEN_READ,
    Action as Action,
    BrokenUrl as BrokenUrl,
    Cause as Cause,
    Change as Change,
    Delta as Delta,
    Edited as Edited,
    Exposure as Exposure,
    ForbiddenRequest as ForbiddenRequest,
    Forecast as Forecast,
    Outcome as Outcome,
    Plan as Plan,
    PlanCost as PlanCost,
    SavedPlanCheck as SavedPlanCheck,
    StateUpdate as StateUpdate,
    Step as Step,
    StepResult as StepResult,
    StepStatus as StepStatus,
    Unmanaged as Unmanaged,
)
from reconciler.model.state import (
    Before as Before,
    Binding as Binding,
    Consent as Consent,
    Intent as Intent,
    JournalEntry as JournalEntry,
    Origin as Origin,
    Position as Position,
    RecordedRun as RecordedRun,
    RunStatus as RunStatus,
    State as State,
    StateChange as StateChange,
    What as What,
    renamed_with_containers as renamed_with_containers,
)
