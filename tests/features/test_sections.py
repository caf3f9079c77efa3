"""Every key of the project file is read by somebody."""

from __future__ import annotations

import pickle

from reconciler.config.keys import PROJECT
from reconciler.config.sections import SECTIONS, known_keys
from reconciler.features.urls.model.redirects import URLS
from reconciler.model.features import key_named


def test_every_key_of_a_feature_is_read_by_it() -> None:
    assert {key.feature for key in PROJECT} - {""} == {section.feature for section in SECTIONS}
    assert known_keys() == [*PROJECT]


def test_a_key_of_a_feature_is_the_same_in_another_process() -> None:
    assert pickle.loads(pickle.dumps({URLS: 1})) == {URLS: 1}
    assert key_named(URLS.name) is URLS
