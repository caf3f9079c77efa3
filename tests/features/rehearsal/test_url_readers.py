"""URLs by reader: what a rehearsal says about them is what each reader gets over HTTP, before and after an apply."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler import exits
from reconciler.sandbox.sites.readers import HEADER, Reader
from tests.command_line import Cli
from tests.features.rehearsal.service import LivingService, serving
from tests.features.rehearsal.test_against_applies import ALL, APPLY, _write
from tests.features.rehearsal.test_rehearse import _tree, _write as write
from tests.organizations import TOKEN, Tree, with_readers
from tests.proofs import costly

UNSIGNED = ({}, {"beta": True})  # what readers choose among, where no signature is needed
STAFF = "visitor.claims.staff"


def _answering(service: LivingService, urls: set[str], readers: Mapping[str, Reader]) -> set[tuple[str, str]]:
    """The readers to whom each URL answers over HTTP."""
    with httpx2.Client() as client:

        def answers(url: str, reader: Reader) -> bool:
            headers = ({HEADER: reader.model_copy(update={"unsigned": some}).model_dump_json()} for some in UNSIGNED)
            return any(client.get(url, headers=some).status_code == 200 for some in headers)

        return {(name, url) for name, reader in readers.items() for url in urls if answers(url, reader)}


def _agrees(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    chance = random.Random(number)
    before, after = with_readers(chance), with_readers(chance)
    with serving(folder / "living.db") as service:
        cli = Cli(folder, {"RECONCILER_BASE_URL": service.base, "RECONCILER_TOKEN": TOKEN, "RECONCILER_STATE": "sqlite:///state.db"})
        _write(cli, before)
        cli(*APPLY)
        _write(cli, after)
        document = json.loads(cli("rehearse", ".", "--format", "json", *ALL).stdout)
        assert document["divergences"] == [], number
        start = service.look()
        urls = {site.begin + (f"/{path}" if path else "") for site in start.sites for path in site.pages.answers()}
        first = dict(start.url_readers)
        before_apply = {name: _answering(service, urls, {name: reader}) for name, reader in first.items()}
        cli(*APPLY)
        later = {name: reader for name, reader in service.look().url_readers.items() if name not in first and not name.startswith("link:")}
        lost = {
            (name, url)
            for name, reader in first.items()
            for _, url in before_apply[name] - _answering(service, {url for _, url in before_apply[name]}, {name: reader})
        }
    closed = {(name, url) for row in document["urls"]["closed"] for name in row["readers"] for url in row["urls"]}
    assert {pair for pair in closed if pair[0] in first} == lost, number
    assert {name for name, _ in closed} <= {*first, *later}
    assert document["urls"]["before"] == len({url for pairs in before_apply.values() for _, url in pairs})
    assert set(document["urls"]["dead"]) | {moved["before"] for moved in document["urls"]["moved"]} == {url for _, url in closed}
    if document["moments"]:
        assert document["moments"][-1]["deadUrls"] == len({url for _, url in closed})


@costly
@pytest.mark.parametrize("number", [3])
def test_a_url_is_closed_to_those_who_no_longer_get_it_over_http(tmp_path: Path, number: int) -> None:
    _agrees(tmp_path, number)


@pytest.mark.proof
@pytest.mark.parametrize("start", range(100, 180, 10))
def test_urls_are_closed_to_those_who_no_longer_get_them_over_http(tmp_path: Path, start: int) -> None:
    for number in range(start, start + 10):
        _agrees(tmp_path / str(number), number)


# -- one kind of change each ---------------------------------------------------------------------------------------------------------------


def _rehearsed(cli: Cli, before: Tree, after: Tree) -> Any:
    write(cli, before)
    cli("apply", ".", "--sandbox", "living.db", "--yes", *ALL, code=exits.DONE)
    write(cli, after)
    result = cli("rehearse", ".", "--sandbox", "living.db", "--format", "json", *ALL)
    assert result.stdout, result.stderr
    return json.loads(result.stdout)


def test_every_url_of_a_site_that_nobody_can_open_any_more_is_dead(cli: Cli) -> None:
    document = _rehearsed(cli, _tree(), _tree(visibility="share-link"))
    assert document["urls"]["before"] == len(document["urls"]["dead"]) == document["worst"]["deadUrls"] > 0
    assert document["urls"]["after"] == 0
    assert document["worst"]["deadFor"] == ["anyone with the URL"]
    assert document["divergences"] == []


@costly
def test_urls_that_a_restricted_site_takes_over_are_dead_for_their_readers(cli: Cli) -> None:
    taken = _tree(basename="handbook")
    other = {
        "title": "Partners", "visibility": "share-link", "published": True, "basename": "partners",
        "structure": [{"section": "guides", "title": "Guides", "path": "guides", "spaces": ["guides"]}],
        "shareLinks": {"partners": {"name": "Partners", "active": True}},
    }  # fmt: skip
    taken["sites"]["partners"] = other
    after = _tree(basename="other")
    after["sites"]["partners"] = {**other, "basename": "handbook"}
    document = _rehearsed(cli, taken, after)
    guides = {row for row in document["urls"]["dead"] if "/handbook/guides" in row}
    moved = {row["before"] for row in document["urls"]["moved"] if "/handbook/guides" in row["before"]}
    closed = [row for row in document["urls"]["closed"] if "anyone with the URL" in row["who"]]
    assert {url for row in closed for url in row["urls"]} >= guides | moved
    assert guides | moved
    assert any(row["answering"] for row in closed), "the holders of the link get another page there"
    assert document["divergences"] == []


def _site(basename: str, visibility: str, *, active: bool = True) -> Tree:
    links = {"shareLinks": {"partners": {"name": "Partners", "active": active}}} if visibility == "share-link" else {}
    structure = [{"section": "guides", "title": "Guides", "path": "guides", "spaces": ["guides"]}]
    return {"title": "Docs", "visibility": visibility, "published": True, "basename": basename, "structure": structure, **links}


@costly
@pytest.mark.parametrize("new", ["other", "partners"])
@pytest.mark.parametrize(
    ("visibility", "other"),
    [("share-link", "share-link"), ("share-link", "visitor-auth"), ("visitor-auth", "share-link"), ("public", "share-link")],
)
def test_a_plan_names_the_urls_of_a_site_that_another_with_other_readers_takes_over(
    cli: Cli, visibility: str, other: str, new: str
) -> None:
    """Both show the same pages. The holders of a share link of one site do not get into the other."""
    before, after = _tree(), _tree()
    before["sites"] = {"docs": _site("handbook", visibility), "partners": _site("partners", other)}
    after["sites"] = {"docs": _site(new, visibility), "partners": _site("handbook", other)}
    document = _rehearsed(cli, before, after)
    assert document["divergences"] == []
    plan = json.loads(cli("plan", ".", "--sandbox", "living.db", "--format", "json").stdout)
    planned = {change["before"].partition("/published")[2] for change in plan["urls"] if change["before"] is not None}
    closed = {url.partition("/published")[2] for row in document["urls"]["closed"] for url in row["urls"]}
    assert closed
    assert closed <= planned


@costly
@pytest.mark.parametrize("negated", [True, False])
def test_visitors_whom_a_condition_shuts_out_lose_what_they_read(cli: Cli, negated: bool) -> None:
    before = _tree(adaptiveContent={"enabled": True})
    after = _tree(adaptiveContent={"enabled": True})
    after["sites"]["docs"]["structure"][1]["condition"] = f"!{STAFF}" if negated else STAFF
    document = _rehearsed(cli, before, after)
    closed = {name for row in document["urls"]["closed"] for name in row["readers"]}
    if negated:
        assert closed == {f"visitor:!(!{STAFF})"}
        lost = {(change["who"], change["address"]) for change in document["readers"]["lost"]}
        assert (f"signed-in visitors for whom !{STAFF} does not hold", "acme/space/salaries") in lost
    else:
        assert {"anyone-with-the-address", "visitor"} <= closed
        assert f"visitor:{STAFF}" not in closed
    assert document["worst"]["deadUrls"] > 0
    assert document["divergences"] == []


def test_a_url_that_whoever_knows_it_still_gets_is_not_dead(cli: Cli) -> None:
    document = _rehearsed(cli, _tree(), _tree(visibility="unlisted"))
    assert document["urls"]["dead"] == document["urls"]["closed"] == []
    assert document["worst"] is None


@costly
def test_a_reader_whose_role_changes_does_not_leave(cli: Cli) -> None:
    before, after = _tree(), _tree()
    before["members"] = {"bo@acme.example": {"role": "create"}}
    after["members"] = {"bo@acme.example": {"role": "read"}}
    cli.write("reconciler.seed.yaml", "")
    lower = _rehearsed(cli, before, after)
    assert lower["readers"] == {"gained": [], "lost": []}
    write(cli, after)
    cli("apply", ".", "--sandbox", "living.db", "--yes", *ALL, code=exits.DONE)
    write(cli, before)
    higher = json.loads(cli("rehearse", ".", "--sandbox", "living.db", "--format", "json", *ALL).stdout)
    assert [bool(change["before"]) for change in higher["readers"]["gained"]] == [True]
    assert "may do more than" in cli("rehearse", ".", "--sandbox", "living.db", *ALL).stdout


def test_a_section_that_moves_to_another_site_is_not_lost_to_readers_of_its_contents(cli: Cli) -> None:
    before, after = _tree(), _tree()
    for tree in (before, after):
        tree["sites"]["other"] = {"title": "Other", "visibility": "public", "published": True, "structure": []}
    after["sites"]["other"]["structure"] = [after["sites"]["docs"]["structure"].pop()]
    before["sites"]["other"]["structure"] = [{"section": "first", "title": "First", "path": "first", "spaces": ["guides"]}]
    after["sites"]["other"]["structure"].insert(0, before["sites"]["other"]["structure"][0])
    document = _rehearsed(cli, before, after)
    assert document["readers"]["lost"] == []
    assert document["urls"]["moved"]


def test_the_worst_moment_is_not_the_end_where_readers_lose_urls_only_on_the_way(cli: Cli) -> None:
    """Two sections exchange their paths: between two requests the pages of one have neither of the two URLs."""
    before, after = _tree(), _tree()
    first, second = after["sites"]["docs"]["structure"]
    first["path"], second["path"] = second["path"], first["path"]
    document = _rehearsed(cli, before, after)
    end = document["moments"][-1]
    worst = document["worst"]
    assert worst["after"] < end["after"]
    assert worst["deadUrls"] > end["deadUrls"]
