"""The shared types of a fleet: projects, generators, references. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from enum import StrEnum
from typing import Any, Final, Literal

from reconciler.config.source.nodes import Map
from reconciler.model import Source

EVERY_DEFAULT: Final = 600  # seconds
VALID_DEFAULT: Final = 7 * 86_400  # seconds
TENANT_DEFAULT: Final = "default"


class Mode(StrEnum):
    """How far a run goes."""

    WATCH = "watch"  # plans, and updates the status
    PLAN = "plan"  # stores the plan too
    APPLY = "apply"  # applies what needs no approval


class ChangeClass(StrEnum):
    """A class of change that approvals refer to."""

    TITLES = "titles"
    ORDER = "order"
    UPDATE = "update"
    CREATE = "create"
    DELETE = "delete"
    REPLACE = "replace"
    EXPOSURE = "exposure"


class Approval(StrEnum):
    """The people who must approve a class of change."""

    AUTO = "auto"
    ONE = "one"
    TWO = "two"


APPROVALS_DEFAULT: Final[Mapping[ChangeClass, Approval]] = {
    ChangeClass.TITLES: Approval.AUTO,
    ChangeClass.ORDER: Approval.AUTO,
    ChangeClass.UPDATE: Approval.AUTO,
    ChangeClass.CREATE: Approval.ONE,
    ChangeClass.DELETE: Approval.TWO,
    ChangeClass.REPLACE: Approval.TWO,
    ChangeClass.EXPOSURE: Approval.TWO,
}


class RehearsalRule(StrEnum):
    """Whether a plan must be rehearsed before somebody approves it."""

    OPTIONAL = "optional"
    REQUIRED = "required"


class Event(StrEnum):
    """An event of a project that people can be notified of."""

    OUT_OF_SYNC = "outOfSync"
    UNKNOWN = "unknown"
    FAILED = "failed"
    NEEDS_APPROVAL = "needsApproval"
    APPLIED = "applied"
    UNHEALTHY = "unhealthy"
    RECOVERED = "recovered"


@dataclass(frozen=True)
class SecretReference:
    """Where a secret is: the name of an environment variable, or the path of a file. Never the secret."""

    kind: Literal["env", "file"]
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def of(cls, text: str) -> SecretReference:
        """The reference from its text."""
        kind, _, name = text.partition(":")
        return cls("env" if kind == "env" else "file", name)


@dataclass(frozen=True)
class Repository:
    """A folder of a git repository at a branch, a tag or a commit."""

    git: str
    ref: str = "HEAD"
    path: str = "."


@dataclass(frozen=True)
class Window:
    """When changes may be applied: on these days (0 is Monday) from one time of day to another, which may be after midnight."""

    days: tuple[int, ...]
    opens: time
    closes: time
    zone: str = "UTC"


@dataclass(frozen=True)
class FleetProject:
    """One project of the fleet. `project`: the project names that its files may have, and so the states that it may use: a name, or a
    prefix and `*`; "" for none. `every`: seconds from one run to the next. `state`: None for the fleet's own database.
    `valid_for`: seconds for which an approval counts. `origin`: the generator that it comes from, "" for none. `sops`: variables of the
    environment of the sops command. `rules_from`: the ref whose rules judge it, "" for its own. `at`: its place in fleet.yaml."""

    name: str
    source: Repository
    base_url: str
    token: SecretReference
    project: str = ""
    state: SecretReference | None = None
    environment: str | None = None
    every: int = EVERY_DEFAULT
    mode: Mode = Mode.WATCH
    revert_drift: bool = False
    hold: bool = False
    windows: tuple[Window, ...] = ()
    approvals: Mapping[ChangeClass, Approval] = field(default_factory=lambda: APPROVALS_DEFAULT)
    tenant: str = TENANT_DEFAULT
    valid_for: int = VALID_DEFAULT
    vars: Mapping[str, str] = field(default_factory=dict)
    secret_vars: Mapping[str, SecretReference] = field(default_factory=dict)
    sops: Mapping[str, SecretReference] = field(default_factory=dict)
    wave: int = 0
    origin: str = ""
    rules_from: str = ""
    rehearse: RehearsalRule = RehearsalRule.OPTIONAL
    at: Source = field(default=Source("fleet.yaml", 0, 0), compare=False)

    @property
    def selecting(self) -> list[str]:
        """The options with which every command reads this project as the fleet does."""
        environment = ["--env", self.environment] if self.environment is not None else []
        return [
            "--base-url",
            self.base_url,
            *environment,
            *(word for key, value in self.vars.items() for word in ("--var", f"{key}={value}")),
        ]


Sort = Literal["list", "directories", "organizations"]


@dataclass(frozen=True)
class Generator:
    """Projects from a template. `number`: its position in the file, from 1. `elements`: those of a list; `repository`: directories matching
    its path are the elements; `token` and `base_url`: the organizations visible to the token are the elements, and `match` their titles
    or ids."""

    number: int
    sort: Sort
    at: Source
    template: Map
    elements: tuple[Mapping[str, str], ...] = ()
    repository: Repository | None = None
    token: SecretReference | None = None
    base_url: str | None = None
    match: str = "*"

    @property
    def name(self) -> str:
        return f"generator {self.number} ({self.sort})"


@dataclass(frozen=True)
class Fleet:
    """A fleet file. `defaults`: the map that every project and template extends. `settings`: roles and notifications as JSON: references,
    never secrets."""

    projects: tuple[FleetProject, ...]
    generators: tuple[Generator, ...]
    defaults: Map | None = None
    soak: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Quarantine:
    """Changes that were undone, and wait for a person. `commit`: the one applied before the undo. `undone_by`: the run of `undo`. `at`:
    None if it is not stored yet."""

    commit: str
    addresses: tuple[str, ...]
    undone_by: str
    at: datetime | None = None
    id: int = 0


@dataclass(frozen=True)
class AuditRecord:
    """A line of the audit log. `action`: a verb, such as `approve`. `project`: its name, None for the whole fleet. `details`:
    JSON values without secrets."""

    person: str
    action: str
    project: str | None = None
    tenant: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    id: int = 0
    at: datetime | None = None


def as_data(project: FleetProject) -> dict[str, Any]:
    """A project as JSON, the form in which it is stored and compared."""
    return {
        "name": project.name,
        "source": {"git": project.source.git, "ref": project.source.ref, "path": project.source.path},
        "baseUrl": project.base_url,
        "token": str(project.token),
        "project": project.project,
        "state": str(project.state) if project.state is not None else None,
        "environment": project.environment,
        "every": project.every,
        "mode": project.mode.value,
        "revertDrift": project.revert_drift,
        "windows": [
            {"days": list(window.days), "opens": window.opens.isoformat(), "closes": window.closes.isoformat(), "zone": window.zone}
            for window in project.windows
        ],
        "approvals": {change.value: approval.value for change, approval in project.approvals.items()},
        "tenant": project.tenant,
        "validFor": project.valid_for,
        "vars": dict(project.vars),
        "secretVars": {name: str(secret) for name, secret in project.secret_vars.items()},
        "sops": {name: str(secret) for name, secret in project.sops.items()},
        "wave": project.wave,
        "origin": project.origin,
        "rulesFrom": project.rules_from,
        "rehearse": project.rehearse.value,
        "hold": project.hold,
    }


def of_data(data: Mapping[str, Any]) -> FleetProject:
    """The project in that JSON. Without `project`, as older versions stored it, the operator's own names are allowed."""
    return FleetProject(
        name=data["name"],
        source=Repository(**data["source"]),
        base_url=data["baseUrl"],
        token=SecretReference.of(data["token"]),
        project=data.get("project", data["name"] if data["origin"] == "" or data["origin"].endswith("(list)") else ""),
        state=SecretReference.of(data["state"]) if data["state"] is not None else None,
        environment=data["environment"],
        every=data["every"],
        mode=Mode(data["mode"]),
        revert_drift=data["revertDrift"],
        windows=tuple(
            Window(tuple(window["days"]), time.fromisoformat(window["opens"]), time.fromisoformat(window["closes"]), window["zone"])
            for window in data["windows"]
        ),
        approvals={ChangeClass(change): Approval(approval) for change, approval in data["approvals"].items()},
        tenant=data["tenant"],
        valid_for=data.get("validFor", VALID_DEFAULT),
        vars=data["vars"],
        secret_vars={name: SecretReference.of(secret) for name, secret in data.get("secretVars", {}).items()},
        sops={name: SecretReference.of(secret) for name, secret in data.get("sops", {}).items()},
        wave=data["wave"],
        origin=data["origin"],
        rules_from=data.get("rulesFrom", ""),
        rehearse=RehearsalRule(data.get("rehearse", RehearsalRule.OPTIONAL.value)),
        hold=data.get("hold", False),
    )
