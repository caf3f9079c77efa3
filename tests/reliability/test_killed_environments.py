"""A run in one environment is killed for real at its boundaries: of the other one, its state and its saved plan nothing is different.

Both environments have one service and one database, so that only the program keeps them apart.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.sandbox.seed import seed
from tests.command_line import Cli
from tests.proofs import proof, sampled, stride
from tests.reliability.databases import Database, Postgres, Sqlite
from tests.reliability.seen import difference, seen
from tests.reliability.test_killed_saved_plan import killed

PROJECT = """\
version: 1
project: two
service: {sandbox: .reconciler/sandbox.db}
vars: {title: {default: Production}}
organizations:
  acme:
    id: org_production
    title: ${{ vars.title }}
    content:
      - {space: blank, id: spc_production, title: Blank}
      - {space: guides, title: Guides, duplicateOf: blank}
      - {space: api, title: API, duplicateOf: blank}
    teams: {writers: {title: Writers}}
"""
STAGING = """\
vars: {title: Staging}
organizations: {acme: {id: org_staging}}
patch: [{match: acme/space/blank, set: {id: spc_staging}}]
"""
CHANGES = {
    "{space: guides, title: Guides, duplicateOf: blank}": "{space: guides, title: Manuals, duplicateOf: blank}",
    "      - {space: api,": "      - {space: more, title: More, duplicateOf: blank}\n      - {space: api,",
    "teams: {writers: {title: Writers}}": "teams: {writers: {title: Authors}, editors: {title: Editors}}",
}
SEED: dict[str, Any] = {
    "organizations": [{"id": "org_production", "title": "Production"}, {"id": "org_staging", "title": "Staging"}],
    "members": [
        {"organization": f"org_{name}", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"}
        for name in ("production", "staging")
    ],
    "spaces": [
        {"organization": f"org_{name}", "id": f"spc_{name}", "title": "Blank", "parent": None} for name in ("production", "staging")
    ],
}


@dataclass
class Start:
    """Both environments as they were applied, with a saved plan of a change for each."""

    cli: Cli
    database: Database
    state: Any

    def again(self, root: Path) -> Cli:
        """The same in a folder of its own."""
        shutil.copytree(self.cli.root, root)
        self.database.put(self.state)
        return Cli(root, env=dict(self.cli.env))


def service(cli: Cli) -> Counter[str]:
    with closing(sqlite3.connect(cli.root / "p/.reconciler/sandbox.db")) as connection:
        return seen(connection)


def of(lines: Counter[str], name: str) -> Counter[str]:
    """What belongs to one of the organizations."""
    return Counter({line: number for line, number in lines.items() if f"organization '{name}'" in line})


def tracked(cli: Cli, environment: str) -> Any:
    return cli.json("state", "list", "p", "--env", environment)["bindings"]


def planned(cli: Cli, environment: str) -> Any:
    document = cli.json("plan", "p", "--env", environment)
    return document["changes"], document["steps"], document["blocked"]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=proof)])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Start]:
    if request.param == "sqlite":
        (tmp_path / "state").mkdir()
        database: Database = Sqlite(tmp_path / "state")
    else:
        database = Postgres(request.getfixturevalue("postgres_url"), "killed_environments")
    try:
        yield prepared(Cli(tmp_path / "start", env={"RECONCILER_STATE": database.url}), database)
    finally:
        database.close()


def prepared(cli: Cli, database: Database) -> Start:
    """Apply both environments, change the files, and save the plan of each."""
    cli.write("p/reconciler.yaml", PROJECT)
    cli.write("p/environments/staging.yaml", STAGING)
    cli.write("p/environments/production.yaml", "{}\n")
    (cli.root / "p/.reconciler").mkdir()
    seed(cli.root / "p/.reconciler/sandbox.db", SEED)
    for name in ("staging", "production"):
        cli("apply", "p", "--env", name, "--yes", "--create-state", code=0)
    for old, new in CHANGES.items():
        cli.edit("p/reconciler.yaml", old, new)
    for name in ("staging", "production"):
        assert cli("plan", "p", "--env", name, "--out", f"{name}.json").exit_code == 0
    return Start(cli, database, database.take())


@sampled
def test_a_killed_run_of_one_environment_leaves_the_other_alone(start: Start, tmp_path: Path) -> None:
    words = ("apply", "p", "--env", "staging", "--plan", "staging.json")
    calm = start.again(tmp_path / "calm")
    before, production = service(calm), tracked(calm, "production")
    waiting = planned(calm, "production")
    boundaries = killed(calm, 0, *words)
    assert boundaries > 20
    staging, done = tracked(calm, "staging"), of(service(calm), "Staging")
    assert of(service(calm), "Production") == of(before, "Production")
    for fatal in range(1, boundaries + 1, stride(boundaries // 2)):
        cli = start.again(tmp_path / str(fatal))
        killed(cli, fatal, *words)
        start.database.expire()
        there = service(cli)
        assert of(there, "Production") == of(before, "Production"), fatal
        assert tracked(cli, "production") == production, fatal
        assert planned(cli, "production") == waiting, fatal
        assert cli("apply", "p", "--env", "production", "--plan", "staging.json").exit_code not in (0, 5), fatal
        assert service(cli) == there, fatal
        assert cli("apply", "p", "--env", "staging", "--yes").exit_code == 0, fatal
        assert difference(done, of(service(cli), "Staging")) == [], fatal
        assert {one["address"] for one in tracked(cli, "staging")} == {one["address"] for one in staging}, fatal
        assert tracked(cli, "production") == production, fatal
        assert cli("apply", "p", "--env", "production", "--plan", "production.json").exit_code == 0, fatal
        assert difference(done, of(service(cli), "Staging")) == [], fatal
        for name in ("staging", "production"):
            assert cli("plan", "p", "--env", name, "--detailed-exitcode").exit_code == 0, fatal
        shutil.rmtree(cli.root)
