"""The end of every help text: the exit codes of the command, and the location of its documentation.

The repository of the documentation is known only to a release, from its metadata. Otherwise the file in the repository is named.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Final

from reconciler import __version__
from reconciler.cli import exits

PAGE: Final = "docs/reference/commands.md"
BESIDE: Final = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # the package
METADATA: Final = os.path.join(BESIDE, f"docs_reconciler-{__version__}.dist-info", "METADATA")
ENVIRONMENT: Final = "Options can be set in the environment: --log-format is RECONCILER_LOG_FORMAT. Consent cannot."
SOURCE: Final = "Project-URL: Source, "


def end(path: Sequence[str], codes: Collection[int]) -> str:
    """The last paragraphs of a help text. `path`: the words of the command. `codes`: its exit codes besides those of every command."""
    listed = sorted({*exits.ALWAYS, *codes})
    lines = [f"  {code:<4} {exits.MEANINGS[code].replace('`', '')}" for code in listed]
    fragment = f"#{'-'.join(path)}" if path else ""
    return "\n".join(["\b", "Exit codes:", *lines, "", ENVIRONMENT, "", f"Documentation: {page(PAGE)}{fragment}"])


def page(name: str) -> str:
    """The location of a page of the documentation: a URL in a release, else the name of its file in the repository."""
    files = release_files()
    return f"{files}/{name}" if files else name


def release_files() -> str:
    """The URL of the files of this version, of which the documentation is a part; "" if this is not a release."""
    source = repository(METADATA)
    return f"{source}/blob/v{__version__}" if source else ""


def repository(metadata: str) -> str:
    """The URL of the repository in the metadata of a distribution; "" if unknown."""
    try:
        with open(metadata, encoding="utf-8") as file:
            for line in file:
                if line.startswith(SOURCE):
                    return line.removeprefix(SOURCE).strip()
                if not line.strip():
                    break
    except (OSError, ValueError):
        pass
    return ""
