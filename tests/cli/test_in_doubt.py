"""What cannot be decided by reading is decided by hand: `adopt` and `state forget --in-doubt`, both journalled."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli, initialised, prepared

RULE = '{"fault": "truncated", "operation": "PUT /orgs/*/teams", "times": 1}'


@pytest.fixture
def doubtful(cli: Cli) -> Cli:
    """A project whose team was made, twice by the look of it, and whose answer was lost."""
    return with_a_lost_answer(cli)


@prepared
def with_a_lost_answer(cli: Cli) -> Cli:
    initialised(cli)("plan", "p")
    assert cli("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", RULE).exit_code == 0
    assert cli("apply", "p", "--yes").exit_code == 5
    cli("api", "PUT", "/orgs/org_acme/teams", "-f", "title=Writers", "--project", "p")
    result = cli("apply", "p", "--yes")
    assert result.exit_code == 4
    assert "acme/team/writers: still in doubt" in result.stderr
    return cli


def ids(cli: Cli) -> list[str]:
    return cli("api", "GET", "/orgs/org_acme/teams", "--project", "p", "--jq", ".items[].id").stdout.split()


def test_an_object_that_is_named_settles_it(doubtful: Cli) -> None:
    mine, other = ids(doubtful)
    assert doubtful("adopt", "acme/team/writers", mine, "p").stdout == f"acme/team/writers now tracks {mine}.\n"
    assert doubtful("plan", "p", "--detailed-exitcode").exit_code == 0
    assert doubtful("state", "forget", "acme/team/writers", "p", "--in-doubt").exit_code == 3
    assert other in ids(doubtful)


def test_a_request_declared_as_not_done_is_planned_again(doubtful: Cli) -> None:
    result = doubtful("state", "forget", "acme/team/writers", "p", "--in-doubt")
    assert result.stdout == "acme/team/writers is no longer in doubt.\n"
    blocked = doubtful("plan", "p")
    assert "2 objects match" in blocked.stdout
