"""What the state needs of a bucket: objects by name, one of which is created only where none has its name.

In: names and bytes. Out: bytes, or an error that says whether anything can have happened. Forbidden: retries; what the objects mean.
"""

from __future__ import annotations

from typing import Protocol


class Unreachable(Exception):
    """A request without an answer: it may have had its effect. The text is for people."""


class Objects(Protocol):
    """Objects under one prefix. Every method is one request; it raises `Unreachable`, or `StateError` where a retry is pointless."""

    def get(self, name: str) -> bytes | None:
        """The content; None where there is no such object."""

    def create(self, name: str, content: bytes) -> bool:
        """Create the object, durably; False where one has that name, which is left unchanged."""

    def put(self, name: str, content: bytes) -> None:
        """Create or replace the object."""

    def modified(self, name: str) -> float:
        """When an object that exists was written, by the bucket's clock, in seconds since 1970."""

    def check(self) -> None:
        """Raise `StateError` where the bucket itself does not exist."""
