"""The table of endpoints answers every reading as FastAPI does, whatever is asked and however unusual the query is.

Every operation of the document, called by a client that was not written here, with bodies and parameters it makes up.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from reconciler.sandbox.app import GROUPS, Sandbox, create_app
from reconciler.sandbox.table import reading_of
from tests.proofs import costly, proof, sampled, stride, tries
from tests.sandbox.box import ADA, BASE, CONTROL
from tests.sandbox.test_fuzz import ROUTES
from tests.sandbox.world import World

READINGS = [path for method, path in ROUTES if method == "GET" and path.startswith("/v1/")]
QUERIES = [
    "",
    "limit=2",
    "page=ZnJvbTox",
    "page=ZnJvbTox&limit=1",
    *("limit=0", "limit=1001", "limit=many", "limit=%2B5", "limit=", "page=", "page=nonsense", "limit=1&limit=2", "unknown=1", "nested=no"),
]


def without_table(db: Path) -> Sandbox:
    other = create_app(db, control_token=CONTROL, base=BASE)
    other.router.routes.clear()
    other.router.default = partial(other.table.framework.answer, None)
    return other


async def answers(app: Sandbox, path: str) -> list[tuple[int, bytes, str | None]]:
    """What a path answers to each of the queries, and to methods and endings that it may not have."""
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=BASE, headers={"Authorization": f"Bearer {ADA}"}) as client:
        sent = [await client.get(f"{path}?{query}") for query in QUERIES]
        sent += [await client.get(f"{path}/"), await client.request("TRACE", path), await client.get(f"{path}/%20/nothing")]
    return [(one.status_code, one.content, one.headers.get("content-type")) for one in sent]


@costly
@sampled
def test_it_answers_every_reading_as_fastapi_does(template: World, tmp_path: Path) -> None:
    world = template.copied(tmp_path)
    world.box.clock("2031-01-01T00:00:00Z")
    plain = without_table(world.box.db)
    try:
        assert len(READINGS) > 60
        for path in READINGS[:: stride(3)]:
            filled = re.sub(r"\{(\w+)\}", lambda match: world.known[match[1]], path)
            assert asyncio.run(answers(world.box.app, filled)) == asyncio.run(answers(plain, filled)), path
    finally:
        plain.state.service.store.close()
        world.box.close()


@pytest.mark.parametrize("path", ["/v1/orgs/org_a/members/usr_rita", "/v1/orgs/org_a/teams", "/v1/orgs", "/v1/spaces/spc_one"])
def test_plain_readings_are_answered_by_the_table_itself(template: World, path: str) -> None:
    _, scope = create_app(template.box.db).table.matches({"type": "http", "method": "GET", "path": path})
    reading = reading_of(scope["sandbox.endpoint"])
    assert reading is not None
    assert reading.arguments({**scope, "query_string": b"", "caller": None}) is not None


@costly
def test_a_service_that_answers_plain_readings_does_not_load_fastapi(tmp_path: Path) -> None:
    script = f"""
import sys
import httpx2
from pathlib import Path
from reconciler.sandbox.server import embedded
with embedded(Path({str(tmp_path / "sandbox.db")!r})) as service:
    headers = {{"Authorization": f"Bearer {{service.token}}"}}
    assert httpx2.get(f"{{service.base_url}}/v1/orgs?limit=5", headers=headers).status_code == 200
    assert httpx2.get(f"{{service.base_url}}/_sandbox/identity", headers=headers).status_code == 200
    assert "fastapi" not in sys.modules
    assert httpx2.get(f"{{service.base_url}}/v1/orgs?limit=none", headers=headers).status_code == 400
"""
    subprocess.run([sys.executable, "-c", script], check=True)


REFERENCE: Final = (Path(__file__).parent / "operations.txt").read_text(encoding="utf-8").splitlines()
SERVED: Final = {f"{endpoint.method} /v1{endpoint.path}" for group in GROUPS for endpoint in group.router.endpoints}
EXAMPLES: Final = int(os.environ.get("RECONCILER_SERVICE_EXAMPLES", tries(4, 1)))  # of each operation and mode


# The one check that some operations are excused from: `positive_data_acceptance`. What the document allows is refused because of ...
_NAMES = "an id that names nothing there"
REFUSED: Final = {
    "POST /v1/collections/{collectionId}/move": _NAMES,
    "POST /v1/collections/{collectionId}/transfer": _NAMES,
    "POST /v1/orgs/{organizationId}/collections": _NAMES,
    "POST /v1/spaces/{spaceId}/move": _NAMES,
    "POST /v1/spaces/{spaceId}/transfer": _NAMES,
    "POST /v1/spaces/{spaceId}/restore": "the space is not deleted",
    "POST /v1/spaces/{spaceId}/change-requests": _NAMES,
    "POST /v1/spaces/{spaceId}/content/template": _NAMES,
    "GET /v1/spaces/{spaceId}/change-requests/{changeRequestId}/pdf": _NAMES,
    "POST /v1/spaces/{spaceId}/comments": _NAMES,
    "POST /v1/spaces/{spaceId}/change-requests/{changeRequestId}/comments": _NAMES,
    "POST /v1/spaces/{spaceId}/change-requests/{changeRequestId}/merge": "it is merged already",
    "POST /v1/spaces/{spaceId}/change-requests/{changeRequestId}/update": "it is merged already",
    "PATCH /v1/orgs/{organizationId}": _NAMES,
    "POST /v1/orgs/{organizationId}/join": "the e-mail domain is not among the allowed ones",
    "PUT /v1/orgs/{organizationId}/teams": _NAMES,
    "POST /v1/orgs/{organizationId}/sites": _NAMES,
    "PATCH /v1/orgs/{organizationId}/sites/{siteId}": _NAMES,
    "PUT /v1/orgs/{organizationId}/sites/{siteId}/adaptive-schema": "it is no schema of visitors",
    "GET /v1/orgs/{organizationId}/sites/{siteId}/adaptive-schema": "there is none yet",
    "GET /v1/orgs/{organizationId}/sites/{siteId}/adaptive-schema/template-conditions": "there is none yet",
    "GET /v1/orgs/{organizationId}/sites/{siteId}/published": "it is not published yet",
    "POST /v1/orgs/{organizationId}/sites/{siteId}/sections": _NAMES,
    "PATCH /v1/orgs/{organizationId}/sites/{siteId}/sections/{siteSectionId}": _NAMES,
    "POST /v1/orgs/{organizationId}/sites/{siteId}/sections/{siteSectionId}/move": _NAMES,
    "POST /v1/orgs/{organizationId}/sites/{siteId}/section-groups": _NAMES,
    "POST /v1/orgs/{organizationId}/sites/{siteId}/section-groups/{siteSectionGroupId}/move": _NAMES,
    "POST /v1/orgs/{organizationId}/sites/{siteId}/section-groups/{siteSectionGroupId}/sections": _NAMES,
    "POST /v1/orgs/{organizationId}/sites/{siteId}/site-spaces": _NAMES,
    "PATCH /v1/orgs/{organizationId}/sites/{siteId}/site-spaces/{siteSpaceId}": _NAMES,
    "POST /v1/orgs/{organizationId}/sites/{siteId}/site-spaces/{siteSpaceId}/move": _NAMES,
    "POST /v1/integrations/{integrationName}": "an icon that is not base64",
    "POST /v1/integrations/{integrationName}/installations": _NAMES,
    "POST /v1/orgs/{organizationId}/openapi": "a slug that is taken",
    "POST /v1/orgs/{organizationId}/saml": _NAMES,
    "PATCH /v1/orgs/{organizationId}/saml/{samlProviderId}": _NAMES,
    "POST /v1/orgs/{organizationId}/translations": _NAMES,
    "POST /v1/orgs/{organizationId}/conversations": "a time that is none",
}


# The other one: `negative_data_rejection`. A list of one value looks like the value itself in a query.
TAKEN: Final = {
    "GET /v1/integrations": "blockDomain",
    "GET /v1/spaces/{spaceId}/comments": "authors",
    "GET /v1/spaces/{spaceId}/change-requests/{changeRequestId}/comments": "authors",
}


def test_only_operations_of_the_reference_are_excused() -> None:
    assert set(REFERENCE) >= REFUSED.keys() | TAKEN.keys()


def test_what_is_served_is_the_reference_all_of_it_and_nothing_else() -> None:
    assert (set(REFERENCE), len(REFERENCE)) == (SERVED, 152)


CASES: Final = [
    pytest.param(operation, mode, id=f"{operation}-{word}", marks=() if index % 6 == turn * 3 else proof)  # a sixth on a push
    for index, operation in enumerate(REFERENCE)
    for turn, (mode, word) in enumerate([(GenerationMode.POSITIVE, "valid"), (GenerationMode.NEGATIVE, "invalid")])
]


@costly
@pytest.mark.parametrize(("operation", "mode"), CASES)
def test_no_check_of_schemathesis_fails(template: World, tmp_path: Path, operation: str, mode: GenerationMode) -> None:
    world = template.copied(tmp_path)
    left_out = [positive_data_acceptance] if operation in REFUSED else [negative_data_rejection] if operation in TAKEN else []
    try:
        schema = _described(world)
        method, path = operation.split()
        one = schema[path][method]
        known = {parameter.definition["name"] for parameter in one.query}

        @seed(1)
        @settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
        @given(case=one.as_strategy(generation_mode=mode))
        def run(case: Any) -> None:
            headers = {"Authorization": f"Bearer {ADA}", "Host": "127.0.0.1"}
            if mode is GenerationMode.POSITIVE:
                case.path_parameters |= {name: world.known[name] for name in case.path_parameters}
                case.query.pop("page", None)  # a token that only the service knows
            elif _wrong(case) == {ParameterLocation.QUERY}:
                assume(case.query.keys() <= known)  # a parameter that the service does not know is no error
            elif _wrong(case) <= {ParameterLocation.QUERY, ParameterLocation.HEADER}:
                headers.pop("Authorization")
            case.call_and_validate(excluded_checks=left_out, headers=headers)

        run()
    finally:
        world.box.close()


_SCHEMAS: Final[list[Any]] = []


def _described(world: World) -> Any:
    """What schemathesis makes of the document; it reads it once, as all boxes are one application."""
    if not _SCHEMAS:
        _SCHEMAS.append(schemathesis.openapi.from_asgi("/openapi.json", world.box.app, headers={"Host": "127.0.0.1"}))
    return _SCHEMAS[0]


def _wrong(case: Any) -> set[ParameterLocation]:
    """The parts of a request that were made wrong."""
    return {place for place, part in case.meta.components.items() if part.mode is GenerationMode.NEGATIVE}
