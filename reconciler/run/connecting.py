"""The service of a run: the embedded one, or one that this user named or confirmed; and the state that belongs to it."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from reconciler import exits
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.client import ClientSettings, normalise
from reconciler.client.settings import PORTS
from reconciler.config import Project
from reconciler.errors import ReconcilerError, StateError, UsageError
from reconciler.files import path_from_here
from reconciler.model.state import StateScope
from reconciler.resource import Kinds
from reconciler.run import embedded, trust
from reconciler.run.loading import now
from reconciler.signals import of_signal
from reconciler.state import SEND_SECONDS_MAX, Journal, Store
from reconciler.state.postgres import require_verified
from reconciler.text.credentials import backend_of, file_of
from reconciler.text.redact import of_urls

BASE_URL, TOKEN, STATE = "RECONCILER_BASE_URL", "RECONCILER_TOKEN", "RECONCILER_STATE"


@dataclass(frozen=True)
class ConnectedService:
    """A service for requests. `identity`: the namespace of its ids; `embedded`: it ends with this process."""

    identity: str
    settings: ClientSettings
    where: str
    embedded: bool

    def effect_seconds(self, project: Project) -> float | None:
        """Seconds for which a request may still take effect; None if it cannot outlive the run, and lists are never late."""
        return project.settings.settle if project.settings.settle_written or not self.embedded else None


@contextmanager
def connect(
    screen: Screen, options: Options, project: Project | None, kinds: Kinds | None, *, create: bool = True
) -> Iterator[ConnectedService]:
    """The service that the command line and the project name. `create`: create a sandbox that does not exist; otherwise refuse it."""
    file = _sandbox_file(screen, options, project)
    if file is not None:
        if not create and not file.exists():
            raise UsageError(
                f"there is no sandbox {path_from_here(file)}", id="RC-no-sandbox", hint="Correct --sandbox, or what the project says."
            )
        # Whoever proposes a change of the YAML could otherwise create files anywhere on the machine of whoever plans it.
        if options.sandbox is None and project is not None and not file.exists() and is_outside(project, file):
            raise UsageError(
                f"service.sandbox: {path_from_here(file)} does not exist, and is outside the project",
                id="RC-sandbox-outside",
                hint=f"Create it with --sandbox {path_from_here(file)}, or write a file of the project, such as .reconciler/sandbox.db.",
            )
        with embedded.embedded(file, project, kinds) as running:
            if running.created:
                screen.say(f"Created the sandbox {path_from_here(file)}, with the objects that the project expects to exist.")
            screen.hide([running.token])
            settings = _settings(screen, options, project, running.base_url, running.token)
            yield ConnectedService(f"sandbox:{running.identity}", settings, f"the sandbox {path_from_here(file)}", embedded=True)
        return
    url = _base_url(screen, options, project)
    token = os.environ.get(TOKEN, "")
    if not token:
        raise UsageError(
            "there is no token for the service", id="RC-no-token", hint=f"Set {TOKEN}, or use the embedded sandbox: --sandbox FILE."
        )
    screen.hide([token])
    settings = _settings(screen, options, project, url, token)
    yield ConnectedService(settings.base_url, settings, settings.base_url, embedded=False)


def is_outside(project: Project, file: Path) -> bool:
    """Whether a file is outside the directory of the project, links followed. The YAML alone must not create it."""
    return not file.resolve().is_relative_to(project.settings.root.resolve())


def _sandbox_file(screen: Screen, options: Options, project: Project | None) -> Path | None:
    if options.sandbox is not None:
        if options.base_url is not None:
            raise UsageError("--sandbox and --base-url cannot be combined", id="RC-options-conflict", hint="Pass one of them.")

        return embedded.checked(options.sandbox)
    if options.base_url is None and project is not None and project.settings.sandbox is not None:
        if os.environ.get(BASE_URL):
            screen.say(f"{BASE_URL} is ignored: the project uses a sandbox.")

        return embedded.checked(project.settings.sandbox, option="service.sandbox:")
    return None


def _base_url(screen: Screen, options: Options, project: Project | None) -> str:

    given = options.base_url or os.environ.get(BASE_URL)
    if given:
        return normalise(given)
    if project is None or project.settings.base_url is None:
        token = "" if os.environ.get(TOKEN) else f", and {TOKEN} for its token"
        hint = f"Set {BASE_URL} or pass --base-url URL{token}; or use the embedded sandbox: --sandbox FILE."
        raise UsageError("the URL of the service is not configured", id="RC-no-service-url", hint=hint)
    url = normalise(project.settings.base_url)
    trust.require(screen, project.settings.root, url, what="the service", instead=f"--base-url {url}, or set {BASE_URL}")
    return url


def _settings(screen: Screen, options: Options, project: Project | None, url: str, token: str) -> ClientSettings:

    plain, host = ClientSettings(url, token), urlsplit(url)
    screen.service = {"server.address": host.hostname or "", "server.port": host.port or PORTS[host.scheme], "url.full": url}
    return ClientSettings(
        url, token, timeout=project.settings.timeout if project is not None else plain.timeout,
        max_concurrency=options.max_concurrency or plain.max_concurrency, max_rps=options.max_rps,
        secrets=screen.hidden, budget=screen.supervision.budget if screen.supervision is not None else None,
        clock=screen.clock or plain.clock,
    )  # fmt: skip


def open_store(screen: Screen, options: Options, project: Project, service: ConnectedService, *, create: bool) -> Store:
    """The state of this project on that service; without `create` nothing is written."""
    url = state_url(screen, options, project)
    # The lease could expire while a request is under way, and a second run would begin beside it.
    if create and not _is_file(url) and project.settings.timeout > SEND_SECONDS_MAX:
        raise UsageError(
            f"service.timeout is {project.settings.timeout:g} s, and a state on a server or in a bucket allows {SEND_SECONDS_MAX:g}",
            id="RC-timeout-too-long",
            hint="A request must end before the lease on the state can expire: set a smaller service.timeout.",
        )
    scope, lag = state_scope(options, project, service), service.effect_seconds(project) or 0.0
    beside, uninterrupted = project.settings.root / ".reconciler", screen.signals.uninterrupted
    return Store.open(url, scope, clock=now, create=create, beside=beside, lag=lag, uninterrupted=uninterrupted)


def state_scope(options: Options, project: Project, service: ConnectedService) -> StateScope:
    """The project, environment and service of the state."""
    return StateScope(project.settings.project, options.env or None, service.identity)


def state_url(screen: Screen, options: Options, project: Project) -> str:
    """The URL of the state, whose secrets are masked from now on. Raises `Refused` for a server that the user has not confirmed."""
    given = options.state or os.environ.get(STATE)
    url = given or project.settings.state
    screen.hide(of_urls([url]))
    # A password of the environment is sent to this server. Whoever edits the YAML must not choose where that is.
    if not given and project.settings.state_in_yaml and not _is_file(url):
        instead = f"--state {url}, or set {STATE}"
        trust.require(screen, project.settings.root, url, what="the state's server or bucket", instead=instead, whole=True)
    require_verified(url, given="--state" if options.state else STATE if given else "state in the YAML", written=bool(given))
    return url


def _is_file(url: str) -> bool:
    """Whether the state is a file of this machine, which nobody else receives and whose lock the kernel keeps."""
    backend = backend_of(url)
    return backend is not None and backend.is_file


def state_file(options: Options, project: Project) -> Path | None:
    """The file of the state; None if it is on a server."""
    path = file_of(options.state or os.environ.get(STATE) or project.settings.state)
    return Path(path) if path and not set(path) & set("?%") else None


def known_service(screen: Screen, options: Options, project: Project) -> ConnectedService | None:
    """The identity of the service, as its state needs it, without a request; None for a sandbox that does not exist yet."""
    file = _sandbox_file(screen, options, project)
    if file is None:
        settings = _settings(screen, options, project, _base_url(screen, options, project), "none")
        return ConnectedService(settings.base_url, settings, settings.base_url, embedded=False)

    identity = embedded.identity(file)
    if identity is None:
        return None
    return ConnectedService(
        f"sandbox:{identity}",
        _settings(screen, options, project, "http://127.0.0.1", "none"),
        f"the sandbox {path_from_here(file)}",
        embedded=True,
    )


@contextmanager
def recording_end(journal: Journal) -> Iterator[None]:
    """Record the end of a run in the journal if an error ends this block: a run without an end counts as killed."""
    try:
        yield
    except BaseException as error:
        ended = exits.INTERRUPTED if of_signal(error) or not isinstance(error, Exception) else exits.FAILED
        code = error.exit_code if isinstance(error, ReconcilerError) else ended
        with suppress(StateError):
            journal.finish(exit_code=code, summary={})
        raise


def current_user() -> str:
    """The user of this run, for the message about a locked state."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container without an entry for its user
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
