//! Pools with maps of all kinds, in which several changes are made at once.
//!
//! Keys and values are numbers. A map of byte strings has them as eight bytes. What is asked is a [`PoolOp`], also by one
//! thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use endura_engine::Error;
use endura_engine::index::commit::{Act, Operation, commit, same_bytes};
use endura_engine::index::replay::replay;
use endura_engine::index::{ByteTree, WordTree};
use endura_engine::media::{Mark, Media};
use endura_engine::space::{LeakRecoverer, LeakWalk, Space};
use endura_engine::tree::record_tree::RecordTree;
use endura_engine::tree::{
    ByteChange, ByteIndex, Bytes, Change, Index, Popped, fast_fair, fast_fair_bytes, nbtree, roart,
};
use endura_linear::{Asked, Deal, Few, Part, Place, PoolAnswer, PoolOp};

use super::maps::{mounted, told};
use crate::choose::Random;
use crate::sim::Sim;
use crate::subject::{Finding, Subject, first_wrong_key};

/// How many kinds of maps there are.
pub const KINDS: usize = 7;

/// The step at which a closure of a writer is: another thread may go on there.
pub const CLOSURE: &str = "closure";

enum Tree {
    Words(WordTree<Sim>),
    Bytes(ByteTree<Sim>),
}

/// Runs one of the two expressions on the tree, whichever it is.
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

fn open_tree(space: &Arc<Space<Sim>>, name: &str, kind: usize) -> endura_engine::Result<Tree> {
    Ok(match kind {
        0 => Tree::Words(WordTree::NarrowLeaves(fast_fair::Tree::open(space, name)?)),
        1 => Tree::Words(WordTree::NbTree(nbtree::Tree::open(space, name)?)),
        2 => Tree::Bytes(ByteTree::NarrowLeaves(RecordTree::open(space, name)?)),
        3 => Tree::Bytes(ByteTree::NbTree(RecordTree::open(space, name)?)),
        4 => Tree::Bytes(ByteTree::FairBytes(fast_fair_bytes::Tree::open(space, name)?)),
        5 => Tree::Bytes(ByteTree::NbBytes(nbtree::ByteTree::open_strings(space, name)?)),
        _ => Tree::Bytes(ByteTree::Roart(roart::Tree::open(space, name)?)),
    })
}

fn word(value: Bytes<'_>) -> u64 {
    value.first_chunk().map_or(u64::MAX, u64::from_le_bytes)
}

fn key_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(u64::MAX, |key| u64::from_be_bytes(*key))
}

/// A pool with maps of these kinds.
#[derive(Debug, Clone)]
pub struct Batches {
    /// The kind of each map, below [`KINDS`].
    pub kinds: Vec<usize>,
    /// The keys that operations are about, ascending; all are looked up after a crash.
    pub keys: Vec<u64>,
}

/// An open pool with its maps.
pub struct OpenBatches {
    space: Arc<Space<Sim>>,
    trees: Vec<Tree>,
}

impl Batches {
    fn over(&self, medium: Sim, session: u64) -> Result<OpenBatches, Finding> {
        let space = mounted(medium, session)?;
        told(replay(&space, false))?;
        let trees = self.kinds.iter().enumerate();
        let trees = trees.map(|(i, &kind)| told(open_tree(&space, &i.to_string(), kind)));
        let trees = trees.collect::<Result<_, _>>()?;
        Ok(OpenBatches { space, trees })
    }
}

impl OpenBatches {
    /// Does what is asked.
    ///
    /// # Errors
    ///
    /// Whatever the pool says, but that something was not as expected.
    pub fn perform(&self, op: PoolOp) -> Result<PoolAnswer, Finding> {
        Ok(match op {
            PoolOp::Get(place) => PoolAnswer::Value(self.get(place)?),
            PoolOp::Put(place, value) => {
                PoolAnswer::Value(self.modify(place, |_| Some(Some(value)))?)
            }
            PoolOp::PutNew(place, value) => {
                let put_new = |old: Option<u64>| old.is_none().then_some(Some(value));
                PoolAnswer::Value(self.modify(place, put_new)?)
            }
            PoolOp::Delete(place) => PoolAnswer::Value(self.modify(place, |_| Some(None))?),
            PoolOp::Fill(place, value) => {
                self.fill(place, value)?;
                PoolAnswer::Done
            }
            PoolOp::First(map) => PoolAnswer::Entry(self.end(map, true)?),
            PoolOp::Last(map) => PoolAnswer::Entry(self.end(map, false)?),
            PoolOp::PopFirst(map) => PoolAnswer::Entry(self.pop(map, true)?),
            PoolOp::PopLast(map) => PoolAnswer::Entry(self.pop(map, false)?),
            PoolOp::Read(places) => PoolAnswer::Values(self.read(places)?),
            PoolOp::Batch(parts) => PoolAnswer::Committed(self.commit(parts)?),
            PoolOp::Transact(deal, places) => {
                PoolAnswer::Values(self.transact(deal, places)?.into_iter().collect())
            }
        })
    }

    fn get(&self, (map, key): Place) -> Result<Option<u64>, Finding> {
        match &self.trees[map] {
            Tree::Words(tree) => told(tree.look_up(key)),
            Tree::Bytes(tree) => {
                let mut found = None;
                let read = &mut |value: Bytes<'_>| found = Some(word(value));
                told(tree.look_up(&key.to_be_bytes(), read))?;
                Ok(found)
            }
        }
    }

    /// Applies what `decide` says of the value: `None` keeps it. Gives the value before.
    fn modify(
        &self,
        (map, key): Place,
        decide: impl Fn(Option<u64>) -> Option<Option<u64>>,
    ) -> Result<Option<u64>, Finding> {
        let step = || self.space.media().mark(Mark::Step(CLOSURE));
        let change = |old: Option<u64>| {
            step();
            decide(old).map_or(Change::Keep, |new| new.map_or(Change::Remove, Change::Put))
        };
        let mut found = None;
        let byte_change = |old: Option<Bytes<'_>>| {
            step();
            found = old.map(word);
            match decide(found) {
                None => ByteChange::Keep,
                Some(Some(value)) => ByteChange::Put(value.to_le_bytes().to_vec().into()),
                Some(None) => ByteChange::Remove,
            }
        };
        on_tree!(&self.trees[map],
        tree => told(tree.modify(key, change)),
        tree => {
            told(tree.modify(&key.to_be_bytes(), byte_change))?;
            Ok(found)
        })
    }

    /// Gives the key a value that a closure writes, or by an operation without a closure.
    fn fill(&self, (map, key): Place, value: u64) -> Result<(), Finding> {
        let step = || self.space.media().mark(Mark::Step(CLOSURE));
        let fill = |out: &mut dyn std::io::Write| {
            step();
            let written = out.write_all(&value.to_le_bytes());
            written.map_err(|_| Error::Unsupported { what: "a short value" })
        };
        on_tree!(&self.trees[map],
            tree => told(tree.apply(key, |_| Change::Put(value))).map(drop),
            tree => told(tree.insert_from(&key.to_be_bytes(), 8, fill)))
    }

    fn end(&self, map: usize, smallest: bool) -> Result<Option<(u64, u64)>, Finding> {
        match &self.trees[map] {
            Tree::Words(tree) => told(tree.look_at_end(smallest)),
            Tree::Bytes(tree) => {
                let mut found = None;
                let read = &mut |key: Bytes<'_>, value: Bytes<'_>| {
                    found = Some((key_of(&key.to_vec()), word(value)));
                };
                told(tree.look_at_end(smallest, read))?;
                Ok(found)
            }
        }
    }

    fn pop(&self, map: usize, smallest: bool) -> Result<Option<(u64, u64)>, Finding> {
        loop {
            let Some(entry @ (key, value)) = self.end(map, smallest)? else { return Ok(None) };
            let popped = on_tree!(&self.trees[map],
                tree => told(tree.pop(smallest, entry)),
                tree => told(tree.pop(smallest, &key.to_be_bytes(), &value.to_le_bytes())));
            if popped? == Popped::Taken {
                return Ok(Some(entry));
            }
        }
    }

    fn read(&self, places: Few<Place>) -> Result<Few<Option<u64>>, Finding> {
        let (mut seen, mut failure) = (Vec::new(), None);
        told(self.space.view(&mut || {
            seen.clear();
            for place in places.iter() {
                self.space.media().mark(Mark::Step("view"));
                match self.get(place) {
                    Ok(value) => seen.push(value),
                    Err(finding) => failure = Some(finding),
                }
            }
            Ok(())
        }))?;
        failure.map_or(Ok(seen.into_iter().collect()), Err)
    }

    fn commit(&self, parts: Few<(Place, Part)>) -> Result<Result<(), usize>, Finding> {
        let parts: Vec<_> = parts.iter().collect();
        let value_of = |part: Part| match part {
            Part::Put(value) | Part::Expect(Some(value)) => value.to_le_bytes(),
            Part::Delete | Part::Expect(None) => [0; 8],
        };
        let bytes: Vec<_> =
            parts.iter().map(|&((_, key), part)| (key.to_be_bytes(), value_of(part))).collect();
        let operations: Vec<_> = parts
            .iter()
            .zip(&bytes)
            .map(|(&((map, key), part), (bytes, value))| match &self.trees[map] {
                Tree::Words(tree) => Operation::Word {
                    tree,
                    key,
                    act: match part {
                        Part::Put(value) => Act::Put(value),
                        Part::Delete => Act::Delete,
                        Part::Expect(value) => Act::Expect(value),
                    },
                },
                Tree::Bytes(tree) => Operation::Bytes {
                    tree,
                    key: bytes,
                    act: match part {
                        Part::Put(_) => Act::Put(value),
                        Part::Delete => Act::Delete,
                        Part::Expect(expected) => Act::Expect(expected.map(|_| &value[..])),
                    },
                    is_same: same_bytes,
                },
            })
            .collect();
        match commit(&self.space, &operations) {
            Ok(()) => Ok(Ok(())),
            Err(Error::Unmet { index }) => Ok(Err(index)),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    /// As the library's transactions do: reads, and commits if what was read is still there.
    fn transact(&self, deal: Deal, places: [Place; 2]) -> Result<[Option<u64>; 2], Finding> {
        loop {
            let seen = [self.get(places[0])?, self.get(places[1])?];
            let expected = (0..2).map(|i| (places[i], Part::Expect(seen[i])));
            let outcome = places.into_iter().zip(deal.outcome(seen));
            let changes = outcome
                .filter_map(|(place, new)| Some((place, new?.map_or(Part::Delete, Part::Put))));
            if self.commit(expected.chain(changes).collect())?.is_ok() {
                return Ok(seen);
            }
        }
    }
}

impl Subject for Batches {
    type Open = OpenBatches;
    type Op = PoolOp;
    type Answer = PoolAnswer;
    type Model = BTreeMap<Place, u64>;

    fn create(&self, medium: Sim) -> Result<OpenBatches, Finding> {
        told(Space::format(&medium))?;
        self.over(medium, 1)
    }

    fn open(&self, medium: Sim, session: u64) -> Result<OpenBatches, Finding> {
        self.over(medium, session)
    }

    fn empty(&self) -> Self::Model {
        BTreeMap::new()
    }

    fn apply(&self, open: &OpenBatches, op: &PoolOp) -> Result<PoolAnswer, Finding> {
        open.perform(*op)
    }

    fn specify(&self, model: &mut Self::Model, op: &PoolOp) -> PoolAnswer {
        let (after, answer) = Asked::apply(*op, model);
        *model = after;
        answer
    }

    fn observe(&self, open: &OpenBatches) -> Result<Self::Model, Finding> {
        let mut found = BTreeMap::new();
        for map in 0..self.kinds.len() {
            for &key in &self.keys {
                if let Some(value) = open.get((map, key))? {
                    found.insert((map, key), value);
                }
            }
        }
        Ok(found)
    }

    /// The ends are those of what was found, and a leak recovery leaves each chunk to one owner.
    fn verify(&self, open: &OpenBatches, model: &Self::Model) -> Result<(), Finding> {
        for map in 0..self.kinds.len() {
            for (smallest, op) in [(true, PoolOp::First(map)), (false, PoolOp::Last(map))] {
                let (found, expected) = (open.end(map, smallest)?, Asked::apply(op, model).1);
                if PoolAnswer::Entry(found) != expected {
                    return Err(format!("{op:?} is {found:?}, not {expected:?}"));
                }
            }
        }
        check_chunks(open)
    }

    fn continuation(&self, model: &Self::Model, random: &mut Random) -> Vec<PoolOp> {
        let fresh = 1_000 + random.below(1_000);
        let maps = 0..self.kinds.len();
        let all = || maps.clone().flat_map(|map| self.keys.iter().map(move |&key| (map, key)));
        let batches = |part: Part| -> Vec<PoolOp> {
            let all: Vec<_> = all().map(|place| (place, part)).collect();
            let few = all.chunks(endura_linear::MOST);
            few.map(|few| PoolOp::Batch(few.iter().copied().collect())).collect()
        };
        match random.below(4) {
            0 => all().map(|place| PoolOp::Put(place, fresh)).collect(),
            1 => model.keys().map(|&place| PoolOp::Delete(place)).collect(),
            2 => batches(Part::Put(fresh)),
            _ => [batches(Part::Delete), batches(Part::Put(fresh))].concat(),
        }
    }

    fn difference(&self, found: &Self::Model, expected: &[Self::Model]) -> String {
        first_wrong_key(found, expected)
    }
}

fn check_chunks(open: &OpenBatches) -> Result<(), Finding> {
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
