"""All of them, by what they are about and a name."""

from __future__ import annotations

from pathlib import Path

from tests.wrong_uses import environments, for_each, places, rules, transfers, values
from tests.wrong_uses.use import Use

USES: dict[str, Use] = {
    f"{about}: {name}": use
    for about, uses in (
        ("environments", environments.USES),
        ("forEach and files", for_each.USES),
        ("values", values.USES),
        ("rules", rules.USES),
        ("transfers", transfers.USES),
        ("places", places.USES),
    )
    for name, use in uses.items()
}
SAID = Path(__file__).with_name("said.txt")


def line(name: str, use: Use, folder: Path) -> str:
    """The name of a use, and what is said of it."""
    use.write(folder)
    mark = " *" if use.marked(folder) else ""
    return "\n    ".join([f"{name}{mark}", *use.said(folder)])
