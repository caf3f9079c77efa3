"""A state on a server that is lost during an apply: nothing more is sent, and the next run makes nothing twice.

An old backup of the state is no worse than none: nothing is created twice, and nothing that is declared is deleted."""

from __future__ import annotations

import json
import shutil
import socket
import stat
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from reconciler.errors import StateError
from reconciler.model import Action, Plan, StepStatus
from reconciler.state import StateScope, Store
from tests.harness import ORGANIZATION, Org
from tests.organizations import anything
from tests.proofs import costly, sampled, spread, tries
from tests.small import applied, node, settled, small
from tests.state.test_lease import expire


@dataclass
class Wire:
    """Passes bytes between the program and the server, until it is cut."""

    target: tuple[str, int]
    sockets: list[socket.socket] = field(default_factory=list)
    cut: bool = False

    def __post_init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.server.accept()
                if self.cut:
                    client.close()
                    continue
                server = socket.create_connection(self.target)
                self.sockets += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)

    def lose(self) -> None:
        self.cut = True
        for one in self.sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire(url: str) -> Iterator[tuple[Wire, str]]:
    parts = urlsplit(url)
    found = Wire((str(parts.hostname), int(parts.port or 0)))
    with closing(found.server):
        yield found, url.replace(f":{parts.port}/", f":{found.port}/")
        found.lose()


class OnServer(Org):
    """The same with its state on a server."""

    url = ""
    service = ""

    def store(self) -> Store:
        scope, beside = StateScope("test", None, self.service), self.project / ".reconciler"
        return Store.open(self.url, scope, clock=lambda: datetime.now(UTC), create=True, beside=beside)

    def losing(self, line: Wire, nth: int, when: str) -> list[str]:
        """Let the connection be lost before or after the nth request that writes; the paths of those, as they are sent."""
        sent: list[str] = []
        passed = self.client

        def client(*words: object, **named: object) -> object:
            made = passed(*words, **named)  # type: ignore[arg-type]
            inner = made.send

            async def send(method: str, path: str, *rest: object, **options: object) -> object:
                sent.append(path)  # its intent is written
                number = len(sent)
                if (number, when) == (nth, "before"):
                    line.lose()
                answer = await inner(method, path, *rest, **options)
                if (number, when) == (nth, "after"):
                    line.lose()
                return answer

            made.send = send
            return made

        self.client = client  # type: ignore[method-assign,assignment]
        return sent


@costly
@pytest.mark.parametrize("after", spread([1, 4, 9, 15], 1))
def test_a_lost_connection_stops_whatever_has_no_intent_yet(tmp_path: Path, postgres_url: str, after: int) -> None:
    org = OnServer(tmp_path)
    org.service = f"sandbox:{uuid4()}"
    org.write(small())
    with wire(postgres_url) as (line, url):
        org.url = url
        passed, sent = org.client, org.losing(line, after, "before")
        with pytest.raises(StateError, match="cannot be reached"):
            org.apply()
        org.client = passed  # type: ignore[method-assign]
    org.url = postgres_url
    with closing(org.store()) as store:
        (run,) = store.runs()
        assert not Counter(sent) - Counter(entry.intent.path for entry in store.entries(run.id))
    assert len([method for method, _ in org.requests if method != "GET"]) <= len(sent)
    expire(postgres_url)  # 90 seconds later
    org.apply()
    settled(org)
    titles = [item["space"]["title"] for item in org.items("/orgs/org_acme/members/usr_ada/spaces")]
    assert len(titles) == len(set(titles))


@costly
@pytest.mark.parametrize("after", [1, 6, 12])
def test_an_outcome_the_server_could_not_take_is_kept_beside_the_project_and_taken_in(
    tmp_path: Path, postgres_url: str, after: int
) -> None:
    org = OnServer(tmp_path)
    org.service = f"sandbox:{uuid4()}"
    org.write(small())
    beside = org.project / ".reconciler"
    with wire(postgres_url) as (line, url):
        org.url = url
        passed, sent = org.client, org.losing(line, after, "after")
        with pytest.raises(StateError, match="cannot be reached") as raised:
            org.apply()
        org.client = passed  # type: ignore[method-assign]
    (file,) = beside.glob("unsaved-*.json")
    assert f"stored in {file}" in raised.value.message
    assert "The next `reconciler apply` imports the file and removes it." in (raised.value.hint or "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    bound = {one["address"]: one["id"] for ending in json.loads(file.read_text())["endings"] for one in ending["bound"]}
    made = [method for method, _ in org.requests if method in ("POST", "PUT")]
    assert bound or not made
    org.url = postgres_url
    with org.store() as store:
        assert {str(intent.address) for intent in store.read().intents} >= set(bound) - {str(one) for one in store.read().bindings}
    expire(postgres_url)  # 90 seconds later
    org.apply()
    assert list(beside.glob("unsaved-*")) == []
    bindings = {str(address): binding for address, binding in org.remembered().bindings.items()}
    assert {address: bindings[address].id for address in bound} == bound
    assert {bindings[address].origin.value for address in bound} <= {"created", "adopted"}  # not recovered: nothing had to be found out
    settled(org)
    titles = [item["space"]["title"] for item in org.items("/orgs/org_acme/members/usr_ada/spaces")]
    assert len(titles) == len(set(titles))
    assert len(sent) >= after


class Backup:
    """The state as it is now, to be restored later."""

    def __init__(self, org: Org) -> None:
        self.org, self.kept = org, org.root / "backup"
        self.kept.mkdir()
        for file in org.root.glob("state.db*"):
            shutil.copy(file, self.kept)

    def restore(self) -> None:
        for file in self.org.root.glob("state.db*"):
            file.unlink()
        for file in self.kept.iterdir():
            shutil.copy(file, self.org.root)


def ids(org: Org) -> set[str]:
    return {binding.id for binding in org.remembered().bindings.values()}


def run(org: Org, tree: dict[str, Any]) -> None:
    org.write(tree)
    assert [
        (str(result.step.address), result.step.verb, result.error) for result in org.apply().results if result.status is not StepStatus.DONE
    ] == []


def done(made: Plan, action: Action) -> list[str]:
    return [str(change.address) for change in made.changes if action in change.actions]


def counted(org: Org) -> list[tuple[str, ...]]:
    """Every object of the service under its name, without ids."""
    found = [("space", str(item["space"]["title"])) for item in org.items(f"/orgs/{ORGANIZATION}/members/usr_ada/spaces")]
    found += [("collection", str(one["title"])) for one in org.items(f"/orgs/{ORGANIZATION}/collections")]
    found += [("team", str(one["title"])) for one in org.items(f"/orgs/{ORGANIZATION}/teams")]
    for site in org.items(f"/orgs/{ORGANIZATION}/sites"):
        path = f"/orgs/{ORGANIZATION}/sites/{site['id']}"
        found.append(("site", str(site["title"])))
        found += [("section", str(site["title"]), str(one["title"])) for one in org.items(f"{path}/sections")]
        found += [("link", str(site["title"]), str(one["name"])) for one in org.items(f"{path}/share-links")]
        found += [("site-space", str(site["title"]), str(one["space"]["title"])) for one in org.items(f"{path}/site-spaces")]
    return sorted(found)


def recreated(org: Org) -> dict[str, Any]:
    """Everything that can be deleted and created again is; then some is new."""
    without = small()
    without["teams"].clear()
    without["saml"].clear()
    without["sites"].clear()
    without["defaultContent"] = None
    without["content"] = without["content"][:1]
    run(org, without)
    run(org, small())
    tree = small()
    tree["teams"]["more"] = {"title": "More"}
    node(tree, "product")["content"] += [{"space": "seven", "title": "Seven"}, {"collection": "new", "title": "New", "content": []}]
    node(tree, "new")["content"].append({"space": "eight", "title": "Eight"})
    run(org, tree)
    return tree


@costly
def test_what_was_deleted_created_again_and_added_since_is_recognized(org: Org) -> None:
    applied(org, small())
    backup = Backup(org)
    recreated(org)
    latest, before = ids(org), counted(org)
    backup.restore()
    made = org.plan()
    assert done(made, Action.CREATE) == done(made, Action.DELETE) == done(made, Action.RESTORE) == []
    assert (made.steps, made.blocked) == ((), ())
    org.apply()
    assert ids(org) == latest
    assert counted(org) == before


def test_a_key_that_was_renamed_since_waits_for_a_word_and_is_neither_deleted_nor_created(org: Org) -> None:
    applied(org, small())
    backup = Backup(org)
    tree = small()
    tree["teams"] = {"authors": {**tree["teams"]["writers"], "previously": ["writers"]}}
    tree["saml"]["okta"]["defaultTeam"] = "authors"
    run(org, tree)
    before = counted(org)
    backup.restore()
    made = org.plan()
    assert made.steps == ()
    del tree["teams"]["authors"]["previously"]
    org.write(tree)
    backup.restore()
    made = org.plan()
    assert done(made, Action.CREATE) == done(made, Action.DELETE) == []
    assert {"acme/team/authors", "acme/team/writers"} <= {str(refusal.address) for refusal in made.blocked}
    org.apply()
    assert counted(org) == before


@costly
@sampled
@settings(
    max_examples=tries(12, 2),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(anything(), anything())
def test_any_change_since_is_recognized(first: dict[str, Any], second: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        run(org, first)
        backup = Backup(org)
        run(org, {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}], "sites": {}, "defaultContent": None, "teams": {}})
        run(org, second)
        latest = ids(org)
        backup.restore()
        made = org.plan(allow_replace=("**",))
        assert done(made, Action.CREATE) == done(made, Action.RESTORE) == []
        assert [str(one.address) for one in made.steps if one.verb == "delete" and one.target in latest] == []
        assert {step.verb for step in made.steps} <= {"move"}  # a restored space keeps its id, and no list shows the order at the root
        org.apply()
        assert ids(org) == latest
