"""Which addresses a run is about: what `--target` and `--exclude` say. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.address import Address, Glob


@dataclass(frozen=True)
class Selection:
    """Patterns for addresses; without a target, everything is selected. `only`: a limit to these addresses; None for no limit."""

    targets: tuple[Glob, ...] = ()
    excludes: tuple[Glob, ...] = ()
    only: frozenset[Address] | None = None

    def takes(self, address: Address) -> bool:
        if self.only is not None and address not in self.only:
            return False
        return (not self.targets or any(glob.matches(address) for glob in self.targets)) and not any(
            glob.matches(address) for glob in self.excludes
        )

    def refuses(self, address: Address) -> bool:
        """Whether the run must leave an address unchanged, even where a selected address would include it."""
        return (self.only is not None and address not in self.only) or any(glob.matches(address) for glob in self.excludes)

    @property
    def partial(self) -> bool:
        """Whether people chose some of the addresses."""
        return bool(self.targets or self.excludes)
