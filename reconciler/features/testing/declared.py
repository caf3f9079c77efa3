"""What a test file declares: the head of a test, and its steps. Frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.address import Address
from reconciler.config.source.nodes import MapEntry
from reconciler.model import Source


@dataclass(frozen=True)
class Header:
    """What a test says before the project is known: `entries` are all its keys. A file is named relative to the folder of the test."""

    name: str
    source: Source
    entries: Mapping[str, MapEntry]
    environment: tuple[str, Source] | None = None
    variables: Mapping[str, MapEntry] = field(default_factory=dict)
    # Of another project file, of a seed, and of the project that is applied first; None where it names none.
    project: tuple[str, Source] | None = None
    seed: tuple[str, Source] | None = None
    before: tuple[str, Source] | None = None


@dataclass(frozen=True)
class TwinStep:
    """One step. `sort`: its key. `address`: of an edit or a delete. `values`: by field, in the written form. `method`, `path` and `body`:
    of a request. `consent`: whether an apply has every consent."""

    sort: str
    source: Source
    consent: bool = True
    address: Address | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    method: str = ""
    path: str = ""
    body: Any = None
