"""The keys of the project file in the configuration reference, from the table that also reads and checks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from reconciler.config.key import Key
from reconciler.config.keys import EVERYWHERE, PROJECT
from reconciler.kinds import load

PAGE: Final = Path(__file__).parent / "reference" / "configuration.md"
# The page is written by hand, except for what is between these lines.
BEGIN: Final = "<!-- Generated from reconciler/config/keys.py by `python -m docs.generate`. -->\n"
ENTRY: Final = "[]."  # between a list and the keys of its entries, in the name of a key
END: Final = "<!-- End of what is generated. -->\n"


def page() -> str:
    """The configuration reference with the present keys."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def table() -> str:
    """A row for each key that has a value."""
    roots = [
        f"| `{root.place.section_in(None)}` | The resources. See [Resource reference](#resource-reference). | |" for root in load().roots
    ]
    rows = [row for key in PROJECT for row in _rows(key)] + roots + [row for key in EVERYWHERE for row in _rows(key)]
    return "\n".join(["| key | meaning | default |", "|---|---|---|", *rows, "| `x-…` | Ignored: use it for YAML anchors. | |", ""])


def _rows(key: Key) -> Iterator[str]:
    leaves = list(key.leaves())
    for name, leaf in leaves:
        if ENTRY in name:
            continue
        entry = [(inner.removeprefix(name + ENTRY), other.required) for inner, other in leaves if inner.startswith(name + ENTRY)]
        texts = [leaf.doc, _options(leaf), leaf.more, _keys(entry)]
        yield f"| `{name}` | {' '.join(text for text in texts if text)} | {_default(leaf)} |".replace("|  |", "| |")


def _keys(entry: Sequence[tuple[str, bool]]) -> str:
    """The keys of an entry of a list, which the page of their feature describes; required ones in bold."""
    names = [f"**`{name}`**" if required else f"`{name}`" for name, required in entry]
    return f"An entry has {', '.join(names)}." if names else ""


def _options(key: Key) -> str:
    """The values of a choice, unless its text lists them."""
    return "" if not key.options or all(option in key.doc + key.more for option in key.options) else f"One of {', '.join(key.options)}."


def _default(key: Key) -> str:
    if key.default is None:
        return "required" if key.required else ""
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    return f"{key.default:g}" if isinstance(key.default, int | float) else f"`{key.default}`"
