"""`policies`, `use` and `exceptions` of a project as data, with a problem at the position of each error.

In: the entries of all files, the final declared resources. Out: `Policies`. Expressions are checked and kept as text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Final

from reconciler.address import Address, is_key
from reconciler.config.language.bounds import ExpressionError
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.language.variables import Variables
from reconciler.config.policies.checks import ExpressionScope, Uses, expressions, read, test_of
from reconciler.config.policies.keys import ACTIONS, GONE, ready
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Problems, described, empty, items_of, shown, untainted, wrong_form
from reconciler.model import Exemption, Policies, Policy, Severity, Source
from reconciler.model.policy import PLAN
from reconciler.resource import Kind, Kinds
from reconciler.text.suggest import did_you_mean, one_of

POLICIES: Final = "policies"
USE: Final = "use"
EXCEPTIONS: Final = "exceptions"
SECTIONS: Final = (POLICIES, USE, EXCEPTIONS)
FORM: Final = "write {id: NAME, on: [KIND], assert: ${{ … }}, message: …}"
EXCEPTION_FORM: Final = "write {policy: ID, address: ADDRESS, until: YYYY-MM-DD, reason: …}"
LEVELS: Final = tuple(level.value for level in Severity)
INSIDE: Final = "inside"
NO_POLICY: Final = "; correct its id, or remove the exception"
LIST: Final = "reconciler policy list shows them"
LATER: Final = ("assert", "message")  # evaluated for each resource, not here


@dataclass
class PolicySections:
    """Reads the three sections. `addresses`: of all declared resources, with the names of their kinds; `removed`: of those that the
    environment removes, which a pattern may match too. `known`: the ids of all policies, including invalid ones."""

    kinds: Kinds
    addresses: Mapping[Address, str]
    problems: Problems
    evaluation: Evaluation
    policies: dict[str, Policy] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    asks: set[tuple[Address, str]] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    removed: Mapping[Address, str] = field(default_factory=dict)

    def read(self, entries: Mapping[str, Sequence[MapEntry]]) -> Policies:
        """All of them. `entries`: by section, those of all files."""
        for entry in entries[POLICIES]:
            for node in self._items(entry, FORM):
                self._add(self.policy(node), node.at)
        for entry in entries[USE]:
            for node in self._items(entry, "write use: [two-admins]"):
                self._use(node)
        exceptions = [self._exemption(node) for entry in entries[EXCEPTIONS] for node in self._items(entry, EXCEPTION_FORM)]
        exemptions = tuple(exemption for exemption in exceptions if exemption is not None)
        variables = {name: value for name, value in self.evaluation.variables.values.items() if name in self.used}
        return Policies(tuple(self.policies.values()), exemptions, variables, frozenset(self.asks))

    def _items(self, entry: MapEntry, form: str) -> Sequence[Node]:
        if entry.key == POLICIES and isinstance(entry.node, Scalar):
            # The whole list may come from an expression. What is inside of a written list waits: it is evaluated for each resource.
            entry = replace(entry, node=self.evaluation.node(entry.node))
        return items_of(entry, "a list", form, self.problems.add)

    def _add(self, policy: Policy | None, at: Source) -> None:
        known = self.policies.get(policy.id) if policy is not None else None
        if policy is None:
            return
        if known is not None:
            where = known.source.file_and_line
            self.problems.add(at, f'there is a policy "{policy.id}" already, at {where}; give this one another id', id="RC-policy-twice")
        else:
            self.policies[policy.id] = policy

    # -- policies ------------------------------------------------------------------------------------------------------------------

    def policy(self, node: Node) -> Policy | None:
        """One policy; None, with a problem, if it is invalid."""
        if not isinstance(node, Map):
            self.problems.add(node.at, f"a policy must be a map, not {described(node)}; {FORM}", id="RC-wrong-form")
            return None
        before = len(self.problems.found)
        # `assert` and `message` are evaluated for each resource; everything else once, here.
        for key, entry in node.entries.items():
            if key not in LATER:
                entry = replace(entry, node=self.evaluation.node(entry.node))
        keys = KeyReader("a policy", node.entries, self.problems)
        id, on, when = keys.text("id"), self._texts(keys, "on"), self._texts(keys, "when")
        level, test, message = keys.choice("level", LEVELS), keys.scalar("assert"), keys.text("message")
        reason = keys.text("reason")
        keys.rest()
        if id is not None:
            self.known.add(id[0])
        for key in ("id", "on", "assert", "message"):
            if key not in node.entries:
                if not keys.meant(key):
                    self.problems.add(node.at, f"a policy must have {key}; {FORM}", id="RC-missing-key")
                return None
        if id is not None and not is_key(id[0]):
            self.problems.add(
                id[1], f"the id of a policy is {shown(id[0])}; only letters, digits and . _ @ + - are allowed", id="RC-policy-id"
            )
        actions = self._actions(when)
        kinds = self._kinds(on, actions)
        if len(self.problems.found) > before or id is None or test is None or message is None:
            return None
        policy = Policy(
            id=id[0], on=tuple(text for text, _ in on), when=actions, test="", message=message[0], level=Severity(level or Severity.ERROR),
            source=node.at, kinds=frozenset(text for text, _ in on if text in self.kinds), reason=reason[0] if reason is not None else "",
        )  # fmt: skip
        if actions and policy.whole:
            self.problems.add(
                node.entries["when"].at, "a policy about the plan has no when; use count(ACTION) in assert", id="RC-plan-policy"
            )
        variables = self.evaluation.variables
        scope = ExpressionScope(self.kinds, tuple(kinds), policy.whole, variables.values, variables.tainted)
        policy = self._test(scope, test, policy)
        self._message(scope, node.entries["message"].node)
        return policy if len(self.problems.found) == before else None

    def _texts(self, keys: KeyReader, key: str) -> list[tuple[str, Source]]:
        """The texts of a list, or a single one."""
        entry = keys.entry(key)
        if entry is None:
            return []
        nodes = entry.node.items if isinstance(entry.node, List) else [entry.node]
        if isinstance(entry.node, List) and not nodes:
            self.problems.add(entry.node.at, f"{key} is an empty list; write at least one", id="RC-empty-list")
        texts = []
        for node in nodes:
            if not untainted(node, key, self.problems.add):
                continue
            if not isinstance(node, Scalar) or node.null or not node.text:
                nothing = isinstance(node, Scalar) and node.empty
                self.problems.add(
                    node.at, empty(key) if nothing else f"{key} must be a list of texts, not {described(node)}", id=wrong_form(node)
                )
            else:
                texts.append((node.text, node.at))
        return texts

    def _actions(self, when: Sequence[tuple[str, Source]]) -> tuple[str, ...]:
        for text, at in when:
            if text not in ACTIONS:
                self.problems.add(at, f"when is {shown(text)}; {one_of(ACTIONS)}{did_you_mean(text, ACTIONS)}", id="RC-unknown-choice")
        return tuple(dict.fromkeys(text for text, _ in when if text in ACTIONS))

    def _kinds(self, on: Sequence[tuple[str, Source]], when: Collection[str]) -> list[Kind]:
        """The kinds that a policy checks; none if it checks the plan."""
        kinds: dict[str, Kind] = {}
        for text, at in on:
            if text == PLAN:
                if len(on) > 1:
                    self.problems.add(at, "on: plan cannot be combined with kinds or addresses; write two policies", id="RC-plan-policy")
            elif text in self.kinds:
                kinds[text] = self.kinds[text]
            elif "/" in text or "*" in text or text in map(str, self._roots):
                names = self._matched(text, at, gone=bool(GONE & set(when)))
                kinds |= {name: self.kinds[name] for name in names}
            else:
                options = [*self.kinds, PLAN, *map(str, self._roots)]
                self.problems.add(
                    at, f"on is {shown(text)}, which is neither a kind nor an address{did_you_mean(text, options)}", id="RC-matches-nothing"
                )
        return list(kinds.values())

    @property
    def _roots(self) -> list[Address]:
        return [address for address in (*self.addresses, *self.removed) if address.container is None]

    def _matched(self, text: str, at: Source, *, gone: bool) -> list[str]:
        """The kinds of the resources that a pattern matches. `gone`: the resources may be no longer declared."""
        glob = self.problems.glob(text, at)
        if glob is None:
            return []
        every = (*self.addresses.items(), *self.removed.items())
        names = list(dict.fromkeys(kind for address, kind in every if glob.matches(address)))
        if not names and not gone:
            self._nothing(text, at)
        return names or list(self.kinds)

    def _nothing(self, text: str, at: Source) -> None:
        meant = "" if "*" in text else did_you_mean(text, map(str, self.addresses))
        self.problems.absent(at, f"{text} matches no resource{meant}", id="RC-matches-nothing")

    # -- expressions ---------------------------------------------------------------------------------------------------------------

    def _test(self, scope: ExpressionScope, node: Scalar, policy: Policy) -> Policy:
        """The policy with its checked expression; problems are reported."""
        try:
            source = test_of(node, "assert")
            uses = read(source)
        except ExpressionError as error:
            self.problems.add(node.at, error.message, id=error.id)
            return policy
        if self._fits(scope, uses, node.at) and not uses.boolean:
            wrong = 'assert must be true or false, and this expression is neither; compare it: … == "a value"'
            self.problems.add(node.at, wrong, id="RC-policy-expression")
        for call in uses.calls:
            if call.name == INSIDE and call.arguments and call.arguments[0] is not None:
                asked = call.arguments[0]
                self.asks |= {(address, asked) for address, kind in self.addresses.items() if policy.applies(address, kind)}
        return replace(policy, test=source)

    def _message(self, scope: ExpressionScope, node: Node) -> None:
        if isinstance(node, Scalar):
            try:
                for source in expressions(node.text):
                    self._fits(scope, read(source), node.at)
            except ExpressionError as error:
                self.problems.add(node.at, error.message, id=error.id)

    def _fits(self, scope: ExpressionScope, used: Uses, at: Source) -> bool:
        """Whether an expression uses only names that exist; reports others."""
        wrong = scope.wrong(used)
        if wrong is not None:
            self.problems.add(at, wrong.message, id=wrong.id)
            return False
        self.evaluation.work.use(used.variables, used.any_variable)
        self.used.update(scope.variables if used.any_variable else used.variables)
        return True

    # -- ready policies, and exceptions -----------------------------------------------------------------------------------------------

    def _use(self, node: Node) -> None:
        level = None
        name = node
        if isinstance(node, Map):
            keys = KeyReader("use", node.entries, self.problems)
            level = keys.choice("level", LEVELS)
            name = keys.scalar("policy") or node
            keys.rest()
            if "policy" not in node.entries:
                self.problems.add(
                    node.at, "this does not name a policy; write {policy: two-admins, level: warning}", id="RC-unknown-policy"
                )
        if not isinstance(name, Scalar):
            if not isinstance(node, Map):
                self.problems.add(
                    node.at, f"use must name policies, not {described(node)}; write use: [two-admins]", id="RC-unknown-policy"
                )
            return
        if not untainted(name, USE, self.problems.add):
            return
        self.known.add(name.text)
        written = ready().get(name.text)
        if written is None:
            wrong = f"there is no ready policy {shown(name.text)}{did_you_mean(name.text, ready()) or f'; {LIST}'}"
            self.problems.add(name.at, wrong, id="RC-unknown-policy")
            return
        policy = self.policy(written)
        if policy is not None:
            self._add(replace(policy, source=node.at, ready=True, level=Severity(level or policy.level)), node.at)

    def _exemption(self, node: Node) -> Exemption | None:
        if not isinstance(node, Map):
            self.problems.add(node.at, f"an exception must be a map, not {described(node)}; {EXCEPTION_FORM}", id=wrong_form(node))
            return None
        before = len(self.problems.found)
        keys = KeyReader("an exception", node.entries, self.problems)
        name, address, until, reason = keys.text("policy"), keys.text("address"), keys.text("until"), keys.text("reason")
        keys.rest()
        for key in ("policy", "until", "reason"):
            if key not in node.entries and not keys.meant(key):
                self.problems.add(node.at, f"an exception must have {key}; {EXCEPTION_FORM}", id="RC-missing-key")
        day = self._day(until)
        policy = self.policies.get(name[0]) if name is not None else None
        if name is not None and policy is None and name[0] not in self.known:
            wrong = f"there is no policy {shown(name[0])} in this project{did_you_mean(name[0], self.policies) or NO_POLICY}"
            self.problems.add(name[1], wrong, id="RC-unknown-policy")
        if policy is not None:
            self._excepted(policy, address, node.at)
        if len(self.problems.found) > before or policy is None or day is None or reason is None:
            return None
        return Exemption(policy.id, address[0] if address is not None else None, day, reason[0], node.at)

    def _day(self, until: tuple[str, Source] | None) -> date | None:
        if until is None:
            return None
        try:
            return date.fromisoformat(until[0])
        except ValueError:
            self.problems.add(until[1], f"until is {shown(until[0])}; it must be a day: YYYY-MM-DD", id="RC-not-a-day")
            return None

    def _excepted(self, policy: Policy, address: tuple[str, Source] | None, at: Source) -> None:
        """Report errors in the address of an exception."""
        if policy.whole and address is not None:
            self.problems.add(
                address[1], f"{policy.id} is about the whole plan, so its exceptions have no address; remove this line", id="RC-plan-policy"
            )
        elif not policy.whole and address is None:
            self.problems.add(at, f"an exception to {policy.id} must have an address; {EXCEPTION_FORM}", id="RC-missing-key")
        elif address is not None:
            self._matched(*address, gone=bool(GONE & set(policy.when)))


def ready_policies(kinds: Kinds) -> list[Policy]:
    """The ready policies as a project that uses all of them has them."""
    problems = Problems([])
    section = PolicySections(kinds, {}, problems, Evaluation(Path(), Variables({}, frozenset(), frozenset()), None, problems))
    return [policy for node in ready().values() if (policy := section.policy(node)) is not None]
