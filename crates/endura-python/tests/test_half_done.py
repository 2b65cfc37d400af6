"""An operation that fails changes nothing, and takes nothing from an iterator that it does not write."""

import ctypes
import os
import pickle

import endura
import numpy
import pytest

WORDS = "to be or not to be that is the question to".split()
KINDS = ["fastfair", "nbtree", "roart"]


class Undecodable(Exception):
    pass


def fail(*_):
    raise Undecodable


def codec(decode=lambda data: data):
    return endura.Codec("own", lambda value: value, decode)


@pytest.fixture
def jobs(pool):
    """A map of ``a`` to ``c`` whose values do not decode."""
    pool.map("jobs", str, codec()).update(a=b"1", b=b"2", c=b"3")
    return pool.map("jobs", str, codec(fail))


@pytest.mark.parametrize(
    "take",
    [
        lambda jobs: jobs.pop("b"),
        lambda jobs: jobs.pop("b", None),
        lambda jobs: jobs.popitem(),
        lambda jobs: jobs.popitem(last=False),
        lambda jobs: jobs.compare_exchange("b", b"2", endura.ABSENT),
        lambda jobs: jobs.alter("b", lambda old: endura.ABSENT),
    ],
)
def test_what_does_not_decode_is_not_removed(pool, jobs, take):
    with pytest.raises(Undecodable):
        take(jobs)
    assert dict(pool.map("jobs")) == {"a": b"1", "b": b"2", "c": b"3"}


def test_no_memory_for_the_object_of_an_entry(pool, program):
    """Allocations fail, each in turn: what `pop` and `incr` do not return, they do not remove and do not add."""
    pytest.importorskip("_testcapi", reason="this Python is without its own tests")
    pool.close()
    program.run(
        """
        import _testcapi
        pool = endura.open(path)
        entries, numbers = pool.map("m", bytes, bytes), pool.map("n", bytes, "i128")
        value, key, failures = b"v" * 400, b"key", 0
        for step in (lambda: entries.pop(key), lambda: entries.popitem(), lambda: numbers.incr(key, 2**80)):
            entries[key], numbers[key], done = value, 2**90, False
            step()
            entries[key], numbers[key] = value, 2**90
            for start in range(200):
                _testcapi.set_nomemory(start, start + 1)
                try:
                    step()
                    done = True
                except BaseException:  # `MemoryError`, and what PyO3 makes of it
                    pass
                finally:
                    _testcapi.remove_mem_hooks()
                if done:
                    break
                failures += 1
                assert entries.get(key) == value and numbers[key] == 2**90, start
            assert done
        assert failures > 0
        """
    )


def test_pop_takes_the_value_that_it_removes(pool):
    seen = []

    def decode(data):
        if len(seen) < 3:
            seen.append(data)
            raw["a"] = str(len(seen)).encode()
        return data

    raw = pool.map("m", str, codec())
    raw["a"] = b"0"
    assert pool.map("m", str, codec(decode)).pop("a") == b"3" and seen == [b"0", b"1", b"2"] and not raw


def test_popitem_takes_the_entry_that_is_first_when_it_is_removed(pool):
    def decode(data):
        if data == b"2":
            raw["a"] = b"1"
        return data

    raw = pool.map("m", str, codec())
    raw["b"] = b"2"
    assert pool.map("m", str, codec(decode)).popitem(last=False) == ("a", b"1") and list(raw) == ["b"]


@pytest.mark.parametrize("take", [lambda map: map.pop("k"), lambda map: map.popitem()])
def test_a_codec_that_writes_what_is_popped_ends(pool, take):
    def decode(data):
        raw["k"] = str(int(data) + 1).encode()
        return data

    raw = pool.map("m", str, codec())
    raw["k"] = b"0"
    with pytest.raises(endura.Error) as error:
        take(pool.map("m", str, codec(decode)))
    assert error.value.code == "recursive_update" and list(raw) == ["k"]


@pytest.mark.parametrize("of", [dict, list, endura.Codec("pickle", pickle.dumps, pickle.loads), None, int | None], ids=str)
def test_none_is_a_value_where_it_may_be_one(pool, of):
    map = pool.map("m", str, of)
    map["a"] = None
    assert map.alter("a", lambda old: old) is None and dict(map) == {"a": None}
    assert map.alter("b", lambda old: old) is endura.ABSENT and "b" not in map
    assert not map.compare_exchange("b", None, None) and "b" not in map
    assert map.compare_exchange("a", None, None) and not map.compare_exchange("a", endura.ABSENT, None)
    assert map.compare_exchange("b", endura.ABSENT, None) and dict(map) == {"a": None, "b": None}
    assert map.compare_exchange("a", None, endura.ABSENT) and map.alter("b", lambda old: endura.ABSENT) is endura.ABSENT
    assert not map
    if of in (None, int | None):
        return
    with pytest.raises(KeyError), map.edit("a"):
        pass
    with pytest.raises(KeyError), map.edit("a", endura.ABSENT):
        pass
    with map.edit("a", None) as value:
        assert value is None
    assert dict(map) == {"a": None}


def test_absence_is_the_same_in_every_map(pool):
    map = pool.map("m", str, int)
    assert map.compare_exchange("a", endura.ABSENT, 1) and not map.compare_exchange("a", endura.ABSENT, 2)
    assert map.alter("a", lambda old: endura.ABSENT) is endura.ABSENT and map.alter("a", lambda old: old) is None
    assert not map
    with pytest.raises(TypeError, match="not endura.Absent"):
        map["a"] = endura.ABSENT


def test_an_edit_that_is_begun_again_keeps_what_is_under_way(pool):
    map = pool.map("m", str, dict)
    map["a"] = {}
    edit = map.edit("a")
    with edit as value:
        value["b"] = 1
        with pytest.raises(RuntimeError, match="under way"):
            edit.__enter__()
    assert map["a"] == {"b": 1}


class Named(ctypes.Structure):
    _fields_ = [("P", ctypes.c_int), ("name", ctypes.c_char_p)]


ADDRESSES = {
    "objects": numpy.array(["a", None], object),
    "objects in a structure": numpy.zeros(2, [("i", "i4"), ("o", object)]),
    "texts of C": memoryview((ctypes.c_char_p * 2)(b"a", b"b")),
    "wide texts of C": memoryview((ctypes.c_wchar_p * 2)("a", "b")),
    "pointers": memoryview((ctypes.POINTER(ctypes.c_int) * 2)()),
    "untyped pointers": memoryview((ctypes.c_void_p * 2)()),
    "functions": memoryview((ctypes.CFUNCTYPE(None) * 2)()),
    "a structure": memoryview(Named(1, b"a")),
}
DATA = {
    "complex": numpy.array([1 + 2j, 3]),
    "fields of such names": numpy.array([(1, 2)], [("O", "i4"), ("Pz&X", "i2")]),
    "wide characters": numpy.array(["ab"]),
    "void": numpy.array([b"abcd"], "V4"),
    "numbers of C": memoryview((ctypes.c_int * 2)(1, 2)),
}


@pytest.mark.parametrize("addresses", ADDRESSES)
@pytest.mark.parametrize("of", [bytes, "[u8; 16]", bytes | None], ids=str)
def test_addresses_are_no_bytes(pool, of, addresses):
    map, buffer = pool.map("m", of, of), ADDRESSES[addresses]
    key = b"k" * 16
    for put in (
        lambda: map.__setitem__(key, buffer),
        lambda: map.__setitem__(buffer, key),
        lambda: map.put_many([key], [buffer]),
        lambda: map.get_many([buffer]),
    ):
        with pytest.raises(TypeError, match="the map `m` are"):
            put()
    assert not map


@pytest.mark.parametrize("data", DATA)
def test_other_formats_are_bytes(pool, data):
    map = pool.map("m", int, bytes)
    map[1] = DATA[data]
    assert map[1] == bytes(memoryview(DATA[data]).cast("B") if data != "wide characters" else DATA[data].tobytes())


@pytest.mark.parametrize("of", [int, "i8", "u128", float, "f32"], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_refused(pool, of, kind):
    if of == "u128" and kind != "roart":
        pytest.skip("too long")
    map = pool.map("m", of, of, kind=kind)
    dtype = {int: "i8", "i8": "i1", "u128": "u8", float: "f8", "f32": "f4"}[of]
    masked = numpy.ma.array([1, 2, 3], dtype, mask=[False, True, False])
    plain = numpy.array([1, 2, 3], dtype)
    for call in (
        lambda: map.put_many(masked, plain),
        lambda: map.put_many(plain, masked),
        lambda: map.put_many(iter(masked), iter(plain)),
        lambda: map.get_many(masked),
        lambda: map.__setitem__(1, numpy.ma.array(2, dtype, mask=True)),
        lambda: map.__setitem__(numpy.ma.masked, 1),
    ):
        map.clear()
        with pytest.raises((TypeError, ValueError), match="masked|MaskedConstant"):
            call()
        assert 2 not in map and 2 not in map.values()
    map.put_many(numpy.ma.array([1, 2], dtype), numpy.ma.array([3, 4], dtype, mask=[False, False]))
    assert {key: map[key] for key in (1, 2)} == {1: 3, 2: 4}


def test_masked_bytes_are_refused(pool):
    map = pool.map("m", int, bytes)
    with pytest.raises(ValueError, match="values of the map `m` are.*masked"):
        map[1] = numpy.ma.array([1, 2, 3], "u1", mask=[False, True, False])
    map[1] = numpy.ma.array([1, 2, 3], "u1")
    assert dict(map) == {1: b"\1\2\3"}


BULKS = {
    "update": lambda map, pairs: map.update(pairs),
    "put_many of pairs": lambda map, pairs: map.put_many(pairs),
    "put_many of two": lambda map, pairs: put_two(map, pairs),
    "keys of a list": lambda map, pairs: map.put_many(WORDS, (value for _, value in pairs)),
    "items of a mapping": lambda map, pairs: map.update(Items(pairs)),
}


def put_two(map, pairs):
    """Keys and values by two iterators that go hand in hand."""
    values = []

    def keys():
        for key, value in pairs:
            values.append(value)
            yield key

    def them():
        while values:
            yield values.pop()

    return map.put_many(keys(), them())


class Items:
    def __init__(self, pairs):
        self.items = lambda: pairs


@pytest.mark.parametrize("bulk", BULKS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_iterator_sees_what_it_has_given(pool, kind, bulk):
    counts = pool.map("m", "u8" if kind != "roart" else str, int, kind=kind)
    key = (lambda word: WORDS.index(word)) if kind != "roart" else (lambda word: word)
    if bulk == "keys of a list" and kind != "roart":
        pytest.skip("words are no numbers")
    BULKS[bulk](counts, ((key(word), counts.get(key(word), 0) + 1) for word in WORDS))
    assert dict(counts) == {key(word): WORDS.count(word) for word in WORDS}


@pytest.mark.parametrize("bulk", ["update", "put_many of pairs", "put_many of two", "items of a mapping"])
def test_a_stream_that_is_killed_loses_nothing(path, program, bulk):
    program.run(
        f"""
        import signal
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from test_half_done import BULKS
        def stream():
            for i in range(1_500):
                yield i, i
            os.kill(os.getpid(), signal.SIGKILL)
        BULKS[{bulk!r}](endura.open(path).map("m", int, int), stream())
        """,
        code=-9,
    )
    with endura.open(path) as pool:
        # The last one was still the iterator's: it is taken when the next one is asked for.
        assert list(pool.map("m")) == list(range(1_500))


def test_containers_are_taken_as_they_are(pool):
    map, keys = pool.map("m", int, int), list(range(5_000))
    for of in (list, tuple, iter):
        map.clear()
        assert map.put_many(of(keys), of(keys)) == map.put_many(dict(zip(keys, keys, strict=True))) == 5_000
        assert map.put_many(range(5_000), range(5_000)) == 5_000 and dict(map) == dict(zip(keys, keys, strict=True))
    map.update(zip(keys, keys, strict=True), **{})
    map.update({5_000: 1})
    assert len(map) == 5_001
