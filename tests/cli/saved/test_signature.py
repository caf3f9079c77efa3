"""With a key, only what was signed with it is applied; without one, nothing is claimed about a signature."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring.plan_file import KEY, OLD, check, sign
from reconciler.errors import Refused
from tests.cli.conftest import Cli, applied_project, prepared

NEW_KEY, OLD_KEY = "n" * 32, "o" * 64
SIGNED = {KEY: NEW_KEY}


@pytest.fixture
def signed(cli: Cli) -> Cli:
    """An applied project, of which a change was planned and signed."""
    return with_a_signed_plan(cli)


@prepared
def with_a_signed_plan(cli: Cli) -> Cli:
    applied_project(cli).edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    result = cli("plan", "p", "--out", "plan.json", env=SIGNED)
    assert (result.exit_code, "Saved the signed plan to plan.json." in result.stderr) == (0, True)
    assert NEW_KEY not in result.stdout + result.stderr + (cli.root / "plan.json").read_text()
    return cli


def applied(cli: Cli, code: int, says: str, **env: str) -> None:
    result = cli("apply", "p", "--plan", "plan.json", env=env)
    assert (result.exit_code, says in " ".join(result.stderr.split())) == (code, True), result.stderr
    assert not any(key in result.stderr + result.stdout for key in env.values() if key.strip())


def test_a_signed_plan_is_applied_with_its_key(signed: Cli) -> None:
    applied(signed, 0, "", **{KEY: f"{NEW_KEY}\n"})  # as a file of a secret ends


def test_after_a_rotation_the_old_key_is_accepted_where_it_is_named(signed: Cli) -> None:
    wrong = "the signature of plan.json is wrong: it was signed with another key, or changed afterwards [RC-plan-signature]"
    wrong += " If the key was replaced, set"
    applied(signed, 4, f"{wrong} {OLD}", **{KEY: OLD_KEY, OLD: ""})
    applied(signed, 3, f"{OLD} is set without {KEY}", **{OLD: NEW_KEY})
    applied(signed, 0, "", **{KEY: OLD_KEY, OLD: NEW_KEY})


def test_without_a_key_a_signature_is_not_checked_and_that_is_said(signed: Cli) -> None:
    applied(signed, 0, f"The signature of plan.json was not checked, because {KEY} is not set.")


def test_a_plan_that_nobody_signed_is_refused_where_a_key_is_set(signed: Cli) -> None:
    assert signed("plan", "p", "--out", "plan.json").exit_code == 0
    applied(signed, 4, f"plan.json is not signed, and {KEY} is set", **SIGNED)
    applied(signed, 0, "")


@pytest.mark.parametrize(
    ("key", "says"), [("", "is set and empty"), ("\n", "is set and empty"), ("n" * 31, "has 31 bytes, and at least 32")]
)
def test_a_key_that_is_missing_or_too_short_is_an_error_and_never_no_key(signed: Cli, key: str, says: str) -> None:
    applied(signed, 3, f"{KEY} {says}", **{KEY: key})
    assert signed("plan", "p", "--out", "other.json", env={KEY: key}).exit_code == 3
    assert not (signed.root / "other.json").exists()
    assert signed("plan", "p", env={KEY: key}).exit_code == 0  # which saves nothing


def test_whatever_is_edited_in_a_signed_plan_is_refused_and_layout_is_not_edited(signed: Cli) -> None:
    path, screen = signed.root / "plan.json", Screen()
    document = json.loads(path.read_text())
    again = dict(reversed(document.items()))
    check(screen, path, json.loads(json.dumps(again, indent=7)), SIGNED)
    number = 0
    for edited in edits(document):
        number += 1
        with pytest.raises(Refused):
            check(screen, path, edited, SIGNED)
    assert number > 150
    assert sign(document, NEW_KEY.encode()) == document["signature"] != sign(document, OLD_KEY.encode())


def edits(value: Any) -> Iterator[Any]:
    """The document with one edit: each value changed or removed, each key renamed, each list longer or in another order."""
    if isinstance(value, dict):
        for name, inner in value.items():
            rest = {key: part for key, part in value.items() if key != name}
            yield rest
            yield {**rest, f"{name}x": inner}
            yield from ({**value, name: edited} for edited in edits(inner))
        yield {**value, "more": None}
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield value[:index] + value[index + 1 :]
            yield from ([*value[:index], edited, *value[index + 1 :]] for edited in edits(inner))
        yield [*value, None]
        if value != value[::-1]:
            yield value[::-1]
    else:
        yield {"": value}
        yield str(value) + " " if isinstance(value, str) else str(value)
