"""The hosts to which the token may be sent: confirmed by this user, and stored, signed, in the user's state folder, never in the project.

A pull request can change the YAML, so the YAML alone must not decide where the token is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from reconciler.errors import UsageError, os_reason
from reconciler.own_files import OwnFolder, state_folder

FILE = "trusted.json"


@dataclass(frozen=True)
class NamedHost:
    """A host that only the YAML of a project names. `root`: the project's directory. `what`: what it is for. `instead`: the option to pass
    if nobody can be asked. `whole`: everything in the URL is confirmed, not only its host: its other parts decide too where a password is
    sent."""

    root: Path
    url: str
    what: str
    instead: str
    whole: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether this user confirmed it."""
        return confirmed(self.root, self.url, whole=self.whole)

    @property
    def shown(self) -> str:
        """What is confirmed."""
        return self.url if self.whole else _host(self.url)

    def require(self) -> None:
        """Raise `UsageError` if this user has not confirmed it: the YAML of a pull request must not decide where a token is sent."""
        if not self.confirmed:
            wrong = f"{self.what} {self.shown} is only named in the YAML, and you have not confirmed it"
            raise UsageError(wrong, id="RC-host-not-confirmed", hint=f"Pass {self.instead}.")

    def declined(self) -> UsageError:
        """The error if somebody was asked, and did not confirm it."""
        return UsageError(f"{self.what} {self.shown} was not confirmed", id="RC-host-not-confirmed", hint=f"Pass {self.instead}.")

    def remember(self) -> None:
        """Record that this user confirmed it. Raises `UsageError`."""
        _remember(self.root, self.shown)


def confirmed(root: Path, url: str, *, whole: bool = False) -> bool:
    """Whether this user confirmed that the project at `root` may use the host of a URL, or the `whole` URL."""
    return (url if whole else _host(url)) in _known(root)


def remember(root: Path, url: str) -> None:
    """Record that this user confirmed the host of a URL for the project at `root`. Raises `UsageError`."""
    if not confirmed(root, url):
        _remember(root, _host(url))


def _host(url: str) -> str:
    return f"{urlsplit(url).scheme}://{urlsplit(url).netloc.rpartition('@')[2]}"


def _known(root: Path) -> list[str]:
    return _read().get(str(root.resolve()), [])


def _read() -> dict[str, list[str]]:
    """The confirmations by project; none if this user has no folder for them that is this user's alone."""
    try:
        own = OwnFolder.existing(state_folder())
    except UsageError:
        return {}
    document = own.read(FILE) if own is not None else None
    return dict(document["projects"]) if document is not None else {}


def _remember(root: Path, host: str) -> None:
    projects = _read()
    projects.setdefault(str(root.resolve()), []).append(host)
    own = OwnFolder.create(state_folder())
    try:
        own.write(FILE, {"projects": projects})
    except OSError as error:
        raise UsageError(f"{own.path / FILE} cannot be written: {os_reason(error)}", id="RC-file-not-written") from error
