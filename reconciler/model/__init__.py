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
from reconciler.model.health import (
    CheckResult as CheckResult,
    GoldenSearch as GoldenSearch,
    HealthChecks as HealthChecks,
    HealthReport as HealthReport,
    HealthStatus as HealthStatus,
)
from reconciler.model.listener import Listener as Listener
from reconciler.model.open_work import (
    OpenWork as OpenWork,
    WorkEffect as WorkEffect,
    WorkItem as WorkItem,
    WorkSort as WorkSort,
)
from reconciler.model.pages import (
    AnsweringUrls as AnsweringUrls,
    LinkingPage as LinkingPage,
    Page as Page,
    PageChange as PageChange,
    PageTree as PageTree,
    PageUrl as PageUrl,
    SiteUrls as SiteUrls,
    UrlGroup as UrlGroup,
    UrlReason as UrlReason,
    Variant as Variant,
)
from reconciler.model.plan import (
    WHEN_READ as WHEN_READ,
    Action as Action,
    Blocked as Blocked,
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
    waiting as waiting,
)
from reconciler.model.policy import (
    RULES as RULES,
    Concern as Concern,
    ConcernLevel as ConcernLevel,
    Edit as Edit,
    Exemption as Exemption,
    Finding as Finding,
    Fix as Fix,
    Ignore as Ignore,
    LintRule as LintRule,
    Policies as Policies,
    Policy as Policy,
    Severity as Severity,
    Sort as Sort,
    Source as Source,
    Violation as Violation,
    cause_of_rule as cause_of_rule,
)
from reconciler.model.redirects import (
    RECONCILER as RECONCILER,
    DeadUrl as DeadUrl,
    DeadUrls as DeadUrls,
    FormerUrl as FormerUrl,
    GoneUrls as GoneUrls,
    Moves as Moves,
    RecordedUrls as RecordedUrls,
    Redirect as Redirect,
    RedirectFile as RedirectFile,
    RedirectFormat as RedirectFormat,
    RedirectPlan as RedirectPlan,
    SiteRedirects as SiteRedirects,
    UrlSettings as UrlSettings,
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
