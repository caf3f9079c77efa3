"""The URL of the service and the limits of requests to it.

In: values of the command line or the environment. Out: `ClientSettings`, checked, with a normalized base URL.
Forbidden: I/O, reading the environment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from reconciler.client.pacing import Clock, SharedBudget
from reconciler.errors import UsageError

TOKEN_VARIABLE: Final = "RECONCILER_TOKEN"  # noqa: S105  the name of the variable, not a token
BODY_MAX: Final = 64 * 1024 * 1024  # decoded bytes; the largest page measured, 1,000 members, is under 2 MB
PORTS: Final = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9._-]+", re.ASCII)
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)*", re.ASCII)
_TOKEN = re.compile(r"[!-~]+", re.ASCII)  # visible ASCII: what a header can carry without being split or re-encoded


def normalise(base_url: str) -> str:
    """The canonical form of a base URL: scheme and host in lower case, no default port, no trailing slash.

    Raises UsageError for anything but an https URL, or an http one on the loopback interface. The message repeats no part of a URL with
    credentials.
    """
    hint = "Write it like https://api.example.com, without /v1."
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        raise UsageError("the URL of the service is invalid", id="RC-service-url", hint=hint) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError("the URL of the service contains credentials", id="RC-url-credentials", hint=f"Set {TOKEN_VARIABLE} instead.")
    host, path = (parts.hostname or "").lower(), parts.path.rstrip("/")
    # `urlsplit` drops line breaks and tabs silently, and the URL that is confirmed must be the one that is used.
    plain = base_url.strip().isprintable()
    if parts.scheme not in PORTS or not host or not plain or parts.query or parts.fragment or _PATH.fullmatch(path) is None:
        raise UsageError(f"{base_url!r} is not the URL of a service", id="RC-service-url", hint=hint)
    if {".", ".."} & set(path.split("/")):
        raise UsageError(f"the URL {base_url!r} contains .. in its path", id="RC-service-url", hint=hint)
    if path.endswith("/v1"):
        raise UsageError(f"the URL {base_url!r} ends with /v1, which is added automatically", id="RC-service-url", hint=hint)
    if "[" in parts.netloc:
        if not is_address(host) or "%" in host:
            raise UsageError(f"{base_url!r} is not the URL of a service", id="RC-service-url", hint=hint)
        shown = f"[{host}]"
    # Two scripts have letters that look the same. The xn-- form shows which host it is, to people and to the list of confirmed hosts.
    elif _HOST.fullmatch(host) is None:
        raise UsageError(
            f"the host in {base_url!r} is not ASCII", id="RC-service-url", hint="Write an internationalized name in its xn-- form."
        )
    else:
        shown = host
    # Also where only GETs are sent: each carries the token.
    if parts.scheme == "http" and not is_loopback(host):
        wrong = f"{base_url!r} would send the token unencrypted"
        raise UsageError(wrong, id="RC-unencrypted-url", hint="Use https; plain http is only for the loopback interface.")
    return f"{parts.scheme}://{shown}" + (f":{port}" if port not in (None, PORTS[parts.scheme]) else "") + path


def is_loopback(host: str) -> bool:
    """Whether requests to `host` cannot leave this machine."""
    return host == "localhost" or (is_address(host) and ip_address(host).is_loopback)


def is_address(host: str) -> bool:
    """Whether a host is the number of a machine, and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


_MACHINE: Final = Clock()


@dataclass(frozen=True)
class ClientSettings:
    """A service, its token and the limits of requests to it. The repr does not contain the token.

    `timeout`: seconds for one exchange, from connecting to the last byte of the answer.
    `max_rps`: requests a second that are never exceeded; None: only the service limits the rate.
    `max_body`: bytes of one decoded body. `secrets`: texts masked in the service's messages, besides the token.
    `budget`: what this process shares with others that use the same token; None if it is alone. `clock`: what waiting is measured with.
    """

    base_url: str
    token: str = field(repr=False)
    timeout: float = 30.0
    max_concurrency: int = 64
    max_rps: float | None = None
    max_body: int = BODY_MAX
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    budget: SharedBudget | None = field(default=None, repr=False)
    clock: Clock = field(default=_MACHINE, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", normalise(self.base_url))
        if not self.token:
            raise UsageError("there is no token for the service", id="RC-no-token", hint=f"Set {TOKEN_VARIABLE}.")
        if _TOKEN.fullmatch(self.token) is None:
            wrong = "the token contains white space or non-ASCII characters"
            raise UsageError(wrong, id="RC-token-characters", hint=f"Check {TOKEN_VARIABLE} for a line break.")
        for name in ("timeout", "max_concurrency", "max_rps", "max_body"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} is {value}, and must be more than 0", id="RC-option-value")
