"""The proxy that the environment names for a host: HTTPS_PROXY and NO_PROXY, as curl reads them.

In: a host and the environment. Out: a URL and headers for aiohttp, whose own reading of the environment (`trust_env`) would also read
~/.netrc and send those credentials in place of our token. Forbidden: I/O.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

from reconciler.errors import UsageError


def proxy_for(host: str, environ: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
    """The URL of the proxy and its headers. Raises `UsageError` for an invalid URL, without repeating a password."""
    name = "https_proxy" if environ.get("https_proxy") else "HTTPS_PROXY"
    url = environ.get(name)
    excluded = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if not url or proxy_bypass_environment(host, {"no": excluded}):
        return None, {}
    parts = _parts(url)
    if parts is None:
        raise UsageError(
            f"{name} is not the URL of an HTTP proxy", id="RC-proxy-url", hint=f"Write it like http://proxy.example:3128, or unset {name}."
        )
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if parts.username is None:
        return address, {}
    # The credentials leave the URL, because aiohttp's errors contain it.
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return address, {"Proxy-Authorization": "Basic " + b64encode(pair.encode()).decode()}


def _parts(url: str) -> SplitResult | None:
    """The parts of a proxy's URL; None if it is invalid."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        url.encode()  # an unpaired surrogate cannot be sent
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and " " not in parts.netloc
    except ValueError:
        return None
    return parts if usable else None
