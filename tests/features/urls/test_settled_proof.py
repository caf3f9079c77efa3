"""Chains of reorganizations, with edits of people, kills, and readers by condition: what eight readers get through a real nginx.

What is expected does not come from the planner: an independent log has every URL that the sandbox ever served to each reader, by the
sandbox's own rule and over HTTP. After each apply that went through

- no line hides a page: who gets a page from the sandbox gets it through nginx;
- no line leads to nothing, or to another line;
- a URL that everybody could read answers, leads to a page that everybody can read, answers 410, or was named;
- a second plan is empty.
"""

from __future__ import annotations

import http.client
import tempfile
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from reconciler.sandbox.header import SECRET
from reconciler.sandbox.sites.pages import SitePages
from reconciler.sandbox.sites.readers import HEADER, Reader, Shown
from reconciler.sandbox.sites.structure import published_url
from reconciler.sandbox.store import Store
from tests.features.urls import settling
from tests.features.urls.nginx import Server, program
from tests.features.urls.settling import declare, edit, killed, move_section, published, rename_page, site
from tests.organizations import ORGANIZATION, TOKEN
from tests.proofs import costly, spread
from tests.sandbox.serving import serving

PUBLIC: Final = "who knows the URL"
READERS: Final = {
    "anybody": Reader(),
    PUBLIC: Reader(address=True),
    "signed in": Reader(claims={}),
    "staff": Reader(claims={"staff": True}),
    "partner": Reader(claims={"partner": True}),
    "both": Reader(claims={"staff": True, "partner": True}),
    "pretends": Reader(address=True, unsigned={"staff": True}),
    "agent": Reader(agent=True),
}
CONDITIONS: Final = ("visitor.claims.staff", "!visitor.claims.staff", "visitor.claims.partner")
WORDS: Final = ("start", "use", "learn", "teach", "staff", "old", "v1", "guide")
CASES: Final = 200
STEPS: Final = 6


class World:
    """What is declared, what was ever served to whom, and what was named as dead."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.cli, self.chance = published(folder), chance
        self.paths = dict(zip(settling.SPACES, chance.sample(WORDS, 4), strict=True))
        self.shown = set(chance.sample(sorted(self.paths), 3))
        self.conditions: dict[str, str] = {}
        self.more: dict[str, Any] = {"adaptiveContent": {"enabled": True}}
        self.blog = chance.random() < 0.5
        self.log: dict[str, set[str]] = {}  # by URL, who ever got a page there
        self.named: set[str] = set()
        self.renamed = 0

    def declare(self) -> None:
        rows = {space: path for space, path in self.paths.items() if space in self.shown}
        conditions = {space: condition for space, condition in self.conditions.items() if space in rows}
        sites = {"docs": site("docs", rows, conditions, **self.more)}
        if self.blog:
            sites["blog"] = site("blog", {"use": "use", "old": "past"})
        declare(self.cli, **sites)

    def reorganize(self) -> None:
        """One change of the files."""
        chance, spaces = self.chance, sorted(self.paths)
        match chance.choice(("path", "path", "swap", "condition", "condition", "show", "hide", "visibility", "blog")):
            case "path":
                self.paths[chance.choice(spaces)] = chance.choice([word for word in WORDS if word not in self.paths.values()])
            case "swap":
                one, other = chance.sample(spaces, 2)
                self.paths[one], self.paths[other] = self.paths[other], self.paths[one]
            case "condition":
                space = chance.choice(spaces)
                if self.conditions.pop(space, None) is None:
                    self.conditions[space] = chance.choice(CONDITIONS)
            case "show":
                self.shown = set(spaces)
            case "hide" if len(self.shown) > 2:
                self.shown.discard(chance.choice(sorted(self.shown)))
            case "visibility":
                self.more["visibility"] = chance.choice(("public", "unlisted", "visitor-auth"))
            case "blog":
                self.blog = not self.blog

    def meddle(self) -> None:
        """One change behind Reconciler's back."""
        chance = self.chance
        match chance.choice(("page", "page", "delete", "section", "close")):
            case "page":
                self.renamed += 1
                space = chance.choice(("use", "old", "staff"))
                rename_page(self.cli, f"pag_{space}_{settling.SPACES[space][0]}", f"renamed-{self.renamed}")
            case "delete":
                rename_page(self.cli, "pag_use_tune", None)
            case "section":
                move_section(self.cli, chance.choice(sorted(self.paths.values())), f"moved-{self.renamed}")
            case "close":
                self._close()

    def _close(self) -> None:
        def close(value: dict[str, Any]) -> bool:
            value["visibility"] = "visitor-auth"
            return value.get("basename") == "docs"

        edit(self.cli, "site", close)

    def served(self) -> dict[str, set[str]]:
        """By URL, which readers get a page there now, by the sandbox's own rule."""
        urls: dict[str, set[str]] = {}
        with closing(Store(self.cli.root / "p/sandbox.db")) as store:
            for data in store.select("site", organization=ORGANIZATION):
                for name, reader in READERS.items():
                    shown = Shown(store, data, reader)
                    if shown.gate.opens(reader):
                        for path in SitePages(store, shown).answers():
                            urls.setdefault(urlsplit(f"{published_url('', data)}/{path}".rstrip("/")).path, set()).add(name)
        return urls

    def remember(self) -> None:
        for url, readers in self.served().items():
            self.log.setdefault(url, set()).update(readers)

    def plan(self) -> dict[str, Any]:
        plan: dict[str, Any] = self.cli.json("plan", "p")
        redirects = plan.get("redirects", {})
        self.named |= {urlsplit(item["url"]).path for name in ("dead", "ended") for item in redirects.get(name, [])}
        return plan


def get(port: int, path: str, reader: Reader) -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers={HEADER: reader.model_dump_json(), SECRET: TOKEN})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location"), answer.read()
    finally:
        connection.close()


def asked(world: World, names: Collection[str]) -> None:
    """Ask every URL that ever answered, by these readers: of the sandbox, and through nginx with the files that were written."""
    readers = {name: READERS[name] for name in names}
    files = sorted((world.cli.root / "p/redirects").glob("*.nginx.conf"))
    lines = "".join(dict.fromkeys(line for file in files for line in file.read_text().splitlines(keepends=True)))
    # As root, nginx opens its files as a user of its own.
    with serving(world.cli.root / "p/sandbox.db") as base, tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        port = urlsplit(base).port or 0
        server = Server(Path(folder), port)
        server.load(lines)
        try:
            for url, ever in sorted(world.log.items()):
                direct = {name: get(port, url, reader)[0] for name, reader in readers.items()}
                through = {name: get(server.port, url, reader) for name, reader in readers.items()}
                _judge(world, server.port, url, ever, direct, through)
        finally:
            server.stop()


def _judge(
    world: World, port: int, url: str, ever: set[str], direct: dict[str, int], through: dict[str, tuple[int, str | None, bytes]]
) -> None:
    targets: dict[str, dict[str, int]] = {}
    for name, (status, location, _) in through.items():
        if direct[name] == 200:
            assert status == 200, f"{url} answers {name}, and a line hides it: {status} {location}"
        elif status == 301:
            target = urlsplit(location or "").path
            if target not in targets:
                # Whoever gets nothing there is asked last: mostly everybody gets the page.
                first = get(port, target, READERS[PUBLIC])[0]
                targets[target] = (
                    {who: first if who == PUBLIC else get(port, target, READERS[who])[0] for who in READERS}
                    if first != 200
                    else {PUBLIC: 200}
                )
            ends = targets[target]
            assert 301 not in ends.values(), f"{url} leads to {target}, which leads on"
            assert 200 in ends.values(), f"{url} leads to {target}, where nothing answers"
            assert PUBLIC not in ever or ends[PUBLIC] == 200, f"{url} was public and leads to {target}, which is not"
    if PUBLIC in ever and through[PUBLIC][0] == 404:
        assert url in world.named, f"{url} was public, answers nothing, and no plan named it"


@costly
@pytest.mark.parametrize("seed", spread(range(CASES), 1))
def test_chains_of_reorganizations_as_eight_readers_see_them_through_nginx(tmp_path: Path, seed: int) -> None:
    program()
    world = World(tmp_path, Random(seed))
    for step in range(STEPS):
        world.declare()
        world.plan()
        if step and world.chance.random() < 0.3:
            where = world.chance.choice(("first", "middle", "last"))
            killed(world.cli, where, "--allow-dead-urls", "/**")
            world.remember()
            world.plan()
            if world.chance.random() < 0.3:
                world.reorganize()
                world.declare()
                world.plan()
        settling.apply(world.cli, dead="/**")
        world.remember()
        again = world.plan()
        redirects = again.get("redirects", {})
        assert [again["summary"]["requests"], *(redirects.get(name, []) for name in ("files", "dead", "ended"))] == [0, [], [], []], step
        # Lines know no readers, so that two are enough until the end.
        asked(world, (PUBLIC, world.chance.choice(sorted(READERS))) if step < STEPS - 1 else READERS)
        world.reorganize()
        if world.chance.random() < 0.4:
            world.meddle()
            world.remember()
