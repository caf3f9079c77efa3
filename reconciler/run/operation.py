"""What somebody asks of a run, and what they allow it. Pure data, in the terms of a run: which option sets it is not known here."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from reconciler.address import Address, Glob, Selection

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
class Operation:
    """What a run is asked to do. `selection`: the addresses that it is about. `limits`: what it may do beyond the project's rules."""

    selection: Selection = field(default_factory=Selection)
    limits: Limits = field(default_factory=Limits)

    def only(self, addresses: frozenset[Address] | None) -> Operation:
        """The same, limited to these addresses; None: not limited."""
        return replace(self, selection=replace(self.selection, only=addresses))
