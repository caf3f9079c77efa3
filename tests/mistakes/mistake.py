"""What a row of the table is: an edit, commands, and what must be true afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.mistakes.world import Folder

Edit = Callable[[Folder], object]
WRONG, REFUSED, PARTLY, STALE, FAILED = 3, 4, 5, 6, 1


@dataclass(frozen=True)
class Run:
    """A command and what it answers: its exit code, phrases it says, phrases it must not say. `first`: an edit before it."""

    line: str
    code: int = 0
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    first: Edit = lambda folder: None
    env: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        return self.line.split()


def apply(code: int = 0, *says: str, options: str = "", first: Edit = lambda folder: None, never: tuple[str, ...] = ()) -> Run:
    """The careless way to run it: nobody looks at the plan."""
    return Run(f"apply --yes {options}", code, says, never, first)


@dataclass(frozen=True)
class Mistake:
    """`claim`: what the tool does about it. What is not listed in `gone`, `born`, `becomes`, `opens` and `twins` is as it was before
    the mistake.

    `opens` holds beginnings of lines of `facts.readers`. `scene`: what happened before, which is not a mistake.
    """

    claim: str
    edit: Edit
    runs: tuple[Run, ...]
    gone: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    becomes: dict[str, str] = field(default_factory=dict)
    opens: tuple[str, ...] = ()
    twins: tuple[str, ...] = ()
    scene: Edit = lambda folder: None


def mistake(claim: str, edit: Edit, *runs: Run, **facts: object) -> Mistake:
    return Mistake(claim, edit, runs, **facts)  # type: ignore[arg-type]


def swap(name: str, first: str, second: str) -> Edit:
    return lambda folder: folder.swap(name, first, second)


def edit(name: str, *changes: str) -> Edit:
    """Replace texts by others, in pairs."""
    return lambda folder: [folder.edit(name, old, new) for old, new in zip(changes[::2], changes[1::2], strict=True)]


def append(name: str, text: str) -> Edit:
    return lambda folder: folder.append(name, text)


def comment(name: str, first: str, last: str | None = None) -> Edit:
    return lambda folder: folder.comment(name, first, last)


def both(*edits: Edit) -> Edit:
    return lambda folder: [change(folder) for change in edits]


def nothing(folder: Folder) -> None:
    """The files are fine."""
