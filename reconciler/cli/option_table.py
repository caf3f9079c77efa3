"""The options that several commands share, as one table: everything that is true of an option is in its row, and in no other place.

    field of Options  --name            a row says            used by
    ----------------  ----------------  --------------------  ---------------------------------------------------
    env               --env             group                 the decorators of `options`, which declare it to click; `HEADINGS`
    allow_delete      --allow-delete    typed                 `environment`: consent is never read from a variable
    target            --target          saved                 `plan --out` and `apply --plan`
    base_url          --base-url        late                  the command, which reads the variable itself
    rules_from        --rules-from      child                 the process that a worker of the fleet starts
    allow_delete      --allow-delete    limit                 `Options.limits`: what a run allows beyond the rules of the project

A new option is a new field of `Options`. Forbidden: slow imports, because `environment` knows the names before a command is imported.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import click

from reconciler.address import Address, Glob, Selection
from reconciler.cli.declare import env_files, files, globs, pairs, seconds, url_patterns
from reconciler.cli.terminal.screen import Screen
from reconciler.files import path_from_here
from reconciler.run.operation import Limits, Operation, ProjectInputs
from reconciler.run.supervision import Supervision
from reconciler.text.backends import BUCKET, SQLITE

if TYPE_CHECKING:
    from reconciler.report.schemas.plan import OptionsData

# What a saved plan does with the value of an option, besides recording it.
#   scope: `apply --plan` plans with it again, and refuses another one
#   grant: the plan shows what it allowed, and whoever applies the plan allows that
#   limit: a number that a guard compares again when the plan is applied, so it is typed again
SavedAs = Literal["scope", "grant", "limit"]


@dataclass(frozen=True)
class OptionRow:
    """One option. `name`: as it is typed, without the dashes. `group`: the options that are declared together.

    `typed`: it gives consent or chooses what is trusted, so no variable of the environment sets it. `variable`: the end of its variable
    where that is not its name. `late`: the command reads the variable itself, because the YAML comes between the two.
    `saved`: how a saved plan carries it. `child`: the process of a fleet's run gets it. `limit`: the field of `Limits` that it sets.
    `written`: it is repeated in a command line that is printed; `joined`: as `--name=value`. `credentials`: a value with a password is not
    printed.
    """

    name: str
    group: str
    settings: Mapping[str, Any]
    typed: bool = False
    variable: str = ""
    late: bool = False
    saved: SavedAs | None = None
    child: bool = False
    limit: str = ""
    written: bool = True
    joined: bool = False
    credentials: bool = False
    complete: str = ""

    @property
    def field(self) -> str:
        """The field of `Options` with its value."""
        return self.name.replace("-", "_")

    @property
    def key(self) -> str:
        """The key of its value in a saved plan: `allowDelete`."""
        first, *others = self.name.split("-")
        return first + "".join(map(str.capitalize, others))

    @property
    def word(self) -> str:
        """Its variable, without the prefix."""
        return self.variable or self.field.upper()

    def argv(self, value: Any) -> list[str]:
        """The option with its value, as arguments of a command line; none without a value."""
        if isinstance(value, bool):
            return [f"--{self.name}"] if value else []
        texts = [text for text in _texts(value) if text and not (self.credentials and "@" in text)]
        return [part for text in texts for part in ([f"--{self.name}={text}"] if self.joined else [f"--{self.name}", text])]


def _texts(value: Any) -> Iterator[str]:
    match value:
        case None:
            return
        case Mapping():
            yield from (f"{name}={text}" for name, text in value.items())
        case [str(name), bytes()]:  # a file that was read: its name is repeated, not its content
            yield name
        case tuple():
            yield from (text for part in value for text in _texts(part))
        case Path():
            yield str(path_from_here(value))
        case _:
            yield str(value)


def option(default: Any, name: str, group: str, help: str, *, metavar: str = "", **facts: Any) -> Any:
    """A field of `Options` with its row. `facts`: those of `OptionRow`; the rest is for click."""
    known = {key: facts.pop(key) for key in tuple(facts) if key in OptionRow.__dataclass_fields__}
    row = OptionRow(name, group, {"help": help, **({"metavar": metavar} if metavar else {}), **facts}, **known)
    if callable(default):
        return field(default_factory=default, metadata={"row": row})
    return field(default=default, metadata={"row": row})


GLOBS: Final[Mapping[str, Any]] = {"multiple": True, "callback": globs, "complete": "addresses"}
PATH: Final = click.Path(path_type=Path)
COUNT: Final = click.IntRange(0)


@dataclass(frozen=True)
class Options:
    """The shared options of one command line; options that a command does not have keep their defaults.

    Their order is that of the help texts and of printed command lines.
    """

    project: Path = Path()
    env: str | None = option(
        None,
        "env",
        "reading",
        "The environment: environments/NAME.yaml. Each has a state of its own.",
        metavar="NAME",
        complete="environments",
        joined=True,
        child=True,
    )
    # Not from the environment, where each variable of the project has a name of its own: RECONCILER_VAR_NAME.
    var: Mapping[str, str] = option(
        dict, "var", "reading", "Set a variable.", metavar="NAME=VALUE", multiple=True, callback=pairs, typed=True, joined=True, child=True,
    )  # fmt: skip
    # RECONCILER_VAR_FILE may be the value of a variable `file` of a project.
    var_file: tuple[tuple[str, bytes], ...] = option(
        (), "var-file", "reading", "Read variables from a YAML or JSON file, or with - from standard input. Repeatable; --var wins.",
        metavar="FILE", multiple=True, callback=files, variable="VARS_FILE", joined=True, child=True,
    )  # fmt: skip
    env_file: tuple[str, ...] = option(
        (),
        "env-file",
        "reading",
        "Read RECONCILER_VAR_NAME=VALUE lines, as if the environment had them. Repeatable; the environment wins.",
        metavar="FILE",
        multiple=True,
        callback=env_files,
        joined=True,
        child=True,
    )
    public_var: tuple[str, ...] = option(
        (),
        "public-var",
        "reading",
        "Declare that a variable from the environment is not a secret.",
        metavar="NAME",
        multiple=True,
        typed=True,
        joined=True,
        child=True,
    )
    allow_file: tuple[Path, ...] = option(
        (), "allow-file", "reading", "Allow expressions to read this file, or the files in this folder, outside the project. Repeatable.",
        metavar="PATH", multiple=True, type=PATH, typed=True, joined=True, child=True,
    )  # fmt: skip
    target: tuple[Glob, ...] = option(
        (),
        "target",
        "targets",
        "Limit the run to matching addresses and what they require. Repeatable.",
        metavar="GLOB",
        saved="scope",
        child=True,
        **GLOBS,
    )
    exclude: tuple[Glob, ...] = option(
        (),
        "exclude",
        "targets",
        "Exclude matching addresses. Repeatable.",
        metavar="GLOB",
        saved="scope",
        child=True,
        **GLOBS,
    )
    allow_replace: tuple[Glob, ...] = option(
        (),
        "allow-replace",
        "replacement",
        "Allow matching objects to be deleted and recreated. Repeatable.",
        metavar="ADDRESS",
        saved="scope",
        typed=True,
        limit="replacements",
        **GLOBS,
    )
    allow_delete: int | None = option(
        None,
        "allow-delete",
        "guards",
        "Allow up to N deletions, instead of guards.maxDelete.",
        metavar="N",
        type=COUNT,
        saved="limit",
        typed=True,
        limit="deletions",
    )
    allow_exposure: tuple[Glob, ...] = option(
        (),
        "allow-exposure",
        "guards",
        "Allow matching addresses to become public or lose a protection. Repeatable.",
        metavar="ADDRESS",
        saved="grant",
        typed=True,
        limit="exposures",
        **GLOBS,
    )
    max_exposed: int | None = option(
        None,
        "max-exposed",
        "guards",
        "Allow at most N objects to gain a reader, instead of guards.maxExposed.",
        metavar="N",
        type=COUNT,
        saved="limit",
        typed=True,
        limit="exposed",
    )
    allow_dead_urls: tuple[str, ...] = option(
        (), "allow-dead-urls", "guards", "Allow that nothing answers at matching URLs any more: /v1/**, or whole URLs. Repeatable.",
        metavar="PATTERN", multiple=True, callback=url_patterns, saved="grant", typed=True, limit="dead_urls",
    )  # fmt: skip
    allow_open_work: tuple[Glob, ...] = option(
        (),
        "allow-open-work",
        "guards",
        "Allow the work in progress in matching addresses to end, as the plan shows it. Repeatable.",
        metavar="ADDRESS",
        saved="grant",
        typed=True,
        limit="open_work",
        **GLOBS,
    )
    hold: bool = option(
        False,
        "hold",
        "holding",
        "Hold what a guard, a policy or a missing consent refuses, with all that belongs to it, and apply the rest.",
        is_flag=True,
        child=True,
    )
    accept_gone: int | None = option(
        None,
        "accept-gone",
        "absences",
        "Accept up to N tracked objects as deleted outside Reconciler.",
        metavar="N",
        type=COUNT,
        typed=True,
        limit="gone",
    )
    max_urls: int | None = option(
        None,
        "max-urls",
        "output",
        "List at most N URLs of pages in JSON; its groups count all of them. Default: 10000.",
        metavar="N",
        type=COUNT,
        written=False,
    )
    rules_from: str | None = option(
        None,
        "rules-from",
        "rules",
        "Take guards, prune, protect, access, policies and urls from this branch, tag or commit, instead of from the files.",
        metavar="REF",
        child=True,
    )
    sandbox: Path | None = option(  # noqa: RUF009  it is a field, like every other row
        None,
        "sandbox",
        "service",
        "Use the embedded sandbox in this file.",
        metavar="FILE",
        type=PATH,
        child=True,
    )
    base_url: str | None = option(
        None,
        "base-url",
        "service",
        "The URL of the service; also RECONCILER_BASE_URL. The token comes from RECONCILER_TOKEN.",
        metavar="URL",
        late=True,
        child=True,
    )
    max_concurrency: int | None = option(
        None,
        "max-concurrency",
        "service",
        "Send up to N requests at the same time.",
        metavar="N",
        type=click.IntRange(1, 1000),
        written=False,
        child=True,
    )
    max_rps: float | None = option(
        None,
        "max-rps",
        "service",
        "Send at most this many requests per second.",
        metavar="N",
        type=click.FloatRange(min=0, min_open=True),
        written=False,
        child=True,
    )
    state: str | None = option(
        None,
        "state",
        "state",
        f"The URL of the state, e.g. {SQLITE.form} or {BUCKET.yaml_form}; also RECONCILER_STATE.",
        metavar="URL",
        late=True,
        credentials=True,
        child=True,
    )
    create_state: bool = option(
        False,
        "create-state",
        "creating",
        "Create the state if it has never seen this project. Required without a terminal for --state, RECONCILER_STATE, servers, and "
        "files outside the project.",
        is_flag=True,
        typed=True,
        written=False,
    )
    lock_timeout: float | None = option(
        None,
        "lock-timeout",
        "lease",
        "If another run holds the state, wait for it up to this long: 90s, 10m, 1h. Default: do not wait.",
        metavar="DURATION",
        callback=seconds,
        written=False,
    )
    format: str = "text"
    directories: tuple[str, ...] = ()
    supervision: Supervision = field(default_factory=Supervision, compare=False)

    @classmethod
    def of(cls, screen: Screen, parameters: Mapping[str, Any]) -> Options:
        """The options among the parameters of a command; output options go to the screen."""
        screen.color = parameters.get("color", "auto")
        known = {name: value for name, value in parameters.items() if name in cls.__dataclass_fields__}
        return cls(**known, directories=screen.directories, supervision=screen.supervision)

    @property
    def limits(self) -> Limits:
        """What they allow beyond the rules of the project."""
        return Limits(**{row.limit: getattr(self, row.field) for row in ROWS if row.limit})

    @property
    def operation(self) -> Operation:
        """What they ask of a run."""
        reading = ProjectInputs(self.var, self.var_file, self.public_var, self.allow_file)
        return Operation(
            self.project, self.env, Selection(self.target, self.exclude), self.limits, reading, self.rules_from, self.sandbox,
            self.base_url, self.max_concurrency, self.max_rps, self.state, self.create_state, self.lock_timeout, self.supervision,
            hold=self.hold,
        )  # fmt: skip

    @property
    def recorded(self) -> OptionsData:
        """The values that a saved plan records."""
        return cast("OptionsData", self.saved())

    def saved(self, *ways: SavedAs) -> dict[str, Any]:
        """The values that a saved plan records, by their keys in it. `ways`: only these."""
        values = {row.key: getattr(self, row.field) for row in ROWS if (row.saved in ways if ways else row.saved)}
        return {key: [str(part) for part in value] if isinstance(value, tuple) else value for key, value in values.items()}

    def with_scope(self, saved: Mapping[str, Any], parsed: Callable[[Any], Any]) -> Options:
        """These options with the scope of a saved plan. `parsed`: the patterns of a list of texts."""
        return replace(self, **{row.field: parsed(saved[row.key]) for row in ROWS if row.saved == "scope"})

    def saved_line(self, plan: Path) -> str:
        """The command line that applies a saved plan; the plan itself contains the rest."""
        return f"{self.without_saved().command_line('apply')} --plan {shlex.quote(str(plan))}"

    def without_saved(self) -> Options:
        """These options without those that a saved plan has: repeated, they would be refused as a second, perhaps different, scope."""
        without: dict[str, Any] = {row.field: () for row in ROWS if row.saved in ("scope", "grant")}
        return replace(self, **without, hold=False)

    def with_held(self, addresses: Collection[Address]) -> Options:
        """These options, with what is held as excluded: whoever applies the saved plan decides nothing about it."""
        return replace(self, exclude=(*self.exclude, *(Glob.parse(str(address)) for address in sorted(addresses))))

    def command_line(self, command: str) -> str:
        """The same options for another command, as a user would type them."""
        argv = ["reconciler", *(part for name in self.directories for part in ("-C", name)), *command.split()]
        if self.project != Path():
            argv.append(str(self.project))
        for row in ROWS:
            if row.written:
                argv += row.argv(getattr(self, row.field))
        return shlex.join(argv)


HEADINGS: Final[Mapping[str, str]] = {
    "targets": "Selection",
    **dict.fromkeys(("replacement", "guards", "holding", "absences", "creating", "rules"), "Consent and limits"),
    "reading": "Environment and variables",
    **dict.fromkeys(("service", "state", "lease"), "Connection and state"),
    "fleet": "Fleet database",
    "control": "Sandbox location",
    "output": "Output and messages",
}
"""The heading of each group of shared options in help texts and in the reference, in this order."""

ROWS: Final[tuple[OptionRow, ...]] = tuple(known.metadata["row"] for known in fields(Options) if "row" in known.metadata)
