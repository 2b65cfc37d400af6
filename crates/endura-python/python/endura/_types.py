"""The names that a pool records for types of Python."""

import types
import typing
from typing import Any

from ._codec import JSON, Codec
from ._stored import CLASSES

_NAMES: dict[Any, str] = {
    str: "str",
    bytes: "[u8]",
    int: "i64",
    float: "f64",
    bool: "bool",
    None: "()",
    type(None): "()",
}

_KNOWN = (
    "str, bytes, int, float, bool, None, datetime.date, datetime.datetime, uuid.UUID, tuple[...] and T | None of these, dict and list for values, an endura.Codec, or a "
    "name that a pool records, such as 'u64'"
)


def key_name(of: Any) -> str:
    """The recorded name of a type of keys."""
    if isinstance(of, Codec) or of in (dict, list):
        raise TypeError(f"{of!r} is a type of values: keys have an order, which JSON and codecs do not keep")
    return _name(of)


def value_name(of: Any) -> tuple[str, Codec[Any] | None]:
    """The recorded name of a type of values, and its codec, if it has one."""
    codec = value_codec(of)
    return (codec.name, codec) if codec else (_name(of), None)


def value_codec(of: Any) -> Codec[Any] | None:
    """The codec of a type of values, if it has one."""
    if isinstance(of, Codec):
        return of
    if of is dict or of is list or typing.get_origin(of) in (dict, list):
        return JSON
    if isinstance(of, str) and (of == "json" or of.startswith("json<")):
        return Codec(of, JSON.encode, JSON.decode)
    return None


def _name(of: Any) -> str:
    if isinstance(of, str):
        return of
    try:
        return _NAMES[of]
    except (KeyError, TypeError):
        pass
    if isinstance(of, type) and (name := CLASSES.get((of.__module__, of.__qualname__))):
        return name
    origin, arguments = typing.get_origin(of), typing.get_args(of)
    if origin is tuple and 2 <= len(arguments) <= 4 and Ellipsis not in arguments:
        return "(" + ", ".join(map(_name, arguments)) + ")"
    if origin in (types.UnionType, typing.Union) and len(arguments) == 2 and type(None) in arguments:
        return f"Option<{_name(next(one for one in arguments if one is not type(None)))}>"
    raise TypeError(f"{of!r} is not a type of a map; these are: {_KNOWN}")
