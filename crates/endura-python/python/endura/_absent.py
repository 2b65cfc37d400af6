"""``ABSENT``, which stands for no value, also in maps whose values may be ``None``."""

from typing import Literal, final


@final
class Absent:
    """The type of ``ABSENT``. It is false, as ``None`` is."""

    __slots__ = ()

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "endura.ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


Absent.__module__ = "endura"
ABSENT = Absent()
