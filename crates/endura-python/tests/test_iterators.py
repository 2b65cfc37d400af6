"""Iterators: what a loop sees of changes, its own and those of the pool, and what an iterator costs."""

import gc
import resource
import time

import endura
import pytest

KINDS = ["fastfair", "nbtree", "roart"]
PARTS = ["keys", "values", "items"]


@pytest.fixture(params=KINDS)
def map(pool, request):
    return pool.map("m", int, int, kind=request.param)


def fill(map, keys):
    map.put_many(keys, keys)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("ahead", [1, 2, 15, 16, 17, 40, 300])
def test_a_key_deleted_later_does_not_come(map, part, ahead):
    fill(map, range(1_000))
    found = []
    for entry in getattr(map, part)():
        key = entry[0] if part == "items" else entry
        found.append(key)
        map.pop(key + ahead, None)
    left, gone = [], set()
    for key in range(1_000):
        if key not in gone:
            left.append(key)
            gone.add(key + ahead)
    assert found == left == list(map)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_key_inserted_later_comes(map, reverse):
    fill(map, range(0, 1_000, 4))
    found = []
    for key in map.keys(reverse=reverse):
        found.append(key)
        if key % 4 == 0:
            map[key + (-2 if reverse else 2)] = 0
            map[key + (1 if reverse else -1)] = 0
    wanted = sorted([*range(0, 1_000, 4), *(key + (-2 if reverse else 2) for key in range(0, 1_000, 4))], reverse=reverse)
    assert found == wanted


def test_a_value_written_later_is_seen(map):
    fill(map, range(500))
    for key, value in map.items():
        assert value == (-key if key else 0)
        if key + 1 < 500:
            map[key + 1] = -key - 1


CHANGES = {
    "set": lambda map, key: map.__setitem__(key, -1),
    "add": lambda map, key: map.add(key, -1),
    "setdefault": lambda map, key: map.setdefault(key, -1),
    "update": lambda map, key: map.update({key: -1}),
    "put_many": lambda map, key: map.put_many([key], [-1]),
    "incr": lambda map, key: map.incr(key, -1),
    "alter": lambda map, key: map.alter(key, lambda old: -1),
    "compare_exchange": lambda map, key: map.compare_exchange(key, None, -1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_way_to_insert_is_seen(map, change):
    fill(map, [0, 100])
    entries = iter(map.items())
    assert next(entries) == (0, 0)
    CHANGES[change](map, 50)
    assert list(entries) == [(50, -1), (100, 100)]


REMOVALS = {
    "del": lambda map: map.__delitem__(50),
    "pop": lambda map: map.pop(50),
    "popitem": lambda map: map.popitem(),
    "remove_range": lambda map: map.remove_range(1, 100),
    "clear": lambda map: map.clear(),
    "compare_exchange": lambda map: map.compare_exchange(50, 50, None),
    "alter": lambda map: map.alter(50, lambda old: None),
}


@pytest.mark.parametrize("removal", REMOVALS)
def test_each_way_to_remove_is_seen(map, removal):
    fill(map, [0, 50])
    entries = iter(map)
    assert next(entries) == 0
    REMOVALS[removal](map)
    assert list(entries) == []
    # As with those of a list and a dict: what is at its end stays there.
    map[60] = 1
    assert list(entries) == []


def test_another_object_of_the_map_is_the_same_map(pool, map):
    fill(map, range(100))
    entries = iter(map)
    next(entries)
    pool.map("m").clear()
    assert list(entries) == []


def test_a_loop_that_empties_its_map(map):
    fill(map, range(2_000))
    for key in map:
        del map[key]
    assert not map and len(map) == 0
    fill(map, range(2_000))
    assert [map.popitem(last=True)[0] for _ in map] == list(range(1_999, 999, -1))


@pytest.mark.parametrize("part", PARTS)
def test_after_drop_rename_and_close(pool, part):
    map = pool.map("m", int, int)
    fill(map, range(100))
    entries = iter(getattr(map, part)())
    next(entries)
    pool.rename("m", "n")
    next(entries)
    other = pool.map("m", int, int)
    other.put_many(range(10), range(10))
    map.pop(2)
    # The map is the one it was, by whatever name.
    assert next(entries) in (3, (3, 3)) and len(pool.map("n")) == 99
    pool.drop("n")
    for _ in range(2):
        with pytest.raises(endura.Dropped):
            next(entries)
    entries = iter(getattr(other, part)())
    next(entries)
    pool.close()
    for _ in range(2):
        with pytest.raises(endura.Closed):
            next(entries)
    with pytest.raises(endura.Closed):
        list(getattr(other, part)())


def test_an_iterator_given_up_holds_nothing(pool):
    map = pool.map("m", int, bytes)
    map.put_many(range(3_000), [b"x" * 100] * 3_000)
    for _ in range(200):
        for _ in zip(range(20), map.items(), strict=False):
            pass
    halfway = iter(map.items())
    next(halfway)
    map.clear()
    map.put_many(range(3_000), [b"x" * 100] * 3_000)
    begin = pool.stats()["file_bytes"]
    for _ in range(20):
        map.put_many(range(3_000), [b"y" * 100] * 3_000)
    assert pool.stats()["file_bytes"] <= 2 * begin
    pool.close()


def test_ten_thousand_live_iterators(map):
    fill(map, range(10_000))
    entries = [map.irange(i) for i in range(10_000)]
    assert [next(one) for one in entries] == list(range(10_000))
    map.pop(5_000)
    assert [next(one, None) for one in entries] == [i + 1 + (i + 1 == 5_000) if i < 9_999 else None for i in range(10_000)]


@pytest.mark.parametrize("part", ["items", "values"])
def test_big_values(pool, part):
    map = pool.map("m", int, bytes)
    for i in range(24):
        map[i] = bytes([i]) * (1 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i, entry in enumerate(getattr(map, part)()):
        value = entry[1] if part == "items" else entry
        assert len(value) == 1 << 20 and value[-1] == i
    # One at a time, not all that it could fetch ahead.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10


def test_keys_do_not_read_values(pool):
    small, big = pool.map("small", int, bytes), pool.map("big", int, bytes)
    for i in range(64):
        small[i], big[i] = b"x", b"x" * (1 << 20)

    def seconds(map):
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            assert sum(map.keys()) == sum(range(64))
            times.append(time.perf_counter() - begin)
        return min(times)

    # To copy 64 MiB takes some 10 ms, the keys some 20 us.
    assert seconds(big) < 20 * seconds(small) + 0.001


def test_views_are_views(map):
    fill(map, range(10))
    keys, values, items = map.keys(), map.values(), map.items()
    assert 3 in keys and 30 not in keys and 3 in values and (3, 3) in items and (3, 4) not in items
    assert keys & {1, 2, 77} == {1, 2} and keys == set(range(10)) and len(items) == 10
    map[10] = 10
    assert len(keys) == len(values) == len(items) == 11 and list(reversed(items))[0] == (10, 10)
    part = map.keys(5, 8)
    assert list(part) == [5, 6, 7] == list(part)
    map[6] = 0
    del map[7]
    assert list(part) == [5, 6] and list(reversed(part)) == [6, 5]
    for text in [repr(one) for one in (keys, values, items, part, map)]:
        assert "m" in text and "::" not in text


def test_garbage_is_collected_during_iteration(pool):
    map = pool.map("m", int, dict)
    map.put_many(range(2_000), [{"a": [i]} for i in range(2_000)])
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for key, value in map.items():
            cycle = [value]
            cycle.append(cycle)
            assert value == {"a": [key]}
    finally:
        gc.set_threshold(*before)


STEPS_ITSELF = {
    "a signal": """
        import signal
        signal.signal(signal.SIGALRM, step)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            step()
        signal.setitimer(signal.ITIMER_REAL, 0)
        """,
    "a profiler": """
        is_busy = False
        def profile(*_):
            global is_busy
            if not is_busy:
                is_busy = True
                step()
                is_busy = False
        sys.setprofile(profile)
        for _ in range(20):
            step()
        sys.setprofile(None)
        """,
    "a collection": """
        import gc
        class Cycle:
            def __init__(self):
                self.self = self
            def __del__(self):
                step()
        gc.set_threshold(1, 1, 1)
        for _ in range(200):
            Cycle()
            step()
        """,
}


@pytest.mark.parametrize("ended", ["pool.close()", "pool.drop('m')"])
@pytest.mark.parametrize("who", STEPS_ITSELF)
def test_an_iterator_that_is_stepped_while_it_raises(path, program, who, ended):
    """What makes an exception may run any code of Python, and that the same iterator."""
    program.run(
        f"""
        import time
        pool = endura.open(path)
        map = pool.map("m", int, int)
        map.put_many(range(1000), range(1000))
        entries = iter(map)
        next(entries)
        {ended}
        def step(*_):
            try:
                next(entries)
            except endura.Error:
                pass
        """
        + STEPS_ITSELF[who]
    )


def test_an_iterator_over_a_whole_map_misses_entries(path):
    with endura.open(path, checkpoints=None) as pool:
        pool.map("numbers", key="u64", value="u64").put_many((n, n) for n in range(5_000))
    # The number of entries, in the first entry of the directory: one more than there are.
    with open(path, "r+b") as file:
        file.seek(16_384 + 24)
        file.write((5_001).to_bytes(8, "little"))
    with endura.open(path, read_only=True) as pool:
        numbers = pool.map("numbers", key="u64", value="u64")
        for entries in (numbers, reversed(numbers), numbers.values(), numbers.items()):
            with pytest.raises(endura.Corrupt, match="fewer entries"):
                for _ in entries:
                    pass
        assert len(list(numbers.keys(0))) == 5_000
