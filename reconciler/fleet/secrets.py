"""Resolve references where a run is started: the only module that reads secrets."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler.errors import ReconcilerError, UsageError, os_reason
from reconciler.fleet.model import SecretReference
from reconciler.text.service_url import normalise
from reconciler.writing import create_folder, write_whole

SIZE_MAX: Final = 64 * 2**10


class MissingSecret(ReconcilerError):
    """A reference leads to nothing on {where}."""


def resolved(reference: SecretReference, what: str, *, where: str = "this worker") -> str:
    """The secret behind a reference. Raises `MissingSecret`, whose message has the reference and never the value."""
    if reference.kind == "env":
        value = os.environ.get(reference.name, "")
        if not value:
            raise MissingSecret(f"{what}: the variable {reference.name} is not set in the environment of {where}", id="RC-fleet-secret")
        return value.strip()
    path = Path(reference.name)
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise MissingSecret(f"{what}: {path} is not a file on {where}", id="RC-fleet-secret")
            text = file.read(SIZE_MAX + 1)
    except OSError as error:
        raise MissingSecret(f"{what}: {path} cannot be read on {where}: {os_reason(error)}", id="RC-fleet-secret") from None
    try:
        value = text.decode("utf-8").strip()
    except UnicodeDecodeError:
        value = ""
    if not value or len(text) > SIZE_MAX:
        raise MissingSecret(f"{what}: {path} does not contain one on {where}", id="RC-fleet-secret")
    return value


def token_for(reference: SecretReference, base_url: str, what: str, *, required: bool = False, known: Path | None = None) -> str:
    """The token behind a reference, for a service: this machine says which ones may get it, because whoever can write the fleet's database
    could name another one. Where nothing says so, the first service that got it is the only one: `known` is the folder in which that is
    remembered. `required`: refuse a token of which the machine's owner does not say so. Raises `MissingSecret`."""
    token = resolved(reference, what)
    place = _services_of(reference)
    try:
        allowed = {normalise(url) for url in resolved(place, what).split()} if _exists(place) else None
    except UsageError as error:
        raise MissingSecret(f"{what}: {place.name} names a service: {error.message}", id="RC-fleet-token-service") from None
    if allowed is None and not required:
        allowed = {_first_service(known, token, base_url, what) if known is not None else base_url}
    if base_url in (allowed or ()):
        return token
    says = f"is for {', '.join(sorted(allowed))}" if allowed is not None else "is not tied to a service on this worker"
    raise MissingSecret(
        f"{what} ({reference}) {says}, and the fleet file sends it to {base_url}",
        id="RC-fleet-token-service",
        hint=f"If it may get it, write {base_url} into the {'variable' if place.kind == 'env' else 'file'} {place.name} on every worker.",
    )


def _first_service(known: Path, token: str, base_url: str, what: str) -> str:
    """The service that got a token first on this machine: this one, if none did."""
    path = known / f"{digest('the first service of a token', token)}.service"
    try:
        if not path.exists():
            create_folder(known, mode=0o700)
            write_whole(path, f"{base_url}\n")
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise MissingSecret(f"{what}: {path} cannot be used: {os_reason(error)}", id="RC-fleet-secret") from None


def _services_of(reference: SecretReference) -> SecretReference:
    """Where the services are that may get a token, beside the token."""
    return replace(reference, name=f"{reference.name}_BASE_URL" if reference.kind == "env" else f"{reference.name}.baseUrl")


def _exists(reference: SecretReference) -> bool:
    return bool(os.environ.get(reference.name)) if reference.kind == "env" else os.path.lexists(reference.name)


def digest(*parts: str) -> str:
    """A digest that names a secret or a scope without revealing it."""
    return hashlib.sha256("\0".join(("reconciler.fleet/1", *parts)).encode()).hexdigest()
