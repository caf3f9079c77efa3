"""Misbehaviour on demand: every kind of fault alone can be provoked, shows in the log, and ends when it is cleared.

What docs/sandbox.md says of faults is so: its rules can be read, and its table names every fault.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import httpx2
import pytest
import yaml

from reconciler.sandbox.faults import limits, rules
from reconciler.sandbox.faults.rules import parse
from reconciler.sandbox.file import identity_of
from reconciler.sandbox.server import Embedded, embedded
from tests.sandbox.box import ADA, CONTROL, SEED, Box

TEAMS = "/orgs/org_a/teams"


class Wild(Box):
    """A box whose answers are not held against the service's own document: they are meant to be wrong."""

    def send(self, method: str, path: str, body: Any = None, *, token: str | None = ADA, **more: Any) -> httpx2.Response:
        headers = {**more.pop("headers", {}), "Authorization": f"Bearer {token}"}
        if body is not None:
            more["json"] = body
        return asyncio.run(self._send(method, path if path.startswith("/_") else f"/v1{path}", headers, more))


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Wild]:
    made = Wild(tmp_path)
    yield made
    made.close()


def faults(box: Box, *rules: dict[str, Any]) -> None:
    answer = box.send("PUT", "/_sandbox/faults", {"rules": list(rules)}, token=CONTROL)
    assert answer.status_code == 200, answer.text


def log(box: Box) -> list[tuple[int, str, str, str, str]]:
    items = box.send("GET", "/_sandbox/faults/log", token=CONTROL).json()["items"]
    return [(item["number"], item["rule"], item["fault"], item["method"], item["path"]) for item in items]


def kinds(box: Box) -> list[str]:
    return [one[2] for one in log(box)]


def team(box: Box, title: str = "Writers", **more: Any) -> httpx2.Response:
    return box.send("PUT", TEAMS, {"title": title}, **more)


def titles(box: Box) -> list[str]:
    return [item["title"] for item in box.items(TEAMS)]


# -- each kind alone ----------------------------------------------------------------------------------------------------------------------


def test_latency_delays_the_answer_and_changes_nothing_else(box: Box) -> None:
    faults(box, {"fault": "latency", "seconds": 0.05})
    answer = box.send("GET", "/orgs")
    assert (answer.status_code, answer.elapsed.total_seconds() >= 0.05) == (200, True)
    assert log(box) == [(1, "1:latency", "latency", "GET", "/v1/orgs")]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_an_error_before_the_effect_does_nothing_and_one_after_it_does_everything(box: Box, status: int) -> None:
    faults(box, {"fault": "error", "status": status, "when": "before", "operation": "PUT *", "times": 1})
    assert box.refused("PUT", TEAMS, {"title": "A"}, status=status)
    assert titles(box) == []
    faults(box, {"fault": "error", "status": status, "when": "after", "operation": "PUT *", "retryAfter": 2})
    answer = team(box, "B")
    assert (answer.status_code, answer.headers["Retry-After"]) == (status, "2")
    assert titles(box) == ["B"]
    assert kinds(box) == ["error", "error"]


@pytest.mark.parametrize(("when", "effect", "made"), [("before", False, []), ("before", True, ["A"]), ("during", True, ["A"])])
def test_a_cut_connection_is_an_exception_inside_the_process(box: Box, when: str, effect: bool, made: list[str]) -> None:
    faults(box, {"fault": "cut", "when": when, "effect": effect, "operation": "PUT *"})
    with pytest.raises(ConnectionAbortedError):
        team(box, "A")
    assert (titles(box), kinds(box)) == (made, ["cut"])


def test_a_cut_after_the_answer_leaves_the_answer_whole(box: Box) -> None:
    faults(box, {"fault": "cut", "when": "after"})
    assert (team(box, "A").json()["title"], kinds(box)) == ("A", ["cut"])


def test_a_truncated_body_is_half_of_it_and_no_json(box: Box) -> None:
    whole = box.send("GET", "/orgs").content
    faults(box, {"fault": "truncated"})
    answer = box.send("GET", "/orgs")
    assert (answer.status_code, answer.content) == (200, whole[: len(whole) // 2])
    assert box.send("DELETE", f"{TEAMS}/none").status_code == 204
    assert kinds(box) == ["truncated"]


@pytest.mark.parametrize(("status", "seen"), [(None, 201), (502, 502)])
def test_a_body_that_is_not_json_comes_with_the_status_or_another_one(box: Box, status: int | None, seen: int) -> None:
    faults(box, {"fault": "not-json", "status": status, "operation": "PUT *"})
    answer = team(box)
    assert (answer.status_code, answer.headers["Content-Type"]) == (seen, "text/html; charset=utf-8")
    with pytest.raises(ValueError):
        answer.json()
    assert (titles(box), kinds(box)) == (["Writers"], ["not-json"])


def test_a_late_effect_comes_just_before_the_next_request(box: Box) -> None:
    faults(box, {"fault": "late", "times": 1})
    with pytest.raises(ConnectionAbortedError):
        team(box, "Late")
    assert box.store.select("team") == []
    assert box.send("GET", "/_sandbox/faults", token=CONTROL).json()["late"] == [{"method": "PUT", "path": f"/v1{TEAMS}"}]
    assert titles(box) == ["Late"]
    assert titles(box) == ["Late"]
    assert kinds(box) == ["late"]


def test_a_late_effect_waits_for_the_clock_and_survives_the_end_of_the_rules(box: Box) -> None:
    box.clock("2031-01-01T00:00:00Z")
    faults(box, {"fault": "late", "seconds": 60, "status": 504, "times": 1})
    assert box.refused("PUT", TEAMS, {"title": "Late"}, status=504)
    assert box.send("DELETE", "/_sandbox/faults", token=CONTROL).status_code == 204
    box.close()
    box.open()
    box.clock(advance=59)
    assert titles(box) == []
    box.clock(advance=1)
    assert titles(box) == ["Late"]


def test_a_late_effect_happens_beside_a_second_attempt(box: Box) -> None:
    faults(box, {"fault": "late", "times": 1, "status": 504})
    team(box, "Twice")
    team(box, "Twice")
    assert titles(box) == ["Twice", "Twice"]


def test_a_list_lags_behind_by_writes(box: Box) -> None:
    faults(box, {"fault": "list-lag", "writes": 2, "operation": f"GET {TEAMS}"})
    for name in "ABC":
        team(box, name)
    assert (titles(box), box.send("GET", f"{TEAMS}/none").status_code, kinds(box)) == (["A"], 404, ["list-lag"])
    faults(box)
    assert titles(box) == ["C", "B", "A"]


def test_a_list_lags_behind_by_seconds_of_the_clock(box: Box) -> None:
    box.clock("2031-01-01T00:00:00Z")
    faults(box, {"fault": "list-lag", "seconds": 30})
    assert titles(box) == []
    made = team(box, "A").json()["id"]
    box.clock(advance=20)
    box.patch(f"{TEAMS}/{made}", {"title": "B"})
    assert (box.get(f"{TEAMS}/{made}")["title"], titles(box)) == ("B", [])
    box.clock(advance=10)
    assert titles(box) == ["A"]
    box.clock(advance=20)
    assert (titles(box), kinds(box)) == (["B"], ["list-lag", "list-lag"])


def test_a_write_that_changed_nothing_does_not_count_for_the_lag(box: Box) -> None:
    faults(box, {"fault": "list-lag", "writes": 1})
    team(box, "A")
    box.delete(f"{TEAMS}/none")
    assert titles(box) == []


@pytest.mark.parametrize(("how", "seen"), [("repeat", list("EDDC")), ("omit", list("EDBA"))])
def test_unstable_pages_repeat_an_item_or_leave_one_out(box: Box, how: str, seen: list[str]) -> None:
    for name in "ABCDE":
        team(box, name)
    faults(box, {"fault": "unstable-pages", "how": how})
    first = box.get(TEAMS, limit=2)
    second = box.get(TEAMS, limit=2, page=first["next"]["page"])
    assert [one["title"] for one in [*first["items"], *second["items"]]] == seen
    assert kinds(box) == ["unstable-pages"]
    assert box.refused("GET", TEAMS, params={"page": "x"})
    assert kinds(box) == ["unstable-pages"]


def test_a_delete_answers_205_where_it_deleted_something(box: Box) -> None:
    made = team(box).json()["id"]
    faults(box, {"fault": "delete-205"})
    for status in (205, 204):
        answer = box.send("DELETE", f"{TEAMS}/{made}")
        assert (answer.status_code, answer.content) == (status, b"")
    assert kinds(box) == ["delete-205"]


def test_some_objects_are_forbidden(box: Box) -> None:
    faults(box, {"fault": "forbidden", "ids": "spc_o*"})
    assert box.refused("GET", "/spaces/spc_one", status=403)
    assert box.refused("PATCH", "/spaces/spc_one", {"title": "x"}, status=403)
    assert box.get("/spaces/spc_two")["title"] == "Two"
    assert [one[4] for one in log(box)] == ["/v1/spaces/spc_one"] * 2


def test_publishing_answers_a_checkout_and_publishes_nothing(box: Box) -> None:
    site = box.site("spc_one")
    faults(box, {"fault": "checkout"})
    answer = box.post(f"{site}/publish", status=200)
    assert (answer["type"], bool(answer["sessionId"])) == ("checkout", True)
    assert box.get(site)["published"] is False
    assert (box.send("POST", "/orgs/org_a/sites/none/publish").status_code, kinds(box)) == (404, ["checkout"])


def test_the_position_is_not_heeded(box: Box) -> None:
    faults(box, {"fault": "position-ignored"})
    box.move("/spaces/spc_two", parent="col_guides", position={"before": {"type": "space", "space": "spc_one"}})
    box.move("/spaces/spc_two", parent="col_guides")
    assert (box.ids("/collections/col_guides/spaces"), kinds(box)) == (["spc_one", "spc_two"], ["position-ignored"])


def test_a_space_at_the_root_of_a_site_gets_a_section_around_it(box: Box) -> None:
    faults(box, {"fault": "variants-wrapped"})
    site = box.site("spc_one")
    (section,) = box.items(f"{site}/sections")
    assert section["title"] == box.get(site)["title"]
    assert [variant["section"] for variant in box.items(f"{site}/site-spaces")] == [section["id"]]
    assert box.post(f"{site}/site-spaces", {"spaceId": "spc_two"})["section"] == section["id"]


@pytest.mark.parametrize("verb", ["merge", "update"])
def test_a_merge_answers_conflicts_and_is_not_done(box: Box, verb: str) -> None:
    made = box.post("/spaces/spc_one/change-requests", {"template": {"id": "Guide"}})
    before = (box.get("/spaces/spc_one"), box.get("/spaces/spc_one/change-requests/1"))
    faults(box, {"fault": "conflicts"})
    assert box.post(f"/spaces/spc_one/change-requests/1/{verb}", status=200) == {"revision": made["revision"], "result": "conflicts"}
    assert (box.get("/spaces/spc_one"), box.get("/spaces/spc_one/change-requests/1")) == before
    box.refused("POST", f"/spaces/spc_one/change-requests/2/{verb}", status=404)
    assert kinds(box) == ["conflicts"]


# -- rate limits --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("retry_after", [True, False])
def test_a_rate_limit_reports_what_is_left_and_ends_with_its_window(box: Box, retry_after: bool) -> None:
    box.clock("2031-01-01T00:00:20Z")
    faults(box, {"fault": "rate-limit", "limit": 2, "window": 60, "operation": "GET *", "retryAfter": retry_after})
    answers = [box.send("GET", "/orgs") for _ in range(3)]
    reset = "1924992060"
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [one.headers["X-RateLimit-Remaining"] for one in answers] == ["1", "0", "0"]
    assert {(one.headers["X-RateLimit-Limit"], one.headers["X-RateLimit-Reset"]) for one in answers} == {("2", reset)}
    assert answers[2].headers.get("Retry-After") == ("40" if retry_after else None)
    assert "X-RateLimit-Limit" not in team(box).headers
    box.clock(advance=40)
    assert (box.send("GET", "/orgs").status_code, kinds(box)) == (200, ["rate-limit"])


def test_a_bucket_fills_again_by_and_by(box: Box) -> None:
    box.clock("2031-01-01T00:00:00Z")
    faults(box, {"fault": "rate-limit", "kind": "bucket", "limit": 2, "window": 20})
    statuses = []
    for _ in range(4):
        statuses.append(box.send("GET", "/orgs").status_code)
    box.clock(advance=9)
    statuses.append(box.send("GET", "/orgs").status_code)
    box.clock(advance=1)
    statuses.append(box.send("GET", "/orgs").status_code)
    assert statuses == [200, 200, 429, 429, 429, 200]
    assert kinds(box) == ["rate-limit"] * 3


@pytest.mark.parametrize("measure", [limits.window, limits.bucket])
def test_a_limit_of_nothing_lets_nothing_through(measure: Any) -> None:
    verdict, kept = measure(0, 10.0, None, 1000.0)
    assert (verdict.allowed, verdict.remaining, verdict.reset, verdict.wait) == (False, 0, 1010, 10)
    assert not measure(0, 10.0, kept, 5000.0)[0].allowed


@pytest.mark.parametrize("measure", [limits.window, limits.bucket])
def test_a_client_that_waits_for_the_reset_gets_through(measure: Any) -> None:
    now, kept = 1000.25, None
    for _ in range(30):
        verdict, kept = measure(3, 7.0, kept, now)
        if not verdict.allowed:
            now = float(verdict.reset)
            verdict, kept = measure(3, 7.0, kept, now)
            assert verdict.allowed


# -- which requests -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operation",
    [
        "GET /v1/orgs/{organizationId}/teams",
        "GET /orgs/{organizationId}/teams",
        "GET /orgs/org_a/teams",
        "* /orgs/*/teams",
        "list_teams",
        "listTeams",
        "list*",
    ],
)
def test_an_operation_is_named_by_method_and_path_or_by_its_id(box: Box, operation: str) -> None:
    faults(box, {"fault": "error", "operation": operation, "status": 503})
    assert (box.send("GET", TEAMS).status_code, box.send("GET", f"{TEAMS}/none").status_code) == (503, 404)


def statuses(box: Box, count: int) -> list[int]:
    return [box.send("GET", "/orgs").status_code for _ in range(count)]


def test_nth_and_times_say_which_of_the_matching_requests(box: Box) -> None:
    faults(box, {"fault": "error", "operation": "GET /orgs", "nth": [2, 4, 5], "times": 2})
    assert (box.send("GET", TEAMS).status_code, statuses(box, 6)) == (200, [200, 500, 200, 500, 200, 200])
    assert [(one["seen"], one["injected"]) for one in box.send("GET", "/_sandbox/faults", token=CONTROL).json()["rules"]] == [(6, 2)]


def test_the_same_seed_picks_the_same_requests(box: Box) -> None:
    runs = []
    for seed in (7, 7, 8):
        faults(box, {"fault": "error", "rate": 0.4, "seed": seed})
        runs.append(statuses(box, 30))
    assert runs[0] == runs[1] != runs[2]
    assert 4 <= runs[0].count(500) <= 20


@pytest.mark.parametrize(("rate", "status"), [(0, 200), (1, 500)])
def test_a_rate_of_0_is_never_and_of_1_always(box: Box, rate: float, status: int) -> None:
    faults(box, {"fault": "error", "rate": rate})
    assert statuses(box, 5) == [status] * 5


def test_the_first_rule_that_decides_the_answer_wins_and_others_apply_too(box: Box) -> None:
    faults(
        box,
        {"fault": "latency", "seconds": 0, "name": "slow"},
        {"fault": "error", "status": 502, "name": "first", "times": 1},
        {"fault": "error", "status": 503, "name": "second"},
    )
    assert statuses(box, 2) == [502, 503]
    assert [one[1] for one in log(box)] == ["slow", "first", "slow", "second"]


def test_rules_and_what_they_saw_outlive_the_process(box: Box) -> None:
    faults(box, {"fault": "error", "nth": [2]})
    assert statuses(box, 1) == [200]
    box.close()
    box.open()
    assert (statuses(box, 2), log(box)) == ([500, 200], [(1, "1:error", "error", "GET", "/v1/orgs")])


# -- the header ---------------------------------------------------------------------------------------------------------------------------


def test_a_header_is_about_its_own_request_only(box: Box) -> None:
    header = {"X-Sandbox-Fault": '{"fault": "error", "status": 503}'}
    assert (box.send("GET", "/orgs", headers=header).status_code, box.send("GET", "/orgs").status_code) == (503, 200)
    assert log(box) == [(1, "header", "error", "GET", "/v1/orgs")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "JSON"),
        ("[]", "object"),
        ("[" * 5000, "JSON"),
        ('{"fault": "fire"}', "fault"),
        ('{"fault": "latency"}', "seconds"),
        ('{"fault": "latency", "seconds": 1e400}', "seconds"),
        ('{"fault": "list-lag", "writes": 1}', "list-lag"),
    ],
)
def test_a_wrong_header_answers_400_and_says_what(box: Box, text: str, says: str) -> None:
    message = box.refused("PUT", TEAMS, {"title": "x"}, headers={"X-Sandbox-Fault": text})
    assert message.startswith("X-Sandbox-Fault: ")
    assert says in message
    assert titles(box) == []


# -- control ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/log"), ("DELETE", "/log")])
def test_faults_are_controlled_with_the_control_token_only(box: Box, method: str, path: str) -> None:
    assert box.refused(method, f"/_sandbox/faults{path}", {"rules": []}, status=401, token=ADA)


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"fault": "error", "status": 501}, "status"),
        ({"fault": "error", "rate": 2}, "rate"),
        ({"fault": "error", "rate": "1"}, "rate"),
        ({"fault": "error", "nth": [0]}, "nth"),
        ({"fault": "error", "times": -1}, "times"),
        ({"fault": "error", "wen": "after"}, "wen"),
        ({"fault": "error", "operation": ""}, "operation"),
        ({"fault": "error", "name": "header"}, "rules"),
        ({"fault": "cut", "when": "after", "effect": False}, "effect"),
        ({"fault": "not-json", "status": 204}, "status"),
        ({"fault": "list-lag"}, "writes"),
        ({"fault": "list-lag", "writes": 1, "seconds": 1}, "writes"),
        ({"fault": "rate-limit", "limit": 1, "window": 0}, "window"),
        ({"fault": "nothing"}, "fault"),
        ("error", "rules.0"),
    ],
)
def test_a_wrong_rule_answers_400_and_changes_nothing(box: Box, rule: Any, field: str) -> None:
    faults(box, {"fault": "latency", "seconds": 0, "name": "old"})
    assert field in box.refused("PUT", "/_sandbox/faults", {"rules": [rule]}, token=CONTROL)
    assert [one["name"] for one in box.send("GET", "/_sandbox/faults", token=CONTROL).json()["rules"]] == ["old"]


def test_clearing_the_rules_keeps_the_log_until_it_is_cleared(box: Box) -> None:
    faults(box, {"fault": "error"})
    statuses(box, 2)
    assert (box.send("DELETE", "/_sandbox/faults", token=CONTROL).status_code, statuses(box, 1)) == (204, [200])
    assert [one[0] for one in log(box)] == [1, 2]
    assert box.send("DELETE", "/_sandbox/faults/log", token=CONTROL).status_code == 204
    assert log(box) == []
    box.send("GET", "/orgs", headers={"X-Sandbox-Fault": '{"fault": "truncated"}'})
    assert [one[0] for one in log(box)] == [1]


def test_a_file_with_a_log_of_faults_is_still_a_sandbox(box: Wild) -> None:
    faults(box, {"fault": "error"})
    statuses(box, 1)
    box.close()
    box.open()
    assert [line[0] for line in log(box)] == [1]
    assert identity_of(box.store.db) == box.store.identity


def test_control_endpoints_never_misbehave(box: Box) -> None:
    faults(box, {"fault": "error"})
    assert box.send("GET", "/_sandbox/identity", token=CONTROL).status_code == 200


def test_a_rule_that_cannot_be_read_says_which_field() -> None:
    with pytest.raises(ValueError, match="rate"):
        parse('{"fault": "error", "rate": -1}')


# -- over HTTP ----------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Embedded]:
    with embedded(tmp_path / "x.db", seed=SEED) as running:
        yield running


def ask(served: Embedded, rule: dict[str, Any], method: str = "PUT") -> httpx2.Response:
    headers = {"Authorization": f"Bearer {served.token}", "X-Sandbox-Fault": json.dumps(rule)}
    return httpx2.request(method, f"{served.base_url}/v1{TEAMS}", json={"title": "A"}, headers=headers)


def count(served: Embedded) -> int:
    headers = {"Authorization": f"Bearer {served.token}"}
    return int(httpx2.get(f"{served.base_url}/v1{TEAMS}", headers=headers).json()["count"])


@pytest.mark.parametrize(
    ("rule", "made"),
    [
        ({"fault": "cut", "effect": False}, 0),
        ({"fault": "cut"}, 1),
        ({"fault": "cut", "when": "during"}, 1),
        ({"fault": "late"}, 1),
    ],
)
def test_over_http_the_connection_is_closed_without_a_word(
    served: Embedded, rule: dict[str, Any], made: int, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        ask(served, rule)
    assert count(served) == made
    assert capfd.readouterr().err == ""


def test_over_http_a_cut_during_the_answer_comes_after_half_of_it(served: Embedded) -> None:
    where = urlsplit(served.base_url)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=5)
    headers = {"Authorization": f"Bearer {served.token}", "X-Sandbox-Fault": '{"fault": "cut", "when": "during"}'}
    connection.request("GET", "/v1/orgs", headers=headers)
    answer = connection.getresponse()
    with pytest.raises(http.client.IncompleteRead) as found:
        answer.read()
    assert 0 < len(found.value.partial) < int(str(answer.headers["content-length"]))
    connection.close()


def test_over_http_a_cut_after_the_answer_closes_a_connection_that_was_to_stay(served: Embedded) -> None:
    where = urlsplit(served.base_url)
    with socket.create_connection((str(where.hostname), where.port), timeout=5) as raw:
        lines = ["GET /v1/orgs HTTP/1.1", f"Host: {where.netloc}", f"Authorization: Bearer {served.token}"]
        raw.sendall("\r\n".join([*lines, 'X-Sandbox-Fault: {"fault": "cut", "when": "after"}', "", ""]).encode())
        whole = b""
        while part := raw.recv(65536):
            whole += part
    head, _, body = whole.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"connection: close" not in head.lower()
    assert json.loads(body)["count"] == 2


@pytest.mark.parametrize(
    "body",
    [
        b'{"position": 1, "a":' + b"[" * 5000,
        b'{"position": 1, "parent":' + b"[" * 400 + b"]" * 400 + b"}",
        b'{"position": NaN',
        b"\xff",
        b"[]",
    ],
)
def test_a_strange_body_stays_a_refusal(box: Box, body: bytes) -> None:
    faults(box, {"fault": "position-ignored"})
    assert box.refused("POST", "/spaces/spc_one/move", status=400, content=body, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("rule", [{"fault": "truncated"}, {"fault": "not-json"}])
def test_over_http_a_spoiled_body_is_a_whole_answer(served: Embedded, rule: dict[str, Any]) -> None:
    answer = ask(served, rule)
    assert answer.status_code == 201
    with pytest.raises(ValueError):
        answer.json()
    assert count(served) == 1


def test_over_http_a_delete_answers_205(served: Embedded) -> None:
    made = ask(served, {"fault": "latency", "seconds": 0}).json()["id"]
    headers = {"Authorization": f"Bearer {served.token}", "X-Sandbox-Fault": '{"fault": "delete-205"}'}
    with httpx2.Client(base_url=f"{served.base_url}/v1", headers=headers) as client:
        assert [client.delete(f"{TEAMS}/{made}").status_code for _ in range(2)] == [205, 204]


TEXT = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")


def test_the_rules_of_the_example_can_be_read() -> None:
    example = re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    assert [one.fault for one in [rules.parse(json.dumps(one)) for one in yaml.safe_load(example[1])]] == ["error", "rate-limit", "cut"]


def table() -> dict[str, list[str]]:
    """The rows of the table of faults: the words that each names, by its fault."""
    cells = [row.split("|") for row in TEXT.split("| fault | what happens |")[1].split("\n\n")[0].splitlines()[2:]]
    return {cell[1].strip(" `"): re.findall(r"`([A-Za-z0-9-]+)`", cell[3]) for cell in cells}


def test_the_table_names_every_fault() -> None:
    assert set(table()) == set(rules.One.json_schema()["discriminator"]["mapping"])


@pytest.mark.parametrize("rule", get_args(get_args(rules.AnyRule)[0]), ids=lambda rule: rule.__name__)
def test_the_table_names_every_field_of_a_fault_and_says_which_are_required(rule: type[rules.Rule]) -> None:
    own = {name: field for name, field in rule.model_fields.items() if name not in rules.Rule.model_fields}
    (fault,) = get_args(own.pop("fault").annotation)
    assert set(own) <= set(table()[fault])
    row = next(line for line in TEXT.splitlines() if line.startswith(f"| `{fault}` |"))
    for name, field in own.items():
        assert not field.is_required() or f"`{name}` (required)" in row
