"""The keys of `policies` and `exceptions`, and the names that their expressions can use, each with what it means. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from reconciler.config.keys import POLICIES, PROJECT
from reconciler.config.source.nodes import List, Map, plain
from reconciler.config.source.reader import read

KEEP: Final = "keep"
"""The action of a declared resource that does not change."""

ACTIONS: Final = ("create", "update", "move", "replace", "delete", "adopt", "rename", "forget", "restore", "transfer", KEEP)
"""The actions of plans (repeated here, because the language must not import the plan), and `keep`."""

GONE: Final = frozenset({"delete", "forget"})
"""The actions after which a resource is no longer managed: only policies that name one in `when` check it."""

EVERYWHERE: Final = frozenset({"env", "vars", "today", "json", "range", "count", "days", "until", "expires"})
OF_A_RESOURCE: Final = frozenset({"address", "kind", "after", "before", "action", "actions", "actor", "others", "inside"})
OF_THE_PLAN: Final = frozenset({"before", "action", "actions", "actor", "count", "inside"})
"""What only a plan knows: `validate` does not evaluate a policy that uses one of these."""

OF_OTHERS: Final = frozenset({"count", "inside", "others"})
"""What looks at more than the resource."""


TABLES: Final = {key.name: {inner.name: inner.doc for inner in key.keys} for key in PROJECT if key.name in POLICIES}
SECTIONS: Final = {key.name: key.doc for key in PROJECT if key.name in POLICIES}

NAMES: Final[Mapping[str, str]] = {
    "after": "the fields that the resource has after the run; in validate, those that are written",
    "before": "the fields that it has now; none if it does not exist",
    "action": "what happens to it: create, update, move, replace, delete, adopt, rename, forget, restore, transfer or keep",
    "actions": "all of these as a list, if several happen",
    "address": "its address",
    "kind": "its kind",
    "actor": "the permissions of the token on it, as the service shows them; on what contains it, if it shows none",
    "env.name": "the name of the environment; none without environments",
    "vars": "the variables of the project, without those from the environment",
    "today": "the day of the run in UTC: YYYY-MM-DD",
    "others(FIELD)": "how many other resources of its kind, in the same list or map, have the same value of a field",
    "inside(KIND)": "how many objects of a kind it contains after the run, unmanaged ones included",
    "inside(KIND, FIELD, VALUE)": "how many of them have a value of a field",
    "count(ACTION)": "how many resources an action happens to in the plan",
    "count(ACTION, KIND)": "how many of a kind",
    "until(TEXT)": 'the day behind the word "until" in a text; none if there is none',
    "days(DAY)": "how many days from today to a day; below zero if it is over",
    "expires(CERTIFICATE)": "the day on which a certificate expires",
}
"""What expressions can use, besides `json` and `range`."""

EXAMPLES: Final[Mapping[str, str]] = {
    "policies": """\
policies:
  - id: nothing-public-in-staging
    on: [site]
    assert: ${{ env.name != "staging" or after.visibility != "public" }}
    message: a site in staging must not be public
""",
    "use": """\
use: [two-admins, {policy: titles-unique, level: warning}]
""",
    "exceptions": """\
exceptions:
  - {policy: two-admins, address: acme, until: 2027-01-31, reason: the second admin starts in January}
""",
}


# -- ready policies -----------------------------------------------------------------------------------------------------------------------

FILE = "ready.yaml"


@lru_cache(maxsize=1)
def text() -> bytes:
    """Their file."""
    return Path(__file__).with_name(FILE).read_bytes()


def ready() -> dict[str, Map]:
    """The ready policies by id, each a node of its own."""
    document = read(text(), FILE).data
    assert isinstance(document, List)
    return {plain(node)["id"]: node for node in document.items if isinstance(node, Map)}
