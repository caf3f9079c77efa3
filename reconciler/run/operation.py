"""What somebody asks of a run, and what they allow it. Data, in the terms of a run: which option sets it is not known here."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from reconciler.address import Address, Glob, Selection
from reconciler.run.supervision import Supervision

VARIABLES: Final = "RECONCILER_VAR_"
"""What the names of variables of the environment begin with that give a project its variables."""
STDIN: Final = "-"
"""The name of standard input as a file of variables."""

EVERY_ADDRESS: Final = (Glob.parse("**"),)
EVERY_URL: Final = ("/**", "http://**", "https://**")


def _limit(default: Any, *, everything: Any) -> Any:
    """A field of `Limits`. `everything`: its value where all is allowed."""
    return field(default=default, metadata={"everything": everything})


@dataclass(frozen=True)
class Limits:
    """What whoever starts a run allows beyond the rules of the project: one field for each guard and each consent.

    A new guard is a new field, whose value in `EVERYTHING` is declared with it. The default allows nothing: a number that is None leaves
    the project's own limit, and no pattern matches.
    """

    # Objects that may be deleted and recreated.
    replacements: tuple[Glob, ...] = _limit((), everything=EVERY_ADDRESS)
    # The most objects that may be deleted, instead of guards.maxDelete.
    deletions: int | None = _limit(None, everything=sys.maxsize)
    # What may become public or lose a protection: its address, or that of what opens it.
    exposures: tuple[Glob, ...] = _limit((), everything=EVERY_ADDRESS)
    # The most objects that may gain a reader, instead of guards.maxExposed.
    exposed: int | None = _limit(None, everything=sys.maxsize)
    # URLs at which nothing need answer any more.
    dead_urls: tuple[str, ...] = _limit((), everything=EVERY_URL)
    # Where work in progress may end: the address of the object with the work, or of what contains it.
    open_work: tuple[Glob, ...] = _limit((), everything=EVERY_ADDRESS)
    # The most tracked objects that are accepted as deleted outside Reconciler; None: a share of all of them.
    gone: int | None = _limit(None, everything=sys.maxsize)

    @property
    def with_exposures(self) -> Limits:
        """These limits where somebody sees the exposures of the plan and decides about them: at a question, or with a saved plan."""
        return replace(self, exposures=EVERY_ADDRESS)


EVERYTHING: Final = Limits(**{known.name: known.metadata["everything"] for known in fields(Limits)})
"""All that can be allowed."""


@dataclass(frozen=True)
class ProjectInputs:
    """What the files of a project are read with. `variables`: by name. `files`: of variables, each with its name. `public`: the variables
    of the environment that are no secrets. `allowed`: files and folders outside the project that expressions may read."""

    variables: Mapping[str, str] = field(default_factory=dict)
    files: tuple[tuple[str, bytes], ...] = ()
    public: tuple[str, ...] = ()
    allowed: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Operation:
    """What a run is asked to do, whoever asks: a command line, an agent, a fleet, a rehearsal, a test.

    `project`: its directory or file. `environment`: None without one. `selection`: the addresses that it is about. `limits`: what it may do
    beyond the project's rules. `rules`: the name of the commit whose rules judge the project; None for those of its files. `sandbox`,
    `base_url` and `state`: where, instead of what the project says. `token`: of the service; None for that of the environment.
    `create_state`: a state that has never seen the project may be created.
    `lock_timeout`: seconds to wait for another run that holds the state; None for none. `hold`: what a guard refuses is left alone, and
    the rest is applied; without it, all is refused. `unapproved`: what is held too, because people must approve it.
    """

    project: Path = Path()
    environment: str | None = None
    selection: Selection = field(default_factory=Selection)
    limits: Limits = field(default_factory=Limits)
    reading: ProjectInputs = field(default_factory=ProjectInputs)
    rules: str | None = None
    sandbox: Path | None = None
    base_url: str | None = None
    max_concurrency: int | None = None
    max_rps: float | None = None
    state: str | None = None
    create_state: bool = False
    lock_timeout: float | None = None
    supervision: Supervision = field(default_factory=Supervision, compare=False)
    token: str | None = field(default=None, repr=False)
    hold: bool = False
    unapproved: frozenset[Address] = frozenset()

    def only(self, addresses: frozenset[Address] | None) -> Operation:
        """The same, limited to these addresses; None: not limited."""
        return replace(self, selection=replace(self.selection, only=addresses))
