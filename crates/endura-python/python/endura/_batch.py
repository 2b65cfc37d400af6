"""Several changes at once: batches, and transactions."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ._absent import ABSENT, Absent
from ._endura import Map

if TYPE_CHECKING:
    from ._endura import Parts, Run

_K = TypeVar("_K")
_V = TypeVar("_V")


class Changes(Generic[_K, _V]):
    """What a batch changes in one map: ``batch[map][key] = value``, ``del batch[map][key]``."""

    __slots__ = ("_map", "_parts")

    def __init__(self, parts: Parts, map: Map[_K, _V]) -> None:
        self._parts, self._map = parts, map

    def __setitem__(self, key: _K, value: _V) -> None:
        self._parts.put(self._map, key, value)

    def __delitem__(self, key: _K) -> None:
        self._parts.delete(self._map, key)


class Batch:
    """Changes of any maps of a pool that are made at once, at the end of a ``with`` statement, or by ``commit()``.

    After a crash all of them are there or none, and no other thread sees a part of them, except in an iteration outside of
    ``pool.read``. If the ``with`` statement ends by an exception, nothing is changed. A key that is deleted need not be
    there.
    """

    __slots__ = ("_parts",)
    # Without this, Python would iterate by `[0]`, `[1]` and so on.
    __iter__: ClassVar[None] = None

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __getitem__(self, map: Map[_K, _V]) -> Changes[_K, _V]:
        return Changes(self._parts, map)

    def expect(self, map: Map[_K, _V], key: _K, value: _V | Absent | None = ABSENT) -> None:
        """The commit changes nothing, and raises ``endura.Unmet``, unless ``key`` has this value before it.

        Without a value, or with ``endura.ABSENT``: unless it is absent.
        """
        self._parts.expect(map, key, value)

    def commit(self) -> None:
        """Makes all changes at once. The batch is empty then; after an exception it is as it was."""
        self._parts.commit()

    def clear(self) -> None:
        """Removes all changes."""
        self._parts.clear()

    def __len__(self) -> int:
        """The number of changes and expectations, as often as they were added."""
        return len(self._parts)

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self._parts.commit()


class Seen(Generic[_K, _V]):
    """One map in a transaction: ``tx[map][key]`` reads, assignments and ``del`` change at the end."""

    __slots__ = ("_map", "_run")
    # Without this, Python would iterate by `[0]`, `[1]` and so on.
    __iter__: ClassVar[None] = None

    def __init__(self, run: Run, map: Map[_K, _V]) -> None:
        self._run, self._map = run, map

    def __getitem__(self, key: _K) -> _V:
        value: Any = self._run.get(self._map, key, ABSENT)
        if value is ABSENT:
            raise KeyError(key)
        found: _V = value
        return found

    def get(self, key: _K, default: Any = None) -> Any:
        """The value of ``key``, or ``default``."""
        return self._run.get(self._map, key, default)

    def __contains__(self, key: _K) -> bool:
        return self._run.get(self._map, key, ABSENT) is not ABSENT

    def __setitem__(self, key: _K, value: _V) -> None:
        self._run.put(self._map, key, value)

    def __delitem__(self, key: _K) -> None:
        self._run.delete(self._map, key)


class Transaction:
    """What the function of ``pool.transact`` gets: ``tx[map]`` is a map in it. It is of use until the function returns."""

    __slots__ = ("_run",)
    # Without this, Python would iterate by `[0]`, `[1]` and so on.
    __iter__: ClassVar[None] = None

    def __init__(self, run: Run) -> None:
        self._run = run

    def __getitem__(self, map: Map[_K, _V]) -> Seen[_K, _V]:
        return Seen(self._run, map)


for _of in (Batch, Transaction):
    _of.__module__ = "endura"
