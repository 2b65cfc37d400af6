"""Codecs: values that functions of Python encode and decode."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._endura import _expect_json

if TYPE_CHECKING:
    from typing_extensions import Buffer

_V = TypeVar("_V")


class Codec(Generic[_V]):
    """Values of any type: ``encode`` makes ``bytes`` from a value (or a ``str``, or anything with a buffer, such as
    ``BytesIO.getbuffer()``), and ``decode`` makes the value from ``bytes``. The pool records ``name``, so that a map of one
    codec is not opened with another.

    ``endura.Codec("pickle", pickle.dumps, pickle.loads)`` stores whatever ``pickle`` takes. (Unpickling runs code that
    anybody who can write the file may have put there. The library unpickles only with a codec that a program gives it.)
    """

    __slots__ = ("decode", "encode", "name")

    def __init__(self, name: str, encode: "Callable[[_V], Buffer | str]", decode: Callable[[Any], _V]) -> None:
        self.name = name
        self.encode = encode
        self.decode = decode

    def __repr__(self) -> str:
        return f"endura.Codec({self.name!r})"


Codec.__module__ = "endura"
_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def _encode(value: Any) -> str:
    text = _text(value)
    _expect_json(value)
    return text


#: The codec of ``dict`` and ``list``: JSON text, which programs in other languages can read too. It refuses what would not
#: come back as it was: NaN and the infinities, tuples, and keys that are not ``str``.
JSON: Codec[Any] = Codec("json", _encode, json.loads)
