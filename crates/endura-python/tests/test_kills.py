"""What was acknowledged is there after any end of the process, and an end that is no kill leaves a clean pool."""

import random
import time

import endura
import pytest

WRITER = """
    pool = endura.open(path)
    words = pool.map("words", int, int, kind={kind!r})
    texts = pool.map("texts", str, dict)
    many = pool.map("many", "u64", bytes)
    removed = pool.map("removed", int, int, kind={kind!r})
    print("ready", flush=True)
    for i in range({begin}, 10**9):
        words[i] = -i
        texts[str(i)] = {{"i": i}}
        many.put_many(range(i * 10, i * 10 + 10), [b"%d" % i] * 10)
        removed[i] = 0
        del removed[i]
        os.write(1, b"%d\\n" % i)
"""


def check_acknowledged(path, last):
    with endura.open(path) as pool:
        words, texts, many, removed = (pool.map(name) for name in ("words", "texts", "many", "removed"))
        assert [words.get(i) for i in range(last + 1)] == [-i for i in range(last + 1)]
        assert all(texts[str(i)] == {"i": i} for i in range(last + 1))
        assert many.get_many(range((last + 1) * 10)) == [b"%d" % (i // 10) for i in range((last + 1) * 10)]
        # The last one may have been put, and not yet removed.
        assert list(removed) in ([], [last + 1])
        removed.clear()
        report = pool.check()
        assert report["words"]["entries"] == len(words) >= last + 1
        return pool.stats()["clean_open"]


@pytest.mark.parametrize("kind", ["fastfair", "nbtree", "roart"])
def test_nothing_acknowledged_is_lost_by_kill(path, program, rounds, kind):
    last = -1
    for _ in range(7 * rounds):
        process = program.start(WRITER.format(begin=last + 1, kind=kind))
        assert process.stdout.readline() == "ready\n"
        time.sleep(random.uniform(0, 0.12))
        process.kill()
        acknowledged = [line for line in process.communicate()[0].splitlines(keepends=True) if line.endswith("\n")]
        last = max([last, *map(int, acknowledged)])
        assert not check_acknowledged(path, last)
    assert last > 10


ENDS = {
    "end of the program": "",
    "sys.exit": "sys.exit(0)",
    "exception": "raise ZeroDivisionError",
    "sys.exit in a thread": "import threading; t = threading.Thread(target=sys.exit); t.start(); t.join()",
    "exception in a thread": "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
    "no name for the pool": "del pool; import gc; gc.collect()",
    "no name for anything": "del pool, map; import gc; gc.collect()",
    "a cycle": "cycle = [pool, map]; cycle.append(cycle); del pool, map, cycle",
    "a thread that outlives the program": """
        import threading, time
        threading.Thread(target=lambda: (time.sleep(0.1), map.update(late=1))).start()
    """,
    "an iterator under way": "entries = iter(map.items()); next(entries)",
    "an edit under way": "edit = documents.edit('a', {}); edit.__enter__()",
    "SIGTERM as an exception": """
        import signal
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        os.kill(os.getpid(), signal.SIGTERM)
    """,
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_without_close_is_clean(path, program, end):
    begin = "pool = endura.open(path); map = pool.map('m', str, int); map['a'] = 1; documents = pool.map('d', str, dict)\n"
    process, out, err = program.end(begin + "\n".join(line.strip() for line in ENDS[end].splitlines()))
    assert process.returncode == (1 if end == "exception" else 0), err
    assert "Fatal" not in err
    with endura.open(path) as pool:
        assert pool.stats()["clean_open"]
        assert pool.map("m")["a"] == 1
        assert len(pool.map("m")) == (2 if "outlives" in end else 1), (out, err)


def test_an_end_at_once_loses_nothing(path, program):
    program.run("map = endura.open(path).map('m', str, int); map['a'] = 1; os._exit(0)")
    with endura.open(path) as pool:
        assert not pool.stats()["clean_open"]
        assert dict(pool.map("m")) == {"a": 1}
