"""The fuzz targets, and running them: a run is a target and a number, and can be repeated by that number."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.hostile import documents, texts, worlds

Target = Callable[[random.Random], None]

TARGETS: Mapping[str, Target] = {
    "yaml": texts.yaml_text,
    "expressions": texts.expression,
    "addresses": texts.address,
    "layout": texts.file_layout,
    "baselines": texts.baseline,
    "reports": texts.report,
    "projects": worlds.project,
    "answers": worlds.answers,
    "state": worlds.rows,
    "saved plans": documents.saved_plans,
    "pushed states": documents.states,
}
SHARES: Mapping[str, float] = {
    "yaml": 0.28, "expressions": 0.23, "addresses": 0.3, "layout": 0.08, "baselines": 0.04, "reports": 0.01, "projects": 0.01, "answers": 0.005, "state": 0.005, "saved plans": 0.02, "pushed states": 0.02,
}  # fmt: skip
"""Of all runs, by what one costs."""


@dataclass(frozen=True)
class Failure:
    """A run that ended in anything but what its target allows."""

    target: str
    number: int
    error: BaseException


def fuzz(target: str, numbers: range) -> Iterator[Failure]:
    """Run one target once a number."""
    for number in numbers:
        try:
            TARGETS[target](random.Random(number))
        except Exception as error:
            yield Failure(target, number, error)
