"""Options that come from the environment: `--max-rps 5` is also `RECONCILER_MAX_RPS=5`, on every command that has the option.

Options that give consent, or choose an action, have no variable (`allow_from_autoenv=False` in their declaration) and must be typed: a
variable set once for all jobs must not confirm plans that nobody has read. Forbidden: slow imports.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from typing import Final

import click

from reconciler.cli.option_table import ROWS
from reconciler.run.operation import VARIABLES

PREFIX: Final = "RECONCILER_"
TESTS: Final = "RECONCILER_TEST_"
READ_LATER: Final = frozenset({"--token", *(f"--{row.name}" for row in ROWS if row.late)})
"""Options whose variable the command reads itself, because what is in the YAML comes between the two."""

OTHERS: Final = {f"--{row.name}": f"{PREFIX}{row.variable}" for row in ROWS if row.variable}
"""Variables that are not named after their option."""

KNOWN: Final = frozenset(row.word for row in ROWS if not row.typed) | {
    "ACCESS_TESTS", "ADVANCE", "ANSWER_BYTES", "API_TOKEN", "AS", "BASELINE", "CHECK", "COLOR", "COMMIT", "CONCURRENCY", "CONDITION",
    "CONTENT", "COVERAGE", "DATA", "DATABASE", "DB", "DECRYPT", "DETAILED_EXITCODE", "DIFF", "ENDED", "EXPORT", "FAILED", "FAIL_ON",
    "FOLLOW", "FORGE", "FORMAT", "FROM", "FULL", "HOST", "JQ", "KIND", "LINT", "LIVE", "LOG_FILE", "LOG_FORMAT", "MAX_PAGES", "MEMBER",
    "METRICS", "NAME", "NOW", "ON_ERROR", "ORG", "OUT", "PAGINATE", "PARALLEL", "PATIENCE", "PEOPLE", "PORT", "PROJECT", "PULL", "QUIET",
    "REHEARSE", "REPORT", "REPORTS", "REPORT_URL", "REPOSITORY", "REQUIRE_BASE_URL", "REQUIRE_COMMIT", "RUN_URL", "SEED", "SEPARATE",
    "SERVE", "SINCE", "SITE", "SITEMAP", "SPLIT", "STDIO", "STEPS", "STRICT", "TO", "TOKEN", "VERBOSE", "VERIFY", "WAIT", "WHO",
}  # fmt: skip
"""Every variable of an option, without its prefix: those of the table, and of options that one command has. A test compares them with the
options of all commands, which are not imported only to warn about a variable."""

OPTIONLESS: Final = frozenset({"PLAN_KEY", "PLAN_KEY_OLD"})
"""Variables without an option."""

TYPED: Final = frozenset(row.word for row in ROWS if row.typed and row.name != "var") | {
    "ACCEPT", "ADDRESS", "ALLOW_UNPLANNED", "ALLOW_VANISH", "API_TOKEN_FILE", "CLASS", "DEFAULT", "DIGEST", "DRY_RUN", "END", "END_ALL",
    "EXPRESSION", "FIELD", "FIX", "FORCE", "FROM_ENV", "GROUP", "HEAD", "IGNORE_UNTIL", "INPUT", "INTO", "IN_DOUBT", "KEEP", "LOG",
    "PARTIAL", "PERSON", "PLAN", "PROPOSAL", "PROPOSE", "REASON", "REHEARSAL", "REVERT", "REVERT_PLAN", "RULE", "TOKEN_FILE", "UNDO",
    "UNTIL", "UPDATE", "WITH_SECRETS", "WRITE", "YES",
}  # fmt: skip
"""The variables that options which must be typed would have. The same test compares them. RECONCILER_VAR has no meaning of its own: names
that begin like it are variables of the project."""


def long_name(param: click.Parameter) -> str | None:
    """`--max-rps`; None for an option with only a letter, and for an argument."""
    return next((name for name in param.opts if name.startswith("--")), None)


def variable(param: click.Parameter) -> str | None:
    """The variable of an option; None if the option must be typed."""
    if isinstance(param, click.Argument):
        return f"{PREFIX}PROJECT" if param.name == "project" else None
    name = long_name(param)
    if not isinstance(param, click.Option) or name is None or not param.allow_from_autoenv or name.startswith("--allow-"):
        return None
    return OTHERS.get(name, PREFIX + name.removeprefix("--").replace("-", "_").upper())


def read_from_environment(params: Sequence[click.Parameter]) -> None:
    """Let click read each option's variable if the option is not written."""
    for param in params:
        # click prefers a variable to a default, but the YAML is neither: it comes after the variable and before the default.
        if param.envvar is None and long_name(param) not in READ_LATER:
            param.envvar = variable(param)


def warnings() -> Iterator[str]:
    """A sentence for each variable that is set without the effect that its name suggests."""
    for name in sorted(os.environ):
        word = name.removeprefix(PREFIX)
        if word == name or word in KNOWN | OPTIONLESS or name.startswith((VARIABLES, TESTS)):
            continue
        option = f"--{word.lower().replace('_', '-')}"
        if word in TYPED:
            yield f"{name} is ignored: {option} is never read from the environment. Write it on the command line."
            continue

        # A misspelled variable is silent otherwise, and a job runs without the limit that it was to have.
        near = difflib.get_close_matches(word, KNOWN | OPTIONLESS, n=1, cutoff=0.8)
        if near:
            yield f"{name} is ignored: no option has that name. Did you mean {PREFIX}{near[0]}?"


def origin(message: str, argv: Sequence[str]) -> str | None:
    """A note on the options in a message whose values came from the environment, not the command line."""
    for name in sorted(os.environ):
        word = name.removeprefix(PREFIX)
        if word == name or word not in KNOWN or not os.environ[name]:
            continue
        option = next((option for option, other in OTHERS.items() if other == name), f"--{word.lower().replace('_', '-')}")
        if f"{option} " in f"{message} " and not any(given == option or given.startswith(f"{option}=") for given in argv):
            return f"{option} comes from {name}."
    return None
