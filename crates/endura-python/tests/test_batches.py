"""Batches, transactions, and reads of one moment."""

import pathlib
import threading

import pytest

import endura


@pytest.fixture
def pool(tmp_path: pathlib.Path):
    with endura.open(tmp_path / "pool") as opened:
        yield opened


def test_a_batch_changes_maps_of_any_types(pool: endura.Pool) -> None:
    people, by_name = pool.map("people", int, str), pool.map("by name", tuple[str, int], None)
    people[7] = "Eve"
    by_name["Eve", 7] = None
    with pool.batch() as b:
        b[people][7] = "Ada"
        b[by_name]["Ada", 7] = None
        del b[by_name]["Eve", 7]
        del b[people][99]
        assert len(b) == 4 and people[7] == "Eve"
    assert people[7] == "Ada" and list(by_name) == [("Ada", 7)]


def test_an_exception_leaves_everything_as_it_was(pool: endura.Pool) -> None:
    people = pool.map("people", int, str)
    with pytest.raises(ZeroDivisionError), pool.batch() as b:
        b[people][7] = "Ada"
        1 / 0
    assert 7 not in people
    with pytest.raises(TypeError), pool.batch() as b:
        b[people][7] = "Ada"
        b[people][8] = 8
    assert not people


def test_expectations(pool: endura.Pool) -> None:
    people = pool.map("people", int, str)
    b = pool.batch()
    b.expect(people, 7)
    b.expect(people, 8, endura.ABSENT)
    b[people][7] = "Ada"
    b.commit()
    assert len(b) == 0
    b.expect(people, 7, "Ada")
    b.expect(people, 7, "Eve")
    b[people][7] = "Max"
    with pytest.raises(endura.Unmet, match="part 1"):
        b.commit()
    assert people[7] == "Ada" and len(b) == 3
    b.clear()
    b.commit()


def test_a_transaction_runs_again_until_nothing_has_changed(pool: endura.Pool) -> None:
    balance = pool.map("balance", str, int)
    balance["ann"] = 1_000
    balance["bob"] = 0

    def pay(tx: endura.Transaction) -> int:
        left = tx[balance]["ann"]
        tx[balance]["ann"] = left - 1
        tx[balance]["bob"] = tx[balance].get("bob", 0) + 1
        assert tx[balance]["ann"] == left - 1 and "eve" not in tx[balance]
        with pytest.raises(KeyError):
            tx[balance]["eve"]
        return left

    def many() -> None:
        for _ in range(100):
            pool.transact(pay)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ann, bob = pool.read(lambda: (balance["ann"], balance["bob"]))
        assert ann + bob == 1_000
    for thread in threads:
        thread.join()
    assert dict(balance) == {"ann": 600, "bob": 400}


def test_a_transaction_that_fails_changes_nothing(pool: endura.Pool) -> None:
    balance = pool.map("balance", str, int)
    kept = []

    def run(tx: endura.Transaction) -> None:
        kept.append(tx)
        tx[balance]["ann"] = 1
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        pool.transact(run)
    assert not balance
    with pytest.raises(RuntimeError, match="has returned"):
        kept[0][balance].get("ann")


def test_a_read_returns_and_raises_what_its_function_does(pool: endura.Pool) -> None:
    people = pool.map("people", int, str)
    people[7] = "Ada"
    assert pool.read(lambda: [*people.items()]) == [(7, "Ada")]
    with pytest.raises(KeyError):
        pool.read(lambda: people[8])
    with pytest.raises(endura.Error) as raised:
        pool.read(lambda: pool.batch().commit() or pool.transact(lambda tx: tx[people][7]))
    assert raised.value.code == "inside_operation"


def test_an_iterator_sees_a_batch_of_its_own_thread(pool: endura.Pool) -> None:
    people = pool.map("people", int, str)
    people.update({n: "old" for n in range(100)})
    iterator = iter(people.items())
    assert next(iterator) == (0, "old")
    with pool.batch() as b:
        b[people][1] = "new"
    assert next(iterator) == (1, "new")


def test_nothing_is_iterated_by_numbers(pool: endura.Pool) -> None:
    people = pool.map("people", int, str)
    people[0] = "Ada"

    def run(tx: endura.Transaction) -> None:
        for wrong in (pool.batch(), tx, tx[people]):
            with pytest.raises(TypeError, match="not iterable"):
                iter(wrong)
        with pytest.raises(TypeError, match="not iterable"):
            people in tx

    pool.transact(run)


def test_a_transaction_is_an_operation_of_its_pool(pool: endura.Pool) -> None:
    people = pool.map("people", int, str)
    for refused in (pool.close, pool.check, pool.checkpoint):
        with pytest.raises(endura.Error) as raised:
            pool.transact(lambda tx: refused())
        assert raised.value.code == "inside_operation"
    assert not pool.closed
    runs: list[int] = []
    with pytest.raises(endura.Error) as raised:
        pool.read(lambda: pool.transact(lambda tx: runs.append(1)))
    assert raised.value.code == "inside_operation" and not runs
    pool.transact(lambda tx: pool.transact(lambda inner: inner[people].get(7)))


class Ended(BaseException):
    """As `KeyboardInterrupt`."""


def test_what_ends_a_program_is_not_lost_in_a_run_in_vain(pool: endura.Pool) -> None:
    people = pool.map("people", int, str)
    runs: list[int] = []

    def change(key: int) -> None:
        with pool.batch() as b:
            b[people][key] = f"run {len(runs)}"

    def elsewhere(key: int) -> None:
        thread = threading.Thread(target=change, args=(key,))
        thread.start()
        thread.join()

    def run(tx: endura.Transaction) -> None:
        runs.append(1)
        assert len(runs) < 5
        tx[people].get(1)
        elsewhere(1)
        try:
            tx[people].get(2)
        except endura.Contended:
            raise Ended from None

    with pytest.raises(Ended):
        pool.transact(run)
    assert len(runs) == 1

    def look() -> None:
        runs.append(1)
        assert len(runs) < 5
        people.get(1)
        elsewhere(1)
        raise Ended

    runs.clear()
    with pytest.raises(Ended):
        pool.read(look)
    assert len(runs) == 1
