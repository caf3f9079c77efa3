"""Wrong policies, exceptions and access."""

from __future__ import annotations

from tests.wrong_uses.use import Use, top

DOCS = "acme/site/docs"


def policy(line: str) -> Use:
    """A policy, at line 4."""
    return top(f"policies:\n  - {line}")


def access(line: str) -> Use:
    """An item of access, at line 4."""
    return top(f"access:\n  - {line}")


USES: dict[str, Use] = {
    "a policy that is a text": policy("no-public"),
    "a policy without an id": policy("{on: [site], assert: '${{ true }}', message: M}"),
    "a policy that is about nothing": policy("{id: p, assert: '${{ true }}', message: M}"),
    "an unknown kind": policy("{id: p, on: [sites], assert: '${{ true }}', message: M}"),
    "a pattern that matches nothing": policy("{id: p, on: [acme/site/dosc], assert: '${{ true }}', message: M}"),
    "no assertion": policy("{id: p, on: [site], message: M}"),
    "an assertion without braces": policy("{id: p, on: [site], assert: after.title, message: M}"),
    "an assertion that cannot be read": policy("{id: p, on: [site], assert: '${{ after.title == }}', message: M}"),
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
}
