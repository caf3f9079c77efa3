"""A rehearsal shows what a real apply leads to, at each of its requests, and writes nothing to the living service."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.features.rehearsal.differences import TIMES
from reconciler.features.rehearsal.moments import SeenMoment, SeenReading
from reconciler.sandbox.sites.moment import ReadBy
from tests.command_line import Cli
from tests.features.rehearsal.watched import Counting, Watched, counted, watching
from tests.organizations import TOKEN, Tree, pair, project, with_readers
from tests.proofs import costly

ROLES = ("guest", "read", "comment", "edit", "review", "create", "admin")
ALL = ("--allow-exposure", "**", "--allow-delete", "1000", "--max-exposed", "100000", "--allow-replace", "**", "--allow-open-work", "**")
RUN = 7  # whose ids the rehearsal and the applies after it give
TRIES = 5  # one request at a time leaves the order to the clock where several are ready; the same order is soon another try's
NAMES = ("title", "name", "label", "slug", "email", "path", "id")
APPLY = ("apply", ".", "--yes", "--create-state", "--max-concurrency", "1", *ALL)


def _trees(number: int) -> tuple[Tree, Tree]:
    """An organization, and what becomes of it."""
    chance = random.Random(number)
    return pair(chance) if number % 2 else (with_readers(chance), with_readers(chance))


def _write(cli: Cli, tree: Tree) -> None:
    cli.write("reconciler.yaml", yaml.dump(project({"acme": tree}), sort_keys=False))


def _shown(moments: Sequence[SeenMoment]) -> dict[str, Any]:
    """What a report has to say about these moments."""
    start, end = moments[0], moments[-1]
    titles = {**start.titles, **end.titles}

    def named(readings: set[SeenReading]) -> Counter[tuple[str, str, str]]:
        return Counter((reading.reader, reading.kind, titles[reading.kind, reading.id]) for reading in readings)

    return {
        "moments": [(len(_dead(start, now)), _number(_gained(start, now), start)) for now in moments[1:]],
        "gained": named(_gained(start, end)),
        "lost": named(_lost(start, end)),
        "dead": _dead(start, end),
        "urls": (len(start.urls), len(end.urls)),
    }


def _reported(document: Any) -> dict[str, Any]:
    """What a report says about them."""
    urls = document["urls"]

    def named(changes: Any) -> Counter[tuple[str, str, str]]:
        return Counter((reader, change["kind"], change["title"]) for change in changes for reader in _of_all_roles(change["reader"]))

    return {
        "moments": [(moment["deadUrls"], moment["readersGained"]) for moment in document["moments"]],
        "gained": named(document["readers"]["gained"]),
        "lost": named(document["readers"]["lost"]),
        "dead": {*urls["dead"], *(url["before"] for url in urls["moved"])},
        "urls": (urls["before"], urls["after"]),
    }


def _of_all_roles(reader: str) -> list[str]:
    """Members of all roles, who are one reader in a report where they may do the same."""
    name, _, level = reader.partition(" ")
    return [f"role:{role} {level}".strip() for role in ROLES[:-1]] if name == "members" else [reader]


def _number(readings: set[SeenReading], start: SeenMoment) -> int:
    """How many readers a report counts: members of all roles are one, where they may do the same now, and could at the start."""
    could = {(_named(reading.reader)[0], reading.kind, reading.id): _named(reading.reader)[1] for reading in start.readings}
    alike: dict[Any, set[str]] = defaultdict(set)
    for reading in readings:
        name, level = _named(reading.reader)
        of_a_role = (level, could.get((name, reading.kind, reading.id))) if name.startswith("role:") else name
        alike[reading.kind, reading.id, of_a_role].add(name)
    return sum(1 if len(names) == len(ROLES) - 1 else len(names) for names in alike.values())


def _gained(start: SeenMoment, now: SeenMoment) -> set[SeenReading]:
    more = _more(now, start) | _by_refused(now, start, [start, now])
    return {reading for reading in more if (reading.kind, reading.id) in start.titles}


def _lost(start: SeenMoment, end: SeenMoment) -> set[SeenReading]:
    """Without those who may do less, and without containers whose contents the same reader has in another one."""
    less = _more(start, end) | _by_refused(start, end, [start, end])
    known = {(_named(reading.reader)[0], reading.kind, reading.id) for reading in end.readings}

    def is_replaced(who: str, key: tuple[str, str]) -> bool:
        contents = start.shows.get(key, frozenset())
        return key not in end.titles and bool(contents) and {(who, *content) for content in contents} <= known

    named = [(reading, _named(reading.reader)[0], (reading.kind, reading.id)) for reading in less]
    return {reading for reading, who, key in named if (who, *key) not in known and not is_replaced(who, key)}


def _by_refused(now: SeenMoment, before: SeenMoment, moments: Sequence[SeenMoment]) -> set[SeenReading]:
    """What visitors for whom a condition does not hold can read more."""
    readers = {name: reader for moment in moments for name, reader in moment.refused.items()}
    return {ReadBy(name, *key) for name, reader in readers.items() for key in now.reads(name, reader) - before.reads(name, reader)}


def _more(now: SeenMoment, before: SeenMoment) -> set[SeenReading]:
    """Readers who are new, or may do more; the number of each is that of their level."""
    ranks = {(*_named(reading.reader)[:1], reading.kind, reading.id): _named(reading.reader)[1] for reading in before.readings}
    return {
        reading
        for reading in now.readings
        for who, rank in [_named(reading.reader)]
        if rank > ranks.get((who, reading.kind, reading.id), -1)
        and not ((conditions := now.conditions(reading.reader)) and before.visited(conditions, reading.kind, reading.id))
    }


def _named(reader: str) -> tuple[str, int]:
    """A reader without the level, and its rank."""
    match = re.fullmatch(rf"(.*) \(({'|'.join(ROLES)})\)", reader)
    return (match[1], ROLES.index(match[2])) if match else (reader, ROLES.index("read"))


def _dead(start: SeenMoment, now: SeenMoment) -> set[str]:
    """The URLs that answered to somebody who no longer gets them."""
    readers = {**now.url_readers, **start.url_readers}
    return {url for name, reader in readers.items() for url in start.answers(name, reader).keys() - now.answers(name, reader).keys()}


def _agrees(folder: Path, number: int, stops: int) -> None:
    """Rehearse one edit, and compare it with a real apply at each of its requests, and with some that stop earlier."""
    folder.mkdir(exist_ok=True)
    with counted(folder / "living.db") as service:
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
        with watching(RUN) as rehearsed:
            document = json.loads(cli("rehearse", ".", "--format", "json", *ALL).stdout)
        assert service.writes == []
        assert service.look() == service.moments[0]
        assert document["divergences"] == []
        written = tuple(rehearsed.writes[: document["requests"]["apply"]])
        assert _reported(document) == _shown(rehearsed.moments)
        assert len(rehearsed.moments) == len(written) + 1
        _names_what_undo_left(document, rehearsed)

        # The last one is not stopped: what it leads to is what a whole apply leads to.
        for limit in [*sorted(random.Random(number).sample(range(len(written)), min(stops, len(written)))), None]:
            for _ in range(TRIES):
                _again(service, saved)
                service.begin(limit=limit, run=RUN)
                cli(*APPLY)
                if service.writes == [f"{method} {path}" for method, path, _ in written[:limit]]:
                    break
            assert service.writes == [f"{method} {path}" for method, path, _ in written[:limit]]
            assert service.moments == rehearsed.moments[: len(service.moments)]
        service.begin()
        planned = json.loads(cli("plan", ".", "--format", "json", "--allow-replace", "**").stdout)
        assert [f"{step['address']}: {step['verb']}" for step in planned["steps"]] == document["remaining"]


def _names_what_undo_left(document: Any, rehearsed: Watched) -> None:
    """Every object that is not as it was is in a sentence, and where all are as they were, none says otherwise."""
    kept, now = rehearsed.before, rehearsed.undone
    different = {key for key in kept.keys() | now.keys() if _compared(kept.get(key)) != _compared(now.get(key))}
    sentences = document["undo"]["leftovers"]
    assert document["undo"]["exact"] == (not sentences)
    assert bool(different) <= bool(sentences)
    for key in different:
        row = kept.get(key) or now[key]
        names = {str(row["data"].get(name)) for name in NAMES} | {row["container"].partition(":")[2], key[0]}
        assert any(name in sentence for sentence in sentences for name in names), (key, sentences)


def _compared(row: Any) -> Any:
    """An object without when it was written."""
    return None if row is None else (row["container"], {name: value for name, value in row["data"].items() if name not in TIMES})


def _again(service: Counting, saved: Path) -> None:
    """The service and the state as they were saved."""
    folder = service.db.parent
    for name in ("living.db", "state.db"):
        for file in folder.glob(f"{name}*"):
            file.unlink()
        shutil.copy(saved / name, folder)


@costly
@pytest.mark.parametrize("number", range(4))
def test_a_rehearsal_shows_what_an_apply_leads_to_wherever_it_stops(tmp_path: Path, number: int) -> None:
    _agrees(tmp_path, number, 1)


@pytest.mark.proof
@pytest.mark.parametrize("start", range(4, 1004, 25))
def test_rehearsals_of_random_edits_show_what_applies_lead_to(tmp_path: Path, start: int) -> None:
    for number in range(start, start + 25):
        _agrees(tmp_path / str(number), number, 3)
