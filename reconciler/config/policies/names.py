"""The names and functions that the expressions of policies can use, and which of them only a plan knows. Pure data."""

from __future__ import annotations

from typing import Final

KEEP: Final = "keep"
"""The action of a declared resource that does not change."""

ACTIONS: Final = ("create", "update", "move", "replace", "delete", "adopt", "forget", "restore", "transfer", KEEP)
"""The actions of plans (repeated here, because the language must not import the plan), and `keep`."""

GONE: Final = frozenset({"delete", "forget"})
"""The actions after which a resource is no longer managed: only policies that name one in `when` check it."""

EVERYWHERE: Final = frozenset({"env", "vars", "today", "json", "range", "count", "days", "until", "expires"})
OF_A_RESOURCE: Final = frozenset({"address", "kind", "after", "before", "action", "actions", "actor", "others", "inside"})
OF_THE_PLAN: Final = frozenset({"before", "action", "actions", "actor", "count", "inside"})
"""What only a plan knows: `validate` does not evaluate a policy that uses one of these."""
