"""What the twin says of readers is what the planner's model says, in random organizations: two implementations that share no code."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from reconciler.features.access.verdicts import AskedWorld, Sees
from reconciler.model import NamedReader, ReaderSort
from reconciler.plan.audience.readers import Audiences
from reconciler.resource.risks import ROLES
from reconciler.sandbox.sites.named import key_of, read_by
from reconciler.sandbox.sites.readers import Reader
from tests.audience.moments import Watched
from tests.harness import kinds
from tests.organizations import CONDITIONS, with_readers
from tests.proofs import costly, spread

CLAIMS = [{}, {"staff": True}, {"partner": True}, {"staff": True, "partner": True}]


@costly
@pytest.mark.sampled
@pytest.mark.parametrize("seed", spread(range(200), 6))
def test_the_twin_and_the_model_agree_on_every_reader_of_every_object(tmp_path: Path, seed: int) -> None:
    org = Watched(tmp_path)
    org.write(with_readers(random.Random(seed)))
    org.begin()
    org.apply()
    look, store = _look(org), org.app.state.service.store
    assert CONDITIONS
    readers = [(NamedReader(ReaderSort.ANYONE), None), (NamedReader(ReaderSort.AGENT), None)]
    readers += [(NamedReader(ReaderSort.CLAIMS, claims=claims), None) for claims in CLAIMS]
    readers += [(NamedReader(ReaderSort.ROLE, role=role), role) for role in ROLES]
    readers += [(NamedReader(ReaderSort.LINK, link=at), None) for at in look.ids if at.kind == "share-link"]
    asked = 0
    for reader, role in readers:
        seen = {informed: read_by(store, _reader(org, look, reader, informed), role) for informed in (False, True)}
        for address, id in look.ids.items():
            kind = kinds().of(address)
            if kind.audience is None:
                continue
            verdict = look.verdict(reader, (kind.name, id)).sees
            # What the model cannot decide, a test counts as not seen for `sees` and as seen for `mustNotSee`.
            if verdict is not Sees.UNDECIDED:
                asked += 1
                for informed, objects in seen.items():
                    assert ((kind.name, id) in objects) is (verdict is Sees.YES), f"{reader}, {address}, informed={informed}"
    assert asked > 100


def _look(org: Watched) -> AskedWorld:
    """The model of the organization as it is."""
    import asyncio

    from reconciler.observe.everything import read_all

    async def read() -> Audiences:
        async with org.client() as client:
            actual = await read_all(client, kinds(), ["org_acme"])
            return Audiences(kinds(), actual.objects, complete=actual.complete)

    return AskedWorld(asyncio.run(read()), {address: binding.id for address, binding in org.remembered().bindings.items()})


def _reader(org: Watched, look: AskedWorld, reader: NamedReader, informed: bool) -> Reader:
    match reader.sort:
        case ReaderSort.LINK:
            assert reader.link is not None
            return Reader(address=True, shareKey=key_of(org.app.state.service.store, look.ids[reader.link]))
        case ReaderSort.CLAIMS:
            return Reader(claims=dict(reader.claims))
        case ReaderSort.AGENT:
            return Reader(agent=True)
        case _:
            return Reader(address=informed)
