"""A persistent ordered map that you open instead of load.

    import endura

    with endura.open("data.endura") as pool:
        births = pool.map("births", str, int)
        births["ada"] = 1815
        print(dict(births.items(prefix="a")))

A write that returned survives the end of the process, also by ``kill -9``. One process at a time has a pool open for
writing; any number of its threads use it at once.
"""

from ._absent import ABSENT
from ._codec import JSON, Codec
from ._endura import Map
from ._errors import (
    BadCheckpoint,
    CheckpointWarning,
    Closed,
    Conflict,
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
    ReadOnly,
    SystemError,
    ValueTooLong,
    WrongKind,
    WrongTypes,
)
from ._pool import Pool, open

__all__ = [
    "ABSENT",
    "JSON",
    "BadCheckpoint",
    "CheckpointWarning",
    "Closed",
    "Codec",
    "Conflict",
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
    "ReadOnly",
    "SystemError",
    "ValueTooLong",
    "WrongKind",
    "WrongTypes",
    "open",
]
