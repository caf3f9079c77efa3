"""Resolve references where a run is started: the only module that reads secrets."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from reconciler.errors import ReconcilerError, os_reason
from reconciler.fleet.model import SecretReference

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


def digest(*parts: str) -> str:
    """A digest that names a secret or a scope without revealing it."""
    return hashlib.sha256("\0".join(("reconciler.fleet/1", *parts)).encode()).hexdigest()
