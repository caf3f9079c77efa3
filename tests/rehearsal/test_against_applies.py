"""A rehearsal shows what a real apply leads to, at each of its requests, and writes nothing to the living service."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.sandbox.sites.moment import AudienceMoment, ReadBy
from tests.cli.conftest import Cli
from tests.organizations import TOKEN, Tree, pair, project, with_readers
from tests.rehearsal.service import LivingService, serving

ALL = ("--allow-exposure", "**", "--allow-delete", "1000", "--max-exposed", "100000", "--allow-replace", "**", "--allow-open-work", "**")
ID = re.compile(r"[a-z]+_[0-9a-f]{12}")
APPLY = ("apply", ".", "--yes", "--create-state", "--max-concurrency", "1", *ALL)


def _trees(number: int) -> tuple[Tree, Tree]:
    """An organization, and what becomes of it."""
    chance = random.Random(number)
    return pair(chance) if number % 2 else (with_readers(chance), with_readers(chance))


def _write(cli: Cli, tree: Tree) -> None:
    cli.write("reconciler.yaml", yaml.dump(project({"acme": tree}), sort_keys=False))


def _gained(start: AudienceMoment, now: AudienceMoment) -> set[ReadBy]:
    return {reading for reading in now.readings - start.readings if (reading.kind, reading.id) in start.titles}


def _dead(start: AudienceMoment, now: AudienceMoment) -> set[str]:
    return set(start.urls) - set(now.urls)


def _shown(moments: Sequence[AudienceMoment]) -> dict[str, Any]:
    """What a report has to say about these moments."""
    start, end = moments[0], moments[-1]
    titles = {**start.titles, **end.titles}

    def named(readings: set[ReadBy] | frozenset[ReadBy]) -> Counter[tuple[str, str, str]]:
        return Counter((_reader(start, reading.reader), reading.kind, titles[reading.kind, reading.id]) for reading in readings)

    return {
        "moments": [(len(_dead(start, now)), len(_gained(start, now))) for now in moments[1:]],
        "gained": named(_gained(start, end)),
        "lost": named(start.readings - end.readings),
        "dead": _dead(start, end),
        "urls": (len(start.urls), len(end.urls)),
    }


def _reader(start: AudienceMoment, reader: str) -> str:
    """A reader without an id that is new, which the service gives at random."""
    who, level = reader.partition(" ")[::2]
    return reader if who in start.names or not who.startswith(("link:", "joins:saml:")) else f"{who.rpartition(':')[0]} {level}"


def _reported(document: Any, start: AudienceMoment) -> dict[str, Any]:
    """What a report says about them."""
    urls = document["urls"]

    def named(changes: Any) -> Counter[tuple[str, str, str]]:
        return Counter((_reader(start, change["reader"]), change["kind"], change["title"]) for change in changes)

    return {
        "moments": [(moment["deadUrls"], moment["readersGained"]) for moment in document["moments"]],
        "gained": named(document["readers"]["gained"]),
        "lost": named(document["readers"]["lost"]),
        "dead": {*urls["dead"], *(url["before"] for url in urls["moved"])},
        "urls": (urls["before"], urls["after"]),
    }


def _agrees(folder: Path, number: int, stops: int) -> None:
    """Rehearse one edit, and compare it with a real apply that runs to its end, and with some that stop earlier."""
    folder.mkdir(exist_ok=True)
    with serving(folder / "living.db") as service:
        cli = Cli(folder, {"RECONCILER_BASE_URL": service.base, "RECONCILER_TOKEN": TOKEN, "RECONCILER_STATE": "sqlite:///state.db"})
        before, after = _trees(number)
        _write(cli, before)
        cli(*APPLY)
        _write(cli, after)
        saved = folder / "saved"
        saved.mkdir()
        service.keep(saved)
        shutil.copy(folder / "state.db", saved)

        service.begin()
        document = json.loads(cli("rehearse", ".", "--format", "json", *ALL).stdout)
        assert service.writes == []
        assert service.look() == service.moments[0]
        assert document["divergences"] == []
        report = _reported(document, service.moments[0])

        rehearsed = [moment["request"] for moment in document["moments"]]

        _again(service, saved)
        service.begin()
        cli(*APPLY)
        shown = _shown(service.moments)
        assert {**shown, "moments": 0} == {**report, "moments": 0}
        assert Counter(_alike(service.writes, rehearsed)) == Counter(_alike(rehearsed, service.writes))
        assert _compared(service.writes, shown["moments"], rehearsed, report["moments"]) == len(rehearsed)

        for limit in sorted(random.Random(number).sample(range(len(rehearsed)), min(stops, len(rehearsed)))):
            _again(service, saved)
            service.begin(limit=limit)
            cli(*APPLY)
            assert len(service.writes) == limit
            _compared(service.writes, _shown(service.moments)["moments"], rehearsed, report["moments"])


def _alike(requests: Sequence[str], others: Sequence[str]) -> list[str]:
    """Requests without the ids that are new in each run."""
    known = {id for request in others for id in ID.findall(request)}
    return [ID.sub(lambda match: match[0] if match[0] in known else "new", request) for request in requests]


def _compared(done: Sequence[str], moments: Sequence[Any], rehearsed: Sequence[str], expected: Sequence[Any]) -> int:
    """The last moment that was compared: those after the same requests, since what does not wait for each other has no order."""
    ours, theirs = _alike(done, rehearsed), _alike(rehearsed, done)
    after = [number for number in range(len(ours) + 1) if Counter(ours[:number]) == Counter(theirs[:number])]
    assert [(number, moments[number - 1]) for number in after if number] == [(number, expected[number - 1]) for number in after if number]
    return after[-1]


def _again(service: LivingService, saved: Path) -> None:
    """The service and the state as they were saved."""
    folder = service.db.parent
    for name in ("living.db", "state.db"):
        for file in folder.glob(f"{name}*"):
            file.unlink()
        shutil.copy(saved / name, folder)


@pytest.mark.parametrize("number", range(4))
def test_a_rehearsal_shows_what_an_apply_leads_to_wherever_it_stops(tmp_path: Path, number: int) -> None:
    _agrees(tmp_path, number, 1)


@pytest.mark.proof
@pytest.mark.parametrize("start", range(4, 1004, 25))
def test_rehearsals_of_random_edits_show_what_applies_lead_to(tmp_path: Path, start: int) -> None:
    for number in range(start, start + 25):
        _agrees(tmp_path / str(number), number, 3)
