"""Dataclasses whose methods are made when the class is first used: whatever one does first, they are those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import pickle
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

import reconciler
from reconciler.dataclass import UNMADE, _Unmade, dataclass
from reconciler.errors import Problem

Decorator = Callable[..., Any]
FIRST_USES: dict[str, Callable[[Any], object]] = {
    "an object is made": lambda cls: repr(cls(1, second="b")),
    "objects are compared": lambda cls: (cls(1) == cls(1), cls(1) == cls(2), cls(1) == 1),
    "objects are sorted into a set": lambda cls: len({cls(1), cls(1), cls(2)}),
    "an object is replaced": lambda cls: dataclasses.replace(cls(1), first=2).first,
    "an object is copied": lambda cls: repr(copy.deepcopy(cls(1))),
    "its fields are listed": lambda cls: [(field.name, field.default) for field in dataclasses.fields(cls)],
    "it is asked whether it is a dataclass": dataclasses.is_dataclass,
    "its words are asked for": lambda cls: cls.__match_args__,
    "a field is changed": lambda cls: _raised(lambda: setattr(cls(1), "first", 2)),
    "a word is missing": lambda cls: _raised(cls),
    "a word is unknown": lambda cls: _raised(lambda: cls(1, third=3)),
    "it is inherited from": lambda cls: repr(_inherited(cls)(1, extra=2)),
    "it is inherited from without fields": lambda cls: repr(type("Plain", (cls,), {})(1)),
    "its init is called by one that inherits": lambda cls: repr(_calling(cls)(5)),
    "it is checked after it was made": lambda cls: _raised(lambda: cls(-1)),
    "its doc is read": lambda cls: cls.__doc__,
}


def _raised(run: Callable[[], object]) -> str:
    try:
        run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def _inherited(cls: Any) -> Any:
    @dataclass(frozen=True)
    class Inheriting(cls):  # type: ignore[misc]
        """One that inherits."""

        extra: int = 0

    return Inheriting


def _calling(cls: Any) -> Any:
    class Calling(cls):  # type: ignore[misc]
        def __init__(self, number: int) -> None:
            super().__init__(number, second="called")

    return Calling


def _decorated(decorator: Decorator) -> Any:
    @decorator(frozen=True)
    class Example:
        """A class with a bit of everything."""

        first: int
        second: str = "a"
        third: list[int] = dataclasses.field(default_factory=list, init=False, hash=False)
        count: ClassVar[int] = 0

        def __post_init__(self) -> None:
            if self.first < 0:
                raise ValueError("less than nothing")

    return Example


@pytest.mark.parametrize("use", FIRST_USES)
def test_whatever_is_done_first_does_what_the_standard_library_does(use: str) -> None:
    run = FIRST_USES[use]
    assert run(_decorated(dataclass)) == run(_decorated(dataclasses.dataclass))


def test_nothing_is_made_before_and_nothing_is_left_after() -> None:
    cls = _decorated(dataclass)
    assert all(isinstance(vars(cls)[name], _Unmade) for name in UNMADE)
    cls(1)
    assert not [name for name in vars(cls) if isinstance(vars(cls)[name], _Unmade)]
    assert set(vars(cls)) == set(vars(_decorated(dataclasses.dataclass)))


def test_a_class_with_slots_or_an_init_of_its_own_is_made_at_once() -> None:
    @dataclass(slots=True)
    class Slots:
        first: int

    @dataclass(eq=False)
    class Own:
        first: int

        def __init__(self) -> None:
            self.first = 3

    assert (repr(Slots(1)).endswith("Slots(first=1)"), Slots.__slots__, Own().first) == (True, ("first",), 3)


def test_without_words_it_is_a_plain_dataclass() -> None:
    @dataclass
    class Plain:
        """One without words."""

        first: int

    plain = Plain(1)
    plain.first = 2
    assert plain == Plain(2)


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty")
def test_threads_that_use_a_class_at_once_have_the_same_methods() -> None:
    for _ in range(100):
        cls = _decorated(dataclass)
        barrier, failed = threading.Barrier(8), list[BaseException]()

        def use(cls: Any = cls, barrier: threading.Barrier = barrier, failed: list[BaseException] = failed) -> None:
            barrier.wait()
            try:
                assert cls(1) == cls(1)
                assert len(dataclasses.fields(cls)) == 3
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []


def test_an_object_is_unpickled_where_its_class_was_not_used_yet() -> None:
    code = "import pickle, sys; print(repr(pickle.loads(bytes.fromhex(sys.argv[1]))))"
    problem = Problem("a.yaml", 1, 2, "wrong", id="RC-example")
    done = subprocess.run([sys.executable, "-c", code, pickle.dumps(problem).hex()], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(problem)


def test_every_dataclass_of_the_package_can_be_made() -> None:
    made = 0
    for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and value.__module__ == module.name and "__dataclass_fields__" in vars(value):
                made += len(dataclasses.fields(value)) > 0
    assert made > 300
