"""Certificates as people recognize them, and as they are sent. The only module that uses `cryptography`.

In: any text. Out: a summary or a day, None if the text is not a certificate; or the certificates in the text, without what is around them.
Without `cryptography` only the fingerprint is known, and of a certificate only its frame is checked.

Private keys in texts: whether a text contains one, and the text without it. Pure.

In: any text, such as the content of a file. A key is recognized by its frame (PEM of any type, OpenSSH, PGP, PuTTY), however its lines are
broken, indented or escaped, and without a frame by its first bytes in base64 (PKCS#1, PKCS#8, SEC 1, PKCS#12, OpenSSH). A frame that
documentation shows without a key in it (`-----BEGIN PRIVATE KEY-----` and `...`) is none.
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

_SPACE: Final = r"(?:\s|\\[nrt]|[\x00\"',|>+\\])"  # between the lines of a key that is inside YAML, JSON or a program
_NAME: Final = r"[A-Z0-9 ]{0,40}PRIVATE[ _]KEY(?: BLOCK)?"
_BODY: Final = "[A-Za-z0-9+/=]"
_FRAMED: Final = re.compile(
    rf"-{{3,5}}\s?BEGIN {_NAME}\s?-{{3,5}}{_SPACE}{{0,200}}+"
    # headers, as of an encrypted key; one after the other, they could be read in so many ways that a line never ends
    rf"(?:[A-Z-]{{1,40}}+:(?:[^-]|-(?!--)){{0,1040}}?{_SPACE})?"
    rf"{_BODY}{{16}}",  # words of a sentence are shorter
    re.IGNORECASE,
)
_WHOLE: Final = re.compile(rf"-{{3,5}}\s?BEGIN {_NAME}\s?-{{3,5}}.*?(?:-{{3,5}}\s?END {_NAME}\s?-{{3,5}}|\Z)", re.IGNORECASE | re.DOTALL)
_PUTTY: Final = re.compile(r"PuTTY-User-Key-File-\d(?:(?!PuTTY-User-Key-File-).)*?\bPrivate-(?:Lines|MAC|Hash): *\S+", re.DOTALL)
_OPENSSH: Final = "b3BlbnNzaC1rZXktdjE"  # the base64 of "openssh-key-v1"
_BARE_KEY: Final = re.compile(r"(?:M[A-P][A-Za-z0-9+/]|b3BlbnNzaC1rZXktdjE)[A-Za-z0-9+/=\s\\]{40,}")
_HINTS: Final = ("KEY", "key", _OPENSSH)
_MARK: Final = "(private key hidden)"

INTEGER: Final = 0x02
SEQUENCE: Final = 0x30
PKCS_OIDS: Final = (
    bytes.fromhex("2a864886f70d01050d"),  # PBES2: an encrypted PKCS#8 key
    bytes.fromhex("2a864886f70d01050a"),
    bytes.fromhex("2a864886f70d01050b"),
    bytes.fromhex("2a864886f70d010503"),
    bytes.fromhex("2a864886f70d010c01"),  # PKCS#12 encryption
)


def has_private_key(text: str) -> bool:
    """Whether a text contains a private key."""
    if len(text) < 24:
        return False
    if any(hint in text for hint in _HINTS) and (_FRAMED.search(text) is not None or _PUTTY.search(text) is not None):
        return True
    if "\x00" in text and has_private_key(text.replace("\x00", "")):  # UTF-16 that was read as UTF-8
        return True
    start = text.lstrip("\ufeff \t\r\n\"'")[:20]
    return (
        start.startswith(("M", _OPENSSH[:10]))
        and (bare := _BARE_KEY.fullmatch(text.strip("\ufeff \t\r\n\"'"))) is not None
        and is_key(bare.group())
    )


def without_private_keys(text: str) -> str:
    """The text with a mark instead of each private key."""
    if not has_private_key(text):
        return text
    if _FRAMED.search(text) is None and _PUTTY.search(text) is None:
        return _MARK
    return _PUTTY.sub(_MARK, _WHOLE.sub(lambda match: _MARK if _FRAMED.search(match.group()) else match.group(), text))


def is_key(text: str) -> bool:
    """Whether a text without a frame is the base64 of a private key."""
    plain = re.sub(r"[\s\\]", "", text)
    if plain.startswith(_OPENSSH):
        return True
    try:
        return is_key_of_bytes(base64.b64decode(plain + "=" * (-len(plain) % 4)))
    except (binascii.Error, ValueError):
        return False


def is_key_of_bytes(der: bytes) -> bool:
    """Whether bytes are a private key in DER: PKCS#1, PKCS#8 encrypted or not, SEC 1, or PKCS#12, which can contain one."""
    inner = _contents(der)
    if inner is None:
        return False
    if inner[:1] == bytes([INTEGER]):  # a version comes first; a certificate and a request begin with a sequence
        version, following = inner[1:3], inner[3:4]
        if version in (b"\x01\x00", b"\x01\x01") and following in (b"\x02", b"\x30", b"\x04"):
            return True
        return version == b"\x01\x03" and following == b"\x30"
    algorithm = _contents(inner)
    return algorithm is not None and algorithm[:1] == b"\x06" and any(algorithm[2 : 2 + len(oid)] == oid for oid in PKCS_OIDS)


def _contents(der: bytes) -> bytes | None:
    """What a sequence contains, and what follows it; None if the bytes do not begin with a sequence."""
    if len(der) < 8 or der[0] != SEQUENCE:
        return None
    return der[2:] if der[1] < 0x80 else der[2 + (der[1] & 0x7F) :]


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
