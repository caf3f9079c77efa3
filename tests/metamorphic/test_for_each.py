"""An organization that is written with forEach, and the same written out: equal plans, equal services, equal states.

What forEach means is written down here once more, as loops: nested, over a map, a list and a range, on entries and on nodes, in sites with
sections.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any

from hypothesis import strategies as st

from tests.metamorphic.arrangement import arranged, shuffled
from tests.metamorphic.canonical import MADE, differences
from tests.metamorphic.laboratory import Laboratory, laboratory
from tests.metamorphic.relation import relation
from tests.metamorphic.test_arrangement import CHANCE, told
from tests.organizations import project
from tests.reliability.databases import Sqlite

BLANK = {"space": "blank", "id": "spc_blank", "title": "Blank"}
OWN = re.compile(r"X'[0-9a-fA-F]+'|'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'|'[0-9a-f]{8,64}'|'\d{4}-\d\d-\d\dT[\d:.]+\+00:00'")
"""What a state has of its own: its key, the ids of itself and of its runs, and times."""


NUMBERS = re.compile(r"VALUES\((?:\d+,)+")
SERIAL = re.compile(r"""^(INSERT INTO "states" VALUES\((?:[^,]*,){4})\d+""")  # grows with what is ready at the same moment
NAME = "${{ each.value }} of ${{ each.parent.key }}"


@dataclass(frozen=True)
class Catalogue:
    """`products` by key. `versions`: numbers, as a range or as a list of texts. `partners`: of every site."""

    products: dict[str, str]
    first: int
    end: int
    ranged: bool
    partners: tuple[str, ...]
    sections: bool

    @property
    def versions(self) -> list[str]:
        return [str(number) for number in range(self.first, self.end)]


@st.composite
def catalogues(draw: Any) -> Catalogue:
    names = {"pay": "Payments", "id": "no", "api": "007", "x-1": "Ü: b"}
    keys = draw(st.lists(st.sampled_from(list(names)), unique=True, min_size=1, max_size=3))
    products = {key: draw(st.sampled_from([names[key], "Docs"])) for key in keys}
    first = draw(st.integers(8, 10))
    partners = draw(st.lists(st.sampled_from(["Ada", "Linus", "Grace"]), unique=True, max_size=2))
    return Catalogue(products, first, first + draw(st.integers(1, 2)), draw(st.booleans()), tuple(partners), draw(st.booleans()))


def short(all: Catalogue) -> tuple[dict[str, Any], dict[str, Any]]:
    """The organization with forEach, and its variables."""
    products = "${{ vars.products }}"
    versions: Any = f"${{{{ range({all.first}, {all.end}) }}}}" if all.ranged else all.versions
    space = "${{ each.parent.key }}-v${{ each.key }}"
    nodes = [
        {
            "forEach": versions,
            "section": "v${{ each.key }}",
            "title": "Version ${{ each.key }}",
            "path": "v${{ each.key }}",
            "spaces": [space],
        }
    ]
    flat = [{"forEach": versions, "space": space, "path": "v${{ each.value }}"}]
    organization = {
        "content": [
            BLANK,
            {
                "forEach": products, "collection": "${{ each.key }}", "title": "${{ each.value }} docs",
                "content": [{"forEach": versions, "space": space, "title": "${{ each.parent.value }} ${{ each.value }} docs"}],
            },
        ],
        "teams": {"${{ each.key }}-writers": {"forEach": products, "title": "${{ each.value }} writers ${{ each.index }}"}},
        "sites": {
            "${{ each.key }}-docs": {
                "forEach": products, "title": "${{ each.value }} site", "structure": nodes if all.sections else flat,
                "shareLinks": {"partner-${{ each.index }}": {"forEach": list(all.partners), "name": NAME}},
            }
        },
    }  # fmt: skip
    return organization, {"products": {"default": all.products, "type": "map"}}


def literal(all: Catalogue) -> dict[str, Any]:
    """The same, written out."""

    def nodes(key: str) -> Iterator[dict[str, Any]]:
        for version in all.versions:
            if all.sections:
                yield {"section": f"v{version}", "title": f"Version {version}", "path": f"v{version}", "spaces": [f"{key}-v{version}"]}
            else:
                yield {"space": f"{key}-v{version}", "path": f"v{version}"}

    def collection(key: str, title: str) -> dict[str, Any]:
        spaces = [{"space": f"{key}-v{version}", "title": f"{title} {version} docs"} for version in all.versions]
        return {"collection": key, "title": f"{title} docs", "content": spaces}

    def site(key: str, title: str) -> dict[str, Any]:
        links = {f"partner-{index}": {"name": f"{name} of {key}"} for index, name in enumerate(all.partners)}
        return {"title": f"{title} site", "structure": list(nodes(key)), "shareLinks": links}

    return {
        "content": [BLANK, *(collection(key, title) for key, title in all.products.items())],
        "teams": {f"{key}-writers": {"title": f"{title} writers {index}"} for index, (key, title) in enumerate(all.products.items())},
        "sites": {f"{key}-docs": site(key, title) for key, title in all.products.items()},
    }


def said(world: Laboratory) -> list[str]:
    """The plan, without places in the YAML."""
    return [re.sub(r"reconciler\.yaml:\d+", "reconciler.yaml", line) for line in told(world.plan())]


def state_of(world: Laboratory) -> list[str]:
    """Every row of the state, without what is its own; requests that are under way together end in any order, and
    get ids in that order."""
    assert isinstance(world.database, Sqlite)
    names = {id: address for address, id in world.tracked().items()}

    def named(line: str) -> str:
        line = NUMBERS.sub("VALUES(", OWN.sub("(own)", MADE.sub(lambda id: names.get(id[0], "(id)"), line)))
        return SERIAL.sub(r"\1(serial)", line)

    with closing(sqlite3.connect(world.database.file)) as connection:
        return sorted(map(named, connection.iterdump()))


@relation(catalogues(), catalogues(), quick=2)
def test_for_each_and_its_literal_twin_have_equal_plans_services_and_states(before: Catalogue, after: Catalogue) -> None:
    """Of a first apply and of a change; and the one in the place of the other plans nothing."""
    with laboratory(concurrency=1) as one, laboratory(concurrency=1) as other:
        for world in (one, other):
            numbers = count(0x5000)
            world.service.new_id = lambda prefix, numbers=numbers: f"{prefix}_{next(numbers):06x}"
        for all in (before, after):
            organization, variables = short(all)
            one.write_files({"reconciler.yaml": project({"acme": organization}, vars=variables)})
            other.write_files({"reconciler.yaml": project({"acme": literal(all)})})
            assert said(one) == said(other)
            one.converge(organization, vars=variables)
            other.converge(literal(all))
            assert differences(other.canonical(), one.canonical()) == []
            assert state_of(one) == state_of(other)
            one.write_files({"reconciler.yaml": project({"acme": literal(all)})})
            assert one.plan().empty


def staging(all: Catalogue) -> dict[str, Any]:
    """The file of an environment: a value of a variable, and patches of what forEach makes."""
    patches: list[dict[str, Any]] = [
        {"match": "acme/site/*", "set": {"visibility": "unlisted"}},
        {"match": "acme/space/*-v*", "set": {"emoji": "1f41b"}},
    ]
    if all.partners:
        patches.append({"match": "acme/site/*/share-link/partner-0", "remove": True})
    return {"vars": {"products": all.products}, "patch": patches}


@relation(catalogues(), catalogues(), CHANCE, quick=1)
def test_the_plan_of_an_environment_is_the_same_in_any_arrangement(before: Catalogue, after: Catalogue, chance: random.Random) -> None:
    """Keys, sections, files and patches in another order; the elements of a map stay in theirs, which is that of what is made of them."""
    with laboratory() as world:
        world.environment = "staging"
        for all in (before, after):
            (organization, _), environment = short(all), staging(all)
            main = project({"acme": organization}, vars={"products": {"type": "map"}})
            world.write_files({"reconciler.yaml": main, "environments/staging.yaml": environment})
            plan = told(world.plan())
            files = {**arranged(main, chance), "environments/staging.yaml": environment}
            rearranged = {**shuffled(environment, chance), "vars": environment["vars"]}
            chance.shuffle(rearranged["patch"])
            world.write_files({**files, "environments/staging.yaml": rearranged})
            assert told(world.plan()) == plan
            world.apply()
