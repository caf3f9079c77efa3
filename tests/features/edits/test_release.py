"""A release is one line: a copy, its name, its place and the default, in one apply that can be cut at any request and repeated."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler import exits
from tests.apply.test_kill import Killed, killing
from tests.command_line import Cli, initialised
from tests.harness import Org
from tests.proofs import costly, spread

SECTION = "acme/site/docs/section/guides"
MOST = 10  # requests of a release


def released(cli: Cli, name: str, *words: str, code: int = 0) -> Any:
    return cli("release", SECTION, "--name", name, "--project", "p", *words, code=code)


def tree(cli: Cli) -> dict[str, Any]:
    acme: dict[str, Any] = yaml.safe_load((cli.root / "p/reconciler.yaml").read_text())["organizations"]["acme"]
    return acme


def variants(cli: Cli) -> list[Any]:
    shown: list[Any] = tree(cli)["sites"]["docs"]["structure"][0]["spaces"]
    return [item if isinstance(item, str) else item["path"] for item in shown]


def spaces(cli: Cli) -> list[str]:
    return [item["space"] for item in tree(cli)["content"][1]["content"]]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = initialised(Cli(tmp_path))
    path = cli.root / "p/reconciler.yaml"
    path.write_text(path.read_text().replace("spaces: [guides]", "spaces: [{space: guides, path: v1, default: true}]"))
    return cli


def test_a_release_is_written_where_a_person_would_write_it(cli: Cli) -> None:
    before = (cli.root / "p/reconciler.yaml").read_text()
    released(cli, "v2", "--default")
    added = [line.strip() for line in (cli.root / "p/reconciler.yaml").read_text().splitlines() if line not in before.splitlines()]
    assert added == [
        "- {space: guides-v2, title: Guides v2, duplicateOf: guides}",
        "- {section: guides, title: Guides, spaces: [{space: guides-v2, path: v2, default: true}, {space: guides, path: v1}]}",
    ]
    cli("propose", "--undo", "--project", "p", code=0)
    assert (cli.root / "p/reconciler.yaml").read_text() == before


def test_what_is_released_is_a_copy_of_the_newest_or_of_the_named_version(cli: Cli) -> None:
    released(cli, "v2")
    released(cli, "v3")
    released(cli, "v4", "--from", "v2")
    sources = {item["space"]: (item["title"], item["duplicateOf"]) for item in tree(cli)["content"][1]["content"] if "v" in item["space"]}
    assert sources == {
        "guides-v2": ("Guides v2", "guides"),
        "guides-v3": ("Guides v3", "guides-v2"),
        "guides-v4": ("Guides v4", "guides-v2"),
    }
    assert variants(cli) == ["v4", "v3", "v2", "v1"]


def test_without_redirects_it_says_which_urls_end_and_what_to_write(cli: Cli) -> None:
    assert "URLs end" not in released(cli, "v2", "--default").stderr
    said = released(cli, "v3", "--default", "--keep", "2").stderr
    assert "No longer shown: acme/site/docs/site-space/guides. Its URLs end" in said
    assert "write urls: {redirects: [nginx]}" in said
    path = cli.root / "p/reconciler.yaml"
    path.write_text(f"{path.read_text()}\nurls: {{redirects: [nginx]}}\n")
    assert "Redirects lead from its URLs to the next version" in released(cli, "v4", "--default", "--keep", "2").stderr


def test_tests_of_access_that_name_the_old_version_alone_are_unchanged_and_named(cli: Cli) -> None:
    path = cli.root / "p/reconciler.yaml"
    path.write_text(
        path.read_text() + "\naccess:\n  - {as: anyone, mustNotSee: [acme/space/guides]}\n  - {as: anyone, mustNotSee: ['acme/space/*']}\n"
    )
    rules = path.read_text().partition("access:")[2]
    said = released(cli, "v2", "--default").stderr
    assert said.count("names acme/space/guides and not the new version; only people change it") == 1
    assert path.read_text().partition("access:")[2] == rules


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--name", "v1"), "shows v1 already"),
        (("--name", "v2", "--from", "v7"), "from is v7"),
        (("--name", "v 2"), "name is"),
        (("--name", "v2", "--keep", "1"), "is the default, and keep 1 would remove it"),
    ],
)
def test_what_cannot_be_released_says_why_and_changes_nothing(cli: Cli, words: tuple[str, ...], says: str) -> None:
    before = (cli.root / "p/reconciler.yaml").read_text()
    assert says in cli("release", SECTION, *words, "--project", "p", code=exits.WRONG).stderr
    assert (cli.root / "p/reconciler.yaml").read_text() == before


def test_a_release_is_written_in_front_of_versions_that_a_for_each_generates(cli: Cli) -> None:
    path = cli.root / "p/reconciler.yaml"
    generated = "{forEach: [guides, api], key: 'g-${{ each.value }}', space: '${{ each.value }}', path: '${{ each.value }}'}"
    path.write_text(path.read_text().replace("{space: guides, path: v1, default: true}", generated))
    released(cli, "v2", "--default")
    assert "- {space: guides-v2, path: v2, default: true}\n              - {forEach" in path.read_text()
    assert "is generated" in released(cli, "v3", "--keep", "2", code=exits.REFUSED).stderr


@costly
def test_twelve_releases_show_three_versions_keep_every_space_and_send_few_requests(cli: Cli) -> None:
    cli("apply", "p", "--yes", code=0)
    for number in range(2, 13):
        released(cli, f"v{number}", "--keep", "3", "--default")
        document = cli.json("plan", "p")
        assert document["summary"]["requests"] <= MOST
        chosen = next(step for step in document["steps"] if "defaultSiteSpace" in step["fields"])
        of_new = {step["id"] for step in document["steps"] if step["address"].endswith(f"guides-v{number}")}
        assert of_new <= {*chosen["needs"], *chosen["after"]}, "until it is complete, readers find the version before"
        cli("apply", "p", "--yes", code=0)
        assert variants(cli) == [f"v{shown}" for shown in range(number, max(number - 3, 0), -1)]
    assert {"guides", *(f"guides-v{number}" for number in range(2, 13))} <= set(spaces(cli))
    assert cli.json("plan", "p")["changes"] == []


def versions(newest: int, shown: list[dict[str, Any]]) -> dict[str, Any]:
    """An organization with so many versions."""
    copies = [{"space": f"v{number}", "title": f"V{number}", "duplicateOf": "blank"} for number in range(2, newest + 1)]
    content = [{"space": "blank", "id": "spc_blank", "title": "Blank"}, {"space": "one", "title": "V1", "duplicateOf": "blank"}, *copies]
    return {
        "content": content,
        "sites": {"docs": {"title": "Docs", "structure": [{"section": "guides", "title": "Guides", "spaces": shown}]}},
    }


BEFORE = versions(2, [{"space": "v2", "path": "v2", "default": True}, {"space": "one", "path": "v1"}])
AFTER = versions(3, [{"space": "v3", "path": "v3", "default": True}, {"space": "v2", "path": "v2"}])


def default(org: Org) -> str:
    """What readers of the section find first, with whether its path is its own."""
    site = org.id("acme/site/docs")
    section = next(iter(org.items(f"/orgs/org_acme/sites/{site}/sections")))
    shown = next(item for item in section["siteSpaces"] if item["default"])
    return f"{shown['space']['title']} at {shown['path']}"


@costly
@pytest.mark.parametrize(("nth", "when"), spread([*itertools.product(range(1, 9), ("before", "after"))], 4))
def test_a_release_that_is_cut_at_any_request_shows_a_whole_version_and_is_finished_by_the_next_run(org: Org, nth: int, when: str) -> None:
    org.write(BEFORE)
    org.apply()
    org.write(AFTER)
    org.way = killing(nth, when)
    with pytest.raises(Killed):
        org.apply()
    org.way = None
    assert default(org) in ("V2 at v2", "V3 at v3")
    org.apply()
    assert default(org) == "V3 at v3"
    assert org.plan().empty
