"""Pushes in the webhooks of forges: whether the forge signed them, and which repository and branch changed. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

SIGNED_SECONDS: Final = 300  # by which the time in a signature may differ
_DEFAULT_PORTS: Final = {"https": 443, "http": 80, "ssh": 22}
_SIGNING: Final = "whsec_"
_GITHUB: Final = re.compile(r"sha256=[0-9a-f]{64}", re.ASCII)
_GITLAB: Final = re.compile(r"v1,[A-Za-z0-9+/]{43}=", re.ASCII)


@dataclass(frozen=True)
class Push:
    """A branch or tag that changed. `repositories`: the forms of its URL in the webhook; `default`: its default branch, "" if unknown."""

    repositories: frozenset[str]
    ref: str
    default: str = ""

    def concerns(self, git: str, ref: str) -> bool:
        """Whether a project of a repository and a ref may have changed."""
        short = self.ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
        if ref == "HEAD":
            return repository(git) in self.repositories and self.ref.startswith("refs/heads/") and short == (self.default or short)
        return repository(git) in self.repositories and ref in (self.ref, short)


def repository(url: str) -> str:
    """The common form of all URLs of a repository: `https://git@HOST:443/A/B.git`, `ssh://…` and `git@HOST:A/B` are `HOST/a/b`."""
    if "://" not in url:
        _, _, place = url.rpartition("@")
        host, _, path = place.partition(":")
        return _joined(host, path)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    host = parts.hostname or ""
    return _joined(host if port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}", unquote(parts.path))


def _joined(host: str, path: str) -> str:
    path = path.strip("/").lower().removesuffix(".git").rstrip("/")
    return f"{host.lower()}/{path}" if path else ""


def may_be_signed_by_github(headers: Mapping[str, str], secret: str, now: float) -> bool:
    """Whether the headers can belong to a signed body, which is not read before."""
    return _GITHUB.fullmatch(headers.get("x-hub-signature-256", "")) is not None


def is_signed_by_github(body: bytes, headers: Mapping[str, str], secret: str) -> bool:
    """Whether `X-Hub-Signature-256` is the signature of the body."""
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(headers.get("x-hub-signature-256", "").encode(), expected.encode())


def github_delivery(body: bytes, headers: Mapping[str, str]) -> str:
    """The identity of a delivery: what is signed. A push has the time of the push, so that no two are the same."""
    return hashlib.sha256(b"github\0" + body).hexdigest()


def may_be_signed_by_gitlab(headers: Mapping[str, str], secret: str, now: float) -> bool:
    """Whether the headers can belong to a signed body, or have the secret token; the body is not read before."""
    if not secret.startswith(_SIGNING):
        return hmac.compare_digest(headers.get("x-gitlab-token", "").encode(), secret.encode())
    signatures = headers.get("webhook-signature", "").split()
    return _is_recent(headers, now) and any(_GITLAB.fullmatch(signature) for signature in signatures)


def is_signed_by_gitlab(body: bytes, headers: Mapping[str, str], secret: str) -> bool:
    """Whether the body is signed with a signing token (`whsec_…`, as in Standard Webhooks), or comes with a secret token."""
    if not secret.startswith(_SIGNING):
        return hmac.compare_digest(headers.get("x-gitlab-token", "").encode(), secret.encode())
    try:
        key = b64decode(secret.removeprefix(_SIGNING), validate=True)
    except ValueError:
        return False
    text = f"{headers.get('webhook-id', '')}.{headers.get('webhook-timestamp', '')}.".encode() + body
    expected = b"v1," + b64encode(hmac.new(key, text, hashlib.sha256).digest())
    matches = [hmac.compare_digest(signature.encode(), expected) for signature in headers.get("webhook-signature", "").split()]
    return any(matches)


def gitlab_delivery(body: bytes, headers: Mapping[str, str]) -> str:
    """The identity of a delivery: its signed id, or the id that GitLab gives it. A branch can go back and forth between two commits, so
    that two pushes differ in their ids only."""
    known = headers.get("webhook-id") or headers.get("idempotency-key", "")
    return hashlib.sha256(b"gitlab\0" + known.encode() + b"\0" + body).hexdigest()


def _is_recent(headers: Mapping[str, str], now: float) -> bool:
    try:
        return abs(now - int(headers.get("webhook-timestamp", "")[:20])) <= SIGNED_SECONDS
    except ValueError:
        return False


def of_github(data: Mapping[str, Any]) -> Push | None:
    """The push of a `push` event; None for other events and for deleted branches."""
    about = data.get("repository")
    if not isinstance(about, dict) or data.get("deleted") is True:
        return None
    return _push(data, about, ("clone_url", "ssh_url", "git_url", "html_url", "url"))


def of_gitlab(data: Mapping[str, Any]) -> Push | None:
    """The push of a `Push Hook` or a `Tag Push Hook`; None for other events and for deleted branches."""
    about, after = data.get("project"), data.get("after")
    if not isinstance(about, dict) or data.get("object_kind") not in ("push", "tag_push"):
        return None
    if isinstance(after, str) and not after.strip("0"):
        return None
    return _push(data, about, ("git_http_url", "git_ssh_url", "http_url", "ssh_url", "web_url", "homepage", "url"))


def _push(data: Mapping[str, Any], about: Mapping[str, Any], keys: tuple[str, ...]) -> Push | None:
    urls = {repository(url) for key in keys if isinstance(url := about.get(key), str) and len(url) < 2_000} - {""}
    ref, default = data.get("ref"), about.get("default_branch")
    if not urls or not isinstance(ref, str) or not ref.startswith(("refs/heads/", "refs/tags/")):
        return None
    return Push(frozenset(urls), ref[:500], default if isinstance(default, str) else "")
