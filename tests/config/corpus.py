"""The projects of the tests: `broken/NAME/` with what is printed for it in `expected.txt`, and `good/NAME/`.

`options.json` beside the project file holds what the command line and the environment give: `variables`, `public`, `environ`,
`environment`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reconciler.config import Project, load
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds

HERE = Path(__file__).parent
BROKEN = sorted(path for path in (HERE / "broken").glob("*") if path.is_dir())
GOOD = sorted(path for path in (HERE / "good").glob("*") if path.is_dir())


def options(project: Path) -> dict[str, Any]:
    """What is given beside the YAML."""
    file = project / "options.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def loaded(project: Path) -> Project:
    """The project, with its options."""
    return load(project, kinds(), **options(project))


def problems_of(project: Path) -> str:
    """What a user sees of a broken project, a line a problem; nothing where it is not broken."""
    try:
        loaded(project)
    except ConfigError as error:
        return f"{error}\n"
    return ""
