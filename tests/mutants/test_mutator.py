"""The changes a program makes are changes: each alters the text, each once, and leaves alone what no program sees."""

from __future__ import annotations

import ast

import pytest

from tests.mutants import score
from tests.mutants.mutator import mutants
from tests.proofs import spread


def changed(text: str) -> list[str]:
    return [ast.unparse(one.tree(text)) for one in mutants(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a == b", ["a != b"]),
        ("a < b", ["a <= b"]),
        ("a not in b", ["a in b"]),
        ("a and b", ["a or b"]),
        ("a + 1", ["a - 1", "a + 2"]),
        ("a = True", ["a = False"]),
        ("a = not b", ["a = bool(b)"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("def f():\n    return None", []),
        ("f()", ["pass"]),
        ("if a:\n    b.c = d", ["if not a:\n    b.c = d", "if a:\n    pass"]),
        ("for a in b:\n    break", ["for a in b:\n    continue"]),
        ("raise E(f'{a + 1}')", ["pass"]),
        ("c = [a for a in b if a]", ["c = [a for a in b if True]"]),
        ('"""words"""\na: int\nassert a == 1', []),
        ("x = f'{a + 1}'", []),
    ],
)
def test_each_change_is_made_once(text: str, expected: list[str]) -> None:
    assert changed(text) == expected


@pytest.mark.parametrize("name", spread(list(score.TESTS), 2))
def test_every_change_to_our_modules_is_another_program_that_compiles(name: str) -> None:
    some, total = score.drawn(name, 12, seed=1)
    assert 0 < len(some) <= total
    for module, one in some:
        text = score.nursery.source(module).read_text(encoding="utf-8")
        tree = one.tree(text)
        assert ast.unparse(tree) != ast.unparse(ast.parse(text)), (module, one)
        compile(tree, module, "exec")


def test_a_sample_is_the_same_each_time() -> None:
    assert score.drawn("plan.steps.graph", 5, seed=0) == score.drawn("plan.steps.graph", 5, seed=0)
    assert score.drawn("plan.steps.graph", 5, seed=0) != score.drawn("plan.steps.graph", 5, seed=1)
