"""What one command says of a plan, another one says too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.command_line import Cli

SEED = {
    "organizations": [{"id": "org_acme", "title": "Acme"}],
    "members": [{"organization": "org_acme", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"}],
}

SPACE = {"organization": "org_acme", "id": "spc_guides", "title": "Guides", "pages": [{"title": "Start"}]}


def write(cli: Cli, teams: range, most: dict[str, int], **more: Any) -> None:
    document: Any = {
        "version": 1,
        "project": "p",
        "service": {"sandbox": ".reconciler/sandbox.db", "member": "ada@acme.example"},
        "guards": {"maxDelete": most, "maxExposed": 0},
        "organizations": {"acme": {"id": "org_acme", "teams": {f"t{number}": {"title": f"T{number}"} for number in teams}, **more}},
    }
    cli.write("p/reconciler.yaml", yaml.safe_dump(document, sort_keys=False))


def applied(root: Path, teams: int, most: dict[str, int]) -> Cli:
    cli = Cli(root)
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump(SEED))
    write(cli, range(teams), most)
    cli("apply", "p", "--yes", code=0)
    return cli


def test_a_limit_of_deletions_is_a_share_of_everything_also_where_a_run_is_about_a_part(tmp_path: Path) -> None:
    share = {"percent": 20, "atLeast": 0}
    cli = applied(tmp_path, 20, share)  # and an organization and its member: 22 % of 21 are 4
    write(cli, range(4, 20), share)
    cli("plan", "p", "--out", "four.json", code=0)
    write(cli, range(10, 20), share)
    targets = [word for number in range(4) for word in ("--target", f"acme/team/t{number}")]
    cli("plan", "p", *targets, code=0)
    assert "(20 % of 21" in cli("plan", "p", "--out", "ten.json", code=4).stderr.replace("maxDelete ", "")
    cli("rehearse", "p", "--plan", "four.json", code=0)
    cli("apply", "p", "--yes", "--plan", "four.json", code=0)


def test_a_saved_plan_that_is_stale_and_refused_is_stale_for_apply_and_for_a_rehearsal(tmp_path: Path) -> None:
    few = {"percent": 0, "atLeast": 2}
    cli = applied(tmp_path, 6, few)
    write(cli, range(1), few)
    cli("plan", "p", "--allow-delete", "5", "--out", "saved.json", code=0)
    assert "[RC-delete-limit]" in cli("apply", "p", "--yes", "--plan", "saved.json", code=4).stderr
    listed = json.loads(cli("api", "GET", "/orgs/org_acme/teams", "--sandbox", "p/.reconciler/sandbox.db", code=0).stdout)["items"]
    changed = next(team["id"] for team in listed if team["title"] == "T1")
    cli("api", "PATCH", f"/orgs/org_acme/teams/{changed}", "-f", "title=Else", "--sandbox", "p/.reconciler/sandbox.db", code=0)
    for command in ("apply", "rehearse"):
        yes = ["--yes"] if command == "apply" else []
        assert "[RC-saved-plan-stale]" in cli(command, "p", *yes, "--plan", "saved.json", code=6).stderr
    assert "[RC-delete-limit]" in cli("apply", "p", "--yes", "--partial", "--plan", "saved.json", code=4).stderr


def test_the_plan_that_reverts_drift_says_which_guard_refuses_it_and_what_its_apply_needs(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump({**SEED, "spaces": [SPACE]}))
    site = {"title": "Docs", "type": "premium", "visibility": "unlisted", "published": True, "structure": [{"space": "guides"}]}
    write(cli, range(1), {}, content=[{"space": "guides", "id": "spc_guides", "title": "Guides"}], sites={"docs": site})
    cli("apply", "p", "--yes", "--allow-exposure", "**", "--max-exposed", "9", code=0)
    sandbox = ("--sandbox", "p/.reconciler/sandbox.db")
    (living,) = json.loads(cli("api", "GET", "/orgs/org_acme/sites", *sandbox, code=0).stdout)["items"]
    cli("api", "PATCH", f"/orgs/org_acme/sites/{living['id']}", "-f", "visibility=share-link", *sandbox, code=0)
    said = cli("drift", "p", "--revert-plan", "revert.json", code=0).stderr
    assert "apply would refuse it" in said
    option, number = said[said.index("--max-exposed") :].split()[:2]
    assert "[RC-exposure-limit]" in cli("apply", "p", "--yes", "--plan", "revert.json", code=4).stderr
    cli("apply", "p", "--yes", "--plan", "revert.json", option, number, code=0)
