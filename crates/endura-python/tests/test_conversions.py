"""What goes in comes back, or is refused: numbers, JSON, arrays; and a map compares as a mapping does."""

import collections
import decimal
import enum
import fractions
import math

import endura
import numpy
import pytest

KINDS = ["fastfair", "nbtree", "roart"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("of", "exact", "inexact"),
    [
        (
            float,
            [2**53, -(2**60), True, decimal.Decimal("0.5"), fractions.Fraction(1, 4), numpy.float32(0.1), numpy.int64(2**60)]
            + [numpy.longdouble(0.5), numpy.float16(0.1), numpy.array(3), 0.1, math.inf],
            [2**53 + 1, -(2**63) - 1, decimal.Decimal("0.1"), fractions.Fraction(1, 3), numpy.int64(2**53 + 1)]
            + [numpy.uint64(2**64 - 1), numpy.longdouble("0.1"), numpy.array(2**53 + 1)],
        ),
        (
            "f32",
            [2**24, 0.5, numpy.float32(0.1), decimal.Decimal("0.25"), -math.inf],
            [2**24 + 1, 0.1, decimal.Decimal("0.1"), numpy.float64(0.1), 1e-300],
        ),
    ],
    ids=str,
)
def test_floats_take_numbers_that_fit(pool, of, exact, inexact, kind):
    map = pool.map("m", of, of, kind=kind)
    for number in exact:
        map[number] = number
        assert map[number] == number and number in map
        assert map.put_many([number], [number]) == 1 and map.incr(number, number) == 2 * number
    map.clear()
    for number in inexact:
        calls = [
            lambda number=number: map.__setitem__(number, 1),
            lambda number=number: map.__setitem__(1, number),
            lambda number=number: map.pop(number),
            lambda number=number: map.put_many([1], [number]),
        ]
        # Sums are rounded to the type, what is added is not.
        if of is float:
            calls += [lambda number=number: map.incr(1, number), lambda number=number: map.incr(1, 1, number)]
        for call in calls:
            with pytest.raises(ValueError, match="exactly"):
                call()
        assert number not in map and map.get(number, "none") == "none"
    assert not map
    map[1] = decimal.Decimal("nan")
    assert math.isnan(map[1])
    for wrong in (numpy.array([1.5, 2.5]), "1", numpy.datetime64("2024-01-01"), numpy.timedelta64(5, "s")):
        with pytest.raises((TypeError, ValueError)):
            map[1] = wrong


def test_arrays_of_numbers_that_do_not_fit(pool):
    map = pool.map("m", float, "f32")
    with pytest.raises(ValueError, match="keys of the map `m` are `f64`.*exactly"):
        map.put_many(numpy.array([1, 2**53 + 1]), numpy.zeros(2, "f4"))
    with pytest.raises(ValueError, match="values of the map `m` are `f32`.*exactly"):
        map.put_many(numpy.arange(2.0), numpy.array([0.5, 0.1]))
    with pytest.raises(ValueError, match="exactly"):
        map.get_many(numpy.array([2**53 + 1]))
    assert map.put_many(numpy.arange(2.0), numpy.array([0.5, 0.1], "f4")) == 2


class Text(str):
    pass


class Level(enum.IntEnum):
    HIGH = 3


BACK = {
    "plain": {"a": [1, 2.5, None, True, "é", {"b": []}], "": {}},
    "classes of a dict": collections.OrderedDict(b=collections.defaultdict(list, c=[1])),
    "a text of another class": {Text("a"): Text("b")},
    "a number of a class": {"a": Level.HIGH, "b": numpy.float64(0.1)},
    "large numbers": {"a": 10**30, "b": -0.0, "c": 5e-324},
}
CHANGED = {
    "a number as a key": ({1: "a"}, "int as a key"),
    "two keys that become one": ({1: "a", "1": "b"}, "int as a key"),
    "None as a key": ({"a": [{None: 1}]}, "NoneType as a key"),
    "a truth value as a key": ({"a": {True: 1}}, "bool as a key"),
    "a float as a key": ({1.5: 1}, "float as a key"),
    "a tuple": ({"a": (1, 2)}, "tuple comes back as a list"),
    "an empty tuple": ({"a": [[()]]}, "tuple comes back as a list"),
    "a named tuple": ({"a": collections.namedtuple("Point", "x y")(1, 2)}, "Point comes back as a list"),
    "a tuple alone": ((1, 2), "tuple comes back as a list"),
}


@pytest.mark.parametrize("value", BACK)
def test_json_comes_back(pool, value):
    map = pool.map("m", str, dict)
    map["a"] = BACK[value]
    assert map["a"] == BACK[value] and map.alter("a", lambda old: old) == BACK[value]


@pytest.mark.parametrize("value", CHANGED)
def test_json_that_would_not_come_back_is_refused(pool, value):
    map, (value, text) = pool.map("m", str, dict), CHANGED[value]
    for call in (
        lambda: map.__setitem__("a", value),
        lambda: map.put_many(["a"], [value]),
        lambda: map.setdefault("a", value),
        lambda: map.alter("a", lambda old: value),
        lambda: map.edit("a", value).__enter__(),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    assert not map


def test_the_default_of_an_edit_is_copied(pool):
    map, shared = pool.map("m", str, dict), {"list": []}
    for key in "ab":
        with map.edit(key, default=shared) as value:
            value[key] = 1
            value["list"].append(key)
    assert shared == {"list": []}
    assert dict(map) == {"a": {"a": 1, "list": ["a"]}, "b": {"b": 1, "list": ["b"]}}


DTYPES = ["i8", "i4", "i2", "u1", "u8", ">i8", "object"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_of_an_array_come_two_arrays(pool, kind, dtype):
    map = pool.map("m", int, int, kind=kind)
    map.put_many(range(10), range(0, 100, 10))
    keys = numpy.array([3, 99, 4], dtype)
    for default, missing in (((), 0), ((None,), 0), ((-1,), -1), ((numpy.int16(7),), 7)):
        values, found = map.get_many(keys, *default)
        assert values.tolist() == [30, missing, 40] and values.dtype == numpy.int64
        assert found.tolist() == [True, False, True] and found.dtype == bool
    values, found = map.get_many(keys[:0])
    assert values.shape == found.shape == (0,)
    values, found = map.get_many(keys[::-1][::2], default=5)
    assert values.tolist() == [40, 30]
    for wrong, error in (("x", TypeError), (1.5, TypeError), (2**63, OverflowError)):
        with pytest.raises(error, match="values of the map `m`"):
            map.get_many(keys, default=wrong)
    for wrong in (keys.reshape(3, 1), keys[0:1].reshape(())):
        with pytest.raises(ValueError, match="one dimension"):
            map.get_many(wrong)


def test_arrays_of_other_keys_and_values(pool):
    texts = pool.map("texts", str, float)
    texts["a"] = 0.5
    values, found = texts.get_many(numpy.array(["a", "zz"]), default=-1)
    assert values.tolist() == [0.5, -1.0] and values.dtype == numpy.float64 and found.tolist() == [True, False]
    pairs = pool.map("pairs", int, tuple[int, int])
    pairs.update({1: (2, 3), 2: (4, 5)})
    values, found = pairs.get_many(numpy.array([1, 7, 2]))
    assert values.tolist() == [(2, 3), None, (4, 5)] and values.dtype == object and values.shape == (3,)
    assert found.tolist() == [True, False, True]
    documents = pool.map("documents", int, dict)
    documents.update({1: [1, 2], 2: None})
    values, found = documents.get_many(numpy.array([1, 2, 3], "u1"), default="none")
    assert values.tolist() == [[1, 2], None, "none"] and found.tolist() == [True, True, False]
    words = pool.map("words", "u8", bool)
    words[1] = True
    values, found = words.get_many(numpy.array([1, 2], "u1"), default=False)
    assert values.tolist() == [True, False] and found.tolist() == [True, False]


@pytest.mark.parametrize("of", [list, tuple, iter])
def test_of_other_iterables_comes_a_list(pool, of):
    map = pool.map("m", int, int)
    map[1] = 2
    assert map.get_many(of([1, 5]), -1) == [2, -1]


def test_a_map_equals_a_mapping_with_the_same_entries(pool):
    map, same = pool.map("m", str, int), pool.map("n", str, int, kind="roart")
    assert map == {} and map == same
    map.update(a=1, b=2)
    assert map == {"b": 2, "a": 1} and {"a": 1, "b": 2} == map and not map != {"a": 1, "b": 2}
    assert map == collections.OrderedDict(a=1.0, b=2) == map and map == collections.ChainMap({"a": 1}, {"b": 2})
    for other in ({"a": 1}, {"a": 1, "b": 3}, {"a": 1, "c": 2}, {"a": 1, 2: 2}, same, {}):
        assert map != other and not map == other and other != map
    same.update(map)
    assert map == same and map == map and map == dict(map)
    for other in (None, 1, "ab", [("a", 1), ("b", 2)], {"a", "b"}, object()):
        assert map != other and not map == other
    assert pool.map("none", int, None) == pool.map("documents", str, dict) == {}
    with pytest.raises(TypeError, match="unhashable"):
        hash(map)
    assert map == type("Any", (), {"__eq__": lambda self, other: True})()
    pool.close()
    with pytest.raises(endura.Closed):
        assert map == {"a": 1}


@pytest.mark.parametrize("method", ["peekitem", "popitem"])
def test_ends_take_what_they_mean(pool, method):
    map = pool.map("m", int, int)
    map.put_many(range(4), range(4))
    for last, key in ((True, 3), (-1, 3), (False, 0), (0, 0)):
        assert getattr(map, method)(last) == (key, key)
        map[key] = key
        assert getattr(map, method)(last=last) == (key, key)
        map[key] = key
    for last in (1, 2, -2, 2**70):
        with pytest.raises(IndexError, match="no index"):
            getattr(map, method)(last)
    for last in (None, "first", 0.0, [], numpy.True_):
        with pytest.raises(TypeError, match="last"):
            getattr(map, method)(last)
    assert len(map) == 4
