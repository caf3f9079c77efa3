"""Write the pages of the reference that are generated from the code and committed: `python -m docs.generate`.

A test compares, so no page can lag behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from docs import commands, documents, fields, interface, options, problems, seed, settings, test_files
from reconciler.exits import MEANINGS, PRECEDENCE
from reconciler.report.style import PRODUCT

REFERENCE: Final = Path(__file__).parent / "reference"
# The sandbox imports nothing of the program, and its pages look like the program's.
COPY: Final = Path(__file__).parents[1] / "reconciler" / "sandbox" / "pages" / "templates" / "product.css"


def exit_codes() -> str:
    """Every exit code, and which one wins."""
    rows = "\n".join(f"| {code} | {meaning} |" for code, meaning in sorted(MEANINGS.items()))
    order = ", ".join(map(str, PRECEDENCE))
    return f"""\
# Exit codes

| code | meaning |
|---|---|
{rows}

If several apply, the first of these is used: {order}. If something is blocked, `plan` exits with 4 or 5 as `apply`
would. `fmt --check` exits with 1 if a file would change, and `doctor` if there is a problem.

[CI pipelines](../pipelines.md#exit-codes) shows what each code means for a job. Exit codes are attributes of
[the errors](../../reconciler/errors.py).
"""


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "configuration.md": settings.page,
    "fields.md": fields.page,
    "options.md": options.page,
    "exit-codes.md": exit_codes,
    "problems.md": problems.page,
    "seed.md": seed.page,
    "../python.md": interface.page,
}
SITE: Final[Mapping[str, Callable[[], str]]] = {
    "reference/commands.md": commands.page,
    "reference/documents.md": documents.page,
    "reference/causes.md": problems.all_causes,
    "reference/fields-of-kinds.md": fields.all_fields,
    "reference/seed-fields.md": seed.all_fields,
    "reference/tests.md": test_files.page,
}
"""Pages of the site alone, below docs/: what they say is also in the help texts, in the schemas that `reconciler schema` prints, in the
pages of causes and in the code. What is committed of them is a listing."""


if __name__ == "__main__":
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")
    COPY.write_bytes(PRODUCT.read_bytes())
