"""Functions of a program that the binding calls, and that do what they should not."""

import os
import signal
import threading

import endura
import pytest


class Anything(Exception):
    pass


def fail(*_):
    raise Anything


@pytest.fixture
def map(pool):
    map = pool.map("m", str, int)
    map.update(a=1, b=2)
    return map


def test_alter_that_raises_changes_nothing(map):
    for key in ("a", "new"):
        with pytest.raises(Anything):
            map.alter(key, fail)
    with pytest.raises(TypeError, match="values of the map `m` are `i64`, not str"):
        map.alter("a", lambda old: "text")
    assert dict(map) == {"a": 1, "b": 2}


def test_alter_that_writes_the_map(map):
    def other(old):
        map["b"] = 5
        del map["c"]
        return old + 1

    map["c"] = 3
    assert map.alter("a", other) == 2 and dict(map) == {"a": 2, "b": 5}

    def once(old, tries=[]):
        tries.append(old)
        if len(tries) == 1:
            map["a"] = 100
        return old + 1

    assert map.alter("a", once) == 101
    with pytest.raises(RecursionError):
        map.alter("a", deep := lambda old: map.alter("b", lambda old: map.alter("a", deep)))
    assert map["a"] == 101


@pytest.mark.parametrize("call", [lambda map, change: map.alter("a", change), lambda map, change: map.alter("new", change)])
def test_alter_that_closes_or_drops(pool, path, call):
    map = pool.map("m", str, int)
    map["a"] = 1
    with pytest.raises(endura.Dropped):
        call(map, lambda old: pool.drop("m") and 1)
    map = pool.map("m", str, int)
    map["a"] = 1
    with pytest.raises(endura.Closed):
        call(map, lambda old: pool.close() or 2)
    with endura.open(path) as pool:
        assert dict(pool.map("m")) == {"a": 1}


def test_alter_that_starts_threads(map):
    def start(old):
        threads = [threading.Thread(target=map.incr, args=("b",)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return old + 1

    assert map.alter("a", start) == 2 and map["b"] == 6


def test_alter_takes_the_key_as_it_was(pool):
    map = pool.map("bytes", bytes, int)
    map[b"a"], key = 1, bytearray(b"a")

    def change(old):
        key[:] = b"b"
        return old + 1

    assert map.alter(key, change) == 2 and dict(map) == {b"a": 2}


def test_edit(pool):
    map = pool.map("d", str, dict)
    with pytest.raises(KeyError) as raised, map.edit("a"):
        pass
    assert raised.value.args == ("a",)
    with map.edit("a", {}) as outer, map.edit("b", {}) as inner:
        outer["x"] = inner["x"] = 1
    assert dict(map) == {"a": {"x": 1}, "b": {"x": 1}}
    edit = map.edit("a")
    with edit as value, pytest.raises(RuntimeError, match="under way"), edit:
        value["x"] = 2
    with pytest.raises(TypeError, match="not JSON serializable"), map.edit("a") as value:
        value["x"] = {1, 2}
    with pytest.raises(TypeError, match="use `alter`"):
        pool.map("n", str, int).edit("a")
    with pytest.raises(Anything), map.edit("a") as value:
        value.clear()
        fail()
    with pytest.raises(endura.Closed), map.edit("a") as value:
        value.clear()
        pool.close()


class Number:
    """A number whose every method does what it is told."""

    def __init__(self, does):
        self.does = does

    def __index__(self):
        return self.does()

    def __float__(self):
        return float(self.does())

    def __hash__(self):
        raise Anything

    def __eq__(self, other):
        raise Anything

    def __repr__(self):
        raise Anything


@pytest.mark.parametrize("kind", ["fastfair", "nbtree", "roart"])
@pytest.mark.parametrize("of", [int, "u64", "i8", float, "u128"], ids=str)
def test_numbers_that_run_code(pool, of, kind):
    if of == "u128" and kind != "roart":
        pytest.skip("too long")
    map = pool.map("n", of, of, kind=kind)
    calls = [map.get, map.pop, map.__getitem__, map.__contains__, map.__delitem__, map.incr, map.keys]
    calls += [lambda key: map.__setitem__(key, 1), lambda key: map.__setitem__(1, key), lambda key: map.add(1, key)]
    calls += [lambda key: map.put_many([key, 1], [key, 1]), lambda key: map.get_many([key]), lambda key: map.incr(1, key)]
    for call in calls:
        with pytest.raises(Anything):
            call(Number(fail))
    assert not map
    map[Number(lambda: map.put_many([3], [3]))] = Number(lambda: len(map) + 5)
    assert dict(map) == {1: 6, 3: 3}
    with pytest.raises((OverflowError, TypeError)):
        map[Number(lambda: 2**200)] = Number(lambda: 2**200 if of != float else 10**400)
    with pytest.raises(endura.Closed):
        map[Number(lambda: pool.close() or 1)] = 1


def own(encode=None, decode=None):
    return endura.Codec("own", encode or (lambda value: value), decode or (lambda value: value))


@pytest.mark.parametrize(
    "encode", [lambda value: 5, lambda value: None, lambda value: [b"a"], lambda value: 1.5, fail]
)
def test_codecs_that_encode_wrongly(pool, encode):
    map = pool.map("c", str, own(encode))
    for call in (
        lambda: map.update(a=1),
        lambda: map.put_many("ab", "ab"),
        lambda: map.add("a", 1),
        lambda: map.setdefault("a", 1),
    ):
        with pytest.raises((TypeError, Anything), match="`encode` of a codec returned|^$"):
            call()
    assert not map


def test_codecs_that_decode_wrongly(pool):
    map = pool.map("c", str, own())
    map.update({"a": b"1", "b": b"2"})
    map = pool.map("c", str, own(decode=fail))
    entries = iter(map.items())
    for call in (
        lambda: map["a"],
        lambda: map.pop("a"),
        lambda: list(map.values()),
        lambda: next(entries),
        map.peekitem,
        lambda: map.get_many("b"),
    ):
        with pytest.raises(Anything):
            call()
    assert list(map) == ["a", "b"]


def test_codecs_that_use_the_map(pool):
    map = None

    def encode(value):
        if value != b"inner":
            map["inner"] = b"inner"
            assert list(map.values()) is not None
        return value

    def decode(value):
        return value, len(map), dict(map.irange() and [])

    map = pool.map("c", str, own(encode, decode))
    map["a"] = b"1"
    map.put_many(["b", "c"], [b"2", b"3"])
    assert [value for value, *_ in map.values()] == [b"1", b"2", b"3", b"inner"]
    for name, value in map.items():
        assert value[1] == len(map) and name in map


def test_json_is_checked(pool):
    map = pool.map("j", str, dict)
    for wrong in (float("nan"), {"a": float("inf")}, {1, 2}, b"a", {b"a": 1}, {"a": "\ud800"}):
        with pytest.raises((TypeError, ValueError)):
            map["a"] = wrong
    with pytest.raises(RecursionError):
        deep = []
        for _ in range(100_000):
            deep = [deep]
        map["a"] = deep
    cycle = {}
    cycle["a"] = cycle
    with pytest.raises(ValueError, match="Circular"):
        map["a"] = cycle
    forged = pool.map("k", str, endura.Codec("json", lambda value: value, lambda value: value))
    with pytest.raises((endura.Error, ValueError)):
        forged["a"] = "{"
    assert not map and not forged


def test_maps_and_pools_as_classes(pool, path):
    with pytest.raises(TypeError):
        type("Own", (endura.Map,), {})
    with pytest.raises(TypeError):
        endura.Map()
    pool.close()

    class Own(endura.Pool):
        pass

    with Own(path) as own:
        own.map("m", str, int)["a"] = 1
        own.extra = own.map("m")
        assert isinstance(own.extra, endura.Map)


def test_long_tuples(pool):
    map = pool.map("t", "(str, i64, bool, u8)", int)
    for wrong in ((), tuple(range(100_000)), ("a",) * 4, ("a", 1, True, 256), ("a" * 70_000, 1, True, 1)):
        with pytest.raises((TypeError, ValueError, OverflowError, endura.KeyTooLong)):
            map[wrong] = 1
    with pytest.raises((TypeError, ValueError, endura.Error)):
        pool.map("u", tuple[(int,) * 100], int)
    map["é\0", -1, False, 255] = 1
    assert list(map.keys(prefix=("é\0", -1))) == [("é\0", -1, False, 255)]


def raising(entries, after):
    for i, entry in enumerate(entries):
        if i == after:
            raise Anything
        yield entry


@pytest.mark.parametrize("after", [0, 1, 1_023, 1_024, 1_025, 2_500])
@pytest.mark.parametrize("of", [int, str])
def test_generators_that_raise_midway(pool, of, after):
    map, keys = pool.map("g", of, int), sorted(of(i) for i in range(3_000))
    with pytest.raises(Anything):
        map.put_many(raising(keys, after), range(3_000))
    # All before it is written.
    assert dict(map) == dict(zip(keys[:after], range(3_000), strict=False))
    with pytest.raises(Anything):
        map.get_many(raising(keys, after))
    with pytest.raises(Anything):
        map.update(raising(zip(keys, range(3_000), strict=True), after))


@pytest.mark.parametrize("of", [int, str])
def test_an_entry_of_another_type_midway(pool, of):
    map, keys = pool.map("g", of, int), sorted(of(i) for i in range(3_000))
    for put in (lambda: map.put_many([*keys, None], range(3_001)), lambda: map.put_many(keys, [*range(2_999), "x"])):
        with pytest.raises(TypeError):
            put()
    assert len(map) == 3_000
    map.clear()
    with pytest.raises(ValueError, match="as many values as keys"):
        map.put_many(keys, range(2_000))
    assert len(map) == 2_000


def test_generators_that_use_the_map(pool):
    map = pool.map("g", int, int)
    map.put_many(range(2_000), range(2_000))
    assert map.put_many((key + 2_000 for key in map.keys(0, 2_000)), (value for value in map.values(0, 2_000))) == 2_000
    assert map.get_many(map.pop(key) for key in range(2_000)) == [None] * 2_000
    with pytest.raises(endura.Closed):
        map.put_many((pool.close() or i for i in range(5)), range(5))


@pytest.mark.parametrize("pairs", [[1], [(1,)], [(1, 2, 3)], ["abc"], [()], 5, [[1, 2, 3]]])
def test_update_takes_pairs(pool, pairs):
    map = pool.map("u", int, int)
    with pytest.raises((TypeError, ValueError)):
        map.update(pairs)
    assert not map


def test_a_mapping_with_keys_alone(pool):
    class Keys:
        def keys(self):
            return ["a", "b"]

        def __getitem__(self, key):
            return ord(key)

    map = pool.map("u", str, int)
    map.update(Keys(), c=3)
    assert dict(map) == {"a": 97, "b": 98, "c": 3}


def test_an_interrupt_of_a_bulk_operation(path, program):
    process = program.start(
        """
        import itertools
        map = endura.open(path).map("m", int, int)
        print("begin", flush=True)
        try:
            map.put_many(itertools.count(), itertools.repeat(1))
        except KeyboardInterrupt:
            print(len(map) == map.peekitem()[0] + 1)
        """
    )
    assert process.stdout.readline() == "begin\n"
    threading.Timer(0.3, lambda: os.kill(process.pid, signal.SIGINT)).start()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and out == "True\n", err


@pytest.mark.parametrize("where", ["alter", "eq"])
def test_a_function_that_writes_its_own_key_ends(pool, where):
    map = pool.map("r", str, endura.Codec("number", lambda value: str(int(value)).encode(), lambda text: Number(int(text))))

    class Number(int):
        def __eq__(self, other):
            write()
            return True

        __hash__ = int.__hash__

    def write():
        map["k"] = map["k"] + 1

    map["k"] = 0
    with pytest.raises(endura.Error) as error:
        if where == "alter":
            map.alter("k", lambda old: write() or -1)
        else:
            map.compare_exchange("k", 0, -1)
    assert error.value.code == "recursive_update"
    assert map["k"] == 1_000
