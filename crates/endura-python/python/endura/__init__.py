"""A persistent ordered map that you open instead of load.

    import endura

    with endura.open("data.endura") as pool:
        births = pool.map("births", str, int)
        births["ada"] = 1815
        print(dict(births.items(prefix="a")))

A write that returned survives the end of the process, also by ``kill -9``. One process at a time has a pool open for
writing; any number of its threads use it at once.

``help(endura.open)``, ``help(endura.Pool)`` and ``help(endura.Map)`` have the rest.
"""

from ._absent import ABSENT
from ._batch import Batch, Transaction
from ._codec import JSON, Codec
from ._endura import Map, __version__
from ._errors import (
    BadCheckpoint,
    CheckpointWarning,
    Closed,
    Conflict,
    Contended,
    Corrupt,
    Dropped,
    Error,
    Forked,
    Full,
    KeyTooLong,
    Locked,
    MapExists,
    NeedsRestore,
    NoSuchMap,
    Poisoned,
    ReadOnly,
    Unmet,
    ValueTooLong,
    WrongKind,
    WrongTypes,
)

# Python has functions and classes of these names, which `from endura import *` must not hide.
from ._errors import FileExistsError as FileExistsError
from ._errors import FileNotFoundError as FileNotFoundError
from ._errors import IsADirectoryError as IsADirectoryError
from ._errors import NotADirectoryError as NotADirectoryError
from ._errors import PermissionError as PermissionError
from ._errors import SystemError as SystemError
from ._pool import Pool
from ._pool import open as open

__all__ = [
    "ABSENT",
    "JSON",
    "BadCheckpoint",
    "Batch",
    "CheckpointWarning",
    "Closed",
    "Codec",
    "Conflict",
    "Contended",
    "Corrupt",
    "Dropped",
    "Error",
    "Forked",
    "Full",
    "KeyTooLong",
    "Locked",
    "Map",
    "MapExists",
    "NeedsRestore",
    "NoSuchMap",
    "Pool",
    "Poisoned",
    "ReadOnly",
    "Transaction",
    "Unmet",
    "ValueTooLong",
    "WrongKind",
    "WrongTypes",
    "__version__",
]
