"""The keys and closed choices of the language that belong to no kind, shared by the loader and the schema."""

from __future__ import annotations

from enum import StrEnum, auto
from pathlib import Path
from typing import Final

PROJECT_FILE: Final = "reconciler.yaml"
NO_PROJECT: Final = f"{PROJECT_FILE} does not exist here; reconciler init creates one"
IGNORED: Final = "x-"  # top keys with this prefix may contain anchors

REMOVED_ACTIONS: Final = ("forget", "delete", "delete-all")
ADOPT: Final = ("auto", "never")
CREATE_STRATEGIES: Final = ("snapshot", "marker")
TYPES: Final = ("string", "boolean", "integer", "number", "list", "map")


class ServiceSection(StrEnum):
    """The section that configures the service, and its keys."""

    SECTION = "service"
    BASE_URL = "baseUrl"
    SANDBOX = auto()
    MEMBER = auto()
    TIMEOUT = auto()


class AccessSection(StrEnum):
    """The section of access tests, and the keys of one test."""

    SECTION = "access"
    AS = auto()
    SEES = auto()
    MUST_NOT_SEE = "mustNotSee"
    REASON = auto()


POLICIES: Final = ("use", "policies", "exceptions")
RULES_OF_ANY_FILE: Final = (AccessSection.SECTION.value, *POLICIES)
"""Rules that an included file may contain, so that they can have owners of their own."""
"""Keys at the top of any file for rules that the project must not violate."""

SETTINGS: Final = ("version", "project", "service", "state", "recovery")
"""Words of the project file that say how it is run, and nothing of what it declares."""

IGNORE_CHANGES: Final = "ignoreChanges"
"""A key of the project file and of every resource: fields that are left alone once an object exists."""

TOP: Final = (
    *SETTINGS, "include", "vars", "secrets", "prune", "protect", "guards", "access", "defaults", IGNORE_CHANGES,
    *POLICIES,
    "lint",
)  # fmt: skip
"""Keys of the project file only."""

SECRETS: Final = "secrets"
"""The encrypted files of a project or of an environment, and their values in expressions."""

ENCRYPTED: Final = (".enc.yaml", ".enc.yml", ".sops.yaml", ".sops.yml")


def is_encrypted(name: str) -> bool:
    """Whether a file name marks an encrypted file: patterns do not include it, and it cannot be an environment."""
    return name.endswith(ENCRYPTED)


def project_file(path: Path) -> Path:
    """The project file of a directory; any other path is one."""
    return path / PROJECT_FILE if path.is_dir() else path


ENVIRONMENTS: Final = "environments"
"""The folder of a project's environments; not a key of any file."""

NO_ENVIRONMENTS: Final = f"each environment is a file: {ENVIRONMENTS}/NAME.yaml, chosen with --env NAME"
