"""Rules about single values: certificates that expire, names that say nothing, values that should differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from reconciler.lint.facts import LintFacts, finding
from reconciler.model import Finding, Severity
from reconciler.model.codec import NAMES
from reconciler.text.certificate import expiry
from reconciler.text.credentials import has_credentials
from reconciler.text.names import canonical, is_canonical
from reconciler.text.suggest import did_you_mean, one_of

SOON: Final = timedelta(days=30)
_WORD: Final = re.compile(r"[^\W\d_]+")
_PLAIN: Final = (
    "a access an anyone client copy default demo doc docs documentation everyone external for from guest guests hidden internal key link "
    "links my name new of old other our page preview private public read reader readers review secret share shared sharelink sharing "
    "site some temp temporary test testing the to token tmp unnamed untitled url user users view viewer viewers with x xx xxx y z"
)
_NOTHING: Final = frozenset(_PLAIN.split())
"""Words that do not say who a link is for."""


def certificate_expires(facts: LintFacts) -> Iterator[Finding]:
    """A certificate that expires within 30 days, or has expired."""
    fields = {name: [field.name for field in kind.fields.values() if field.expires == "certificate"] for name, kind in facts.kinds.items()}
    for declared in facts.resources:
        for name in fields[declared.kind]:
            value = declared.values.get(name)
            day = expiry(value) if isinstance(value, str) else None
            if day is None or day - facts.today > SOON:
                continue
            gone = day < facts.today
            left = (day - facts.today).days
            when = f"expired on {day}" if gone else f"expires on {day}, " + ("today" if not left else f"in {left} day{'s'[: left != 1]}")
            expiring = finding("certificate-expires", f"{name} {when}", declared, field=name, remedy="replace it with the next certificate")
            yield replace(expiring, severity=Severity.ERROR) if gone else expiring


def credentials_in_text(facts: LintFacts) -> Iterator[Finding]:
    """A password or a token that is written in a URL."""
    for declared in facts.resources:
        for name, value in declared.values.items():
            field = facts.kinds[declared.kind].fields[name]
            if field.sensitive or not has_credentials(value) or any(secret in str(value) for secret in facts.secrets if secret):
                continue
            message = f"{name} contains credentials, which everybody who can read the project knows"
            way = f"take the whole {name} from a secret" if field.secret_allowed else "use a URL without credentials"
            yield finding("credentials-in-text", message, declared, field=name, remedy=f"replace them, and {way}")


def vague_name(facts: LintFacts) -> Iterator[Finding]:
    """A name that should say who a link is for, and contains only words that do not."""
    fields = {name: [field.name for field in kind.fields.values() if field.whom] for name, kind in facts.kinds.items()}
    for declared in facts.resources:
        for name in fields[declared.kind]:
            value = declared.values.get(name)
            if isinstance(value, str) and not {word.lower() for word in _WORD.findall(value)} - _NOTHING:
                message = f"{name} {value!r} does not say who it is for"
                yield finding("vague-name", message, declared, field=name, remedy="name the people or the company who have it")


def unusual_name(facts: LintFacts) -> Iterator[Finding]:
    """A name that services usually store in another form: it has white space at its ends, or is not in NFC."""
    fields = {
        name: [
            field.name
            for field in kind.fields.values()
            if (field.key or field.name in NAMES) and field.refers is None and not field.sensitive
        ]
        for name, kind in facts.kinds.items()
    }
    for declared in facts.resources:
        for name in fields[declared.kind]:
            value = declared.values.get(name)
            if isinstance(value, str) and not is_canonical(value):
                what = "has white space at its ends" if value != value.strip() else "is not in the Unicode form NFC"
                message = f"{name} {value!r} {what}: a service may store it in another form"
                yield finding("unusual-name", message, declared, field=name, remedy=f"write {canonical(value)!r}")


def unlisted_value(facts: LintFacts) -> Iterator[Finding]:
    """A value that is not one of those that the service has today."""
    fields = {name: [field for field in kind.fields.values() if field.known] for name, kind in facts.kinds.items()}
    for declared in facts.resources:
        for field in fields[declared.kind]:
            value = declared.values.get(field.name)
            if isinstance(value, str) and value not in field.known:
                message = (
                    f"{field.name} is {value!r}, which the service may refuse; {one_of(field.known)}{did_you_mean(value, field.known)}"
                )
                yield finding(
                    "unlisted-value", message, declared, field=field.name, remedy="write one of these, unless the service has it by now"
                )


def same_as_source(facts: LintFacts) -> Iterator[Finding]:
    """A value that equals one from which it should differ according to its declaration."""
    fields = {name: [field for field in kind.fields.values() if field.differs] for name, kind in facts.kinds.items()}
    for declared in facts.resources:
        for field in fields[declared.kind]:
            name, _, part = field.differs.partition(".")
            value, source = declared.values.get(field.name), declared.values.get(name)
            source = source.get(part) if part and isinstance(source, Mapping) else source
            if value is not None and value == source:
                message = f"{field.name} and {field.differs} are both {value}"
                yield finding("same-as-source", message, declared, field=field.name, remedy=f"write another {field.name}")
