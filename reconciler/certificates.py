"""Which certificate authorities this program trusts, for every library that opens a TLS connection.

In: `SSL_CERT_FILE` and `SSL_CERT_DIR`, the variables of OpenSSL. Out: a context that verifies, or an error that says what to correct.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import certifi

from reconciler.errors import ReconcilerError, UsageError

AUTHORITIES: Final = "Correct it, or unset it to trust the usual certificate authorities."
REINSTALL: Final = "Install reconciler again: a file of the package certifi is missing."
HASHED: Final = re.compile(r"[0-9a-f]{8}\.[0-9]+")  # how OpenSSL finds a certificate in a directory


# Reading the authorities takes 30 ms, so one context serves every connection of a process.
@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """The context that verifies certificates: with the authorities of SSL_CERT_FILE, else of SSL_CERT_DIR, else of the built-in list."""
    file, folders = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    name, value = ("SSL_CERT_FILE", file) if file else ("SSL_CERT_DIR", folders)
    if folders and not file:
        _check_folders(folders)
    try:
        if file or folders:
            return ssl.create_default_context(cafile=file or None, capath=None if file else folders)
        # The built-in list: containers often have none of their own, and Python on macOS does not read the system's.
        return ssl.create_default_context(cafile=certifi.where())
    except ssl.SSLError:
        raise UsageError(
            f"{name} names {value}, which contains no certificate in PEM format", id="RC-certificates", hint=AUTHORITIES
        ) from None
    except (OSError, ValueError) as error:  # ValueError: an unpaired surrogate in the path
        if not value:
            raise ReconcilerError(
                f"the list of certificate authorities cannot be read: {_reason(error)}", id="RC-certificates-missing", hint=REINSTALL
            ) from error
        raise UsageError(f"{name} names {value}, which cannot be read: {_reason(error)}", id="RC-certificates", hint=AUTHORITIES) from error


def _check_folders(folders: str) -> None:
    """Raise `UsageError` if SSL_CERT_DIR lists no directory with a certificate."""
    # OpenSSL does not complain about such a directory: it would trust nobody, and every connection would fail without a hint.
    if not any(HASHED.fullmatch(name) for folder in folders.split(os.pathsep) for name in _names(folder)):
        hint = f"`openssl rehash {folders}` makes the names OpenSSL looks for. {AUTHORITIES}"
        raise UsageError(f"SSL_CERT_DIR names {folders}, which contains no certificates", id="RC-certificates", hint=hint)


def _names(folder: str) -> Iterator[str]:
    try:
        yield from (path.name for path in Path(folder).iterdir())
    except (OSError, ValueError):
        return


def _reason(error: Exception) -> str:
    return ((error.strerror if isinstance(error, OSError) else None) or "unknown reason").lower()
