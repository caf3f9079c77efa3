"""Write the JSON Schemas that editors fetch, and the examples of the service's OpenAPI document: `python schemas/generate.py`.

A test fails where one of them is stale. `reconciler schema NAME` prints all other schemas; the wheel and the site contain them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from reconciler.cli.commands.schema import file_name, schemas
from reconciler.text.escape import as_json

HERE: Final = Path(__file__).parent
EXAMPLES: Final = HERE.parent / "reconciler" / "sandbox" / "document" / "examples.json"
COMMITTED: Final = ("config", "test", "fleet", "catalog")
"""What editors fetch. `reconciler schema NAME` prints the others."""


def texts() -> dict[str, str]:
    """The committed schemas as they should be, by file name."""
    return {file_name(name): as_json(schemas()[name]()) + "\n" for name in COMMITTED}


def examples() -> str:
    """What the service is sent and what it answers, for its document; it stands beside the sandbox's code."""
    sys.path.insert(0, str(HERE))
    import tour

    return json.dumps(tour.examples(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    EXAMPLES.write_text(examples(), encoding="utf-8")
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")
