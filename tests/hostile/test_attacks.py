"""An attack on the files of a project ends within two seconds and 256 MB: with a project, or with errors that say where they are."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from reconciler.text.escape import is_plain, terminal
from tests.cage import caged
from tests.hostile.attacks import ATTACKS, Attack
from tests.proofs import costly, spread

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits of a process are Linux's")
FEWEST = 300


def written(attack: Attack, folder: Path) -> None:
    for name, content in attack.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name, target in (attack.links or {}).items():
        (folder / name).symlink_to(target)
    for name in attack.pipes:
        os.mkfifo(folder / name)


def loading(folder: Path) -> Any:
    """The problems as a terminal gets them and whether each has a place; None where a project came of it."""
    try:
        load(folder, kinds(), environment=None, variables={}, public=(), environ={})
    except ConfigError as error:
        return [(terminal(str(problem)), bool(problem.file)) for problem in error.problems]
    return None


def test_there_are_enough_of_them_and_each_has_a_name() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= FEWEST


@costly
@pytest.mark.parametrize("attack", spread(ATTACKS, 20), ids=lambda attack: ascii(attack.name)[1:-1][:60])
def test_an_attack_is_bounded_and_its_errors_have_places(attack: Attack, tmp_path: Path) -> None:
    kinds()
    written(attack, tmp_path)
    found = caged(lambda: loading(tmp_path))
    if attack.refused:
        assert found, "accepted"
    assert [text for text, placed in found or () if not placed] == []
    assert [text for text, _ in found or () if not all(map(is_plain, text))] == []
