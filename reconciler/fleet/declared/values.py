"""Values of fleet.yaml with a format: durations, references, git URLs, paths, windows. Pure; problems are reported."""

from __future__ import annotations

import re
from datetime import time
from typing import Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from reconciler.client import normalise
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Scalar
from reconciler.config.source.problems import described, shown
from reconciler.errors import UsageError
from reconciler.fleet.declared.keys import DAYS
from reconciler.fleet.model import SecretReference, Window
from reconciler.model import Source
from reconciler.text.names import did_you_mean, one_of

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
CLAIM: Final = re.compile(r"[A-Za-z0-9._-]{1,100}\*?|\*", re.ASCII)
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
SOPS: Final = re.compile(r"(SOPS|AWS|GOOGLE|AZURE|VAULT)_[A-Z0-9_]{1,99}", re.ASCII)  # how the sops command finds its keys
REFERENCE_FORM: Final = "write {env: NAME} or {file: /PATH}"
_DURATION: Final = re.compile(r"([1-9][0-9]{0,7})(s|m|h|d)", re.ASCII)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
TIME: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)
_REF: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,250}", re.ASCII)
_SCP: Final = re.compile(r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[A-Za-z0-9._~/-]+", re.ASCII)
_SEGMENT: Final = re.compile(r"[^\x00-\x1f\\]+")


def name(keys: KeyReader, key: str) -> str | None:
    """A name of letters, digits and . _ -"""
    value = keys.text(key)
    if value is None:
        return None
    if NAME.fullmatch(value[0]) is None:
        keys.problems.add(
            value[1], f"{keys.path(key)} is {shown(value[0])}; it must be 1 to 100 letters, digits or any of . _ -", id="RC-not-a-key"
        )
        return None
    return value[0]


def claim(keys: KeyReader, key: str) -> str | None:
    """A project name, or a prefix of project names and `*`."""
    value = keys.text(key)
    if value is None:
        return None
    if CLAIM.fullmatch(value[0]) is None:
        wrong = f"{keys.path(key)} is {shown(value[0])}; it must be the name of a project, or a prefix and *, such as blue-*"
        keys.problems.add(value[1], wrong, id="RC-not-a-key")
        return None
    return value[0]


def duration(keys: KeyReader, key: str, default: int, *, least: int, most: int) -> int:
    """A number of seconds, written as 30s, 10m, 2h or 1d."""
    value = keys.text(key)
    if value is None:
        return default
    match = _DURATION.fullmatch(value[0])
    if match is None:
        keys.problems.add(
            value[1], f"{keys.path(key)} is {shown(value[0])}; write a time such as 30s, 10m, 2h or 1d", id="RC-not-a-duration"
        )
        return default
    seconds = int(match[1]) * _SECONDS[match[2]]
    if not least <= seconds <= most:
        keys.problems.add(
            value[1], f"{keys.path(key)} is {value[0]}; it must be from {in_words(least)} to {in_words(most)}", id="RC-out-of-range"
        )
        return default
    return seconds


def in_words(seconds: int) -> str:
    """The shortest way to write a number of seconds: 600 is 10m."""
    unit = next(unit for unit in ("d", "h", "m", "s") if seconds % _SECONDS[unit] == 0)
    return f"{seconds // _SECONDS[unit]}{unit}"


def flag(keys: KeyReader, key: str, default: bool) -> bool:
    scalar = keys.scalar(key)
    if scalar is None:
        return default
    value = scalar.core()
    if not isinstance(value, bool):
        keys.problems.add(scalar.at, f"{keys.path(key)} is {described(scalar)}; it must be true or false", id="RC-wrong-form")
        return default
    return value


def reference(keys: KeyReader, key: str) -> SecretReference | None:
    """The location of a secret. A literal value is refused, and never repeated in the message."""
    entry = keys.entry(key)
    if entry is None:
        return None
    path, node = keys.path(key), entry.node
    if not isinstance(node, Map):
        keys.problems.add(node.at, f"{path} must not be in this file; {REFERENCE_FORM} to say where it is", id="RC-secret-in-fleet-file")
        return None
    inner = KeyReader(path, node.entries, keys.problems)
    variable, file = inner.text("env"), inner.text("file")
    inner.rest()
    if (variable is None) == (file is None):
        if "env" in node.entries and "file" in node.entries:
            keys.problems.add(node.at, f"{path} has both env and file; {REFERENCE_FORM}", id="RC-secret-in-fleet-file")
        elif not node.entries:
            keys.problems.add(node.at, f"{path} is an empty map; {REFERENCE_FORM}", id="RC-secret-in-fleet-file")
        return None
    if variable is not None:
        if VARIABLE.fullmatch(variable[0]) is None:
            keys.problems.add(
                variable[1], f"{path}.env must be the name of an environment variable, such as ACME_TOKEN", id="RC-secret-in-fleet-file"
            )
            return None
        return SecretReference("env", variable[0])
    assert file is not None
    if not file[0].startswith("/") or "\0" in file[0]:
        keys.problems.add(file[1], f"{path}.file must be the absolute path of a file", id="RC-secret-in-fleet-file")
        return None
    return SecretReference("file", file[0])


def service(keys: KeyReader, key: str) -> str | None:
    """The URL of a service."""
    value = keys.text(key)
    if value is None:
        return None
    try:
        return normalise(value[0])
    except UsageError as error:
        keys.problems.add(value[1], f"{keys.path(key)}: {error.message}", id=error.id)
        return None


def git(keys: KeyReader, key: str) -> str | None:
    """The URL of a repository: without a password, and without text that git would read as an option or a program."""
    value = keys.text(key)
    if value is None:
        return None
    text, path = value[0], keys.path(key)
    problem = git_problem(text)
    if problem is not None:
        keys.problems.add(value[1], f"{path} {problem}", id="RC-fleet-source")
        return None
    return text


def git_problem(text: str) -> str | None:
    """What is wrong with the URL of a repository, as the rest of a sentence."""
    form = "must be https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or file:///PATH"
    if _SCP.fullmatch(text):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return form
    if not text.isprintable() or " " in text or parts.scheme not in ("https", "http", "ssh", "file") or not parts.path.strip("/"):
        return form
    if parts.password is not None or (parts.scheme in ("https", "http") and parts.username is not None):
        return "contains credentials; use ssh, or a credential helper of git on the workers"
    if parts.scheme == "file":
        return form if parts.netloc else None
    host = parts.hostname or ""
    if not host or host.startswith("-") or (parts.username or "").startswith("-"):
        return form
    if parts.scheme == "http" and host not in ("localhost", "127.0.0.1", "::1"):
        return "would send the files unencrypted; use https"
    return None


def ref(keys: KeyReader, key: str) -> str:
    value = keys.text(key)
    if value is None:
        return "HEAD"
    bad = _REF.fullmatch(value[0]) is None or ".." in value[0] or "@{" in value[0] or value[0].endswith((".lock", "/"))
    if bad:
        keys.problems.add(value[1], f"{keys.path(key)} is {shown(value[0])}; it must be a branch, a tag or a commit", id="RC-fleet-source")
        return "HEAD"
    return value[0]


def folder(keys: KeyReader, key: str, default: str = ".") -> str:
    """A path inside a repository, without a slash at its ends."""
    value = keys.text(key)
    if value is None:
        return default
    text = value[0].removeprefix("./").rstrip("/") or "."
    parts = text.split("/")
    if text != "." and any(part in ("", ".", "..", ".git") or _SEGMENT.fullmatch(part) is None for part in parts):
        keys.problems.add(value[1], f"{keys.path(key)} is {shown(value[0])}; it must be a path inside the repository", id="RC-fleet-source")
        return default
    return text


def windows(keys: KeyReader, key: str) -> tuple[Window, ...]:
    entry = keys.entry(key)
    if entry is None:
        return ()
    path, node = keys.path(key), entry.node
    if not isinstance(node, List):
        keys.problems.add(node.at, f"{path} must be a list: [{{from: 22:00, until: 06:00}}]", id="RC-wrong-form")
        return ()
    spans = [
        _window(KeyReader.of(f"{path}[{number}]", MapEntry("", item.at, item), keys.problems), item.at)
        for number, item in enumerate(node.items)
    ]
    return tuple(window for window in spans if window is not None)


def _window(keys: KeyReader, at: Source) -> Window | None:
    before = len(keys.problems.found)
    days, opens, closes, zone = _days(keys), _time(keys, "from", at), _time(keys, "until", at), time_zone(keys)
    keys.rest()
    if opens is None or closes is None or len(keys.problems.found) > before:
        return None
    if opens == closes:
        keys.problems.add(at, f"{keys.name} opens and closes at the same time; write another `until`", id="RC-not-a-duration")
        return None
    return Window(days, opens, closes, zone)


def _days(keys: KeyReader) -> tuple[int, ...]:
    entry = keys.entry("days")
    if entry is None:
        return tuple(range(7))
    if not isinstance(entry.node, List):
        keys.problems.add(entry.node.at, f"{keys.path('days')} must be a list: [monday, tuesday]", id="RC-wrong-form")
        return ()
    days = set()
    for item in entry.node.items:
        text = item.text.lower() if isinstance(item, Scalar) else ""
        if text in DAYS:
            days.add(DAYS.index(text))
        else:
            keys.problems.add(
                item.at,
                f"{keys.path('days')} contains {described(item)}; {one_of(DAYS)}{did_you_mean(text, DAYS)}",
                id="RC-unknown-choice",
            )
    return tuple(sorted(days))


def _time(keys: KeyReader, key: str, at: Source) -> time | None:
    if key not in keys.entries:
        keys.problems.add(at, f"{keys.name} has no {key}; write {{from: 22:00, until: 06:00}}", id="RC-missing-key")
    value = keys.text(key)
    if value is None:
        return None
    if TIME.fullmatch(value[0]) is None:
        keys.problems.add(value[1], f"{keys.path(key)} is {shown(value[0])}; write a time of day such as 22:00", id="RC-not-a-duration")
        return None
    return time.fromisoformat(value[0])


def time_zone(keys: KeyReader) -> str:
    value = keys.text("zone")
    if value is None:
        return "UTC"
    try:
        ZoneInfo(value[0])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        keys.problems.add(
            value[1], f"{keys.path('zone')} is {shown(value[0])}; it must be a time zone such as Europe/Berlin", id="RC-unknown-choice"
        )
        return "UTC"
    return value[0]
