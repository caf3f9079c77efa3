"""No row of the reference is without its test: the rows are kept here once more, and a test's name is its row's words."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from tests.sandbox.reference import test_errors, test_limits, test_silent, test_silent_answers, test_states

ROWS: dict[ModuleType, list[str]] = {
    test_states: [
        "space, active: DELETE space sets deletedAt",
        "space, deleted: POST restore within 7 days makes it active",
        "space, deleted: time, 7 days after deletion, permanently removed",
        "space, editMode: PATCH space sets live or locked, and locked blocks all edits",
        "change request, any: PATCH change request sets the given status",
        "change request, open content: POST merge makes it merged",
        "change request, outdated: POST update makes it up to date",
        "comment, any: PUT comment makes it resolved or unresolved",
        "site, any: POST publish sets published",
        "share link, any: PATCH share link makes it active or inactive",
        "translation, any: POST run triggers a run and returns no content",
    ],
    test_limits: [
        "limit page size, all paginated lists: max 1000",
        "title, collection and space: max 50 chars",
        "description, collection: max 100 chars",
        "emoji, space: max 50 chars",
        "subject, change request: max 100 chars",
        "organization title: 2 to 255 chars",
        "organization hostname: 3 to 32 chars",
        "logo URI, organization update: max 2048 chars",
        "team title, team create and update: 1 to 64 chars",
        "share link name: max 50 chars",
        "search query, organization search: required, max 512 chars",
        "icon name, issues cluster: max 50 chars",
        "weekly pulse, issues cluster: exactly 13 numbers",
        "deleted space retention, space restore: 7 days",
        "default list status, change request lists: open",
        "nested default, collections list: true",
    ],
    test_errors: [
        "1 deleting a resource that does not exist answers 204 with no content",
        "2 400 for invalid input, invalid move positions and visibility updates",
        "3 404 when nothing matches",
        "4 adaptive schema endpoints document an unexpected error",
        "5 error body shape: not shown",
        "6 statuses of authentication, permission, validation and conflicts: not shown",
    ],
    test_silent: [
        "copy: lands beside its source, after the siblings",
        "copy: titled Copy of, cut to 50",
        "copy: with new ids, createdAt now, the content copied",
        "deleted space: GET answers 200 with deletedAt for 7 days, then 404",
        "deleted space: lists leave it out",
        "deleted space: its site spaces stay until it is purged",
        "a restored space is in its collection, or at the root if that was deleted",
        "deleting a collection deletes the spaces and collections in it, softly for spaces",
        "deleting a section deletes its site spaces",
        "deleting a group leaves its sections at the root",
        "deleting the default section makes the first remaining one the default",
        "deleting the default site space makes the first remaining one the default",
        "deleting the last is allowed",
        "first section on a site with root site spaces: they become variants of it in their order",
        "deleting the last section brings its site spaces back to the root",
        "group membership: joining while in another group answers 400, leave first",
        "groups nest through parent",
        "a moved group goes before or after the named section or group of its level, else to the end",
        "paths come from titles, unique per level with 2, 3",
        "a PATCH to a path that is taken on its level answers 400",
        "a site may contain a space more than once, also in one section",
    ],
    test_silent_answers: [
        "order: position order, new siblings at the end",
        "order: collections and spaces share one order, of which a list shows the spaces, not recursive",
        "order: members, teams, sites, share links newest first",
        "proxy: origin is the whole string, target the published address",
        "site creation with spaces makes one site space each at the root",
        "site creation without a title is Untitled, collections likewise",
        "limits are enforced with 400 that names the field",
        "limits: unknown body fields are ignored, wrong types answer 400",
        "limits: 401 without or with an unknown token, 403 for a write with a read token",
        "limits: 404 for what another organization owns",
        "OpenAPI processing goes pending, progress, complete by the clock",
        "OpenAPI processing ends with FETCH_ERROR unless the URL is a fixture or a file was given",
        "one clock: date, createdAt, updatedAt, deletedAt, purge, processing and rate limits",
    ],
}


def named(row: str) -> str:
    """The name of a row's test."""
    return "test_" + re.sub(r"[^a-z0-9]+", "_", row.lower()).strip("_")


EACH = [pytest.param(module, row, id=row) for module, rows in ROWS.items() for row in rows]


@pytest.mark.parametrize(("module", "row"), EACH)
def test_every_row_has_a_test_named_after_it(module: ModuleType, row: str) -> None:
    test = getattr(module, named(row), None)
    assert callable(test), f"{module.__name__} has no {named(row)}"
    assert test.__doc__, f"{named(row)} does not quote its row"


@pytest.mark.parametrize("module", [pytest.param(module, id=module.__name__.rpartition(".")[2]) for module in ROWS])
def test_a_file_begins_with_its_rows_in_their_order(module: ModuleType) -> None:
    _, _, table = (module.__doc__ or "").partition("\n\n")
    assert table.strip().splitlines() == ROWS[module]
