"""The stable local name of a resource, and patterns over such names.

In: the keys a user wrote and the names of kinds. Out: `Address` and `Glob`, values that hash, sort and print.
Forbidden: ids of the service, knowledge of any kind, I/O.

An address is a path of segments: the root's key, then pairs of kind and key. A singleton, of which its container has
at most one, ends with its kind and contains nothing. So the number of segments tells them apart:

    acme                              1, keyed: a root; its kind is not part of its name
    acme/agent-instructions           2, singleton
    acme/site/docs                    3, keyed
    acme/site/docs/adaptive-schema    4, singleton
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import total_ordering
from shlex import quote
from threading import Lock
from typing import Any, Final
from weakref import WeakValueDictionary

from reconciler.text.patterns import MANY, STAR, fits, size_problem, text_pattern

KEY_LENGTH_MAX: Final = 100  # characters
EMAIL_LENGTH_MAX: Final = 254  # characters of a key that is an e-mail address
_PLAIN_PATTERN: Final = rf"[A-Za-z0-9._@+-]{{1,{KEY_LENGTH_MAX}}}"
_NEVER: Final = r"/*?\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # in no key: `/`, patterns, white space, controls
_EMAIL_PATTERN: Final = rf"[^@{_NEVER}]{{1,64}}@[^@{_NEVER}]{{1,189}}"
KEY_PATTERN: Final = rf"(?:{_PLAIN_PATTERN}|{_EMAIL_PATTERN})"  # unanchored, so that a JSON Schema or another pattern can embed it
SEGMENT_PATTERN: Final = rf"[^{_NEVER}]+"  # every key, and more: for large documents, which a program has written
KEY_FORM: Final = f"keys are 1 to {KEY_LENGTH_MAX} letters, digits or any of . _ @ + -, or an e-mail address without white space, / * or ?"
KIND_PATTERN: Final = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*"

_PLAIN = re.compile(_PLAIN_PATTERN, re.ASCII)
_EMAIL = re.compile(_EMAIL_PATTERN)
_KIND = re.compile(KIND_PATTERN, re.ASCII)
_GLOB_SEGMENT = re.compile(rf"(?:[^{_NEVER}]|\*)+")

_YAML_PLAIN = re.compile(r"[\w.@+/-]+")
_ALTERNATIVES: Final = frozenset("[]{}")  # of other pattern languages; outside an e-mail address they would match nothing


def bare(id: str) -> str:
    """The id as the service writes it, without that of the container before it; see `Kind.identity`."""
    return id.rpartition("/")[2]


def is_id(text: str) -> bool:
    """Whether `text` can be an id of the service, of which a segment of an address can be made."""
    return _PLAIN.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Whether `text` can be a segment of an address: a plain word, or an e-mail address as people have them, in NFC."""
    if _PLAIN.fullmatch(text) is not None:
        return True
    return _EMAIL.fullmatch(text) is not None and text.isprintable() and unicodedata.is_normalized("NFC", text)


@total_ordering
class Address:
    """A resource's name; never a server id. Sorted by segments, so a container comes before what it contains.

    Each name exists once in a process: two addresses are equal where they are the same object, so that a dictionary of ten thousand
    asks no Python code. Raises ValueError when a segment is neither a key nor, in a kind's place, a kind.
    """

    __slots__ = ("__weakref__", "_text", "container", "parts")

    parts: tuple[str, ...]
    container: Address | None
    """The address this one lies in; None for a root."""
    _text: str

    def __new__(cls, parts: tuple[str, ...]) -> Address:
        known = _KNOWN.get(parts)
        if known is not None:
            return known
        _check(parts)
        outer = parts[: len(parts) - (2 if len(parts) % 2 else 1)]
        return cls._of_checked_parts(parts, Address(outer) if outer else None)

    @classmethod
    def _of_checked_parts(cls, parts: tuple[str, ...], container: Address | None) -> Address:
        """The address of segments that were already checked."""
        address = object.__new__(cls)
        object.__setattr__(address, "parts", parts)
        object.__setattr__(address, "container", container)
        object.__setattr__(address, "_text", "/".join(parts))
        with _MAKING:
            return _KNOWN.setdefault(parts, address)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an address cannot be changed: {name}")

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address that prints as `text`; raises ValueError with a sentence that names the wrong segment."""
        if not text:
            raise ValueError("an address is empty")
        return cls(tuple(unicodedata.normalize("NFC", text).split("/")))

    @classmethod
    def of(cls, text: str) -> Address | None:
        """The same; None for a text that is not an address."""
        try:
            return cls.parse(text)
        except ValueError:
            return None

    @property
    def is_singleton(self) -> bool:
        """Whether the address ends with a kind, so that no other address lies below it."""
        return len(self.parts) % 2 == 0

    @property
    def kind(self) -> str | None:
        """The kind's name; None for a root, whose address does not name its kind."""
        if len(self.parts) == 1:
            return None
        return self.parts[-1] if self.is_singleton else self.parts[-2]

    @property
    def key(self) -> str:
        """The last segment: the key among its siblings of one kind; for a singleton its kind."""
        return self.parts[-1]

    @property
    def root(self) -> Address:
        """The outermost container; a root is its own."""
        return self if self.container is None else self.container.root

    @property
    def containers(self) -> tuple[Address, ...]:
        """Every address this one lies in, the nearest first."""
        container = self.container
        return () if container is None else (container, *container.containers)

    def renamed(self, old: Address, new: Address) -> Address:
        """This address, which is `old` or lies within it, once `old` is called `new`."""
        return Address(new.parts + self.parts[len(old.parts) :])

    def child(self, kind: str, key: str | None = None) -> Address:
        """The address of `kind` and `key` below this one; without a key, of its singleton. Raises ValueError below a singleton."""
        if self.is_singleton:
            raise ValueError(f"nothing is below {str(self)!r}: it is the only {self.key} of its container")
        parts = (*self.parts, kind) if key is None else (*self.parts, kind, key)
        known = _KNOWN.get(parts)
        if known is not None:
            return known
        if _KIND.fullmatch(kind) is None or (key is not None and not is_key(key)):
            _check(parts)  # says what is wrong; the other segments were checked when this address was made
        return Address._of_checked_parts(parts, self)

    def is_within(self, other: Address) -> bool:
        """Whether this address lies below `other`, at any depth; nothing lies within itself."""
        depth = len(other.parts)
        return not other.is_singleton and len(self.parts) > depth and self.parts[:depth] == other.parts

    def __str__(self) -> str:
        return self._text

    def __format__(self, form: str) -> str:
        """The address in a text; `sh`: as a word of a command, `yaml`: as a value in `{…}`, each quoted where that is necessary."""
        if form == "sh":
            return quote(self._text)
        if form == "yaml":
            return self._text if _YAML_PLAIN.fullmatch(self._text) is not None else json.dumps(self._text, ensure_ascii=False)
        return format(self._text, form)

    def __repr__(self) -> str:
        return f"Address(parts={self.parts!r})"

    def __lt__(self, other: object) -> bool:
        return self.parts < other.parts if isinstance(other, Address) else NotImplemented

    def __reduce__(self) -> tuple[type[Address], tuple[tuple[str, ...]]]:
        return Address, (self.parts,)


_KNOWN: Final = WeakValueDictionary[tuple[str, ...], Address]()
_MAKING: Final = Lock()


def _check(parts: tuple[str, ...]) -> None:
    """Raise ValueError if these segments do not form an address."""
    if not parts:
        raise ValueError("an address needs at least one segment")
    text = "/".join(parts)
    for index, part in enumerate(parts):
        if index % 2:
            if _KIND.fullmatch(part) is None:
                raise ValueError(f"address {text!r}: {part!r} stands where a kind belongs; kinds are lower-case words joined by '-'")
        elif not is_key(part):
            raise ValueError(f"address {text!r}: {part!r} is not a key; {KEY_FORM}")


@dataclass(frozen=True)
class Glob:
    """A pattern over addresses: `*` is one segment, or any characters within one; `**` is zero or more segments.

    Create one with `parse`, which refuses patterns that match no address.
    """

    segments: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Glob:
        """The pattern that prints as `text`; raises ValueError where no address could match it."""
        if not text:
            raise ValueError("a pattern is empty; ** matches everything")
        if (wrong := size_problem(text)) is not None:
            raise ValueError(f"pattern {text[:40]!r}: {wrong}")
        segments = tuple(unicodedata.normalize("NFC", text).split("/"))
        for segment in segments:
            if not segment:
                raise ValueError(f"pattern {text!r}: a segment is empty; drop the extra '/'")
            if _GLOB_SEGMENT.fullmatch(segment) is None or ("@" not in segment and not _ALTERNATIVES.isdisjoint(segment)):
                raise ValueError(f"pattern {text!r}: {segment!r} has a character that is in no key; only * and ** match others")
            if "**" in segment and segment != "**":
                raise ValueError(f"pattern {text!r}: ** is a segment of its own, unlike in {segment!r}")
            length = EMAIL_LENGTH_MAX if "@" in segment else KEY_LENGTH_MAX
            if len(segment) - segment.count("*") > length:
                raise ValueError(f"pattern {text!r}: a segment is longer than the {length} characters of a key")
        return cls(segments)

    def matches(self, address: Address) -> bool:
        """Whether the whole address matches the pattern; case-sensitive."""
        return fits(self.segments, address.parts, many=MANY.__eq__, part=_segment_fits)

    def covers(self, other: Glob) -> bool:
        """Whether every address that the other pattern matches fits this one, as far as their segments tell."""
        return fits(self.segments, other.segments, many=MANY.__eq__, part=_segment_covers)

    def __str__(self) -> str:
        return "/".join(self.segments)


def addresses_in(value: Any) -> Iterator[Address]:
    """Every address in a value; those of a set are sorted."""
    match value:
        case Address():
            yield value
        case Mapping():
            for part in value.values():
                yield from addresses_in(part)
        case list() | tuple():
            for part in value:
                yield from addresses_in(part)
        case set() | frozenset():
            yield from sorted(part for part in value if isinstance(part, Address))


def _segment_fits(pattern: str, segment: str) -> bool:
    return pattern in (STAR, segment) or (STAR in pattern and text_pattern(pattern, STAR).matches(segment))


def _segment_covers(pattern: str, segment: str) -> bool:
    return segment != MANY and _segment_fits(pattern, segment)


@dataclass(frozen=True)
class Selection:
    """Patterns for addresses; without a target, everything is selected. `only`: a limit to these addresses; None for no limit.

    `held`: excluded like those that a pattern matches, because a guard refuses them. `chosen`: like targets, by address; None for none.
    """

    targets: tuple[Glob, ...] = ()
    excludes: tuple[Glob, ...] = ()
    only: frozenset[Address] | None = None
    held: frozenset[Address] = frozenset()
    chosen: frozenset[Address] | None = None

    def takes(self, address: Address) -> bool:
        if (self.only is not None and address not in self.only) or address in self.held:
            return False
        if self.chosen is not None and address not in self.chosen:
            return False
        return (not self.targets or any(glob.matches(address) for glob in self.targets)) and not any(
            glob.matches(address) for glob in self.excludes
        )

    def refuses(self, address: Address) -> bool:
        """Whether the run must leave an address unchanged, even where a selected address would include it."""
        if (self.only is not None and address not in self.only) or address in self.held:
            return True
        return any(glob.matches(address) for glob in self.excludes)

    @property
    def partial(self) -> bool:
        """Whether people chose some of the addresses."""
        return bool(self.targets or self.excludes)
