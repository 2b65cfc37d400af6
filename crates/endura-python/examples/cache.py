"""A cache that survives deploys: `python cache.py cache.endura`, twice.

What a function returned is kept for a while, also when the program ends or is killed. A second map has the entries by the time
at which they end, so that those of the past go without a look at the others.
"""

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

import endura


class Cache:
    def __init__(self, pool: endura.Pool) -> None:
        self.entries = pool.map("cache", str, dict)
        self.ends = pool.map("cache by end", tuple[float, str], None)

    def get(self, key: str) -> Any:
        """What is kept under `key`, or None."""
        found = self.entries.get(key)
        return found["value"] if found and found["end"] > time.time() else None

    def put(self, key: str, value: Any, seconds: float) -> None:
        end = time.time() + seconds
        # First the note of when it ends: a kill between the two leaves a note without an entry, which the sweep removes.
        self.ends[end, key] = None
        self.entries[key] = {"value": value, "end": end}

    def sweep(self) -> int:
        """Removes what has ended; returns how many entries."""
        now, removed = time.time(), 0
        for end, key in self.ends.keys(stop=(now, "")):
            # An entry that was put again has another end.
            found = self.entries.get(key)
            if found and found["end"] == end:
                removed += self.entries.compare_exchange(key, found, endura.ABSENT)
            self.ends.pop((end, key), None)
        return removed

    def kept_for(self, seconds: float) -> Callable[[Callable[[str], Any]], Callable[[str], Any]]:
        """A decorator for functions of one text."""

        def decorate(function: Callable[[str], Any]) -> Callable[[str], Any]:
            @functools.wraps(function)
            def cached(text: str) -> Any:
                key = f"{function.__name__} {text}"
                found = self.get(key)
                if found is None:
                    found = function(text)
                    self.put(key, found, seconds)
                return found

            return cached

        return decorate


def main(path: str) -> None:
    with endura.open(path) as pool:
        cache = Cache(pool)
        print(f"{len(cache.entries)} entries of an earlier run, {cache.sweep()} of them are over")

        @cache.kept_for(seconds=600)
        def slow(text: str) -> Any:
            time.sleep(0.05)
            return {"words": len(text.split()), "title": text.title()}

        begin = time.perf_counter()
        titles = [slow(f"page {number}")["title"] for number in range(20)]
        print(f"{titles[0]} to {titles[-1]} in {time.perf_counter() - begin:.3f} s")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cache.endura")
