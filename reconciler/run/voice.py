"""What a run says while it lasts, to whoever asked for it. A terminal shows it, a server keeps the last of it, a test is silent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from reconciler.model import Listener, Step
from reconciler.text.masks import Masks


class Voice(Protocol):
    """Seven verbs. Questions are none of them: a run returns what needs an answer, and whoever asked for it asks people."""

    @property
    def masks(self) -> Masks:
        """The secrets of the run, which no output may show."""

    @property
    def listener(self) -> Listener:
        """Who hears of its requests and steps."""

    @property
    def about(self) -> dict[str, str | int]:
        """The facts of the run that its traces have."""

    def phase(self, what: str, steps: Sequence[Step] = (), *, where: str = "") -> AbstractContextManager[None]:
        """A part of the run, named in the present: `Reading acme-docs`. `steps`: those it applies. `where`: what it reads from."""

    def lasting(self, what: str) -> AbstractContextManager[None]:
        """A part of the run that sends no requests: it is named only if it takes long."""

    def stage(self, what: str) -> None:
        """The present stage of the phase."""

    def say(self, text: str, *, event: str = "message", **facts: Any) -> None:
        """A sentence. `event` and `facts`: its name and its data in a log."""

    def warn(self, text: str, *, id: str) -> None:
        """A warning, with the id of its cause."""

    def hide(self, values: Iterable[str]) -> None:
        """Mask these values from now on."""

    def waiting(self, seconds: float, why: str) -> None:
        """Nothing is sent for `seconds`. Raises nothing; a voice that nobody hears any more may end the run here."""
