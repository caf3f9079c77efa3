"""The paths of the pages, for the routes and the templates.

A link begins with the path below which this request came, as with the script prefix of other frameworks: `to`, and each function here. The
constants are what routes see. Pure but for that prefix, which the server sets for a request.
"""

from __future__ import annotations

from contextvars import ContextVar
from datetime import date
from typing import Final, Literal
from urllib.parse import quote

LIST: Final = "/"
OVERVIEW: Final = "/overview"
FIGURES: Final = "/overview/figures"  # the part of the overview that is updated by events
CALENDAR: Final = "/calendar"
AUDIT: Final = "/audit"
AUDIT_EXPORT: Final = "/audit.jsonl"
LOGIN: Final = "/login"
LOGIN_START: Final = "/login/start"  # leads to the OIDC provider
LOGOUT: Final = "/logout"
EVENTS: Final = "/events"  # server-sent events named `changed`, whose data is not needed; at most one in 5 seconds
STATIC: Final = "/static/"
RUNS: Final = "/runs/"  # and the id of a run in the fleet, which logs and the audit log name

ROOT: ContextVar[str] = ContextVar("root", default="")
"""The path below which this request came; "" if it came without one."""

Action = Literal["rehearse", "approve", "reject", "pause", "resume", "sync", "revert", "ignore"]
ACTIONS: Final[tuple[Action, ...]] = ("rehearse", "approve", "reject", "pause", "resume", "sync", "revert", "ignore")


def to(path: str) -> str:
    """The link to a path of this site."""
    return ROOT.get() + path


def project(name: str) -> str:
    return to(f"/projects/{quote(name, safe='')}")


def run(name: str, number: int) -> str:
    """A run in the history of its project."""
    return f"{project(name)}#run-{number}"


def act(name: str, action: Action) -> str:
    """The URL that the form of an action posts to."""
    return f"{project(name)}/{action}"


def status_of(name: str, digest: str, rehearsal: str = "") -> str:
    """The part of a project's page that is updated by events, with `seen` added. `digest`: of the displayed plan, "" for none.
    `rehearsal`: what is displayed of its rehearsal."""
    return f"{project(name)}/status?digest={quote(digest, safe='')}&rehearsal={quote(rehearsal, safe='')}"


def events(name: str = "") -> str:
    """The events of a project, or of all projects that the viewer sees."""
    return to(f"{EVENTS}?project={quote(name, safe='')}" if name else EVENTS)


def login_start(back: str) -> str:
    """A link instead of a form: a form may send the browser to this site only, and this leads to another one."""
    return to(f"{LOGIN_START}?back={quote(back, safe='')}")


def calendar(month: date) -> str:
    return to(f"{CALENDAR}?month={month:%Y-%m}")
