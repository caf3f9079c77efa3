"""What every request of the dashboard needs: the database, the present settings, the URL."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from reconciler.fleet.serve.feed import Feed
from reconciler.fleet.serve.settings import ServeSettings, of_data
from reconciler.fleet.serve.single import SinglePerson
from reconciler.fleet.store import FleetDatabase, projects

FRESH_SECONDS: Final = 3.0  # after which a new fleet file is noticed
SEEN_MAX: Final = 20_000


@dataclass
class Dashboard:
    """`url`: the URL that people open, without a final slash. `single`: the only person, None if a provider identifies people. `say`: for
    the log; `show`: for the terminal only, such as a link that logs in."""

    database: FleetDatabase
    url: str
    single: SinglePerson | None
    say: Callable[[str], None]
    show: Callable[[str], None]
    feed: Feed
    _settings: tuple[float, ServeSettings] | None = None
    _seen: OrderedDict[Any, None] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_secure(self) -> bool:
        return self.url.startswith("https://")

    @property
    def root(self) -> str:
        """The path below which browsers get the pages; "" where a provider identifies people."""
        return self.single.root if self.single is not None else ""

    @property
    def cookie(self) -> str:
        """The name of the cookie. Ports of one host share cookies, so a plain one has its port in its name."""
        return "__Host-reconciler" if self.is_secure else f"reconciler-{urlsplit(self.url).port or 80}"

    def settings(self) -> ServeSettings:
        """The present settings of the fleet file."""
        read, now = self._settings, time.monotonic()
        if read is None or now - read[0] > FRESH_SECONDS:
            with self.database.transaction() as connection:
                read = self._settings = (now, of_data(projects.settings(connection)))
        return read[1]

    def is_first(self, *key: str) -> bool:
        """Whether this process sees a key for the first time, as far as it remembers."""
        with self._lock:
            if key in self._seen:
                self._seen.move_to_end(key)
                return False
            self._seen[key] = None
            if len(self._seen) > SEEN_MAX:
                self._seen.popitem(last=False)
            return True


def site_of(request: HTTPConnection) -> Dashboard:
    """The site of a request."""
    site: Dashboard = request.app.state.site
    return site
