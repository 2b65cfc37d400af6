"""Nothing grows: neither the process by operations, nor its garbage by handles."""

import gc
import os
import subprocess
import sys
import weakref

import endura
import pytest


def resident():
    """KiB of the process that are its own, without the pages of pools, which are the file's."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def failing(call, *arguments):
    try:
        call(*arguments)
    except Exception:
        pass
    else:
        raise AssertionError


def steps(pool):
    """Functions that each do some ten operations, and leave the maps as they were."""
    words = pool.map("words", int, int)
    texts = pool.map("texts", str, str)
    documents = pool.map("documents", str, dict)
    tuples = pool.map("tuples", tuple[int, str | None], bytes | None)
    codec = pool.map("codec", bytes, endura.Codec("own", str.encode, bytes.decode))
    keys = list(range(10))
    names = [f"key {key}" for key in keys]
    words.put_many(keys, keys)
    texts.put_many(names, names)

    def one():
        for i in keys:
            words[1000 + i] = i
            del words[1000 + i]
            texts[f"new {i}"] = "é" * 100
            texts.pop(f"new {i}")

    def read():
        for i in keys:
            assert words[i] == i and texts.get(names[i]) == names[i] and i in words

    def bulk():
        words.put_many(keys, keys)
        assert words.get_many(keys) == keys and texts.get_many(names) == names
        texts.update(zip(names, names, strict=True))
        words.put_many(range(100, 110), range(10))
        assert words.remove_range(100) == 10

    def loops():
        assert sum(1 for _ in words.items()) == 10 and list(reversed(texts)) == names[::-1]
        next(iter(words.values()))
        list(texts.keys(prefix="key"))
        words.peekitem(0)

    def documented():
        for i in keys[:3]:
            documents["a"] = {"a": [i] * 20, "b": "é" * 100}
            with documents.edit("a") as value:
                value["c"] = i
            documents.alter("a", lambda old: old | {"d": 1})
            documents.popitem()

    def tupled():
        for i in keys[:5]:
            tuples[i, None] = b"x" * 1_000
            tuples[i, "é"] = None
            codec[b"a"] = "text" * 50
            assert codec.pop(b"a") == "text" * 50
        tuples.clear()

    def atomic():
        for i in keys:
            words.incr(50, i)
            words.compare_exchange(50, words[50], None)
            words.setdefault(51, 1)
            words.add(51, 1)
            words.pop(51)

    def fails():
        for call in (words.__getitem__, words.__delitem__, words.pop):
            failing(call, 77)
        failing(words.__setitem__, "a", 1)
        failing(words.__setitem__, 1, 2**100)
        failing(texts.__setitem__, "\ud800", "")
        failing(documents.edit("b").__enter__)
        failing(words.alter, 1, lambda old: 1 / 0)
        failing(words.put_many, [1, 2], [1])
        failing(pool.map, "texts", int, int)

    def handles():
        pool.map("words").items()
        pool.map("new", str, endura.Codec("c", lambda value: value, lambda value: value))
        pool.drop("new")
        pool.stats(), pool.maps()

    def several():
        with pool.batch() as batch:
            for i in keys:
                batch[words][1000 + i] = i
                del batch[words][1000 + i]
                batch.expect(texts, names[i], names[i])
        pool.transact(lambda tx: [tx[words].get(i) for i in keys] and tx[texts].get(names[0]))
        pool.read(lambda: [words[i] for i in keys])
        failing(pool.transact, lambda tx: tx[words][77])
        failing(pool.read, lambda: words[77])

    return [one, read, bulk, loops, documented, tupled, atomic, fails, handles, several]


def test_a_million_operations_take_no_memory(path, rounds):
    with endura.open(path) as pool:
        all_steps = steps(pool)

        def run(times):
            for _ in range(times):
                for step in all_steps:
                    step()

        run(300)
        gc.collect()
        before = resident()
        # Each run is some 300 operations.
        run(3_400 * rounds)
        gc.collect()
        # One object of 56 bytes that each run leaves would be 186 KiB.
        assert resident() - before < 128
        pool.check()


@pytest.mark.parametrize("step", range(10))
def test_no_step_leaks_alone(pool, step):
    run = steps(pool)[step]
    for _ in range(300):
        run()
    gc.collect()
    before = resident()
    for _ in range(1_500):
        run()
    gc.collect()
    # One object of 56 bytes that each run leaves would be 82 KiB.
    assert resident() - before < 64


def test_opens_take_no_memory(path):
    def run():
        with endura.open(path) as pool:
            pool.map("m", str, int)["a"] = 1
            entries = iter(pool.map("m"))
            next(entries)

    for _ in range(30):
        run()
    before = resident()
    for _ in range(150):
        run()
    assert resident() - before < 128


def test_handles_make_no_cycles(path):
    gc.collect()
    gc.disable()
    try:
        pool = endura.open(path)
        map = pool.map("m", str, dict)
        map["a"] = {}
        entries = iter(map.items())
        next(entries)
        with map.edit("a") as value:
            value["b"] = 1
        with pytest.raises(KeyError):
            map["b"]
        seen = weakref.ref(pool), weakref.ref(map)
        del pool, map, entries, value
        assert [one() for one in seen] == [None, None]
        # The last of them closed the pool.
        with endura.open(path) as pool:
            assert pool.stats()["clean_open"]
    finally:
        gc.enable()


def test_a_codec_that_holds_its_map_is_collected(path):
    pool = endura.open(path)

    def begin():
        map = None
        codec = endura.Codec("own", lambda value: value, lambda data: (data, map))
        map = pool.map("m", str, codec)
        map.update(a=b"1", b=b"2")
        return map

    map = begin()
    seen = weakref.ref(map)
    del map
    gc.collect()
    assert seen() is None
    map = begin()
    seen = weakref.ref(map)
    edit = map.edit("c", default := [map])
    default.append(edit)
    with pytest.raises(TypeError, match="`encode`"), edit:
        pass
    edit = map.edit("a")
    assert edit.__enter__()[1] is map
    del map, edit, default
    gc.collect()
    assert seen() is None
    pool.close()


@pytest.mark.parametrize("handle", [lambda map: iter(map.items()), lambda map: map.items(), lambda map: map.edit("a")])
def test_what_uses_a_codec_keeps_it(pool, handle):
    """A collection once took the codec of an iterator whose map only the codec itself still knew: the next step crashed."""

    def begin():
        map = None
        codec = endura.Codec("own", lambda value: value[0], lambda data: (data, map.name))
        map = pool.map("m", str, codec)
        map.update(a=(b"1", ""))
        return handle(map)

    kept = begin()
    for _ in range(3):
        gc.collect()
    if hasattr(kept, "__enter__"):
        with kept as value:
            assert value == (b"1", "m")
    else:
        assert list(kept) == [("a", (b"1", "m"))]


def test_a_map_keeps_its_pool_open(path):
    map = endura.open(path).map("m", str, int)
    gc.collect()
    map["a"] = 1
    with pytest.raises(endura.Locked):
        endura.open(path)
    entries = iter(map)
    del map
    gc.collect()
    assert list(entries) == ["a"]
    del entries
    endura.open(path).close()


def test_half_used_generators(pool):
    map = pool.map("m", int, int)
    marks = []

    class Mark(int):
        def __del__(self):
            marks.append(1)

    with pytest.raises(TypeError):
        map.put_many((Mark(i) for i in range(10)), ["a"] * 10)
    with pytest.raises(ValueError):
        map.put_many((Mark(i) for i in range(10)), [1] * 9)
    map.put_many((Mark(i) for i in range(10)), range(10))
    gc.collect()
    # The first entry of a wrong type ends it; a missing value is seen when its key is taken.
    assert len(marks) == 1 + 10 + 10


def test_a_part_of_the_suite_with_the_checks_of_the_allocator():
    if os.environ.get("PYTHONMALLOC"):
        pytest.skip("this is that run")
    here = os.path.dirname(__file__)
    files = [os.path.join(here, name) for name in ("test_errors.py", "test_hostile.py", "test_iterators.py")]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-k",
            "not big and not lengths and not keys_do_not",
            *files,
        ],
        env=os.environ | {"PYTHONMALLOC": "debug"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
