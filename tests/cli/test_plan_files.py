"""Files that are no saved plans: a clear error at once, whatever is in them."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.cli.conftest import Cli, initialised
from tests.effort import within
from tests.proofs import spread


@pytest.fixture
def docs(cli: Cli) -> Cli:
    """A project on its own sandbox."""
    return initialised(cli)


def _one_twice() -> bytes:
    return b"{" + b",".join(b'"%d":1' % (number % 399_999) for number in range(400_000)) + b"}"


BROKEN: dict[str, bytes | Callable[[], bytes]] = {
    "empty": b"",
    "not JSON": b"hello",
    "cut": b'{"format": "reconciler.plan/1", "steps": [',
    "not UTF-8": b'{"format": "\xff"}',
    "UTF-16": '{"format": "reconciler.plan/1"}'.encode("utf-16"),
    "a list": b"[]",
    "a number": b"7",
    "no format": b"{}",
    "a format of another type": b'{"format": ["reconciler.plan/1"]}',
    "an unknown format": b'{"format": "reconciler.plan/2"}',
    "an outcome": b'{"format": "reconciler.outcome/1"}',
    "a plan not saved": b'{"format": "reconciler.plan/1"}',
    "wrong types": b'{"format": "reconciler.plan/1", "requests": 1, "preconditions": {}}',
    "deep lists": b"[" * 1_000_000,
    "deep objects": b'{"a":' * 500_000,
    "NaN": b'{"format": NaN}',
    "Infinity": b'{"format": -Infinity}',
    "a large number": b'{"format": 1e999}',
    "a long number": b'{"format": ' + b"9" * 100_000 + b"}",
    "duplicate keys": b'{"format": "reconciler.plan/1", "format": "reconciler.plan/1"}',
    "many keys, one twice": _one_twice,
    "many lists": lambda: b"[" + b",".join([b"[]"] * 3_000_000) + b"]",
    "incomplete character": b'{"format": "\\ud800"}',
    "escapes": b'{"format": "\\u001b[2J\\u202e"}',
}


@pytest.mark.parametrize("name", spread(list(BROKEN), 10))
def test_a_broken_file_is_a_clear_error_at_once(docs: Cli, name: str) -> None:
    broken = BROKEN[name]
    (docs.root / "plan.json").write_bytes(broken if isinstance(broken, bytes) else broken())
    result = within(2, lambda: docs("apply", "p", "--plan", "plan.json"))
    assert result.exit_code == 3, result.stderr
    assert result.stderr.startswith("error: plan.json ")
    assert "\x1b" not in result.stderr
    assert len(result.stderr) < 500


def test_a_file_of_100_mb_is_not_read(docs: Cli) -> None:
    with (docs.root / "plan.json").open("wb") as file:
        file.truncate(100_000_000)
    result = within(2, lambda: docs("apply", "p", "--plan", "plan.json"))
    assert (result.exit_code, "100,000,000 bytes" in result.stderr) == (3, True)


def test_a_path_that_is_not_a_file_is_a_clear_error(docs: Cli) -> None:
    os.mkfifo(docs.root / "pipe")
    for name in ("pipe", "p", "nowhere.json", "/dev/zero"):
        result = docs("apply", "p", "--plan", name)
        assert result.exit_code == 3, result.stderr
        assert name in result.stderr
