"""The project file's own settings: the service, the location of the state, the limits of a run; and the rules of the whole project.

In: the evaluated top of the project file. Out: `ProjectSettings`, and the parts of `Desired` that belong to no resource (`prune`,
`protect`, `guards`, `lint`). Pure, except that it resolves paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from reconciler.config.canonical import digest
from reconciler.config.key import Key
from reconciler.config.keys import (
    COUNT_MAX,
    GUARDS,
    IGNORE,
    IGNORE_CHANGES,
    PROJECT,
    RECOVERY,
    RULES,
    SANDBOX,
    SECONDS_MAX,
    SERVICE,
    SETTLE_DEFAULT,
    STATE,
    STATE_KEY,
    TIMEOUT_DEFAULT,
)
from reconciler.config.source.nodes import Map, MapEntry, Scalar, StandIn
from reconciler.config.source.problems import Problems, described, empty, items_of, report_form, shown, untainted, wrong_form
from reconciler.model import Desired, Guards, Source
from reconciler.model.lint import RULES as LINT_RULES, Ignore
from reconciler.resource import PRUNE_SCOPES, Kinds
from reconciler.text.backends import file_of, url_of
from reconciler.text.names import closest, did_you_mean, one_of

DEFAULT_STATE = ".reconciler/state.db"

T = TypeVar("T", bound=str)


@dataclass(frozen=True)
class ProjectSettings:
    """How to run a project."""

    project: str
    # The directory of the project.
    root: Path
    base_url: str | None = None
    # The file of the embedded service, used instead of `base_url`.
    sandbox: Path | None = None
    # The e-mail of the token's owner.
    member: str | None = None
    read_people: bool = False
    # Seconds for one request.
    timeout: float = TIMEOUT_DEFAULT
    # A URL; the path of SQLite is absolute.
    state: str = ""
    state_in_yaml: bool = False
    # Seconds to wait out a request in doubt.
    settle: float = SETTLE_DEFAULT
    settle_written: bool = False
    # Created objects have a marker as their name first.
    marks: bool = False
    # The file with the repository's conventions for agents, as the YAML names it.
    conventions: str | None = None
    # Every file that was read, the project file first.
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Project:
    """A project as loaded."""

    settings: ProjectSettings
    desired: Desired
    # Values from the environment and from secrets, to be masked wherever text leaves the program.
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
    # The texts of `--var-file`.
    supplied: frozenset[str] = field(default=frozenset(), repr=False)
    # Declarations without effect by name (`vars.brand`), and where they are.
    unused: Mapping[str, Source] = field(default_factory=dict)
    # The encrypted files of which only the names were checked.
    undecrypted: tuple[str, ...] = ()
    # Whether the project names encrypted files.
    encrypted: bool = False
    # The names of declared variables, and of those that have a placeholder as their value.
    variables: frozenset[str] = frozenset()
    unset: tuple[str, ...] = ()
    # The variables with a value that is a text and no secret.
    variable_texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Accepted findings of lint.
    ignores: tuple[Ignore, ...] = ()
    # The SHA-256 of every file that was read, also by an expression, by its name below the project.
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
    # Where the map is; None: there is none, so nothing is missing in it.
    at: Source | None = None

    @classmethod
    def of(cls, name: str, entry: MapEntry | None, problems: Problems, *, example: str = "…") -> KeyReader:
        """The map of a key, empty with a problem if it is not a map. `example`: the text between the braces in the message."""
        if entry is not None and isinstance(entry.node, Map):
            return cls(name, entry.node.entries, problems, at=entry.node.at)
        if entry is not None:
            report_form(entry.node, name, "a map", f"write {{{example}}}", problems.add)
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
            # `timeout:` with nothing after it is a line that somebody meant to fill in; YAML says null, which would mean the default.
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
        written = self.text(key)
        if written is None:
            return None
        text, at = written
        for option in options:
            if option == text:
                return option
        wrong = f"{self.path(key)} is {shown(text)}; {one_of(options)}{did_you_mean(text, options)}"
        self.problems.add(at, wrong, id="RC-unknown-choice")
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

    def whole(self, key: str, default: int, *, most: float = COUNT_MAX) -> int:
        value = self.number(key, float(default), most=most)
        if value != int(value):
            node = self.entries[key].node
            self.problems.add(node.at, f"{self.path(key)} must be a whole number, not {described(node)}", id="RC-not-a-number")
            return default
        return int(value)

    def flag(self, key: str) -> bool:
        """`true` or `false`; False, with a problem, for anything else."""
        node = self.scalar(key)
        value = node.core() if node is not None else False
        if node is not None and not isinstance(value, bool):
            self.problems.add(node.at, f"{self.path(key)} must be true or false, not {described(node)}", id="RC-wrong-form")
        return value is True

    def values(self, keys: Iterable[Key]) -> dict[str, Any]:
        """The values of keys by their names in Python; a key that is missing has its default, and so has an invalid number or choice. The
        keys of a map are `max_delete_percent`. Keys that another module reads count as known, and have no value here."""
        values: dict[str, Any] = {}
        for key in keys:
            name = key.attribute
            if key.form == "map":
                values |= {f"{name}_{inside}": value for inside, value in self.map(key).items()}
            elif self.entry(key.name) is None or key.form in ("list", "other"):
                values |= {name: key.default} if key.form not in ("list", "other") else {}
            else:
                values[name] = self._value(key)
        return values

    def _value(self, key: Key) -> Any:
        """The value of a key that is written and has only one."""
        if key.form == "number":
            return self.number(key.name, key.default, least=key.least, most=key.most or SECONDS_MAX, above=key.above)
        if key.form == "whole":
            return self.whole(key.name, key.default or 0, most=key.most or COUNT_MAX)
        if key.form == "flag":
            return self.flag(key.name)
        return self.choice(key.name, key.options) or key.default if key.form == "choice" else self._checked(key)

    def map(self, key: Key) -> dict[str, Any]:
        """The values of the map of a key; its unknown keys are reported."""
        inner = self.inside(key)
        values = inner.values(key.keys)
        inner.rest()
        return values

    def inside(self, key: Key) -> KeyReader:
        """The reader of the map of a key."""
        return KeyReader.of(self.path(key.name), self.entry(key.name), self.problems, example=key.example)

    def maps(self, key: Key) -> list[KeyReader]:
        """The readers of the maps in the list of a key, called `people[0]`; what is not a map is reported."""
        nodes = items_of(self.entry(key.name), "a list", f"write [{{{key.example}}}]", self.problems.add, name=self.path(key.name))
        entries = [(self.path(f"{key.name}[{number}]"), MapEntry("", node.at, node)) for number, node in enumerate(nodes)]
        readers = [KeyReader.of(name, entry, self.problems, example=key.example) for name, entry in entries]
        return [reader for reader in readers if reader.at is not None]

    def data(self, keys: Iterable[Key]) -> dict[str, Any]:
        """The values of all keys of the map by their names in the YAML, also of the maps and lists in it; a key that is missing has its
        default. Required and unknown keys are reported."""
        data: dict[str, Any] = {}
        for key in (keys := tuple(keys)):
            if self.entry(key.name) is None:
                data[key.name] = key.default
            elif key.reader is not None:
                data[key.name] = key.reader(self, key)
            elif key.form == "list":
                data[key.name] = [inner.data(key.keys) for inner in self.maps(key)]
            else:
                data[key.name] = self.inside(key).data(key.keys) if key.form == "map" else self._value(key)
        self.rest()
        if self.at is not None:
            self._report_missing(keys, self.at)
        return data

    def _report_missing(self, keys: tuple[Key, ...], at: Source) -> None:
        missing = self.missing(keys)
        for key in (key for key in keys if key.name in missing):
            value = f"{{{key.example}}}" if key.form == "map" else key.example
            way = f"write {key.name}: {value}{f' here or in {key.elsewhere}' if key.elsewhere else ''}"
            self.problems.add(at, f"{self.path(key.name)} is missing; {way}", id="RC-missing-key")

    def _checked(self, key: Key) -> str | None:
        """A text. One that its check refuses is reported and returned: what is compared with it may be wrong as well."""
        written = self.text(key.name)
        mistake = key.check(written[0]) if written is not None and key.check is not None else None
        if written is not None and mistake is not None:
            self.problems.add(written[1], mistake.message, id=mistake.id)
        return written[0] if written is not None else key.default

    def meant(self, key: str) -> bool:
        """Whether an unknown key was probably meant to be this one: the message about it is then enough."""
        # `asert: …` is reported as unknown, with its suggestion; that `assert` is missing too would be the same mistake twice.
        return any(closest(other, (key,)) for other in self.entries if other not in self.known)

    def missing(self, keys: Iterable[Key]) -> list[str]:
        """The required keys that are neither written nor meant by a misspelled one."""
        return [key.name for key in keys if key.required and key.name not in self.entries and not self.meant(key.name)]

    def rest(self) -> None:
        """Report the keys that were not read."""
        for key, entry in self.entries.items():
            if key not in self.known:
                inside = f" in {self.name}" if self.name else ""
                self.problems.add(entry.at, f'unknown key "{key}"{inside}{did_you_mean(key, self.known)}', id="RC-unknown-key")


def read_settings(top: KeyReader, begin: Source, root: Path) -> ProjectSettings:
    """The settings of a project file that begins at a position; invalid ones are reported and have their defaults."""
    problems = top.problems
    version = top.scalar("version")
    if version is not None and version.core() != 1:
        problems.add(version.at, f"version is {described(version)}; this program knows version 1", id="RC-version")
    elif "version" not in top.entries:
        problems.add(begin, "version is missing; write version: 1", id="RC-missing-key")
    if "project" not in top.entries:
        problems.add(begin, "project is missing; write the name of the project", id="RC-missing-key")
    values, service = top.values(key for key in PROJECT if key.role == "setting" and not key.feature), top.entries.get(SERVICE.name)
    if values["service_base_url"] is not None and values["service_sandbox"] is not None and service is not None:
        assert isinstance(service.node, Map)
        at = service.node.entries[SANDBOX].node.at
        problems.add(at, "service.sandbox and service.baseUrl cannot be combined; write one of them", id="RC-settings-conflict")
    recovery = top.entries.get(RECOVERY.name)
    return ProjectSettings(
        project=values["project"] or "",
        root=root,
        base_url=values["service_base_url"],
        sandbox=root / values["service_sandbox"] if values["service_sandbox"] is not None else None,
        member=values["service_member"],
        read_people=bool(values["service_read_people"]),
        timeout=values["service_timeout"],
        state=_state(values["state"], root),
        state_in_yaml=STATE in top.entries,
        settle=values["recovery_settle"],
        settle_written=recovery is not None and isinstance(recovery.node, Map) and "settle" in recovery.node.entries,
        marks=values["recovery_create_strategy"] == "marker",
        conventions=values["agents_conventions"],
    )


def databases(top: Map, root: Path) -> list[Path]:
    """The files of the state and of the sandbox, as far as they are known already: `file()` returns neither."""
    # A silent reader: `read_settings` reports what is wrong with them, after their expressions are evaluated.
    keys = KeyReader("", top.entries, Problems([], silent=True))
    sandbox, state = keys.map(SERVICE)[SANDBOX], file_of(_state(keys.values([STATE_KEY])["state"], root))
    return [root / DEFAULT_STATE, *([Path(state)] if state else []), *([root / sandbox] if sandbox is not None else [])]


def _state(url: str | None, root: Path) -> str:
    """The URL of the state, with the path of a file made absolute."""
    path = DEFAULT_STATE if url is None else file_of(url)
    return url_of(root / path) if path else str(url)


Prune = Literal["owned", "all", "none"]


def read_prune(top: KeyReader, kinds: Kinds, problems: Problems) -> dict[str, Prune]:
    """The scope of every kind."""
    keys = KeyReader.of("prune", top.entry("prune"), problems, example="team: all")
    scopes: dict[str, Any] = {name: keys.choice(name, PRUNE_SCOPES) or kind.prune for name, kind in kinds.items()}
    keys.rest()
    return scopes


def read_protect(top: KeyReader, kinds: Kinds, problems: Problems) -> frozenset[str]:
    """The kinds whose deletes require consent."""
    entry = top.entry("protect")
    if entry is None:
        return frozenset(name for name, kind in kinds.items() if kind.protected)
    protected = set()
    for node in items_of(entry, "a list of kinds", "write [] for none", problems.add):
        name = node.text if isinstance(node, Scalar) else ""
        if not untainted(node, "protect", problems.add):
            continue
        if name in kinds:
            protected.add(name)
        else:
            problems.add(node.at, f"protect names {described(node)}, which does not exist{did_you_mean(name, kinds)}", id="RC-unknown-kind")
    return frozenset(protected)


def read_guards(top: KeyReader) -> Guards:
    """The limits of a run."""
    return Guards(**top.map(GUARDS))


def rule_lines(top: KeyReader) -> dict[str, Source]:
    """The position of each rule: `guards.maxDelete.percent`; `` is the first line of the file, for rules that are not written."""
    sources = dict(_lines({name: top.entries[name] for name in RULES if name in top.entries}, ""))
    first = min((entry.at for entry in top.entries.values()), default=None)
    return sources if first is None else {"": first, **sources}


def _lines(entries: Mapping[str, MapEntry], within: str) -> Iterator[tuple[str, Source]]:
    for key, entry in entries.items():
        yield within + key, entry.at
        if isinstance(entry.node, Map):
            yield from _lines(entry.node.entries, f"{within}{key}.")


# -- accepted findings ---------------------------------------------------------------------------------------------------------------

IGNORE_FORM: Final = "write {id: RULE, address: PATTERN, reason: WHY}"


def read_ignores(keys: KeyReader, problems: Problems) -> tuple[Ignore, ...]:
    """The entries of `lint.ignore`, in their order."""
    entry = keys.entry("ignore")
    keys.rest()
    ignores = []
    for node in items_of(entry, "a list", "write [{id: RULE}]", problems.add, name="lint.ignore"):
        if not isinstance(node, Map):
            problems.add(node.at, f"lint.ignore contains {described(node)}; {IGNORE_FORM}", id=wrong_form(node))
            continue
        reader = KeyReader("lint.ignore", node.entries, problems)
        values = reader.values(IGNORE)
        reader.rest()
        rule, address = values["id"], values["address"]
        if rule is None:
            if "id" not in node.entries:
                problems.add(node.at, f"lint.ignore must say which rule it ignores; {IGNORE_FORM}", id="RC-missing-key")
        elif (name := rule.removeprefix("RC-")) not in LINT_RULES:
            wrong = f'lint rule "{rule}" does not exist{did_you_mean(name, LINT_RULES) or f"; {one_of(LINT_RULES)}"}'
            problems.add(node.entries["id"].node.at, wrong, id="RC-unknown-lint-rule")
        elif address is None or problems.glob(address, node.entries["address"].node.at) is not None:
            ignores.append(Ignore(name, address or "", values["reason"] or "", node.at))
    return tuple(ignores)
