"""The file: it lasts, two processes may write it at once, and what is no sandbox is left alone."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from reconciler.sandbox.app import create_app
from reconciler.sandbox.file import NotASandbox
from reconciler.sandbox.seed import SeedError, seed
from reconciler.sandbox.server import embedded, serve
from reconciler.sandbox.store import Store
from tests import processes
from tests.proofs import sampled, tries
from tests.sandbox.box import ADA, SEED, Box
from tests.sandbox.serving import SERVE, serving

# -- what lasts ------------------------------------------------------------------------------------------------------------------------


def test_everything_is_there_after_the_file_was_reopened(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    box.section(site, "Guides")
    box.move("/spaces/spc_one")
    paths = (site, f"{site}/sections", f"{site}/site-spaces", "/collections/col_guides/spaces", "/orgs/org_a/members")
    before = [box.get(path) for path in paths]
    identity = box.store.identity
    box.close()
    box.open()
    assert [box.get(path) for path in paths] == before
    assert box.store.identity == identity


def test_a_write_that_is_refused_leaves_nothing_behind(box: Box) -> None:
    site = box.site()
    before = box.store.count_all()
    group = {"title": "Group", "sections": [box.section(site, "Guides"), "sitesc_no"]}
    box.refused("POST", f"{site}/section-groups", group, status=404)
    assert box.store.count_all() == before + 2  # the section and its site space


def test_a_process_that_is_killed_loses_nothing_it_answered(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    seed(db, SEED)
    with serving(db) as base, httpx2.Client(base_url=f"{base}/v1", headers={"Authorization": f"Bearer {ADA}"}) as client:
        made = [client.post("/orgs/org_a/collections", json={"title": str(n)}).json()["id"] for n in range(20)]
    with serving(db) as base, httpx2.Client(base_url=f"{base}/v1", headers={"Authorization": f"Bearer {ADA}"}) as client:
        assert [item["id"] for item in client.get("/orgs/org_a/collections").json()["items"]][2:] == made


# -- two processes ----------------------------------------------------------------------------------------------------------------------


async def _at_once(bases: list[str], rounds: int) -> tuple[list[str], list[int]]:
    """Write through both services in parallel; the ids of what was made and every status."""
    made: list[str] = []
    statuses: list[int] = []

    async def work(base: str, mine: str, lane: int) -> None:
        async with httpx2.AsyncClient(base_url=f"{base}/v1", headers={"Authorization": f"Bearer {ADA}"}, timeout=30) as client:
            for n in range(rounds):
                copy = await client.post("/spaces/spc_one/duplicate")
                made.append(copy.json()["id"])
                place = {"after": {"type": "space", "space": "spc_one"}}
                moved = await client.post(f"/spaces/{made[-1]}/move", json={"position": place})
                # two services change other fields of one space: neither may lose what the other wrote
                field = {"title": f"{mine}{lane}-{n}"} if mine == "a" else {"emoji": f"{mine}{lane}-{n}"}
                changed = await client.patch("/spaces/spc_two", json=field)
                kept = next(iter(field))
                joined = await client.put("/orgs/org_a/teams", json={"title": f"{mine}{lane}-{n}"})
                asked = await client.post("/spaces/spc_two/change-requests", json={"subject": f"{mine}{lane}-{n}"})
                said = await client.post("/spaces/spc_two/comments", json={"body": {"markdown": f"{mine}{lane}-{n}"}})
                statuses.extend(one.status_code for one in (copy, moved, changed, joined, asked, said))
                assert changed.json()[kept] == field[kept]

    await asyncio.gather(*(work(base, mine, lane) for base, mine in zip(bases, "ab", strict=True) for lane in range(3)))
    return made, statuses


@sampled
def test_two_services_over_one_file_lose_no_update_and_keep_one_order(tmp_path: Path) -> None:
    db, rounds = tmp_path / "x.db", tries(12, 6)
    seed(db, SEED)
    with serving(db) as one, serving(db) as two:
        assert one != two
        made, statuses = asyncio.run(_at_once([one, two], rounds))
        assert set(statuses) == {200, 201}
        headers = {"Authorization": f"Bearer {ADA}"}
        seen = [httpx2.get(f"{base}/v1/collections/col_guides/spaces?limit=1000", headers=headers).json()["items"] for base in (one, two)]
        teams = httpx2.get(f"{one}/v1/orgs/org_a/teams?limit=1000", headers=headers).json()
        asked = httpx2.get(f"{two}/v1/spaces/spc_two/change-requests?status=draft&limit=1000", headers=headers).json()
        both = httpx2.get(f"{one}/v1/spaces/spc_two", headers=headers).json()
    ids = [[item["id"] for item in items] for items in seen]
    assert ids[0] == ids[1]
    assert sorted(ids[0]) == sorted(["spc_one", "spc_two", *made])
    assert (ids[0][0], ids[0][-1]) == ("spc_one", "spc_two")
    assert teams["count"] == 6 * rounds
    assert (both["changeRequestsDraft"], both["comments"]) == (6 * rounds, 6 * rounds)
    assert sorted(one["number"] for one in asked["items"]) == list(range(1, 6 * rounds + 1))
    assert both["title"].startswith("a") and both["title"].endswith(f"-{rounds - 1}")  # noqa: PT018
    assert both["emoji"].startswith("b") and both["emoji"].endswith(f"-{rounds - 1}")  # noqa: PT018
    store = Store(db)
    positions = [row[0] for row in store.connection.execute("select position from objects where container = 'collection:col_guides'")]
    assert len(set(positions)) == len(positions)
    assert store.connection.execute("pragma integrity_check").fetchone()[0] == "ok"
    store.close()


def _open(db: str, gate: multiprocessing.synchronize.Barrier, told: multiprocessing.Queue[str]) -> None:
    gate.wait()
    try:
        store = Store(Path(db))
        told.put(store.identity)
        store.close()
    except Exception as error:
        told.put(repr(error))


@sampled
def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for attempt in range(tries(5, 2)):
        gate, told = context.Barrier(6), context.Queue()
        processes = [context.Process(target=_open, args=(str(tmp_path / f"{attempt}.db"), gate, told)) for _ in range(6)]
        for process in processes:
            process.start()
        identities = {told.get(timeout=30) for _ in processes}
        for process in processes:
            process.join()
        assert len(identities) == 1, identities
        assert len(identities.pop()) == 32


# -- serve and embedded -------------------------------------------------------------------------------------------------------------------


def test_serve_tells_its_address_and_makes_a_token_where_the_file_has_none(tmp_path: Path) -> None:
    process = processes.Popen([sys.executable, "-c", SERVE, str(tmp_path / "x.db")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert (words[:2], words[3:5]) == (["listening", "on"], ["with", "token"])
        assert httpx2.get(f"{words[2]}/v1/orgs", headers={"Authorization": f"Bearer {words[5]}"}).status_code == 200
    finally:
        process.kill()
        process.communicate()


def test_serve_says_when_its_port_is_taken(tmp_path: Path) -> None:
    with embedded(tmp_path / "x.db") as running, pytest.raises(OSError, match="in use"):
        serve(tmp_path / "y.db", port=int(running.base_url.rsplit(":", 1)[1]), token=None, say=print)


def test_an_embedded_service_is_seeded_once_and_says_when_it_was_made(tmp_path: Path) -> None:
    db = tmp_path / "below" / "x.db"
    seen = []
    for _ in range(3):
        with embedded(db, seed=SEED) as running:
            headers = {"Authorization": f"Bearer {running.token}"}
            assert httpx2.get(f"{running.base_url}/v1/spaces/spc_one", headers=headers).json()["title"] == "One"
            seen.append((running.created, running.identity))
    assert [created for created, _ in seen] == [True, False, False]
    assert len({identity for _, identity in seen}) == 1


def test_what_was_deleted_since_is_not_seeded_again(tmp_path: Path) -> None:
    with embedded(tmp_path / "x.db", seed={"organizations": [{"id": "org_a"}]}) as running:
        assert running.created
    store = Store(tmp_path / "x.db")
    store.remove("organization", "org_a")
    store.close()
    with embedded(tmp_path / "x.db", seed={"organizations": [{"id": "org_a"}]}) as running:
        assert not running.created
        assert httpx2.get(f"{running.base_url}/v1/orgs", headers={"Authorization": f"Bearer {running.token}"}).json()["items"] == []


def test_each_run_has_a_token_of_its_own(tmp_path: Path) -> None:
    with embedded(tmp_path / "x.db", seed=SEED) as first, embedded(tmp_path / "x.db", seed=SEED) as second:
        assert first.token != second.token
        assert first.base_url != second.base_url
        assert first.identity == second.identity
        assert httpx2.get(f"{first.base_url}/v1/orgs", headers={"Authorization": f"Bearer {second.token}"}).status_code == 401


def test_identities_differ_between_files(tmp_path: Path) -> None:
    with embedded(tmp_path / "x.db") as first, embedded(tmp_path / "y.db") as second:
        assert first.identity != second.identity


def test_an_embedded_service_takes_a_wrong_new_file_away_and_leaves_an_old_one(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    with pytest.raises(SeedError), embedded(db, seed={"spaces": [{}]}):
        pass
    assert list(tmp_path.iterdir()) == []
    seed(db, {})
    with pytest.raises(SeedError), embedded(db, seed={"spaces": [{}]}):
        pass
    assert db.exists()


def test_requests_over_http_do_not_wait_for_acknowledgements(tmp_path: Path) -> None:
    with embedded(tmp_path / "x.db", seed=SEED) as running, httpx2.Client(base_url=f"{running.base_url}/v1") as client:
        headers = {"Authorization": f"Bearer {running.token}"}
        took = sorted(client.patch("/spaces/spc_one", json={"title": "x"}, headers=headers).elapsed.total_seconds() for _ in range(15))
        assert took[3] < 0.035  # 0.04 and more with Nagle's algorithm


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with embedded(tmp_path / "x.db", seed=SEED):
            assert {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {0o600}
    finally:
        os.umask(old)


def _other(path: Path, kind: str) -> None:
    if kind == "text":
        path.write_text("project: acme\n" * 100)
    elif kind == "short":
        path.write_bytes(b"x")
    else:
        connection = sqlite3.connect(path)
        connection.execute("pragma user_version=1" if kind == "empty database" else "create table meta (key text)")
        connection.commit()
        connection.close()


@pytest.mark.parametrize("kind", ["text", "short", "database", "empty database"])
def test_a_file_that_is_something_else_is_refused_and_not_touched(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.db"
    _other(path, kind)
    before = path.read_bytes()
    for attempt in (lambda: Store(path), lambda: seed(path, SEED), lambda: serve(path, port=0, token=None, say=print)):
        with pytest.raises(NotASandbox, match=r"x\.db is not a sandbox.*; choose another file$"):
            attempt()
    with pytest.raises(NotASandbox), embedded(path, seed=SEED):
        pass
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.db"]


def test_services_of_one_process_share_their_endpoints_and_nothing_else(tmp_path: Path) -> None:
    first, second = create_app(tmp_path / "a.db"), create_app(tmp_path / "b.db")
    assert first.table.endpoints is second.table.endpoints
    assert first.openapi() == second.openapi()
    assert first.state.service.store.identity != second.state.service.store.identity
    for app in (first, second):
        app.state.service.store.close()
