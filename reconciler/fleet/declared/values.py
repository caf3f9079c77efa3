"""Readers of values of fleet.yaml with a format: durations, references, git URLs, paths, windows. Pure; problems are reported.

A reader is what a row of the table of keys says: it gets the reader of the map, and the row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import time
from typing import Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from reconciler.config.key import Key
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, Scalar
from reconciler.config.source.problems import Mistake, described, items_of, shown
from reconciler.config.source.state_url import without_secrets
from reconciler.errors import UsageError
from reconciler.fleet.drift_groups import MORNING, NEVER, NOW
from reconciler.fleet.model import Event, SecretReference, Window
from reconciler.fleet.people import ALL, canonical
from reconciler.text.names import did_you_mean, one_of
from reconciler.text.service_url import normalise

Reader = Callable[[KeyReader, Key], Any]

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
CLAIM: Final = re.compile(r"[A-Za-z0-9._-]{1,100}\*?|\*", re.ASCII)
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
SOPS: Final = re.compile(r"(SOPS|AWS|GOOGLE|AZURE|VAULT)_[A-Z0-9_]{1,99}", re.ASCII)  # how the sops command finds its keys
REFERENCE_FORM: Final = "write {env: NAME} or {file: /PATH}"
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_DURATION: Final = re.compile(r"([1-9][0-9]{0,7})(s|m|h|d)", re.ASCII)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
TIME: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)
_WHEN: Final = re.compile(rf"{NOW}|{NEVER}|{TIME.pattern}", re.ASCII)
_REF: Final = re.compile(r"(?!.*(\.\.|@\{))[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,250}(?<!\.lock)(?<!/)", re.ASCII)
_SCP: Final = re.compile(r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[A-Za-z0-9._~/-]+", re.ASCII)
_SEGMENT: Final = re.compile(r"(?!(\.|\.\.|\.git)$)[^\x00-\x1f\\]+")

# -- texts -------------------------------------------------------------------------------------------------------------------------------


def text(value: Callable[[str], Any]) -> Reader:
    """The reader of a text. `value`: what it means, or what is wrong with it, as the rest of the sentence."""

    def reader(keys: KeyReader, key: Key) -> Any:
        written = keys.text(key.name)
        result = value(written[0]) if written is not None else key.default
        if written is None or not isinstance(result, Mistake):
            return result
        keys.problems.add(written[1], f"{keys.path(key.name)} {result.message}", id=result.id)
        return key.default

    return reader


def texts(value: Callable[[str], Any]) -> Reader:
    """The reader of a list of texts, each of them once. `value`: as for `text`, after "contains"."""

    def reader(keys: KeyReader, key: Key) -> list[Any]:
        path, entry, result = keys.path(key.name), keys.entries[key.name], []
        nodes = items_of(entry, "a list", f"write {key.example}", keys.problems.add, name=path)
        if isinstance(entry.node, List) and len(nodes) < key.least:
            way = f"write {key.example}{'' if key.required else ', or leave it out'}"
            keys.problems.add(entry.node.at, f"{path} must not be empty; {way}", id="RC-empty-list")
        for node in nodes:
            text = node.text if isinstance(node, Scalar) and not node.null else ""
            read = value(text) if text else Mistake("RC-wrong-form", f"{described(node)}; it must be text")
            if isinstance(read, Mistake):
                keys.problems.add(node.at, f"{path} contains {read.message}", id=read.id)
            else:
                result.append(read)
        return list(dict.fromkeys(result))

    return reader


def _matching(pattern: re.Pattern[str], must: str, id: str = "RC-not-a-key") -> Callable[[str], str | Mistake]:
    return lambda text: text if pattern.fullmatch(text) else Mistake(id, f"is {shown(text)}; {must}")


def _option(options: tuple[str, ...]) -> Callable[[str], str | Mistake]:
    """One of some texts, in a list."""
    return lambda text: (
        text if text in options else Mistake("RC-unknown-choice", f"{shown(text)}; {one_of(options)}{did_you_mean(text, options)}")
    )


def duration(least: int, most: int) -> Reader:
    """A number of seconds, written as 30s, 10m, 2h or 1d."""

    def value(text: str) -> int | Mistake:
        match = _DURATION.fullmatch(text)
        if match is None:
            return Mistake("RC-not-a-duration", f"is {shown(text)}; write a time such as 30s, 10m, 2h or 1d")
        seconds = int(match[1]) * _SECONDS[match[2]]
        if least <= seconds <= most:
            return seconds
        return Mistake("RC-out-of-range", f"is {text}; it must be from {in_words(least)} to {in_words(most)}")

    return text(value)


def in_words(seconds: int) -> str:
    """The shortest way to write a number of seconds: 600 is 10m."""
    unit = next(unit for unit in ("d", "h", "m", "s") if seconds % _SECONDS[unit] == 0)
    return f"{seconds // _SECONDS[unit]}{unit}"


def _git(text: str) -> str | Mistake:
    problem = _git_problem(text)
    return Mistake("RC-fleet-source", problem) if problem is not None else text


def _git_problem(text: str) -> str | None:
    """What is wrong with the URL of a repository: it must not contain a password, or what git would read as an option or a program."""
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
    if parts.scheme == "http" and host not in LOOPBACK:
        return "would send the files unencrypted; use https"
    return None


def _service(text: str) -> str | Mistake:
    try:
        return normalise(text)
    except UsageError as error:
        return Mistake(error.id, f"cannot be used: {error.message}")


def _folder(text: str) -> str | Mistake:
    """A path inside a repository, without a slash at its ends."""
    path = text.removeprefix("./").rstrip("/") or "."
    if path == "." or all(_SEGMENT.fullmatch(part) for part in path.split("/")):
        return path
    return Mistake("RC-fleet-source", f"is {shown(text)}; it must be a path inside the repository")


def _zone(text: str) -> str | Mistake:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return Mistake("RC-unknown-choice", f"is {shown(text)}; it must be a time zone such as Europe/Berlin")
    return text


def url(*, path: bool) -> Reader:
    """https://HOST, or http:// of this machine. `path`: a path is allowed."""

    def value(text: str) -> str | Mistake:
        try:
            parts = urlsplit(text)
            secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
            whole = secure and parts.hostname and parts.username is None and not parts.query and not parts.fragment and parts.port != 0
            if whole and text.isprintable() and " " not in text and (path or parts.path in ("", "/")):
                return text if path else text.rstrip("/")
        except ValueError:
            pass
        form = "https://HOST/PATH" if path else "https://HOST"
        return Mistake("RC-fleet-dashboard-url", f"is {without_secrets(text)}; it must be {form}")

    return text(value)


def _day(text: str) -> int | Mistake:
    """The number of a day; 0 is Monday."""
    day = _option(DAYS)(text.lower())
    return day if isinstance(day, Mistake) else DAYS.index(day)


def _tenant(text: str) -> str | Mistake:
    return text if text == ALL or NAME.fullmatch(text) else Mistake("RC-not-a-key", f"{shown(text)}, which is not a tenant")


def _email(text: str) -> str | Mistake:
    return text if "@" in text.strip("@") else Mistake("RC-wrong-form", f"{shown(text)}, which is not an e-mail address")


name: Final = text(_matching(NAME, "it must be 1 to 100 letters, digits or any of . _ -"))
claim: Final = text(_matching(CLAIM, "it must be the name of a project, or a prefix and *, such as blue-*"))
git: Final = text(_git)
ref: Final = text(_matching(_REF, "it must be a branch, a tag or a commit", "RC-fleet-source"))
folder: Final = text(_folder)
service: Final = text(_service)
zone: Final = text(_zone)
moment: Final = text(_matching(TIME, "write a time of day such as 22:00", "RC-not-a-duration"))
when: Final = text(_matching(_WHEN, f"write {NOW}, {NEVER}, or a time of day such as {MORNING}", "RC-unknown-choice"))
words: Final = texts(str)
events: Final = texts(_option(tuple(Event)))
tenants: Final = texts(_tenant)
emails: Final = texts(_email)
days: Final = texts(_day)

# -- references --------------------------------------------------------------------------------------------------------------------------


def reference(keys: KeyReader, key: Key) -> SecretReference | None:
    """The location of a secret. A literal value is refused, and never repeated in the message."""
    return _reference(keys, key.name)


def secret(keys: KeyReader, key: Key) -> str | None:
    """The same as text, for the settings."""
    location = _reference(keys, key.name)
    return str(location) if location is not None else None


def _reference(keys: KeyReader, key: str) -> SecretReference | None:
    path, node = keys.path(key), keys.entries[key].node
    wrong = f"{path} must not be in this file; {REFERENCE_FORM} to say where it is"
    if isinstance(node, Map):
        inner = KeyReader(path, node.entries, keys.problems)
        variable, file = inner.text("env"), inner.text("file")
        inner.rest()
        wrong = ""
        if len(node.entries.keys() & {"env", "file"}) == 2:
            wrong = f"{path} has both env and file; {REFERENCE_FORM}"
        elif not node.entries:
            wrong = f"{path} is an empty map; {REFERENCE_FORM}"
        elif variable is not None and VARIABLE.fullmatch(variable[0]) is None:
            node, wrong = node.entries["env"].node, f"{path}.env must be the name of an environment variable, such as ACME_TOKEN"
        elif file is not None and (not file[0].startswith("/") or "\0" in file[0]):
            node, wrong = node.entries["file"].node, f"{path}.file must be the absolute path of a file"
        elif variable is not None or file is not None:
            return SecretReference("env", variable[0]) if variable is not None else SecretReference("file", (file or ("",))[0])
    if wrong:
        keys.problems.add(node.at, wrong, id="RC-secret-in-fleet-file")
    return None


def named(value: Callable[[KeyReader, str], Any], names: re.Pattern[str], wrong: str) -> Reader:
    """The reader of a map of such names. `value`: of one of its keys, None with a problem; `wrong`: what another name is."""

    def reader(keys: KeyReader, key: Key) -> dict[str, Any]:
        inner, values = keys.inside(key), dict[str, Any]()
        for name, entry in inner.entries.items():
            if names.fullmatch(name) is None:
                keys.problems.add(entry.at, f"{inner.name} contains {shown(name)}, {wrong}", id="RC-variable-name")
            else:
                values[name] = value(inner, name)
        return values

    return reader


def _value(keys: KeyReader, name: str) -> str | None:
    node = keys.entries[name].node
    if isinstance(node, Scalar) and not node.empty:
        return node.text
    keys.problems.add(node.at, f"{keys.path(name)} must be one value, not {described(node)}", id="RC-wrong-form")
    return None


NO_VARIABLE: Final = "which cannot be the name of a variable"
variables: Final = named(_value, VARIABLE, NO_VARIABLE)
secrets: Final = named(_reference, VARIABLE, NO_VARIABLE)
sops: Final = named(_reference, SOPS, "which is not a variable of the sops command")

# -- maps --------------------------------------------------------------------------------------------------------------------------------


def windows(keys: KeyReader, key: Key) -> tuple[Window, ...]:
    """When changes may be applied."""
    result = []
    for inner in keys.maps(key):
        values = inner.data(key.keys)
        opens, closes = values["from"], values["until"]
        if opens is not None and opens == closes and inner.at is not None:
            wrong = f"{inner.name} opens and closes at the same time; write another `until`"
            keys.problems.add(inner.at, wrong, id="RC-not-a-duration")
        elif opens is not None and closes is not None:
            result.append(Window(tuple(sorted(values["days"])), time.fromisoformat(opens), time.fromisoformat(closes), values["zone"]))
    return tuple(result)


def written(keys: KeyReader, key: Key) -> dict[str, Any]:
    """The values of a map that are written or have a default."""
    return {name: value for name, value in keys.inside(key).data(key.keys).items() if value is not None}


def one_or_more(keys: KeyReader, key: Key) -> list[dict[str, Any]]:
    """A map, or a list of such maps."""
    node = keys.entries[key.name].node
    if isinstance(node, List) and not node.items:
        keys.problems.add(node.at, f"{keys.path(key.name)} must not be empty; write [{{{key.example}}}]", id="RC-empty-list")
    return [inner.data(key.keys) for inner in (keys.maps(key) if isinstance(node, List) else [keys.inside(key)])]


def people(keys: KeyReader, key: Key) -> list[dict[str, Any]]:
    """Whose addresses are whose: no address has two people."""
    people, owners = [], dict[str, int]()
    for number, inner in enumerate(keys.maps(key)):
        people.append(inner.data(key.keys))
        for address in people[-1]["addresses"]:
            owner = owners.setdefault(canonical(address), number)
            if owner != number:
                twice = f"{shown(address)} is an address of {key.name}[{owner}] too; each has one person"
                keys.problems.add(inner.entries["addresses"].node.at, twice, id="RC-declared-twice")
    return people


def dashboard(keys: KeyReader, key: Key) -> dict[str, Any]:
    """Where the dashboard is, and who may do what there: people return from their provider to its URL."""
    inner = keys.inside(key)
    values = inner.data(key.keys)
    if values["oidc"] is not None and "url" not in inner.entries and not inner.meant("url"):
        wrong = "dashboard.oidc requires dashboard.url, to which people return: https://HOST"
        keys.problems.add(inner.entries["oidc"].at, wrong, id="RC-missing-key")
    return values


def scopes(keys: KeyReader, key: Key) -> list[str]:
    """What is asked of a provider: openid always."""
    return list(dict.fromkeys(("openid", *words(keys, key))))
