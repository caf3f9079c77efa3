"""Read, write and read back until the comments are as `upkeep` requires, one job at a time where the forge has an object for that.

In a turn of its own, one reading after the last write is enough. A killed job's turn ends after a minute. Without one, another job may have
read the comment before this job's write and write it afterwards, so it is read a second time, later than such a write can happen: a write
never uses data older than `FRESH` seconds. A part of a later run than this job's is left unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from reconciler.features.forges.comment.part import CommentPart, Run
from reconciler.features.forges.comment.upkeep import (
    Claim,
    CommentAction,
    CommentMode,
    OurComment,
    Upkeep,
    claims,
    numbered,
    upkeep,
)
from reconciler.features.forges.port import BlockingClock, Busy, Forge, ForgeError, TryAgain, Turns

# -- Turns ---------------------------------------------------------------------------------------------------------------------------

EXPIRY: Final = 60.0  # seconds after which another job may take over a turn
MARGIN: Final = 25.0  # seconds before that in which its owner no longer relies on it; more than a request takes
PATIENCE: Final = 120.0  # seconds of waiting for a turn; then the job continues without one


@dataclass(frozen=True)
class Turn:
    """`since`: when it began; None without a turn."""

    clock: BlockingClock
    since: float | None

    @property
    def exclusive(self) -> bool:
        """Whether no other job can write now."""
        return self.since is not None and self.clock.monotonic() - self.since < EXPIRY - MARGIN


@contextmanager
def turn(forge: Forge, clock: BlockingClock) -> Iterator[Turn]:
    """Wait for a turn, and end it."""
    turns = forge.turns
    taken = _taken(turns, clock) if turns is not None else None
    try:
        yield Turn(clock, None if taken is None else taken[1])
    finally:
        if turns is not None and taken is not None:
            with suppress(ForgeError):
                turns.free(taken[0])


def _taken(turns: Turns, clock: BlockingClock) -> tuple[int, float] | None:
    """The turn, and when it was requested; None if the token may not take one."""
    ends, pause = clock.monotonic() + PATIENCE, 0.3
    while clock.monotonic() < ends:
        # The turn counts from before the request: the forge may have created the reaction long before its answer arrived.
        asked = clock.monotonic()
        try:
            answer = turns.take()
        except TryAgain:
            continue
        if not isinstance(answer, Busy):
            return None if answer is None else (answer, asked)
        # Its owner was killed, or it has noticed by itself that its turn is over (`exclusive`).
        if answer.seconds > EXPIRY:
            with suppress(ForgeError):
                turns.free(answer.id)
        clock.sleep(pause * (0.5 + clock.chance()))
        pause = min(3.0, pause * 1.5)
    return None


# -- Comments ------------------------------------------------------------------------------------------------------------------------

ROUNDS: Final = 20
FRESH: Final = 5.0  # seconds from the beginning of a read in which its result is written, or twice as long as the read took
SETTLED: Final = 8.0  # seconds until the second read without a turn, plus a random delay
ASKED_MAX: Final = 50  # runs that the forge is asked for
UNSEEN: Final = 3  # reads in which a new comment may be missing


@dataclass(frozen=True)
class UpkeepResult:
    """The result. `writes`: their number. `superseded`, `short`: as in `Upkeep`. `refused`: parts of runs that the forge does not confirm:
    False if there were none, None if the token may not know."""

    writes: int
    superseded: tuple[CommentPart, ...]
    short: int
    refused: Mapping[Claim, bool | None] = field(default_factory=dict)


def keep(forge: Forge, mine: Sequence[CommentPart], mode: CommentMode, clock: BlockingClock) -> UpkeepResult:
    """Write the parts of a job to their comments. Raises `ForgeError`, and `TooLong` of the comment's body."""
    known, runs = forge.comments(), Runs(forge)
    # Most jobs find their part as it should be. They need no turn, so they delay nobody.
    due = upkeep(known, numbered(known, mine), mode, refused=runs.refused(known, mine))
    if not due.actions:
        return UpkeepResult(0, due.superseded, due.short)
    with turn(forge, clock) as own:
        return _Keeping(forge, mine, mode, clock, own, runs).run()


class Runs:
    """What the forge says about the runs that parts claim; each is asked for once."""

    def __init__(self, forge: Forge) -> None:
        self._forge, self._known = forge, dict[Run, bool | None]()
        self.unconfirmed: dict[Claim, bool | None] = {}

    def refused(self, known: Sequence[OurComment], mine: Sequence[CommentPart]) -> Collection[Claim]:
        """The parts that keep out one of the job's, of runs that the forge does not confirm."""
        for claim in claims(known, mine):
            run = claim[1]
            if run not in self._known:
                # A comment can claim any number of runs, and each question is a request.
                self._known[run] = self._forge.has_run(run) if len(self._known) < ASKED_MAX else None
            if self._known[run] is not True:
                self.unconfirmed[claim] = self._known[run]
        return self.unconfirmed


class _Keeping:
    def __init__(self, forge: Forge, mine: Sequence[CommentPart], mode: CommentMode, clock: BlockingClock, own: Turn, runs: Runs) -> None:
        self.forge, self.mine, self.mode, self.clock, self.turn, self.runs = forge, mine, mode, clock, own, runs
        self.tried = self.writes = 0
        self.created: dict[int, int] = {}  # a new comment of this job that no read has shown yet, and in how many it was missing
        self.began = self.took = 0.0  # the last read

    def run(self) -> UpkeepResult:
        settled = False
        trouble: ForgeError | None = None
        for number in range(ROUNDS):
            known = self._read()
            if number == 0:
                self.mine = numbered(known, self.mine)
            refused = self.runs.refused(known, self.mine)
            due = upkeep(known, self.mine, self.mode, written=self.writes > 0, refused=refused)
            if not due.actions:
                if self.turn.exclusive or settled or not self.tried:
                    return UpkeepResult(self.writes, due.superseded, due.short, self.runs.unconfirmed)
                settled = True
                self.clock.sleep(max(SETTLED, 2 * self.took + SETTLED - FRESH) + FRESH * self.clock.chance())
                continue
            settled = False
            try:
                self._do(due)
            except TryAgain as error:
                trouble = error
            # Without a turn the jobs of one push meet again and again; each steps aside for a random while, longer every time.
            if not self.turn.exclusive:
                self.clock.sleep(min(8.0, 0.25 * 1.5**number) * (0.5 + self.clock.chance()))
        hint = "Run it again, or use --separate so that each project has a comment of its own."
        raise ForgeError(trouble.message if trouble else "other jobs keep writing the comment", id="RC-comment-contended", hint=hint)

    def _read(self) -> Sequence[OurComment]:
        """The comments; waits for those that this job has just created."""
        while True:
            self.began = self.clock.monotonic()
            known = self.forge.comments()
            self.took = self.clock.monotonic() - self.began
            # A list may lag behind a create. Without waiting, the comment that is missing from it would be created a second time.
            shown = {item.id for item in known}
            self.created = {id: missing + 1 for id, missing in self.created.items() if id not in shown and missing + 1 < UNSEEN}
            if not self.created:
                return known
            self.clock.sleep(1.0 + self.clock.chance())

    def _do(self, due: Upkeep) -> None:
        for action in due.actions:
            # What was read too long ago is not written: another job's part, written meanwhile, would be lost with it.
            if not self.turn.exclusive and self.clock.monotonic() - self.began > max(FRESH, 2 * self.took):
                return
            self.tried += 1
            self._execute(action)
            self.writes += 1

    def _execute(self, action: CommentAction) -> None:
        match action.verb:
            case "create":
                self.created[self.forge.create(action.body)] = 0
            case "update":
                self.forge.update(action.id, action.body)
            case "delete":
                self.forge.delete(action.id)
            case "hide" | "reveal":
                if self.forge.hide is not None:
                    self.forge.hide(action.id, action.verb == "hide")
