"""The checks of `doctor` at the service: the token, its reach and permissions, the rate limit, the clock. Only GET."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconciler.address import Address, bare
from reconciler.client import encode
from reconciler.client.service import Reader
from reconciler.config import Project
from reconciler.config.keys import MEMBER
from reconciler.errors import NotFound, Rejected, ServiceError
from reconciler.features.doctor.local import problem
from reconciler.features.doctor.people import review_readings
from reconciler.model import Actual, Declared, State
from reconciler.observe import observe
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.warnings.limits import limits_around
from reconciler.report.findings import Check
from reconciler.report.words import Level, count, listed
from reconciler.resource import Kinds, placeholders

SKEW_MAX: Final = 30.0  # seconds
SCARCE: Final = 0.2  # of a quota
SHOWN: Final = 3  # names in a sentence


async def examine(reader: Reader, kinds: Kinds, project: Project | None, state: State) -> list[Check]:
    """All checks that are possible; those that would repeat a failure are left out."""
    findings, reachable = await _token(reader, kinds)
    if reachable is not None and project is not None:
        findings += await _reach(reader, kinds, project, state, reachable)
    if reachable is None and reader.skew is None:
        return findings  # no answer
    return [*findings, *_pace(reader), *_clock(reader)]


async def _token(reader: Reader, kinds: Kinds) -> tuple[list[Check], Mapping[str, str] | None]:
    """Whether the service accepts the token, and the titles of the visible roots by id; None if further requests are useless."""
    organizations: dict[str, str] = {}
    for path in (kind.by_id.path for kind in kinds.roots if kind.by_id is not None):
        try:
            pages = await reader.list(path.rpartition("/")[0])
        except Rejected as error:
            if error.id == "RC-token-refused":
                return [problem("token", error)], None
            return [
                Check(
                    "token",
                    Level.WARNING,
                    f"accepted, but its organizations cannot be listed: {error.message}",
                    error.hint or "",
                    id=error.id,
                )
            ], {}
        except NotFound:
            return [Check("token", Level.SKIPPED, f"not checked: the service answered 404 to GET /v1{path.rpartition('/')[0]}")], {}
        except ServiceError as error:
            remedy = error.hint or "Check the URL, the network, the proxy (HTTPS_PROXY) and whether the service is running; then try again."
            return [Check("service", Level.PROBLEM, error.message, remedy, id=error.id)], None
        organizations |= {str(item.get("id")): str(item.get("title", "")) for item in pages.items}
    if not organizations:
        return [
            Check(
                "token",
                Level.WARNING,
                "accepted, but it has access to no organization",
                "Add its owner to the organizations that the project declares.",
                id="RC-organization-not-found",
            )
        ], organizations
    names = [f"{id} {title!r}" for id, title in sorted(organizations.items())]
    return [Check("token", Level.OK, f"accepted; it has access to {listed(names, SHOWN)}")], organizations


# -- reach ----------------------------------------------------------------------------------------------------------------------------


async def _reach(reader: Reader, kinds: Kinds, project: Project, state: State, reachable: Mapping[str, str]) -> list[Check]:
    desired = project.desired
    try:
        actual = await observe(reader, kinds, desired, state)
    except ServiceError as error:
        return [problem("reach", error)]
    matches = identify(kinds, desired, state, actual)
    findings = [
        _root(kinds, resource, matches.former.state, actual, matches, reachable)
        for resource in desired.resources.values()
        if resource.address.container is None
    ]
    if any(finding.level is Level.PROBLEM for finding in findings):
        return findings
    for (kind, reason), scopes in _unread(actual).items():
        text = f"{kind}: {reason}" + (f" (and {scopes - 1} more like it)" if scopes > 1 else "")
        findings.append(
            Check(
                "reach",
                Level.WARNING,
                text,
                "What cannot be read is not changed or deleted; the rest is. Grant the owner of the token that permission.",
                id="RC-not-permitted",
            )
        )
    if not actual.unknown:
        seen = sum(len(objects) for objects in actual.objects.values())
        findings.append(
            Check(
                "reach",
                Level.OK,
                f"everything that the project needs can be read: {count(seen, 'object')}, {count(reader.requests, 'request')}",
            )
        )
    findings += _limits(kinds, project, actual, matches)
    findings += [*await _lister(reader, kinds, project, actual, matches), *_permissions(kinds, project, actual, matches)]
    return [*findings, *await review_readings(reader, kinds, actual, matches)]


def _root(kinds: Kinds, root: Declared, state: State, actual: Actual, matches: Matches, reachable: Mapping[str, str]) -> Check:
    """Whether a root can be read, and is the tracked one."""
    bound = state.bindings.get(root.address)
    where = root.source.file_and_line
    if bound is not None and root.id is not None and bound.id != root.id:
        text = f"{root.address} tracks {bound.id}, but the YAML says {root.id} ({where})"
        return Check(
            "reach",
            Level.PROBLEM,
            text,
            f"Write id: {bare(bound.id)}, or stop managing it: reconciler state forget {root.address:sh}",
            id="RC-another-id-declared",
        )
    id = matches.ids.get(root.address)
    seen = actual.find(root.kind, id) if id is not None else None
    if seen is None:
        others = listed([f"{id} {title!r}" for id, title in sorted(reachable.items())], SHOWN)
        remedy = f"It has access to {others}: correct id: at {where}." if others else "Ask somebody there to add the owner of the token."
        return Check(
            "reach",
            Level.PROBLEM,
            f"{root.address}: {root.id} does not exist, or the token has no access to it",
            remedy,
            id="RC-no-such-object",
        )
    return Check("reach", Level.OK, f"{root.address} is {seen.id} {str(seen.raw.get('title', ''))!r}")


def _unread(actual: Actual) -> dict[tuple[str, str], int]:
    """How many reads of a kind failed for the same reason."""
    failures: dict[tuple[str, str], int] = defaultdict(int)
    for unknown in actual.unknown:
        failures[(unknown.kind, unknown.reason)] += 1
    return failures


async def _lister(reader: Reader, kinds: Kinds, project: Project, actual: Actual, matches: Matches) -> list[Check]:
    """Whether the owner of the token is in the project's root, and sees everything that the reads of others showed."""
    wanted = [(kind, kind.lister_listing) for kind in kinds.values() if kind.lister_listing is not None]
    lister = project.desired.lister
    if not wanted or not project.desired.resources:
        return []
    if lister is None:
        text = "service.member is not set: new objects at the top level cannot be told from existing ones"
        return [
            Check(
                MEMBER,
                Level.WARNING,
                text,
                "Set service.member to the e-mail of the member who owns the token.",
                id="RC-member-not-named",
            )
        ]
    id, container = matches.ids.get(lister), lister.container
    if id is None or container is None or container not in matches.ids:
        return [
            Check(
                MEMBER,
                Level.PROBLEM,
                f"service.member {lister.key} is not a member of {container}",
                "Use the e-mail of the token's owner.",
                id="RC-not-a-member",
            )
        ]
    findings = []
    holes = {kinds.of(container).name: matches.ids[container], "lister": bare(id)}
    for kind, reading in wanted:
        path = encode(reading.path, {name: holes[name] for name in placeholders(reading.path)})
        try:
            pages = await reader.list(path, key=reading.id)
        except ServiceError as error:
            findings.append(problem(MEMBER, error))
            continue
        reached = {reading.id(item) for item in pages.items}
        outer = kind.within or ""
        missed = [observed for observed in actual.objects[kind.name].values() if observed.id not in reached and observed.deleted_at is None]
        missed = [observed for observed in missed if observed.within.get(outer) == holes.get(outer)]
        if missed:
            names = listed([f"{observed.id} {str(observed.raw.get('title', ''))!r}" for observed in missed], SHOWN)
            text = f"{lister.key} has no access to {count(len(missed), kind.name)}: {names}"
            findings.append(
                Check(
                    MEMBER,
                    Level.WARNING,
                    text,
                    "Use the token of an admin, and name that member in service.member.",
                    id="RC-not-permitted",
                )
            )
        else:
            findings.append(Check(MEMBER, Level.OK, f"{lister.key} is {bare(id)} and has access to {count(len(reached), kind.name)}"))
    return findings


# -- payments -------------------------------------------------------------------------------------------------------------------------


def _limits(kinds: Kinds, project: Project, actual: Actual, matches: Matches) -> Iterator[Check]:
    """What the service shows of payments, because of which it may refuse requests."""
    managed = [address for address, declared in project.desired.resources.items() if not declared.implied]
    for sentence in limits_around(kinds, actual, managed, matches.ids):
        yield Check(
            "payments",
            Level.WARNING,
            f"{sentence}: the service may refuse requests about it (402 or 403)",
            "Settle it with whoever pays for the organization; plan says which of its requests are concerned.",
            id="RC-payment-required",
        )


# -- permissions ----------------------------------------------------------------------------------------------------------------------


def _permissions(kinds: Kinds, project: Project, actual: Actual, matches: Matches) -> Iterator[Check]:
    """Flags that changes of declared resources would require, and that the service reports as false."""
    lacking: dict[tuple[str, str], list[str]] = defaultdict(list)
    asked = 0
    for address, declared in project.desired.resources.items():
        kind = kinds[declared.kind]
        permission = kind.permission if address in matches.ids else kind.create_permission
        if declared.implied or permission is None:
            continue
        holder = address if permission.of is None else kinds.container(address, permission.of)
        flags = _flags(kinds, actual, matches, holder)
        asked += permission.flag in flags
        if flags.get(permission.flag) is False:
            lacking[(permission.flag, kind.name)].append(str(address))
    for (flag, name), addresses in sorted(lacking.items()):
        text = (
            f"without the permission {flag!r} the token cannot create or change {count(len(addresses), name)}: {listed(addresses, SHOWN)}"
        )
        yield Check(
            "permissions",
            Level.WARNING,
            text,
            "Grant the owner of the token that role; plan shows which requests require it.",
            id="RC-not-permitted",
        )
    if asked and not lacking:
        yield Check("permissions", Level.OK, f"the token has every permission that the project requires ({count(asked, 'flag')} checked)")


def _flags(kinds: Kinds, actual: Actual, matches: Matches, holder: Address) -> Mapping[str, Any]:
    id = matches.ids.get(holder)
    seen = actual.find(kinds.of(holder).name, id) if id is not None else None
    flags = seen.raw.get("permissions") if seen is not None else None
    return flags if isinstance(flags, Mapping) else {}


# -- rate limit and clock -------------------------------------------------------------------------------------------------------------


def _pace(reader: Reader) -> Iterator[Check]:
    quota = reader.allowance
    if quota is None:
        yield Check("rate limit", Level.OK, "the service does not report one")
        return
    text = f"{quota.remaining:,} of {quota.limit:,} requests left"
    if quota.remaining < quota.limit * SCARCE:
        yield Check(
            "rate limit",
            Level.WARNING,
            text,
            "A run waits for the next window automatically; --max-rps N sends requests more slowly.",
            id="RC-rate-limited",
        )
    else:
        yield Check("rate limit", Level.OK, text)


def _clock(reader: Reader) -> Iterator[Check]:
    if reader.skew is None:
        yield Check("clock", Level.SKIPPED, "no response had a Date header")
    elif abs(reader.skew) > SKEW_MAX:
        text = f"the service's clock is {abs(reader.skew):,.0f} s {'ahead of' if reader.skew > 0 else 'behind'} this machine's"
        yield Check(
            "clock",
            Level.WARNING,
            text,
            "Set this machine's clock (NTP): deadlines of requests in doubt are compared with the service's clock.",
            id="RC-clock-differs",
        )
    else:
        yield Check("clock", Level.OK, "this machine's clock and the service's agree within 30 s")
