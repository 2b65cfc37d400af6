//! Every operation inside every closure, on the same map, on another one, and in another pool, beside
//! writers: each goes through, or says that it is inside an operation. The table is in `docs/testing.md`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use endura_engine::Error;

use crate::nesting::closures::*;
use crate::support::patience::{PATIENCE, ends};

/// How long each cell of the table is tried.
const CELL: Duration = Duration::from_millis(5);
const WORKERS: usize = 2;

/// A closure, an operation, and whether that is one of the other pool.
type Cell = (usize, usize, bool);

fn cells(operations: &[Operation]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (c, &(_, around, _)) in CLOSURES.iter().enumerate() {
        for (o, &(map, ..)) in operations.iter().enumerate() {
            let is_of_its_map = match around {
                Around::Index(own) => map == own || map == ALL_MAPS,
                Around::Method | Around::View => false,
            };
            if !is_of_its_map {
                cells.push((c, o, false));
            }
            cells.push((c, o, true));
        }
    }
    cells
}

/// Whether a cell gave what it should.
fn is_fine(around: Around, operation: &str, elsewhere: bool, outcome: &Result<(), Error>) -> bool {
    let commits = operation.starts_with("commit") || operation == "transact";
    match (operation, outcome) {
        (_, Err(Error::InsideOperation)) if commits => around == Around::View && !elsewhere,
        // Writers that were inside before the first commit may wait for the lock of the leaf.
        (_, Err(Error::WritersStay { .. })) if commits => matches!(around, Around::Index(_)),
        (_, Ok(())) if commits => around != Around::View || elsewhere,
        ("verify", Err(Error::InsideOperation)) => !elsewhere,
        ("verify", Err(Error::WritersStay { .. }) | Ok(())) => elsewhere,
        (_, outcome) => outcome.is_ok(),
    }
}

struct Table {
    own: World,
    other: World,
    operations: Vec<Operation>,
    cells: Vec<Cell>,
    next: AtomicUsize,
    done: AtomicUsize,
    is_over: AtomicBool,
    /// Where each worker is.
    now: Mutex<[String; WORKERS]>,
}

impl Table {
    /// Tries a cell for its time, and until its operation has run.
    fn fill(&self, worker: usize, &(c, o, elsewhere): &Cell) {
        let (closure, around, run) = CLOSURES[c];
        let (map, what, operation) = &self.operations[o];
        let target = if elsewhere { &self.other } else { &self.own };
        let pool = if elsewhere { "another pool's" } else { "the pool's" };
        let name = format!("{pool} {map}.{what} in {closure}");
        self.now.lock().unwrap()[worker].clone_from(&name);
        let (begun, mut times) = (Instant::now(), 0);
        while times == 0 || begun.elapsed() < CELL {
            self.own.write(KEY, 1);
            let mut nested = || {
                times += 1;
                let outcome = operation(target);
                let fine = is_fine(around, what, elsewhere, &outcome);
                assert!(fine, "{name}: {outcome:?}");
            };
            run(&self.own, &mut nested).unwrap_or_else(|error| panic!("around {name}: {error}"));
        }
    }

    fn work(&self, worker: usize) {
        while let Some(cell) = self.cells.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            self.fill(worker, cell);
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Moves the epochs on, and puts back what was taken out.
    fn write(&self) {
        let mut n = 0_u64;
        while !self.is_over.load(Ordering::Relaxed) {
            n = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
            self.own.write(n % 300, n);
            self.other.write(n % 300, n);
        }
    }
}

#[test]
fn every_operation_inside_every_closure() {
    let folder = tempfile::tempdir().unwrap();
    let operations = operations();
    let table = Arc::new(Table {
        own: World::new(folder.path(), "own"),
        other: World::new(folder.path(), "other"),
        cells: cells(&operations),
        operations,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
        now: Mutex::default(),
    });
    let spawn = |work: Box<dyn FnOnce(&Table) + Send>| {
        let table = Arc::clone(&table);
        std::thread::spawn(move || work(&table))
    };
    let writer = spawn(Box::new(Table::write));
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| spawn(Box::new(move |table: &Table| table.work(worker))))
        .collect();
    let (mut last, mut since) = (0, Instant::now());
    while workers.iter().any(|worker| !worker.is_finished()) {
        std::thread::sleep(Duration::from_millis(20));
        let done = table.done.load(Ordering::Relaxed);
        if done != last {
            (last, since) = (done, Instant::now());
        }
        assert!(since.elapsed() < PATIENCE, "a hang: {:?}", table.now.lock().unwrap());
    }
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    table.is_over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert_eq!(last.max(table.done.load(Ordering::Relaxed)), table.cells.len());
    for world in [&table.own, &table.other] {
        world.pool.verify().unwrap();
    }
}

/// Tests each closure with a folder of its own.
fn for_each_closure(test: fn(&'static str, &Path, Run)) {
    for (name, _, run) in CLOSURES {
        ends(name, move || test(name, tempfile::tempdir().unwrap().path(), run));
    }
}

fn all_say_inside(outcomes: &[Result<(), Error>]) -> bool {
    let is_inside = |outcome: &_| matches!(outcome, Err(Error::InsideOperation));
    !outcomes.is_empty() && outcomes.iter().all(is_inside)
}

#[test]
fn close_inside_every_closure() {
    for_each_closure(|name, folder, run| {
        let world = World::new(folder, "pool");
        let mut outcomes = Vec::new();
        let whole = run(&world, &mut || {
            outcomes.push(world.pool.close().map(drop));
            outcomes.push(world.pool.verify().map(drop));
        });
        assert!(all_say_inside(&outcomes), "{name}: {outcomes:?}");
        whole.unwrap();
        world.pool.verify().unwrap();
        world.pool.close().unwrap();
    });
}

#[test]
fn a_closure_closes_another_pool() {
    for_each_closure(|name, folder, run| {
        let (own, other) = (World::new(folder, "own"), World::new(folder, "other"));
        let mut outcomes = Vec::new();
        let whole = run(&own, &mut || outcomes.push(other.pool.close().map(drop)));
        assert!(matches!(outcomes[0], Ok(())), "{name}: {outcomes:?}");
        whole.unwrap();
        own.pool.close().unwrap();
    });
}

/// Also where an operation of another pool lies in between.
#[test]
fn close_inside_two_closures() {
    for_each_closure(|name, folder, run| {
        let (own, other) = (World::new(folder, "own"), World::new(folder, "other"));
        let mut outcomes = Vec::new();
        let whole = run(&own, &mut || {
            let inner = other.nbtree.get_with(KEY, |_| outcomes.push(own.pool.close().map(drop)));
            inner.unwrap();
        });
        assert!(all_say_inside(&outcomes), "{name}: {outcomes:?}");
        whole.unwrap();
        own.pool.close().unwrap();
    });
}

/// A panic in a closure ends the operation: the pool can be closed.
#[test]
fn close_after_a_panic_in_every_closure() {
    for (name, around, run) in CLOSURES {
        if around != Around::Method {
            continue;
        }
        ends(name, move || {
            let folder = tempfile::tempdir().unwrap();
            let world = World::new(folder.path(), "pool");
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                run(&world, &mut || std::panic::panic_any(1)).map_err(drop)
            }));
            assert!(outcome.is_err(), "{name}");
            world.pool.verify().unwrap();
            world.pool.close().unwrap();
        });
    }
}

/// The range is the last handle when its closure has returned, and closes the pool.
#[test]
fn the_last_handle_goes_inside_a_closure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = endura::Pool::options().max_size(1 << 30).create_new(&path).unwrap();
    let map = pool.map::<u64, u64>("m").unwrap();
    map.insert(1, 1).unwrap();
    let range = map.iter();
    let mut handles = Some((pool, map));
    range.visit(|_, _| drop(handles.take())).unwrap();
    let pool = endura::Pool::options().max_size(1 << 30).open_existing(&path).unwrap();
    assert!(pool.stats().unwrap().clean_open);
}
