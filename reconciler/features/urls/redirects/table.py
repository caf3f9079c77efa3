"""The CSV file that keeps the redirects of a site: what one run writes, the next one reads. Pure."""

from __future__ import annotations

import csv
import io

from reconciler.address import Address
from reconciler.features.urls.model.redirects import Redirect
from reconciler.features.urls.redirects.formats import COLUMNS
from reconciler.features.urls.redirects.required import canonical, ending


class TableProblem(ValueError):
    """What is wrong with a table, as the end of a sentence. `line`: counted from 1."""

    def __init__(self, line: int, wrong: str) -> None:
        super().__init__(wrong)
        self.line = line


def redirects_of(text: str, site: Address) -> tuple[Redirect, ...]:
    """The redirects of a table, sorted, those that people added included. Raises `TableProblem`."""
    redirects: dict[str, Redirect] = {}
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        for number, row in enumerate(reader):
            if number == 0 or not row:
                continue
            redirect = _redirect(row, site, reader.line_num)
            if redirect.source in redirects:
                raise TableProblem(reader.line_num, f"{redirect.source} is in it twice")
            redirects[redirect.source] = redirect
    except csv.Error as error:
        raise TableProblem(reader.line_num, f"it is not CSV: {error}") from None
    return tuple(redirects[source] for source in sorted(redirects))


def _redirect(row: list[str], site: Address, line: int) -> Redirect:
    if len(row) not in (3, 4):
        raise TableProblem(line, f"it has {len(row)} columns, not {len(COLUMNS)}: {', '.join(COLUMNS)}")
    source, target, status = canonical(row[0].strip()), canonical(row[1].strip()), row[2].strip()
    by = row[3].strip() if len(row) == len(COLUMNS) else ""
    if source is None:
        raise TableProblem(line, f"{row[0]!r} is not a whole URL, https://…")
    if "#" in row[0]:
        raise TableProblem(line, f"{row[0]!r} has an anchor, which no browser sends to a server; write it without #…")
    source += ending(row[0].strip())
    if status == "410" and not row[1].strip():
        return Redirect(site, source, None, by)
    if status != "301" or target is None:
        raise TableProblem(line, "write a whole URL and 301 for a redirect, or no URL and 410 for a page that ended")
    return Redirect(site, source, target + ending(row[1].strip()), by)
