"""The standard library's dataclasses, whose methods are made when a class is first used: a command uses few of the classes that it imports.

Making the methods of a class takes half a millisecond, which for two hundred classes is longer than most commands run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

UNMADE: Final = ("__init__", "__dataclass_fields__", "__match_args__", "__setstate__")
"""What a class is asked for first: to make an object, to be inherited from or taken apart, to be matched, to unpickle an object."""

_lock = RLock()


class _Unmade:
    """An attribute of a class whose methods are not made yet: asking for it makes them."""

    def __init__(self, name: str, cls: type, words: Mapping[str, Any]) -> None:
        self.name, self.cls, self.words = name, cls, words

    def __get__(self, instance: object | None, owner: type) -> Any:
        with _lock:
            if vars(self.cls).get(self.name) is self:  # no other thread was faster
                for name in UNMADE:
                    delattr(self.cls, name)
                dataclasses.dataclass(**self.words)(self.cls)
        if self.name not in vars(self.cls):
            raise AttributeError(self.name)
        made = vars(self.cls)[self.name]  # of this class, although `super().__init__` may ask for an object of another
        return made.__get__(instance, owner) if hasattr(made, "__get__") else made


def _later(cls: type, words: Mapping[str, Any]) -> type:
    for name in UNMADE:
        setattr(cls, name, _Unmade(name, cls, words))
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **words: Any) -> Any:
        """`dataclasses.dataclass`, with the same words. With `slots`, or an `__init__` of its own, it is made at once."""
        if cls is None:
            return lambda cls: dataclass(cls, **words)
        at_once = words.get("slots") or "__init__" in vars(cls)
        return dataclasses.dataclass(**words)(cls) if at_once else _later(cls, words)
