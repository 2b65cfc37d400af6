"""One process has a pool open for writing: what happens in other processes, and in the child of a fork."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import endura
import pytest


def fork(child):
    """What ``child`` returned in a fork of this process."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forks of processes with threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            said = str(child())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as said:
        text = said.read()
    assert os.waitpid(pid, 0)[1] == 0
    return text


def test_another_process_is_told_how_to_wait(pool, program):
    error = program.fails("endura.open(path)")
    assert f"endura.Locked: process {os.getpid()} has the pool open" in error
    assert "timeout=" in error and "read_only=True" in error
    assert "Locked" in program.fails("endura.open(path, read_only=True)")


def test_the_same_process_is_told_so(pool, path):
    for name in (path, str(path), os.fsencode(path)):
        with pytest.raises(endura.Locked, match=f"this process has the pool open already, as {pool!r}"):
            endura.open(name)
    pool.close()
    with endura.open(path) as again:
        with pytest.raises(endura.Locked, match="this process"):
            endura.open(path, read_only=True)
        assert fork(lambda: endura.open(path)).startswith(f"Locked: process {os.getpid()} has the pool open"), again


def test_a_child_leaves_a_with_statement_quietly(path, program):
    out = program.run(
        """
        with endura.open(path) as pool:
            pool.map("m", str, int)["a"] = 1
            pid = os.fork()
        if pid == 0:
            print(repr(pool), pool.closed, flush=True)
            sys.exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
        assert pool.closed
        """
    )
    assert out == f'<endura.Pool "{path}", of the process before the fork> False\n'
    with endura.open(path) as pool:
        assert pool.stats()["clean_open"] and dict(pool.map("m")) == {"a": 1}


def test_timeout_waits(path, program):
    pool = endura.open(path)
    process = program.start("print('begin', flush=True); pool = endura.open(path, timeout=30); print(pool.maps())")
    assert process.stdout.readline() == "begin\n"
    time.sleep(0.5)
    assert process.poll() is None
    pool.close()
    assert process.communicate(timeout=30)[0] == "{}\n" and process.returncode == 0


def test_timeout_ends(pool, path):
    begin = time.monotonic()
    with pytest.raises(endura.Locked):
        endura.open(path, timeout=0.35)
    assert 0.35 <= time.monotonic() - begin < 5


def test_a_wait_is_interrupted_by_signals(pool, path):
    def stop(*_):
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    begin = time.monotonic()
    try:
        with pytest.raises(InterruptedError):
            endura.open(path, timeout=10)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begin < 5


def test_many_processes_read(path, program):
    with endura.open(path) as pool:
        pool.map("m", str, int)["a"] = 1
    with endura.open(path, read_only=True) as pool:
        assert program.run("print(dict(endura.open(path, read_only=True).map('m')))") == "{'a': 1}\n"
        assert dict(pool.map("m")) == {"a": 1}
        assert pool.stats()["read_only"]
        assert "Locked" in program.fails("endura.open(path)")
        with pytest.raises(endura.ReadOnly):
            pool.map("m")["b"] = 1


CALLS = {
    "get": lambda pool, map, entries, edit: map.get("a"),
    "in": lambda pool, map, entries, edit: "a" in map,
    "set": lambda pool, map, entries, edit: map.update(b=1),
    "del": lambda pool, map, entries, edit: map.pop("a"),
    "len": lambda pool, map, entries, edit: len(map),
    "iterator": lambda pool, map, entries, edit: next(entries),
    "new iterator": lambda pool, map, entries, edit: list(map),
    "many": lambda pool, map, entries, edit: map.get_many(["a"]),
    "incr": lambda pool, map, entries, edit: map.incr("a"),
    "alter": lambda pool, map, entries, edit: map.alter("a", lambda old: 1),
    "edit": lambda pool, map, entries, edit: edit.__exit__(None, None, None),
    "map": lambda pool, map, entries, edit: pool.map("n", str, int),
    "maps": lambda pool, map, entries, edit: pool.maps(),
    "drop": lambda pool, map, entries, edit: pool.drop("m"),
    "check": lambda pool, map, entries, edit: pool.check(),
    "close": lambda pool, map, entries, edit: pool.close(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_fork_is_told_so_and_its_parent_goes_on(pool, call):
    map = pool.map("m", str, int)
    map.update((letter, i) for i, letter in enumerate("abcdef"))
    entries = iter(map)
    assert next(entries) == "a"
    edit = pool.map("d", str, dict).edit("a", {})
    edit.__enter__()["b"] = 1
    assert fork(lambda: CALLS[call](pool, map, entries, edit)).startswith("Forked: ")
    assert list(entries) == list("bcdef")
    map["g"] = 6
    assert len(map) == 7 and pool.check()["m"]["entries"] == 7


def test_a_child_opens_when_its_parent_has_closed(pool, path):
    pool.map("m", str, int)["a"] = 1
    assert fork(lambda: endura.open(path)).startswith("Locked: ")
    pool.close()

    def child():
        with endura.open(path) as own:
            own.map("m")["b"] = 2
            return dict(own.map("m"))

    assert fork(child) == "{'a': 1, 'b': 2}"
    with endura.open(path) as pool:
        assert dict(pool.map("m")) == {"a": 1, "b": 2}
        assert pool.stats()["clean_open"]


def test_a_child_that_ends_as_programs_do_leaves_the_pool_to_its_parent(path, program):
    program.run(
        """
        pool = endura.open(path)
        map = pool.map("m", str, int)
        map["a"] = 1
        pid = os.fork()
        if pid == 0:
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        map["b"] = 2
        pool.check()
        """
    )
    with endura.open(path) as pool:
        assert pool.stats()["clean_open"] and dict(pool.map("m")) == {"a": 1, "b": 2}


def test_a_fork_of_a_program_with_a_clean_pool_has_no_cause_for_a_warning(path, program):
    """Python 3.12 warns of forks beside threads that it can see, its own and those of others. Only an open pool's thread of
    events is one, which sleeps: the warning is Python's to give, and is no error of the pool."""
    out = program.run(
        """
        import warnings
        pool = endura.open(path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        print([str(one.category.__name__) for one in caught], len(os.listdir("/proc/self/task")))
        """
    )
    assert out in ("[] 1\n", "[] 2\n") if sys.version_info < (3, 12) else out == "['DeprecationWarning'] 2\n"


def write_all(path, queue):
    """The process that owns the pool: it takes what the others send."""
    with endura.open(path) as pool:
        map = pool.map("m", int, int)
        while (entry := queue.get()) is not None:
            key, value = entry
            map[key] = value


def send(queue, begin):
    for i in range(begin, begin + 50):
        queue.put((i, -i))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_one_process_owns_the_pool_and_others_send(path, method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        owner = context.Process(target=write_all, args=(path, queue))
        owner.start()
        senders = [context.Process(target=send, args=(queue, 50 * i)) for i in range(2)]
        for sender in senders:
            sender.start()
    for sender in senders:
        sender.join()
    queue.put(None)
    owner.join()
    queue.close()
    queue.join_thread()
    assert owner.exitcode == 0
    with endura.open(path) as pool:
        assert dict(pool.map("m")) == {i: -i for i in range(100)} and pool.stats()["clean_open"]


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_handles_are_not_pickled(pool, way):
    map = pool.map("m", str, int)
    with pytest.raises(TypeError, match="another process opens it itself"):
        way(pool)
    with pytest.raises(TypeError, match=r"`dict\(map\)` has its entries"):
        way(map)
    for handle in (iter(map), pool.map("d", str, dict).edit("a")):
        with pytest.raises(TypeError):
            way(handle)
    if way is not copy.copy:
        with pytest.raises(TypeError):
            way(map.items())


def test_what_stands_for_absence_is_pickled_as_itself():
    assert pickle.loads(pickle.dumps(endura.ABSENT)) is endura.ABSENT
    assert copy.deepcopy(endura.ABSENT) is endura.ABSENT


SUBINTERPRETER = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
if BEFORE:
    import endura
text = '''
try:
    import endura
except ImportError as error:
    print(error)
else:
    pool = endura.open(%r)
    pool.map("m", str, int)["a"] = 1
    print("imported")
''' % PATH
sub = interpreters.create(OPTIONS)
interpreters.run_string(sub, text)
interpreters.destroy(sub)
import endura
with endura.open(PATH) as pool:
    pool.map("m", str, int)["b"] = 2
    print(list(pool.map("m")))
"""


@pytest.mark.parametrize("before", [True, False])
def test_a_subinterpreter_is_refused(path, before):
    """Pools have threads, which attach to the main interpreter: with objects of another one they hung at its end."""
    version = sys.version_info
    options = "" if version < (3, 12) else "isolated=False" if version < (3, 13) else "'legacy'"
    text = SUBINTERPRETER.replace("BEFORE", str(before)).replace("PATH", repr(str(path))).replace("OPTIONS", options)
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=30)
    assert ended.returncode == 0, ended.stderr
    first, *rest = ended.stdout.splitlines()
    assert "subinterpreter" in first and rest == ["['b']"], ended.stdout
