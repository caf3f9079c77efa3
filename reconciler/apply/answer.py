"""The answer to a step's request: whether it was done as asked, and what the state remembers of it.

In: a step, its intent, its answer. Out: a Result; binding and outcome are committed to the journal in one transaction, before any intent
that follows from them.

What the service should show by now: what the plan saw of each object, and what this run has changed of it since. No I/O.

In: the readings on which the plan is based, and every write of the run as it ends. Out: for a new reading of an object, the differences
that this run did not cause. Times are seconds of the writer's clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.address import Address, bare
from reconciler.apply.evidence import parts
from reconciler.apply.task import Task
from reconciler.client import Answer
from reconciler.model import Actual, Binding, Desired, Intent, Observed, Origin, Position, Step, StepResult, StepStatus
from reconciler.model.codec import ids_in, is_kind, non_sensitive, observed, path_ids, substitute, title
from reconciler.plan.containment import Key
from reconciler.plan.matching.match import identify
from reconciler.plan.put_elsewhere import container_field, put_elsewhere
from reconciler.plan.siblings.order import Siblings
from reconciler.plan.simulation.simulate import Simulation
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds
from reconciler.state import IntentEnding
from reconciler.text.names import a

ACCEPTED: Final = 202  # somebody was asked, who may still refuse


class Expectations:
    """What is known during a run, in addition to the `simulation` of its requests.

    `first`: when the plan's reading began. `loose`: fields whose value is not known, because the run wrote them and no response showed
    them; the next reading does. `unsure`: objects whose chosen child is the service's choice now. `reshaped`: (kind, container) whose
    objects the service rearranged. `doubts`: whether the effect of any request is unknown.
    """

    def __init__(self, kinds: Kinds, actual: Actual) -> None:
        self.kinds = kinds
        self.simulation = Simulation(kinds, actual, guess=False)
        self.loose: dict[Key, set[str]] = defaultdict(set)
        self.first = actual.read_at if actual.read_at is not None else float("-inf")
        self._read: dict[Key, float] = {}
        self._created: dict[Key, float] = {}
        self._earlier: dict[tuple[Key, str], list[Any]] = defaultdict(list)
        self.unsure: set[Key] = set()
        self.reshaped: set[Key] = set()
        self.doubts = False

    def find(self, kind: str, id: str) -> Observed | None:
        """The object as it should be; None where there is none."""
        return self.simulation.find(kind, id)

    def read_at(self, key: Key) -> float:
        """When the object was last read."""
        return self._read.get(key, self.first)

    # -- what this run does ----------------------------------------------------------------------------------------------------------

    def note_created(self, observed: Observed, at: float) -> None:
        """A create was answered, or a child of it was shown."""
        self.simulation.add_created(observed)
        self._note_earlier(observed.key, observed.values)
        self._rearranged(observed, self.simulation.gather(self.kinds[observed.kind], observed.id))
        self.loose[observed.key] |= {name for name, value in observed.values.items() if value is UNSET}
        self._read[observed.key] = at
        self._created[observed.key] = at

    def note_written(self, step: Step, kind: Kind, id: str, writes: Mapping[str, Any], seen: Mapping[str, Any], body: Any) -> None:
        """A request on an object that exists was done; `seen`: the written fields as its answer shows them, UNSET where it does not."""
        old = self.find(kind.name, id)
        if old is None:
            return
        self._note_earlier((kind.name, id), {**old.values, **self.simulation.chosen(kind.name, id)}, writes)
        choices = {name for name in writes if kind.fields[name].role is FieldRole.CHOICE}
        shown = {name: value for name, value in seen.items() if name in writes and name not in choices and value is not UNSET}
        self.loose[(kind.name, id)] |= {name for name in writes if kind.fields[name].lossy and name not in choices and name not in shown}
        if choices:
            self.unsure.discard((kind.name, id))
        self.simulation.write(step, kind, id, {**writes, **shown}, body)

    def _note_earlier(self, key: Key, values: Mapping[str, Any], names: Iterable[str] | None = None) -> None:
        """Remember the values that an object has before this run changes it."""
        for name in values if names is None else names:
            self._earlier[key, name].append(values.get(name, UNSET))

    def is_earlier(self, field: Field, key: Key, value: Any) -> bool:
        """Whether a field had this value before a write of this run: a reading that shows it may be older than the write."""
        return value is not UNSET and any(field.agree(value, earlier) for earlier in self._earlier.get((key, field.name), ()))

    def is_new(self, key: Key) -> bool:
        """Whether this run created the object."""
        return key in self.simulation.born

    def is_written(self, key: Key) -> bool:
        """Whether this run created, changed or deleted the object."""
        return key[1] in self.simulation.removed or any(written == key for written, _ in self._earlier)

    def created_since(self, at: float, observed: Observed) -> bool:
        """Whether this run created the object, or what contains it, after that time."""
        keys = (observed.key, *observed.within.items())
        return any(self._created.get(key, float("-inf")) > at for key in keys)

    def note_in_doubt(self, kind: Kind, id: str, writes: Mapping[str, Any]) -> None:
        """A request on the object was sent, and its end is not known."""
        self.doubts = True
        self.loose[(kind.name, id)] |= set(writes)
        self.simulation.order.remove(kind.name, id)
        if any(kind.fields[name].role is FieldRole.CHOICE for name in writes):
            self.unsure.add((kind.name, id))

    def _rearranged(self, observed: Observed, names: Collection[str]) -> None:
        """The service rearranged all objects of some kinds in the container of an object."""
        self.reshaped |= {(name, observed.within.get(str(self.kinds[observed.kind].within), "")) for name in names}

    def note_deleted(self, kind: Kind, id: str) -> None:
        """A delete was done, including what the service deletes with the object."""
        last = self.find(kind.name, id)
        if last is not None:
            self._rearranged(last, self.simulation.rearranged_with(kind, id))
        for removed in self.simulation.delete(kind, id):
            if any(removed.flags.values()):
                containers = [field for field in self.kinds[removed.kind].fields.values() if field.container]
                self.unsure |= {*removed.within.items(), *((str(field.to), str(removed.values.get(field.name))) for field in containers)}

    # -- what a reading shows --------------------------------------------------------------------------------------------------------

    def differences(self, kind: Kind, id: str, now: Observed, names: Iterable[str]) -> Iterator[tuple[Field, Any, Any]]:
        """The fields that are not as expected: (field, expected, now). Fields that were not known become known."""
        old = self.find(kind.name, id)
        if old is None:
            return
        # `loose`: fields whose value no answer showed since they were written. Whatever a reading shows is their value.
        unknown = self.loose[(kind.name, id)]
        for name in names:
            field, value = kind.fields[name], now.values.get(name, UNSET)
            if not field.compared or not field.readable or field.role is FieldRole.CHOICE:
                continue
            expected = old.values.get(name, UNSET)
            if field.agree(value, expected) or self._follows(kind, old, field, expected):
                continue
            if name not in unknown:
                yield field, expected, value
        outdated = {name for name in unknown if self.is_earlier(kind.fields[name], (kind.name, id), now.values.get(name, UNSET))}
        learned = {name: now.values[name] for name in unknown - outdated if name in now.values}
        unknown &= outdated
        self.simulation.learned(kind.name, id, learned)

    def _follows(self, kind: Kind, old: Observed, field: Field, expected: Any) -> bool:
        """Whether the service changes the field because of this run: it named a deleted object, or its object was rearranged."""
        # A reference to an object that this run deleted is cleared by the service, which is nobody's edit.
        if any(text in self.simulation.removed for text in ids_in(expected) if expected is not UNSET):
            return True
        return (field.container or field.unique) and (kind.name, old.within.get(kind.within or "", "")) in self.reshaped

    def chosen(self, kind: Kind, id: str, now: Simulation) -> Iterator[tuple[Field, Any, Any]]:
        """The choices of an object that are not as expected: (field, expected id, id now)."""
        if (kind.name, id) in self.unsure:
            return
        before, after = self.simulation.chosen(kind.name, id), now.chosen(kind.name, id)
        for field in kind.fields.values():
            if field.role is FieldRole.CHOICE:
                old, new = before.get(field.name), after.get(field.name)
                if old != new and not (old is None and (str(field.to), str(new)) in self.simulation.born):
                    yield field, old, new

    def moved_outside(self, now: Simulation) -> frozenset[Key]:
        """The objects that are not in the expected position among those siblings whose order is known."""
        return moved_between(self.simulation, now)

    def note_read(self, key: Key, at: float) -> None:
        """The object was read again."""
        self._read[key] = at


def moved_between(known: Simulation, now: Simulation) -> frozenset[Key]:
    """The objects that have another position in one simulation than in the other, among the siblings that both have."""
    moved: set[Key] = set()
    for row, siblings in now.order.rows.items():
        if row in known.order.rows:
            moved |= {(row[0], id) for id in _elsewhere(siblings, known.order.rows[row])}
    return frozenset(moved)


def _elsewhere(now: Siblings[str], known: Siblings[str]) -> Iterator[str]:
    """The siblings in both lists that have different predecessors in the two."""
    ahead: set[str] = set()  # those that only one of the lists has shown so far
    for left, right in zip((id for id in now if id in known), (id for id in known if id in now), strict=True):
        if left != right or ahead:
            yield left
        # Where both lists have shown the same siblings so far, the next one is in its place whatever happened before it.
        ahead ^= {left}
        ahead ^= {right}


class Answers:
    """What a run has done so far: ids and bindings.

    `known`: the ids that were read before it, by kind. `addresses`: of what it created. `unseen`: written fields that no answer showed.
    """

    def __init__(self, task: Task) -> None:
        self.writer, self.kinds, self.desired, self.group = task.writer, task.kinds, task.desired, task.group
        kinds, desired, plan, actual = task.kinds, task.desired, task.plan, task.actual
        state = task.journal.state()
        self.bindings: dict[Address, Binding] = {**state.bindings, **plan.state_update.bind}
        self.carried = plan.state_update.carried
        self.transfer_order = {step.address: turn for turn, step in enumerate(step for step in plan.steps if step.verb == "transfer")}
        self.ids = dict(identify(kinds, desired, state, actual).ids)
        # An address that is created or replaced has no id until its own create is answered; a step that needs it must not
        # use that of the old object.
        for change in (step.address for step in plan.steps if step.create_like or step.verb == "create"):
            self.ids.pop(change, None)
        self.known = {name: frozenset(actual.objects.get(name, {})) for name in kinds}
        self.expected = Expectations(kinds, actual)
        self.addresses: dict[Key, Address] = {}
        self.unseen: dict[Address, set[str]] = {}
        self.notes: list[str] = []

    def handle(self, step: Step, kind: Kind, intent: Intent, writes: Mapping[str, Any], answer: Answer) -> StepResult:
        if step.verb == "create":
            return self._on_create(step, kind, intent, writes, answer)
        if answer.status == ACCEPTED and not answer.body:
            self.expected.note_in_doubt(kind, str(intent.target), writes)
            message = f"the service answered {ACCEPTED} and does not say that it is done; the next apply looks"
            self.group.settle(IntentEnding(intent.id, "failed", f"asked for, not done: {message}"))
            return StepResult(step, StepStatus.ASKED, message)
        if step.verb == "transfer":
            return self._on_transfer(step, kind, intent, writes, answer)
        other = next(
            (field.to for field in kind.fields.values() if field.role is FieldRole.MEMBER and step.verb in ("join", "leave")), None
        )
        shown = self.kinds[other] if other else kind
        if isinstance(answer.body, Mapping) and answer.body and not is_kind(shown, answer.body):
            what = str(answer.body.get("type", answer.body.get("result", "something else")))
            verb = kind.api.get(step.verb)
            if verb is not None and what in verb.instead:
                message = f"answered with a {what}: {verb.instead[what]}"
                self.group.settle(IntentEnding(intent.id, "failed", message))
                return StepResult(step, StepStatus.FAILED, message, id="RC-payment-required")
            # Proxies and login pages answer 200 too. What is not the object does not prove that anything was written.
            message = f"the service answered {answer.status} with {what!r} instead of the {shown.name}"
            self.group.settle(IntentEnding(intent.id, "failed", message))
            return StepResult(step, StepStatus.FAILED, message, id="RC-response-unusable")
        raw = answer.body if shown is kind and isinstance(answer.body, Mapping) else {}
        return self._on_update(step, kind, intent, writes, raw)

    def note_deleted(self, step: Step, kind: Kind, id: str) -> dict[Address, Observed]:
        """Take a delete as done, until a reading shows what it did; returns its object as it was, and what is deleted with it."""
        bindings = [self.bindings[address] for address in step.takes if address in self.bindings]
        followers = {binding.address: self.expected.find(*binding.key) for binding in bindings}
        observed = self.expected.find(kind.name, id) or self._observed(kind, step.address, {"id": id})
        self.bindings.pop(step.address, None)
        self.expected.note_deleted(kind, id)
        return {step.address: observed, **{address: follower for address, follower in followers.items() if follower is not None}}

    def _on_transfer(self, step: Step, kind: Kind, intent: Intent, writes: Mapping[str, Any], answer: Answer) -> StepResult:
        """Record that the object has another container, and that everything transferred with it has another address."""
        raw = answer.body if isinstance(answer.body, Mapping) and answer.body else None
        if raw is not None and not is_kind(kind, raw):
            wrong = f"the service answered {answer.status} with something that is not {a(kind.name)}"
            return StepResult(step, StepStatus.IN_DOUBT, wrong, id="RC-response-unusable")
        refused = not_transferred(kind, writes, raw) if raw is not None else None
        if refused is not None:
            self.expected.note_in_doubt(kind, str(intent.target), {})
            self.group.settle(IntentEnding(intent.id, "failed", refused))
            return StepResult(step, StepStatus.FAILED, refused, id="RC-value-not-taken")
        self.expected.note_written(step, kind, str(intent.target), writes, {}, None)
        leaving = {new: self.bindings.pop(old) for old, new in step.renames.items() if old in self.bindings}
        for new, old in leaving.items():
            self.bindings[new] = self.carried.get(new) or renamed(old, step.renames)
        # After the loop above, because the position of one transferred object depends on where the others are.
        for new in self.transfer_order.keys() & leaving.keys():  # after all have their places
            self.bindings[new] = replace(self.bindings[new], place=self._end(new))
        bind = tuple(self.bindings[new] for new in sorted(leaving))
        top = {kind.inside.name: None} if kind.inside is not None else {}
        self.group.settle(IntentEnding(intent.id, "done", None, bind=bind, rename=step.renames, after={step.address: {**writes, **top}}))
        return StepResult(step, StepStatus.DONE)

    def _end(self, address: Address) -> Position:
        """The position of an object transferred to its root: after everything placed there, in the sequence of the transfers.

        A run that continues this one must see the same order: otherwise it moves other siblings, and the resulting order is undefined.
        """
        root = address.root
        places = [binding.place for at, binding in self.bindings.items() if at not in self.transfer_order]
        known = [place.index for place in places if place is not None and place.parent == root]
        return Position(root, max(known, default=-1) + 1 + self.transfer_order[address])

    def _on_update(self, step: Step, kind: Kind, intent: Intent, writes: Mapping[str, Any], raw: Mapping[str, Any]) -> StepResult:
        old, id = self.bindings[step.address], str(intent.target)
        seen = {name: kind.fields[name].value_in(raw) if raw else UNSET for name in writes}
        refused = not_taken(kind, writes, seen) if raw else {}
        if refused:
            self.expected.note_in_doubt(kind, id, writes)
            message = "; ".join(refused.values())
            self.group.settle(IntentEnding(intent.id, "failed", message))
            return StepResult(step, StepStatus.FAILED, message, id="RC-value-not-taken")
        self.expected.note_written(step, kind, id, writes, seen, substitute(step.body, self.ids))
        kept = {**as_sent(kind, writes), **shown(kind, seen)}
        self._unseen(step.address, kind, set(writes) - set(kept))
        self._note_altered(step.address, kind, writes, kept)
        before = {name: value for name, value in old.seen.items() if name not in writes}
        # A PATCH may have to repeat fields that the YAML does not manage (`always`); what was only repeated is not remembered
        # as sent, or leaving it out of the files would look like a removal.
        declared = self.desired.managed(step.address, writes)
        binding = replace(old, sent={**old.sent, **kind.stored(declared, id)}, seen={**before, **kind.stored(kept, id)})
        self.bindings[step.address] = binding
        after = {**non_sensitive(kind, writes), **(non_sensitive(kind, self._observed(kind, step.address, raw).values) if raw else {})}
        self.group.settle(IntentEnding(intent.id, "done", None, bind=(binding,), after={step.address: after}))
        return StepResult(step, StepStatus.DONE)

    def _note_altered(self, address: Address, kind: Kind, writes: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
        """Report the values that came back different from what was sent: they are recorded as seen, and are no difference later."""
        for name, value in seen.items():
            if name in writes and is_altered(kind.fields[name], value, writes[name]):
                self.notes.append(altered(address, kind.fields[name], value))

    def _unseen(self, address: Address, kind: Kind, names: set[str]) -> None:
        """Record that no response showed the values of these fields: the first reading after the write shows them."""
        if unseen := {name for name in names if kind.fields[name].readable and kind.fields[name].compared}:
            self.unseen.setdefault(address, set()).update(unseen)

    def _on_create(self, step: Step, kind: Kind, intent: Intent, writes: Mapping[str, Any], answer: Answer) -> StepResult:
        raw = answer.body
        if not is_kind(kind, raw):
            wrong = f"the service answered {answer.status} with something that is not {a(kind.name)}"
            return StepResult(step, StepStatus.IN_DOUBT, wrong, id="RC-response-unusable")
        if (elsewhere := self._elsewhere(kind, step.address, raw)) is not None:
            self.group.settle(IntentEnding(intent.id, "failed", elsewhere))
            return StepResult(step, StepStatus.FAILED, elsewhere, id="RC-created-elsewhere")
        # It exists now, whatever the service did not take: it is tracked first, and reported as failed after that.
        refused = not_taken(kind, writes, {name: kind.fields[name].value_in(raw) for name in writes})
        taken = {name: value for name, value in writes.items() if name not in refused}
        item = self._observed(kind, step.address, raw)
        binding = bound_as(self.desired, kind, step.address, item, taken, Origin.CREATED)
        self._unseen(step.address, kind, set(taken) - set(binding.seen))
        self._note_altered(step.address, kind, taken, shown(kind, {name: item.values.get(name, UNSET) for name in taken}))
        bind = [binding]
        after = {step.address: non_sensitive(kind, item.values)}
        self._track(binding, item)
        for name, at, child in step.brings:
            # The service created these as well (the first variant of a section): they are tracked, or the next plan would see
            # unmanaged objects in its own section.
            for part in parts(raw, at)[:1]:
                if is_kind(self.kinds[name], part):
                    inner = self._observed(self.kinds[name], child, part)
                    bind.append(bound_as(self.desired, self.kinds[name], child, inner, {}, Origin.CREATED))
                    after[child] = non_sensitive(self.kinds[name], inner.values)
                    self._track(bind[-1], inner)
        self.group.settle(IntentEnding(intent.id, "done", None, bind=tuple(bind), after=after))
        if refused:
            return StepResult(step, StepStatus.FAILED, "; ".join(refused.values()), id="RC-value-not-taken")
        if (put := self._put_elsewhere(step, kind, item)) is not None:
            return StepResult(step, StepStatus.FAILED, put, id="RC-put-elsewhere")
        missing = [str(child) for _, _, child in step.brings if child not in self.ids]
        if missing:
            wrong = f"the response does not contain {', '.join(missing)}; a second run will find it"
            return StepResult(step, StepStatus.FAILED, wrong, id="RC-response-unusable")
        return StepResult(step, StepStatus.DONE)

    def _put_elsewhere(self, step: Step, kind: Kind, item: Observed) -> str | None:
        """Where the service put an object that is declared at the top, with what to do; None where it is at the top."""
        declared, outer = self.desired.resources.get(step.address), step.address.container
        field = container_field(self.kinds, kind, declared) if declared is not None else None
        id = item.values.get(field.name) if field is not None else None
        if field is None or declared is None or outer is None or not isinstance(id, str):
            return None
        # The service is said to name it after what contains it; its own title is shown by the next reading.
        around = self.expected.find(str(kind.within), self.ids.get(outer, ""))
        name = title(around) if around is not None else str(outer.key)
        return "; ".join(put_elsewhere(self.kinds, self.desired, declared, kind, id, name))

    def _elsewhere(self, kind: Kind, address: Address, raw: Mapping[str, Any]) -> str | None:
        """The container in which an object was created instead of the declared one; None where it is in the declared one, or nothing shows
        it."""
        container = address.container
        declared = self.ids.get(container) if container is not None else None
        shown = kind.owner_of(raw)
        if declared is None or shown is None or shown == bare(declared):
            return None
        where = f"{kind.own_id(raw)} was created in {kind.within} {shown} instead of {bare(declared)}"
        return f"{where}: it is not tracked; delete it there or move it"

    def _observed(self, kind: Kind, address: Address, raw: Mapping[str, Any]) -> Observed:
        return observed(self.kinds, kind, raw, within=path_ids(self.kinds, address.container, self.ids.get))

    def _track(self, binding: Binding, observed: Observed) -> None:
        self.bindings[binding.address] = binding
        self.ids[binding.address] = binding.id
        self.addresses[binding.key] = binding.address
        self.expected.note_created(observed, self.writer.monotonic())


def is_altered(field: Field, value: Any, sent: Any) -> bool:
    """Whether the service stores a value differently from what it was sent; of a hosted copy, another URL is what is expected."""
    return not field.hosted and not field.same(value, sent, sent)


def altered(address: Address, field: Field, value: Any) -> str:
    """A sentence about a value that the service stores differently from what it was sent."""
    shape = repr(field.shown(value)) if not field.hides(value) else "another value"
    return f"{address}: the service keeps {field.name} as {shape}"


def renamed(binding: Binding, renames: Mapping[Address, Address]) -> Binding:
    """The binding under its new address, and where it was placed under the new one of that."""
    place = binding.place
    parent = renames.get(place.parent) if place is not None and place.parent is not None else None
    moved = replace(place, parent=parent) if place is not None and parent is not None else place
    return replace(binding, address=renames[binding.address], place=moved)


def not_transferred(kind: Kind, writes: Mapping[str, Any], raw: Mapping[str, Any]) -> str | None:
    """Why an object is not shown in the target container of its transfer; None where it is."""
    owner = kind.transferable
    now = owner.value_in(raw) if owner is not None else UNSET
    if owner is None or now == writes[owner.name]:
        return None
    return f"was not transferred: its {owner.name} is {now if now is not UNSET else 'not shown'}, not {writes[owner.name]}"


def not_taken(kind: Kind, writes: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, str]:
    """The fields that the response must show as they were sent and does not, each with a sentence. `seen`: what the response shows."""
    sentences = {}
    for name, sent in writes.items():
        field, value = kind.fields[name], seen[name]
        if not (field.exact and field.readable) or field.role is FieldRole.CHOICE or field.same(value, sent, sent):
            continue
        if field.sensitive:
            sentences[name] = f"the service did not return {name} as it was sent: not taken"
        else:
            answered = f"answered {name}: {value!r}" if value is not UNSET else f"does not show {name}"
            sentences[name] = f"the service {answered} where {sent!r} was sent: not taken"
    return sentences


def as_sent(kind: Kind, writes: Mapping[str, Any]) -> dict[str, Any]:
    """The written fields that can only be shown as they were sent."""
    return {name: value for name, value in writes.items() if kind.fields[name].readable and kind.fields[name].exact}


def shown(kind: Kind, seen: Mapping[str, Any]) -> dict[str, Any]:
    """The written fields as the response shows them."""
    return {name: value for name, value in seen.items() if value is not UNSET and kind.fields[name].role is not FieldRole.CHOICE}


def bound_as(desired: Desired, kind: Kind, address: Address, observed: Observed, writes: Mapping[str, Any], origin: Origin) -> Binding:
    """The binding of an object that was just created; *seen* is what the response shows of the fields that were sent."""
    declared = desired.resources.get(address)
    protect = declared.protect if declared is not None else None
    values = declared.values if declared is not None else {}
    local = {
        name: values[name] for name, field in kind.fields.items() if field.role is FieldRole.LOCAL and values.get(name, UNSET) is not UNSET
    }
    names = {*writes, *([kind.listed_by.name] if kind.listed_by is not None else [])}
    return Binding(
        address=address,
        kind=kind.name,
        id=observed.id,
        origin=origin,
        sent=kind.stored({**local, **desired.managed(address, writes)}, observed.id),
        seen=kind.stored({name: observed.values[name] for name in names if observed.values.get(name, UNSET) is not UNSET}, observed.id),
        protected=protect if protect is not None else kind.name in desired.protect,
    )
