"""`python -m tests.mistakes [WORD…]`: every row whose claim has these words, with all that is said, to be read aloud."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.mistakes.facts import difference, facts
from tests.mistakes.test_mistakes import ROWS
from tests.mistakes.world import Folder, build


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / "living"
        base.mkdir()
        living = build(base)
        for number, row in enumerate(row for row in ROWS if all(word in row.claim for word in sys.argv[1:])):
            folder = Folder.copied(living, Path(name) / str(number))
            row.scene(folder)
            begun = facts(folder.service)
            row.edit(folder)
            print(f"\n=== {row.claim}")
            for run in row.runs:
                run.first(folder)
                result = folder(*run.words, env=run.env)
                print(f"\n$ reconciler {run.line}\n{result.stdout}{result.stderr}exit {result.exit_code}, expected {run.code}")
            print(difference(begun, facts(folder.service)))


main()
