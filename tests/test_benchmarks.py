"""The benchmarks measure what they claim: their projects are valid, and their service answers like the sandbox. No test measures time."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import httpx2
import pytest

from benchmarks import projects, statements
from benchmarks.longest import longest
from benchmarks.prepare import prepared
from benchmarks.report import chart, table
from benchmarks.rows import Row, bare, measure
from benchmarks.service.answers import Service
from benchmarks.service.contents import before, contents
from benchmarks.service.memory import Memory
from benchmarks.serving import serving
from tests.harness import SEED, Org
from tests.proofs import spread

SIZE = 150
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
ID = re.compile(r"\b(col|spc|site|sitesc|sitesp|link|sitesg|team|rev)_(?!blank)[0-9a-f]+|key=[\w-]+")


class MemoryOrg(Org):
    """A project against the service of the benchmarks in place of the sandbox."""

    service: Service

    def service_transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.MockTransport(self._answered)

    def _answered(self, request: httpx2.Request) -> httpx2.Response:
        status, body = self.service.answer(request.method, request.url.raw_path.decode(), request.content)
        return httpx2.Response(status, content=body, request=request)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        status, text = self.service.answer(method, f"/v1{path}", b"" if body is None else json.dumps(body).encode())
        assert status < 300
        return json.loads(text)


def memory_org(root: Path, shape: str, fill: Callable[[str, int], Memory], size: int = SIZE) -> MemoryOrg:
    org = MemoryOrg(root)
    org.service = Service(partial(fill, shape, size), "http://127.0.0.1")
    declare(org, shape, size)
    return org


def declare(org: Org, shape: str, size: int = SIZE) -> None:
    projects.write(org.project, projects.SHAPES[shape](size))


@pytest.mark.parametrize("shape", list(projects.SHAPES))
def test_a_project_has_about_as_many_objects_as_it_was_asked_for(shape: str, tmp_path: Path) -> None:
    projects.write(tmp_path, projects.SHAPES[shape](1000))
    assert 950 <= len(memory_org(tmp_path, shape, contents, 1000).load().desired.resources) <= 1050


@pytest.mark.parametrize("shape", list(projects.SHAPES))
def test_a_plan_of_the_contents_that_belong_to_a_project_has_no_changes(shape: str, tmp_path: Path) -> None:
    org = memory_org(tmp_path, shape, contents)
    org.apply()
    assert set(org.service.counts) == {"GET"}
    org.service.restart()
    assert not org.plan().pending
    assert sum(org.service.counts.values()) == len(org.service.seen) > 0


@pytest.mark.parametrize("shape", spread(list(projects.SHAPES), 1))
def test_a_first_apply_creates_the_contents_that_belong_to_a_project(shape: str, tmp_path: Path) -> None:
    org = memory_org(tmp_path, shape, before)
    outcome = org.apply()
    assert outcome.went_through
    assert not outcome.leftover
    expected = contents(shape, SIZE)
    assert {kind: len(found) for kind, found in org.service.memory.kinds.items()} == {
        kind: len(found) for kind, found in expected.kinds.items()
    }


def test_the_service_answers_like_the_sandbox(tmp_path: Path) -> None:
    ours, theirs = memory_org(tmp_path / "ours", "mix", before), Org(tmp_path / "theirs", seed=people())
    declare(theirs, "mix")
    for org in (ours, theirs):
        assert org.apply().went_through
    assert Counter(method for method, _ in ours.requests) == Counter(method for method, _ in theirs.requests)
    for our, their in zip(answers(ours), answers(theirs), strict=True):
        assert our == their


def test_a_measured_plan_is_counted_by_the_service_and_its_requests_can_be_sent_bare(tmp_path: Path) -> None:
    with serving("flat", 20, 0) as service, prepared("flat", 20, service, cache=tmp_path / "cache") as case:
        plan = measure(case, "plan")
        assert plan.cost.said.startswith("No changes.")
        assert plan.gets == len(plan.targets) > 0
        assert plan.writes == 0
        assert min(plan.cost.wall, plan.cost.cpu, plan.cost.memory) > 0
        service.restart()
        floor = bare(case, plan.targets)
        assert 0 < floor.gets < floor.program
        assert service.count() == {"GET": plan.gets}


def test_the_longest_sequence_counts_what_a_step_needs_and_what_it_follows() -> None:
    steps = [{"id": 1, "needs": [], "after": []}, {"id": 2, "needs": [1], "after": []}, {"id": 3, "needs": [], "after": [2, 1]}]
    assert longest(steps) == 3
    assert longest([]) == 0


def test_a_report_has_a_line_for_each_row_and_a_bar_for_each_time() -> None:
    rows = [Row("`plan` & more", "1 s", "bare", "2x", True, {"reconciler": 1.0, "bare GETs": 0.5}), Row("memory", "9 MB", "", "", None)]
    assert [line.count("|") for line in table(rows).splitlines()] == [6] * 4
    bars = fromstring(chart(rows)).findall("{http://www.w3.org/2000/svg}rect")
    assert float(bars[0].attrib["width"]) == 2 * float(bars[1].attrib["width"])


def people() -> dict[str, object]:
    """The sandbox before the first apply, with the members of the project."""
    members = [dict(org, displayName=org["email"].split("@")[0]) for org in SEED["members"] if org["role"] == "admin"]
    more = [email for email in projects.mix(SIZE)["members"] if email != projects.ADMIN]
    members += [
        {"organization": "org_acme", "id": f"usr_{number}", "email": email, "displayName": email.split("@")[0], "role": "read"}
        for number, email in enumerate(more, 1)
    ]
    return {**SEED, "members": members}


def answers(org: Org) -> list[object]:
    """What the service shows of everything: lists, their pages and their contents; ids by their first appearance, without moments."""
    texts: list[str] = []
    for name in ("collections", "members", "teams", "sites"):
        found = org.call("GET", f"/orgs/org_acme/{name}?limit=1000")
        paths = [path for item in found["items"] for path in inside(name, item["id"])]
        texts += [json.dumps(shown, sort_keys=True) for shown in (found, *(org.call("GET", f"{path}?limit=1000") for path in paths))]
    texts.append(json.dumps(org.call("GET", "/orgs/org_acme/collections?limit=3"), sort_keys=True))
    names: dict[str, str] = {}
    whole = MOMENT.sub("", "\n".join(texts))
    return ID.sub(lambda match: names.setdefault(match[0], f"#{len(names)}"), whole).splitlines()


def inside(name: str, id: str) -> list[str]:
    if name == "collections":
        return [f"/collections/{id}", f"/collections/{id}/spaces"]
    if name == "sites":
        return [f"/orgs/org_acme/sites/{id}/{part}" for part in ("sections", "section-groups", "site-spaces", "share-links")]
    return []


def test_statements_are_counted_without_docstrings_comments_and_line_breaks() -> None:
    source = (
        '"""A module."""\n\n# A comment.\ndef double(\n    number: int,\n) -> int:\n    """Twice the number."""\n    return 2 * number\n'
    )
    assert statements.statements(source) == 2


def test_the_rooms_of_a_folder_add_up(tmp_path: Path) -> None:
    for name, lines in (("top.py", 1), ("room/a.py", 2), ("room/deep/b.py", 3), ("small/c.py", 1)):
        (tmp_path / "house" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "house" / name).write_text("pass\n" * lines)
    rows = [line.split() for line in statements.table(tmp_path / "house").splitlines()[1:]]
    assert rows == [["room", "5", "5", "2"], ["small", "1", "1", "1"], [".", "1", "1", "1"], ["total", "7", "7", "4"]]
