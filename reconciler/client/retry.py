"""Classify outcomes: whether the request was carried out, whether to retry, and which error is raised at the end.

In: the retry class of an operation and its result. Out: verdicts and error classes.
Forbidden: I/O, clocks and randomness; time and jitter are arguments.

Own code, because retry libraries (tenacity) know success and failure only; a create whose answer is lost is neither, and is not repeated.

| outcome                            | READ           | IDEMPOTENT          | CREATE    |
|------------------------------------|----------------|---------------------|-----------|
| 2xx                                | done           | done                | done      |
| 2xx, complete but unreadable       | again          | ambiguous           | ambiguous |
| 3xx, too large, unheard-of status  | failed         | ambiguous           | ambiguous |
| 4xx but for the next two           | refused        | refused             | refused   |
| 408, 5xx, timeout, broken off      | again          | again, then doubt   | ambiguous |
| 429, provably not sent             | again          | again               | again     |

Once an attempt may have been carried out, the write stays in doubt whatever the answers to later attempts (a second move may be refused
*because* the first one was done), except for a delete that finds nothing: the object is deleted.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, Literal, assert_never

from reconciler.errors import Ambiguous, NotFound, Rejected, ServiceError, Unavailable

ATTEMPTS_MAX: Final = 4
WINDOW_MAX: Final = 90.0  # seconds of refusals only, after which a 429 counts as an attempt: limits are mostly for a minute
REFUSALS_MAX: Final = 60  # 429s of one request, after which each counts as an attempt also while others are accepted
BACKOFF_FIRST: Final = 1.0  # seconds, doubled each time; a load balancer needs about this long to notice a dead instance
BACKOFF_MAX: Final = 30.0  # seconds
BUDGET_SHARE: Final = 0.2  # retries per request sent so far: an outage must not multiply the load
BUDGET_MIN: Final = 20  # retries that are always allowed
BREAKER_FAILURES: Final = 10  # in a row
BREAKER_COOL: Final = 30.0  # seconds until one request may try again


class RetryClass(Enum):
    """A property of the operation, not of its HTTP method: each `PUT` of a team creates another team."""

    # Sent again whatever happened: it changes nothing.
    READ = auto()
    # Sent again if it may have been carried out, because a second time makes no difference. In doubt it stays all the same: somebody else
    # may have changed the object between the two.
    IDEMPOTENT = auto()
    # Never sent again if it may have been carried out: there would be two. `apply.recover` looks for the object instead.
    CREATE = auto()


class AttemptFault(Enum):
    """Why there is no usable answer."""

    NOT_SENT = auto()  # proven: no connection was opened for it
    BROKEN = auto()  # a reset, a truncated answer or a timeout: it may have arrived
    UNREADABLE = auto()  # a complete 2xx that is not JSON
    TOO_LARGE = auto()  # a 2xx above the size limit


# The effect of an attempt on the service.
Effect = Literal["done", "nothing", "unknown"]

Result = int | AttemptFault  # a status with a readable body (any body outside 2xx), or why there is none

Verdict = tuple[Effect, bool]  # of one attempt; and whether a retry is safe and may help

_DONE: Final[Verdict] = ("done", False)
_NOTHING: Final[Verdict] = ("nothing", False)
_NOTHING_AGAIN: Final[Verdict] = ("nothing", True)
_UNKNOWN: Final[Verdict] = ("unknown", False)
_UNKNOWN_AGAIN: Final[Verdict] = ("unknown", True)


def classify(retry: RetryClass, result: Result) -> Verdict:
    """The table above, for one attempt: its effect, and whether a retry is safe and may help."""
    reading = retry is RetryClass.READ
    match result:
        # A 429 refuses before anything is done, which is what a rate limit is for.
        case AttemptFault.NOT_SENT | 429:
            return _NOTHING_AGAIN
        case AttemptFault.UNREADABLE:
            return _NOTHING_AGAIN if reading else _UNKNOWN
        # The same object will be too large the next time too.
        case AttemptFault.TOO_LARGE:
            return _NOTHING if reading else _UNKNOWN
        case AttemptFault.BROKEN:
            pass
        case int() if 200 <= result <= 299:
            return _DONE
        # The service understood the request and refused it. A 408 is a timeout of whoever is in between, so it says nothing.
        case int() if 400 <= result <= 499 and result != 408:
            return _NOTHING
        # A redirect, or a status that nobody has heard of: what the server did before it answered so is anybody's guess.
        case int() if result != 408 and not 500 <= result <= 599:
            return _NOTHING if reading else _UNKNOWN
        case int():
            pass
        case _ as never:
            assert_never(never)
    match retry:
        case RetryClass.READ:
            return _NOTHING_AGAIN
        case RetryClass.IDEMPOTENT:
            return _UNKNOWN_AGAIN
        case RetryClass.CREATE:
            return _UNKNOWN
        case _ as never_retry:
            assert_never(never_retry)


def error_for(retry: RetryClass, method: str, result: Result, *, in_doubt: bool) -> type[ServiceError]:
    """The error that ends a request with the last result `result`; `in_doubt`: one of its attempts may have been carried out."""
    # A delete that finds nothing ends all doubt: whichever attempt it was, the object is deleted.
    if in_doubt and not (method == "DELETE" and result == 404):
        return Ambiguous
    match result:
        case 404:
            return NotFound
        case AttemptFault.UNREADABLE | AttemptFault.TOO_LARGE:
            return ServiceError
        case AttemptFault():
            return Unavailable
        case 408 | 429:
            return Unavailable
        case _ if 400 <= result <= 499:
            return Rejected
        case _ if 500 <= result <= 599:
            return Unavailable
        case _:
            return ServiceError


def cause_of(result: Result) -> str:
    """The id of the cause of a request's last result `result`, if it is known that nothing was done."""
    match result:
        case AttemptFault.NOT_SENT:
            return "RC-service-unreachable"
        case AttemptFault.BROKEN:
            return "RC-no-response"
        case AttemptFault.TOO_LARGE:
            return "RC-response-too-large"
        case 401:
            return "RC-token-refused"
        case 402:
            return "RC-payment-required"
        case 403:
            return "RC-not-permitted"
        case 404:
            return "RC-object-not-found"
        case 429:
            return "RC-rate-limited"
        case 409 | 412:
            return "RC-request-conflict"
        case int() if result == 408 or 500 <= result <= 599:
            return "RC-service-failing"
        case int() if 400 <= result <= 499:
            return "RC-request-refused"
        case _:
            return "RC-response-unusable"


def is_failure(result: Result) -> bool:
    """Whether the circuit breaker counts `result` as a failure of the service. A 429 counts neither way; see `is_sign_of_life`."""
    return isinstance(result, AttemptFault) or result == 408 or result >= 500


def is_sign_of_life(result: Result) -> bool:
    """Whether the service answered as a healthy one does."""
    return not is_failure(result) and result != 429


def backoff(attempt: int, jitter: float) -> float:
    """Seconds to wait after the attempt-th failure (from 1): full jitter, `jitter` in [0, 1)."""
    # From 0 and not from a half: what failed together must not be sent again together ("Exponential Backoff And Jitter", AWS, 2015).
    return jitter * min(BACKOFF_MAX, BACKOFF_FIRST * 2.0 ** (attempt - 1))


class RetryBudget:
    """Retries allowed so far, relative to the requests sent. 429s are not counted: the gate slows those down."""

    def __init__(self) -> None:
        self._retries = 0

    def grant(self, requests: int) -> bool:
        """Whether one more retry may be sent after `requests` requests; counts it if so."""
        if self._retries >= max(BUDGET_MIN, BUDGET_SHARE * requests):
            return False
        self._retries += 1
        return True


class Breaker:
    """Stops sending requests to a service that is down. Open after 10 failures in a row; every 30 s one request is sent as a test.

    Failures of requests that were in flight at the first failure count as one with it: a single reset that breaks 64 connections is one
    failure, not an outage.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._row_began = 0.0
        self._next_try: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests are refused."""
        return self._next_try is not None

    def allows(self, now: float) -> bool:
        """Whether a request may be sent at `now`; True while it is open makes this request the test."""
        if self._next_try is None:
            return True
        if now < self._next_try:
            return False
        self._next_try = now + BREAKER_COOL
        return True

    def record(self, result: Result, *, sent: float, now: float) -> None:
        """Record the result of a request sent at `sent` and ended at `now`."""
        if is_sign_of_life(result):
            self._failures, self._next_try = 0, None
        elif is_failure(result):
            if self._failures == 0:
                self._failures, self._row_began = 1, now
            # Only a request that was sent after the first failure is another sign; see above.
            elif sent >= self._row_began:
                self._failures += 1
            if self._failures >= BREAKER_FAILURES and self._next_try is None:
                self._next_try = now + BREAKER_COOL
