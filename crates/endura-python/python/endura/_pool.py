"""Pools, and how they are opened."""

from __future__ import annotations

import atexit
import builtins
import collections.abc
import logging  # noqa: F401
import os
import sys
import weakref
from typing import Any, TypeVar, overload

from . import _endura, _views  # noqa: F401
from ._batch import Batch, Transaction
from ._codec import Codec
from ._endura import Map
from ._errors import Forked
from ._stored import stored_as
from ._types import key_name, value_codec, value_name

# Three modules are imported here although only later calls need them. ``logging`` is for the events of a pool, whose thread
# may import nothing. It imports ``threading``, which takes the thread that imports it first for the main thread. ``_views``
# is needed by methods of maps, whose first call may come from a daemon thread while the interpreter ends.

_K = TypeVar("_K")
_V = TypeVar("_V")
_T = TypeVar("_T")



class _NotGiven:
    """The default of an argument that may be ``None``."""

    def __repr__(self) -> str:
        return "..."


_MISSING: Any = _NotGiven()
_open_pools: weakref.WeakSet[Pool] = weakref.WeakSet()

collections.abc.MutableMapping.register(Map)
collections.abc.Iterator.register(_endura.Iterator)
os.register_at_fork(after_in_child=_endura._after_fork)


class Pool(_endura.Pool):
    """A file with maps. ``endura.open(path)`` opens one, or creates it. In a ``with`` statement it is closed at the end.

    ``pool.map(name, key, value)`` opens a map of it. ``pool.closed`` says whether the pool was closed.
    """

    __slots__ = ()

    # The class in Rust opens the pool. The arguments are here for `help()`.
    def __init__(
        self,
        path: str | bytes | os.PathLike[Any],
        *,
        read_only: bool = False,
        create: bool = True,
        timeout: float | None = 0.0,
        max_size: int | None = None,
        checkpoints: bool | float | None = None,
        checkpoint_file: str | bytes | os.PathLike[Any] | None = None,
        checkpoint_must_exist: bool = False,
        restore: bool = True,
        accept_unclean: bool = False,
        allow_any_filesystem: bool = False,
    ) -> None:
        """The arguments are those of ``endura.open``."""
        _open_pools.add(self)

    @overload
    def map(self, name: str) -> Map[Any, Any]: ...
    @overload
    def map(self, name: str, key: type[_K], value: type[_V], *, kind: str | None = None) -> Map[_K, _V]: ...
    @overload
    def map(self, name: str, key: type[_K], value: Codec[_V], *, kind: str | None = None) -> Map[_K, _V]: ...
    @overload
    def map(self, name: str, key: type[_K], value: None, *, kind: str | None = None) -> Map[_K, None]: ...
    @overload
    def map(self, name: str, key: Any, value: Any, *, kind: str | None = None) -> Map[Any, Any]: ...
    def map(self, name: str, key: Any = _MISSING, value: Any = _MISSING, *, kind: str | None = None) -> Map[Any, Any]:
        """The map of this name, with keys and values of these types; it is created if it does not exist.

        Without types an existing map is opened, with the types that it has. ``kind`` is the index of a new map:
        ``"FastFair"``, ``"NbTree"`` or ``"Roart"``, each for any types.
        """
        if (key is _MISSING) != (value is _MISSING):
            raise TypeError("give both types, or neither to open a map as it is")
        types = None
        if key is not _MISSING:
            recorded, codec = value_name(value)
            types = recorded_types = (key_name(key), recorded)
        else:
            found = self.maps().get(name)
            codec = value_codec(found["value_type"]) if found else None
            recorded_types = (found["key_type"], found["value_type"]) if found else ("", "")
        stored = stored_as(recorded_types[0]), None if codec else stored_as(recorded_types[1])
        return self._map(name, types, (codec.encode, codec.decode) if codec else None, kind, stored)

    def batch(self) -> Batch:
        """Changes of any maps of this pool that are made at once, at the end of a ``with`` statement."""
        return Batch(self._parts())

    def transact(self, run: collections.abc.Callable[[Transaction], _T]) -> _T:
        """Runs ``run``, which reads and changes keys through the ``Transaction`` that it gets, and makes all changes at once.

        If another thread has changed what ``run`` has read, nothing is changed, and ``run`` runs again. If it raises an
        exception, nothing is changed. Returns what ``run`` returns.
        """
        return self._transact(lambda own: run(Transaction(own)))


def open(
    path: str | bytes | os.PathLike[Any],
    *,
    read_only: bool = False,
    create: bool = True,
    timeout: float | None = 0.0,
    max_size: int | None = None,
    checkpoints: bool | float | None = None,
    checkpoint_file: str | bytes | os.PathLike[Any] | None = None,
    checkpoint_must_exist: bool = False,
    restore: bool = True,
    accept_unclean: bool = False,
    allow_any_filesystem: bool = False,
) -> Pool:
    """Opens the pool at ``path`` (a ``str``, ``bytes`` or an ``os.PathLike``), or creates it.

    ``read_only``: nothing is written. Any number of processes may read a pool that no process writes.
    ``create``: create the pool if it does not exist (default).
    ``timeout``: seconds to wait for a pool that is open already; 0 by default, ``None`` for ever.
    ``max_size``: bytes to which the pool may grow while it is open; 1 TiB by default.
    ``checkpoints``: seconds between two checkpoints, from 0.001 on; 0 for those that ``pool.checkpoint()`` and the close
    make; ``True`` as the pool was left, ``False`` for none. By default as the pool was left, and every 30 seconds for a new
    one on a disk.
    ``checkpoint_file``: the file of the checkpoints of this pool and of no other; by default ``<path>.checkpoint``. A new
    pool with the checkpoint of another is refused.
    ``checkpoint_must_exist``: fail if there is no checkpoint in that file, because its disk may not be mounted yet. The
    pool can then neither be new nor be without a checkpoint.
    ``restore``: take a pool that a power loss has torn back to its last checkpoint (default).
    ``accept_unclean``: open a pool that may be torn, if a check of all of it finds no damage.
    ``allow_any_filesystem``: open the pool even on a file system where that is not safe, such as NFS.
    """
    return Pool(
        path,
        read_only=read_only,
        create=create,
        timeout=timeout,
        max_size=max_size,
        checkpoints=checkpoints,
        checkpoint_file=checkpoint_file,
        checkpoint_must_exist=checkpoint_must_exist,
        restore=restore,
        accept_unclean=accept_unclean,
        allow_any_filesystem=allow_any_filesystem,
    )


Pool.__module__ = open.__module__ = "endura"


def _holder(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """Who has the pool at ``path`` open, as the beginning of a sentence, and whether that is this process."""
    elsewhere = "the pool is open elsewhere", False
    try:
        facts = os.stat(path)
    except OSError:
        return elsewhere
    for pool in list(_open_pools):
        try:
            if pool._is_open_here() and os.path.samestat(facts, os.stat(pool.path)):
                return f"this process has the pool open already, as {pool!r}", True
        except OSError:
            pass
    who = _process_with_lock(facts)
    if who is None:
        return elsewhere
    if who == os.getpid():
        return "this process has the pool open already", True
    return f"process {who} has the pool open", False


def _process_with_lock(facts: os.stat_result) -> int | None:
    """The process that has locked this file, if the kernel tells: there may be several, or one that is not seen from here."""
    try:
        with builtins.open("/proc/locks") as locks:
            lines = [line.split() for line in locks]
    except OSError:
        return None
    file = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    found = {line[4] for line in lines if len(line) > 5 and line[1] == "FLOCK" and line[5] == file}
    return int(found.pop()) if len(found) == 1 and all(pid.isdigit() and pid != "0" for pid in found) else None


@atexit.register
def _close_all() -> None:
    for pool in list(_open_pools):
        try:
            pool.close()
        except Forked:
            # The pool belongs to the parent of this process.
            pass
        except Exception as error:
            # There is no caller that could get the exception.
            print(f"endura: {pool.path}: {error}", file=sys.stderr)
    _endura._end_events()
