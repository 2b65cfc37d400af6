"""endura beside the package `lmdb`, in one run, by turns: `.ci/python --measure`.

Both have the same promise: what returned survives the end of the process, not a power loss. Nothing else should run.
"""

import argparse
import gc
import pathlib
import random
import statistics
import tempfile
import threading
import time

import lmdb
import numpy

import endura


def timed(work, count):
    """Nanoseconds for each of `count` operations."""
    gc.collect()
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e9 / count


class Lmdb:
    """One transaction for each operation, without a sync."""

    def __init__(self, folder, count):
        self.env = lmdb.open(
            str(folder / "lmdb"), map_size=max(1 << 30, 1000 * count), writemap=True, sync=False, metasync=False
        )

    def set(self, keys, value):
        begin = self.env.begin
        for key in keys:
            with begin(write=True) as transaction:
                transaction.put(key, value)

    def get(self, keys):
        begin = self.env.begin
        for key in keys:
            with begin() as transaction:
                transaction.get(key)

    def items(self):
        with self.env.begin() as transaction:
            for _ in transaction.cursor():
                pass


class Endura:
    def __init__(self, pool):
        self.map = pool.map("bytes", bytes, bytes)

    def set(self, keys, value):
        stored = self.map
        for key in keys:
            stored[key] = value

    def get(self, keys):
        stored = self.map
        for key in keys:
            stored[key]

    def items(self):
        for _ in self.map.items():
            pass


class Floor:
    """A mapping whose lookup hashes its key, and so reads the object, and finds nothing."""

    def get(self, keys):
        empty = {}
        find = empty.get
        for key in keys:
            find(key)


def compare(folder, pool, count, rounds, seed):
    random.seed(seed)
    keys = [b"user:%018x" % random.getrandbits(64) for _ in range(count)]
    shuffled = keys[:]
    random.shuffle(shuffled)
    value = b"v" * 32
    ours, theirs, floor = Endura(pool), Lmdb(folder, count), Floor()
    times = {}
    for _ in range(rounds):
        for name, store in (("endura", ours), ("lmdb", theirs)):
            times.setdefault(("set", name), []).append(timed(lambda: store.set(keys, value), count))
            times.setdefault(("get", name), []).append(timed(lambda: store.get(shuffled), count))
            times.setdefault(("items", name), []).append(timed(store.items, count))
        times.setdefault(("get", "in order"), []).append(timed(lambda: ours.get(keys), count))
        times.setdefault(("get", "floor"), []).append(timed(lambda: floor.get(shuffled), count))
    return {name: statistics.median(found) for name, found in times.items()}


def bulk(pool, count, rounds):
    rng = numpy.random.default_rng(1)
    keys = rng.integers(-(2**62), 2**62, count)
    times = {}
    for kind in ("fastfair", "nbtree"):
        for turn in range(rounds):
            numbers = pool.map(f"numbers {kind} {turn}", int, int, kind=kind)
            looped = pool.map(f"looped {kind} {turn}", int, int, kind=kind)
            listed = keys.tolist()

            def put_loop():
                for key in listed:
                    looped[key] = key

            def get_loop():
                for key in listed:
                    looped[key]

            times.setdefault((kind, "put_many"), []).append(timed(lambda: numbers.put_many(keys, keys), count))
            times.setdefault((kind, "put loop"), []).append(timed(put_loop, count))
            times.setdefault((kind, "get_many"), []).append(timed(lambda: numbers.get_many(keys), count))
            times.setdefault((kind, "get loop"), []).append(timed(get_loop, count))
            pool.drop(numbers.name)
            pool.drop(looped.name)
    return {name: statistics.median(found) for name, found in times.items()}


def threads(pool, count, rounds):
    """Millions of operations a second of several threads, each with its own keys."""
    numbers = pool.map("threads", int, int)
    random.seed(7)
    keys = [random.getrandbits(62) for _ in range(count)]
    numbers.put_many(keys, keys)
    found = {}
    for of in ("get", "set"):
        for number in (1, 2, 8):
            for _ in range(rounds):
                parts = [keys[i::number] for i in range(number)]

                def get(part):
                    for key in part:
                        numbers[key]

                def put(part):
                    for key in part:
                        numbers[key] = key

                work = [threading.Thread(target=get if of == "get" else put, args=(part,)) for part in parts]
                begin = time.perf_counter()
                for thread in work:
                    thread.start()
                for thread in work:
                    thread.join()
                found.setdefault((of, number), []).append(count / (time.perf_counter() - begin) / 1e6)
    return {name: statistics.median(rates) for name, rates in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", default="/dev/shm")
    parser.add_argument("--only", choices=["compare", "bulk", "threads"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        folder = pathlib.Path(name)
        with endura.open(folder / "data.endura") as pool:
            if options.only in (None, "compare"):
                times = compare(folder, pool, options.entries, options.rounds, 1)
                print(f"{options.entries} entries, keys of 23 bytes, values of 32; ns an operation, medians of {options.rounds}")
                for of in ("set", "get", "items"):
                    ours, theirs = times[of, "endura"], times[of, "lmdb"]
                    print(f"{of:6} endura {ours:6.0f}, lmdb {theirs:6.0f}: {theirs / ours:.2f} x")
                print(f"get    in the order in which they were made: {times['get', 'in order']:.0f}")
                print(f"get    a lookup in an empty dict, with the same keys: {times['get', 'floor']:.0f}")
            if options.only in (None, "bulk"):
                times = bulk(pool, options.entries, options.rounds)
                for kind in ("fastfair", "nbtree"):
                    for of in ("put", "get"):
                        loop, many = times[kind, f"{of} loop"], times[kind, f"{of}_many"]
                        print(f"{kind}: {of} loop {loop:.0f}, {of}_many of NumPy {many:.0f}: {loop / many:.2f} x")
            if options.only in (None, "threads"):
                for (of, number), rate in threads(pool, options.entries, options.rounds).items():
                    print(f"{of} by {number} threads: {rate:.2f} million a second")


if __name__ == "__main__":
    main()
