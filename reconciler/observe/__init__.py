"""Reading: the fewest requests that show what the plan needs. Only GET; what could not be read is reported, never guessed.

In: Desired and State (what is declared and tracked). Out: Actual. Readings are sent in waves: whatever can be read with the ids known so
far is read at once, then objects are matched, which makes more ids known. What would count as deleted is read a second time.

- `choose`: which readings to send
- `readings`: sending them; whether the base URL is that of the service
- `missing`: the second reading of what is missing
- `readers`: who can read what a plan opens, where it needs that
- `candidates`: where a created object would be shown
- `everything`: one organization completely, for import
"""

from __future__ import annotations

import asyncio

from reconciler.address import Address
from reconciler.client import Reader
from reconciler.model import Actual, Desired, State
from reconciler.observe.choose import Survey as Survey
from reconciler.observe.missing import look_again
from reconciler.observe.readers import planned as planned
from reconciler.observe.readings import look_for_roots
from reconciler.resource import Kinds


async def observe(reader: Reader, kinds: Kinds, desired: Desired, state: State, *, everything: bool = False) -> Actual:
    """Read what the declared and the tracked resources need; with `everything`, all lists below the declared roots.

    Raises `ServiceError` where the service refuses the token, where none of the roots can be read, or where it is another service.
    """
    survey = Survey(reader, kinds, desired, state, everything=everything)
    looked: set[Address] = set()
    while True:
        while tasks := survey.next_wave():
            await asyncio.gather(*tasks)

            survey.fail_early()
            await look_for_roots(survey)
        survey.doubt_contradicted()
        again = {address: binding for address, binding in survey.suspects().items() if address not in looked}
        if not again:
            return survey.actual()

        await look_again(survey, again)
        survey.fail_early()
        looked |= set(again)
