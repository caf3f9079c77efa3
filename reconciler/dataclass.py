"""The standard library's dataclasses, with methods generated when a class is first used: a command uses few of the classes it imports.

Generating the methods of a class takes half a millisecond, which for two hundred classes is longer than most commands run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

UNMADE: Final = ("__init__", "__dataclass_fields__", "__match_args__", "__setstate__")
"""The attributes that are read first: to create an object, to inherit from the class or inspect it, to match it, to unpickle an object."""

_lock = RLock()


class _Unmade:
    """An attribute of a class whose methods are not generated yet: reading it generates them."""

    def __init__(self, name: str, cls: type, words: Mapping[str, Any]) -> None:
        self.name, self.cls, self.words = name, cls, words

    def __get__(self, instance: object | None, owner: type) -> Any:
        with _lock:
            if isinstance(vars(self.cls)["__init__"], _Unmade):  # no other thread was faster
                _make(self.cls, self.words)
        if self.name not in vars(self.cls):
            raise AttributeError(self.name)
        made = vars(self.cls)[self.name]  # of this class, although `super().__init__` may ask for an object of another
        return made.__get__(instance, owner) if hasattr(made, "__get__") else made


def _make(cls: Any, words: Mapping[str, Any]) -> None:
    """Generate the methods of a class, and its `__init__` last: until it exists, other threads wait, so no object is created."""
    del cls.__match_args__  # dataclasses replaces no attribute that exists
    dataclasses.dataclass(**{**words, "init": False})(cls)
    heir: Any = type(
        cls.__name__, (cls,), {name: vars(cls)[name] for name in ("__module__", "__doc__")} | {"__qualname__": cls.__qualname__}
    )
    cls.__init__ = dataclasses.dataclass(**{**words, "repr": False, "eq": False, "order": False})(heir).__init__
    del cls.__setstate__


def _later(cls: type, words: Mapping[str, Any]) -> type:
    for name in UNMADE:
        setattr(cls, name, _Unmade(name, cls, words))
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **words: Any) -> Any:
        """`dataclasses.dataclass`, same arguments. With `slots`, its own `__init__` or no docstring, the methods are generated at once."""
        if cls is None:
            return lambda cls: dataclass(cls, **words)
        at_once = words.get("slots") or "__init__" in vars(cls) or not cls.__doc__
        return dataclasses.dataclass(**words)(cls) if at_once else _later(cls, words)
