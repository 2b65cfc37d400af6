//! Sessions that only read, on everything that a kill or a power failure may leave: they read all of it and store
//! nothing, nor try an exchange that fails. (The file of such a session is mapped without the right to store, so
//! that either would end the process.)

use std::ops::Range;
use std::sync::Arc;

use endura_engine::Error;
use endura_engine::media::{Ordering, Region};
use endura_engine::space::{LeakRecoverer, PAGE, Session, Space};
use endura_engine::tree::{Change, fast_fair, nbtree};
use endura_sim::aftermath::Aftermath;
use endura_sim::choose::{Chooser, Random};
use endura_sim::event::Trace;
use endura_sim::explore::visible;
use endura_sim::model::Model;
use endura_sim::run::points;
use endura_sim::sim::{Move, Sim};
use endura_sim::subject::Subject;
use endura_sim::subjects::pool::{PoolOp, PoolSpace, histories};
use endura_sim::subjects::{LIMIT, MapOp, NumberTree, Numbers, Spelled, Spellings};
use endura_sim::workload::Workload;
use endura_variants::roart::Tiny;

type TinyFastFair = fast_fair::Tree<Sim, 14, 14, fast_fair::LineBinary>;
type TinyNbTree = nbtree::Tree<Sim, 8, 4>;
type TinyRoart = Spelled<Tiny>;

/// Room for pages that nobody uses any more.
const POOL_LIMIT: u64 = 32 * PAGE;

/// The medium that a crash left, on which a store panics.
fn sealed(model: Model, left: &Aftermath, limit: u64, chooser: Chooser) -> Sim {
    let refuse = |next| assert!(next != Move::Store, "a session that only reads stores something");
    Sim::after(model, limit, left, chooser).with_pause(Arc::new(refuse))
}

/// What kills and power failures may leave of the events `within`: after each store, and where something becomes
/// durable or is told.
fn left(model: Model, trace: &Trace, within: Range<usize>) -> Vec<Aftermath> {
    let stores = within.clone().filter(|&i| trace.events[i].changes_words());
    let mut left: Vec<_> = stores.map(|i| visible(trace, i + 1)).collect();
    let crashes = points(model, trace, within, None, |_| vec![()]);
    left.extend(crashes.into_iter().map(|point| point.aftermath));
    left
}

/// Opens what is left to be read with each of a few choices of what was lost, and has `read` read it. How often.
fn with_each(
    model: Model,
    left: &[Aftermath],
    limit: u64,
    session: impl Fn(&Sim) -> Session,
    read: impl Fn(Arc<Space<Sim>>),
) -> usize {
    let mut random = Random::new(left.len() as u64);
    for left in left {
        for chooser in [Chooser::AllOld, Chooser::AllNew, Chooser::Sample(random.fork())] {
            let medium = sealed(model, left, limit, chooser);
            let session = Session { read_only: true, ..session(&medium) };
            read(Arc::new(Space::mount(medium, session).unwrap()));
        }
    }
    3 * left.len()
}

/// Reads all of a tree in every way there is.
fn read<T: NumberTree>(space: &Arc<Space<Sim>>, keys: &[u64]) {
    let tree = match T::open(space) {
        Err(Error::NoSuchMap { .. }) => return,
        tree => tree.unwrap(),
    };
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let (mut cursor, mut next) = (T::Cursor::default(), Some(0));
    while let Some(key) = next {
        let entry = tree.scan_up(&mut cursor, key).unwrap();
        up.extend(entry);
        next = entry.and_then(|(key, _)| key.checked_add(1));
    }
    let (mut cursor, mut next) = (T::Cursor::default(), Some(u64::MAX));
    while let Some(key) = next {
        let entry = tree.scan_down(&mut cursor, key).unwrap();
        down.extend(entry);
        next = entry.and_then(|(key, _)| key.checked_sub(1));
    }
    down.reverse();
    assert_eq!(up, down);
    assert_eq!(tree.first().unwrap(), up.first().copied());
    assert_eq!(tree.last().unwrap(), up.last().copied());
    let many = tree.get_many(keys).unwrap();
    for (&key, many) in keys.iter().zip(many) {
        let known = up.iter().find(|entry| entry.0 == key).map(|entry| entry.1);
        assert_eq!([tree.get(key).unwrap(), many], [known; 2], "{key}");
    }
    tree.count().unwrap();
    tree.counted().unwrap();
    tree.check_ends().unwrap();
    let quiesced = space.quiesce().unwrap();
    let mut check = quiesced.check().unwrap();
    let entries = tree.check(&mut |at, bytes| check.reach(at, bytes).unwrap()).unwrap();
    assert_eq!(entries, up.len() as u64);
    check.finish().unwrap();
    drop(quiesced);
    // Nothing is left to be collected for whoever only reads, and if something was it would not be freed.
    let _ = LeakRecoverer::new(space, tree.walks(), 3).finish();
    space.stats();
    assert!(matches!(tree.modify(keys[0], |_| Change::Put(1)), Err(Error::ReadOnly)));
    assert!(space.close().unwrap());
}

/// Runs operations, and reads all that a crash during those in `ops` may leave.
fn read_after_each_crash<T: NumberTree>(keys: &[u64], before: &[MapOp], ops: &[MapOp]) -> usize {
    let subject = Numbers::<T>::about(keys.to_vec());
    let mut images = 0;
    for model in [Model::WEAKEST_ADR, Model::EADR, Model::PAGE_CACHE] {
        let medium = Sim::new(model, LIMIT);
        let open = subject.create(medium.clone()).unwrap();
        before.iter().for_each(|op| _ = subject.apply(&open, op).unwrap());
        let from = medium.moment();
        ops.iter().for_each(|op| _ = subject.apply(&open, op).unwrap());
        let trace = medium.trace();
        let left = left(model, &trace, from..trace.events.len());
        let session = |_: &Sim| Session { generation: 2, clean: false, read_only: true };
        images += with_each(model, &left, LIMIT, session, |space| read::<T>(&space, keys));
    }
    images
}

#[test]
fn fast_fair_is_read_without_a_store_after_any_crash() {
    let mut images = 0;
    for number in 0..4 {
        let Workload { keys, before, ops } = Workload::new(number, 9, 8);
        images += read_after_each_crash::<TinyFastFair>(&keys, &before, &ops);
    }
    println!("{images} images");
    assert!(images > 3_000, "{images}");
}

#[test]
fn nbtree_is_read_without_a_store_after_any_crash() {
    let mut images = 0;
    for number in 0..4 {
        let Workload { keys, before, ops } = Workload::new(number, 9, 8);
        images += read_after_each_crash::<TinyNbTree>(&keys, &before, &ops);
    }
    println!("{images} images");
    assert!(images > 1_000, "{images}");
}

#[test]
fn roart_is_read_without_a_store_after_any_crash() {
    let keys = Spellings::<Tiny>::first(21).keys;
    let put = |&key: &u64| MapOp::Put(key, key / 10);
    let all: Vec<MapOp> = keys.iter().map(put).collect();
    let mut images = read_after_each_crash::<TinyRoart>(&keys, &[], &all);
    let mut again: Vec<MapOp> = keys.iter().step_by(2).map(|&key| MapOp::Remove(key)).collect();
    again.extend(keys.iter().take(6).map(put));
    again.extend([MapOp::PopFirst, MapOp::PopLast]);
    images += read_after_each_crash::<TinyRoart>(&keys, &all, &again);
    println!("{images} images");
    assert!(images > 1_000, "{images}");
}

/// The space and the directory, in the middle of whatever is done to them: maps made, dropped and renamed, pages
/// taken and freed, collections, closes.
#[test]
fn a_pool_is_mounted_to_be_read_without_a_store_after_any_crash() {
    let mut images = 0;
    for model in [Model::WEAKEST_ADR, Model::PAGE_CACHE] {
        for history in histories::histories() {
            let medium = Sim::new(model, POOL_LIMIT);
            let open = PoolSpace.create(medium.clone()).unwrap();
            history.before.iter().for_each(|op: &PoolOp| _ = PoolSpace.apply(&open, op).unwrap());
            let from = medium.moment();
            history.ops.iter().for_each(|op| _ = PoolSpace.apply(&open, op).unwrap());
            let trace = medium.trace();
            let left = left(model, &trace, from..trace.events.len());
            images += with_each(model, &left, POOL_LIMIT, session_of_pool, |space| {
                space.named_maps().unwrap();
                let quiesced = space.quiesce().unwrap();
                quiesced.check().unwrap();
                drop(quiesced);
                space.stats();
                assert!(space.close().unwrap());
            });
        }
    }
    println!("{images} images");
    assert!(images > 1_000, "{images}");
}

/// What the word that stands for a superblock says.
fn session_of_pool(medium: &Sim) -> Session {
    let word = Region::new(medium, 0, 1).unwrap().load(0, Ordering::Acquire);
    Session { generation: (word >> 8) + 1, clean: word & 0xFF != 1, read_only: true }
}
