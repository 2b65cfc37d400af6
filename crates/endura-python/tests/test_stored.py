"""Dates, times and UUIDs: they come back, in order, and are stored as numbers and bytes that other programs read."""

import datetime as dt
import uuid
import zoneinfo

import endura
import numpy
import pytest

UTC = dt.timezone.utc
VALUES = {
    dt.date: [dt.date.min, dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date.max],
    dt.datetime: [
        dt.datetime.min.replace(tzinfo=UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        dt.datetime(1970, 1, 1, tzinfo=UTC),
        dt.datetime(2024, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo("UTC")),
        dt.datetime.max.replace(tzinfo=UTC),
    ],
    "datetime.naive: i64": [dt.datetime.min, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime.max],
    uuid.UUID: [uuid.UUID(int=0), uuid.UUID("12345678-1234-5678-1234-567812345678"), uuid.UUID(int=2**128 - 1)],
}
RECORDED = {
    dt.date: "datetime.date: i32",
    dt.datetime: "datetime.datetime: i64",
    "datetime.naive: i64": "datetime.naive: i64",
    uuid.UUID: "uuid.UUID: [u8; 16]",
}


@pytest.mark.parametrize("of", VALUES, ids=str)
def test_they_come_back_in_order(path, of):
    values = VALUES[of]
    with endura.open(path) as pool:
        map, name = pool.map("m", of, of), RECORDED[of]
        assert map.types == (name, name)
        for value in reversed(values):
            map[value] = value
            assert map[value] == value and value in map and map.pop(value) == value
        map.put_many(values, values)
    with endura.open(path) as pool:
        map = pool.map("m")
        assert list(map) == values == list(map.values()) and map == dict(zip(values, values))
        assert [type(key) for key in map] == [type(value) for value in values]
        assert list(map.keys(values[1])) == values[1:] and list(map.irange(values[0], values[1])) == values[:2]
        assert map.get_many([*values, values[0]]) == [*values, values[0]]
        assert map.compare_exchange(values[0], values[0], values[1]) and map.alter(values[0], lambda old: old) == values[1]
        assert map.setdefault(values[0], values[0]) == values[1] and map.popitem() == (values[-1], values[-1])
        for wrong in (1, "a", None, b"x" * 16, 1.5, numpy.datetime64("2024-01-01")):
            assert wrong not in map and map.get(wrong, 5) == 5
            with pytest.raises(TypeError, match=rf"keys of the map `m` are `{name.replace('[', '.').replace(']', '.')}`: "):
                map[wrong] = values[0]
            with pytest.raises(TypeError, match="values of the map `m` are"):
                map[values[0]] = wrong
        with pytest.raises(TypeError, match="incr"):
            map.incr(values[0], 1)
        with pytest.raises(TypeError):
            map.put_many(numpy.arange(3), numpy.arange(3))


@pytest.mark.parametrize("kind", ["fastfair", "nbtree", "roart"])
def test_how_they_are_stored(pool, kind):
    """Another program sees plain numbers: `Day: i32` of a program in Rust is this name, and the command writes the number."""
    day, time = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30, 0, 5, UTC)
    pool.map("days", dt.date, dt.datetime, kind=kind)[day] = time
    map = pool._map("days", None, None, None, (None, None))
    assert dict(map) == {(day - dt.date(1970, 1, 1)).days: int(time.timestamp()) * 10**6 + 5}
    ids = pool.map("ids", uuid.UUID, int)
    one = uuid.uuid4()
    ids[one] = 1
    assert dict(pool._map("ids", None, None, None, (None, None))) == {one.bytes: 1}
    with pytest.raises(endura.WrongTypes):
        pool.map("days", "i32", "i64")


def test_times_with_and_without_a_zone_do_not_mix(pool):
    aware, naive = pool.map("aware", dt.datetime, int), pool.map("naive", "datetime.naive: i64", int)
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    time = dt.datetime(2024, 7, 1, 14, tzinfo=zone)
    aware[time] = 1
    # The same moment in another zone is the same key. It comes back in UTC.
    assert aware[time.astimezone(UTC)] == 1 and len(aware) == 1 and next(iter(aware)).tzinfo is UTC
    # Clocks are put back at 3: the hour between 2 and 3 is there twice, and these are two moments.
    twice = [dt.datetime(2024, 10, 27, 2, 30, tzinfo=zone, fold=fold) for fold in (0, 1)]
    aware.put_many(twice, [2, 3])
    assert [aware[one] for one in twice] == [2, 3]
    for map, wrong, advice in ((aware, dt.datetime(2024, 1, 1), r"astimezone\(\)"), (naive, time, r"tzinfo=None")):
        assert wrong not in map
        with pytest.raises(TypeError, match=advice):
            map[wrong] = 1
        with pytest.raises(TypeError, match=f"`{map.name}`.*time zone"):
            list(map.keys(wrong))
    naive[time.replace(tzinfo=None)] = 1
    assert list(naive) == [dt.datetime(2024, 7, 1, 14)]
    with pytest.raises(TypeError, match=r"a `datetime.date` is expected, not datetime.datetime"):
        pool.map("days", dt.date, int)[dt.datetime(2024, 1, 1)] = 1


def test_nanoseconds_are_not_cut_off(pool):
    class Timestamp(dt.datetime):
        nanosecond = 5

    map = pool.map("m", dt.datetime, int)
    with pytest.raises(ValueError, match="round it first"):
        map[Timestamp(2024, 1, 1, tzinfo=UTC)] = 1


def test_as_parts_of_other_types(path):
    day, other, one = dt.date(2024, 1, 1), dt.date(2024, 1, 2), uuid.UUID(int=7)
    keys = tuple[dt.date, str, uuid.UUID | None]
    with endura.open(path) as pool:
        map = pool.map("m", keys, dt.datetime | None)
        assert map.types[0] == "(datetime.date: i32, str, Option<uuid.UUID: [u8; 16]>)"
        map.update({(day, "a", one): None, (day, "b", None): dt.datetime(2024, 1, 1, tzinfo=UTC), (other, "a", one): None})
        nested = pool.map("n", tuple[int, tuple[str, dt.date]], "Reverse<datetime.date: i32>")
        nested[1, ("a", day)] = other
        newest = pool.map("newest", "Reverse<datetime.date: i32>", tuple[dt.date, int])
        newest.update({day: (day, 1), other: (other, 2)})
    with endura.open(path) as pool:
        map, nested, newest = pool.map("m"), pool.map("n"), pool.map("newest")
        assert list(map) == [(day, "a", one), (day, "b", None), (other, "a", one)] and map[day, "a", one] is None
        assert map[day, "b", None] == dt.datetime(2024, 1, 1, tzinfo=UTC)
        assert list(map.keys(prefix=day)) == list(map.keys(prefix=(day,))) == [(day, "a", one), (day, "b", None)]
        assert list(map.keys(prefix=(day, "a"))) == [(day, "a", one)] and map.count(prefix=other) == 1
        assert dict(nested) == {(1, ("a", day)): other} and list(newest.items()) == [(other, (other, 2)), (day, (day, 1))]
        for wrong in ((day, "a"), (1, "a", one), (day, 1, one), day, [day, "a", one]):
            assert wrong not in map
            with pytest.raises((TypeError, ValueError), match="keys of the map `m` are"):
                map[wrong] = None
        with pytest.raises(ValueError, match="more fields"):
            list(map.keys(prefix=(day, "a", one, 1)))


@pytest.mark.parametrize(
    "name",
    ["Post: (datetime.date: i32, u64)", "Option<Day: datetime.date: i32>", "(str, (), datetime.date: i32)", "(bool, [u8; 3], uuid.UUID: [u8; 16])"],
)
def test_names_around_them_are_read(pool, name):
    day = dt.date(2024, 1, 1)
    value = {"P": (day, 1), "O": day, "(s": ("a", None, day), "(b": (True, b"abc", uuid.UUID(int=1))}
    value = next(value[begin] for begin in value if name.startswith(begin))
    map = pool.map("m", name, name)
    map[value] = value
    assert pool.map("m")[value] == value and map.types[0] == name


def test_other_names_are_left_alone(pool):
    for name in ("date: i32", "datetime.date: i64", "uuid.UUIDs: [u8; 16]", "my.datetime.date: i32"):
        map = pool.map(name, name, int)
        key = b"x" * 16 if "u8" in name else 5
        map[key] = 1
        assert dict(map) == {key: 1}


def test_a_number_that_is_no_date(pool):
    raw = pool._map("m", ("datetime.date: i32", "i64"), None, None, (None, None))
    raw[2**31 - 1] = 1
    map = pool.map("m")
    with pytest.raises((OverflowError, ValueError)):
        list(map)
    assert map.get(dt.date.max) is None
