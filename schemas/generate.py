"""Write the JSON Schemas that follow from the kinds: `python schemas/generate.py`. A test fails where one of them is stale."""

from __future__ import annotations

from pathlib import Path

from reconciler.config.schema import dumped
from reconciler.kinds import load

HERE = Path(__file__).parent


def texts() -> dict[str, str]:
    """The schemas as they should be, by file name."""
    return {"config.schema.json": dumped(load())}


if __name__ == "__main__":
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")
