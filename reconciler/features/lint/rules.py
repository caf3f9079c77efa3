"""Every rule: from a project as loaded to findings. Pure.

`LintFacts` is what the rules see. They are in groups, in the order of this module: conditions on visitors, texts that look like expressions
without being one, lines that have no effect (any more), single values, and how resources relate. A rule reports only what it is sure
of: a finding that is wrong once is a rule that is switched off for ever.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field as dataclass_field, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Final

from reconciler.address import Address, addresses_in
from reconciler.config.resources.claims import conditions, schemas_of_claims
from reconciler.model import Declared, Desired, Finding, Fix, Severity, Source, State
from reconciler.model.codec import NAMES
from reconciler.model.lint import RULES, Ignore, cause_of_rule
from reconciler.plan.matching.renames import follow
from reconciler.resource import Field, FieldRole, Kind, Kinds, Missed
from reconciler.resource.conditions import UNSIGNED, claim_mistakes, claims_in, excludes_everybody, excludes_nobody, mistake
from reconciler.text.certificate import expiry
from reconciler.text.credentials import has_credentials
from reconciler.text.names import canonical, did_you_mean, is_canonical, one_of


@dataclass(frozen=True)
class LintFacts:
    """`unused`: declarations without effect, by name, and where. `state`: None if there is none, or none was requested.
    `variables`: the names that the project declares. `secrets`: texts that it has from secrets and from the environment."""

    kinds: Kinds
    desired: Desired
    today: date
    unused: Mapping[str, Source]
    ignores: tuple[Ignore, ...] = ()
    state: State | None = None
    variables: frozenset[str] = frozenset()
    secrets: frozenset[str] = dataclass_field(default=frozenset(), repr=False)

    @cached_property
    def resources(self) -> tuple[Declared, ...]:
        """All declared resources, containers before their contents."""
        return tuple(declared for declared in self.desired.resources.values() if not declared.implied)

    @cached_property
    def parts(self) -> Counter[tuple[Address, str]]:
        """The number of resources that each choice selects among: by the resource that chooses and its field."""
        return Counter((chooser, field.name) for declared in self.resources for chooser, field in self._choices(declared))

    def _choices(self, declared: Declared) -> Iterator[tuple[Address, Field]]:
        for flag in self.kinds.flags(declared.kind):
            chosen = self.kinds.chooser(declared.kind, flag, self._around(declared))
            if chosen is not None:
                yield chosen[0].address, chosen[1]

    def _around(self, declared: Declared) -> Iterator[tuple[str, Declared]]:
        """The containers of a declared resource, the nearest first, each with its kind."""
        at = declared.parent
        while at is not None and at in self.desired.resources:
            outer = self.desired.resources[at]
            yield outer.kind, outer
            at = outer.parent

    @cached_property
    def copied(self) -> frozenset[Address]:
        """The resources that others are copies of."""
        seeds = {name: kind.seed.name for name, kind in self.kinds.items() if kind.seed is not None}
        values = (declared.values.get(seeds[declared.kind]) for declared in self.resources if declared.kind in seeds)
        return frozenset(value for value in values if isinstance(value, Address))


def finding(rule: str, message: str, about: Declared, *, remedy: str, field: str = "", fix: Fix | None = None) -> Finding:
    """A finding about a resource, or about one of its fields."""
    source = about.positions.get(field, about.source)
    return Finding(cause_of_rule(rule), RULES[rule].severity, message, str(about.address), source, remedy, fix)


def level(kinds: Kinds, declared: Declared) -> tuple[str, Address | None, Any]:
    """The scope in which siblings must differ: the kind, the fixed container, and the node that contains them if they cannot leave it."""
    inside = kinds[declared.kind].inside
    node = declared.values.get(inside.name) if inside is not None and inside.on_change == "replace" else None
    return declared.kind, declared.address.container, node


FORMS = 'write it with visitor.claims.NAME, ==, !=, in, !, && and ||, such as visitor.claims.plan == "pro"'


def unclear_condition(facts: LintFacts) -> Iterator[Finding]:
    """A condition that has no meaning, so that everybody may see what it should hide."""
    for declared, name, condition in conditions(facts.kinds, facts.desired.resources):
        wrong = mistake(condition)
        if wrong is not None:
            message = f"{name} cannot be understood at character {wrong.at + 1}: {wrong}; it may hide nothing"
            yield finding("unclear-condition", message, declared, field=name, remedy=FORMS)


def constant_condition(facts: LintFacts) -> Iterator[Finding]:
    """A condition that every visitor meets, or that nobody can meet."""
    for declared, name, condition in conditions(facts.kinds, facts.desired.resources):
        if excludes_everybody(condition):
            message, remedy = f"{name} is never true, so no visitor sees it", "correct it, or remove what nobody can see"
        elif excludes_nobody(condition) and all(claim.path[0] != UNSIGNED for claim, _ in claims_in(condition)):
            message, remedy = f"{name} is always true, so it hides nothing", "correct it, or remove it"
        else:
            continue
        yield finding("constant-condition", message, declared, field=name, remedy=remedy)


def undeclared_claim(facts: LintFacts) -> Iterator[Finding]:
    """A condition on a claim, or on a value of a claim, that the schema of its container does not have."""
    schemas = schemas_of_claims(facts.kinds, facts.desired.resources)
    for declared, name, condition in conditions(facts.kinds, facts.desired.resources) if schemas else ():
        schema = schemas.get(declared.address.container)
        for wrong in claim_mistakes(condition, schema) if schema is not None else ():
            if not (wrong.unknown and wrong.closed):  # that one is an error of the project
                message, remedy = f"{name}: {wrong.message}", "correct it, or add it to the schema"
                yield finding("undeclared-claim", message, declared, field=name, remedy=remedy)


EACH: Final = frozenset({"key", "value", "index", "parent"})
_LOOKALIKE: Final = re.compile(r"(?<![${])(?!\$\{\{)\$?\{\{?\s*((vars|each|env|secrets)\s*\.\s*(\w++)[^{}]*+)\}\}?")


def lookalikes(facts: LintFacts) -> Iterator[tuple[Declared, str, re.Match[str]]]:
    """Texts that look like expressions, with the resource and its field; their groups are the expression, and its `vars` and `brand`."""
    for declared in facts.resources:
        fields = facts.kinds[declared.kind].fields
        for name, value in declared.values.items():
            for text in _lines(value):
                for match in _LOOKALIKE.finditer(text):
                    if _would_be(facts, declared, fields[name], match):
                        yield declared, name, match


def _lines(value: Any) -> Iterator[str]:
    """The texts of one line in a value that could contain an expression."""
    if isinstance(value, str):
        # Texts of several lines are templates and code samples of the documentation itself, where braces are common.
        if "{" in value and "\n" not in value:
            yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _lines(part)


def _would_be(facts: LintFacts, declared: Declared, field: Field, part: re.Match[str]) -> bool:
    """Whether an expression would be valid in this field."""
    match part[2]:
        case "vars":
            # Only what would be valid: a page about GitHub Actions is full of ${{ github.ref }}, and means it.
            return part[3] in facts.variables
        case "each":
            return part[3] in EACH and declared.address in facts.desired.generated
        case "env":
            return part[3] == "name" and facts.desired.environment is not None
        case _:
            return field.sensitive


def not_evaluated(facts: LintFacts) -> Iterator[Finding]:
    """A text that looks like an expression; a text of a `forEach` is reported once."""
    reported: set[tuple[Source, str]] = set()
    for declared, name, part in lookalikes(facts):
        place = (declared.positions.get(name, declared.source), part[0])
        if place in reported:
            continue
        reported.add(place)
        message = f"{name} contains {part[0]}, which is not an expression: it is sent as it is"
        remedy = f"write ${{{{ {part[1].rstrip()} }}}}, or ignore the finding if it is a text"
        yield finding("not-evaluated", message, declared, field=name, remedy=remedy)


REMOVE = "remove the line"


def unused_variable(facts: LintFacts) -> Iterator[Finding]:
    """A variable that nothing uses; except one that a text seems to use, which is a separate finding."""
    meant = {f"vars.{part[3]}" for _, _, part in lookalikes(facts) if part[2] == "vars"} if facts.unused else frozenset()
    for unused in _unused(facts, "unused-variable", "vars.", "no expression uses it"):
        if unused.address not in meant:
            yield unused


def unused_default(facts: LintFacts) -> Iterator[Finding]:
    yield from _unused(facts, "unused-default", "defaults.", "no resource takes it: each writes a value of its own, or there is none")


def _unused(facts: LintFacts, rule: str, prefix: str, message: str) -> Iterator[Finding]:
    for name, source in facts.unused.items():
        if name.startswith(prefix):
            yield Finding(cause_of_rule(rule), RULES[rule].severity, message, name, source, "remove it", Fix(f"remove {name}", (source,)))


def previously_done(facts: LintFacts) -> Iterator[Finding]:
    done = _done(facts)
    for declared in facts.resources:
        for old, source in declared.lines.items():
            if (old, declared.address) in done and declared.address not in facts.desired.generated:
                yield _renamed(facts, "previously-done", old, declared.address, source)


def moved_done(facts: LintFacts) -> Iterator[Finding]:
    done = _done(facts)
    for move in facts.desired.moved:
        if (move.old, move.new) in done:
            yield _renamed(facts, "moved-done", move.old, move.new, move.source)


def _renamed(facts: LintFacts, rule: str, old: Address, new: Address, source: Source) -> Finding:
    environment = facts.desired.environment
    where = f" in environment {environment}" if environment is not None else ""
    remedy = REMOVE if environment is None else "remove the line once the rename was applied in every environment"
    fix = Fix(f"remove {old}", (source,)) if environment is None else None
    message = f"it is tracked under this address already{where}, so nothing is renamed from {old}"
    return Finding(cause_of_rule(rule), RULES[rule].severity, message, str(new), source, remedy, fix)


def _done(facts: LintFacts) -> frozenset[tuple[Address, Address]]:
    """The renames of the YAML, former and present address, that the state has carried out."""
    state = facts.state
    lines = [(old, declared.address) for declared in facts.resources for old in declared.previously]
    lines += [(move.old, move.new) for move in facts.desired.moved]
    if state is None or not lines:
        return frozenset()
    former = follow(facts.kinds, facts.desired, state)
    pending = {*former.followed.values(), *former.refused}
    return frozenset(
        (old, new)
        for old, new in lines
        if new in state.bindings and old not in pending and (old not in state.bindings or old in facts.desired.resources)
    )


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


def duplicate_title(facts: LintFacts) -> Iterator[Finding]:
    """The natural key of a sibling: people see two that look the same, and an existing object cannot be matched to one of them."""
    first: dict[tuple[Any, ...], Declared] = {}
    names = {name: _titles(kind) for name, kind in facts.kinds.items()}
    for declared in facts.resources:
        texts = tuple((name, declared.values.get(name)) for name in names[declared.kind])
        if not texts or any(not isinstance(value, str) for _, value in texts):
            continue
        other = first.setdefault((*_place(facts, declared), *texts), declared)
        if other is not declared:
            name, text = texts[0]
            message = f"{name} {text!r} is also the {name} of {other.address}, next to it"
            yield finding("duplicate-title", message, declared, field=name, remedy=f"give one of them another {name}")


def similar_name(facts: LintFacts) -> Iterator[Finding]:
    """Names of siblings that differ only in case, white space or the form of Unicode: services and people take them for the same."""
    first: dict[tuple[Any, ...], Declared] = {}
    # The fields whose value is the key in the YAML, where case has no meaning in it.
    names = {
        name: [*_titles(kind), *[field.name for field in kind.keys if field.caseless and field.name == kind.place.key_is]]
        for name, kind in facts.kinds.items()
    }
    for declared in facts.resources:
        texts = [(name, value) for name in names[declared.kind] if isinstance(value := declared.values.get(name), str)]
        if not texts or len(texts) < len(names[declared.kind]):
            continue
        folded = tuple(canonical(value, caseless=True) for _, value in texts)
        other = first.setdefault((*_place(facts, declared), *folded), declared)
        different = next(((name, value) for name, value in texts if other.values[name] != value), None)
        if different is not None:
            name, text = different
            same = f"the {name} {other.values[name]!r} of {other.address}"
            message = f"{name} {text!r} differs from {same} only in case, white space or Unicode form"
            yield finding("similar-name", message, declared, field=name, remedy=f"give one of them another {name}")


def _place(facts: LintFacts, declared: Declared) -> tuple[str, Address | None, Any]:
    """The location in which names of siblings are compared."""
    inside = facts.kinds[declared.kind].inside
    return declared.kind, declared.address.container, declared.values.get(inside.name) if inside is not None else None


def _titles(kind: Kind) -> list[str]:
    """The texts that identify an object for the program and for people."""
    return [
        field.name
        for field in kind.keys
        if field.role is FieldRole.VALUE and field.refers is None and not field.sensitive and field.name != kind.place.key_is
    ]


def suffixed_path(facts: LintFacts) -> Iterator[Finding]:
    """A derived value that a sibling already has: the service would add a number to it."""
    derived = {
        name: [field for field in kind.fields.values() if field.unique and field.derived is not None] for name, kind in facts.kinds.items()
    }
    groups: dict[tuple[Any, ...], list[tuple[Declared, Field]]] = defaultdict(list)
    for declared in facts.resources:
        for field in derived[declared.kind]:
            groups[(field.name, *level(facts.kinds, declared))].append((declared, field))
    for members in groups.values():
        taken: dict[str, Address] = {}
        for declared, field in members:
            written = declared.values.get(field.name)
            if isinstance(written, str):
                taken.setdefault(written, declared.address)
        for declared, field in members:
            plain = _plain(facts, declared, field) if field.name not in declared.values and declared.id is None else ""
            if not plain:
                continue
            holder = taken.setdefault(plain, declared.address)
            if holder != declared.address:
                message = f"its {field.name} would be {plain} with a number, because {holder} has {plain}"
                yield finding("suffixed-path", message, declared, remedy=f"write {field.name}")


def _plain(facts: LintFacts, declared: Declared, field: Field) -> str:
    """The value that the service derives, if the files contain its source; "" otherwise."""
    derived = field.derived
    assert derived is not None
    source: Declared | None = declared
    if derived.reference is not None:
        named = declared.values.get(derived.reference)
        source = facts.desired.resources.get(named) if isinstance(named, Address) else None
    text = source.values.get(derived.field) if source is not None else None
    return derived.form(text) if isinstance(text, str) else ""


def _choices(facts: LintFacts, kind: str) -> list[Field]:
    return [field for field in facts.kinds[kind].fields.values() if field.role is FieldRole.CHOICE]


def nothing_to_show(facts: LintFacts) -> Iterator[Finding]:
    """A new container without any part, or one with a declared empty list. The parts of an existing one may be unmanaged."""
    for declared in facts.resources:
        fields = _choices(facts, declared.kind)
        if not fields or any(facts.parts[declared.address, field.name] for field in fields):
            continue
        kinds = [str(field.to) for field in fields]
        if declared.id is None or any((declared.address, kind) in facts.desired.written for kind in kinds):
            parts = " and no ".join(kinds)
            yield finding("nothing-to-show", f"it contains no {parts}, so readers find nothing", declared, remedy=f"declare a {kinds[0]}")


def no_default(facts: LintFacts) -> Iterator[Finding]:
    """Several parts, and none of them is the default."""
    for declared in facts.resources:
        for field in _choices(facts, declared.kind):
            number = facts.parts[declared.address, field.name]
            if number > 1 and field.name not in declared.values:
                message = f"it has {number} parts of kind {field.to} and no {field.flag}: readers land on the one that was created first"
                yield finding("no-default", message, declared, remedy=f'write "{field.flag}: true" on one {field.to}')


def missed(facts: LintFacts) -> Iterator[Finding]:
    """Report the resources that `missed` of a declaration describes.

    Only if the container has a resource that could refer: an organization without sites publishes nothing, so its spaces are on no site.
    The source of copies is a template and need not be shown.
    """
    sentences = {
        (name, field.name): field.missed for name, kind in facts.kinds.items() for field in kind.fields.values() if field.missed is not None
    }
    for (referring, name), word in sentences.items():
        named: set[Address] = set()
        scopes: set[Address] = set()
        for declared in facts.resources:
            if declared.kind == referring and name in declared.values:
                named.update(addresses_in(declared.values[name]))
                scopes.update(declared.address.containers)
        yield from _missed(facts, word, named, scopes)


def _missed(facts: LintFacts, word: Missed, named: set[Address], scopes: set[Address]) -> Iterator[Finding]:
    for declared in facts.resources:
        if declared.kind != word.kind or declared.address in named or declared.address in facts.copied:
            continue
        if declared.address.container in scopes:
            yield finding(word.rule, f"it {word.says}", declared, remedy="refer to it, or remove it if nobody needs it")


RUN: Final[tuple[Callable[[LintFacts], Iterator[Finding]], ...]] = (
    unused_variable, unused_default, nothing_to_show, no_default, duplicate_title, similar_name, unusual_name, suffixed_path,
    certificate_expires, vague_name, missed, same_as_source, unlisted_value, credentials_in_text, unclear_condition, constant_condition,
    undeclared_claim, not_evaluated, previously_done, moved_done,
)  # fmt: skip
