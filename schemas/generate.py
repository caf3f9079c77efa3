"""Write the JSON Schemas of projects, plans and outcomes, and the service's OpenAPI document: `python schemas/generate.py`.

A test fails where one of them is stale.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from reconciler.config.schema import dumped
from reconciler.kinds import load
from reconciler.report.schemas import dumped as reports

HERE = Path(__file__).parent


def texts() -> dict[str, str]:
    """The schemas as they should be, by file name."""
    return {"config.schema.json": dumped(load()), **reports(), "service.openapi.json": service()}


def service() -> str:
    """The sandbox's own document."""
    from reconciler.sandbox.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        document = create_app(Path(folder) / "sandbox.db").openapi()
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")
