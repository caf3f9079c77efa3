"""`policies`, `use` and `exceptions` of a project as data, with a problem at the position of each error.

In: the entries of all files, the final declared resources. Out: `Policies`. Expressions are checked and kept as text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Final

from reconciler.address import Address
from reconciler.config.keys import EXCEPTION, POLICY, USE
from reconciler.config.language.bounds import Compiled, ExpressionError
from reconciler.config.language.compiled import compiled
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.language.variables import Variables
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Problems, described, items_of, report_form, shown, untainted, wrong_form
from reconciler.features.policies.section.checks import ExpressionScope, expressions, test_of
from reconciler.features.policies.section.keys import ACTIONS, GONE, ready
from reconciler.model import Severity, Source
from reconciler.model.policies import PLAN, Exemption, Policies, Policy
from reconciler.resource import Kind, Kinds
from reconciler.text.names import did_you_mean, one_of

FORM: Final = "write {id: NAME, on: [KIND], assert: ${{ … }}, message: …}"
EXCEPTION_FORM: Final = "write {policy: ID, address: ADDRESS, until: YYYY-MM-DD, reason: …}"
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
        for entry in entries["policies"]:
            for node in self._items(entry, FORM):
                self._add(self.policy(node), node.at)
        for entry in entries["use"]:
            for node in self._items(entry, "write use: [two-admins]"):
                self._use(node)
        exceptions = [self._exemption(node) for entry in entries["exceptions"] for node in self._items(entry, EXCEPTION_FORM)]
        exemptions = tuple(exemption for exemption in exceptions if exemption is not None)
        variables = {name: value for name, value in self.evaluation.variables.values.items() if name in self.used}
        return Policies(tuple(self.policies.values()), exemptions, variables, frozenset(self.asks))

    def _items(self, entry: MapEntry, form: str) -> Sequence[Node]:
        if entry.key == "policies" and isinstance(entry.node, Scalar):
            # The whole list may come from an expression. What is inside of a written list waits: it is evaluated for each resource.
            entry = replace(entry, node=self.evaluation.node(entry.node))
        return items_of(entry, "a list", form, self.problems.add)

    def _add(self, policy: Policy | None, at: Source) -> None:
        if policy is None:
            return
        known = self.policies.setdefault(policy.id, policy)
        if known is not policy:
            where = known.source.file_and_line
            self.problems.add(at, f'there is a policy "{policy.id}" already, at {where}; give this one another id', id="RC-policy-twice")

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
                entry.node = self.evaluation.node(entry.node)
        keys = KeyReader("a policy", node.entries, self.problems)
        values, test = keys.values(POLICY), keys.scalar("assert")
        on, when = self._texts(keys, "on"), self._texts(keys, "when")
        keys.rest()
        id, message = values["id"], values["message"]
        if id is not None:
            self.known.add(id)
        for key in keys.missing(POLICY):
            self.problems.add(node.at, f"a policy must have {key}; {FORM}", id="RC-missing-key")
            break
        if not {key.name for key in POLICY if key.required} <= node.entries.keys():
            return None
        actions = self._actions(when)
        kinds = self._kinds(on, actions)
        if len(self.problems.found) > before or test is None:
            return None
        policy = Policy(
            id=id,
            on=tuple(text for text, _ in on),
            when=actions,
            test="",
            message=message,
            level=Severity(values["level"] or Severity.ERROR),
            source=node.at,
            kinds=frozenset(text for text, _ in on if text in self.kinds),
            reason=values["reason"] or "",
        )
        if actions and policy.whole:
            wrong = "a policy about the plan has no when; use count(ACTION) in assert"
            self.problems.add(node.entries["when"].at, wrong, id="RC-plan-policy")
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
                report_form(node, key, "a list of texts", "", self.problems.add)
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
            meant = "" if "*" in text else did_you_mean(text, map(str, self.addresses))
            self.problems.absent(at, f"{text} matches no resource{meant}", id="RC-matches-nothing")
        return names or list(self.kinds)

    # -- expressions ---------------------------------------------------------------------------------------------------------------

    def _test(self, scope: ExpressionScope, node: Scalar, policy: Policy) -> Policy:
        """The policy with its checked expression; problems are reported."""
        try:
            source = test_of(node, "assert")
            uses = compiled(source)
        except ExpressionError as error:
            self.problems.add(node.at, error.message, id=error.id)
            return policy
        if self._fits(scope, uses, node.at) and not uses.boolean:
            wrong = 'assert must be true or false, and this expression is neither; compare it: … == "a value"'
            self.problems.add(node.at, wrong, id="RC-policy-expression")
        for name, arguments in uses.calls:
            if name == "inside" and arguments and (asked := arguments[0]) is not None:
                self.asks |= {(address, asked) for address, kind in self.addresses.items() if policy.applies(address, kind)}
        return replace(policy, test=source)

    def _message(self, scope: ExpressionScope, node: Node) -> None:
        if isinstance(node, Scalar):
            try:
                for source in expressions(node.text):
                    self._fits(scope, compiled(source), node.at)
            except ExpressionError as error:
                self.problems.add(node.at, error.message, id=error.id)

    def _fits(self, scope: ExpressionScope, used: Compiled, at: Source) -> bool:
        """Whether an expression uses only names that exist; reports others."""
        wrong = scope.wrong(used)
        if wrong is not None:
            self.problems.add(at, wrong.message, id=wrong.id)
            return False
        self.evaluation.work.use(used.variables, used.all_variables)
        self.used.update(scope.variables if used.all_variables else used.variables)
        return True

    # -- ready policies, and exceptions -----------------------------------------------------------------------------------------------

    def _use(self, node: Node) -> None:
        level, name = None, node
        if isinstance(node, Map):
            keys = KeyReader("use", node.entries, self.problems)
            level, name = keys.values(USE)["level"], keys.scalar("policy") or node
            keys.rest()
            if "policy" not in node.entries:
                wrong = "this does not name a policy; write {policy: two-admins, level: warning}"
                self.problems.add(node.at, wrong, id="RC-unknown-policy")
        elif not isinstance(node, Scalar):
            wrong = f"use must name policies, not {described(node)}; write use: [two-admins]"
            self.problems.add(node.at, wrong, id="RC-unknown-policy")
        if not isinstance(name, Scalar):
            return
        if not untainted(name, "use", self.problems.add):
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
        values = keys.values(EXCEPTION)
        keys.rest()
        for key in keys.missing(EXCEPTION):
            self.problems.add(node.at, f"an exception must have {key}; {EXCEPTION_FORM}", id="RC-missing-key")
        name, policy = values["policy"], self.policies.get(values["policy"])
        # An id that only an invalid policy has is known: that policy's own problem is enough.
        if name is not None and policy is None and name not in self.known:
            wrong = f"there is no policy {shown(name)} in this project{did_you_mean(name, self.policies) or NO_POLICY}"
            self.problems.add(node.entries["policy"].node.at, wrong, id="RC-unknown-policy")
        if policy is not None:
            self._excepted(policy, values["address"], node)
        if len(self.problems.found) > before or policy is None:
            return None
        return Exemption(policy.id, values["address"], date.fromisoformat(values["until"]), values["reason"], node.at)

    def _excepted(self, policy: Policy, address: str | None, node: Map) -> None:
        """Report errors in the address of an exception."""
        if policy.whole and address is not None:
            wrong = f"{policy.id} is about the whole plan, so its exceptions have no address; remove this line"
            self.problems.add(node.entries["address"].node.at, wrong, id="RC-plan-policy")
        elif not policy.whole and address is None:
            self.problems.add(node.at, f"an exception to {policy.id} must have an address; {EXCEPTION_FORM}", id="RC-missing-key")
        elif address is not None:
            self._matched(address, node.entries["address"].node.at, gone=bool(GONE & set(policy.when)))


def ready_policies(kinds: Kinds) -> list[Policy]:
    """The ready policies as a project that uses all of them has them."""
    problems = Problems([])
    section = PolicySections(kinds, {}, problems, Evaluation(Path(), Variables({}, frozenset(), frozenset()), None, problems))
    return [policy for node in ready().values() if (policy := section.policy(node)) is not None]
