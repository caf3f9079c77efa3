"""Write the JSON Schemas of projects, plans and outcomes: `python schemas/generate.py`. A test fails where one of them is stale."""

from __future__ import annotations

from pathlib import Path

from reconciler.config.schema import dumped
from reconciler.kinds import load
from reconciler.report.schemas import dumped as reports

HERE = Path(__file__).parent


def texts() -> dict[str, str]:
    """The schemas as they should be, by file name."""
    return {"config.schema.json": dumped(load()), **reports()}


if __name__ == "__main__":
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")
