"""Every error Reconciler raises on purpose, as one tree; a class exists only if someone catches it or its exit code differs.

    ReconcilerError            exit 1   something failed; the message says what, where and what to do
    ├── UsageError             exit 3   the command line cannot be followed
    ├── ConfigError            exit 3   the project is wrong; carries every problem at once, each with its position
    ├── Refused                exit 4   a guard, policy or protection says no; prints the way past it
    ├── Locked                 exit 6   another run holds the state
    ├── StalePlan              exit 6   a saved plan no longer fits
    ├── StateError             exit 1   the state cannot be read or written
    └── ServiceError           exit 1   the service answered in a way we cannot use
        ├── NotFound                    404 for the object itself
        ├── Rejected                    any other 4xx: the request was understood and refused; nothing was done
        ├── Ambiguous                   the request may or may not have been carried out
        └── Unavailable                 nothing was done, and trying again did not help (connect errors, 429 and 5xx of reads, open circuit)

Each carries the id of its cause: `RC-` and a few words. An id never changes its meaning and is never removed; a page in
reconciler/problems describes it. Decision 0023 says when two errors share one.

Nothing here reads, writes or formats for a terminal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reconciler.address import Address

PROBLEMS_MAX: Final = 1_000  # of one `ConfigError`; nobody reads more, and suggestions take time


class ReconcilerError(Exception):
    """Something failed; `str(error)` is one calm sentence, `id` names its cause, `hint` is the way past it (or None)."""

    exit_code = 1

    def __init__(self, message: str, *, id: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.id = id
        self.hint = hint


def os_reason(error: OSError) -> str:
    """What the operating system says of an error, as the end of a sentence."""
    return (error.strerror or "unknown reason").lower()


class UsageError(ReconcilerError):
    """The command line cannot be followed."""

    exit_code = 3


@dataclass(frozen=True, order=True)
class Problem:
    """One error in the project. `line` and `column` count from 1; 0 if the whole file is meant. `id`: the id of its cause."""

    file: str
    line: int
    column: int
    message: str
    id: str = field(kw_only=True)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{where}  {self.message}"


class ConfigError(ReconcilerError):
    """The project is invalid: all problems found, sorted by position, without duplicates. `more`: there were so many that checking stopped.
    `sensitive`: values to be masked. `where` and `undone`: of other files than a project, what they are and what was not done with them."""

    exit_code = 3

    def __init__(
        self,
        problems: Sequence[Problem],
        *,
        more: bool = False,
        sensitive: frozenset[str] = frozenset(),
        where: str = "the project",
        undone: str = "sent",
    ) -> None:
        self.more, self.sensitive, self.where, self.undone = more, sensitive, where, undone
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems), id=self.problems[0].id if self.problems else "")

    def in_version(self, start: str, root: str) -> ConfigError:
        """The same problems in files of another version, whose names begin with `start`: `main:reconciler.yaml`. What an option names that
        this version does not have is a problem of all of it: `main`. `root`: the folder of this machine that has the files, which nobody
        needs to know."""

        def named(file: str) -> str:
            return start.rstrip(":/") if file.startswith("--") else f"{start}{file}"

        def without_root(message: str) -> str:
            return message.replace(f"{root}/", "").replace(root, "the project")

        problems = [replace(problem, file=named(problem.file), message=without_root(problem.message)) for problem in self.problems]
        return ConfigError(problems, more=self.more)


class Refused(ReconcilerError):
    """A guard, policy or protection forbids the change; `hint` is the exact way past it. `reasons`: each refusal alone, itself where it is
    the only one. `about`: the addresses whose changes a guard refuses, all those that it counts; empty for the whole plan."""

    exit_code = 4

    def __init__(self, message: str, *, id: str, hint: str | None = None, about: Collection[Address] = ()) -> None:
        super().__init__(message, id=id, hint=hint)
        self.about = frozenset(about)

    @property
    def reasons(self) -> tuple[Refused, ...]:
        return self._reasons or (self,)

    _reasons: tuple[Refused, ...] = ()

    @classmethod
    def of(cls, first: Refused, *others: Refused) -> Refused:
        """All of these as one, with the id of the first."""
        if not others:
            return first
        every = (first, *others)
        refused = cls("\n".join(item.message for item in every), id=first.id, hint="\n".join(item.hint for item in every if item.hint))
        refused._reasons = every
        return refused


class Locked(ReconcilerError):
    """Another run holds the state."""

    exit_code = 6


class StalePlan(ReconcilerError):
    """A saved plan no longer fits what it was created for."""

    exit_code = 6


class StateError(ReconcilerError):
    """The state cannot be read or written."""


class ServiceError(ReconcilerError):
    """The service answered in a way we cannot use; `status` is its HTTP status, None where there was no answer."""

    def __init__(self, message: str, *, id: str, status: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, id=id, hint=hint)
        self.status = status


class NotFound(ServiceError):
    """404 for the object itself."""


class Rejected(ServiceError):
    """A 4xx that is neither 404, 408 nor 429: understood and refused, nothing was done."""


class Ambiguous(ServiceError):
    """The request may or may not have been carried out: a timeout, a reset, a 5xx, a truncated or unreadable answer."""


class Unavailable(ServiceError):
    """Nothing was done, and trying again within the limits did not help."""
