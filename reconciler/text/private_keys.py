"""Private keys in texts: whether a text contains one, and the text without it. Pure.

In: any text, such as the content of a file. A key is recognized by its frame (PEM of any type, OpenSSH, PGP, PuTTY), however its lines are
broken, indented or escaped, and without a frame by its first bytes in base64 (PKCS#1, PKCS#8, SEC 1, PKCS#12, OpenSSH). A frame that
documentation shows without a key in it (`-----BEGIN PRIVATE KEY-----` and `...`) is none.
"""

from __future__ import annotations

import base64
import binascii
import re
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
