"""What features read of a project file. `config.keys` has every key of the language, with the feature that it belongs to; how the value of
such a key is read and what it means is a row that the feature adds here.

A key of a feature that is absent is an error: it may be a rule, and a run that ignored it would do what the project forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reconciler.address import Address
from reconciler.config.key import Key
from reconciler.config.keys import PROJECT
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import MapEntry
from reconciler.config.source.problems import Problems
from reconciler.model import Desired
from reconciler.resource import Kinds
from reconciler.seams import Seam


@dataclass(frozen=True)
class SectionReading:
    """What a section is read from. `top`: the project file. `entries`: by name, the sections of all files that any file may contain.
    `addresses`: of everything declared, with the names of their kinds. `root`: the directory of the project."""

    top: KeyReader
    entries: Mapping[str, Sequence[MapEntry]]
    kinds: Kinds
    addresses: Mapping[Address, str]
    root: Path
    evaluation: Evaluation
    problems: Problems


def _as_they_are(kinds: Kinds, own: Desired, other: Desired) -> Desired:
    return own


def _no_schemas(kinds: Kinds) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class ProjectSection:
    """The keys of one feature.

    `feature`: its name, as rows of `config.keys` have it. `read`: the project with what its keys say. `schemas`: the JSON Schema of each
    value that the table of keys does not describe. `judged`: the project, judged by what another version of it says there.
    """

    feature: str
    read: Callable[[SectionReading, Desired], Desired]
    schemas: Callable[[Kinds], Mapping[str, Any]] = _no_schemas
    judged: Callable[[Kinds, Desired, Desired], Desired] = _as_they_are


SECTIONS: Final[Seam[ProjectSection]] = Seam("config", "sections of the project file")


def known_keys() -> list[Key]:
    """The keys of the project file without those of absent features."""
    features = {"", *(section.feature for section in SECTIONS)}
    return [key for key in PROJECT if key.feature in features]


def judged_keys() -> list[str]:
    """The features that have rules, by name."""
    return sorted(section.feature for section in SECTIONS if section.judged is not _as_they_are)


def read_sections(reading: SectionReading, desired: Desired) -> Desired:
    """The project with what the sections say; the keys of absent features are reported."""
    known = {key.name for key in known_keys()}
    for key in PROJECT:
        for entry in reading.entries.get(key.name, ()) if key.name not in known else ():
            wrong = f"{key.name} belongs to the feature {key.feature}, which this installation does not have"
            reading.problems.add(entry.at, f"{wrong}; install one that has it, or remove {key.name}", id="RC-unknown-key")
    for section in SECTIONS:
        desired = section.read(reading, desired)
    return desired
