"""Packages whose names are imported at their first use."""

from __future__ import annotations

import importlib

import pytest

from reconciler.deferred import deferred

PACKAGES = ("client", "config", "model", "plan", "state")


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_that_a_package_offers_is_found(name: str) -> None:
    package = importlib.import_module(f"reconciler.{name}")
    assert [public for public in package.__all__ if getattr(package, public, None) is None] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_a_name_that_a_package_does_not_offer_is_an_attribute_error(name: str) -> None:
    package = importlib.import_module(f"reconciler.{name}")
    with pytest.raises(AttributeError, match=f"module 'reconciler.{name}' has no attribute 'nonsense'"):
        _ = package.nonsense


def test_a_name_may_be_called_otherwise_in_its_module() -> None:
    from reconciler.config.project import load

    assert deferred("reconciler.config", {"project": "read=load"})("read") is load
