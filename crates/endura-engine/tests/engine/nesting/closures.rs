//! Every closure that the API takes, and every operation: what may be nested in what.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use endura::dynamic::DynamicMap;
use endura::{Batch, Map, MapOptions, Pool};
use endura_engine::index::{NbTree, Wide};
use endura_engine::media::Mapped;
use endura_engine::tree::{Change, Index};
use endura_engine::{Error, Kind};

/// What an operation gives: only whether it went through.
pub(crate) type Outcome = Result<(), Error>;

/// A pool with a map of each kind.
#[derive(Clone)]
pub(crate) struct World {
    /// The trees of the maps of numbers: no map runs a closure inside of them. Gone before the pool is.
    trees: Arc<(Wide<Mapped>, NbTree<Mapped>)>,
    pub(crate) pool: Pool,
    pub(crate) fast_fair: Map<u64, u64>,
    pub(crate) nbtree: Map<u64, u64>,
    pub(crate) roart: Map<u64, [u8]>,
}

pub(crate) const KEY: u64 = 77;

impl World {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let pool = Pool::options().max_size(1 << 30).create_new(folder.join(name)).unwrap();
        let fast_fair = pool.map::<u64, u64>("fast_fair").unwrap();
        let nbtree = pool.map_with("nbtree", MapOptions::new().kind(Kind::NbTree)).unwrap();
        let roart = pool.map_with("roart", MapOptions::new().kind(Kind::Roart)).unwrap();
        let trees = Arc::new((
            Wide::open(pool.space(), "fast_fair").unwrap(),
            NbTree::open(pool.space(), "nbtree").unwrap(),
        ));
        let world = Self { pool, fast_fair, nbtree, roart, trees };
        (0..300).for_each(|key| world.write(key, key));
        world
    }

    /// Gives `key` a value in every map.
    pub(crate) fn write(&self, key: u64, value: u64) {
        self.fast_fair.insert(key, value).unwrap();
        self.nbtree.insert(key, value).unwrap();
        self.roart.insert(key, &value.to_le_bytes()).unwrap();
    }
}

/// What a closure runs in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// A method of a map, or a transaction.
    Method,
    /// A read of one moment, in which nothing can be committed.
    View,
    /// A pin, and perhaps the lock of a leaf: the closure must not call its own index.
    Index(&'static str),
}

/// Runs an operation of a world that calls the closure.
pub(crate) type Run = fn(&World, &mut dyn FnMut()) -> Outcome;

pub(crate) const CLOSURES: [(&str, Around, Run); 35] = [
    ("roart.get_with", Around::Method, |world, nested| {
        world.roart.get_with(KEY, |_| nested()).map(drop)
    }),
    ("roart.read_with", Around::Method, |world, nested| {
        world.roart.read_with(KEY, |_| nested()).map(drop)
    }),
    ("roart.get_many", Around::Method, |world, nested| {
        world.roart.get_many(source(nested)).map(drop)
    }),
    ("roart.range_with", Around::Method, |world, nested| {
        let once = world.roart.range_with(.., |_, _| {
            nested();
            ControlFlow::Break(())
        });
        once.map(drop)
    }),
    ("roart.iter().visit_rev", Around::Method, |world, nested| {
        let once = world.roart.iter().visit_rev(|_, _| {
            nested();
            ControlFlow::Break(())
        });
        once.map(drop)
    }),
    ("roart.insert_from", Around::Method, |world, nested| {
        world.roart.insert_from(KEY, 8, |out| {
            nested();
            out.write_all(&[1; 8])
        })
    }),
    ("roart.update", Around::Method, |world, nested| {
        let make = |_: Option<&[u8]>| {
            nested();
            vec![1; 8]
        };
        world.roart.update(KEY, make).map(drop)
    }),
    ("roart.alter", Around::Method, |world, nested| {
        let change = |_: Option<&[u8]>| {
            nested();
            Some(vec![1; 8])
        };
        world.roart.alter(KEY, change).map(drop)
    }),
    ("roart.retain", Around::Method, |world, nested| {
        let mut first = true;
        let keep = |_: u64, _: &[u8]| {
            if std::mem::take(&mut first) {
                nested();
            }
            true
        };
        world.roart.retain(keep).map(drop)
    }),
    ("roart.extend", Around::Method, |world, nested| {
        let source = source(nested).map(|key| (key, &[1; 8][..]));
        world.roart.extend(source).map(drop)
    }),
    ("tree of fast_fair.modify", Around::Index("fast_fair"), |world, nested| {
        modify(&world.trees.0, nested)
    }),
    ("fast_fair.get_with", Around::Method, |world, nested| {
        world.fast_fair.get_with(KEY, |_| nested()).map(drop)
    }),
    ("fast_fair.get_many", Around::Method, |world, nested| {
        world.fast_fair.get_many(source(nested)).map(drop)
    }),
    ("fast_fair.update", Around::Method, |world, nested| update(&world.fast_fair, nested)),
    ("fast_fair.range_with", Around::Method, |world, nested| range_with(&world.fast_fair, nested)),
    ("fast_fair.alter", Around::Method, |world, nested| alter(&world.fast_fair, nested)),
    ("fast_fair.retain", Around::Method, |world, nested| retain(&world.fast_fair, nested)),
    ("fast_fair.extend", Around::Method, |world, nested| {
        world.fast_fair.extend(source(nested).map(|key| (key, 1))).map(drop)
    }),
    ("tree of nbtree.modify", Around::Index("nbtree"), |world, nested| {
        modify(&world.trees.1, nested)
    }),
    ("nbtree.get_with", Around::Method, |world, nested| {
        world.nbtree.get_with(KEY, |_| nested()).map(drop)
    }),
    ("nbtree.get_many", Around::Method, |world, nested| {
        world.nbtree.get_many(source(nested)).map(drop)
    }),
    ("nbtree.update", Around::Method, |world, nested| update(&world.nbtree, nested)),
    ("nbtree.range_with", Around::Method, |world, nested| range_with(&world.nbtree, nested)),
    ("nbtree.alter", Around::Method, |world, nested| alter(&world.nbtree, nested)),
    ("nbtree.retain", Around::Method, |world, nested| retain(&world.nbtree, nested)),
    ("nbtree.extend", Around::Method, |world, nested| {
        world.nbtree.extend(source(nested).map(|key| (key, 1))).map(drop)
    }),
    ("dynamic fast_fair.get_with", Around::Method, |world, nested| {
        dynamic(world, "fast_fair")?.get_with(&NAME, |_| nested()).map(drop)
    }),
    ("dynamic nbtree.get_with", Around::Method, |world, nested| {
        dynamic(world, "nbtree")?.get_with(&NAME, |_| nested()).map(drop)
    }),
    ("dynamic roart.get_with", Around::Method, |world, nested| {
        dynamic(world, "roart")?.get_with(&NAME, |_| nested()).map(drop)
    }),
    ("dynamic nbtree.alter", Around::Method, |world, nested| {
        let change = |_: Option<&[u8]>| {
            nested();
            Some(vec![1; 8])
        };
        dynamic(world, "nbtree")?.alter(&NAME, change).map(drop)
    }),
    ("dynamic roart.update", Around::Method, |world, nested| {
        let make = |_: Option<&[u8]>| {
            nested();
            vec![1; 8]
        };
        dynamic(world, "roart")?.update(&NAME, make).map(drop)
    }),
    ("dynamic fast_fair.iter().visit", Around::Method, |world, nested| {
        let once = dynamic(world, "fast_fair")?.iter().visit(true, |_, _| {
            nested();
            ControlFlow::Break(())
        });
        once.map(drop)
    }),
    ("dynamic fast_fair.extend", Around::Method, |world, nested| {
        let keys: Vec<_> = (KEY..KEY + 3).map(u64::to_be_bytes).collect();
        let source = keys.iter().enumerate().inspect(|(i, _)| {
            if *i == 1 {
                nested();
            }
        });
        let entries = source.map(|(_, key)| (&key[..], &[1; 8][..]));
        dynamic(world, "fast_fair")?.extend(entries).map(drop)
    }),
    ("pool.transact", Around::Method, |world, nested| {
        world.pool.transact(|tx| {
            tx.get(&world.fast_fair, KEY)?;
            nested();
            tx.put(&world.roart, KEY, &[1; 8])
        })
    }),
    ("pool.read", Around::View, |world, nested| {
        let mut first = true;
        world.pool.read(|| {
            world.nbtree.get(KEY)?;
            if std::mem::take(&mut first) {
                nested();
            }
            Ok(())
        })
    }),
];

/// [`KEY`] as it is stored.
const NAME: [u8; 8] = KEY.to_be_bytes();

fn dynamic(world: &World, name: &str) -> Result<DynamicMap, Error> {
    DynamicMap::open(&world.pool, name)
}

/// Keys for a load, which calls the closure before the second one.
fn source(nested: &mut dyn FnMut()) -> impl Iterator<Item = u64> {
    (KEY..KEY + 3).inspect(move |&key| {
        if key == KEY + 1 {
            nested();
        }
    })
}

fn modify(index: &impl Index, nested: &mut dyn FnMut()) -> Outcome {
    let decide = |_| {
        nested();
        Change::Put(1)
    };
    index.modify(KEY, decide).map(drop)
}

fn alter(map: &Map<u64, u64>, nested: &mut dyn FnMut()) -> Outcome {
    let change = |_| {
        nested();
        Some(1)
    };
    map.alter(KEY, change).map(drop)
}

fn update(map: &Map<u64, u64>, nested: &mut dyn FnMut()) -> Outcome {
    let make = |_| {
        nested();
        1
    };
    map.update(KEY, make).map(drop)
}

fn range_with(map: &Map<u64, u64>, nested: &mut dyn FnMut()) -> Outcome {
    let once = map.range_with(.., |_, _| {
        nested();
        ControlFlow::Break(())
    });
    once.map(drop)
}

fn retain(map: &Map<u64, u64>, nested: &mut dyn FnMut()) -> Outcome {
    let mut first = true;
    let keep = |_, _| {
        if std::mem::take(&mut first) {
            nested();
        }
        true
    };
    map.retain(keep).map(drop)
}

/// In place of a map: those of several maps.
pub(crate) const ALL_MAPS: &str = "all";

/// An operation by its name, and the map that it is one of ("" = the pool).
pub(crate) type Operation =
    (&'static str, &'static str, Box<dyn Fn(&World) -> Outcome + Send + Sync>);

/// The same of one map, or of the pool.
type Named<M> = (&'static str, fn(&M) -> Outcome);

fn first_five<T>(entries: impl Iterator<Item = Result<T, Error>>) -> Outcome {
    entries.take(5).try_for_each(|entry| entry.map(drop))
}

fn words(name: &'static str, of: fn(&World) -> &Map<u64, u64>) -> Vec<Operation> {
    let all: [Named<Map<u64, u64>>; 20] = [
        ("get", |map| map.get(3).map(drop)),
        ("get_many", |map| map.get_many([1, 2, 3]).map(drop)),
        ("contains_key", |map| map.contains_key(4).map(drop)),
        ("insert", |map| map.insert(5, 5).map(drop)),
        ("insert_if_absent", |map| map.insert_if_absent(1_005, 5).map(drop)),
        ("replace", |map| map.replace(6, 6).map(drop)),
        ("update", |map| map.update(6, |old| old.unwrap_or(6)).map(drop)),
        ("remove", |map| map.remove(1_005).map(drop)),
        ("compare_exchange", |map| map.compare_exchange(8, Some(8), Some(9)).map(drop)),
        ("alter", |map| map.alter(9, |old| old.map(|old| old + 1)).map(drop)),
        ("range", |map| first_five(map.range(5..))),
        ("range().rev", |map| first_five(map.range(..).rev())),
        ("first_key_value", |map| map.first_key_value().map(drop)),
        ("last_key_value", |map| map.last_key_value().map(drop)),
        ("pop_first", |map| map.pop_first().map(drop)),
        ("pop_last", |map| map.pop_last().map(drop)),
        ("len", |map| map.len().map(drop)),
        ("is_empty", |map| map.is_empty().map(drop)),
        ("remove_range", |map| map.remove_range(20..25).map(drop)),
        ("retain", |map| map.retain(|key, _| key % 16 != 0).map(drop)),
    ];
    let box_one = |(what, run): Named<Map<u64, u64>>| -> Operation {
        (name, what, Box::new(move |world| run(of(world))))
    };
    all.into_iter().map(box_one).collect()
}

fn bytes() -> Vec<Operation> {
    let all: [Named<Map<u64, [u8]>>; 21] = [
        ("get", |map| map.get(3).map(drop)),
        ("get_with", |map| map.get_with(3, |value| value.len()).map(drop)),
        ("get_many", |map| map.get_many([1, 2, 3]).map(drop)),
        ("insert", |map| map.insert(5, b"5").map(drop)),
        ("insert_from", |map| map.insert_from(5, 8, |out| out.write_all(&[5; 8]))),
        ("insert_if_absent", |map| map.insert_if_absent(1_005, b"5").map(drop)),
        ("replace", |map| map.replace(6, b"6").map(drop)),
        ("update", |map| map.update(6, |_| vec![6]).map(drop)),
        ("remove", |map| map.remove(1_005).map(drop)),
        ("compare_exchange", |map| map.compare_exchange(1_005, None, None).map(drop)),
        ("alter", |map| map.alter(1_006, |_| Some(vec![1])).map(drop)),
        ("range", |map| first_five(map.range(5..))),
        ("range_with", |map| map.range_with(.., |_, _| ControlFlow::Break(())).map(drop)),
        ("iter().rev", |map| first_five(map.iter().rev())),
        ("first_key_value", |map| map.first_key_value().map(drop)),
        ("pop_first", |map| map.pop_first().map(drop)),
        ("pop_last", |map| map.pop_last().map(drop)),
        ("len", |map| map.len().map(drop)),
        ("is_empty", |map| map.is_empty().map(drop)),
        ("remove_range", |map| map.remove_range(0..5).map(drop)),
        ("retain", |map| map.retain(|key, _| key % 256 != 0).map(drop)),
    ];
    let box_one = |(what, run): Named<Map<u64, [u8]>>| -> Operation {
        ("roart", what, Box::new(move |world| run(&world.roart)))
    };
    all.into_iter().map(box_one).collect()
}

/// Commits of a map: on the key of the closure, and on its neighbour.
fn commits(name: &'static str, put: fn(&World, &mut Batch, u64) -> Outcome) -> Vec<Operation> {
    let commit = move |world: &World, key| {
        let mut batch = world.pool.batch();
        put(world, &mut batch, key)?;
        batch.commit()
    };
    vec![
        (name, "commit of its key", Box::new(move |world| commit(world, KEY))),
        (name, "commit of a neighbour", Box::new(move |world| commit(world, KEY + 1))),
    ]
}

fn of_several_maps() -> Vec<Operation> {
    let all: [Named<World>; 4] = [
        ("commit", |world| {
            let mut batch = world.pool.batch();
            batch.put(&world.fast_fair, KEY, 1)?.put(&world.nbtree, KEY, 1)?;
            batch.put(&world.roart, KEY, &[1; 8])?.delete(&world.roart, 1_005)?;
            batch.commit()
        }),
        ("commit of an expectation", |world| {
            let mut batch = world.pool.batch();
            batch.expect(&world.nbtree, 1_006, None)?.put(&world.fast_fair, KEY + 1, 1)?;
            batch.commit()
        }),
        ("transact", |world| {
            world.pool.transact(|tx| {
                let value = tx.get(&world.fast_fair, KEY + 2)?.unwrap_or(0);
                tx.put(&world.nbtree, KEY + 2, value)
            })
        }),
        ("read", |world| {
            world.pool.read(|| {
                world.fast_fair.get(KEY)?;
                world.roart.get(KEY).map(drop)
            })
        }),
    ];
    let box_one = |(what, run): Named<World>| -> Operation { (ALL_MAPS, what, Box::new(run)) };
    all.into_iter().map(box_one).collect()
}

fn of_pools() -> Vec<Operation> {
    let all: [Named<World>; 9] = [
        ("map", |world| world.pool.map::<u64, u64>("fast_fair").map(drop)),
        ("map_with", |world| {
            let options = MapOptions::new().kind(Kind::NbTree);
            world.pool.map_with::<u64, u64>("nbtree", options).map(drop)
        }),
        ("a new map", |world| world.pool.map::<u64, [u8]>("more").map(drop)),
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
        ("collect", |world| world.pool.recover_leaks().map(drop)),
    ];
    let box_one = |(what, run): Named<World>| -> Operation { ("", what, Box::new(run)) };
    all.into_iter().map(box_one).collect()
}

/// Every operation but `close`.
pub(crate) fn operations() -> Vec<Operation> {
    let mut all = words("fast_fair", |world| &world.fast_fair);
    all.extend(words("nbtree", |world| &world.nbtree));
    all.extend(bytes());
    all.extend(commits("fast_fair", |world, batch, key| {
        batch.put(&world.fast_fair, key, 1).map(drop)
    }));
    all.extend(commits("nbtree", |world, batch, key| batch.put(&world.nbtree, key, 1).map(drop)));
    all.extend(commits("roart", |world, batch, key| {
        batch.put(&world.roart, key, &[1; 8]).map(drop)
    }));
    all.extend(of_several_maps());
    all.extend(of_pools());
    all
}
