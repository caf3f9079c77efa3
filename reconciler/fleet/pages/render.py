"""Render views as HTML. Each `render_*` returns a whole page unless it is documented to return a part. Pure, except that it reads the
templates.

All values in a template pass the terminal's encoder, which escapes invisible and bidirectional characters, and then the escaping of HTML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reconciler.features.rehearsal.page.first_screen import rendered
from reconciler.fleet.pages import assets, chart, heatmap, links, marks, months, query, words
from reconciler.fleet.pages.views import (
    AuditView,
    CalendarView,
    ErrorView,
    Frame,
    ListView,
    OverviewView,
    ProjectView,
)
from reconciler.fleet.status import lasting
from reconciler.report.words import count
from reconciler.text.escape import terminal

CONFIG: Final = (
    '{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"selfRequestsOnly":true,"historyCacheSize":0,'
    '"refreshOnHistoryMiss":true,"defaultSwapStyle":"outerHTML"}'
)
"""The settings of htmx: it adds no style, evaluates nothing, runs no script of an answer, sends no request to other origins and stores no
page."""


def render_list(view: ListView) -> str:
    """The list of projects."""
    return _rendered("list.html", view)


def render_table(view: ListView) -> str:
    """The part `#projects` of the list, for requests of htmx."""
    return _rendered("table.html", view, part=True)


def render_project(view: ProjectView) -> str:
    """The page of a project."""
    return _rendered("project.html", view)


def render_project_status(view: ProjectView) -> str:
    """The part `#status` of the page of a project, for requests of htmx: the forms are not replaced."""
    return _rendered("project_status.html", view, part=True)


def render_overview(view: OverviewView) -> str:
    """The fleet as a picture."""
    return _rendered("overview.html", view)


def render_figures(view: OverviewView) -> str:
    """The part `#figures` of the overview, for requests of htmx: everything but the picture."""
    return _rendered("figures.html", view, part=True)


def render_calendar(view: CalendarView) -> str:
    """The expiries of a month."""
    return _rendered("calendar.html", replace(view, month=months.shown(view.month)))


def render_audit(view: AuditView) -> str:
    """The audit log."""
    return _rendered("audit.html", view)


def render_login(frame: Frame, *, provider: str = "", back: str = "/", csrf: str = "") -> str:
    """The login page. `provider`: the name of the OIDC provider; "" if the login needs the token that `serve` printed. `back`: a path of
    this site to return to."""
    return _rendered("login.html", {"provider": provider, "back": back, "csrf": csrf}, frame=frame)


def render_error(view: ErrorView) -> str:
    """An error page: what is wrong, and what to do."""
    return _rendered("error.html", view)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reconciler.fleet.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_visible,
    )
    environment.globals.update(
        assets=assets, chart=chart, heatmap=heatmap, links=links, marks=marks, months=months, query=query, words=words,
        count=count, lasting=lasting, first_screen=_first_screen, Query=query.Query, page_size=query.PAGE_SIZE, config=CONFIG,
    )  # fmt: skip
    return environment


def _first_screen(document: Mapping[str, Any]) -> Markup:
    return Markup(rendered(document))  # noqa: S704  every text in it is escaped


def _visible(value: Any) -> Any:
    """Markup and numbers unchanged; a text with its invisible characters escaped."""
    return terminal(value) if type(value) is str else value


def _rendered(template: str, view: Any, *, frame: Frame | None = None, part: bool = False) -> str:
    return _environment().get_template(template).render(view=view, frame=frame or view.frame, part=part)
