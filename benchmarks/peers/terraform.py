"""Terraform with `terraform_data`, which needs neither a provider nor a network: a plan without changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Cost, run
from benchmarks.peers.kong import service

MISSING = "Terraform is not installed"


def cost(size: int) -> Cost | None:
    """A plan of so many objects that all exist; None where Terraform is not installed."""
    terraform = shutil.which("terraform")
    if terraform is None:
        return None
    with TemporaryDirectory() as name:
        folder = Path(name)
        fields = [service(number) for number in range(size)]
        (folder / "main.tf").write_text("".join(_resource(n, values) for n, values in enumerate(fields)), encoding="utf-8")
        (folder / "terraform.tfstate").write_text(json.dumps(_state(fields)), encoding="utf-8")
        quiet = {"CHECKPOINT_DISABLE": "1"}
        run([terraform, f"-chdir={folder}", "init", "-input=false"], environment=quiet)
        plan = run([terraform, f"-chdir={folder}", "plan", "-input=false", "-detailed-exitcode"], environment=quiet, log=folder / "log.txt")
        assert plan.code == 0, plan.said
        return plan


def _resource(number: int, values: dict[str, Any]) -> str:
    fields = "".join(f"    {name} = {json.dumps(value)}\n" for name, value in values.items())
    return f'resource "terraform_data" "s{number}" {{\n  input = {{\n{fields}  }}\n}}\n'


def _state(fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "version": 4,
        "terraform_version": "1.0.0",
        "serial": 1,
        "lineage": "00000000-0000-4000-8000-000000000000",
        "outputs": {},
        "resources": [_instance(number, values) for number, values in enumerate(fields)],
    }


def _instance(number: int, values: dict[str, Any]) -> dict[str, Any]:
    types = {name: {int: "number", str: "string"}.get(type(value), ["tuple", ["string"]]) for name, value in values.items()}
    dynamic = {"value": values, "type": ["object", types]}
    attributes = {"id": f"id-{number}", "input": dynamic, "output": dynamic, "triggers_replace": None}
    return {
        "mode": "managed",
        "type": "terraform_data",
        "name": f"s{number}",
        "provider": 'provider["terraform.io/builtin/terraform"]',
        "instances": [{"schema_version": 0, "attributes": attributes, "sensitive_attributes": []}],
    }
