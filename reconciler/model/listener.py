"""Who follows a run while it lasts."""

from __future__ import annotations

from reconciler.model.plan import Step, StepResult


class Listener:
    """Receives the events of a run, and by itself ignores them; its methods must not raise.

    It is one class for requests and steps, in the lowest room, because the one who shows them is imported by commands that need neither a
    client nor an apply.
    """

    def queued(self) -> None:
        """A request is to be sent as soon as the limits allow it; each retry is announced too."""

    def request(self, method: str, path: str, attempt: int) -> None:
        """A request is being sent, for the first time (1) or again. Its later events are reported in the same task. `path` has no query, so
        it contains no secret of one."""

    def answer(self, method: str, path: str, status: int | None, seconds: float) -> None:
        """The request was answered; `status` is None if it was not."""

    def read(self, objects: int) -> None:
        """So many objects were read that no earlier answer had shown."""

    def asking(self, people: int, requests: int) -> None:
        """So many people are asked what they can read, with at least so many requests."""

    def waiting(self, seconds: float, why: str) -> None:
        """Nothing is sent for `seconds`."""

    def planned(self, steps: int) -> None:
        """So many steps are to be done."""

    def began(self, step: Step) -> None:
        """A step is being done."""

    def ended(self, result: StepResult) -> None:
        """A step has its result."""

    def looking(self) -> None:
        """What was written is being read again."""

    def comparing(self, objects: int) -> None:
        """So many objects that were written are compared with what was read again."""


class Following(Listener):
    """Hears what another listener hears, after it. `before`: that one, which hears every event that a subclass does not have."""

    def __init__(self, before: Listener) -> None:
        self.before = before
        for name in vars(Listener):
            if not name.startswith("_") and getattr(type(self), name) is getattr(Listener, name):
                setattr(self, name, getattr(before, name))
