"""Write the JSON Schemas of projects and of the documents that commands print, and the service's OpenAPI document with its
examples: `python schemas/generate.py`.

A test fails where one of them is stale.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from reconciler.config.schemas.document import catalog_entry, dumped
from reconciler.features.testing.schema import dumped as tests
from reconciler.fleet.declared.schema import dumped as fleet
from reconciler.kinds import load
from reconciler.report.schemas.documents import dumped as reports

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "reconciler" / "sandbox" / "document" / "examples.json"


def texts() -> dict[str, str]:
    """The schemas as they should be, by file name."""
    made = {"config.schema.json": dumped(load()), "fleet.schema.json": fleet(), "test.schema.json": tests(load()), **reports()}
    return {**made, "catalog.json": json.dumps(catalog_entry(), indent=2) + "\n", "service.openapi.json": service()}


def service() -> str:
    """The sandbox's own document."""
    from reconciler.sandbox.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        document = create_app(Path(folder) / "sandbox.db").openapi()
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def examples() -> str:
    """What the service is sent and what it answers, for its document; it stands beside the sandbox's code."""
    sys.path.insert(0, str(HERE))
    import tour

    return json.dumps(tour.examples(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    EXAMPLES.write_text(examples(), encoding="utf-8")
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")
