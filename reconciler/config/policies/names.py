"""What the expressions of policies can use: the names, the functions, and which of them only a plan knows. Pure data."""

from __future__ import annotations

from typing import Final

KEEP: Final = "keep"
"""The action of a declared resource that stays as it is."""

ACTIONS: Final = ("create", "update", "move", "replace", "delete", "adopt", "forget", "restore", "transfer", KEEP)
"""Those of plans (not taken from there: what describes the language knows no plan), and `keep`."""

GONE: Final = frozenset({"delete", "forget"})
"""The actions after which a resource is no longer managed: only a policy that names one in `when` is about them."""

EVERYWHERE: Final = frozenset({"env", "vars", "today", "json", "range", "count", "days", "until", "expires"})
OF_A_RESOURCE: Final = frozenset({"address", "kind", "after", "before", "action", "actions", "actor", "others", "inside"})
OF_THE_PLAN: Final = frozenset({"before", "action", "actions", "actor", "count", "inside"})
"""What only a plan knows: `validate` does not evaluate a policy that uses one of these."""
