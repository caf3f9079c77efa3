"""Modules that do what libraries exist for say in one line why none of them is used."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "client.pacing", "client.retry", "plan.siblings.moves", "plan.steps.graph", "report.layout", "state.connection", "state.lease",
        "state.tables.migrations", "text.redact", "yamltext", "yamltext.format", "yamltext.tree",
    ],
)  # fmt: skip
def test_a_module_that_a_library_could_replace_says_why_it_is_our_own(module: str) -> None:
    docstring = importlib.import_module(f"reconciler.{module}").__doc__ or ""
    assert len([line for line in docstring.splitlines() if line.startswith("Own code")]) == 1
