"""What the methods of a project return: frozen values that hold the model, and add its document, its text and its page.

In a notebook the page of `--report html=FILE` is shown in a frame of its own, so that neither changes how the other looks. Secrets are
masked, as in everything that a command prints. Pure.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from reconciler import exits
from reconciler.errors import Refused
from reconciler.features.access.report import access_document, access_sheet
from reconciler.features.access.review import Review
from reconciler.features.drift.accepted import LeftToPeople
from reconciler.features.drift.model import Drift, DriftGroup
from reconciler.features.drift.report.document import drift_document
from reconciler.features.drift.report.groups import DriftCommands
from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.features.health.model import HealthReport, HealthStatus
from reconciler.features.health.report import health_document, health_sheet
from reconciler.features.importer.project import ImportedProject
from reconciler.features.mcp.lookups import KnownObject
from reconciler.features.rehearsal.model import Rehearsal
from reconciler.features.rehearsal.page.page import page
from reconciler.features.rehearsal.report import rehearsal_document, rehearsal_sheet
from reconciler.features.testing.model import ProjectTestResult
from reconciler.features.testing.report import tests_document, tests_sheet
from reconciler.features.undo import Cannot, YamlLine
from reconciler.features.undo.document import undo_document
from reconciler.features.undo.session import UndoneRun
from reconciler.features.urls.model.ledger import UrlRecord
from reconciler.features.urls.report.ledger import record_line, urls_document
from reconciler.model import Blocked, Change, Exposure, Forecast, HeldChange, Outcome, Plan, RecordedRun
from reconciler.report.documents import outcome_document, plan_document
from reconciler.report.formats.html import html
from reconciler.report.layout import plain
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import Sheet, sheet_text
from reconciler.run.saved.plan_file import Saved
from reconciler.text.escape import as_json, log as escaped
from reconciler.text.masks import Masks
from reconciler.text.names import HERE


@dataclass(frozen=True, kw_only=True)
class CallResult(ABC):
    """What a call returned. `str(result)` is the text that the command prints.

    Attributes:
        made_at: When the call ended; with a time zone, UTC.
    """

    made_at: datetime
    masks: Masks = field(repr=False, compare=False)

    def as_document(self) -> dict[str, Any]:
        """The document that the command prints with `--format json`: texts, numbers, lists and dicts, of one of the published JSON Schemas
        ([documents](tools.md#schema-json-schemas))."""
        document: dict[str, Any] = json.loads(as_json(self.masks.data(self._document())))
        return document

    def __str__(self) -> str:
        return escaped(self.masks.text(plain(sheet_text(self._sheet()))))

    def _repr_html_(self) -> str:
        """The page that the command writes with `--report html=FILE`, for notebooks: it follows light and dark."""
        text = self.masks.text(self._page()).replace("&", "&amp;").replace('"', "&quot;")
        style = "width: 100%; height: 32rem; border: 0; resize: vertical"
        return f'<iframe title="{type(self).__name__}" srcdoc="{text}" style="{style}"></iframe>'

    @abstractmethod
    def _document(self) -> Mapping[str, Any]: ...

    @abstractmethod
    def _sheet(self) -> Sheet: ...

    def _page(self) -> str:
        return html(self._sheet(), created_at=self.made_at.astimezone(HERE))


@dataclass(frozen=True, kw_only=True)
class PlanResult(CallResult):
    """What an apply would change, and why.

    Attributes:
        model: The whole plan: `changes`, `steps`, `exposures`, `blocked`, `violations` and what else a plan says.
        forecast: How many requests applying it takes, and how many seconds.
        refusals: Why `apply` would refuse it with the limits that the project was opened with: a `Refused` for each guard. Empty if it
            would not.
    """

    model: Plan
    forecast: Forecast
    refusals: tuple[Refused, ...]
    saved: Callable[[], Saved] = field(repr=False, compare=False)

    @property
    def changes(self) -> tuple[Change, ...]:
        """A change for each address, in the order of reading: `address`, `action` in words (`"update, move"`), `fields`, `reason`. Empty if
        everything is as declared."""
        return self.model.changes

    @property
    def exposures(self) -> tuple[Exposure, ...]:
        """What would become public or lose a protection: `address`, `says` in words. Empty if nothing would."""
        return self.model.exposures

    @property
    def blocked(self) -> tuple[Blocked, ...]:
        """What cannot be changed: `address`, `reason`, `remedy`. `apply` does the rest."""
        return self.model.blocked

    @property
    def held(self) -> tuple[HeldChange, ...]:
        """What a guard refuses, with all that belongs to it, of a plan with `hold`: `address`, `actions`, `refused`. `apply` does the
        rest; `model.held.refusals` says why."""
        return self.model.held.changes

    @property
    def pending(self) -> bool:
        """Whether applying it changes anything, on the service or in the state."""
        return bool(self.model.pending)

    def _document(self) -> Mapping[str, Any]:
        return plan_document(self.model, created_at=self.made_at, forecast=self.forecast)

    def _sheet(self) -> Sheet:
        return plan_sheet(self.model, zone=HERE)


@dataclass(frozen=True, kw_only=True)
class ApplyResult(CallResult):
    """What an apply did.

    Attributes:
        model: The whole outcome: `plan`, `results` of each request, `run`, `leftover` and what else was found afterwards.
        code: The exit code with which the command would end: 0 if everything was done and read again, 5 if a part was not.
    """

    model: Outcome
    code: int

    @property
    def done(self) -> bool:
        """Whether everything was done, and read again as it was sent."""
        return self.code == exits.DONE

    @property
    def run(self) -> str:
        """The id of the run, for `undo`."""
        return self.model.run

    def _document(self) -> Mapping[str, Any]:
        return outcome_document(self.model)

    def _sheet(self) -> Sheet:
        return outcome_sheet(self.model)


@dataclass(frozen=True, kw_only=True)
class DriftResult(CallResult):
    """What was changed outside Reconciler since the last apply.

    Attributes:
        model: The whole drift: `resources`, `unmanaged`, `violations`, `exposures`, and what could not be read (`unread`, `unknown`).
        code: The exit code with which the command would end: 0 without drift, 2 with drift, 5 if something could not be read.
        commands: The command lines that its page shows; None with `":memory:"`, which no command reaches.
    """

    model: Drift
    code: int
    commands: DriftCommands | None = field(repr=False)

    @property
    def groups(self) -> tuple[DriftGroup, ...]:
        """What happened, the worst first: `id`, `drift_class`, `addresses`. Empty if nothing was changed."""
        return self.model.groups

    def _document(self) -> Mapping[str, Any]:
        return drift_document(self.model, self.commands)

    def _sheet(self) -> Sheet:
        return drift_sheet(self.model, zone=HERE, commands=self.commands)


@dataclass(frozen=True)
class AcceptResult:
    """What `accept` wrote into the files.

    Attributes:
        lines: A sentence for each value that was written. Empty if there was none.
        left: What no file can simply take in: `name`, `reason`, `way`. People decide about it.
    """

    lines: tuple[str, ...]
    left: tuple[LeftToPeople, ...] = ()

    def __str__(self) -> str:
        return "\n".join((*self.lines, *map(str, self.left)))


@dataclass(frozen=True, kw_only=True)
class AccessResult(CallResult):
    """Who can read what, now and after the plan.

    Attributes:
        model: The whole review: `rows`, one for each object, with its readers `before` and `after`; `people`, the same by name, where
            they were asked for; `violations`; `unknown`.
    """

    model: Review

    def _document(self) -> Mapping[str, Any]:
        return access_document(self.model, created_at=self.made_at)

    def _sheet(self) -> Sheet:
        return access_sheet(self.model, more="as_document()")


@dataclass(frozen=True, kw_only=True)
class RehearseResult(CallResult):
    """What applying the plan to a copy showed.

    Attributes:
        model: The whole rehearsal: `worst` moment (None if none is worse than the start), `gained` and `lost` readers, `dead` URLs,
            `refusals`, `failures`.
    """

    model: Rehearsal

    @property
    def as_planned(self) -> bool:
        """Whether everything went as the plan said."""
        return self.model.as_planned

    def _document(self) -> Mapping[str, Any]:
        return rehearsal_document(self.model)

    def _sheet(self) -> Sheet:
        return rehearsal_sheet(rehearsal_document(self.model))

    def _page(self) -> str:
        return page(rehearsal_document(self.model), self.model.preview, created_at=self.made_at.astimezone(HERE))


@dataclass(frozen=True, kw_only=True)
class UndoResult(CallResult):
    """What an undo did.

    Attributes:
        model: What was done: its `outcome`, and what it `changed` in the state.
        of: The run that was undone.
        cannot: What of it cannot be undone: `address`, `reason`.
    """

    model: UndoneRun
    of: RecordedRun
    cannot: tuple[Cannot, ...]

    @property
    def code(self) -> int:
        """The exit code with which the command would end: 0 if all of the run is undone, 5 if a part is not, 4 if nothing could be."""
        return self.model.code

    @property
    def lines(self) -> tuple[YamlLine, ...]:
        """The lines of the files that would repeat the run: `address`, `what`, `source`. Change them before the next apply."""
        return self.model.lines

    def _document(self) -> Mapping[str, Any]:
        return undo_document(self.of, self.model.outcome, self.model.changed or (), self.cannot, self.model.lines)

    def _sheet(self) -> Sheet:
        return outcome_sheet(self.model.outcome, not_applied=False)


@dataclass(frozen=True)
class ImportResult:
    """What the service has and the project does not declare, as files. Nothing was written or tracked.

    Attributes:
        model: The same as one value.
    """

    model: ImportedProject

    @property
    def files(self) -> Mapping[str, str]:
        """The changed and the new files: text by path, relative to the project. Empty if nothing is missing."""
        return self.model.files

    @property
    def missing(self) -> tuple[str, ...]:
        """A sentence for each object that could not be written or read."""
        return self.model.missing

    def __str__(self) -> str:
        return "\n".join([*(f"--- {path}\n{text}" for path, text in self.files.items()), *self.missing])


@dataclass(frozen=True)
class UrlsResult:
    """Published URLs, in their order.

    Attributes:
        records: Each time in which a page answered at a URL: `url`, `site`, `page`, `since` (UTC) and `ended`, None as long as it answers.
            Empty if none is recorded: an apply of a project with `urls:` records them.
    """

    records: tuple[UrlRecord, ...]

    def as_document(self) -> dict[str, Any]:
        """The document that `urls list --format json` prints."""
        document: dict[str, Any] = json.loads(as_json(urls_document(self.records)))
        return document

    def __str__(self) -> str:
        return _lines(record_line(record, HERE) for record in self.records)


@dataclass(frozen=True, kw_only=True)
class HealthResult(CallResult):
    """Whether the organization works for its readers.

    Attributes:
        model: The whole report: `checks`, each with its `concerns`.
    """

    model: HealthReport

    @property
    def word(self) -> HealthStatus:
        """`healthy`, or the word of the worst check."""
        return self.model.word

    def _document(self) -> Mapping[str, Any]:
        return health_document(self.model, created_at=self.made_at)

    def _sheet(self) -> Sheet:
        return health_sheet(self.model, zone=HERE, more="as_document()")


@dataclass(frozen=True, kw_only=True)
class TestResult(CallResult):
    """What the tests of a project found.

    Attributes:
        results: Each test: `name`, `source`, `passed`, and its `mismatches`.
        project: The name of the project.
    """

    __test__ = False  # not a test of pytest

    results: tuple[ProjectTestResult, ...]
    project: str

    @property
    def passed(self) -> bool:
        """Whether all tests passed."""
        return all(result.passed for result in self.results)

    def _document(self) -> Mapping[str, Any]:
        return tests_document(self.results, project=self.project)

    def _sheet(self) -> Sheet:
        return tests_sheet(self.results, project=self.project)


@dataclass(frozen=True)
class FindResult:
    """The objects that `find` found.

    Attributes:
        objects: Each with its `address`, `kind`, `title`, `readers`, `url` and `owners`, "" or () where it has none; `declared` is None if
            it is unmanaged, `living` None if it does not exist.
        others: A line for each unmanaged object that has no readers of its own, and so no address.
    """

    objects: tuple[KnownObject, ...]
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        return _lines((*(known.line for known in self.objects), *self.others))


def _lines(lines: Iterable[str]) -> str:
    return escaped("\n".join(lines))
