"""The project file's own settings: the service, the location of the state, the limits of a run. Pure, except that it resolves paths.

In: the evaluated top of the project file. Out: `ProjectSettings`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import urlsplit

from reconciler.config.canonical import digest
from reconciler.config.source import state_url
from reconciler.config.source.nodes import Map, MapEntry, Problems, Scalar, StandIn, described, empty, shown, untainted, wrong_form
from reconciler.config.words import CREATE_STRATEGIES, IGNORE_CHANGES, ServiceSection
from reconciler.model import Desired, Ignore, Source
from reconciler.text.state_urls import backend_of, file_of, forms, url_of
from reconciler.text.suggest import closest, did_you_mean, one_of

CreateStrategy = Literal["snapshot"]

STATE = "state"
DEFAULT_STATE = ".reconciler/state.db"
TIMEOUT_DEFAULT = 30.0  # seconds for one request, including everything
SETTLE_DEFAULT = 30.0  # seconds to wait out a request in doubt
SECONDS_MAX = 86_400.0

_EMAIL = re.compile(r"[^@\s/]+@[^@\s/]+")
_PROJECT = re.compile(r"[A-Za-z0-9._-]{1,100}", re.ASCII)

T = TypeVar("T", bound=str)


@dataclass(frozen=True)
class ProjectSettings:
    """How to run a project. `root`: its directory. `sandbox`: the file of the embedded service, used instead of `base_url`. `member`: the
    e-mail of the token's owner. `timeout` and `settle`: seconds. `state`: a URL, the path of SQLite made absolute; `state_in_yaml` and
    `settle_written`: the YAML contains the value. `marks`: created objects have a marker as their name first. `files`: every file that
    was read, the project file first."""

    project: str
    root: Path
    base_url: str | None = None
    sandbox: Path | None = None
    member: str | None = None
    timeout: float = TIMEOUT_DEFAULT
    state: str = ""
    state_in_yaml: bool = False
    settle: float = SETTLE_DEFAULT
    settle_written: bool = False
    marks: bool = False
    create_strategy: CreateStrategy = "snapshot"
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Project:
    """A project as loaded. `sensitive`: values from the environment and from secrets, to be masked wherever text leaves the program.
    `supplied`: texts of `--var-file`. `unused`: declarations without effect, by name (`vars.brand`), and where. `undecrypted`: the
    encrypted files of which only the names were checked; `encrypted`: it names some. `variables`: the names of those that it declares;
    `unset`: those with a placeholder as their value. `ignores`: accepted findings. `texts`: the SHA-256 of every file that was read, also
    by an expression, by its name below the project."""

    settings: ProjectSettings
    desired: Desired
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
    supplied: frozenset[str] = field(default=frozenset(), repr=False)
    unused: Mapping[str, Source] = field(default_factory=dict)
    undecrypted: tuple[str, ...] = ()
    encrypted: bool = False
    variables: frozenset[str] = frozenset()
    unset: tuple[str, ...] = ()
    ignores: tuple[Ignore, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each probable mistake."""
        accepted = {ignore.address for ignore in self.ignores if ignore.id == "unused-variable"}
        variables = [(at, name) for name, at in self.unused.items() if name.startswith("vars.") and not accepted & {"", "*", name}]
        ineffective = [(at, name.partition(".")[2]) for name, at in self.unused.items() if name.startswith(f"{IGNORE_CHANGES}.")]
        return (
            *(f"{at}  {name} is not used; remove it, or use it" for at, name in sorted(variables)),
            *(f"{at}  {IGNORE_CHANGES}: nothing is ignored by {name}; correct it, or remove it" for at, name in sorted(ineffective)),
        )

    @cached_property
    def digest(self) -> str:
        """The digest of the evaluated configuration."""
        return digest(self.desired)


@dataclass(eq=False)
class KeyReader:
    """The keys of one map of settings, read one by one; `rest` reports unread keys."""

    name: str
    entries: Mapping[str, MapEntry]
    problems: Problems
    known: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, entry: MapEntry | None, problems: Problems, *, example: str = "…") -> KeyReader:
        """The map of a key, empty with a problem if it is not a map. `example`: the text between the braces in the message."""
        if entry is not None and isinstance(entry.node, Map):
            return cls(name, entry.node.entries, problems)
        if entry is not None:
            nothing = isinstance(entry.node, Scalar) and entry.node.empty
            wrong = empty(name) if nothing else f"{name} must be a map, not {described(entry.node)}; write {{{example}}}"
            problems.add(entry.node.at, wrong, id=wrong_form(entry.node))
        return cls(name, {}, problems)

    def path(self, key: str) -> str:
        if " " in self.name:  # "a policy", which has no name of its own in the YAML
            return f"{key} of {self.name}"
        return f"{self.name}.{key}" if self.name else key

    def entry(self, key: str) -> MapEntry | None:
        self.known.append(key)
        return self.entries.get(key)

    def scalar(self, key: str) -> Scalar | None:
        """The scalar of a key; None, with a problem, if it is missing or not a scalar."""
        entry = self.entry(key)
        if entry is None:
            return None
        node, name = entry.node, self.path(key)
        if isinstance(node, Scalar) and node.empty:
            self.problems.add(node.at, empty(name), id="RC-no-value")
        elif not isinstance(node, Scalar) or node.null:
            self.problems.add(node.at, f"{name} must be one value, not {described(node)}", id="RC-wrong-form")
        elif isinstance(node.value, StandIn):
            return None
        elif untainted(node, name, self.problems.add):
            return node
        return None

    def text(self, key: str) -> tuple[str, Source] | None:
        node = self.scalar(key)
        if node is None:
            return None
        if not node.text:
            self.problems.add(node.at, f"{self.path(key)} must be text, not {described(node)}", id=wrong_form(node))
            return None
        return node.text, node.at

    def choice(self, key: str, options: tuple[T, ...]) -> T | None:
        found = self.text(key)
        if found is None:
            return None
        for option in options:
            if option == found[0]:
                return option
        self.problems.add(
            found[1], f"{self.path(key)} is {shown(found[0])}; {one_of(options)}{did_you_mean(found[0], options)}", id="RC-unknown-choice"
        )
        return None

    def number(self, key: str, default: float, *, least: float = 0.0, most: float = SECONDS_MAX, above: bool = False) -> float:
        """A number between two bounds; `above`: more than `least`, not equal."""
        node = self.scalar(key)
        if node is None:
            return default
        value = node.core()
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.problems.add(node.at, f"{self.path(key)} must be a number, not {described(node)}", id="RC-not-a-number")
        elif not (least < value if above else least <= value) or not value <= most:
            bounds = f"{'more than' if above else 'at least'} {least:g} and at most {most:g}"
            self.problems.add(node.at, f"{self.path(key)} is {described(node)}; it is {bounds}", id="RC-out-of-range")
        else:
            return float(value)
        return default

    def whole(self, key: str, default: int) -> int:
        value = self.number(key, float(default), most=1_000_000_000)
        if value != int(value):
            node = self.entries[key].node
            self.problems.add(node.at, f"{self.path(key)} must be a whole number, not {described(node)}", id="RC-not-a-number")
            return default
        return int(value)

    def meant(self, key: str) -> bool:
        """Whether an unknown key was probably meant to be this one: the message about it is then enough."""
        return any(closest(other, (key,)) for other in self.entries if other not in self.known)

    def rest(self) -> None:
        """Report the keys that were not read."""
        for key, entry in self.entries.items():
            if key not in self.known:
                inside = f" in {self.name}" if self.name else ""
                self.problems.add(entry.at, f'unknown key "{key}"{inside}{did_you_mean(key, self.known)}', id="RC-unknown-key")


def read_settings(top: KeyReader, begin: Source, root: Path, problems: Problems) -> ProjectSettings:
    """The settings of a project file that begins at a position; invalid ones are reported and have their defaults."""
    version = top.scalar("version")
    if version is not None and version.core() != 1:
        problems.add(version.at, f"version is {described(version)}; this program knows version 1", id="RC-version")
    elif "version" not in top.entries:
        problems.add(begin, "version is missing; write version: 1", id="RC-missing-key")
    project = top.text("project")
    if project is None and "project" not in top.entries:
        problems.add(begin, "project is missing; write the name of the project", id="RC-missing-key")
    elif project is not None and _PROJECT.fullmatch(project[0]) is None:
        problems.add(
            project[1], f"project is {shown(project[0])}; it must be 1 to 100 letters, digits or any of . _ -", id="RC-project-name"
        )
    service = KeyReader.of(ServiceSection.SECTION, top.entry(ServiceSection.SECTION), problems)
    base, sandbox, member = service.text(ServiceSection.BASE_URL), service.text(ServiceSection.SANDBOX), service.text(ServiceSection.MEMBER)
    timeout = service.number(ServiceSection.TIMEOUT, TIMEOUT_DEFAULT, above=True)
    service.rest()
    if base is not None and not _is_base(base[0]):
        problems.add(
            base[1], f"service.baseUrl is {_safe(base[0])}; it must be https://host, without user, query or fragment", id="RC-service-url"
        )
    if base is not None and sandbox is not None:
        problems.add(sandbox[1], "service.sandbox and service.baseUrl cannot be combined; write one of them", id="RC-settings-conflict")
    if member is not None and _EMAIL.fullmatch(member[0]) is None:
        wrong = f"service.member is {shown(member[0])}; it must be the e-mail of the member who owns the token"
        problems.add(member[1], wrong, id="RC-not-an-e-mail")
        member = None
    recovery = KeyReader.of("recovery", top.entry("recovery"), problems)
    settle = recovery.number("settle", SETTLE_DEFAULT)
    strategy = recovery.choice("createStrategy", CREATE_STRATEGIES)
    recovery.rest()
    state = top.text(STATE)
    return ProjectSettings(
        project=project[0] if project is not None else "",
        root=root,
        base_url=base[0] if base is not None else None,
        sandbox=root / sandbox[0] if sandbox is not None else None,
        member=member[0] if member is not None else None,
        timeout=timeout,
        state=_state(state, root, problems),
        state_in_yaml=state is not None,
        settle=settle,
        settle_written="settle" in recovery.entries,
        marks=strategy == "marker",
    )


def _is_base(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
            and parts.username is None and not parts.query and not parts.fragment
        )  # fmt: skip
    except ValueError:
        return False


def _safe(url: str) -> str:
    """A URL inside a sentence, without what could be a secret."""
    return shown(re.sub(r"//[^/@]*@", "//…@", url).partition("?")[0])


def databases(top: Map, root: Path) -> list[Path]:
    """The files of the state and of the sandbox, as far as they are known already: `file()` returns neither."""
    silent = Problems([])
    words = KeyReader("", top.entries, silent)
    sandbox = KeyReader.of(ServiceSection.SECTION, words.entry(ServiceSection.SECTION), silent).text(ServiceSection.SANDBOX)
    state = file_of(_state(words.text(STATE), root, silent))
    return [root / DEFAULT_STATE, *([Path(state)] if state else []), *([root / sandbox[0]] if sandbox is not None else [])]


def _state(found: tuple[str, Source] | None, root: Path, problems: Problems) -> str:
    if found is None:
        return url_of(root / DEFAULT_STATE)
    url, at = found
    backend = backend_of(url)
    if backend is None or "://" not in url:
        wrong = f"state is {_safe(url)}; it must be {forms(yaml=True)}"
        problems.add(at, wrong, id="RC-state-url")
        return ""
    if backend.is_file:
        path = file_of(url)
        if not url.startswith(url_of(path)) or not path or "?" in path:
            problems.add(at, f"state is {shown(url)}; write sqlite:///FILE for a file, relative to the project", id="RC-state-url")
            return ""
        return url_of(root / path)
    mistake = state_url.mistake(url)
    if mistake is not None:
        problems.add(at, mistake.message, id=mistake.id)
        return ""
    return url
