"""Views of maps: what ``keys``, ``values`` and ``items`` return."""

from __future__ import annotations

import collections.abc as abc
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from ._endura import Map

_T = TypeVar("_T")
_MISSING: Any = object()


class _View:
    """A view of a whole map."""

    __slots__ = ()
    _mapping: Map[Any, Any]
    _part: ClassVar[str]

    def __iter__(self) -> abc.Iterator[Any]:
        return self._mapping._range(self._part, None, None, None, (True, True), False)

    def __reversed__(self) -> abc.Iterator[Any]:
        return self._mapping._range(self._part, None, None, None, (True, True), True)

    def __repr__(self) -> str:
        return f"<endura {self._part} of {self._mapping!r}>"


class KeysView(_View, abc.KeysView[Any]):
    __slots__ = ()
    _part = "keys"


class ValuesView(_View, abc.ValuesView[Any]):
    __slots__ = ()
    _part = "values"


class ItemsView(_View, abc.ItemsView[Any, Any]):
    __slots__ = ()
    _part = "items"

    def __contains__(self, item: Any) -> bool:
        key, value = item
        found = self._mapping.get(key, _MISSING)
        return found is not _MISSING and (found is value or bool(found == value))


class Range(abc.Reversible[_T]):
    """A part of a map. It can be iterated any number of times, and has no length: ``map.count`` counts its entries."""

    __slots__ = ("_arguments", "_mapping", "_part", "_reverse")

    def __init__(
        self,
        mapping: Map[Any, Any],
        part: str,
        start: Any,
        stop: Any,
        prefix: Any,
        inclusive: tuple[bool, bool],
        reverse: bool,
    ) -> None:
        self._mapping = mapping
        self._part = part
        self._arguments = (start, stop, prefix, inclusive)
        self._reverse = reverse
        # A bound of a wrong type fails here, not at the first step.
        iter(self)

    def __iter__(self) -> abc.Iterator[_T]:
        return self._mapping._range(self._part, *self._arguments, self._reverse)

    def __reversed__(self) -> abc.Iterator[_T]:
        return self._mapping._range(self._part, *self._arguments, not self._reverse)

    def __repr__(self) -> str:
        return f"<endura {self._part} of a range of {self._mapping!r}>"


def equal(mapping: Map[Any, Any], other: object) -> Any:
    """``mapping == other``, as ``Mapping`` defines it, without a second copy of the entries."""
    if not isinstance(other, abc.Mapping):
        return NotImplemented
    if len(mapping) != len(other):
        return False
    entries = other if type(other) is dict else dict(other.items())
    for key, value in mapping.items():
        found = entries.get(key, _MISSING)
        if found is _MISSING or not found == value:
            return False
    return True


def merged(first: Any, second: Any, other: object) -> Any:
    """``first | second``, of which ``other`` is the one that may be no mapping. The result is a ``dict``."""
    if not isinstance(other, abc.Mapping):
        return NotImplemented
    entries = dict(first.items())
    entries.update(second.items())
    return entries
