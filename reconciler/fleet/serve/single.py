"""The only person of a dashboard without a provider: whoever can read the terminal of `fleet serve`, on this machine."""

from __future__ import annotations

import hmac
import secrets
import threading
from dataclasses import dataclass, field

from reconciler.fleet.people import ALL, Person, Role

WAY = "single"


@dataclass
class SinglePerson:
    """`name`: for the audit log. `token`: sent by programs as `Authorization: Bearer`, None for none. `root`: the path below which a
    browser is logged in: it sends the cookies of 127.0.0.1 to every port, but those of a path only to that path, which no other program
    knows."""

    name: str
    token: str | None = None
    root: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(24)}")
    _code: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def person(self) -> Person:
        return Person(self.name, {ALL: Role.ADMIN})

    def link(self, url: str) -> str:
        """The link that logs in once."""
        return f"{url}{self.root}/login?token={self._code}"

    def exchange(self, code: str) -> bool:
        """Whether a code is the one of the link; the link then gets a new code."""
        with self._lock:
            if not hmac.compare_digest(code.encode(), self._code.encode()):
                return False
            self._code = secrets.token_urlsafe(24)
            return True

    def is_bearer(self, token: str) -> bool:
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())
