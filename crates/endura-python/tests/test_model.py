"""Maps of each kind and of many types do what a ``SortedDict`` does."""

import functools
import json
import os
import struct
import tempfile

import endura
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from sortedcontainers import SortedDict

WORDS = ("fastfair", "nbtree", "roart")
BYTES = ("fastfair", "nbtree", "roart")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.text("a\0é😀", max_size=3)
blobs = st.binary(max_size=5) | st.text("\0\x01\xff", max_size=3).map(lambda text: text.encode("latin1"))
# The zeros are one key to a dict, and two to a map; a dict has no order for NaN.
floats = (st.sampled_from([float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308]) | st.floats(allow_nan=False)).map(
    lambda number: number + 0.0
)


def integers(bits, signed):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    near = [low, low + 1, high - 1, high, *range(max(low, -2), 4)]
    return st.sampled_from(near) | st.integers(low, high)


@functools.total_ordering
class Backwards:
    def __init__(self, of):
        self.of = of

    def __eq__(self, other):
        return self.of == other.of

    def __lt__(self, other):
        return self.of > other.of


def none_first(key):
    return (key is not None, key or 0)


documents = st.dictionaries(
    texts, st.none() | st.booleans() | st.integers() | texts | st.lists(st.integers(), max_size=3), max_size=3
)

# By name: the types, their values, the order of keys, the kinds of map that can have them, whether values are numbers.
TYPES = {
    "ints": (int, int, integers(64, True), integers(64, True), None, WORDS),
    "u64": ("u64", "u64", integers(64, False), integers(64, False), None, WORDS),
    "floats": (float, float, floats, floats, None, WORDS),
    "texts": (str, str, texts, texts, None, BYTES),
    "bytes": (bytes, bytes, blobs, blobs, None, BYTES),
    "tuples": (tuple[int, str], bytes, st.tuples(integers(64, True), texts), blobs, None, BYTES),
    "word tuples": ("(u32, i16)", bool, st.tuples(integers(32, False), integers(16, True)), st.booleans(), None, WORDS),
    "optional keys": (int | None, str, st.none() | integers(64, True), texts, none_first, BYTES),
    "backwards": ("Reverse<str>", int, texts, integers(64, True), Backwards, BYTES),
    "documents": (str, dict, texts, documents, None, BYTES),
    "arrays": (
        "[u8; 4]",
        None,
        st.binary(min_size=4, max_size=4) | st.sampled_from([b"\0\0\0\0", b"\0\0\0\1", b"\xff\xff\xff\xff"]),
        st.none(),
        None,
        WORDS,
    ),
    "u128": ("u128", "i128", integers(128, False), integers(128, True), None, BYTES),
    "chars": ("char", str | None, st.characters(exclude_categories=["Cs"]), st.none() | texts, None, WORDS),
}
NUMBERS = {"ints": (-(2**63), 2**63), "u64": (0, 2**64), "backwards": (-(2**63), 2**63), "u128": (-(2**127), 2**127)}
PREFIXES = {"texts", "bytes", "tuples", "word tuples", "documents"}


class Machine(RuleBasedStateMachine):
    """A map, and what it should be. ``types`` and ``kind`` are set by the test."""

    types = kind = None

    @initialize(data=st.data())
    def begin(self, data):
        self.data = data
        self.key_type, self.value_type, self.key, self.value, order, _ = TYPES[self.types]
        self.order = order or (lambda key: key)
        self.model = SortedDict(order) if order else SortedDict()
        self.absent = endura.ABSENT if self.value_type in (None, str | None, dict) else None
        self.path = tempfile.mktemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.open()

    def open(self):
        self.pool = endura.open(self.path)
        self.map = self.pool.map("m", self.key_type, self.value_type, kind=self.kind)
        assert self.map.kind.lower() == self.kind

    def teardown(self):
        if hasattr(self, "pool"):
            self.pool.check()
            self.pool.close()
            os.unlink(self.path)

    def draw_key(self):
        return self.data.draw(st.sampled_from(list(self.model)) | self.key if self.model else self.key)

    def draw_value(self):
        return self.data.draw(self.value)

    def draw_end(self):
        return self.data.draw(st.none() | self.key)

    def within(self, start, stop, inclusive):
        """The keys of the model between two, without the model's own ``irange``."""
        low, high = (None if end is None else self.order(end) for end in (start, stop))
        return [
            key
            for key in self.model
            if (low is None or self.order(key) > low or (inclusive[0] and self.order(key) == low))
            and (high is None or self.order(key) < high or (inclusive[1] and self.order(key) == high))
        ]

    @rule()
    def put(self):
        key, value = self.draw_key(), self.draw_value()
        self.map[key] = value
        self.model[key] = value

    @rule()
    def get(self):
        key = self.draw_key()
        assert self.map.get(key, "none") == self.model.get(key, "none")
        assert (key in self.map) == (key in self.model)
        assert (key in self.map.keys()) == (key in self.model)
        if key in self.model:
            found = self.map[key]
            assert found == self.model[key] and type(found) is type(self.model[key])
        else:
            with pytest.raises(KeyError) as raised:
                self.map[key]
            assert raised.value.args == (key,)

    @rule()
    def delete(self):
        key = self.draw_key()
        if key in self.model:
            del self.map[key], self.model[key]
        else:
            for missing in (self.map.__delitem__, self.map.pop):
                with pytest.raises(KeyError) as raised:
                    missing(key)
                assert raised.value.args == (key,)

    @rule(default=st.sampled_from([(), (None,), ("other",)]))
    def pop(self, default):
        key = self.draw_key()
        if default or key in self.model:
            assert self.map.pop(key, *default) == self.model.pop(key, *default)

    @rule(last=st.sampled_from([(), (True,), (False,), (0,), (-1,)]))
    def ends(self, last):
        if not self.model:
            for end in (self.map.peekitem, self.map.popitem):
                with pytest.raises(KeyError):
                    end(*last)
            return
        index = -1 if not last or last[0] else 0
        assert self.map.peekitem(*last) == self.model.peekitem(index)
        if self.data.draw(st.booleans()):
            assert self.map.popitem(*last) == self.model.popitem(index)

    @rule()
    def add(self):
        key, value = self.draw_key(), self.draw_value()
        if self.data.draw(st.booleans()):
            assert self.map.add(key, value) == (key not in self.model)
            self.model.setdefault(key, value)
        else:
            assert self.map.setdefault(key, value) == self.model.setdefault(key, value)

    @rule(hit=st.booleans())
    def compare_exchange(self, hit):
        key = self.draw_key()
        has = self.model.get(key, self.absent) if key in self.model else self.absent
        expected = has if hit else self.data.draw(st.just(self.absent) | self.value)
        new = self.data.draw(st.just(self.absent) | self.value)
        # Documents are compared as texts.
        texts = [json.dumps(value, default=repr) for value in (expected, has)] if self.types == "documents" else []
        same = texts[0] == texts[1] if texts else expected == has
        assert self.map.compare_exchange(key, expected, new) == same
        if same:
            self.become(key, new)

    def become(self, key, value):
        if value is self.absent:
            self.model.pop(key, None)
        else:
            self.model[key] = value

    @precondition(lambda self: self.types in NUMBERS)
    @rule(delta=st.sampled_from([1, -1, 5, 2**62, -(2**63)]), default=st.sampled_from([0, 7]))
    def incr(self, delta, default):
        key, (low, high) = self.draw_key(), NUMBERS[self.types]
        total = self.model.get(key, default) + delta
        if low <= total < high:
            assert self.map.incr(key, delta, default) == total
            self.model[key] = total
        else:
            with pytest.raises(OverflowError):
                self.map.incr(key, delta, default)

    @rule()
    def alter(self):
        key, new, seen = self.draw_key(), self.data.draw(st.just(self.absent) | self.value), []
        assert self.map.alter(key, lambda old: seen.append(old) or new) == new
        assert seen == [self.model[key] if key in self.model else self.absent]
        self.become(key, new)

    @precondition(lambda self: self.types == "documents")
    @rule(document=documents, fails=st.booleans())
    def edit(self, document, fails):
        key = self.draw_key()
        expected = self.model.get(key, {}) | ({} if fails else document)
        try:
            with self.map.edit(key, {}) as value:
                value.update(document)
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            assert self.map.get(key) == self.model.get(key)
        else:
            self.model[key] = expected

    @rule(data=st.data(), way=st.sampled_from(["dict", "pairs", "lists", "put_many", "generators", "tuples"]))
    def bulk(self, data, way):
        entries = data.draw(st.lists(st.tuples(self.key, self.value), max_size=8))
        keys, values = [key for key, _ in entries], [value for _, value in entries]
        match way:
            case "dict":
                self.map.update(dict(entries))
            case "pairs":
                self.map.update(iter(entries))
            case "lists":
                self.map.update([list(entry) for entry in entries])
            case "put_many":
                assert self.map.put_many(keys, values) == len(entries)
            case "generators":
                assert self.map.put_many(iter(keys), iter(values)) == len(entries)
            case "tuples":
                assert self.map.put_many(tuple(keys), tuple(values)) == len(entries)
        self.model.update(entries)

    @rule(data=st.data())
    def get_many(self, data):
        keys = data.draw(st.lists(self.key, max_size=5)) + list(self.model)[:5]
        assert self.map.get_many(keys, "none") == [self.model.get(key, "none") for key in keys]

    @rule(inclusive=st.tuples(st.booleans(), st.booleans()), reverse=st.booleans())
    def ranges(self, inclusive, reverse):
        start, stop = self.draw_end(), self.draw_end()
        keys = self.within(start, stop, inclusive)
        assert self.map.count(start, stop, inclusive=inclusive) == len(keys)
        keys = keys[::-1] if reverse else keys
        options = {"inclusive": inclusive, "reverse": reverse}
        assert list(self.map.irange(start, stop, inclusive, reverse)) == keys
        found = self.map.keys(start, stop, **options)
        assert list(found) == keys and list(reversed(found)) == keys[::-1]
        assert list(self.map.values(start, stop, **options)) == [self.model[key] for key in keys]
        assert list(self.map.items(start, stop, **options)) == [(key, self.model[key]) for key in keys]

    @precondition(lambda self: self.types in PREFIXES)
    @rule(removes=st.integers(0, 3))
    def prefix(self, removes):
        begin = self.draw_key()
        if isinstance(begin, tuple):
            begin = self.data.draw(st.sampled_from([begin[0], begin[:1], begin]))
            parts = begin if isinstance(begin, tuple) else (begin,)
            keys = [key for key in self.model if key[: len(parts)] == parts]
        else:
            begin = begin[: self.data.draw(st.integers(0, 2))]
            keys = [key for key in self.model if key.startswith(begin)]
        assert list(self.map.keys(prefix=begin)) == keys
        assert list(self.map.items(prefix=begin, reverse=True)) == [(key, self.model[key]) for key in reversed(keys)]
        assert self.map.count(prefix=begin) == len(keys)
        start, stop = self.draw_key(), self.draw_key()
        both = [key for key in self.within(start, stop, (True, False)) if key in keys]
        assert list(self.map.keys(start, stop, prefix=begin)) == both
        assert list(self.map.keys(start, stop, prefix=begin, reverse=True)) == both[::-1]
        if removes == 0:
            assert self.map.remove_range(prefix=begin) == len(keys)
            for key in keys:
                del self.model[key]

    @rule(inclusive=st.tuples(st.booleans(), st.booleans()))
    def remove_range(self, inclusive):
        start = self.draw_key()
        stop = self.draw_key()
        keys = self.within(start, stop, inclusive)
        if start is None and stop is None:
            with pytest.raises(TypeError, match="`clear` removes all"):
                self.map.remove_range(start, stop, inclusive=inclusive)
            return
        assert self.map.remove_range(start, stop, inclusive=inclusive) == len(keys)
        for key in keys:
            del self.model[key]

    @rule(once_in=st.integers(0, 5))
    def clear(self, once_in):
        if once_in == 0:
            self.map.clear()
            self.model.clear()

    @rule()
    def contents(self):
        assert len(self.map) == len(self.model) and bool(self.map) == bool(self.model)
        assert list(self.map) == list(self.model) and list(reversed(self.map)) == list(reversed(self.model))
        assert list(self.map.items()) == list(self.model.items())
        assert list(self.map.values()) == list(self.model.values())
        assert dict(self.map) == dict(self.model)

    @rule()
    def reopen(self):
        self.pool.close()
        self.open()
        assert self.pool.stats()["clean_open"]
        self.contents()


@pytest.mark.parametrize(("types", "kind"), [(name, kind) for name, of in TYPES.items() for kind in of[5]])
def test_map_is_a_sorted_dict(types, kind):
    run_state_machine_as_test(type("Machine", (Machine,), {"types": types, "kind": kind}))


@pytest.mark.parametrize("kind", WORDS)
def test_zeros_and_nan_are_keys_of_their_own(pool, kind):
    bits = functools.partial(struct.pack, ">d")
    numbers = [float("-inf"), -1.0, -0.0, 0.0, 1.0, float("inf"), float("nan")]
    map = pool.map("m", float, float, kind=kind)
    map.put_many(reversed(numbers), reversed(numbers))
    assert [bits(key) for key in map] == [bits(number) for number in numbers]
    assert [bits(value) for value in map.values()] == [bits(number) for number in numbers]
    assert bits(map[-0.0]) == bits(-0.0) and bits(map[float("nan")]) == bits(float("nan"))
