"""Every key of the project file is read by somebody."""

from __future__ import annotations

from reconciler.config.keys import PROJECT
from reconciler.config.sections import SECTIONS, known_keys


def test_every_key_of_a_feature_is_read_by_it() -> None:
    assert {key.feature for key in PROJECT} - {""} == {section.feature for section in SECTIONS}
    assert known_keys() == [*PROJECT]
