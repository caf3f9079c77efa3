"""The URL of a service: its canonical form, and whether it is safe to send a token there. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from reconciler.errors import UsageError

TOKEN_VARIABLE: Final = "RECONCILER_TOKEN"  # noqa: S105  the name of the variable, not a token
PORTS: Final = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9._-]+", re.ASCII)
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)*", re.ASCII)


def normalise(base_url: str) -> str:
    """The canonical form of a base URL: scheme and host in lower case, no default port, no trailing slash, no version of the API.

    Raises UsageError for anything but an https URL, or an http one on the loopback interface. The message repeats no part of a URL with
    credentials.
    """
    hint = "Write it like https://api.example.com."
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        raise UsageError("the URL of the service is invalid", id="RC-service-url", hint=hint) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError("the URL of the service contains credentials", id="RC-url-credentials", hint=f"Set {TOKEN_VARIABLE} instead.")
    host, segments = (parts.hostname or "").lower(), parts.path.split("/")
    while segments and segments[-1] in ("", "v1"):  # documents of the service write it with the version
        segments.pop()
    path = "/".join(segments)
    # `urlsplit` drops line breaks and tabs silently, and the URL that is confirmed must be the one that is used.
    plain = base_url.strip().isprintable()
    if parts.scheme not in PORTS or not host or not plain or parts.query or parts.fragment or _PATH.fullmatch(path) is None:
        raise UsageError(f"{base_url!r} is not the URL of a service", id="RC-service-url", hint=hint)
    if {".", ".."} & set(path.split("/")):
        raise UsageError(f"the URL {base_url!r} contains .. in its path", id="RC-service-url", hint=hint)
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
