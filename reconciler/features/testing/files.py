"""Which files of a project are tests. Looks at names only; opens nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from reconciler.config.keys import is_encrypted

FOLDER: Final = "tests"
SUFFIXES: Final = (".yaml", ".yml")
ENDING: Final = (".test.yaml", ".test.yml")


def in_folder(folder: Path) -> list[Path]:
    """The YAML files directly in a folder, without what folders below it contain: seeds and snapshots."""
    return sorted(
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.suffix in SUFFIXES and not path.name.startswith(".") and not is_encrypted(path.name) and path.is_file()
    )


def is_test_file(name: str) -> bool:
    """Whether a name in a project is one that `discovered` would return."""
    folder, _, own = name.rpartition("/")
    in_place = folder == FOLDER or (not folder and own.endswith(ENDING))
    return in_place and own.endswith(SUFFIXES) and not own.startswith(".") and not is_encrypted(own)


def discovered(root: Path) -> list[Path]:
    """The test files of a project: those of its folder `tests`, and `*.test.yaml` beside its file."""
    return [*(path for path in in_folder(root) if path.name.endswith(ENDING)), *in_folder(root / FOLDER)]
