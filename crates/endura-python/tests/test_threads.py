"""Threads that use one map at once, and threads that the interpreter ends while they do."""

import sys
import threading
import time

import endura
import pytest

THREADS = 8


def run_all(*works):
    """Runs functions in threads of their own; raises what one of them raised."""
    raised = []

    def run(work):
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


@pytest.fixture(autouse=True)
def often():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(("kind", "value"), [("fastfair", int), ("nbtree", float), ("roart", "i128")])
def test_incr_loses_nothing(pool, rounds, kind, value):
    map = pool.map("m", int, value, kind=kind)

    def work():
        for i in range(2_000 * rounds):
            map.incr(i % 3)

    run_all(*[work] * THREADS)
    assert sum(map.values()) == THREADS * 2_000 * rounds


def test_alter_edit_and_setdefault_lose_nothing(pool, rounds):
    sums = pool.map("sums", str, int)
    lists = pool.map("lists", str, dict)
    firsts = pool.map("firsts", int, int)
    won = []

    def work(number):
        for i in range(100 * rounds):
            sums.alter("sum", lambda old: (old or 0) + 1)
            won.append(firsts.setdefault(i, number) == number)
            while True:
                try:
                    with lists.edit("list", {}) as value:
                        value[f"{number} {i}"] = None
                    break
                except endura.Conflict:
                    pass

    run_all(*[lambda number=number: work(number) for number in range(THREADS)])
    assert sums["sum"] == len(lists["list"]) == THREADS * 100 * rounds
    assert sum(won) == len(firsts) == 100 * rounds


def test_popitem_gives_each_entry_once(pool):
    map = pool.map("m", int, int)
    map.put_many(range(5_000), range(5_000))
    popped = []

    def work(last):
        while True:
            try:
                popped.append(map.popitem(last))
            except KeyError:
                return

    run_all(*[lambda last=last: work(last) for last in (True, False) * (THREADS // 2)])
    assert sorted(popped) == [(i, i) for i in range(5_000)]


@pytest.mark.parametrize("part", ["keys", "values", "items"])
def test_one_iterator_of_many_threads_gives_each_entry_once(pool, part):
    map = pool.map("m", int, str)
    map.put_many(range(20_000), map_of_texts := [str(i) for i in range(20_000)])
    entries, found = iter(getattr(map, part)()), []
    run_all(*[lambda: found.extend(entries)] * THREADS)
    wanted = {"keys": range(20_000), "values": sorted(map_of_texts), "items": list(enumerate(map_of_texts))}[part]
    assert sorted(found) == list(wanted)


@pytest.mark.parametrize("kind", ["fastfair", "nbtree", "roart"])
@pytest.mark.parametrize("reverse", [False, True])
def test_what_stays_is_seen_once_beside_writers(pool, kind, reverse):
    map = pool.map("m", int, int, kind=kind)
    stays = range(0, 6_000, 3)
    map.put_many(stays, stays)
    is_done = threading.Event()

    def write(step):
        while not is_done.is_set():
            for i in range(step, 6_000, 3):
                map[i] = i
            map.put_many(range(step, 6_000, 30), range(step, 6_000, 30))
            for i in range(step, 6_000, 3):
                map.pop(i, None)

    def read():
        try:
            for _ in range(5):
                keys = [key for key, value in map.items(reverse=reverse) if key == value]
                assert keys == sorted(set(keys), reverse=reverse)
                assert [key for key in keys if key % 3 == 0] == sorted(stays, reverse=reverse)
        finally:
            is_done.set()

    run_all(read, lambda: write(1), lambda: write(2))


def test_close_beside_threads_raises_closed_alone(path):
    for _ in range(10):
        pool = endura.open(path)
        words, texts = pool.map("words", int, int), pool.map("texts", str, dict)
        begun = threading.Barrier(6)

        def until_closed(step, begun=begun):
            begun.wait()
            with pytest.raises(endura.Closed):
                while True:
                    step()

        steps = [
            lambda: words.incr(1),
            lambda: texts.update(a={}, b={}),
            lambda: list(words),
            lambda: words.put_many(range(3_000), range(3_000)),
            lambda: texts.alter("a", lambda old: {"n": 1}),
        ]

        def close(begun=begun, pool=pool):
            begun.wait()
            time.sleep(0.01)
            pool.close()
            pool.close()

        run_all(close, *[lambda step=step: until_closed(step) for step in steps])
    with endura.open(path) as pool:
        assert pool.stats()["clean_open"]
        pool.check()


DAEMONS = """
    import threading, time, random
    pool = endura.open(path)
    words, texts = pool.map("words", int, int), pool.map("texts", str, dict)
    codec = pool.map("codec", str, endura.Codec("own", lambda text: text.encode(), lambda data: data.decode()))
    keys = [str(i) for i in range(3_000)]
    texts["a"] = {"b": [1] * 50}
    codec["a"] = "a"
    steps = {
        "callbacks": [
            lambda: words.alter(1, lambda old: (old or 0) + 1),
            lambda: texts.get("a"),
            lambda: codec.put_many(keys, keys),
            lambda: codec.get_many(keys),
        ],
        "generators": [
            lambda: words.put_many((i for i in range(3_000)), (i for i in range(3_000))),
            lambda: words.get_many(i for i in range(3_000)),
            lambda: texts.update({"a": {"b": [1] * 20}}),
            lambda: words.keys(5, 7),
        ],
        "bulk": [
            lambda: words.put_many(range(3_000), range(3_000)),
            lambda: list(texts.items()),
            lambda: list(words),
            lambda: [len(codec), codec.count(), codec.remove_range("1", "2"), words.incr(1)],
        ],
        "batches": [
            lambda: pool.transact(add),
            lambda: pool.transact(add),
            lambda: pool.read(lambda: (words.get(1), list(texts))),
            lambda: change(),
        ],
    }
    def add(tx):
        tx[words][1] = tx[words].get(1, 0) + 1
        tx[texts]["b"] = {"n": [tx[words][1]] * 50}
    def change():
        with pool.batch() as b:
            b[words][1] = 0
            b[texts]["b"] = {}
    def work(step):
        while True:
            try:
                step()
            except Exception:
                if not ENDLESS:
                    return
    for step in steps[STEPS]:
        threading.Thread(target=work, args=(step,), daemon=True).start()
    time.sleep(random.uniform(0, 0.1))
"""


@pytest.mark.parametrize("steps", ["callbacks", "generators", "bulk", "batches"])
@pytest.mark.parametrize("endless", [False, True])
def test_daemon_threads_at_the_end_of_the_interpreter(path, program, rounds, endless, steps):
    """Before Python 3.14 the interpreter ends such threads by unwinding them, which a frame of Rust does not survive."""
    for _ in range(4 * rounds):
        program.run(DAEMONS.replace("ENDLESS", str(endless)).replace("STEPS", repr(steps)))
        with endura.open(path) as pool:
            assert pool.stats()["clean_open"]
            pool.check()


LISTENERS = {
    "nothing": "pass",
    "blocks": "time.sleep(1e6)",
    "blocks for a while": "time.sleep(0.3)",
    "raises": "raise ZeroDivisionError",
    "ends": "sys.exit(3)",
    "uses the pool": "assert pool.map('m')['a'] == 1; pool.stats()",
    "closes the pool": "pool.close()",
    "opens another": "endura.open(path + '2').close()",
    "loops": "while True: pass",
}


@pytest.mark.parametrize("waits", [0, 0.2])
@pytest.mark.parametrize("listener", LISTENERS)
def test_no_handler_of_logging_holds_the_pool(path, program, listener, waits):
    program.run("map = endura.open(path).map('m', str, int); map['a'] = 1; os._exit(0)")
    begin = time.monotonic()
    program.run(
        f"""
        import logging, time
        class Handler(logging.Handler):
            def createLock(self):
                self.lock = None  # ``logging`` itself waits at the end for a handler that has its lock.
            def emit(self, record):
                {LISTENERS[listener]}
        logging.getLogger("endura").setLevel(1)
        logging.getLogger("endura").addHandler(Handler())
        pool = endura.open(path)
        try:
            map = pool.map("m")
            map["b"] = 2
            time.sleep({waits})
            assert len(map) == 2
        except endura.Closed:
            assert {listener == "closes the pool"}
        """
    )
    assert time.monotonic() - begin < 15
    with endura.open(path) as pool:
        assert pool.stats()["clean_open"]


def test_events_are_records(path, program):
    program.run("map = endura.open(path).map('m', str, int); map['a'] = 1; os._exit(0)")
    error = program.end(
        """
        import logging, time
        logging.basicConfig(level=1, format="%(levelname)s %(name)s %(message)s")
        pool = endura.open(path)
        time.sleep(0.3)
        """
    )[2]
    assert f"INFO endura {path}: opened after an unclean end" in error


def test_the_main_thread_stays_the_main_thread(path, program):
    """``endura`` imports ``threading``, which takes the thread that imports it first for the main one."""
    program.run(
        """
        import _thread, time
        opened = []
        _thread.start_new_thread(lambda: opened.append(endura.open(path)), ())
        while not opened: time.sleep(0.01)
        pool = opened[0]
        pool.map("m", int, bytes).put_many(range(1000), [b"x" * 10000] * 1000)
        time.sleep(0.2)
        import threading
        assert threading.main_thread() is threading.current_thread()
        """
    )


def test_the_thread_of_events_imports_nothing(path, program):
    """A fork beside an import could wait for it, and it for the fork: Python 3.12 imports what shows a warning of threads."""
    program.run(
        """
        import _thread, time
        importers, logged = set(), []
        sys.addaudithook(lambda event, _: event == "import" and importers.add(_thread.get_ident()))
        pool = endura.open(path)
        import logging
        class Handler(logging.Handler):
            def emit(self, record): logged.append(_thread.get_ident())
        logging.getLogger("endura").setLevel(1)
        logging.getLogger("endura").addHandler(Handler())
        pool.map("m", int, bytes).put_many(range(1000), [b"x" * 10000] * 1000)
        while not logged: time.sleep(0.01)
        assert importers <= {_thread.get_ident()} and importers.isdisjoint(logged)
        """
    )


def test_no_import_is_under_way_at_the_end(program):
    """One in a daemon thread could be cut short, as functions of a program are."""
    program.run("assert {'endura._views', 'logging', 'threading'} <= sys.modules.keys()")
