"""The words and closed choices of the language that belong to no kind: one place for the loader and for the schema."""

from __future__ import annotations

from enum import StrEnum, auto
from typing import Final

PRUNE_SCOPES: Final = ("owned", "all", "none")
REMOVED_ACTIONS: Final = ("forget", "delete", "delete-all")
ADOPT: Final = ("auto", "never")
CREATE_STRATEGIES: Final = ("snapshot", "marker")
TYPES: Final = ("string", "boolean", "integer", "number", "list", "map")


class ServiceSection(StrEnum):
    """The section that says what to run against, and its words."""

    SECTION = "service"
    BASE_URL = "baseUrl"
    SANDBOX = auto()
    MEMBER = auto()
    TIMEOUT = auto()


class AccessSection(StrEnum):
    """The section of readers as tests, and the words of one test."""

    SECTION = "access"
    AS = auto()
    SEES = auto()
    MUST_NOT_SEE = "mustNotSee"
    REASON = auto()


POLICIES: Final = ("use", "policies", "exceptions")
RULES_OF_ANY_FILE: Final = (AccessSection.SECTION.value, *POLICIES)
"""Rules that an included file may contain, so that they can have owners of their own."""
"""Words at the top of any file that say what the project must not do."""

SETTINGS: Final = ("version", "project", "service", "state", "recovery")
"""Words of the project file that say how it is run, and nothing of what it declares."""

TOP: Final = (
    *SETTINGS, "include", "vars", "secrets", "prune", "protect", "guards", "access", "defaults",
    *POLICIES,
    "lint",
)  # fmt: skip
"""Words of the project file alone."""

SECRETS: Final = "secrets"
"""The encrypted files of a project or of an environment, and their values in expressions."""

ENCRYPTED: Final = (".enc.yaml", ".enc.yml", ".sops.yaml", ".sops.yml")


def is_encrypted(name: str) -> bool:
    """Whether the name of a file says that it is encrypted: no pattern includes it, and it is no environment."""
    return name.endswith(ENCRYPTED)


ENVIRONMENTS: Final = "environments"
"""The folder of a project's environments; no word of any file."""

NO_ENVIRONMENTS: Final = f"each environment is a file: {ENVIRONMENTS}/NAME.yaml, chosen with --env NAME"
