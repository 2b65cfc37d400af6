//! Maps whose histories are gone through: of numbers, and of byte strings.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use endura_engine::space::PAGE;
use endura_engine::tree::roart::Techniques;
use endura_sim::choose::Chooser;
use endura_sim::event::Trace;
use endura_sim::explore::visible;
use endura_sim::image::Image;
use endura_sim::model::Model;
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::{self, LIMIT, MapOp, NumberTree, Numbers, Roart};
use endura_sim::workload::NUMBER_KEY;

/// An operation of a map.
pub(crate) type Op<S> = <S as Subject>::Op;

/// How a tree came to hold its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    /// There were more of them.
    Worn,
}

/// A map whose histories are gone through.
pub(crate) trait Tried: Subject<Op = MapOp<Self::Key>> + Send + 'static {
    type Key: subjects::Key;
    /// Where the keys of a tree lie, or how they look.
    type Shape: Copy + Send + 'static;

    /// Bytes of a medium.
    const LIMIT: u64;
    /// Operations of a random history.
    const OPS: usize;

    /// Of operations about these keys.
    fn of(keys: Vec<Self::Key>) -> Self;

    /// Places for `n` keys with a gap before, between and behind them: `2 n + 1` keys, ascending.
    fn places(shape: Self::Shape, n: usize) -> Vec<Self::Key>;

    /// A place, and two keys that are no places.
    fn strangers(place: &Self::Key) -> [Self::Key; 3];

    /// Whether a key has the value of this number.
    fn holds(model: &Self::Model, key: &Self::Key, number: u64) -> bool;

    /// A hash of what a run has made, words that mean nothing after a crash aside.
    fn state_of(&self, trace: &Trace) -> Result<u64, String>;

    /// What one of the ascending keys of a random history stands for.
    fn spell(keys: &[u64], key: u64) -> Self::Key;
}

/// Where the keys of a tree lie.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Region {
    /// All in the left one of the two leaves that a new tree has.
    Low,
    /// On both sides of the middle, where those two meet.
    Middle,
    /// From 0 to MAX.
    Ends,
}

impl<T: NumberTree + 'static> Tried for Numbers<T> {
    type Key = u64;
    type Shape = Region;

    const LIMIT: u64 = LIMIT;
    const OPS: usize = 48;

    fn of(keys: Vec<u64>) -> Self {
        Self::about(keys)
    }

    fn places(region: Region, n: usize) -> Vec<u64> {
        let last = 2 * n as u64;
        let middle = (1 << 63) - 10 * (last / 2);
        match region {
            Region::Low => (0..=last).map(|i| 10 * (i + 1)).collect(),
            Region::Middle => (0..=last).map(|i| middle + 10 * i).collect(),
            Region::Ends => {
                (0..=last)
                    .map(|i| {
                        if 2 * i <= last && i < last { 10 * i } else { u64::MAX - 10 * (last - i) }
                    })
                    .collect()
            }
        }
    }

    fn strangers(place: &u64) -> [u64; 3] {
        [*place, place ^ 5, place ^ 6]
    }

    fn holds(model: &Self::Model, key: &u64, number: u64) -> bool {
        model.get(key) == Some(&number)
    }

    fn state_of(&self, trace: &Trace) -> Result<u64, String> {
        let mut image = visible(trace, trace.events.len()).image;
        for line in trace.events.iter().filter_map(|event| event.action.line()) {
            let words = image.line(line);
            let words_at = (0..8).map(|i| line * 64 + 8 * i);
            let volatile = words_at.filter(|&at| self.is_volatile(at, &words));
            volatile.for_each(|at| image.set(at, 0));
        }
        Ok(image.hash())
    }

    fn spell(_: &[u64], key: u64) -> u64 {
        key
    }
}

/// How the keys of a tree of byte strings look.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// In one array, or one node.
    Flat,
    /// Each a prefix of the next.
    Nested,
    /// With fourteen bytes in common, or a part of them: they part before, in and behind the eight bytes of a prefix
    /// that a node remembers.
    Deep,
}

const DEEP: &[u8] = b"0123456789abcd";

impl<T: Techniques> Tried for Roart<T> {
    type Key = Vec<u8>;
    type Shape = Shape;

    /// Every session after a crash takes new spans, one for each size of chunk.
    const LIMIT: u64 = 96 * PAGE;
    const OPS: usize = 12;

    fn of(keys: Vec<Vec<u8>>) -> Self {
        Self::about(keys)
    }

    fn places(shape: Shape, n: usize) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> = (0..=2 * n)
            .map(|i| match shape {
                Shape::Flat => vec![b'k', b'0' + i as u8],
                Shape::Nested => vec![b'n'; i],
                Shape::Deep => match i % 4 {
                    0 => [&DEEP[..1 + i], b"!"].concat(),
                    _ => [DEEP, &[b'a' + i as u8]].concat(),
                },
            })
            .collect();
        keys.sort();
        keys
    }

    fn strangers(place: &Vec<u8>) -> [Vec<u8>; 3] {
        [place.clone(), b"k".to_vec(), b"k1".to_vec()]
    }

    fn holds(model: &Self::Model, key: &Vec<u8>, number: u64) -> bool {
        model.get(key).is_some_and(|value| *value == number.to_string().into_bytes())
    }

    /// Equal for trees of one shape whose chunks lie alike in their lines: where those lines are means nothing, nor
    /// do free chunks.
    fn state_of(&self, trace: &Trace) -> Result<u64, String> {
        let left = visible(trace, trace.events.len());
        let sim = Sim::after(Model::PAGE_CACHE, Self::LIMIT, &left, Chooser::first());
        let (open, mut chunks) = (self.open(sim, 9)?, Vec::new());
        let check = open.map.index().check(&mut |at, bytes| chunks.push((at, bytes)));
        check.map_err(|error| format!("{error:?}"))?;
        Ok(shape_of(self, &left.image, &chunks))
    }

    /// Keys in one array or node, each a prefix of the next, with fourteen bytes in common, with a part of them, with
    /// none.
    fn spell(keys: &[u64], key: u64) -> Vec<u8> {
        let i = match keys.binary_search(&key) {
            Ok(i) if key != NUMBER_KEY => i,
            _ => return b"number".to_vec(),
        };
        let n = i / 5;
        match i % 5 {
            0 => vec![b'k', b'0' + n as u8],
            1 => vec![b'n'; 1 + n],
            2 => [DEEP, &[b'a' + n as u8]].concat(),
            3 => [&DEEP[..1 + n], b"!"].concat(),
            _ => vec![b'A' + n as u8],
        }
    }
}

/// A hash of chunks, those that lead to others before these, in which offsets are numbers of chunks.
fn shape_of<T: Techniques>(subject: &Roart<T>, image: &Image, chunks: &[(u64, u64)]) -> u64 {
    const OFFSET: u64 = (1 << 48) - 2;
    let numbers: HashMap<u64, u64> =
        chunks.iter().zip(0..).map(|(&(at, _), number)| (at, number)).collect();
    let (mut lines, mut hasher) = (HashMap::new(), DefaultHasher::new());
    for &(at, bytes) in chunks {
        let next = lines.len();
        (lines.entry(at / 64).or_insert(next), at % 64, bytes).hash(&mut hasher);
        let leads_on = image.word(at + 8) >> 48 != 0;
        for at in (at..at + bytes).step_by(8) {
            let word = image.word(at);
            match numbers.get(&(word & OFFSET)) {
                _ if subject.is_volatile(at, &image.line(at / 64)) => {}
                Some(number) if leads_on => (word & !OFFSET, number).hash(&mut hasher),
                _ => word.hash(&mut hasher),
            }
        }
    }
    hasher.finish()
}
