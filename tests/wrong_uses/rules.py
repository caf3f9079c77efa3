"""Wrong policies, exceptions, access and settings of lint."""

from __future__ import annotations

from tests.wrong_uses.use import CONTENT, HEAD, ORGANIZATION, Use, top

DOCS = "acme/site/docs"


def policy(line: str) -> Use:
    """A policy, at line 4."""
    return top(f"policies:\n  - {line}")


def access(line: str) -> Use:
    """An item of access, at line 4."""
    return top(f"access:\n  - {line}")


def ignore(line: str) -> Use:
    """An item of lint.ignore, at line 5."""
    return top(f"lint:\n  ignore:\n    - {line}")


USES: dict[str, Use] = {
    "a policy that is a text": policy("no-public"),
    "a policy without an id": policy("{on: [site], assert: '${{ true }}', message: M}"),
    "a policy that is about nothing": policy("{id: p, assert: '${{ true }}', message: M}"),
    "an unknown kind": policy("{id: p, on: [sites], assert: '${{ true }}', message: M}"),
    "a pattern that matches nothing": policy("{id: p, on: [acme/site/dosc], assert: '${{ true }}', message: M}"),
    "no assertion": policy("{id: p, on: [site], message: M}"),
    "an assertion without braces": policy("{id: p, on: [site], assert: after.title, message: M}"),
    "an assertion that cannot be read": policy("{id: p, on: [site], assert: '${{ after.title == }}', message: M}"),
    "a comparison by one sign": policy("{id: p, on: [site], assert: '${{ after.title = \"a\" }}', message: M}"),
    "an operator of another language": policy("{id: p, on: [site], assert: '${{ after.title && before.title }}', message: M}"),
    "a word of another tool": policy("{id: p, on: [site], assert: '${{ resource.title == \"a\" }}', message: M}"),
    "an unknown name": policy("{id: p, on: [site], assert: '${{ aftr.title == 1 }}', message: M}"),
    "a field that no kind has": policy("{id: p, on: [site], assert: '${{ after.titel == \"a\" }}', message: M}"),
    "an unknown action": policy("{id: p, on: [site], when: [destroy], assert: '${{ true }}', message: M}"),
    "an unknown level": policy("{id: p, on: [site], assert: '${{ true }}', message: M, level: fatal}"),
    "an unknown key of a policy": policy("{id: p, on: [site], asert: '${{ true }}', message: M}"),
    "the plan beside kinds": policy("{id: p, on: [plan, site], assert: '${{ true }}', message: M}"),
    "one id twice": top(
        "policies:\n  - {id: p, on: [site], assert: '${{ true }}', message: M}\n  - {id: p, on: [team], assert: '${{ true }}', message: M}"
    ),
    "an unknown ready policy": top("use: [two-admin]"),
    "use that is a text": top("use: two-admins"),
    "an exception of an unknown policy": top("exceptions:\n  - {policy: p, address: acme/site/docs, until: 2027-03-31, reason: R}"),
    "an exception without an end": top("use: [two-admins]\nexceptions:\n  - {policy: two-admins, address: acme, reason: R}"),
    "an exception until no day": top("use: [two-admins]\nexceptions:\n  - {policy: two-admins, address: acme, until: soon, reason: R}"),
    "access that is a text": access("anyone"),
    "access without a reader": access(f"{{mustNotSee: [{DOCS}]}}"),
    "access without a claim": access("{as: anyone}"),
    "an unknown reader": access(f"{{as: anyon, sees: [{DOCS}]}}"),
    "an unknown role": access(f"{{as: {{role: gest}}, sees: [{DOCS}]}}"),
    "a link that is not declared": access(f"{{as: {{link: partner}}, sees: [{DOCS}]}}"),
    "an address that matches nothing": access("{as: anyone, mustNotSee: [acme/site/dosc]}"),
    "an address that has no readers": access("{as: anyone, mustNotSee: [acme/team/writers]}"),
    "seen and not seen": access(f"{{as: anyone, sees: [{DOCS}], mustNotSee: [{DOCS}]}}"),
    "a list that is a text": access(f"{{as: anyone, sees: {DOCS}}}"),
    "an unknown key of access": access(f"{{as: anyone, sees: [{DOCS}], because: it is public}}"),
    "a key of access in another spelling": access(f"{{as: anyone, must_not_see: [{DOCS}]}}"),
    "a role as a reader": access(f"{{as: guest, mustNotSee: [{DOCS}]}}"),
    "a key in the place of an address": access("{as: anyone, mustNotSee: [blank]}"),
    "two readers in one": access(f"{{as: {{link: partners, role: guest}}, mustNotSee: [{DOCS}]}}"),
    "claims that are a list": access(f"{{as: {{claims: [plan]}}, mustNotSee: [{DOCS}]}}"),
    "lint that is a list": top("lint: [space-on-no-site]"),
    "lint without anything": top("lint:"),
    "an unknown key of lint": top("lint: {ignores: [{id: space-on-no-site}]}"),
    "lint.ignore that is a text": top("lint: {ignore: space-on-no-site}"),
    "lint.ignore that is a rule": top("lint: {ignore: {id: space-on-no-site}}"),
    "lint.ignore that is a list of rules": ignore("space-on-no-site"),
    "an unknown rule of lint": ignore("{id: space-on-no-sites}"),
    "a rule of lint that is like no other": ignore("{id: E501}"),
    "lint.ignore without a rule": ignore("{address: acme/space/blank, reason: R}"),
    "an unknown key of lint.ignore": ignore("{id: space-on-no-site, adress: acme/space/blank}"),
    "an address of lint.ignore that is none": ignore("{id: space-on-no-site, address: acme//blank}"),
    "addresses of lint.ignore": ignore("{id: space-on-no-site, address: [acme/space/blank]}"),
    "a rule of lint that is nothing": ignore("{id: , address: acme/space/blank}"),
    "a rule of lint from the environment": Use(
        f"{HEAD}vars: {{rule: {{env: RECONCILER_VAR_RULE}}}}\nlint: {{ignore: [{{id: '${{{{ vars.rule }}}}'}}]}}\n{ORGANIZATION}{CONTENT}",
        options={"environ": {"RECONCILER_VAR_RULE": "space-on-no-site"}},
    ),
}
