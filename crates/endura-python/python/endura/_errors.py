"""The exceptions. ``code`` is the library's name for an error, which stays the same when texts change."""

import builtins
import errno
import os


class Error(Exception):
    """The base class of all exceptions of the library."""

    code = "error"


class Locked(Error):
    """The pool is open already: in another process, or by another object of this one. The text says in which."""

    code = "locked"


class Closed(Error):
    """The pool was closed."""

    code = "closed"


class Forked(Error):
    """This process is a fork of the one that opened the pool."""

    code = "forked"


class Dropped(Error):
    """The map was dropped."""

    code = "dropped"


class NoSuchMap(Error, LookupError):
    """The pool has no map of this name."""

    code = "no_such_map"


class MapExists(Error):
    """The pool has a map of this name already."""

    code = "map_exists"


class WrongTypes(Error, TypeError):
    """The map has other types than those it was opened with."""

    code = "wrong_types"


class WrongKind(Error):
    """The map has another kind of index, or cannot have this one."""

    code = "wrong_kind"


class Full(Error):
    """There is no space left: the pool has reached ``max_size``, or the disk is full."""

    code = "full"


class ReadOnly(Error):
    """The pool was opened with ``read_only=True``."""

    code = "read_only"


class Poisoned(Error):
    """An earlier failure left the pool in doubt: close it, and open it again."""

    code = "poisoned"


class Corrupt(Error):
    """The pool is damaged."""

    code = "corrupt"


class NeedsRestore(Error):
    """The pool may be torn, and there is no checkpoint to take it back to."""

    code = "needs_restore"


class BadCheckpoint(Error):
    """The checkpoint beside the pool cannot be used for it."""

    code = "bad_checkpoint"


class KeyTooLong(Error, ValueError):
    """A key is longer than a map allows."""

    code = "key_too_long"


class ValueTooLong(Error, ValueError):
    """A value is longer than a map allows."""

    code = "value_too_long"


class SystemError(Error, OSError):
    """The operating system refused; ``errno`` says why, and ``filename`` where, if a path is involved.

    What Python has a class for is of that class as well: ``FileNotFoundError``, ``PermissionError``, ``FileExistsError``,
    ``NotADirectoryError``, ``IsADirectoryError``.
    """

    code = "io"
    #: What was being done, the system's words, and what to do.
    text: str | None = None

    def __str__(self) -> str:
        return super().__str__() if self.text is None else f"[Errno {self.errno}] {self.text}"


class FileNotFoundError(SystemError, builtins.FileNotFoundError):
    """A file or a folder is not there."""


class PermissionError(SystemError, builtins.PermissionError):
    """This user may not read or write there."""


class FileExistsError(SystemError, builtins.FileExistsError):
    """There is a file already where one was to be made."""


class NotADirectoryError(SystemError, builtins.NotADirectoryError):
    """A part of a path is no folder."""


class IsADirectoryError(SystemError, builtins.IsADirectoryError):
    """There is a folder where a file is expected."""


class Conflict(Error):
    """The value was changed elsewhere while it was edited."""

    code = "conflict"


class Unmet(Error):
    """A key does not have the value that a batch expects. Nothing was changed."""

    code = "unmet"


class Contended(Error):
    """Other threads have changed what a transaction or a ``pool.read`` looked at, in each of many runs."""

    code = "contended"


class CheckpointWarning(RuntimeWarning):
    """A pool was closed without a checkpoint of its last writes: a power loss may cost the pool until one is made."""


_BY_CODE = {of.code: of for of in Error.__subclasses__()}
_BY_NUMBER: dict[int, type[SystemError]] = {
    errno.ENOENT: FileNotFoundError,
    errno.EACCES: PermissionError,
    errno.EPERM: PermissionError,
    errno.EEXIST: FileExistsError,
    errno.ENOTDIR: NotADirectoryError,
    errno.EISDIR: IsADirectoryError,
}

# Tracebacks show the names that programs use.
for _of in (Error, *_BY_CODE.values(), *_BY_NUMBER.values(), CheckpointWarning):
    _of.__module__ = "endura"


def exception(code: str, text: str, number: int | None, path: str | None) -> Error:
    """The exception for an error of the library: of its own class, or an ``Error`` with its code."""
    of = _BY_CODE.get(code, Error)
    if of is SystemError and number is not None:
        refused = _BY_NUMBER.get(number, SystemError)(number, os.strerror(number), path)
        refused.text = text
        return refused
    made = of(text)
    made.code = code
    return made
