"""What Python's own containers and files have, and programs expect: `|`, `in` with anything, paths as bytes, signals, help."""

import collections
import inspect
import io
import os
import pydoc
import re

import endura
import numpy
import pytest

KINDS = ["fastfair", "nbtree", "roart"]


@pytest.mark.parametrize("kind", KINDS)
def test_merges_are_dicts(pool, kind):
    map, other = pool.map("m", int, int, kind=kind), pool.map("n", int, int)
    map.update({2: 20, 1: 10})
    other.update({2: 21, 3: 31})
    for merged, expected in (
        (map | {2: 22}, {1: 10, 2: 22}),
        ({2: 22, 0: 0} | map, {2: 20, 0: 0, 1: 10}),
        (map | other, {1: 10, 2: 21, 3: 31}),
        (other | map, {2: 20, 3: 31, 1: 10}),
        (collections.OrderedDict(a=1) | map, {"a": 1, 1: 10, 2: 20}),
    ):
        assert merged == expected and list(merged) == list(expected)
        assert isinstance(merged, dict)
    assert dict(map) == {1: 10, 2: 20}
    same = map
    map |= {5: 50}
    map |= [(6, 60)]
    assert map is same and dict(map) == {1: 10, 2: 20, 5: 50, 6: 60}
    for wrong in (5, [(1, 2)], None, "ab"):
        with pytest.raises(TypeError, match="unsupported operand"):
            map | wrong
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong | map


@pytest.mark.parametrize("of", [str, bytes, int, "u64", "u128", float, "[u8; 4]", tuple[int, str], int | None], ids=str)
def test_what_cannot_be_a_key_is_not_there(pool, of):
    map = pool.map("m", of, int)
    for wrong in (object(), [], {}, 1j, "\ud800", 2**200, (1, 2, 3, 4, 5), {1}, memoryview(b"1234")[::2], None):
        if (wrong is None and of == (int | None)) or (wrong == 2**200 and of is float):
            continue
        assert wrong not in map and map.get(wrong) is None and map.get(wrong, 5) == 5
        assert wrong not in map.keys() and (wrong, 1) not in map.items()
        with pytest.raises((TypeError, OverflowError, ValueError)):
            map[wrong]
    pool.close()
    for call in (lambda: object() in map, lambda: map.get(object())):
        with pytest.raises(endura.Closed):
            call()


def test_a_value_that_cannot_be_read_is_no_missing_key(pool):
    def fail(encoded):
        raise ValueError("unreadable")

    map = pool.map("m", str, endura.Codec("own", lambda value: value, fail))
    map["a"] = b"1"
    with pytest.raises(ValueError, match="unreadable"):
        map.get("a", 5)
    assert "a" in map and map.get(5, 5) == 5


@pytest.mark.parametrize("kind", ["path", "str", "bytes", "of bytes"])
def test_paths(path, kind):
    class OfBytes:
        def __init__(self, path):
            self.path = path

        def __fspath__(self):
            return os.fsencode(self.path)

    made = {"path": lambda of: of, "str": str, "bytes": os.fsencode, "of bytes": OfBytes}[kind]
    with endura.open(made(path), checkpoints=0, checkpoint_file=made(path.with_name("own"))) as pool:
        assert pool.path == path and pool.path.name == "pool"
        pool.checkpoint()
        pool.backup(made(path.with_name("copy")))
    assert path.with_name("own").exists() and path.with_name("copy").exists()
    for wrong in (3, None, 1.5, [path]):
        with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object"):
            endura.open(wrong)


def test_a_name_that_is_no_text(folder):
    with endura.open(os.fsencode(folder) + b"/\xff") as pool:
        assert pool.path == folder / os.fsdecode(b"\xff")


def test_timeout_for_ever(path, program):
    with endura.open(path):
        process = program.start("print('begin', flush=True)\nwith endura.open(path, timeout=None): print('in')")
        assert process.stdout.readline() == "begin\n"
        with pytest.raises(Exception, match="timed out"):
            process.communicate(timeout=1)
    assert process.communicate(timeout=30)[0] == "in\n" and process.returncode == 0


def test_closed_and_repr(path):
    pool = endura.open(path)
    map = pool.map("m", str, int)
    assert not pool.closed and repr(pool) == f'<endura.Pool "{path}">'
    assert repr(map) == '<endura.Map "m" of str to i64, 0 entries>'
    map["a"] = 1
    assert repr(map) == '<endura.Map "m" of str to i64, 1 entry>'
    pool.rename("m", "n")
    assert repr(map) == '<endura.Map "m" of str to i64, dropped or renamed>'
    pool.close()
    assert pool.closed and repr(pool) == f'<endura.Pool "{path}", closed>'
    assert repr(map) == '<endura.Map "m" of str to i64, closed>'
    with endura.open(path, read_only=True) as pool:
        assert repr(pool) == f'<endura.Pool "{path}", read-only>'
        with pytest.raises(AttributeError):
            pool.closed = True
    assert pool.closed


def test_a_codec_may_return_a_buffer(pool):
    def encode(value):
        file = io.BytesIO()
        file.write(value.encode())
        return file.getbuffer()

    map = pool.map("m", str, endura.Codec("own", encode, lambda encoded: bytes(encoded).decode()))
    map.update(a="x", b="y" * 20_000)
    assert dict(map) == {"a": "x", "b": "y" * 20_000} and map.pop("a") == "x"
    for made in (bytearray(b"1"), memoryview(b"1"), numpy.frombuffer(b"1", "u1")):
        pool.drop("n")
        values = pool.map("n", str, endura.Codec("n", lambda value, made=made: made, bytes))
        values["a"] = 0
        assert values["a"] == b"1" and values.add("b", 0) and values.setdefault("c", 0) == 0
    gaps = pool.map("n", str, endura.Codec("n", lambda value: memoryview(b"1234")[::2], bytes))
    with pytest.raises(TypeError, match="do not follow one another"):
        gaps["a"] = 0


@pytest.mark.parametrize("kind", KINDS)
def test_truth_values_of_numpy(pool, kind):
    map = pool.map("m", bool, bool, kind=kind)
    map[numpy.True_] = numpy.False_
    assert dict(map) == {True: False} and numpy.True_ in map and map.get(numpy.bool_(True)) is False
    assert map.put_many(numpy.array([True, False]), numpy.array([True, True])) == 2
    assert map == {True: True, False: True}
    assert pool.map("pairs", tuple[bool, int], int).get((numpy.True_, 1)) is None


def test_wrong_fields_are_named(pool):
    map = pool.map("m", tuple[int, str], tuple[tuple[int, str | None], bytes])
    for wrong, text in (
        ((1, 2), "keys of the map `m` are `(i64, str)`: field 1 is `str`, not int"),
        ((numpy.float64(1), "a"), "keys of the map `m` are `(i64, str)`: field 0 is `i64`, not numpy.float64"),
        ((2**63, "a"), f"keys of the map `m` are `(i64, str)`: field 0 is `i64`, and {2**63} is too large"),
        ((-(2**63) - 1, "a"), f"keys of the map `m` are `(i64, str)`: field 0 is `i64`, and {-2**63 - 1} is too small"),
        ([1, "a"], "keys of the map `m` are `(i64, str)`, not list"),
    ):
        with pytest.raises((TypeError, OverflowError)) as caught:
            map[wrong] = ((1, None), b"")
        assert str(caught.value) == text
    with pytest.raises(TypeError, match=r": field 0\.1 is `str`, not float$"):
        map[1, "a"] = ((1, 0.5), b"")
    with pytest.raises(TypeError, match=r": field 1 is `\[u8\]`, not str$"):
        map[1, "a"] = ((1, None), "")
    with pytest.raises(OverflowError, match=r"^values of the map `n` are `u8`, and 256 is too large$"):
        pool.map("n", str, "u8")["a"] = 256


@pytest.mark.parametrize("inclusive", [(1, 0), [True, False], (True,), True, None])
def test_inclusive_is_a_pair_of_bools(pool, inclusive):
    map = pool.map("m", str, int)
    for call in (map.keys, map.items, map.count, map.remove_range, map.irange):
        with pytest.raises(TypeError, match="`inclusive` is a pair of bools"):
            call("a", "b", inclusive=inclusive)


def test_prefix_with_bounds(pool):
    map = pool.map("m", str, int)
    map.put_many(["a", "ab", "abc", "abd", "ac", "b"], range(6))
    assert list(map.keys("abb", prefix="ab")) == ["abc", "abd"] and list(map.keys("b", prefix="ab")) == []
    assert list(map.keys(stop="abd", prefix="ab")) == ["ab", "abc"] and list(map.keys(None, "a", prefix="ab")) == []
    assert list(map.keys("a", "z", prefix="ab", reverse=True)) == ["abd", "abc", "ab"]
    assert list(map.keys("ab", prefix="ab", inclusive=(False, True))) == ["abc", "abd"]
    assert map.count("abc", prefix="ab") == 2 and map.remove_range("abc", prefix="ab") == 2
    assert list(map) == ["a", "ab", "ac", "b"]


def test_remove_range_removes_no_whole_map(pool):
    map = pool.map("m", str, int)
    map["a"] = 1
    for arguments in ({}, {"start": None}, {"prefix": None}, {"stop": None, "inclusive": (True, True)}):
        with pytest.raises(TypeError, match="`clear` removes all"):
            map.remove_range(**arguments)
    assert map.remove_range(prefix="") == 1


LONG = {
    "clear": "map.clear()",
    "count": "while True: map.count()",
    "remove_range": "map.remove_range(0)",
    "list": "while True: list(map.items())",
    "dict": "while True: dict(map)",
    "sum": "while True: sum(map.values())",
}


@pytest.mark.parametrize("call", LONG)
def test_an_interrupt_ends_long_calls(path, program, call):
    """The signal comes in the middle: the call ends long before all is done."""
    out = program.run(
        f"""
        import signal, threading, time
        pool = endura.open(path)
        map = pool.map("m", int, int)
        map.put_many(range(2_000_000), range(2_000_000))
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            {LONG[call]}
            time.sleep(1)
            print("was too quick")
        except KeyboardInterrupt:
            print("interrupted", len(map))
        pool.check()
        """
    )
    said = out.split()
    assert said[0] == "interrupted"
    assert int(said[1]) > 0


def test_help_has_no_internals():
    for of in (endura.Map, endura.Pool, endura.open, endura.Codec, endura.Error, endura.FileNotFoundError):
        # From Python 3.13 on, the help says in which module a method is.
        text = re.sub(r" from endura\._\w+\.\w+", "", pydoc.render_doc(of, renderer=pydoc.plaintext))
        assert not re.search(r"<object object|0x[0-9a-f]{6}|\*arguments|endura\._errors|endura\._pool|endura\._codec", text), text
    signatures = {
        endura.Map.popitem: "(self, last=True)",
        endura.Map.incr: "(self, key, delta=1, default=0)",
        endura.Map.pop: "(self, key, default=Ellipsis, /)",
        endura.Map.edit: "(self, key, default=Ellipsis)",
        endura.Map.count: "(self, start=None, stop=None, *, prefix=None, inclusive=(True, False))",
    }
    for method, signature in signatures.items():
        assert str(inspect.signature(method)).replace("self, /, ", "self, ") == signature
    assert "key: 'Any' = ..., value: 'Any' = ..., *, kind" in str(inspect.signature(endura.Pool.map))
    own = list(inspect.signature(endura.open).parameters.items())
    assert list(inspect.signature(endura.Pool).parameters.items()) == own


def test_names():
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", endura.__version__)
    names = {}
    exec("from endura import *", names)
    assert "open" not in names and "SystemError" not in names and "FileNotFoundError" not in names
    assert names["Pool"] is endura.Pool and names["__version__"] == endura.__version__
    for of in (endura.Pool, endura.Map, endura.Codec, endura.Locked, endura.SystemError, endura.CheckpointWarning):
        assert of.__module__ == "endura"
