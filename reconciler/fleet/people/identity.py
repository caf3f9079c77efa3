"""Who somebody is: an issuer and a subject, which no other person ever has; and e-mail addresses in the form in which they are compared.

A name is for people to read. It decides nothing: two people can have the same one, and one person can have two.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Final

from reconciler.text.escape import is_plain, terminal

OPERATOR: Final = "operator"  # the issuer of whoever can write to the database: a user of the commands
_ACCOUNT_NUMBER: Final = re.compile(r"[0-9]+[+-]")  # in the addresses that forges give to people who hide theirs
_NUMBER_ON_GITHUB: Final = re.compile(r"[0-9]+\+")  # where the name of an account, which people choose, may begin with 1-
_NOREPLY: Final = "users.noreply."
_GITHUB: Final = f"{_NOREPLY}github.com"
EMAIL_MAX: Final = 254  # characters
UNREADABLE: Final = "(no readable address)"  # the end of the name of an author who can be nobody that is known
_IN_NO_ADDRESS: Final = frozenset(" <>,;\ufffd")
_DOTLESS: Final = {"gmail.com", "googlemail.com"}  # dots in the local part mean nothing there


@dataclass(frozen=True)
class Identity:
    """A person as an issuer names them. `addresses`: e-mail addresses that are theirs, as `canonical` returns them."""

    issuer: str
    subject: str
    addresses: frozenset[str] = field(default_factory=frozenset)

    @property
    def key(self) -> tuple[str, str]:
        return self.issuer, self.subject


def operator(name: str) -> Identity:
    """A user of the commands, who says their own name. An e-mail address in it counts as theirs, so that it never makes one person two."""
    return Identity(OPERATOR, folded(name), frozenset({canonical(name)}) if "@" in name else frozenset())


def author(name: str, address: str) -> str:
    """The address of whoever wrote a commit. If it is empty, or people would not read it as what it is, nobody can be matched to it: then
    the name and the address as they are displayed, which nobody has as an address."""
    written = address.strip(" ").casefold()
    local, _, host = folded(written).rpartition("@")
    plain = all(is_plain(character) and character not in _IN_NO_ADDRESS for character in written)
    if local and host and plain and len(written) <= EMAIL_MAX:
        return written
    return " ".join(filter(None, [terminal(f"{name.strip()} {address}".strip())[:EMAIL_MAX], UNREADABLE]))


def is_readable(author: str) -> bool:
    """Whether the author of a commit has an address, so that somebody can be matched to it."""
    return not author.endswith(UNREADABLE)


def folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().casefold()


def canonical(address: str) -> str:
    """An e-mail address without what does not change whose it is: case, what follows a plus, the account's number in a noreply address."""
    local, at, host = folded(address).rpartition("@")
    if not at:
        return folded(address)
    host = host.strip().rstrip(".")
    if host.startswith(_NOREPLY):
        number = _NUMBER_ON_GITHUB if host == _GITHUB else _ACCOUNT_NUMBER
        return f"{number.sub('', local, count=1)}@{host}"
    local = local.partition("+")[0] or local
    return f"{local.replace('.', '')}@gmail.com" if host in _DOTLESS else f"{local}@{host}"
