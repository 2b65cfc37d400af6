"""Classes of Python that are stored as types of the library, so that programs in Rust and the command read them.

| class | recorded as | stored as |
| --- | --- | --- |
| ``datetime.date`` | ``datetime.date: i32`` | days since 1970-01-01 |
| ``datetime.datetime`` with a time zone | ``datetime.datetime: i64`` | microseconds since 1970-01-01 in UTC |
| ``datetime.datetime`` without one | ``datetime.naive: i64`` | microseconds since 1970-01-01 in its own time |
| ``uuid.UUID`` | ``uuid.UUID: [u8; 16]`` | its bytes |
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

#: The recorded name for a class, by its module and name, so that nothing is imported here that a program does not use.
CLASSES = {
    ("datetime", "date"): "datetime.date: i32",
    ("datetime", "datetime"): "datetime.datetime: i64",
    ("uuid", "UUID"): "uuid.UUID: [u8; 16]",
}


class StoredAs(NamedTuple):
    """Functions between objects and what is stored. A prefix of a tuple has its first fields, or is the first field."""

    store: Callable[[Any], Any]
    load: Callable[[Any], Any]
    store_prefix: Callable[[Any], Any]


def _dates() -> StoredAs:
    from datetime import date, datetime

    epoch = date(1970, 1, 1).toordinal()

    def store(value: Any) -> int:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise TypeError(f"a `datetime.date` is expected, not {_class(value)}")
        return value.toordinal() - epoch

    return StoredAs(store, lambda days: date.fromordinal(epoch + days), store)


def _datetimes(with_zone: bool) -> StoredAs:
    from datetime import datetime, timedelta, timezone

    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc if with_zone else None)

    def store(value: Any) -> int:
        if not isinstance(value, datetime):
            raise TypeError(f"a `datetime.datetime` is expected, not {_class(value)}")
        if (value.utcoffset() is not None) != with_zone:
            wanted, mended = ("with", "value.astimezone()") if with_zone else ("without", "value.replace(tzinfo=None)")
            other = "a map of `'datetime.naive: i64'` takes those without" if with_zone else "`datetime.datetime` takes those with"
            raise TypeError(f"a `datetime.datetime` {wanted} a time zone is expected, such as `{mended}`: {other}")
        # Those of pandas have nanoseconds.
        if getattr(value, "nanosecond", 0):
            raise ValueError("the time has nanoseconds, and microseconds are stored: round it first")
        since = value - epoch
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

    return StoredAs(store, lambda time: epoch + timedelta(microseconds=time), store)


def _uuids() -> StoredAs:
    from uuid import UUID

    def store(value: Any) -> bytes:
        if not isinstance(value, UUID):
            raise TypeError(f"a `uuid.UUID` is expected, not {_class(value)}")
        return value.bytes

    return StoredAs(store, lambda stored: UUID(bytes=stored), store)


_KNOWN: dict[str, Callable[[], StoredAs]] = {
    CLASSES["datetime", "date"]: _dates,
    CLASSES["datetime", "datetime"]: lambda: _datetimes(True),
    "datetime.naive: i64": lambda: _datetimes(False),
    CLASSES["uuid", "UUID"]: _uuids,
}


def _class(value: object) -> str:
    of = type(value)
    return of.__qualname__ if of.__module__ == "builtins" else f"{of.__module__}.{of.__qualname__}"


def stored_as(name: str) -> StoredAs | None:
    """The functions for a type with this recorded name; ``None`` if its objects are stored as they are."""
    if not any(known in name for known in _KNOWN):
        return None
    found, rest = _parsed(name)
    return None if rest else found


def _parsed(name: str) -> tuple[StoredAs | None, str]:
    """The functions for the type at the beginning of ``name``, and what is behind it."""
    for known, functions in _KNOWN.items():
        if name.startswith(known):
            return functions(), name[len(known) :]
    if name.startswith("(") and not name.startswith("()"):
        fields, rest = [], name
        while rest[:1] in ("(", ","):
            field, rest = _parsed(rest[1:].lstrip(" "))
            fields.append(field)
        return _tuple(fields), rest[1:]
    if begin := re.match("(Option|Reverse)<", name):
        inner, rest = _parsed(name[begin.end() :])
        return (_optional(inner) if begin[1] == "Option" else inner), rest[1:]
    # A newtype of a program: its name, and the type as which it is stored.
    if begin := re.match(r"[^,()<>\[\]]+?: ", name):
        return _parsed(name[begin.end() :])
    end = re.match(r"\(\)|[^,)>]*", name)
    return None, name[end.end() if end else 0 :]


def _optional(inner: StoredAs | None) -> StoredAs | None:
    if inner is None:
        return None
    store, load, _ = inner
    store_one = lambda value: None if value is None else store(value)
    return StoredAs(store_one, lambda stored: None if stored is None else load(stored), store_one)


def _tuple(fields: list[StoredAs | None]) -> StoredAs | None:
    if not any(fields):
        return None

    def store(value: Any) -> Any:
        # What is no tuple of so many fields is refused later.
        if not isinstance(value, tuple) or len(value) != len(fields):
            return value
        return tuple(part if of is None else of.store(part) for of, part in zip(fields, value))

    def load(stored: Any) -> Any:
        return tuple(part if of is None else of.load(part) for of, part in zip(fields, stored))

    def store_prefix(value: Any) -> Any:
        first = value if isinstance(value, tuple) else (value,)
        return tuple(part if of is None else of.store(part) for of, part in zip(fields, first)) + first[len(fields) :]

    return StoredAs(store, load, store_prefix)
