//! Every workload at a small scale: each answer of each store beside that of a model, threads beside
//! each other, and stores that lie.
#![allow(clippy::expect_used, reason = "a test fails by a panic")]

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use endura_bench::contender::{Contender, Entrant};
use endura_bench::figures::Pacing;

use endura_bench::store::{Client, Footprint, Shape, Store, StoreOptions};
use endura_bench::tpcc::{self, Tables, TpccScale, TransactionMix};
use endura_bench::workload::plain::Operation;
use endura_bench::workload::{
    self, Action, Choice, Plan, Population, ScanLength, Workload, papers, ycsb,
};
use endura_bench::{Error, Result};

const KEYS: u64 = 600;

/// A store and a `BTreeMap`: every answer is asked of both.
struct Beside {
    store: Box<dyn Entrant>,
    model: Box<dyn Entrant>,
}

impl Beside {
    fn new(contender: Contender, options: &StoreOptions) -> Self {
        Self {
            store: contender.open(options).expect("a store"),
            model: Contender::BTreeMap.open(options).expect("a model"),
        }
    }
}

impl Store for Beside {
    type Client<'s> = BesideClient<'s>;

    fn name(&self) -> &'static str {
        "beside"
    }

    fn client(&self) -> Result<BesideClient<'_>> {
        Ok(BesideClient { store: self.store.client()?, model: self.model.client()? })
    }

    fn footprint(&self) -> Result<Footprint> {
        self.store.footprint()
    }

    fn settings(&self) -> String {
        self.store.info().setting
    }
}

struct BesideClient<'s> {
    store: Box<dyn Client + 's>,
    model: Box<dyn Client + 's>,
}

impl BesideClient<'_> {
    fn both<T: PartialEq + std::fmt::Debug>(
        &mut self,
        mut ask: impl FnMut(&mut dyn Client) -> Result<T>,
    ) -> Result<T> {
        let (answer, right) = (ask(self.store.as_mut())?, ask(self.model.as_mut())?);
        assert_eq!(answer, right);
        Ok(answer)
    }
}

impl Client for BesideClient<'_> {
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        self.both(|client| client.insert(key, value))
    }

    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        self.both(|client| client.update(key, value))
    }

    fn remove(&mut self, key: u64) -> Result<bool> {
        self.both(|client| client.remove(key))
    }

    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        self.both(|client| client.get(key))
    }

    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        self.both(|client| client.scan(from, count))
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        self.both(|client| client.first(from))
    }

    fn get_many(&mut self, keys: &[u64]) -> Result<usize> {
        self.both(|client| client.get_many(keys))
    }
}

fn plan(operations: u64, seed: u64) -> Plan {
    Plan { operations, pace: Pacing::FREE, seed }
}

fn options(dir: &Path, shape: Shape) -> StoreOptions {
    let pool = endura::Pool::options().max_size(1 << 28);
    StoreOptions { pool, ..StoreOptions::new(dir.join("store"), shape, 20_000) }
}

/// Every workload there is. Those that remove come last.
fn workloads() -> Vec<Workload> {
    let mut all = ycsb::all();
    for choice in [Choice::Uniform, Choice::Latest(0.99), Choice::SelfSimilar(0.2)] {
        all.extend(ycsb::with_choice(choice));
    }
    all.extend(papers::SKEWS.map(papers::skewed_halves));
    all.extend(papers::WRITE_PERCENTS.map(|percent| papers::nbtree_writes(percent, 0.99)));
    all.extend(papers::roart_five());
    all.extend(
        [1, 1000].map(|length| {
            Workload::only("scan", Action::Scan).with_scan(ScanLength::Fixed(length))
        }),
    );
    all.extend(Operation::ALL.map(Operation::workload));
    all.extend(papers::roart_single());
    all.push(papers::fast_fair_mixed());
    all
}

fn built() -> impl Iterator<Item = Contender> {
    Contender::ALL.into_iter().filter(|contender| contender.is_built())
}

/// How many entries there are, one after the other. The numbers of keys follow their order where all
/// keys are alike in length.
fn walk(store: &Beside) -> u64 {
    let mut client = store.client().expect("a client");
    let (mut from, mut count) = (0, 0);
    while let Some((key, _)) = client.first(from).expect("an answer") {
        count += 1;
        let Some(next) = key.checked_add(1) else { break };
        from = next;
    }
    count
}

#[test]
fn every_store_answers_every_workload_as_a_btree() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut stores = 0;
    for shape in [Shape::WORDS, Shape::STRINGS, Shape::ROART] {
        for contender in built().filter(|contender| contender.takes(shape)) {
            let dir = dir.path().join(format!("{contender:?} {shape:?}"));
            let store = Beside::new(contender, &options(&dir, shape));
            let population = Population::new(1);
            let load = workload::run(&store, &population, &Workload::load(), plan(KEYS, 1));
            assert_eq!(load.expect("a load").operations, KEYS);
            for (workload, seed) in workloads().iter().zip(2..) {
                let timing = workload::run(&store, &population, workload, plan(300, seed));
                let timing =
                    timing.unwrap_or_else(|error| panic!("{contender:?} {workload:?}: {error}"));
                assert_eq!(timing.operations, 300, "{workload:?}");
            }
            workload::verify(&store, &population, 10_000).expect("all keys");
            if shape != Shape::ROART {
                assert_eq!(walk(&store), population.len(), "{contender:?} {shape:?}");
            }
            stores += 1;
        }
    }
    assert!(stores >= 4 + 3 + 3, "{stores}");
}

#[test]
fn threads_find_what_other_threads_insert_and_remove() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for contender in built() {
        let shape = if contender.takes(Shape::WORDS) { Shape::WORDS } else { Shape::STRINGS };
        let dir = dir.path().join(contender.name());
        let store = contender.open(&options(&dir, shape)).expect("a store");
        let population = Population::new(3);
        store.run(&population, &Workload::load(), plan(KEYS, 1)).expect("a load");
        for (workload, seed) in workloads().iter().zip(2..) {
            let ran = store.run(&population, workload, plan(600, seed));
            ran.unwrap_or_else(|error| panic!("{contender:?} {workload:?}: {error}"));
        }
        store.verify(&population, 10_000).expect("all keys");
        // What was closed is there after it is opened again.
        if contender.role() != endura_bench::results::Role::VolatileBound {
            drop(store);
            let again = contender.open(&options(&dir, shape)).expect("the same store");
            again.verify(&population, 10_000).expect("all keys after a close");
        }
    }
}

#[test]
fn every_index_runs_tpcc_as_a_btree() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let scale = TpccScale { warehouses: 2, items: 100, customers: 30 };
    for contender in built() {
        // Eleven stores of these are eleven times their background threads.
        if matches!(contender, Contender::Fjall | Contender::RocksDb) {
            continue;
        }
        let dir = dir.path().join(contender.name());
        let maps: Vec<Beside> = (0..tpcc::MAPS)
            .map(|map| Beside::new(contender, &options(&dir.join(map.to_string()), Shape::WORDS)))
            .collect();
        let loaded = tpcc::load(&maps, scale).expect("a load");
        assert!(loaded.operations > 8000 && loaded.operations <= scale.entries());
        let tables = Tables::new(scale, 1).expect("tables");
        for (name, mix) in TransactionMix::PAPER {
            let ran = tpcc::run(&maps, &tables, mix, plan(200, 5));
            let ran = ran.unwrap_or_else(|error| panic!("{contender:?} {name}: {error}"));
            assert_eq!(ran.operations, 200);
        }
    }
}

/// A map of numbers that now and then does something else than it is told.
struct Liar {
    honest: Box<dyn Entrant>,
    lie: Lie,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Lie {
    LosesInserts,
    LosesUpdates,
    KeepsRemoved,
    InventsKeys,
    MixesValuesUp,
    EndsScans,
}

struct LiarClient<'s> {
    honest: Box<dyn Client + 's>,
    lie: Lie,
    count: Rc<Cell<u64>>,
}

impl LiarClient<'_> {
    /// Whether this is the time for `lie`.
    fn lies(&self, lie: Lie) -> bool {
        self.count.set(self.count.get() + 1);
        self.lie == lie && self.count.get().is_multiple_of(49)
    }
}

impl Store for Liar {
    type Client<'s> = LiarClient<'s>;

    fn name(&self) -> &'static str {
        "liar"
    }

    fn client(&self) -> Result<LiarClient<'_>> {
        Ok(LiarClient { honest: self.honest.client()?, lie: self.lie, count: Rc::default() })
    }

    fn footprint(&self) -> Result<Footprint> {
        Ok(Footprint::UNKNOWN)
    }

    fn settings(&self) -> String {
        String::new()
    }
}

impl Client for LiarClient<'_> {
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        if self.lies(Lie::LosesInserts) { Ok(()) } else { self.honest.insert(key, value) }
    }

    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        if self.lies(Lie::LosesUpdates) { Ok(false) } else { self.honest.update(key, value) }
    }

    fn remove(&mut self, key: u64) -> Result<bool> {
        if self.lies(Lie::KeepsRemoved) { Ok(true) } else { self.honest.remove(key) }
    }

    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        let found = self.honest.get(key)?;
        if self.lies(Lie::InventsKeys) {
            return Ok(Some(7));
        }
        Ok(if self.lies(Lie::MixesValuesUp) { found.map(|value| value ^ 1) } else { found })
    }

    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        if self.lies(Lie::EndsScans) { Ok((0, 0)) } else { self.honest.scan(from, count) }
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        self.honest.first(from)
    }
}

#[test]
fn a_store_that_lies_has_no_figures() {
    let workload = |action| Workload::only("", action);
    for (lie, workload) in [
        (Lie::LosesInserts, workload(Action::Read)),
        (Lie::LosesInserts, workload(Action::Insert)),
        (Lie::LosesUpdates, workload(Action::Update)),
        (Lie::LosesUpdates, workload(Action::Modify)),
        (Lie::KeepsRemoved, workload(Action::Remove)),
        (Lie::InventsKeys, workload(Action::Miss)),
        (Lie::MixesValuesUp, workload(Action::Read)),
        (Lie::MixesValuesUp, papers::fast_fair_mixed()),
        (Lie::EndsScans, workload(Action::Scan)),
        (Lie::LosesInserts, workload(Action::ReadMany)),
    ] {
        let options = options(Path::new("unused"), Shape::WORDS);
        let store = Liar { honest: Contender::BTreeMap.open(&options).expect("a map"), lie };
        let population = Population::new(1);
        let ran = workload::run(&store, &population, &Workload::load(), plan(KEYS, 1))
            .and_then(|_| workload::run(&store, &population, &workload, plan(400, 2)))
            .and_then(|_| workload::verify(&store, &population, 10_000));
        assert!(matches!(ran, Err(Error::Wrong { .. })), "{lie:?} {workload:?}: {ran:?}");
    }
}

#[test]
fn tpcc_notices_a_lie() {
    let scale = TpccScale { warehouses: 1, items: 100, customers: 30 };
    for lie in [Lie::LosesInserts, Lie::KeepsRemoved, Lie::MixesValuesUp, Lie::EndsScans] {
        let options = options(Path::new("unused"), Shape::WORDS);
        let map = || Liar { honest: Contender::BTreeMap.open(&options).expect("a map"), lie };
        let maps: Vec<Liar> = (0..tpcc::MAPS).map(|_| map()).collect();
        tpcc::load(&maps, scale).expect("a load");
        let tables = Tables::new(scale, 1).expect("tables");
        let ran = tpcc::run(&maps, &tables, TransactionMix::W1, plan(2000, 5));
        assert!(matches!(ran, Err(Error::Wrong { .. })), "{lie:?}");
    }
}

#[test]
fn what_cannot_be_run_is_refused() {
    let options = options(Path::new("unused"), Shape::WORDS);
    let store = Contender::BTreeMap.open(&options).expect("a map");
    let population = Population::new(2);
    let refused = |workload: &Workload| {
        matches!(store.run(&population, workload, plan(10, 1)), Err(Error::Config(_)))
    };
    assert!(refused(&Workload::new("nothing", &[])));
    assert!(refused(&Workload::only("of an empty map", Action::Read)));
    let scan = Workload::only("of nothing", Action::Scan);
    assert!(refused(&scan.with_scan(ScanLength::Fixed(0))));
    assert!(Tables::new(TpccScale::full(1), 2).is_err());
    let strings = StoreOptions { shape: Shape::STRINGS, ..options };
    assert!(matches!(Contender::Congee.open(&strings), Err(Error::Shape { .. })));
}
