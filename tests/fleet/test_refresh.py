"""Generators are read while a fleet runs: what appears in a repository appears in the fleet, what vanishes is orphaned, and a list that is
half gone, or cannot be read, changes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from reconciler.fleet.declared import parsed
from reconciler.fleet.refresh import generation
from reconciler.fleet.refresh.refresh import refresh
from reconciler.fleet.store import FleetDatabase, audit, projects
from reconciler.sandbox.server import embedded
from tests.fleet.test_sources import Remote

SCHEMA = "reconciler_fleet"
DIRECTORIES = 'generators: [{directories: {path: "orgs/*"}, template: {name: "${{ each.name }}"}}]'


class Generated:
    """A fleet whose projects come from a generator. `service`: where its organizations are."""

    def __init__(self, database: FleetDatabase, folder: Path, generators: str, service: str = "https://api.example.com") -> None:
        self.database, self.cache, self.remote = database, folder / "cache", Remote(folder / "remote")
        source = f"{{git: 'file://{self.remote.folder}'}}"
        self.text = f"version: 1\nrefresh: 1m\ndefaults: {{baseUrl: '{service}', token: {{env: TOKEN}}, source: {source}}}\n{generators}\n"
        self.take_effect()

    def take_effect(self) -> None:
        """As `fleet apply` does, without reading the generators: a worker reads them at once."""
        fleet = parsed(self.text.encode(), "fleet.yaml")
        with self.database.transaction() as connection:
            projects.revise(connection, "fleet.yaml", self.text, 0, "ada", fleet.settings)
            generation.begin(connection)

    def has(self, *names: str) -> None:
        """Commit these directories, and no others."""
        for path in (self.remote.folder / "orgs").glob("*/*"):
            path.unlink()
        for name in names:
            (self.remote.folder / "orgs" / name).mkdir(parents=True, exist_ok=True)
            (self.remote.folder / "orgs" / name / "reconciler.yaml").write_text("version: 1\n")
        self.remote.commit()

    def later(self) -> str | None:
        """What a worker says when the generators are due."""
        with self.database.transaction() as connection:
            connection.execute(text(f"UPDATE {SCHEMA}.generation SET next_due = now()"))
        return refresh(self.database, self.cache)

    @property
    def active(self) -> set[str]:
        with self.database.transaction() as connection:
            return {name for name, stored in projects.stored(connection).items() if not stored.orphaned}

    @property
    def state(self) -> generation.GeneratorReading:
        with self.database.transaction() as connection:
            return generation.state(connection)


def test_what_appears_in_a_repository_appears_in_the_fleet_and_what_vanishes_is_orphaned(database: FleetDatabase, tmp_path: Path) -> None:
    fleet = Generated(database, tmp_path, DIRECTORIES)
    fleet.has(*"abcde")
    assert refresh(database, fleet.cache) is None, "they were read when the file took effect"
    assert fleet.later() == "The generators changed the fleet: 5 appear."
    assert fleet.later() is None
    with ThreadPoolExecutor(4) as pool:  # as many workers: one of them reads
        fleet.has(*"bcdef")
        with database.transaction() as connection:
            connection.execute(text(f"UPDATE {SCHEMA}.generation SET next_due = now()"))
        said = list(pool.map(lambda _: refresh(database, fleet.cache), range(4)))
    assert [sentence for sentence in said if sentence] == ["The generators changed the fleet: 1 appears, 1 vanishes."]
    assert fleet.active == set("bcdef")
    with database.transaction() as connection:
        assert projects.stored(connection)["a"].orphaned, "its row stays"
        lines = [line for line in audit.read(connection) if line.action == "generate"]
    assert lines[-1].details == {"appear": {"projects": 1, "first": ["f"]}, "vanish": {"projects": 1, "first": ["a"]}}
    fleet.has(*"abcdef")
    assert fleet.later() == "The generators changed the fleet: 1 returns."


def test_a_list_that_is_half_gone_or_cannot_be_read_changes_nothing(database: FleetDatabase, tmp_path: Path) -> None:
    fleet = Generated(database, tmp_path, DIRECTORIES)
    fleet.has(*"abcde")
    fleet.later()
    fleet.has(*"abcx")
    held = "generator 1 (directories) no longer yields 2 of 5 projects; nothing changes until it does, or: fleet apply --allow-vanish 2"
    assert fleet.later() == held
    assert (fleet.active, fleet.state.held) == (set("abcde"), held)
    fleet.remote.folder.rename(tmp_path / "elsewhere")
    assert "cannot be read" in (fleet.later() or "")
    assert "[RC-fleet-source]" in (fleet.state.error or "")
    assert fleet.active == set("abcde")
    (tmp_path / "elsewhere").rename(fleet.remote.folder)
    fleet.has(*"abcdex")
    assert fleet.later() == "The generators changed the fleet: 1 appears."
    assert (fleet.state.held, fleet.state.error) == (None, None)


def test_a_file_that_takes_effect_meanwhile_wins_and_a_push_is_answered_at_once(
    database: FleetDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Generated(database, tmp_path, DIRECTORIES)
    fleet.has("a")
    from reconciler.fleet.refresh import refresh as module

    def slow(*words: object, **named: object) -> object:
        fleet.take_effect()
        return real(*words, **named)  # type: ignore[arg-type]

    real = module.listing
    with monkeypatch.context() as patch:
        patch.setattr(module, "listing", slow)
        assert fleet.later() is None
    assert fleet.active == set()
    git = f"file://{fleet.remote.folder}"
    with database.transaction() as connection:
        assert not generation.hurry(connection, lambda url, ref: url != git)
    assert refresh(database, fleet.cache) is None
    with database.transaction() as connection:
        assert generation.hurry(connection, lambda url, ref: (url, ref) == (git, "HEAD"))
    assert refresh(database, fleet.cache) == "The generators changed the fleet: 1 appears."


def test_organizations_are_listed_within_the_budget_of_their_token(
    database: FleetDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = ["blue", "green"]
    seed = {
        "organizations": [{"id": f"org_{name}", "title": name} for name in named],
        "members": [{"organization": f"org_{name}", "id": "usr_ada", "email": "a@x.example", "role": "admin"} for name in named],
    }
    with embedded(tmp_path / "sandbox.db", seed=seed) as service:
        monkeypatch.setenv("TOKEN", service.token)
        generators = 'generators: [{organizations: {}, template: {name: "${{ each.id }}"}}]'
        assert Generated(database, tmp_path, generators, service.base_url).later() == "The generators changed the fleet: 2 appear."
        with database.transaction() as connection:
            (left,) = connection.execute(text(f'SELECT "left" FROM {SCHEMA}.budgets')).scalars()
        assert left["way"] == {}
        assert left["unlimited"] == ["GET"], "what the service answered is in the row that runs use"
