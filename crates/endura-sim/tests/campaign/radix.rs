//! ROART trees with arrays of four, and with none: every sequence of up to three operations over three
//! keys, from every small tree, crashed everywhere in its last operation, in the manner of `exhaustive`.
//!
//! The trees have 0 to 6 keys of one shape, so that an array comes, fills, splits into a node, and that
//! grows: keys in one array, keys each a prefix of the next, keys that part before, in and behind the
//! eight bytes of a prefix that a node remembers. The three keys lie left of those, between them, right
//! of them, or are some of them. After two crashes the first writer that comes by is each operation on
//! each of the three keys.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use endura::lab::pool::PAGE;
use endura::lab::tree::roart::Techniques;
use endura_sim::choose::Chooser;
use endura_sim::explore::{Explorer, Next, Start, visible};
use endura_sim::image::Image;
use endura_sim::model::Model;
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::{ByteModel, ByteOp, Roart};
use endura_sim::tally::Effort;
use endura_variants::roart::{Tiny, WithoutArrays};

use crate::jobs::{self, Job, MODELS, Outcome};

/// Every session after a crash takes new pages, one for each size of chunk.
const LIMIT: u64 = 64 * PAGE;

const ONE_CRASH: Effort = Effort { depth: 1, exhaustive: usize::MAX, ..Effort::EXHAUSTIVE };
const TWO_CRASHES: Effort = Effort { depth: 2, deep_ops: 1, ties_volatile: true, ..ONE_CRASH };
const THREE_CRASHES: Effort = Effort { depth: 3, ..TWO_CRASHES };
const KILLS: Effort = Effort { depth: 1, exhaustive: 64, samples: 8, ..Effort::EXHAUSTIVE };

/// The models that promise least.
const WEAKEST: [Model; 2] = [Model::WEAKEST_ADR, Model::EADR];

/// The steps that a crash can cut through under every model; those of words that are flushed come
/// besides, under ADR.
pub(crate) const STEPS: [&str; 17] = [
    "array.replaced",
    "array.shrunk",
    "find.step",
    "lock.array",
    "lock.node",
    "node.grown",
    "node.shrunk",
    "prefix.split",
    "prune",
    "publish.durable",
    "publish.word",
    "put.exact",
    "ready.array",
    "ready.node",
    "split",
    "unlink.word",
    "write.found",
];
const STEPS_OF_ADR: [&str; 2] = ["publish.dirty", "settle"];

/// How the keys of a tree look.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// In one array, or one node.
    Flat,
    /// Each a prefix of the next.
    Nested,
    /// With fourteen bytes in common, or a part of them.
    Deep,
}

impl Shape {
    /// Places for `n` keys with a gap before, between and behind them: `2 n + 1` keys, ascending.
    fn places(self, n: usize) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> = (0..=2 * n)
            .map(|i| match self {
                Self::Flat => vec![b'k', b'0' + i as u8],
                Self::Nested => vec![b'n'; i],
                Self::Deep => match i % 4 {
                    0 => [&b"0123456789abcd"[..1 + i], b"!"].concat(),
                    _ => [b"0123456789abcd".as_slice(), &[b'a' + i as u8]].concat(),
                },
            })
            .collect();
        keys.sort();
        keys
    }
}

/// Choices of three keys: gaps left, between and right; present keys; neighbours in the middle.
fn triples(places: &[Vec<u8>]) -> Vec<[Vec<u8>; 3]> {
    let last = places.len() - 1;
    if last == 0 {
        return vec![[places[0].clone(), b"k".to_vec(), b"k1".to_vec()]];
    }
    let (at, middle) = (|i: usize| places[i.min(last)].clone(), last / 2);
    let mut triples = vec![
        [at(0), at(middle), at(last)],
        [at(1), at(middle | 1), at(last.saturating_sub(1))],
        [at(middle.saturating_sub(1)), at(middle), at(middle + 1)],
    ];
    triples.sort_unstable();
    triples.dedup();
    triples
}

fn put(key: &[u8], value: u64) -> ByteOp {
    ByteOp::Put(key.to_vec(), value)
}

/// What a sequence may go on with: two values of different lengths in turn, so that histories meet.
fn choices(keys: &[Vec<u8>; 3], model: &ByteModel) -> Vec<ByteOp> {
    let next = |key: &Vec<u8>| if model.get(key).is_some_and(|v| v == b"100") { 101 } else { 100 };
    keys.iter().flat_map(|key| [put(key, next(key)), ByteOp::Remove(key.clone())]).collect()
}

/// Most operations of a sequence: crashed once, and crashed twice.
#[derive(Clone, Copy)]
struct Plan {
    longest: usize,
    twice: usize,
}

struct Stem<T> {
    subject: Roart<T>,
    before: Vec<ByteOp>,
    triples: Vec<[Vec<u8>; 3]>,
    plan: Plan,
}

impl<T: Techniques> Stem<T> {
    fn new(shape: Shape, n: usize, plan: Plan) -> Self {
        let places = shape.places(n);
        let present = places.iter().enumerate().skip(1).step_by(2);
        let before: Vec<ByteOp> = present.map(|(i, key)| put(key, i as u64 % 3)).collect();
        let triples = triples(&places);
        let mut keys: Vec<Vec<u8>> = places.into_iter().skip(1).step_by(2).collect();
        keys.extend(triples.iter().flatten().cloned());
        keys.sort();
        keys.dedup();
        Self { subject: Roart::about(keys), before, triples, plan }
    }

    /// Crashes the last operation of every sequence.
    fn explore(&self, model: Model) -> Outcome {
        let told = |failure| format!("{failure}");
        let mut once = Explorer::new(&self.subject, model, LIMIT, ONE_CRASH, 1);
        let mut twice = Explorer::new(&self.subject, model, LIMIT, TWO_CRASHES, 1);
        let start = once.start(&self.before).map_err(told)?;
        for keys in &self.triples {
            twice.begin_with(choices(keys, &start.model));
            let (mut ways, mut met) = (vec![Vec::new()], HashSet::new());
            for len in 1..=self.plan.longest {
                let mut longer = Vec::new();
                for way in ways {
                    let (state, model) = self.state_after(&once, &start, &way)?;
                    if !met.insert(state) {
                        continue;
                    }
                    for op in choices(keys, &model) {
                        let ops = [&way[..], &[op]].concat();
                        once.explore(&start, &ops, len - 1).map_err(told)?;
                        if len <= self.plan.twice {
                            twice.explore(&start, &ops, len - 1).map_err(told)?;
                        }
                        longer.push(ops);
                    }
                }
                ways = longer;
            }
        }
        once.tally.add(&twice.tally);
        Ok(once.tally)
    }

    /// What the tree is like after an uncrashed run: a hash; and what it holds. Equal for trees of one shape
    /// whose chunks lie alike in their lines: where those lines are means nothing, nor do free chunks.
    fn state_after(
        &self,
        explorer: &Explorer<'_, Roart<T>>,
        start: &Start<Roart<T>>,
        ops: &[ByteOp],
    ) -> Result<(u64, ByteModel), String> {
        let trace = explorer.trace(start, ops)?;
        let left = visible(&trace, trace.events.len());
        let open =
            self.subject.open(Sim::after(Model::PAGE_CACHE, LIMIT, &left, Chooser::first()), 9)?;
        let mut chunks = Vec::new();
        let survey = open.map.index().check(&mut |at, bytes| chunks.push((at, bytes)));
        survey.map_err(|error| format!("{error:?}"))?;
        let mut model: BTreeMap<_, _> = start.model.clone();
        ops.iter().for_each(|op| _ = self.subject.specify(&mut model, op));
        Ok((self.shape_of(&left.image, &chunks), model))
    }

    /// A hash of chunks, those that lead to others before these, in which offsets are numbers of chunks.
    fn shape_of(&self, image: &Image, chunks: &[(u64, u64)]) -> u64 {
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
                    _ if self.subject.is_volatile(at, &image.line(at / 64)) => {}
                    Some(number) if leads_on => (word & !OFFSET, number).hash(&mut hasher),
                    _ => word.hash(&mut hasher),
                }
            }
        }
        hasher.finish()
    }
}

/// All starts of one shape.
fn add_starts<T: Techniques>(jobs: &mut Vec<Job>, part: &'static str, shape: Shape, plan: Plan) {
    for n in 0..=6 {
        for model in WEAKEST {
            let run = move || Stem::<T>::new(shape, n, plan).explore(model);
            jobs.push(Job { part, model, run: Box::new(run) });
        }
    }
}

fn add_shapes(jobs: &mut Vec<Job>, plan: Plan) {
    add_starts::<Tiny>(jobs, "flat", Shape::Flat, plan);
    add_starts::<Tiny>(jobs, "nested", Shape::Nested, plan);
    add_starts::<Tiny>(jobs, "deep", Shape::Deep, plan);
    add_starts::<WithoutArrays>(jobs, "deep, without arrays", Shape::Deep, plan);
}

/// Fills and drains a tree, crashed everywhere under every model: what has other steps than the sequences.
fn add_walks<T: Techniques>(jobs: &mut Vec<Job>, part: &'static str, count: usize, effort: Effort) {
    let shapes = [Shape::Flat, Shape::Nested, Shape::Deep];
    let mut all: Vec<_> = shapes.map(|shape| shape.places(count.div_ceil(2))).into();
    // A node that grows because of a key that ends there, and a prefix that is split.
    let grown = ["n", "n1", "n2", "n3", "n4", "n5", "p0123456789a", "p0123456789b"];
    let split = ["p0123456789c", "p0123456789d", "p0123456789e", "p0123x"];
    all.push(grown.iter().chain(&split).map(|key| key.as_bytes().to_vec()).collect());
    for keys in all {
        let count = count.max(keys.len() - 2);
        let up: Vec<ByteOp> = keys.iter().take(count + 2).map(|key| put(key, 1)).collect();
        let gone: Vec<ByteOp> =
            keys.iter().rev().take(count + 2).map(|key| ByteOp::Remove(key.clone())).collect();
        for (_, model) in MODELS {
            for (before, ops) in [(Vec::new(), up.clone()), (up.clone(), gone.clone())] {
                let keys = keys.clone();
                let run = move || {
                    let subject = Roart::<T>::about(&keys);
                    let mut explorer = Explorer::new(&subject, model, LIMIT, effort, 1);
                    let failed = |failure| format!("{failure}");
                    let start = explorer.start(&before).map_err(failed)?;
                    explorer.explore(&start, &ops, 0).map_err(failed)?;
                    Ok(explorer.tally)
                };
                jobs.push(Job { part, model, run: Box::new(run) });
            }
        }
    }
}

/// Processes that are killed after each store, and then the power fails.
fn add_kills(jobs: &mut Vec<Job>, all: bool) {
    let starts: [(&[&str], &[ByteOp]); 4] = [
        (&["a1", "a2", "a3"], &[put(b"a4", 1), put(b"a1", 2), ByteOp::Remove(b"a2".to_vec())]),
        (&["a1", "a2", "a3", "a4"], &[put(b"a5", 1)]),
        (&["n1", "n2", "n3", "n4", "n"], &[put(b"n5", 1), ByteOp::Remove(b"n1".to_vec())]),
        (&["ab1", "ab2", "ab3", "ab4", "ab5"], &[put(b"aa", 1)]),
    ];
    for (keys, ops) in starts {
        for op in ops {
            let (op, before) = (op.clone(), keys.iter().map(|key| put(key.as_bytes(), 3)));
            let before: Vec<ByteOp> = before.collect();
            let key = match &op {
                ByteOp::Put(key, _) | ByteOp::Remove(key) => key.clone(),
            };
            let next = |looks, ops: &[ByteOp]| Next { looks, ops: ops.to_vec() };
            let mut nexts = vec![
                vec![next(true, &[])],
                vec![next(false, &[put(&key, 77)])],
                vec![next(false, &[ByteOp::Remove(key.clone())])],
            ];
            if all {
                nexts.push(vec![next(false, &[put(&key, 7)]), next(true, &[])]);
                let others = [ByteOp::Remove(b"a1".to_vec()), put(b"n1", 8), put(b"a", 9)];
                nexts.push(vec![next(false, &others)]);
            }
            let run = move || {
                let keys = before.iter().chain([&op]).map(|op| match op {
                    ByteOp::Put(key, _) | ByteOp::Remove(key) => key.clone(),
                });
                let subject = Roart::<Tiny>::about(keys.collect::<BTreeSet<_>>());
                let model = Model::WEAKEST_ADR;
                let mut explorer = Explorer::new(&subject, model, LIMIT, KILLS, 1);
                let told = |failure| format!("{failure}");
                let start = explorer.start(&before).map_err(told)?;
                for next in &nexts {
                    explorer.kill(&start, &op, next).map_err(told)?;
                }
                Ok(explorer.tally)
            };
            let model = Model::WEAKEST_ADR;
            jobs.push(Job { part: "killed, then power loss", model, run: Box::new(run) });
        }
    }
}

/// Two sessions in a row end in a remove: the last key below a node that does not remember its whole
/// prefix goes before the node does. The third one inserts what may lie there, or beside it. Where lines
/// are flushed, processes are killed, and then the power fails; elsewhere that would be nothing new.
fn add_barren(jobs: &mut Vec<Job>) {
    let keys = ["0123456789a1", "0123456789a2"];
    let [one, other] = keys.map(|key| ByteOp::Remove(key.as_bytes().to_vec()));
    for (_, model) in MODELS {
        for new in ["0123x", "0123456789a3", "0123456789a1"] {
            let (one, other, new) = (one.clone(), other.clone(), put(new.as_bytes(), 1));
            let run = move || {
                let about = [keys[0], keys[1], "0123456789a3", "0123x"];
                let subject = Roart::<WithoutArrays>::about(about);
                let is_killed = model == Model::WEAKEST_ADR;
                let effort = if is_killed { KILLS } else { THREE_CRASHES };
                let mut explorer = Explorer::new(&subject, model, LIMIT, effort, 1);
                let told = |failure| format!("{failure}");
                let before = keys.map(|key| put(key.as_bytes(), 3));
                let start = explorer.start(&before).map_err(told)?;
                if is_killed {
                    let next = [vec![other], vec![new]].map(|ops| Next { looks: false, ops });
                    explorer.kill(&start, &one, &next).map_err(told)?;
                } else {
                    explorer.begin_with([other, new]);
                    explorer.explore(&start, &[one], 0).map_err(told)?;
                }
                Ok(explorer.tally)
            };
            jobs.push(Job { part: "ended twice", model, run: Box::new(run) });
        }
    }
}

fn assert_clean(jobs: Vec<Job>, budget: Duration) {
    let report = jobs::run(jobs, budget, &STEPS);
    report.assert_clean(&STEPS);
    let crossed = report.sum(Some(MODELS[0].0)).crossed;
    STEPS_OF_ADR.iter().for_each(|step| assert!(crossed.contains_key(step), "{step}"));
}

#[test]
fn every_crash_of_every_short_history_of_a_small_radix_tree() {
    let mut jobs = Vec::new();
    add_shapes(&mut jobs, Plan { longest: 1, twice: 0 });
    add_kills(&mut jobs, false);
    add_barren(&mut jobs);
    // Walks last: if the time is up, they go on until each step was crossed.
    let effort = Effort { exhaustive: 24, samples: 8, continue_one_in: 8, ..ONE_CRASH };
    add_walks::<Tiny>(&mut jobs, "walks", 7, effort);
    assert_clean(jobs, jobs::GUARD);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations_on_a_radix_tree() {
    let mut jobs = Vec::new();
    add_walks::<Tiny>(&mut jobs, "walks", 9, TWO_CRASHES);
    add_walks::<WithoutArrays>(&mut jobs, "walks without arrays", 9, TWO_CRASHES);
    add_kills(&mut jobs, true);
    add_barren(&mut jobs);
    add_shapes(&mut jobs, Plan { longest: 3, twice: 2 });
    assert_clean(jobs, jobs::budget());
}
