"""Values that functions of Python make and read."""

import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ._endura import _expect_json

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


_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def _encode(value: Any) -> str:
    text = _text(value)
    _expect_json(value)
    return text


#: What ``dict`` and ``list`` are stored as: JSON text, which programs in other languages read as well. It refuses what would
#: not come back: NaN and the infinities, tuples, and keys that are no ``str``.
JSON: Codec[Any] = Codec("json", _encode, json.loads)
