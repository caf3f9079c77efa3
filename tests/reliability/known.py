"""What was found and is not mended yet: a seed, the case where one shows it, and what is wrong. A line goes when its seed is clean.

`python -m tests.reliability --seed SEED` runs the whole seed, with `--case` one case of it.
"""

from __future__ import annotations

from typing import Final

FAILING: Final = (
    ("races:tiny-changed:0@postgres", None, "stood still between intent and request until its lease was over: it sends all the same"),
    (
        "kill:acme:0@sqlite",
        "352 after PATCH /v1/orgs/org_acme/openapi/repositories, under way: late (6)",
        "copies of two sources whose pages are alike, on their way at once: each group finds the copies of both, and all stay in doubt",
    ),
    ("kill:tiny:0@sqlite", None, "a move that takes effect late, after the next run planned the same afresh, undoes the order it made"),
)  # fmt: skip
SHORT_RUN: Final = {"races-tiny-changed-0-postgres": FAILING[0][2]}  # of the jobs of the short proof
