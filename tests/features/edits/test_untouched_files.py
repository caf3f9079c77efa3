"""What accepts drift, and what imports into a project: the plan is empty then, and every line that it is not about is the same to the byte.

Random projects as people write them, applied to a sandbox over HTTP; random edits by people. More worlds with `-m proof`.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.features.edits.texts import ProjectTexts, project_texts
from tests.command_line import Cli
from tests.features.drift.test_proposal_proof import ORG, RULES, Desk, branches, edits
from tests.features.drift.test_proposals import git
from tests.features.edits.random_project import random_project
from tests.features.edits.test_random_operations import WORDS
from tests.features.edits.untouched import About, by_address, kept_lines, styled
from tests.harness import kinds
from tests.organizations import SEED
from tests.proofs import costly, spread

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
WORLDS, PUSH = 120, 1


def world(root: Path, chance: random.Random) -> tuple[Cli, Desk]:
    """An applied project in a repository, its files to the byte as people write them."""
    made = random_project(chance)
    for name in RULES:
        made.files["reconciler.yaml"].pop(name, None)
    made.files.pop("tests/t.yaml", None)
    desk, cli = Desk(root, seed=SEED, environment=chance.choice(made.environments)), Cli(root)
    anchors = chance.random() < 0.2
    for name, data in made.render().items():
        file = root / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(styled(data, chance, anchors=anchors and name == "reconciler.yaml").encode("utf-8"))
    if chance.random() < 0.25:
        cli("fmt", "project", code=0)
    cli("apply", *desk.where, "--yes", "--allow-exposure", "**", code=0)
    cli.write(".gitignore", "home/\n.reconciler/\n/*.db*\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "core.autocrlf", "false")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return cli, desk


def files(root: Path) -> dict[str, str]:
    folder = root / "project"
    return {file.relative_to(folder).as_posix(): file.read_bytes().decode("utf-8") for file in sorted(folder.rglob("*.yaml"))}


def drifted(desk: Desk, chance: random.Random) -> int:
    """How many edits people made, deletions excepted."""
    number, done = chance.randint(1, 3), 0
    for method, path, body in edits(desk, chance):
        created = method == "POST" and path.endswith("/share-links")
        done += method != "DELETE" and not created and desk.took(method, path, body)
        if done == number:
            break
    return done


def about(before: ProjectTexts, report: Mapping[str, Any], environment: str | None) -> dict[str, set[int]]:
    """The lines that accepting a drift is about."""
    lines, known = About(before.texts), by_address(before, environment)
    by_text = {str(address): declared for address, declared in known.items()}
    for resource in report["resources"]:
        declared = by_text[resource["address"]]
        for field in resource["fields"]:
            lines.value(declared, field["name"])
            # A flag moves from one of these to the other, or what contains the resource does.
            for other in (by_text[text] for text in (field["declared"], field["now"]) if isinstance(text, str) and text in by_text):
                lines.contents(other)
                for flag in kinds().flags(other.kind):
                    lines.value(other, flag)
        container = kinds()[declared.kind].inside
        moved = resource["place"] is not None or any(
            container is not None and field["name"] == container.name for field in resource["fields"]
        )
        if moved:
            lines.resource(declared)
            lines.contents(known[declared.parent])  # type: ignore[index]
        if resource["place"] is not None and resource["place"]["now"]["parent"] in by_text:
            lines.contents(by_text[resource["place"]["now"]["parent"]])
    return lines.lines


@costly
@pytest.mark.parametrize("seed", spread(range(WORLDS), PUSH))
def test_accepting_drift_leaves_every_other_line(tmp_path: Path, seed: int) -> None:
    judged_drift(tmp_path, random.Random(f"accept {seed}"))


def judged_drift(root: Path, chance: random.Random) -> bool:
    """Whether the files could take in everything."""
    cli, desk = world(root, chance)
    drifted(desk, chance)
    before = project_texts(root / "project", kinds())
    report = cli.json("drift", *desk.where)
    if not report["resources"]:
        return True
    lines, consent = about(before, report, desk.environment), ("--allow-exposure", "**")
    proposed = cli("drift", *desk.where, "--propose", *consent)
    assert proposed.exit_code in (0, 5), proposed.stderr
    after = dict(before.texts)
    for branch in branches(root):
        after |= {name: blob(root, f"{branch}:project/{name}") for name in after}
    assert kept_lines(before.texts, after, lines) == []
    assert files(root) == before.texts

    words = [word for resource in report["resources"] for word in ("--accept", resource["address"])]
    accepted = cli("drift", *desk.where, *words, *consent)
    assert (accepted.exit_code == 0) == (proposed.exit_code == 0), accepted.stderr
    if accepted.exit_code:
        assert files(root) == before.texts
        return False
    assert files(root) == after
    assert cli.json("plan", *desk.where)["summary"]["requests"] == 0
    return True


def created(desk: Desk, chance: random.Random) -> list[Address]:
    """The resources in which people created something that no file declares."""
    ids, hosts = desk.ids(), list[Address]()
    sites, spaces = ([at for at in ids if at.kind == kind] for kind in ("site", "space"))
    for number in range(chance.randint(1, 4)):
        site, title = chance.choice(sites), f"{chance.choice(WORDS)[:30]} {number}"
        outer = chance.choice([None, *(at for at in ids if at.kind == "collection")])
        section = chance.choice([None, *(at for at in ids if at.kind == "section" and at.container == site)])
        where = f"{ORG}/sites/{ids[site]}"
        bodies: dict[str, tuple[Address | None, Any]] = {
            f"{ORG}/collections": (outer, {"title": title, "parent": outer and ids[outer]}),
            f"{ORG}/spaces": (outer, {"title": title, "parent": outer and ids[outer]}),
            f"{ORG}/teams": (None, {"title": title}),
            f"{ORG}/sites": (None, {"title": title, "spaces": [ids[chance.choice(spaces)]]}),
            f"{where}/share-links": (site, {"name": title}),
            f"{where}/sections": (site, {"title": title, "spaceId": ids[chance.choice(spaces)]}),
            f"{where}/site-spaces": (site, {"spaceId": ids[chance.choice(spaces)], "sectionId": section and ids[section]}),
        }
        path = chance.choice([*bodies])
        host, body = bodies[path]
        if desk.took("POST", path, body):
            hosts.append(host or Address.parse("acme"))
    return hosts


@pytest.mark.parametrize("seed", spread(range(WORLDS), PUSH))
def test_importing_into_a_project_leaves_every_other_line(tmp_path: Path, seed: int) -> None:
    judged_import(tmp_path, random.Random(f"import {seed}"))


def judged_import(root: Path, chance: random.Random) -> None:
    cli, desk = world(root, chance)
    hosts = created(desk, chance)
    before = project_texts(root / "project", kinds())
    known, lines = by_address(before, desk.environment), About(before.texts)
    organization = Address.parse("acme")  # its member linus is declared nowhere
    for host in [organization, *hosts, *(at for at in known if at.container in hosts and at.kind == "section")]:
        lines.contents(known[host])
    imported = cli("import", "project", "--into", *desk.where[1:])
    if imported.exit_code not in (0, 5):  # what was created does not fit beside what is declared
        assert "RC-" in imported.stderr
        assert files(root) == before.texts
        return
    again = files(root)
    assert kept_lines(before.texts, again, lines.lines) == []
    # A patch of the environment may say something else about what is new.
    assert imported.exit_code == 5 or cli("plan", *desk.where, "--detailed-exitcode").exit_code == 0
    cli("import", "project", "--into", *desk.where[1:])
    assert files(root) == again


def blob(root: Path, name: str) -> str:
    """A file of a commit, to the byte."""
    return subprocess.run(["git", "show", name], cwd=root, capture_output=True, check=True).stdout.decode("utf-8")
