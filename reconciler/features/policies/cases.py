"""The file of `policy test`: examples, each with resources and the violations that are expected. Pure.

In: the nodes of the file. Out: the differences of each example. Exceptions do not apply: an example checks the meaning of a policy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from reconciler.address import Address
from reconciler.config.key import Key
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar, plain
from reconciler.config.source.problems import Problems, described, shown, wrong_form
from reconciler.features.policies.judge import judge
from reconciler.features.policies.scene import Scene, Subject, Values
from reconciler.features.policies.section.keys import ACTIONS, GONE, KEEP
from reconciler.model import Action, Source
from reconciler.model.policies import Policies
from reconciler.resource import Kinds
from reconciler.text.names import did_you_mean, one_of

EXAMPLES: Final = "examples"
EXAMPLE: Final = (
    Key("resources", form="list", keys=(Key("address", names="reference"), Key("parent", names="reference"))),
    Key("violations", form="list", keys=(Key("policy", names="policy"), Key("address", names="reference")), names="policy"),
)
"""The keys of an example that name something."""
FORM: Final = "write {name: …, resources: [{address: …, after: {…}}], violations: [POLICY]}"


@dataclass(frozen=True)
class ExpectedViolation:
    """One violation that an example expects. `address`: None for any."""

    policy: str
    address: Address | None

    def __str__(self) -> str:
        return f"{self.policy} at {self.address}" if self.address is not None else self.policy


@dataclass(frozen=True)
class Case:
    """One example."""

    name: str
    environment: str | None
    today: date
    subjects: tuple[Subject, ...]
    expected: tuple[ExpectedViolation, ...]
    source: Source


def differences(policies: Policies, case: Case) -> list[str]:
    """Unexpected and missing violations of an example; a sentence each."""
    contents: dict[tuple[Address, str], list[Values]] = defaultdict(list)
    for subject in case.subjects:
        if subject.address.container is not None and subject.after is not None:
            contents[(subject.address.container, subject.kind)].append(subject.after)
    scene = Scene(case.subjects, inside=lambda container, kind: contents[(container, kind)])
    violations = judge(Policies(policies.rules, (), policies.variables), scene, environment=case.environment, today=case.today).violations
    missing = [
        f"expected a violation of {expected}, and there is none"
        for expected in case.expected
        if not any(_is(expected, violation.rule, violation.address) for violation in violations)
    ]
    more = [
        f"unexpected violation of {ExpectedViolation(violation.rule, violation.address)}: {violation.message}"
        for violation in violations
        if not any(_is(expected, violation.rule, violation.address) for expected in case.expected)
    ]
    return missing + more


def _is(expected: ExpectedViolation, rule: str, address: Address | None) -> bool:
    return expected.policy == rule and expected.address in (None, address)


@dataclass
class CasesReader:
    """Reads the examples. `policies`: the ids of those that are tested."""

    kinds: Kinds
    policies: Sequence[str]
    problems: Problems
    today: date

    def cases(self, entry: MapEntry) -> list[Case]:
        """Every example of a file."""
        items = self._list(entry, FORM)
        return [case for number, node in enumerate(items, 1) if (case := self._case(node, number)) is not None]

    def _list(self, entry: MapEntry | None, form: str) -> Sequence[Node]:
        if entry is None or isinstance(entry.node, List):
            return entry.node.items if entry is not None and isinstance(entry.node, List) else ()
        self.problems.add(entry.node.at, f"{entry.key} must be a list, not {described(entry.node)}; {form}", id=wrong_form(entry.node))
        return ()

    def _case(self, node: Node, number: int) -> Case | None:
        if not isinstance(node, Map):
            self.problems.add(node.at, f"an example must be a map, not {described(node)}; {FORM}", id=wrong_form(node))
            return None
        keys = KeyReader("an example", node.entries, self.problems)
        name, env, today = keys.text("name"), keys.text("env"), self._day(keys)
        resources, violations = keys.entry("resources"), keys.entry("violations")
        keys.rest()
        if violations is None:
            self.problems.add(node.at, f"an example must say its violations; write violations: [] for none; {FORM}", id="RC-missing-key")
        subjects = [subject for resource in self._list(resources, FORM) if (subject := self._subject(resource)) is not None]
        expected = [
            expected_violation
            for resource in self._list(violations, "write [POLICY]")
            if (expected_violation := self._expected(resource)) is not None
        ]
        title = name[0] if name is not None else f"example {number}"
        return Case(title, env[0] if env is not None else None, today, tuple(subjects), tuple(expected), node.at)

    def _day(self, keys: KeyReader) -> date:
        written = keys.text("today")
        try:
            return self.today if written is None else date.fromisoformat(written[0])
        except ValueError:
            self.problems.add(
                keys.entries["today"].node.at, f"today is {shown((written or ('',))[0])}; it must be a day: YYYY-MM-DD", id="RC-not-a-day"
            )
            return self.today

    def _subject(self, node: Node) -> Subject | None:
        if not isinstance(node, Map):
            self.problems.add(
                node.at, f"a resource must be a map, not {described(node)}; write {{address: …, after: {{…}}}}", id=wrong_form(node)
            )
            return None
        keys = KeyReader("a resource", node.entries, self.problems)
        where, parent = self._address(keys, "address"), self._address(keys, "parent")
        before, after = self._values(keys, "before", where), self._values(keys, "after", where)
        actor = keys.entry("actor")
        actions = self._actions(keys)
        keys.rest()
        if where is None:
            if "address" not in node.entries:
                self.problems.add(node.at, "a resource must have an address", id="RC-missing-key")
            return None
        if before is None and after is None:
            after = {}
        actions = actions or _actions(before, after)
        if not GONE.isdisjoint(actions):
            after = None
        flags = plain(actor.node) if actor is not None and isinstance(actor.node, Map) else {}
        return Subject(where, self.kinds.of(where).name, actions, before, after, flags, parent or where.container, node.at)

    def _address(self, keys: KeyReader, key: str) -> Address | None:
        written = keys.text(key)
        if written is None:
            return None
        try:
            address = Address.parse(written[0])
        except ValueError as error:
            self.problems.add(written[1], str(error), id="RC-address-form")
            return None
        if address.kind is not None and address.kind not in self.kinds:
            self.problems.add(
                written[1], f'there is no kind "{address.kind}"{did_you_mean(address.kind, self.kinds)}', id="RC-unknown-kind"
            )
            return None
        return address

    def _values(self, keys: KeyReader, key: str, address: Address | None) -> Values | None:
        entry = keys.entry(key)
        if entry is None or (isinstance(entry.node, Scalar) and entry.node.null):
            return None
        if not isinstance(entry.node, Map):
            self.problems.add(entry.node.at, f"{key} must be a map of fields, not {described(entry.node)}", id="RC-wrong-form")
            return None
        fields = self.kinds.of(address).fields if address is not None else {}
        for name, field in entry.node.entries.items():
            if address is not None and name not in fields:
                wrong = f'there is no field "{name}" of {self.kinds.of(address).name}{did_you_mean(name, fields)}'
                self.problems.add(field.at, wrong, id="RC-unknown-field")
        data: Mapping[str, Any] = plain(entry.node)
        return data

    def _actions(self, keys: KeyReader) -> tuple[str, ...]:
        entry = keys.entry("action")
        if entry is None:
            return ()
        nodes = entry.node.items if isinstance(entry.node, List) else [entry.node]
        for node in nodes:
            text = node.text if isinstance(node, Scalar) else ""
            if text not in ACTIONS:
                self.problems.add(
                    node.at, f"action is {described(node)}; {one_of(ACTIONS)}{did_you_mean(text, ACTIONS)}", id="RC-unknown-choice"
                )
        return tuple(node.text for node in nodes if isinstance(node, Scalar))

    def _expected(self, node: Node) -> ExpectedViolation | None:
        if isinstance(node, Map):
            keys = KeyReader("a violation", node.entries, self.problems)
            policy, address = keys.text("policy"), self._address(keys, "address")
            keys.rest()
        else:
            policy = (node.text, node.at) if isinstance(node, Scalar) and node.text else None
            address = None
        if policy is None:
            wrong = f"a violation names a policy, not {described(node)}; write [POLICY] or [{{policy: …, address: …}}]"
            self.problems.add(node.at, wrong, id="RC-wrong-form")
            return None
        if policy[0] not in self.policies:
            self.problems.add(
                policy[1], f"there is no policy {shown(policy[0])}{did_you_mean(policy[0], self.policies)}", id="RC-unknown-policy"
            )
            return None
        return ExpectedViolation(policy[0], address)


def _actions(before: Values | None, after: Values | None) -> tuple[str, ...]:
    """The actions on a resource, from its values before and after."""
    if before is None:
        return (Action.CREATE.value,)
    if after is None:
        return (Action.DELETE.value,)
    return (KEEP,) if before == after else (Action.UPDATE.value,)


def unexpected(cases: Sequence[Case], policies: Policies) -> Iterator[str]:
    """The policies that no example expects to be violated."""
    named = {expected.policy for case in cases for expected in case.expected}
    return (policy.id for policy in policies.rules if policy.id not in named)
