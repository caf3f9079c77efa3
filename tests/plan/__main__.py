"""`python -m tests.plan`: write the book again, with `--record` the record too; read the difference before it is committed."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.plan.book import BOOK, written
from tests.plan.recording import RECORD, recorded_again

if "--record" in sys.argv:
    with tempfile.TemporaryDirectory() as root:
        RECORD.write_text(recorded_again(Path(root)), encoding="utf-8")
BOOK.write_text(written(), encoding="utf-8")
