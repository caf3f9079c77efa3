"""Limits on a whole plan: a run that would delete or expose more than it may is refused before its first request. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from shlex import quote
from typing import Final

from reconciler.address import Address, Glob
from reconciler.errors import Refused
from reconciler.model import Action, Change, DeadUrls, Desired, Exposure, OpenWork, Plan, Severity, Violation
from reconciler.urls.redirects import is_named, patterns_of

WAYS: Final = 20  # options that a refusal names
NAMED: Final = 5  # addresses that a refusal lists


def deletes(plan: Plan) -> tuple[Change, ...]:
    """The changes that delete something, cascaded children and replacements included."""
    return tuple(change for change in plan.changes if change.destructive)


def exposed(plan: Plan) -> tuple[Address, ...]:
    """The objects that gain a reader, by whatever cause and for however long. What is created exposes nothing that existed."""
    return tuple(sorted({at for exposure in plan.exposures if exposure.readers for at in (exposure.address, *exposure.reaches)}))


def guard(
    plan: Plan,
    desired: Desired,
    *,
    allow_delete: int | None = None,
    max_exposed: int | None = None,
    allow_dead_urls: Sequence[str] = (),
    allow_open_work: Sequence[Glob] = (),
) -> Plan:
    """The plan, unchanged. Raises `Refused`, with how to proceed, if it violates a rule or exceeds a limit.

    `allow_delete`, `max_exposed`: the limits that this run has instead of the project's; None: the project's. `allow_dead_urls`: patterns
    of URLs that nothing need answer. `allow_open_work`: patterns for the addresses in which work in progress may end.
    """
    refuse(plan.violations, "the plan")
    limits, changes, opened = desired.guards, deletes(plan), exposed(plan)
    managed = plan.managed + sum(1 for change in changes if Action.DELETE in change.actions and change.address not in desired.resources)
    most = max(limits.max_delete_at_least, int(managed * limits.max_delete_percent / 100))
    rule = f"maxDelete ({limits.max_delete_percent:g} % of {managed}, at least {limits.max_delete_at_least}) allows {most}"
    if allow_delete is not None:
        most, rule = allow_delete, f"this run may delete {allow_delete}"
    if len(changes) > most:
        wrong = f"the plan deletes {_counted([change.address for change in changes], rule)}"
        raise Refused(wrong, id="RC-delete-limit", hint=f"if this is intended: --allow-delete {len(changes)}")
    limit, rule = limits.max_exposed, f"guards.maxExposed allows {limits.max_exposed}"
    if max_exposed is not None:
        limit, rule = max_exposed, f"this run may expose {max_exposed}"
    if limit is not None and len(opened) > limit:
        wrong = f"the plan exposes {_counted(opened, rule)}"
        raise Refused(wrong, id="RC-exposure-limit", hint=f"if this is intended: --max-exposed {len(opened)}")
    refuse_open_work(plan.open_work, allow_open_work)
    if desired.dead_urls is DeadUrls.BLOCK:
        _refuse_dead_urls(plan, allow_dead_urls)
    return plan


def _refuse_dead_urls(plan: Plan, allowed: Sequence[str]) -> None:
    dead = [url for url in (plan.redirects.dead if plan.redirects is not None else ()) if not any(is_named(url, text) for text in allowed)]
    if not dead:
        return
    number = len(dead)
    wrong = f"after the plan, nothing answers at {number:,} URL{'s' if number != 1 else ''} that {'was' if number == 1 else 'were'} public"
    names = patterns_of(dead)
    option = " ".join(f"--allow-dead-urls {quote(name)}" for name in names[:WAYS])
    more = " and so on" if len(names) > WAYS else ""
    line = f"urls: {{gone: [{{url: {json.dumps(names[0])}, reason: …}}]}}"
    lines = [f"{url.url}: {url.reason}" for url in dead]
    raise Refused(f"{wrong}{_below(lines)}", id="RC-dead-urls", hint=f"if this is intended, write {line}, or: {option}{more}")


def refuse_open_work(open_work: Sequence[OpenWork], allowed: Sequence[Glob]) -> None:
    """Raise `Refused` where work in progress would end without consent.

    `allowed`: patterns for the addresses of the objects with the work, or of what contains them.
    """
    ending = [work for work in open_work if work.asked and not any(glob.matches(at) for glob in allowed for at in work.names)]
    if not ending:
        return
    lines = [f"{work.address} ({work.effect}): {listed_sorts(work)}" for work in ending]
    more = " and so on (patterns are allowed: --allow-open-work 'acme/space/**')" if len(ending) > WAYS else ""
    way = " ".join(f"--allow-open-work {work.address:sh}" for work in ending[:WAYS]) + more
    wrong = f"the plan ends work in progress, which requires consent{_below(lines)}"
    raise Refused(wrong, id="RC-open-work", hint=f"finish or close it, or if this is intended: {way}")


def listed_sorts(work: OpenWork) -> str:
    """`1 draft change request and 2 open comments`."""
    texts = [sort.text for sort in work.sorts]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _counted(addresses: Sequence[Address], rule: str) -> str:
    """`6 objects, and this run may delete 3: acme/a, … and 1 more`. `rule`: what allows fewer."""
    number = len(addresses)
    names = ", ".join(map(str, addresses[:NAMED])) + (f" and {number - NAMED} more" if number > NAMED else "")
    return f"{number} object{'s' if number != 1 else ''}, and {rule}: {names}"


def refuse(violations: Sequence[Violation], what: str) -> None:
    """Raise `Refused` where a rule of the project that is more than a warning is violated. `what`: what violates it."""
    violations = [violation for violation in violations if violation.level is Severity.ERROR]
    if not violations:
        return
    alike: dict[tuple[str, str], list[Violation]] = {}
    for violation in violations:
        where = f" ({violation.source.file_and_line})" if violation.source is not None else ""
        by = f" by {' -> '.join(violation.path)}" if len(violation.path) > 1 else ""
        alike.setdefault((f"{violation.name}{where}", f"{violation.message}{by}"), []).append(violation)
    # `policy two-admins (reconciler.yaml:12) at acme and 2 more: fewer than two admins`
    lines = []
    for (rule, message), some in alike.items():
        more = f" and {len(some) - 1} more" if len(some) > 1 else ""
        at = f" at {some[0].address}{more}" if some[0].address is not None else ""
        lines.append(f"{rule}{at}: {message}")
    ways = list(dict.fromkeys(violation.remedy for violation in violations if violation.remedy)) or ["correct the project"]
    number = len({violation.name for violation in violations})
    wrong = f"{what} violates {number} rule{'s' if number != 1 else ''}{_below(lines)}"
    raise Refused(wrong, id="RC-rule-violated", hint=f"no option of the command line overrides a rule{_below(ways)}")


def _below(lines: Sequence[str]) -> str:
    """The end of a sentence: the one address, or several below the sentence, one line each."""
    more = [f"and {len(lines) - NAMED} more"] if len(lines) > NAMED else []
    return f": {lines[0]}" if len(lines) == 1 else "".join(f"\n  {line}" for line in [*lines[:NAMED], *more])


def consent(plan: Plan, allowed: Sequence[Glob]) -> Plan:
    """The plan, unchanged. Raises `Refused` where it exposes something without consent."""
    consent_to_exposures(plan.exposures, allowed, "the plan makes something public or removes a protection, which")
    return plan


def consent_to_exposures(exposures: Sequence[Exposure], allowed: Sequence[Glob], what: str) -> None:
    """Raise `Refused` for exposures without consent. `what`: the beginning of the sentence.

    `allowed`: patterns for the addresses of what is exposed, or of what exposes it.
    """
    missing = _without_consent(exposures, allowed)
    if not missing:
        return
    lines = [f"{exposure.address}{f' ({exposure.field})' if exposure.field else ''}: {exposure.says}" for exposure in missing]
    way = consent_options(missing, allowed)
    wrong = f"{what} requires consent{_below(lines)}"
    raise Refused(wrong, id="RC-consent-required", hint=f"if this is intended: {way}")


def consent_options(exposures: Sequence[Exposure], allowed: Sequence[Glob]) -> str:
    """The options that consent to what `allowed` leaves: `--allow-exposure ADDRESS` for each; "" if nothing is left."""
    addresses = list(dict.fromkeys(exposure.address for exposure in _without_consent(exposures, allowed)))
    more = " and so on (patterns are allowed: --allow-exposure 'acme/site/docs/**')" if len(addresses) > WAYS else ""
    return " ".join(f"--allow-exposure {address:sh}" for address in addresses[:WAYS]) + more


def _without_consent(exposures: Sequence[Exposure], allowed: Sequence[Glob]) -> list[Exposure]:
    return [exposure for exposure in exposures if exposure.asked and not any(glob.matches(at) for glob in allowed for at in exposure.names)]
