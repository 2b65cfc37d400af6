"""Each exception is raised by something real, and says what to do in words of Python."""

import array
import errno
import os
import pathlib
import pickle
import re
import traceback

import endura
import numpy
import pytest
from endura._endura import _in_python

CRATE = pathlib.Path(__file__).resolve().parent.parent

#: What a program in Python does not have, or has by another name.
FOREIGN = re.compile(
    r"::|--wait|lock_timeout|Pool::|Map<|Some\(|None\(|Err\(|Ok\(|\bDuration\b|\bvec!|\bSystemTime\b|PoolOptions|\bu8\b(?!;|\])"
)


def raised(of, call, *arguments, code=None):
    """What a call raises, of just this class."""
    with pytest.raises(of) as caught:
        call(*arguments)
    error = caught.value
    assert type(error) is of and isinstance(error, endura.Error)
    assert error.code == (code or of.code)
    assert str(error) and not FOREIGN.search(str(error)), str(error)
    return str(error)


def test_locked(pool, path):
    text = raised(endura.Locked, endura.open, path)
    assert "timeout=SECONDS" in text and text.startswith(f"this process has the pool open already, as {pool!r}")


def test_no_checkpoints(pool):
    text = raised(endura.Error, pool.checkpoint, code="unsupported")
    assert text.startswith("the pool has no checkpoints, as on tmpfs by default") and "`checkpoints=True`" in text


def test_what_is_added_is_a_number(pool):
    for of, name in ((int, "i64"), ("u128", "u128"), (float, "f64")):
        map = pool.map(name, str, of)
        for wrong in ("1", 1j, [1]):
            for arguments in ((wrong,), (1, wrong)):
                with pytest.raises(TypeError, match=f"values of the map `{name}` are `{name}`, not {type(wrong).__name__}"):
                    map.incr("a", *arguments)
        assert not map


def test_closed(pool):
    map = pool.map("m", str, int)
    pool.close()
    for call in (map.get, map.pop, map.incr, map.keys):
        raised(endura.Closed, lambda call=call: list(call("a")))
    for call in (map.clear, map.count, map.__len__, map.popitem, pool.maps, pool.stats, pool.check, pool.checkpoint):
        raised(endura.Closed, call)
    raised(endura.Closed, pool.map, "m", str, int)
    pool.close()


def test_dropped(pool):
    map = pool.map("m", str, int)
    assert pool.drop("m") and not pool.drop("m")
    raised(endura.Dropped, map.get, "a")


def test_names(pool):
    pool.map("m", str, int)
    pool.map("n", str, int)
    assert "pool.maps()" in raised(endura.NoSuchMap, pool.map, "other")
    assert issubclass(endura.NoSuchMap, LookupError)
    raised(endura.NoSuchMap, pool.rename, "other", "third")
    raised(endura.MapExists, pool.rename, "m", "n")
    for name in ("", "x" * 256, "a\0b"):
        raised(endura.Error, pool.map, name, str, int, code="bad_name")
    with pytest.raises(UnicodeEncodeError):
        pool.map("\ud800", str, int)


def test_types(pool):
    pool.map("m", str, int)
    assert "`str`" in raised(endura.WrongTypes, pool.map, "m", int, int)
    raised(endura.WrongTypes, pool.map, "m", str, endura.Codec("own", repr, eval))
    assert issubclass(endura.WrongTypes, TypeError)
    raised(endura.WrongKind, lambda: pool.map("m", str, int, kind="nbtree"))
    with pytest.raises(ValueError, match="btree"):
        pool.map("other", str, int, kind="btree")
    for key, value in (
        (list, int),
        (dict, int),
        (endura.JSON, int),
        (object, int),
        (tuple, int),
        (str, set),
        (str | int, int),
    ):
        with pytest.raises(TypeError, match="type"):
            pool.map("other", key, value)
    with pytest.raises(TypeError, match="both types"):
        pool.map("other", str)
    with pytest.raises(ValueError, match="another name"):
        pool.map("other", str, endura.Codec("u64", repr, eval))
    assert "other" not in pool.maps()


def test_full(path):
    with endura.open(path, max_size=4 << 20) as pool:
        map = pool.map("m", int, bytes)
        text = raised(endura.Full, lambda: [map.put_many([i], [b"x" * 10_000]) for i in range(10_000)])
        assert "max_size" in text
        # All that was written before is there, and the pool goes on.
        assert len(map) > 10 and map[0] == b"x" * 10_000
        raised(endura.Full, map.__setitem__, 1, b"x" * (8 << 20))
        map.remove_range(0, 20)
        map[0] = b"y"
        pool.check()


def test_read_only(path):
    with endura.open(path) as pool:
        pool.map("m", str, int)["a"] = 1
        pool.map("d", str, dict)["a"] = {}
    with endura.open(path, read_only=True) as pool:
        map = pool.map("m")
        writes = [
            map.clear,
            map.popitem,
            lambda: map.pop("a"),
            lambda: map.incr("a"),
            lambda: map.update(b=1),
            lambda: map.alter("a", lambda old: 2),
        ]
        writes += [
            lambda: map.put_many("b", [1]),
            lambda: map.compare_exchange("a", 1, 2),
            lambda: map.add("b", 1),
            lambda: map.setdefault("b", 1),
            lambda: map.remove_range("a"),
        ]
        writes += [lambda: pool.drop("m"), lambda: pool.rename("m", "n")]
        for write in writes:
            assert "read_only=True" in raised(endura.ReadOnly, write)
        with pytest.raises(endura.ReadOnly), pool.map("d").edit("a") as value:
            value["b"] = 1
        assert "read_only=True" in raised(endura.NoSuchMap, pool.map, "new", str, int)
        assert map.setdefault("a", 2) == 1 and dict(map) == {"a": 1}


def test_lengths(pool):
    map = pool.map("m", str, str)
    assert "65536" in raised(endura.KeyTooLong, map.__setitem__, "x" * 65_537, "")
    raised(endura.ValueTooLong, map.__setitem__, "", "x" * ((1 << 30) + 1))
    assert issubclass(endura.KeyTooLong, ValueError) and issubclass(endura.ValueTooLong, ValueError)
    map["x" * 65_536] = ""
    assert "x" * 65_536 in map and not pool.map("b", bytes, bytes).get(b"x" * 100_000)


def test_conflict(pool):
    map = pool.map("m", str, dict)
    map["a"] = {}

    def edit():
        with map.edit("a") as value:
            value["b"] = 1
            map["a"] = {"c": 1}

    assert "edit it again" in raised(endura.Conflict, edit)
    assert map["a"] == {"c": 1}


def test_an_update_in_vain(pool):
    map = pool.map("m", str, int)
    map["a"] = 0

    def change(old):
        map.alter("a", lambda old: old + 1)
        return 0

    raised(endura.Error, map.alter, "a", change, code="recursive_update")


def test_system_errors(path, folder):
    with pytest.raises(endura.SystemError) as caught:
        endura.open(folder / "missing" / "pool")
    assert caught.value.errno == errno.ENOENT and caught.value.code == "io" and isinstance(caught.value, OSError)
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(endura.SystemError) as caught:
            endura.open(path, **options)
        assert caught.value.errno == errno.ENOENT
    assert not path.exists()
    with pytest.raises(endura.SystemError) as caught:
        endura.open(path, timeout=1).backup(folder / "missing" / "copy")
    assert caught.value.errno == errno.ENOENT
    for name in ("a\0b", b"a\0b"):
        with pytest.raises(ValueError, match="embedded null byte"):
            endura.open(name)


def test_errors_of_the_system_are_of_pythons_classes(path, folder):
    endura.open(path).close()
    missing, below = folder / "missing" / "pool", path / "below"
    calls = {
        FileNotFoundError: (lambda: endura.open(missing), missing),
        NotADirectoryError: (lambda: endura.open(below), below),
        FileExistsError: (lambda: endura.open(path, timeout=1).backup(folder / "copy"), folder / "copy"),
    }
    (folder / "copy").touch()
    for of, (call, where) in calls.items():
        with pytest.raises(of) as caught:
            call()
        error = caught.value
        assert isinstance(error, endura.SystemError) and type(error) is getattr(endura, of.__name__)
        assert error.errno == {FileNotFoundError: 2, NotADirectoryError: 20, FileExistsError: 17}[of]
        assert error.filename == str(where) and error.strerror == os.strerror(error.errno)
        assert str(error).count(f"{error.errno}]") == 1 and "os error" not in str(error) and str(error).startswith(f"[Errno {error.errno}] "), str(error)
        assert os.strerror(error.errno) in str(error) and "os error" not in str(error)
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error) and again.filename == error.filename
        assert traceback.format_exception_only(error)[0].startswith(f"endura.{of.__name__}: ")


@pytest.mark.skipif(os.geteuid() == 0 and not hasattr(os, "seteuid"), reason="root may read everything")
def test_a_file_of_another_user(path, program):
    endura.open(path).close()
    os.chmod(path, 0o600)
    if os.geteuid() != 0:
        os.chmod(path, 0)
    said = program.run(
        """
        if os.geteuid() == 0:
            os.chmod(os.path.dirname(path), 0o755)
            os.seteuid(65534)
        try:
            endura.open(path)
        except PermissionError as error:
            print(type(error).__module__, error.errno, error.filename == path)
        """
    )
    assert said == "endura 13 True\n"


def strings_of_the_library():
    """The texts in the sources of the library that name something between backquotes."""
    for crate in ("endura-engine", "endura"):
        for file in (CRATE.parent / crate / "src").rglob("*.rs"):
            lines = [line for line in file.read_text().splitlines() if not line.lstrip().startswith("//")]
            for text in re.findall(r'"((?:[^"\\]|\\.)*)"', "\n".join(lines), re.DOTALL):
                yield file, re.sub(r"\\\n\s*", "", text)


#: Texts that this module words itself (`error.rs`), or that cannot come up in it.
OWN = re.compile(r"^(the pool is (damaged|open elsewhere)|an entry does not decode|the pool has no map)")


def test_texts_of_the_library_in_words_of_python():
    seen = 0
    for file, text in strings_of_the_library():
        if not re.search(r"`[^`]*(::|--|\(true\)|lock_timeout|must_exist|endura check)[^`]*`", text) or OWN.search(text):
            continue
        if "encoding" in file.parts or "cp --" in text:
            continue
        if file.name in ("visit.rs", "newtype.rs", "readable.rs"):
            continue
        seen += 1
        own = _in_python(text)
        assert own != text and not FOREIGN.search(own), f"{file}: {text}"
        assert not re.search(r"`(-|[a-z_]+\(true)", own), f"{file}: {own}"
    assert seen >= 8


def test_files_that_are_no_pools(path, folder):
    with pytest.raises(IsADirectoryError, match=f"Errno 21.*{folder}.*folder") as refused:
        endura.open(folder)
    assert refused.value.filename == str(folder) and isinstance(refused.value, endura.SystemError)
    path.write_bytes(b"something else" * 1_000)
    raised(endura.Error, endura.open, path, code="not_a_pool")
    with pytest.raises(endura.Error, match=f"^{re.escape(str(path))}: this is not an endura pool"):
        endura.open(path)
    assert path.read_bytes() == b"something else" * 1_000


def test_errors_of_maps_name_the_pool(path):
    pool = endura.open(path, max_size=4 << 20)
    map = pool.map("m", int, bytes)
    named = f"^{re.escape(str(path))}: "
    with pytest.raises(endura.Full, match=named):
        for key in range(1_000):
            map[key] = b"x" * 65_536
    pool.close()
    for call in (lambda: map[0], lambda: len(map), pool.stats):
        with pytest.raises(endura.Closed, match=named):
            call()


def written(path):
    with endura.open(path) as pool:
        map = pool.map("m", int, bytes)
        map.put_many(range(5_000), [b"x" * 100] * 5_000)
    return path.stat().st_size


def test_truncated(path):
    os.truncate(path, written(path) // 2)
    raised(endura.Error, endura.open, path, code="truncated")


def test_damage_is_found(path):
    """Wherever it is: an open, a check or a read raises, and none of them crashes."""
    size, found = written(path), 0
    content = path.read_bytes()
    for at in range(0, size, max(4096, size // 64 // 4096 * 4096)):
        path.write_bytes(content[:at] + b"\xa5" * 64 + content[at + 64 :])
        try:
            with endura.open(path) as pool:
                list(pool.map("m").items())
                pool.check()
        except endura.Error as error:
            assert not FOREIGN.search(str(error)), str(error)
            found += type(error) is endura.Corrupt
    assert found >= 1


def test_torn_and_checkpoints(path, folder):
    with endura.open(path, checkpoints=0, checkpoint_file=folder / "other") as pool:
        pool.map("m", str, int)["a"] = 1
        pool.checkpoint()
    (folder / "other").write_bytes(b"nothing" * 100)
    for options in ({"checkpoints": "often"}, {"checkpoints": [1]}):
        with pytest.raises(TypeError, match="checkpoints"):
            endura.open(path, **options)
    for wrong in ("5", [1], b"1"):
        with pytest.raises(TypeError, match=f"`timeout` is a number of seconds, or None for ever, not {type(wrong).__name__}"):
            endura.open(path, timeout=wrong)
        with pytest.raises(TypeError, match=f"`max_size` is a number of bytes, not {type(wrong).__name__}"):
            endura.open(path, max_size=wrong)
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError, match=f"`max_size` is a number of bytes, not {wrong}"):
            endura.open(path, max_size=wrong)
    for name in ("timeout", "checkpoints"):
        for seconds in (-1, float("nan"), float("inf")):
            with pytest.raises(ValueError, match=f"`{name}`.* (is|not) a number of seconds"):
                endura.open(path, **{name: seconds})


def test_every_class_has_its_code_once():
    classes = [of for of in vars(endura).values() if isinstance(of, type) and issubclass(of, endura.Error)]
    system = [of for of in classes if issubclass(of, endura.SystemError)]
    assert len({of.code for of in classes}) == len(classes) - len(system) + 1 >= 18
    for of in classes:
        assert getattr(endura, of.__name__) is of and of.__doc__ and of.__module__ == "endura"


WRONG = {
    str: ([1, b"a", None, "\ud800", bytearray(b"a")], "`str`"),
    bytes: (["a", 1, None, [1]], r"`\[u8\]`"),
    int: (["1", 1.5, None, b"1", 2**63, -(2**63) - 1, 10**5_000], "`i64`"),
    "u64": (["1", 1.0, None, -1, 2**64, -(10**5_000)], "`u64`"),
    "i8": (["1", 128, -129], "`i8`"),
    "u128": (["1", -1, 2**128], "`u128`"),
    float: (["1", None, b"", 10**400], "`f64`"),
    "f32": (["1", None, 1e300], "`f32`"),
    bool: ([1, 0, "true", None, numpy.array([True])], "`bool`"),
    "char": (["", "ab", b"a", 1, "\ud800"], "`char`"),
    "[u8; 4]": ([b"abc", b"abcde", "abcd", 4], r"\[u8; 4\]"),
    None: ([0, "", False], r"`\(\)`"),
    tuple[int, str]: ([1, (1,), (1, "a", 2), ("a", 1), [1, "a"], (2**63, "a"), (1, "\ud800"), ()], r"`\(i64, str\)`"),
    int | None: (["1", 2**63], "`Option<i64>`"),
    "Reverse<str>": ([1, "\ud800"], "`Reverse<str>`"),
}


@pytest.mark.parametrize("of", WRONG, ids=str)
def test_wrong_objects_name_the_map_and_the_type(pool, of):
    objects, name = WRONG[of]
    keys, values = pool.map("the keys", of, int), pool.map("the values", int, of)
    for wrong in objects:
        calls = [
            ("the keys", lambda wrong=wrong: keys.__setitem__(wrong, 1)),
            ("the keys", lambda wrong=wrong: keys.pop(wrong)),
            ("the keys", lambda wrong=wrong: keys.get_many([wrong])),
            ("the values", lambda wrong=wrong: values.__setitem__(1, wrong)),
            ("the values", lambda wrong=wrong: values.put_many([1], [wrong])),
        ]
        for which, call in calls:
            with pytest.raises((TypeError, OverflowError, ValueError)) as caught:
                call()
            error, text = caught.value, str(caught.value)
            assert not FOREIGN.search(text.replace("[u8; 4]", "").replace("Option<", "").replace("Reverse<", "")), text
            assert len(text) < 300
            if isinstance(error, UnicodeEncodeError):
                continue
            assert which in text, text
            assert re.search(name, text), text
            if isinstance(wrong, int) and type(wrong) is int and type(error) is not TypeError:
                assert type(error) is OverflowError
    assert not keys and not values


BUFFERS = {
    "bytearray": bytearray(b"abcd"),
    "memoryview": memoryview(b"abcd"),
    "part of a memoryview": memoryview(b"xabcdx")[1:5],
    "array": array.array("B", b"abcd"),
    "wide array": array.array("I", [int.from_bytes(b"abcd", "little")]),
    "numpy": numpy.frombuffer(b"abcd", numpy.uint8),
    "wide numpy": numpy.frombuffer(b"abcd", "<u4"),
    "square": numpy.frombuffer(b"abcd", numpy.uint8).reshape(2, 2),
    "bytes_": numpy.bytes_(b"abcd"),
}
GAPS = {
    "memoryview": memoryview(b"axbxcxdx")[::2],
    "numpy": numpy.frombuffer(b"axbxcxdx", numpy.uint8)[::2],
    "columns": numpy.asfortranarray(numpy.frombuffer(b"acbd", numpy.uint8).reshape(2, 2)),
}


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("of", [bytes, "[u8; 4]", tuple[bytes, bool], bytes | None], ids=str)
def test_buffers_are_bytes(pool, of, buffer):
    whole = (lambda data: (data, True)) if of == tuple[bytes, bool] else (lambda data: data)
    map, data = pool.map("m", of, of), whole(BUFFERS[buffer])
    map[data] = data
    assert dict(map) == {whole(b"abcd"): whole(b"abcd")} and data in map and map.pop(data) == whole(b"abcd")
    map.put_many([data], [data])
    assert map.get_many([data]) == [whole(b"abcd")]


@pytest.mark.parametrize("gaps", GAPS)
def test_buffers_with_gaps_are_refused(pool, gaps):
    map = pool.map("m", bytes, bytes)
    with pytest.raises(TypeError, match=r"keys of the map `m` are `\[u8\]`: .* give `bytes"):
        map[GAPS[gaps]] = b""
    with pytest.raises(TypeError, match=r"values of the map `m` are `\[u8\]`"):
        map[b""] = GAPS[gaps]


@pytest.mark.parametrize("dtype", ["i8", "u4", ">i8", "i2", "i8 with gaps", "object", "list"])
def test_arrays_of_numbers(pool, dtype):
    map = pool.map("m", int, int)
    keys = numpy.arange(200_000)
    array = {"i8 with gaps": numpy.arange(400_000)[::2] // 2, "list": keys.tolist()}.get(dtype)
    keys = keys[:30_000] if array is None else keys
    array = keys.astype(dtype) if array is None else array
    assert map.put_many(array, array) == len(keys)
    assert list(map) == keys.tolist() == list(map.values())
    values, found = map.get_many(numpy.array([5, -1, 7]))
    assert values.tolist() == [5, 0, 7] and found.tolist() == [True, False, True] and values.dtype == numpy.int64
    with pytest.raises(ValueError, match="as many"):
        map.put_many(array, array[:-1])
    with pytest.raises(TypeError):
        map.put_many(keys.reshape(2, -1), keys.reshape(2, -1))
    with pytest.raises(TypeError):
        map.put_many(keys[:2].astype(float), keys[:2])


@pytest.mark.parametrize("name", ["u46", "string", "int", "(u64)", "list", ""])
def test_names_of_types_that_are_none(pool, name):
    with pytest.raises(TypeError, match="not a key type"):
        pool.map("m", name, int)
    with pytest.raises(TypeError, match="not a value type"):
        pool.map("m", int, name)
    assert pool.maps() == {}
