"""What a close leaves: nothing of the pool in the process, and a warning or an error about what it could not do."""

import gc
import os
import pathlib
import shutil
import tempfile
import threading

import endura
import pytest


def kept_of(path):
    """The mappings and descriptors that this process has of files with this name, also of removed ones."""
    with open("/proc/self/maps") as maps:
        kept = [line.split(maxsplit=5)[-1].strip() for line in maps if str(path) in line]
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if str(path) in target:
            kept.append(target)
    return kept


@pytest.fixture
def on_disk():
    """A folder on a disk, where a pool outlives the machine."""
    with tempfile.TemporaryDirectory(prefix="endura-", dir="/var/tmp") as folder:
        folder = pathlib.Path(folder)
        with endura.open(folder / "probe", checkpoints=False) as pool:
            if pool.stats()["filesystem"] in ("tmpfs", "ramfs"):
                pytest.skip("/var/tmp is in memory")
        yield folder


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("removed", [False, True])
def test_a_close_keeps_nothing_beside_living_handles(path, read_only, removed):
    with endura.open(path, checkpoints=0) as pool:
        pool.map("m", str, bytes).update({str(i): b"x" * 100_000 for i in range(100)})
        pool.map("d", str, dict)["a"] = {}
    pool = endura.open(path, read_only=read_only, checkpoints=None if read_only else 0)
    map, entries = pool.map("m"), iter(pool.map("m").items())
    next(entries)
    edit = pool.map("d").edit("a")
    edit.__enter__()["b"] = 1
    assert kept_of(path)
    if removed:
        # By then the disk space is the process's alone.
        os.remove(path)
        if not read_only:
            os.remove(f"{path}.checkpoint")
    if removed and not read_only:
        with pytest.raises(endura.Error) as error:
            pool.close()
        assert error.value.code == "displaced"
    else:
        pool.close()
    assert kept_of(path) == []
    for call in (
        lambda: map["1"],
        lambda: map.update(a=b""),
        lambda: len(map),
        lambda: next(entries),
        lambda: list(map),
        lambda: edit.__exit__(None, None, None),
        lambda: map.popitem(),
        lambda: pool.maps(),
        lambda: pool.stats(),
        lambda: pool.check(),
        lambda: pool.map("m"),
        lambda: pool.checkpoint(),
        lambda: pool.backup(f"{path}.copy"),
    ):
        with pytest.raises(endura.Closed):
            call()
    pool.close()
    if not removed:
        with endura.open(path) as again:
            assert len(again.map("m")) == 100 and again.stats()["clean_open"]
    # What is left of them goes without harm.
    del map, entries, edit, pool
    gc.collect()


def test_the_space_of_a_removed_file_is_free_at_once():
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("/dev/shm is not there")
    with tempfile.TemporaryDirectory(prefix="endura-", dir="/dev/shm") as folder:
        pool = endura.open(os.path.join(folder, "pool"), checkpoints=False)
        map = pool.map("m", str, bytes)
        map["a"] = b"x" * (64 << 20)
        inode = os.stat(pool.path)
        assert inode.st_blocks * 512 >= 64 << 20
        descriptor = os.open(pool.path, os.O_RDONLY)
        os.remove(pool.path)
        with pytest.raises(endura.Error):
            pool.close()
        # This descriptor is the last one: nothing else names the file.
        assert [os.path.samestat(os.fstat(int(n)), inode) for n in open_descriptors()].count(True) == 1
        os.close(descriptor)
        assert kept_of(folder) == []


def open_descriptors():
    for number in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(number))
        except OSError:
            continue
        yield number


def test_a_close_beside_readers_takes_nothing_from_under_them(path, rounds):
    for _ in range(5 * rounds):
        pool = endura.open(path, checkpoints=False)
        texts, words = pool.map("texts", str, bytes), pool.map("words", int, int)
        texts.update({str(i): bytes([i]) * 5_000 for i in range(200)})
        words.put_many(range(5_000), range(5_000))
        begun, failed = threading.Barrier(5), []

        def read(step, begun=begun, failed=failed):
            begun.wait()
            try:
                while True:
                    step()
            except endura.Closed:
                pass
            except BaseException as error:
                failed.append(error)

        def look(texts=texts):
            for key, value in texts.items():
                assert value == bytes([int(key)]) * 5_000

        def count(words=words):
            assert sum(words.get_many(range(5_000))) == sum(range(5_000))

        threads = [threading.Thread(target=read, args=(step,)) for step in (look, count, lambda: pool.check(), lambda: pool.stats())]
        for thread in threads:
            thread.start()
        begun.wait()
        pool.close()
        for thread in threads:
            thread.join()
        assert not failed, failed


def test_a_close_without_its_checkpoint_warns(on_disk):
    """The pool itself is on a disk: it is whole, and only a power loss would cost it."""
    (on_disk / "mounted").mkdir()
    pool = endura.open(on_disk / "pool", checkpoints=0, checkpoint_file=on_disk / "mounted" / "kept")
    pool.map("m", str, int)["a"] = 1
    shutil.rmtree(on_disk / "mounted")
    with pytest.warns(endura.CheckpointWarning, match="closed, but no checkpoint"):
        pool.close()
    with endura.open(on_disk / "pool", checkpoints=False) as pool:
        assert pool.map("m")["a"] == 1 and pool.stats()["clean_open"]


def test_a_close_without_its_checkpoint_raises_where_nothing_else_is_kept(folder):
    with endura.open(folder / "probe", checkpoints=False) as pool:
        if pool.stats()["filesystem"] != "tmpfs":
            pytest.skip("no folder in memory is here")
    (folder / "mounted").mkdir()
    with pytest.raises(endura.Error) as error, endura.open(
        folder / "pool", checkpoints=0, checkpoint_file=folder / "mounted" / "kept"
    ) as pool:
        map = pool.map("m", str, int)
        map["a"] = 1
        shutil.rmtree(folder / "mounted")
    assert error.value.code in ("bad_checkpoint", "io")
    with pytest.raises(endura.Closed):
        map["a"]


FAILING = """
    import logging, pathlib, shutil
    logging.basicConfig(level=1, format="%(levelname)s %(message)s")
    folder = pathlib.Path(path).parent / "mounted"
    folder.mkdir()
    pool = endura.open(path, checkpoints=0, checkpoint_file=folder / "kept")
    map = pool.map("m", str, int)
    map["a"] = 1
    pool.checkpoint()
"""


def test_a_checkpoint_that_fails_is_told_once_and_so_is_the_next_one(path, program):
    err = program.end(
        FAILING
        + """
    import time
    folder.rename(folder.with_name("away"))
    for i in range(3):
        map["a"] = i
        try:
            pool.checkpoint()
        except endura.Error:
            pass
    last = pool.stats()["checkpoints"]
    assert last["failures_in_a_row"] == 3 and last["last_failure"]["code"] and "folder" in last["last_failure"]["reason"]
    folder.with_name("away").rename(folder)
    map["a"] = 5
    pool.checkpoint()
    last = pool.stats()["checkpoints"]
    assert last["failures_in_a_row"] == 0 and time.time() - last["last_failure"]["at"] < 30
    pool.close()
    """
    )[2]
    assert err.count("WARNING") == err.count("no checkpoint could be made") - 2 + err.count("made again") == 2, err
    assert "a checkpoint was made again, after 3 failures" in err
    first = next(line for line in err.splitlines() if line.startswith("WARNING"))
    assert "no checkpoint could be made: " in first and "folder" in first, first


def test_an_end_without_a_close_is_told_what_it_lost(path, program):
    """On tmpfs `atexit` has an error, on a disk a warning: either is on standard error."""
    process, _, err = program.end(FAILING + "\n    shutil.rmtree(folder)\n", "-X", "utf8")
    assert process.returncode == 0
    assert f"endura: {path}: " in err or "CheckpointWarning" in err, err


def test_a_checkpoint_that_must_exist(folder):
    file = folder / "kept"
    with pytest.raises(endura.BadCheckpoint):
        endura.open(folder / "pool", checkpoint_file=file, checkpoint_must_exist=True)
    assert not (folder / "pool").exists()
    with endura.open(folder / "pool", checkpoints=0, checkpoint_file=file) as pool:
        pool.map("m", str, int)["a"] = 1
    with endura.open(folder / "pool", checkpoint_file=file, checkpoint_must_exist=True) as pool:
        assert pool.map("m")["a"] == 1 and pool.restored is None and pool.stats()["restored"] is None
    file.rename(folder / "elsewhere")
    for checkpoints in (None, True, 0, 5):
        with pytest.raises(endura.BadCheckpoint):
            endura.open(folder / "pool", checkpoints=checkpoints, checkpoint_file=file, checkpoint_must_exist=True)


def test_what_a_restore_says(path):
    with endura.open(path, checkpoints=0) as pool:
        pool.map("m", str, int)["a"] = 1
    os.remove(path)
    with endura.open(path) as pool:
        assert dict(pool.map("m")) == {"a": 1}
        what = pool.restored
        assert what == pool.stats()["restored"] and what["at"] == pool.stats()["restored_to"]
        assert what["written_bytes"] > 0 and what["reason"] is None and what["kept"] is None
    with endura.open(path) as pool:
        assert pool.restored is None
