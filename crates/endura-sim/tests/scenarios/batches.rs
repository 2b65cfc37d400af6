//! Several changes at once, in maps of all kinds: a crash anywhere leaves all of them or none, also after a kill, and in
//! the open that completes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use endura_engine::index::commit::{Act, Operation, commit, same_bytes};
use endura_engine::index::replay::replay;
use endura_engine::index::{ByteTree, WordTree};
use endura_engine::space::{LeakRecoverer, LeakWalk, Space};
use endura_engine::tree::record_tree::RecordTree;
use endura_engine::tree::{
    ByteChange, ByteIndex, Bytes, Change, Index, fast_fair, fast_fair_bytes, nbtree, roart,
};
use endura_sim::choose::Random;
use endura_sim::explore::{Explorer, Next};
use endura_sim::model::Model;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::LIMIT;
use endura_sim::tally::{Effort, Tally};
use endura_variants::sessions;

/// Of which map, which key, to which value; `None`: the key is removed.
type Step = (usize, u64, Option<u64>);

#[derive(Debug, Clone)]
enum Op {
    One(Step),
    Batch(Vec<Step>),
}

enum Tree {
    Words(WordTree<Sim>),
    Bytes(ByteTree<Sim>),
}

macro_rules! on_tree {
    ($any:expr, $words:ident => $word:expr, $bytes:ident => $byte:expr) => {
        match $any {
            Tree::Words(WordTree::Wide($words)) => $word,
            Tree::Words(WordTree::NarrowLeaves($words)) => $word,
            Tree::Words(WordTree::NbTree($words)) => $word,
            Tree::Bytes(ByteTree::Roart($bytes)) => $byte,
            Tree::Bytes(ByteTree::FairBytes($bytes)) => $byte,
            Tree::Bytes(ByteTree::NbBytes($bytes)) => $byte,
            Tree::Bytes(ByteTree::Wide($bytes)) => $byte,
            Tree::Bytes(ByteTree::NarrowLeaves($bytes)) => $byte,
            Tree::Bytes(ByteTree::NbTree($bytes)) => $byte,
        }
    };
}

fn told<T>(result: endura_engine::Result<T>) -> Result<T, Finding> {
    result.map_err(|error| format!("{error:?}"))
}

fn word(value: Bytes<'_>) -> u64 {
    value.first_chunk().map_or(u64::MAX, u64::from_le_bytes)
}

fn act<V>(value: Option<V>) -> Act<V> {
    value.map_or(Act::Delete, Act::Put)
}

/// The kinds of maps, by number.
const KINDS: usize = 7;

fn open_tree(space: &Arc<Space<Sim>>, kind: usize) -> endura_engine::Result<Tree> {
    Ok(match kind {
        0 => Tree::Words(WordTree::NarrowLeaves(fast_fair::Tree::open(space, "0")?)),
        1 => Tree::Words(WordTree::NbTree(nbtree::Tree::open(space, "1")?)),
        2 => Tree::Bytes(ByteTree::NarrowLeaves(RecordTree::open(space, "2")?)),
        3 => Tree::Bytes(ByteTree::NbTree(RecordTree::open(space, "3")?)),
        4 => Tree::Bytes(ByteTree::FairBytes(fast_fair_bytes::Tree::open(space, "4")?)),
        5 => Tree::Bytes(ByteTree::NbBytes(nbtree::ByteTree::open_strings(space, "5")?)),
        _ => Tree::Bytes(ByteTree::Roart(roart::Tree::open(space, "6")?)),
    })
}

/// A pool with maps of these kinds.
struct Batches {
    kinds: Vec<usize>,
    keys: Vec<u64>,
}

struct Open {
    space: Arc<Space<Sim>>,
    trees: Vec<Tree>,
}

impl Batches {
    fn over(&self, medium: Sim, session: u64) -> Result<Open, Finding> {
        let space = told(sessions::begin(medium, session, false))?;
        told(replay(&space, false))?;
        let trees = self.kinds.iter().map(|&kind| told(open_tree(&space, kind)));
        let trees = trees.collect::<Result<_, _>>()?;
        Ok(Open { space, trees })
    }
}

impl Open {
    fn batch(&self, steps: &[Step]) -> Result<(), Finding> {
        let bytes: Vec<_> = steps
            .iter()
            .map(|&(_, key, value)| (key.to_be_bytes(), value.map(u64::to_le_bytes)))
            .collect();
        let operations: Vec<_> = steps
            .iter()
            .zip(&bytes)
            .map(|(&(map, key, value), bytes)| match &self.trees[map] {
                Tree::Words(tree) => Operation::Word { tree, key, act: act(value) },
                Tree::Bytes(tree) => Operation::Bytes {
                    tree,
                    key: &bytes.0,
                    act: act(bytes.1.as_ref().map(|value| &value[..])),
                    is_same: same_bytes,
                },
            })
            .collect();
        told(commit(&self.space, &operations))
    }

    fn one(&self, (map, key, value): Step) -> Result<(), Finding> {
        let change = |_: Option<u64>| value.map_or(Change::Remove, Change::Put);
        let new = value.map(u64::to_le_bytes);
        let byte_change = |_: Option<Bytes<'_>>| match &new {
            Some(value) => ByteChange::Put(value[..].into()),
            None => ByteChange::Remove,
        };
        on_tree!(&self.trees[map],
            tree => told(tree.modify(key, change).map(drop)),
            tree => told(tree.apply(&key.to_be_bytes(), byte_change)))
    }

    fn get(&self, map: usize, key: u64) -> Result<Option<u64>, Finding> {
        on_tree!(&self.trees[map],
            tree => told(tree.get(key)),
            tree => told(tree.get_with(&key.to_be_bytes(), word)))
    }
}

impl Subject for Batches {
    type Open = Open;
    type Op = Op;
    type Answer = ();
    type Model = BTreeMap<(usize, u64), u64>;

    fn create(&self, medium: Sim) -> Result<Open, Finding> {
        told(Space::format(&medium))?;
        self.over(medium, 1)
    }

    fn open(&self, medium: Sim, session: u64) -> Result<Open, Finding> {
        self.over(medium, session)
    }

    fn empty(&self) -> Self::Model {
        BTreeMap::new()
    }

    fn apply(&self, open: &Open, op: &Op) -> Result<(), Finding> {
        match op {
            Op::One(step) => open.one(*step),
            Op::Batch(steps) => open.batch(steps),
        }
    }

    fn specify(&self, model: &mut Self::Model, op: &Op) {
        let steps = match op {
            Op::One(step) => std::slice::from_ref(step),
            Op::Batch(steps) => steps,
        };
        for &(map, key, value) in steps {
            match value {
                Some(value) => _ = model.insert((map, key), value),
                None => _ = model.remove(&(map, key)),
            }
        }
    }

    fn observe(&self, open: &Open) -> Result<Self::Model, Finding> {
        let mut found = BTreeMap::new();
        for map in 0..self.kinds.len() {
            for &key in &self.keys {
                if let Some(value) = open.get(map, key)? {
                    found.insert((map, key), value);
                }
            }
        }
        Ok(found)
    }

    /// A leak recovery leaves each chunk to one owner.
    fn verify(&self, open: &Open, _: &Self::Model) -> Result<(), Finding> {
        let mut walks: Vec<Box<dyn LeakWalk<Sim>>> = Vec::new();
        let mut chunks = Vec::new();
        for tree in &open.trees {
            let mut visit = |at, bytes| chunks.push((at, bytes));
            match tree {
                Tree::Words(WordTree::NarrowLeaves(tree)) => {
                    walks.push(tree.marking());
                    told(tree.check(&mut visit).map(drop))?;
                }
                Tree::Words(WordTree::NbTree(tree)) => {
                    walks.extend(tree.marking());
                    told(tree.check(&mut visit).map(drop))?;
                }
                Tree::Bytes(ByteTree::Roart(tree)) => {
                    walks.push(tree.marking());
                    told(tree.check(&mut visit).map(drop))?;
                }
                _ => return Ok(()),
            }
        }
        let recoverer = LeakRecoverer::new(&open.space, walks, 64);
        told(recoverer.finish().map(drop))?;
        let quiesced = told(open.space.quiesce())?;
        let mut check = told(quiesced.check())?;
        chunks.iter().try_for_each(|&(at, bytes)| told(check.reach(at, bytes)))?;
        let shares = told(check.finish())?;
        match open.space.leak_recovery().is_done() && shares.leaked > 0 {
            true => Err(format!("chunks without an owner: {shares:?}")),
            false => Ok(()),
        }
    }

    fn continuation(&self, model: &Self::Model, random: &mut Random) -> Vec<Op> {
        let fresh = 1_000 + random.below(1_000);
        let all = |value: Option<u64>| {
            let of = move |map: usize| self.keys.iter().map(move |&key| (map, key, value));
            (0..self.kinds.len()).flat_map(of)
        };
        match random.below(4) {
            0 => all(Some(fresh)).map(Op::One).collect(),
            1 => model.keys().map(|&(map, key)| Op::One((map, key, None))).collect(),
            2 => vec![Op::Batch(all(Some(fresh)).collect())],
            _ => vec![Op::Batch(all(None).collect()), Op::Batch(all(Some(fresh)).collect())],
        }
    }
}

const MODELS: [Model; 3] = [Model::WEAKEST_ADR, Model::EADR, Model::PAGE_CACHE];

const EFFORT: Effort = Effort {
    depth: 2,
    exhaustive: 64,
    samples: 8,
    continue_one_in: 4,
    deepen_one_in: 32,
    deep_points: 12,
    deep_ops: 1,
    ..Effort::EXHAUSTIVE
};

/// What is there before: keys 10 to 80 of each map.
fn before(maps: usize) -> Vec<Op> {
    (0..maps).flat_map(|map| (1..=8).map(move |i| Op::One((map, 10 * i, Some(i))))).collect()
}

/// Replaces a key, adds one, removes one, and removes one that is not there, in each map.
fn changes(maps: usize) -> Vec<Step> {
    let of = |map| [(map, 20, Some(92)), (map, 25, Some(93)), (map, 30, None), (map, 35, None)];
    (0..maps).flat_map(of).collect()
}

fn subject(kinds: [usize; 2]) -> Batches {
    Batches { kinds: kinds.to_vec(), keys: (1..=9).flat_map(|i| [10 * i, 10 * i + 5]).collect() }
}

fn pairs() -> impl Iterator<Item = [usize; 2]> {
    (0..KINDS).map(|kind| [kind, (kind + 1) % KINDS])
}

#[test]
fn a_crash_leaves_all_changes_or_none() {
    let mut all = Tally::default();
    for kinds in pairs() {
        for model in MODELS {
            let subject = subject(kinds);
            let mut explorer = Explorer::new(&subject, model, LIMIT, EFFORT, 1);
            let start = explorer.start(&before(2)).unwrap_or_else(|failure| panic!("{failure}"));
            let ops = [
                Op::Batch(changes(2)),
                Op::One((0, 20, Some(70))),
                Op::One((1, 25, None)),
                Op::Batch(vec![(1, 30, Some(71)), (0, 20, None)]),
            ];
            explorer
                .explore(&start, &ops, 0)
                .unwrap_or_else(|failure| panic!("{kinds:?} {model:?}: {failure}"));
            println!("{kinds:?} {model:?}: {} images", explorer.tally.images);
            all.add(&explorer.tally);
        }
    }
    println!("{} images, {} deep, {} points", all.images, all.deep_images, all.points);
}

/// A process is killed; the next one reads, or writes a key of the changes, and then the power fails.
#[test]
fn what_comes_after_a_kill_outlives_a_power_loss() {
    let mut images = 0;
    for kinds in pairs() {
        let subject = subject(kinds);
        let effort = Effort { depth: 1, ..EFFORT };
        let mut explorer = Explorer::new(&subject, Model::WEAKEST_ADR, LIMIT, effort, 1);
        let start = explorer.start(&before(2)).unwrap_or_else(|failure| panic!("{failure}"));
        let read = || Next { looks: true, ops: Vec::new() };
        let write = |steps: &[Step]| Next {
            looks: false,
            ops: steps.iter().copied().map(Op::One).collect(),
        };
        for next in [
            vec![read()],
            vec![write(&[(0, 20, Some(70))])],
            vec![write(&[(1, 25, None), (1, 30, Some(71))])],
        ] {
            explorer
                .kill(&start, &Op::Batch(changes(2)), &next)
                .unwrap_or_else(|failure| panic!("{kinds:?}: {failure}"));
        }
        println!("{kinds:?}: {} images", explorer.tally.images);
        images += explorer.tally.images;
    }
    println!("{images} images");
}
