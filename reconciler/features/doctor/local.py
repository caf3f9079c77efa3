"""The checks of `doctor` on this machine: the project, who may receive the token, the state. Writes nothing, sends no requests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from reconciler.cli.loading import loaded
from reconciler.cli.opening import service_of, store_of
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.client import ClientSettings
from reconciler.config import Project
from reconciler.errors import ConfigError, ReconcilerError
from reconciler.files import path_from_here
from reconciler.model import State
from reconciler.report.findings import Check
from reconciler.report.words import Level, count, listed
from reconciler.resource import Kinds
from reconciler.run.connection import embedded, trust
from reconciler.run.connection.connecting import BASE_URL, STATE, TOKEN, ConnectedService
from reconciler.run.connection.unseen import unseen
from reconciler.run.conventions import conventions
from reconciler.text.backends import file_of
from reconciler.text.install import installing_extra
from reconciler.text.names import HERE, clock_time_of
from reconciler.text.service_url import normalise

WITHOUT_PROJECT = "not checked: the project is invalid"


def problem(check: str, error: ReconcilerError) -> Check:
    """An error as a finding."""
    return Check(check, Level.PROBLEM, error.message, error.hint or "", id=error.id)


def project(screen: Screen, options: Options, kinds: Kinds) -> tuple[Project | None, Check]:
    """The project, None if it is invalid, and its check."""
    option = ""
    try:
        if loaded(screen, options, kinds, decrypt=False).undecrypted:
            option = " --decrypt"
        project = loaded(screen, options, kinds)
    except ConfigError as error:
        first = error.problems[0]
        more = f", and {len(error.problems) - 1} more" if len(error.problems) > 1 else ""
        return None, Check(
            "project", Level.PROBLEM, f"{first}{more}", f"{options.command_line('validate')}{option} shows all of them.", id=first.id
        )
    declared = [resource for resource in project.desired.resources.values() if not resource.implied]
    text = f"{project.settings.project}: {count(len(declared), 'resource')} in {count(len(project.settings.files), 'file')}"
    return project, Check("project", Level.OK, text)


def agents(project: Project | None) -> Check:
    """What the agents that `mcp` serves can do with the token of this machine."""
    if project is not None:
        try:
            conventions(project)
        except ReconcilerError as error:
            return problem("agents", error)
    if find_spec("mcp") is None:
        return Check("agents", Level.SKIPPED, f"reconciler mcp serves none without its extra: {installing_extra('mcp')}")
    return Check("agents", Level.OK, "reconciler mcp sends only GET requests, also with a token that could write, and applies nothing")


def is_embedded(options: Options, project: Project | None) -> bool:
    """Whether it is a sandbox, which requires no token."""
    named = project is not None and project.settings.sandbox is not None
    return options.base_url is None and (options.sandbox is not None or named)


def service(options: Options, project: Project | None) -> Check:
    """Whether the service is known and may be used; `SKIPPED` for a sandbox that does not exist yet."""
    settings = project.settings if project is not None else None
    if is_embedded(options, project):
        file = embedded.checked(options.sandbox or (settings.sandbox if settings is not None else None) or Path())
        if not file.exists() or file.stat().st_size == 0:
            hint = "the next plan or apply creates it"
            return Check("service", Level.SKIPPED, f"there is no sandbox {path_from_here(file)} yet; {hint}")
        return Check("service", Level.OK, f"the sandbox {path_from_here(file)}")
    given = options.base_url or os.environ.get(BASE_URL)
    try:
        if given:
            return Check("service", Level.OK, f"{normalise(given)}, named by {'--base-url' if options.base_url else BASE_URL}")
        if settings is None or settings.base_url is None:
            text = WITHOUT_PROJECT if settings is None else "the URL of the service is not configured"
            return Check(
                "service", Level.PROBLEM, text, f"Write service.baseUrl, pass --base-url URL, or set {BASE_URL}.", id="RC-no-service-url"
            )
        url = normalise(settings.base_url)
    except ReconcilerError as error:
        return problem("service", error)
    if not trust.confirmed(settings.root, url):
        remedy = f"Pass --base-url {url} or set {BASE_URL}; or run plan on a terminal, which asks."
        return Check(
            "service", Level.PROBLEM, f"{url} is only named in the YAML, and you have not confirmed it", remedy, id="RC-host-not-confirmed"
        )
    return Check("service", Level.OK, f"{url}, confirmed by you")


def token() -> Check:
    """Whether there is a token."""
    if os.environ.get(TOKEN):
        return Check("token", Level.OK, f"{TOKEN} is set")
    return Check("token", Level.PROBLEM, "there is no token for the service", f"Set {TOKEN}.", id="RC-no-token")


def state(screen: Screen, options: Options, project: Project, *, trusted: bool) -> tuple[State | None, list[Check]]:
    """The state, None if it cannot be read, and its checks."""
    settings = project.settings
    given = options.state or os.environ.get(STATE)
    foreign = not given and settings.state_in_yaml and not file_of(settings.state)
    if foreign and not trust.confirmed(settings.root, settings.state, whole=True):
        remedy = f"Pass --state URL or set {STATE}; or run plan on a terminal, which asks."
        return None, [
            Check(
                "state",
                Level.PROBLEM,
                "its server or bucket is only named in the YAML, and you have not confirmed it",
                remedy,
                id="RC-host-not-confirmed",
            )
        ]
    if not trusted:
        return None, [Check("state", Level.SKIPPED, "not checked: the service is not known")]
    try:
        identity = service_of(screen, options, project) or _nowhere()
        with store_of(screen, options, project, identity) as store:
            condition, tracked = store.condition(), store.read()
            new = unseen(options.operation, project, identity, store)
    except ReconcilerError as error:
        return None, [problem("state", error)]
    findings: list[Check] = []
    if new is not None and new.named is not None:
        findings.append(Check("state", Level.WARNING, new.fact.rstrip("."), new.remedy, id="RC-unseen-state"))
    elif condition.current is None:
        findings.append(Check("state", Level.OK, f"there is none yet; the first apply creates {condition.where}"))
    else:
        older = " (of an older version; the next apply brings it up to date)" if not condition.current else ""
        findings.append(Check("state", Level.OK, f"{condition.where}: {len(tracked.bindings)} tracked, serial {tracked.serial}{older}"))
    if not condition.writable:
        remedy = "Check the permissions of the file and of its directory, or name another state with --state."
        findings.append(Check("state", Level.PROBLEM, f"{condition.where} cannot be written", remedy, id="RC-state-not-opened"))
    if condition.held:
        holder = condition.holder
        who = f": {holder.who} has been running `{holder.command}` since {clock_time_of(holder.since, HERE)}" if holder is not None else ""
        findings.append(
            Check("state", Level.WARNING, f"another run holds the state{who}", "Wait for it to end; its lock ends with it.", id="RC-locked")
        )
    return tracked, [*findings, *_contents(options, project, tracked)]


def _nowhere() -> ConnectedService:
    """The service of a sandbox that does not exist yet; no state can belong to it."""
    return ConnectedService("sandbox:none", ClientSettings("http://127.0.0.1", "none"), "a sandbox", embedded=True)


def _contents(options: Options, project: Project, state: State) -> Iterator[Check]:

    doubtful = sorted({str(intent.address) for intent in state.intents})
    if doubtful:
        text = f"{count(len(state.intents), 'request')} of an earlier run in doubt: {listed(doubtful, 3)}"
        yield Check(
            "state", Level.WARNING, text, f"{options.command_line('apply')} finds out first what happened to them.", id="RC-in-doubt"
        )
    former = {old for resource in project.desired.resources.values() for old in resource.previously} | {
        moved.old for moved in project.desired.moved
    }
    undeclared = [binding for binding in sorted(state.bindings) if binding not in project.desired.resources and binding not in former]
    undeclared = [address for address in undeclared if not any(address.is_within(old) for old in former)]
    if undeclared:
        text = f"{count(len(undeclared), 'tracked resource')} no longer declared: {listed([str(address) for address in undeclared], 3)}"
        yield Check("state", Level.WARNING, text, f"{options.command_line('plan')} shows what happens to them.", id="RC-no-longer-declared")
