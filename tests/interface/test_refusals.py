"""The way past an error, in Python."""

from __future__ import annotations

import pytest

import reconciler
from reconciler.errors import Problem
from reconciler.interface.refusals import in_python, way_of
from reconciler.text.masks import Masks


@pytest.mark.parametrize(
    ("hint", "way"),
    [
        ("if this is intended: --allow-delete 4", "limits=Limits(deletions=4)"),
        (
            "if this is intended: --allow-exposure 'acme/a b' --allow-exposure acme/c --max-exposed 9",
            "limits=Limits(exposures=(Glob.parse('acme/a b'), Glob.parse('acme/c'),), exposed=9)",
        ),
        ("if this is intended: --allow-dead-urls '/v1/**'", "limits=Limits(dead_urls=('/v1/**',))"),
        ("Correct STATE; or pass --create-state to create the state.", "create_state=True"),
        ("Pass --base-url https://docs.example, or set RECONCILER_BASE_URL.", "service='https://docs.example'"),
        ("Set RECONCILER_TOKEN, or use the embedded sandbox: --sandbox FILE.", "sandbox='FILE'"),
        ("It isn't one.", ""),
        ("", ""),
    ],
)
def test_the_options_of_a_hint_are_arguments(hint: str, way: str) -> None:
    assert way_of(hint) == way


def test_an_error_has_one_way_and_a_traceback_shows_it() -> None:
    refusals = [reconciler.Refused("a", id="RC-delete-limit", hint="--allow-delete 4"), reconciler.Refused("b", id="RC-rule-violated")]
    with pytest.raises(reconciler.Refused) as refused, in_python(Masks()):
        raise reconciler.Refused.of(*refusals)
    assert refused.value.message == "a\nb"
    assert refused.value.hint == "--allow-delete 4\nIn Python: limits=Limits(deletions=4)"
    assert refused.value.__notes__ == [f"{refused.value.hint}\n[RC-delete-limit]"]
    assert [reason.id for reason in refused.value.reasons] == ["RC-delete-limit", "RC-rule-violated"]
    with pytest.raises(reconciler.StalePlan) as stale, in_python(Masks()):
        raise reconciler.StalePlan("old", id="RC-saved-plan-stale", hint="--partial applies the rest")
    assert stale.value.hint == "Make a new one: project.plan()."


def test_an_error_contains_no_secret() -> None:
    masks = Masks()
    masks.hide(["hunter2-and-more"])
    problem = reconciler.ConfigError([Problem("a.yaml", 1, 1, "hunter2-and-more is wrong", id="RC-no-value")])
    for error in (problem, reconciler.UsageError("hunter2-and-more", id="RC-no-value", hint="Not hunter2-and-more.")):
        with pytest.raises(reconciler.ReconcilerError) as raised, in_python(masks):
            raise error
        shown = f"{raised.value} {raised.value.message} {raised.value.hint} {raised.value.__notes__} {getattr(error, 'problems', '')}"
        assert "hunter2" not in shown
