"""Certificates as people recognize them: subject, expiry and fingerprint. The only module that uses `cryptography`.

In: any text. Out: a summary or a day; None if the text is not a certificate. Without `cryptography` only the fingerprint is known.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from datetime import date
from functools import lru_cache
from typing import Final

LENGTH_MIN: Final = 200  # characters of base64; no certificate is shorter
LENGTH_MAX: Final = 100_000  # characters that are read
FINGERPRINT: Final = 16  # hexadecimal digits that are shown
DER: Final = b"\x30\x82"  # a sequence of more than 255 bytes, as every certificate is
_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----")
_BARE: Final = re.compile(r"MI[A-Za-z0-9+/\s]+={0,2}\s*")


@lru_cache(maxsize=1_000)
def certificate(text: str) -> str | None:
    """`CN=idp.example, expires 2036-02-11, sha256 ab12cd34ef56ab78…`; for a chain, its first certificate. None if the text is not a
    certificate."""
    blocks = _blocks(text)
    der = _decoded(blocks)
    if der is None:
        return None
    read = _read(der)
    parts = [] if read is None else [read[0] or "without a subject", f"expires {read[1]:%Y-%m-%d}"]
    parts.append(f"sha256 {hashlib.sha256(der).hexdigest()[:FINGERPRINT]}…")
    more = f" and {len(blocks) - 1:,} more" if len(blocks) > 1 else ""
    return f"{', '.join(parts)}{more}"


@lru_cache(maxsize=1_000)
def expiry(text: str) -> date | None:
    """The last day of a certificate; for a chain, of its first one. None if unknown."""
    der = _decoded(_blocks(text))
    read = _read(der) if der is not None else None
    return None if read is None else read[1]


def _blocks(text: str) -> list[str]:
    if not LENGTH_MIN <= len(text) <= LENGTH_MAX:
        return []
    return _PEM.findall(text) or ([text] if _BARE.fullmatch(text) else [])


def _decoded(blocks: list[str]) -> bytes | None:
    """The bytes of the first block; None if it is not a certificate."""
    try:
        der = base64.b64decode("".join(blocks[0].split()), validate=True) if blocks else b""
    except (binascii.Error, ValueError):
        return None
    return der if der.startswith(DER) else None


def _read(der: bytes) -> tuple[str, date] | None:
    """The subject and the expiry; None if they cannot be read."""
    import warnings

    try:
        from cryptography import x509
        from cryptography.exceptions import UnsupportedAlgorithm
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the service decides whether an unusual certificate is valid
            read = x509.load_der_x509_certificate(der)
            return read.subject.rfc4514_string(), read.not_valid_after_utc.date()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
