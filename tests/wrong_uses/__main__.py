"""Writes what is said of each wrong use into said.txt, to be read aloud; `*`: editors mark it too, by the published schema."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.wrong_uses.uses import SAID, USES, line

with tempfile.TemporaryDirectory() as folder:
    lines = [line(name, use, Path(folder) / str(number)) for number, (name, use) in enumerate(USES.items())]
SAID.write_text("\n".join(lines) + "\n", encoding="utf-8")
