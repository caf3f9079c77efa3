"""The service of a run: the embedded one, or one that this user named or confirmed; and the state that belongs to it."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reconciler import exits
from reconciler.client import ClientSettings
from reconciler.config import Project
from reconciler.errors import ReconcilerError, StateError, UsageError
from reconciler.files import path_from_here
from reconciler.model.state import StateScope
from reconciler.resource import Kinds
from reconciler.run.connection import embedded
from reconciler.run.connection.trust import NamedHost
from reconciler.run.loading import now
from reconciler.run.operation import Operation
from reconciler.run.voice import Voice
from reconciler.signals import of_signal
from reconciler.state import SEND_SECONDS_MAX, Journal, Store
from reconciler.state.postgres import require_verified
from reconciler.text.backends import backend_of
from reconciler.text.redact import of_urls
from reconciler.text.service_url import PORTS, normalise

if TYPE_CHECKING:
    from reconciler.sandbox.server import Embedded

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
    operation: Operation, voice: Voice, project: Project | None, kinds: Kinds | None, *, create: bool = True
) -> Iterator[ConnectedService]:
    """The service that the command line and the project name. `create`: create a sandbox that does not exist; otherwise refuse it."""
    if (memory := operation.supervision.memory) is not None:
        yield _embedded(operation, voice, project, memory.started(project, kinds), memory.service)
        return
    file = _sandbox_file(operation, voice, project)
    if file is not None:
        if not create and not file.exists():
            raise UsageError(
                f"there is no sandbox {path_from_here(file)}", id="RC-no-sandbox", hint="Correct --sandbox, or what the project says."
            )
        # Whoever proposes a change of the YAML could otherwise create files anywhere on the machine of whoever plans it.
        if operation.sandbox is None and project is not None and not file.exists() and is_outside(project, file):
            raise UsageError(
                f"service.sandbox: {path_from_here(file)} does not exist, and is outside the project",
                id="RC-sandbox-outside",
                hint=f"Create it with --sandbox {path_from_here(file)}, or write a file of the project, such as .reconciler/sandbox.db.",
            )
        with embedded.embedded(file, project, kinds) as running:
            if running.created:
                voice.say(f"Created the sandbox {path_from_here(file)}, with the objects that the project expects to exist.")
            yield _embedded(operation, voice, project, running, f"the sandbox {path_from_here(file)}")
        return
    url = _base_url(operation, project)
    token = operation.token or os.environ.get(TOKEN, "")
    if not token:
        raise UsageError(
            "there is no token for the service", id="RC-no-token", hint=f"Set {TOKEN}, or use the embedded sandbox: --sandbox FILE."
        )
    voice.hide([token])
    settings = _settings(operation, voice, project, url, token)
    yield ConnectedService(settings.base_url, settings, settings.base_url, embedded=False)


def _embedded(operation: Operation, voice: Voice, project: Project | None, running: Embedded, where: str) -> ConnectedService:
    """A sandbox that runs inside this process."""
    voice.hide([running.token])
    settings = _settings(operation, voice, project, running.base_url, running.token)
    return ConnectedService(f"sandbox:{running.identity}", settings, where, embedded=True)


def is_outside(project: Project, file: Path) -> bool:
    """Whether a file is outside the directory of the project, links followed. The YAML alone must not create it."""
    return not file.resolve().is_relative_to(project.settings.root.resolve())


def _sandbox_file(operation: Operation, voice: Voice, project: Project | None) -> Path | None:
    if operation.sandbox is not None:
        if operation.base_url is not None:
            raise UsageError("--sandbox and --base-url cannot be combined", id="RC-options-conflict", hint="Pass one of them.")

        return embedded.checked(operation.sandbox)
    if operation.base_url is None and project is not None and project.settings.sandbox is not None:
        if os.environ.get(BASE_URL):
            voice.say(f"{BASE_URL} is ignored: the project uses a sandbox.")

        return embedded.checked(project.settings.sandbox, option="service.sandbox:")
    return None


def _base_url(operation: Operation, project: Project | None) -> str:

    given = operation.base_url or os.environ.get(BASE_URL)
    if given:
        return normalise(given)
    host = _service_in_yaml(operation, project)
    if host is None:
        token = "" if os.environ.get(TOKEN) else f", and {TOKEN} for its token"
        hint = f"Set {BASE_URL} or pass --base-url URL{token}; or use the embedded sandbox: --sandbox FILE."
        raise UsageError("the URL of the service is not configured", id="RC-no-service-url", hint=hint)
    host.require()
    return host.url


def hosts_in_yaml(operation: Operation, project: Project, *, state: bool = True) -> Iterator[NamedHost]:
    """The hosts to which this run would send a token or a password although only the YAML names them, confirmed or not. `state`: it uses
    the state."""
    sandbox = operation.sandbox is not None or (operation.base_url is None and project.settings.sandbox is not None)
    service = None if sandbox else _service_in_yaml(operation, project)
    yield from (host for host in (service, _state_in_yaml(operation, project) if state else None) if host is not None)


def _service_in_yaml(operation: Operation, project: Project | None) -> NamedHost | None:
    if operation.base_url or os.environ.get(BASE_URL) or project is None or project.settings.base_url is None:
        return None
    url = normalise(project.settings.base_url)
    return NamedHost(project.settings.root, url, "the service", f"--base-url {url}, or set {BASE_URL}")


def _state_in_yaml(operation: Operation, project: Project) -> NamedHost | None:
    url = project.settings.state
    if operation.state or os.environ.get(STATE) or not project.settings.state_in_yaml or _is_file(url):
        return None
    return NamedHost(project.settings.root, url, "the state's server or bucket", f"--state {url}, or set {STATE}", whole=True)


def _settings(operation: Operation, voice: Voice, project: Project | None, url: str, token: str) -> ClientSettings:

    plain, host = ClientSettings(url, token), urlsplit(url)
    voice.about.update({"server.address": host.hostname or "", "server.port": host.port or PORTS[host.scheme], "url.full": url})
    return ClientSettings(
        url,
        token,
        timeout=project.settings.timeout if project is not None else plain.timeout,
        max_concurrency=operation.max_concurrency or plain.max_concurrency,
        max_rps=operation.max_rps,
        secrets=voice.masks.values,
        budget=operation.supervision.budget,
        clock=operation.supervision.clock or plain.clock,
    )


def open_store(operation: Operation, voice: Voice, project: Project, service: ConnectedService, *, create: bool) -> Store:
    """The state of this project on that service; without `create` nothing is written."""
    memory = operation.supervision.memory
    url = memory.state if memory is not None else state_url(operation, voice, project)
    # The lease could expire while a request is under way, and a second run would begin beside it.
    if create and isinstance(url, str) and not _is_file(url) and project.settings.timeout > SEND_SECONDS_MAX:
        raise UsageError(
            f"service.timeout is {project.settings.timeout:g} s, and a state on a server or in a bucket allows {SEND_SECONDS_MAX:g}",
            id="RC-timeout-too-long",
            hint="A request must end before the lease on the state can expire: set a smaller service.timeout.",
        )
    scope, lag = state_scope(operation, project, service), service.effect_seconds(project) or 0.0
    beside, uninterrupted = project.settings.root / ".reconciler" if memory is None else None, operation.supervision.signals.uninterrupted
    return Store.open(url, scope, clock=now, create=create, beside=beside, lag=lag, uninterrupted=uninterrupted)


def state_scope(operation: Operation, project: Project, service: ConnectedService) -> StateScope:
    """The project, environment and service of the state."""
    return StateScope(project.settings.project, operation.environment or None, service.identity)


def state_url(operation: Operation, voice: Voice, project: Project) -> str:
    """The URL of the state, whose secrets are masked from now on. Raises `Refused` for a server that the user has not confirmed."""
    given = operation.state or os.environ.get(STATE)
    url = given or project.settings.state
    voice.hide(of_urls([url]))
    # A password of the environment is sent to this server. Whoever edits the YAML must not choose where that is.
    if (host := _state_in_yaml(operation, project)) is not None:
        host.require()
    require_verified(url, given="--state" if operation.state else STATE if given else "state in the YAML", written=bool(given))
    return url


def _is_file(url: str) -> bool:
    """Whether the state is a file of this machine, which nobody else receives and whose lock the kernel keeps."""
    backend = backend_of(url)
    return backend is not None and backend.is_file


def known_service(operation: Operation, voice: Voice, project: Project) -> ConnectedService | None:
    """The identity of the service, as its state needs it, without a request; None for a sandbox that does not exist yet."""
    if (memory := operation.supervision.memory) is not None:
        return _embedded(operation, voice, project, memory.running, memory.service) if memory.running is not None else None
    file = _sandbox_file(operation, voice, project)
    if file is None:
        settings = _settings(operation, voice, project, _base_url(operation, project), "none")
        return ConnectedService(settings.base_url, settings, settings.base_url, embedded=False)

    identity = embedded.identity(file)
    if identity is None:
        return None
    return ConnectedService(
        f"sandbox:{identity}",
        _settings(operation, voice, project, "http://127.0.0.1", "none"),
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
