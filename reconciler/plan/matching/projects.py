"""Which addresses other projects in the same state database track in the same organizations. Pure.

In: Desired, State. Out: why nothing is created or adopted there. A project whose name and titles change in one commit finds no object by
title, but its former name tracks the address.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from shlex import quote

from reconciler.address import Address
from reconciler.model import Blocked, Declared, Desired, State
from reconciler.plan.matching.renames import address_after_moves, renames
from reconciler.text.suggest import a


class Projects:
    """What other projects track, under the addresses that the YAML uses today."""

    def __init__(self, desired: Desired, state: State) -> None:
        self.desired, self.state = desired, state

    @cached_property
    def _names(self) -> dict[tuple[str, tuple[str, ...]], str]:
        """The name of the project by the id of the root and the path below it."""
        if not self.state.projects:
            return {}
        asked = renames(self.desired)
        names: dict[tuple[str, tuple[str, ...]], str] = {}
        for name, tracked in self.state.projects.items():
            for address in tracked:
                root = tracked.get(address.root)
                if root is not None:
                    today = asked.get(address, address_after_moves(address, asked))
                    names.setdefault((root, today.parts[1:]), name)
        return names

    def tracking(self, declared: Declared, ids: Mapping[Address, str]) -> str | None:
        """The name of another project that tracks the address in the same organization; None where none does."""
        return self._names.get((ids.get(declared.address.root, ""), declared.address.parts[1:])) if self.state.projects else None

    def block(self, declared: Declared, ids: Mapping[Address, str]) -> Blocked | None:
        """Why nothing is created at an address that another project tracks; None where none does, or where the YAML says `adopt: never`."""
        name = self.tracking(declared, ids) if declared.adopt and not declared.implied else None
        if name is None:
            return None
        return Blocked(
            declared.address,
            f"would be created a second time: {declared.address} is tracked under the project name {name!r}",
            f"if this project had that name before: reconciler state mv --project {quote(name)}; if not, and it should have "
            f"{a(declared.kind)} of its own, write adopt: never",
            declared.source,
            id="RC-tracked-by-another-project",
        )

    def theirs(self, declared: Declared, id: str, other: str, ids: Mapping[Address, str]) -> Blocked:
        """Why an object is left to the project that tracks it; only roots may be shared between projects."""
        name = self.state.former.get((declared.kind, id)) or self.tracking(declared, ids)
        if name is not None:
            return Blocked(
                declared.address,
                f"it is tracked under the project name {name!r}",
                f"if this project had that name before: reconciler state mv --project {quote(name)}; if not, leave it to that project",
                declared.source,
                id="RC-tracked-by-another-project",
            )
        return Blocked(
            declared.address,
            f"{id} is tracked by another project or environment of this state database",
            f"leave it to that project, or stop managing it there: reconciler state forget; {other}",
            declared.source,
            id="RC-tracked-by-another-project",
        )
