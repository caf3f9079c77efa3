# %% [markdown]
# # A plan, looked at before it is applied
# Editors show the cells of this script as a notebook; `python notebook.py` runs it as well.

# %%
from __future__ import annotations

import asyncio
from pathlib import Path

import reconciler

PROJECT = Path(__file__).parents[1] / "acme"


async def notebook() -> None:
    """A notebook runs its cells in an event loop, as this does."""
    project = reconciler.open(PROJECT, sandbox=":memory:")

    # %% In a notebook, a plan at the end of a cell is shown as a page.
    plan = project.plan()
    print(f"{len(plan.changes)} changes, {len(plan.exposures)} exposures, about {plan.forecast.seconds:.0f} s")

    # %% Whatever opens something stops here, until somebody has read it.
    if not plan.refusals:
        outcome = project.apply(plan)
        print(outcome)

    # %%
    review = project.access(reader="anyone")
    print(sum(bool(row.before) for row in review.model.rows), "objects are public")
    project.close()


if __name__ == "__main__":
    asyncio.run(notebook())
