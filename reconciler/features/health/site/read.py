"""The pages of one site and what people have begun in them: what its page of `health` needs beside the checks. Only GET."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reconciler.address import Address
from reconciler.client.service import Reader
from reconciler.features.health.plan import HealthInputs
from reconciler.features.urls.plan.changes import Trees
from reconciler.features.urls.read.pages import KeptTrees, read_trees
from reconciler.features.work.model import WorkSort
from reconciler.features.work.read import counted_work
from reconciler.plan.containment import Key


async def site_pages(reader: Reader, inputs: HealthInputs, spaces: Collection[Key], kept: KeptTrees) -> Trees:
    """The pages of these objects, and why some are not known. One request for each whose revision the state does not have."""
    return await read_trees(reader, inputs.kinds, inputs.actual, [key for key in spaces if inputs.actual.find(*key) is not None], kept)


async def site_work(reader: Reader, inputs: HealthInputs, spaces: Collection[Key]) -> Mapping[Address, tuple[WorkSort, ...]]:
    """What people have begun in each of these objects, where they have. One request for each sort of which an object counts some."""
    objects = [(inputs.kinds[key[0]], observed) for key in spaces if (observed := inputs.actual.find(*key)) is not None]
    answers = await counted_work(reader, objects)
    return {inputs.called(key): begun for key in spaces if (begun := tuple(sort for sort in answers.get(key, ()) if sort.number != 0))}
