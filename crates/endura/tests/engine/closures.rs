//! Every closure that the API takes, and every operation: what may be nested in what.

use endura::lab::handles::Handles as _;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

use endura::lab::handles::{FastFair, NbTree, OrderedMap, Roart};
use endura::lab::tree::{ByteChange, ByteIndex, Change, Index};
use endura::{Error, Pool};

/// What an operation gives: only whether it went through.
pub(crate) type Outcome = Result<(), Error>;

/// A pool with a map of each kind.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) pool: Pool,
    pub(crate) fast_fair: FastFair,
    pub(crate) nbtree: NbTree,
    pub(crate) roart: Roart,
}

pub(crate) const KEY: u64 = 77;

impl World {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let pool = Pool::options().max_size(1 << 30).create_new(folder.join(name)).unwrap();
        let fast_fair = pool.fast_fair("fast_fair").unwrap();
        let (nbtree, roart) = (pool.nbtree("nbtree").unwrap(), pool.roart("roart").unwrap());
        let world = Self { pool, fast_fair, nbtree, roart };
        (0..300).for_each(|key| world.write(key, key));
        world
    }

    /// Gives `key` a value in every map.
    pub(crate) fn write(&self, key: u64, value: u64) {
        self.fast_fair.insert(key, value).unwrap();
        self.nbtree.insert(key, value).unwrap();
        self.roart.insert(key.to_be_bytes(), value.to_le_bytes()).unwrap();
    }
}

/// What is inside of what while a closure runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// Nothing: the operation goes on with another step.
    Nothing,
    /// A pin.
    Pin,
    /// A pin, and perhaps the lock of a leaf: the closure must not call its own index.
    Index(&'static str),
}

/// Runs an operation of a world that calls the closure.
type Run = fn(&World, &mut dyn FnMut()) -> Outcome;

pub(crate) const CLOSURES: [(&str, Around, Run); 13] = [
    ("roart.get_with", Around::Pin, |world, nested| {
        world.roart.get_with(KEY.to_be_bytes(), |_| nested()).map(drop)
    }),
    ("roart.range_with", Around::Pin, |world, nested| {
        world.roart.range_with::<&[u8]>(.., |_, _| {
            nested();
            ControlFlow::Break(())
        })
    }),
    ("roart.range_rev_with", Around::Pin, |world, nested| {
        world.roart.range_rev_with::<&[u8]>(.., |_, _| {
            nested();
            ControlFlow::Break(())
        })
    }),
    ("roart.insert_from", Around::Pin, |world, nested| {
        world.roart.insert_from(KEY.to_be_bytes(), 8, |out| {
            nested();
            out.write_all(&[1; 8]).map_err(|error| Error::io("filling a value", error))
        })
    }),
    ("roart.index().modify", Around::Pin, |world, nested| {
        world.roart.index().modify(&KEY.to_be_bytes(), |_| {
            nested();
            ByteChange::Put(Cow::Borrowed(&[1; 8]))
        })
    }),
    ("roart.fetch_update", Around::Nothing, |world, nested| {
        let update = |_: Option<&[u8]>| {
            nested();
            Some(vec![1; 8])
        };
        world.roart.fetch_update(KEY.to_be_bytes(), update).map(drop)
    }),
    ("roart.retain", Around::Nothing, |world, nested| {
        let mut first = true;
        let keep = |_: &[u8], _: &[u8]| {
            if std::mem::take(&mut first) {
                nested();
            }
            true
        };
        world.roart.retain(keep).map(drop)
    }),
    ("fast_fair.index().modify", Around::Index("fast_fair"), |world, nested| {
        modify(world.fast_fair.index(), nested)
    }),
    ("fast_fair.fetch_update", Around::Nothing, |world, nested| {
        fetch_update(&world.fast_fair, nested)
    }),
    ("fast_fair.retain", Around::Nothing, |world, nested| retain(&world.fast_fair, nested)),
    ("nbtree.index().modify", Around::Index("nbtree"), |world, nested| {
        modify(world.nbtree.index(), nested)
    }),
    ("nbtree.fetch_update", Around::Nothing, |world, nested| fetch_update(&world.nbtree, nested)),
    ("nbtree.retain", Around::Nothing, |world, nested| retain(&world.nbtree, nested)),
];

fn modify(index: &impl Index, nested: &mut dyn FnMut()) -> Outcome {
    let decide = |_| {
        nested();
        Change::Put(1)
    };
    index.modify(KEY, decide).map(drop)
}

fn fetch_update(map: &impl OrderedMap, nested: &mut dyn FnMut()) -> Outcome {
    let update = |_| {
        nested();
        Some(1)
    };
    map.fetch_update(KEY, update).map(drop)
}

fn retain(map: &impl OrderedMap, nested: &mut dyn FnMut()) -> Outcome {
    let mut first = true;
    let keep = |_, _| {
        if std::mem::take(&mut first) {
            nested();
        }
        true
    };
    map.retain(keep).map(drop)
}

/// An operation by its name, and the map that it is one of ("" = the pool).
pub(crate) type Operation =
    (&'static str, &'static str, Box<dyn Fn(&World) -> Outcome + Send + Sync>);

/// The same of one map, or of the pool.
type Named<M> = (&'static str, fn(&M) -> Outcome);

fn first_five<T>(entries: impl Iterator<Item = Result<T, Error>>) -> Outcome {
    entries.take(5).try_for_each(|entry| entry.map(drop))
}

fn words<M: OrderedMap>(name: &'static str, of: fn(&World) -> &M) -> Vec<Operation> {
    let all: [Named<M>; 19] = [
        ("get", |map| map.get(3).map(drop)),
        ("get_many", |map| map.get_many(&[1, 2, 3]).map(drop)),
        ("contains_key", |map| map.contains_key(4).map(drop)),
        ("insert", |map| map.insert(5, 5).map(drop)),
        ("insert_new", |map| map.insert_new(1_005, 5).map(drop)),
        ("update", |map| map.update(6, 6).map(drop)),
        ("remove", |map| map.remove(1_005).map(drop)),
        ("compare_exchange", |map| map.compare_exchange(8, Some(8), Some(9)).map(drop)),
        ("fetch_update", |map| map.fetch_update(9, |old| old.map(|old| old + 1)).map(drop)),
        ("range", |map| first_five(map.range(5..))),
        ("range().rev", |map| first_five(map.range(..).rev())),
        ("first", |map| map.first().map(drop)),
        ("last", |map| map.last().map(drop)),
        ("pop_first", |map| map.pop_first().map(drop)),
        ("pop_last", |map| map.pop_last().map(drop)),
        ("len", |map| map.len().map(drop)),
        ("is_empty", |map| map.is_empty().map(drop)),
        ("remove_range", |map| map.remove_range(20..25).map(drop)),
        ("retain", |map| map.retain(|key, _| key % 16 != 0).map(drop)),
    ];
    let box_one = |(what, run): Named<M>| -> Operation {
        (name, what, Box::new(move |world| run(of(world))))
    };
    all.into_iter().map(box_one).collect()
}

fn bytes() -> Vec<Operation> {
    let all: [Named<Roart>; 20] = [
        ("get", |map| map.get(3_u64.to_be_bytes()).map(drop)),
        ("get_with", |map| map.get_with(3_u64.to_be_bytes(), |value| value.len()).map(drop)),
        ("get_many", |map| map.get_many(&[1_u64, 2, 3].map(u64::to_be_bytes)).map(drop)),
        ("insert", |map| map.insert(5_u64.to_be_bytes(), "5").map(drop)),
        ("insert_from", |map| map.insert_from(5_u64.to_be_bytes(), 8, |_| Ok(()))),
        ("insert_new", |map| map.insert_new("new", "5").map(drop)),
        ("update", |map| map.update(6_u64.to_be_bytes(), "6").map(drop)),
        ("remove", |map| map.remove("new").map(drop)),
        ("compare_exchange", |map| map.compare_exchange("new", None, None).map(drop)),
        ("fetch_update", |map| map.fetch_update("sum", |_| Some(vec![1])).map(drop)),
        ("range", |map| first_five(map.range(5_u64.to_be_bytes()..))),
        ("range_with", |map| map.range_with::<&[u8]>(.., |_, _| ControlFlow::Break(()))),
        ("iter().rev", |map| first_five(map.iter().rev())),
        ("first", |map| map.first().map(drop)),
        ("pop_first", |map| map.pop_first().map(drop)),
        ("pop_last", |map| map.pop_last().map(drop)),
        ("len", |map| map.len().map(drop)),
        ("is_empty", |map| map.is_empty().map(drop)),
        ("remove_range", |map| map.remove_range([0; 8]..[1; 8]).map(drop)),
        ("retain", |map| map.retain(|key, _| key.last() != Some(&0)).map(drop)),
    ];
    let box_one = |(what, run): Named<Roart>| -> Operation {
        ("roart", what, Box::new(move |world| run(&world.roart)))
    };
    all.into_iter().map(box_one).collect()
}

fn of_pools() -> Vec<Operation> {
    let all: [Named<World>; 9] = [
        ("fast_fair", |world| world.pool.fast_fair("fast_fair").map(drop)),
        ("any_map", |world| world.pool.any_map("nbtree", None).map(drop)),
        ("roart", |world| world.pool.roart("more").map(drop)),
        ("maps", |world| world.pool.maps().map(drop)),
        ("rename_map", |world| match world.pool.rename("more", "less") {
            // Made and dropped by others.
            Ok(()) | Err(Error::NoSuchMap { .. } | Error::MapExists { .. }) => {
                world.pool.drop_map("less").map(drop)
            }
            other => other,
        }),
        ("drop_map", |world| world.pool.drop_map("more").map(drop)),
        ("stats", |world| world.pool.stats().map(drop)),
        ("verify", |world| world.pool.verify().map(drop)),
        ("collect", |world| world.pool.collect().map(drop)),
    ];
    let box_one = |(what, run): Named<World>| -> Operation { ("", what, Box::new(run)) };
    all.into_iter().map(box_one).collect()
}

/// Every operation but `close`.
pub(crate) fn operations() -> Vec<Operation> {
    let mut all = words("fast_fair", |world| &world.fast_fair);
    all.extend(words("nbtree", |world| &world.nbtree));
    all.extend(bytes());
    all.extend(of_pools());
    all
}
