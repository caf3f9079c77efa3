"""Readers as tests: who must be able to read what, and who must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from reconciler.address import Address, Glob
from reconciler.model.policy import Source


class ReaderSort(StrEnum):
    """How a test describes its reader; the value is the word of the YAML."""

    ANYONE = "anyone"
    AGENT = "agent"
    LINK = "link"
    CLAIMS = "claims"
    ROLE = "role"


@dataclass(frozen=True)
class NamedReader:
    """An example of a reader, who has the given properties and no others.

    `link`: the address of the share link that they hold. `claims`: those with which they signed in. `role`: as a member.
    """

    sort: ReaderSort
    link: Address | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)
    role: str = ""

    def __str__(self) -> str:
        """`anyone`, `link acme/site/docs/share-link/partners`, `claims plan=pro`, `role guest`."""
        match self.sort:
            case ReaderSort.LINK:
                return f"{self.sort} {self.link}"
            case ReaderSort.CLAIMS:
                return f"{self.sort} {','.join(f'{name}={_shown(value)}' for name, value in sorted(self.claims.items())) or 'none'}"
            case ReaderSort.ROLE:
                return f"{self.sort} {self.role}"
            case _:
                return str(self.sort)

    @property
    def says(self) -> str:
        """The reader as the subject of a sentence."""
        match self.sort:
            case ReaderSort.ANYONE:
                return "anyone"
            case ReaderSort.AGENT:
                return "an agent"
            case ReaderSort.LINK:
                return f"whoever has {self.link}"
            case ReaderSort.CLAIMS:
                named = ", ".join(f"{name}={_shown(value)}" for name, value in sorted(self.claims.items()))
                return f"a visitor with {named}" if named else "a signed-in visitor"
            case ReaderSort.ROLE:
                return f"a member with the role {self.role}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Pattern:
    """A pattern for addresses, its line in the YAML, and the declared resources that it matches."""

    glob: Glob
    source: Source
    addresses: tuple[Address, ...]

    def __str__(self) -> str:
        return str(self.glob)


@dataclass(frozen=True)
class Demand:
    """One pattern of a test: that the reader sees what it matches (`sees`), or that the reader does not."""

    reader: NamedReader
    sees: bool
    pattern: Pattern

    @property
    def word(self) -> str:
        """The word of the YAML that the pattern is under."""
        return "sees" if self.sees else "mustNotSee"

    @property
    def text(self) -> str:
        """`role guest mustNotSee acme/space/*`, as the state remembers it."""
        return f"{self.reader} {self.word} {self.pattern}"


@dataclass(frozen=True)
class AccessTest:
    """What a reader must be able to read (`sees`) and must not (`must_not_see`). `reason`: in the author's words, or ""."""

    reader: NamedReader
    source: Source
    sees: tuple[Pattern, ...] = ()
    must_not_see: tuple[Pattern, ...] = ()
    reason: str = ""

    @property
    def demands(self) -> tuple[Demand, ...]:
        """Its patterns, those of `sees` first."""
        return tuple(Demand(self.reader, sees, pattern) for sees in (True, False) for pattern in (self.sees if sees else self.must_not_see))

    @property
    def asks(self) -> Iterator[tuple[Demand, Address]]:
        """Every resource that its patterns match, once for `sees` and once for `mustNotSee`."""
        done: set[tuple[bool, Address]] = set()
        for demand in self.demands:
            for address in demand.pattern.addresses:
                if (demand.sees, address) not in done:
                    done.add((demand.sees, address))
                    yield demand, address
