"""Every operation of the document, called by a client that was not written here, with bodies and parameters it makes up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from reconciler.sandbox.app import GROUPS
from tests.sandbox.box import ADA
from tests.sandbox.world import World

REFERENCE: Final = (Path(__file__).parent / "operations.txt").read_text(encoding="utf-8").splitlines()
SERVED: Final = {
    f"{method} /v1{route.path}"
    for group in GROUPS
    for route in group.router.routes
    if isinstance(route, APIRoute)
    for method in route.methods
}
OPERATIONS: Final = REFERENCE
EXAMPLES: Final = int(os.environ.get("RECONCILER_SERVICE_EXAMPLES", "4"))  # of each operation and mode
LEFT_OUT: Final = [
    positive_data_acceptance,  # page tokens, anchors and ids are texts to a schema, and refused where they name nothing
    ignored_auth,  # the calls here carry a token, whatever was made up; test_refusals has the others
]


def test_what_is_served_is_the_reference_all_of_it_and_nothing_else() -> None:
    assert set(REFERENCE) == SERVED
    assert len(REFERENCE) == 152


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "invalid"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_check_of_schemathesis_fails(template: World, tmp_path: Path, operation: str, mode: GenerationMode) -> None:
    world = template.copied(tmp_path)
    try:
        schema = schemathesis.openapi.from_asgi("/openapi.json", world.box.app, headers={"Host": "127.0.0.1"})
        method, path = operation.split()

        @seed(1)
        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
        @given(case=schema[path][method].as_strategy(generation_mode=mode))
        def run(case: Any) -> None:
            for name in case.path_parameters or {}:
                if mode is GenerationMode.POSITIVE:
                    case.path_parameters[name] = world.known[name]
            case.call_and_validate(excluded_checks=LEFT_OUT, headers={"Authorization": f"Bearer {ADA}", "Host": "127.0.0.1"})

        run()
    finally:
        world.box.close()
