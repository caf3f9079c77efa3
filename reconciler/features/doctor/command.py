"""`reconciler doctor`: check prerequisites and diagnose problems."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.opening import connected
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.client.service import Reader
from reconciler.config import Project
from reconciler.errors import ReconcilerError
from reconciler.features.doctor import local
from reconciler.features.doctor.local import problem
from reconciler.features.doctor.remote import examine
from reconciler.kinds import load as load_kinds
from reconciler.model import State
from reconciler.report.findings import Check, checks_document, checks_sheet
from reconciler.report.words import Level
from reconciler.resource import Kinds

PATIENCE: Final = 120.0  # seconds for all requests


@click.command("doctor", short_help="Check prerequisites and diagnose problems.")
@shared.project()
@shared.service()
@shared.state()
@shared.output(formats=("text", "json"))
@click.pass_obj
def command(screen: Screen, /, **parameters: Any) -> int:
    """Check the project, the token and its permissions, the rate limit, the clock and the state, and report what to do.

    Sends only GET requests, writes nothing and asks nothing. Exits with 1 if there is a problem, and with 3 if the project is invalid.

    \b
    Example:
      reconciler doctor examples/acme --sandbox .reconciler/acme.db
    """
    options = Options.of(screen, parameters)
    kinds = load_kinds()
    project, check = local.project(screen, options, kinds)
    where = local.service(options, project)
    findings = [check, where]
    ready = where.level is Level.OK
    if not local.is_embedded(options, project):
        token = local.token()
        findings += [token] if token.level is Level.PROBLEM or not ready else []  # else the check of the service is more specific
        ready = ready and token.level is Level.OK
    state = None
    if project is not None:
        state, state_findings = local.state(screen, options, project, trusted=where.level is not Level.PROBLEM)
        findings += state_findings
    if ready:
        findings += _service_checks(screen, options, project, kinds, state)
    findings.append(local.agents(project))
    if options.format == "json":
        screen.document(checks_document(findings))
    else:
        reports.show_sheet(screen, checks_sheet(findings))
    codes = [exits.WRONG] if project is None else []
    codes += [exits.FAILED] if any(finding.level is Level.PROBLEM for finding in findings) else []
    return exits.strongest(codes)


def _service_checks(screen: Screen, options: Options, project: Project | None, kinds: Kinds, state: State | None) -> list[Check]:
    """The checks at the service, or why it cannot be reached."""
    try:
        with connected(screen, options, project, kinds) as service:
            narration = TerminalVoice(screen)

            async def ask() -> list[Check]:
                async with asyncio.timeout(PATIENCE), Reader(service.settings, listener=narration) as reader:
                    return await examine(reader, kinds, project, state or State("", 0))

            with narration.phase(f"Asking {service.where}"):
                return asyncio.run(ask())
    except TimeoutError:
        remedy = "It is slow or limits the rate of requests; -v shows every request."
        return [
            Check("service", Level.PROBLEM, f"the service did not answer all requests within {PATIENCE:g} s", remedy, id="RC-no-response")
        ]
    except ReconcilerError as error:
        return [problem("service", error)]
