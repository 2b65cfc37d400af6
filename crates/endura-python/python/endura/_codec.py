"""Values that functions of Python make and read."""

import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar

_V = TypeVar("_V")


class Codec(Generic[_V]):
    """Values of any type: ``encode`` makes ``bytes`` of one, ``decode`` reads them. The pool records ``name``, so that a
    map of one codec is not opened with another.

    ``endura.Codec("pickle", pickle.dumps, pickle.loads)`` stores whatever ``pickle`` takes. (A program that unpickles a
    pool runs what somebody who could write the file has put there: the library does so only if it is told to.)
    """

    __slots__ = ("decode", "encode", "name")

    def __init__(self, name: str, encode: Callable[[_V], bytes | str], decode: Callable[[Any], _V]) -> None:
        self.name = name
        self.encode = encode
        self.decode = decode

    def __repr__(self) -> str:
        return f"endura.Codec({self.name!r})"


#: What ``dict`` and ``list`` are stored as: JSON text, which programs in other languages read as well. It refuses NaN and
#: the infinities, which are none.
JSON: Codec[Any] = Codec(
    "json",
    json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode,
    json.loads,
)
