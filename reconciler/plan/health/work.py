"""How the service processes objects: whether it has finished, whether it failed, whether the result is older than its source. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reconciler.model import Concern, Observed, Sort
from reconciler.plan.health.given import HealthInputs, at, moment
from reconciler.resource import Kind, ProcessingField

LONG: Final = timedelta(hours=1)  # unfinished work that is older than this is not expected to finish


def work(given: HealthInputs) -> Iterator[Concern | str]:
    """A concern for each object for which the service failed or whose result is outdated; a sentence where that is unknown, or work
    continues."""
    for kind, observed in given.objects():
        if kind.work is not None:
            yield from _state(given, kind, kind.work, observed)
            yield from _behind(given, kind, kind.work, observed)


def _state(given: HealthInputs, kind: Kind, word: ProcessingField, observed: Observed) -> Iterator[Concern | str]:
    state, since = at(observed.raw, word.state), moment(at(observed.raw, word.changed_at))
    error = at(observed.raw, word.error) if word.error else None
    if error:
        yield given.concern(Sort.PROCESSING, kind, observed, f"the service could not process it: {error}")
    elif not isinstance(state, str):
        yield f"the service does not say whether it has processed {given.called((kind.name, observed.id))}"
    elif state in word.done:
        return
    elif since is not None and given.now - since > LONG:
        sentence = f"the service has not finished it since {since:%Y-%m-%d %H:%M} UTC: it is {state}"
        yield given.concern(Sort.PROCESSING, kind, observed, sentence)
    else:
        yield f"the service is still working on {given.called((kind.name, observed.id))}: it is {state}"


def _behind(given: HealthInputs, kind: Kind, word: ProcessingField, observed: Observed) -> Iterator[Concern | str]:
    for field in kind.service_copies:
        to, original = str(field.to), observed.values.get(str(field.copies))
        if not isinstance(original, str) or not isinstance(observed.values.get(field.name), str):
            continue  # it has no result yet; its own state is reported
        source = given.actual.find(to, original)
        changed = moment(at(source.raw, word.changed_at)) if source is not None else None
        worked = moment(at(observed.raw, word.changed_at))
        called = given.called((kind.name, observed.id))
        if changed is None or worked is None:
            yield f"nobody knows whether {called} is behind: the service does not say when it, or what it copies, changed"
        elif changed > worked:
            times = f"{changed:%Y-%m-%d %H:%M}, after its last run at {worked:%Y-%m-%d %H:%M} UTC"
            yield given.concern(Sort.BEHIND, kind, observed, f"what it copies, {given.called((to, original))}, changed at {times}")
