"""Certificates as people recognize them, and as they are sent. The only module that uses `cryptography`.

In: any text. Out: a summary or a day, None if the text is not a certificate; or the certificates in the text, without what is around them.
Without `cryptography` only the fingerprint is known, and of a certificate only its frame is checked.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import warnings
from datetime import date
from functools import lru_cache
from typing import Final

from reconciler.text.private_keys import has_private_key

LENGTH_MIN: Final = 200  # characters of base64; no certificate is shorter
LENGTH_MAX: Final = 100_000  # characters that are read
FINGERPRINT: Final = 16  # hexadecimal digits that are shown
DER: Final = b"\x30\x82"  # a sequence of more than 255 bytes, as every certificate is
_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----")
_BARE: Final = re.compile(r"MI[A-Za-z0-9+/\s]+={0,2}\s*")
_LINE: Final = 64  # characters of base64 in a line of PEM
_FRAME: Final = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]{1,40})-----")
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,40})-----((?:(?!-----(?:BEGIN|END) ).)*+)-----END \1-----", re.DOTALL)
_LABELS: Final = ("CERTIFICATE", "X509 CERTIFICATE")
_EXPECTED: Final = "expected a certificate in PEM format, which begins with -----BEGIN CERTIFICATE-----"


class NoCertificate(ValueError):
    """A text is not a certificate. Its message says what it is instead, and contains no part of it."""


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


# -- as they are sent ---------------------------------------------------------------------------------------------------------------


def certificate_content(text: str) -> str:
    """The certificates in a text, in their order, each in PEM as `openssl x509` writes it. Raises `NoCertificate`.

    Text around them is dropped. The content of one block without its frame is a certificate too, as metadata of providers has it.
    """
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if has_private_key(text) or "PRIVATE KEY" in text:
        raise NoCertificate("it contains a private key, which must not leave the provider; write its certificate only")
    blocks = _BLOCK.findall(text)
    if len(_FRAME.findall(text)) != 2 * len(blocks):
        raise NoCertificate(f"it has a BEGIN line without its END line, or the reverse; {_EXPECTED}")
    other = next((label for label, _ in blocks if label not in _LABELS), None)
    if other is not None:
        raise NoCertificate(f"it contains a {other}; {_EXPECTED}")
    if not blocks and _BARE.fullmatch(text.strip() + "\n") is None:
        raise NoCertificate(f"it is none; {_EXPECTED}")
    bodies = [body for _, body in blocks] or [text]
    return "".join(_framed(_checked(body, number, len(bodies))) for number, body in enumerate(bodies, 1))


def _checked(body: str, number: int, count: int) -> bytes:
    """The bytes of a certificate. Raises `NoCertificate`."""
    which = f"its certificate {number} of {count}" if count > 1 else "its certificate"
    try:
        der = base64.b64decode("".join(body.split()), validate=True)
    except (binascii.Error, ValueError):
        raise NoCertificate(f"{which} is not base64; copy the whole file of the provider") from None
    if not is_certificate(der):
        raise NoCertificate(f"{which} cannot be read; copy the whole file of the provider")
    return der


def is_certificate(der: bytes) -> bool:
    """Whether bytes are one certificate and nothing else; without `cryptography`, whether they may be."""
    try:
        from cryptography import x509
        from cryptography.exceptions import UnsupportedAlgorithm
    except ImportError:
        return der.startswith(DER)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the service decides whether an unusual certificate is valid
            x509.load_der_x509_certificate(der)
    except UnsupportedAlgorithm:
        return True  # it can be read, and its key is of a new kind
    except (ValueError, TypeError):
        return False
    return True


def _framed(der: bytes) -> str:
    text = base64.b64encode(der).decode("ascii")
    lines = "\n".join(text[at : at + _LINE] for at in range(0, len(text), _LINE))
    return f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"
