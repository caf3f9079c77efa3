"""What a program may rely on: the names, their parameters and their attributes. A change here is a change for somebody else's code."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import reconciler
from reconciler import interface
from reconciler.cli.option_table import ROWS
from reconciler.interface.refusals import ARGUMENTS
from tests.sources import ROOT

SIGNATURES = {
    "open": "(path='.', *, environment=None, service=None, sandbox=None, token=None, state=None, create_state=False, target=(), "
    "exclude=(), vars={}, limits, voice=None)",
    "OpenedProject.plan": "(*, hold=False)",
    "OpenedProject.apply": "(plan, *, limits=None)",
    "OpenedProject.drift": "(*, coverage=False)",
    "OpenedProject.accept": "(names=(), *, limits=None)",
    "OpenedProject.access": "(reader=(), *, who=None, people=False)",
    "OpenedProject.rehearse": "()",
    "OpenedProject.undo": "(run='last', *, limits=None)",
    "OpenedProject.imported": "(organization=None)",
    "OpenedProject.urls": "(site=None, *, ended=False)",
    "OpenedProject.health": "()",
    "OpenedProject.test": "(*, name=())",
    "OpenedProject.find": "(text='', *, kind='')",
    "OpenedProject.close": "()",
}
ATTRIBUTES = {
    "AcceptResult": "left lines",
    "AccessResult": "as_document made_at model",
    "DriftResult": "as_document code commands groups made_at model",
    "HealthResult": "as_document made_at model word",
    "ImportResult": "files missing model",
    "Limits": "dead_urls deletions exposed exposures gone open_work replacements with_exposures",
    "FindResult": "objects others",
    "ApplyResult": "as_document code done made_at model run",
    "PlanResult": "as_document blocked changes exposures forecast held made_at model pending refusals",
    "OpenedProject": "accept access apply close drift find health imported name path plan rehearse test undo urls",
    "RehearseResult": "as_document as_planned made_at model",
    "TestResult": "as_document made_at passed project results",
    "UndoResult": "as_document cannot code lines made_at model of",
    "UrlsResult": "as_document records",
}
PRIVATE = {"masks", "saved"}  # how a result does what it promises


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_function_has_the_parameters_that_programs_pass(name: str) -> None:
    owner, _, method = name.rpartition(".")
    given = inspect.signature(getattr(getattr(reconciler, owner) if owner else reconciler, method))
    parts = [part.replace(annotation=inspect.Parameter.empty) for part in given.parameters.values() if part.name != "self"]
    parts = [part.replace(default=inspect.Parameter.empty) if part.name == "limits" and not owner else part for part in parts]
    shown = str(inspect.Signature(parts)).replace("mappingproxy({})", "{}")
    assert shown == SIGNATURES[name]


def test_every_public_name_is_pinned_here() -> None:
    errors = {name for name in reconciler.__all__ if issubclass(getattr(reconciler, name), Exception)}
    assert {*ATTRIBUTES, "Glob"} | errors == {*reconciler.__all__}
    methods = {
        f"OpenedProject.{name}" for name, value in vars(reconciler.OpenedProject).items() if inspect.isfunction(value) and name[0] != "_"
    }
    assert {*SIGNATURES} == {"open", *methods}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_class_has_the_attributes_that_programs_read(name: str) -> None:
    thing = getattr(reconciler, name)
    own = {known.name for known in fields(thing)} if is_dataclass(thing) else set()
    assert {*own, *(word for word in dir(thing) if word[0] != "_")} - PRIVATE == {*ATTRIBUTES[name].split()}


def test_the_package_offers_what_the_interface_has_and_open_is_not_among_what_a_star_imports() -> None:
    assert [*reconciler.__all__] == sorted(reconciler.__all__)
    offered = {name for name in vars(interface) if name[0] != "_" and not inspect.ismodule(vars(interface)[name])} - {"annotations"}
    assert {*reconciler.__all__, "open"} == offered
    namespace: dict[str, object] = {}
    exec("from reconciler import *", namespace)
    assert "open" not in namespace
    assert namespace["PlanResult"] is reconciler.PlanResult
    with pytest.raises(AttributeError, match="no attribute 'plans'"):
        _ = reconciler.plans  # type: ignore[attr-defined]


def test_the_version_is_a_literal_that_the_build_reads() -> None:
    assert f'__version__ = "{reconciler.__version__}"\n' in Path(str(reconciler.__file__)).read_text(encoding="utf-8")
    assert (ROOT / "reconciler" / "py.typed").exists()


def test_every_result_is_frozen_and_every_public_name_says_what_it_is() -> None:
    results = [getattr(reconciler, name) for name in ATTRIBUTES if name != "OpenedProject"]
    assert all(is_dataclass(thing) and thing.__dataclass_params__.frozen for thing in results)
    undocumented = [name for name in (*ATTRIBUTES, *SIGNATURES) if not inspect.getdoc(_named(name))]
    assert undocumented == []


def _named(name: str) -> object:
    owner, _, last = name.rpartition(".")
    return getattr(getattr(reconciler, owner) if owner else reconciler, last)


def test_arguments_that_a_hint_names_exist() -> None:
    assert set(ARGUMENTS) <= {row.field for row in ROWS}
    assert set(ARGUMENTS.values()) <= set(inspect.signature(reconciler.open).parameters)
