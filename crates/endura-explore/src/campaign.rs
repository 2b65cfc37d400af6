//! Histories one after the other, by several threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use endura_engine::tree::key_word::{KeyWord, One, OneAndTwo, Seven};
use endura_engine::tree::roart::Techniques;
use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::subject::Subject;
use endura_sim::subjects::{
    FairBytes, FairRecords, FastFair, LIMIT, MapOp, NbBytes, NbRecords, NbTree, RoartBytes,
};
use endura_sim::tally::{Effort, Tally};
use endura_sim::workload::Workload;
use endura_variants::roart::{Tiny, WithoutArrays};

use crate::args::Index;

/// Operations of a history that are crashed.
const OPS: usize = 48;

/// The first recoveries of a crash exhaustively, then the contents that find most; up to three crashes
/// in a row, but most images by one.
const EFFORT: Effort = Effort {
    exhaustive: 48,
    samples: 16,
    depth: 3,
    continue_one_in: 3,
    deepen_one_in: 64,
    deep_points: 4,
    ..Effort::EXHAUSTIVE
};

/// How often the progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// A failure, told in full, and the number of its history.
pub(crate) struct Found {
    pub(crate) history: u64,
    pub(crate) failure: String,
}

/// What was come across so far.
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) histories: u64,
    pub(crate) tally: Tally,
    pub(crate) took: Duration,
    pub(crate) found: Option<Found>,
}

type Explore = fn(&Campaign, u64) -> Option<String>;

/// The histories from a number on.
pub(crate) struct Campaign {
    shapes: &'static [Explore],
    model: Model,
    mutant: Option<Mutant>,
    next: AtomicU64,
    begin: Instant,
    budget: Duration,
    sum: Mutex<Sum>,
}

impl Campaign {
    pub(crate) fn new(
        index: Index,
        model: Model,
        mutant: Option<Mutant>,
        first: u64,
        budget: Duration,
    ) -> Self {
        let shapes = match index {
            Index::FastFair => FAST_FAIR,
            Index::NbTree => NBTREE,
            Index::FastFairStrings => FAIR_BYTES,
            Index::NbTreeStrings => NB_BYTES,
            Index::Roart => ROART,
            Index::FastFairRecords => FAIR_RECORDS,
            Index::NbTreeRecords => NB_RECORDS,
        };
        let (next, begin, sum) = (AtomicU64::new(first), Instant::now(), Mutex::default());
        Self { shapes, model, mutant, next, begin, budget, sum }
    }

    /// Explores until the time is up or something is found; `watch` is shown the progress.
    pub(crate) fn run(self, threads: usize, watch: &dyn Fn(&Sum, Duration)) -> Sum {
        thread::scope(|scope| {
            let worker = || {
                while self.goes_on() {
                    // Relaxed: the numbers are all that the threads share here.
                    self.explore(self.next.fetch_add(1, Ordering::Relaxed));
                }
            };
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
                watch(&self.sum(), self.begin.elapsed());
                thread::sleep(TICK);
            }
        });
        let mut sum = self.sum.into_inner().unwrap_or_else(PoisonError::into_inner);
        sum.took = self.begin.elapsed();
        sum
    }

    fn goes_on(&self) -> bool {
        self.begin.elapsed() < self.budget && self.sum().found.is_none()
    }

    fn explore(&self, history: u64) {
        self.sum().histories += 1;
        let explore = self.shapes[(history % self.shapes.len() as u64) as usize];
        if let Some(failure) = explore(self, history) {
            let mut sum = self.sum();
            // The first of several that are found at once.
            let earlier = sum.found.take().filter(|found| found.history < history);
            sum.found = Some(earlier.unwrap_or(Found { history, failure }));
        }
    }

    fn sum(&self) -> MutexGuard<'_, Sum> {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Trees of three, four, six and eight entries a node, and of three in inner nodes and seven in leaves.
const FAST_FAIR: &[Explore] = &[
    fast_fair::<14, 14>,
    fast_fair::<16, 16>,
    fast_fair::<20, 20>,
    fast_fair::<24, 24>,
    fast_fair::<14, 22>,
];

/// NBTrees of three, seven and eleven slots in a block, four children in an inner node.
const NBTREE: &[Explore] = &[nbtree::<8>, nbtree::<16>, nbtree::<24>];

/// Trees of byte strings of four, six and seven entries a node. With words of one byte equal words are the rule; with the two
/// bytes that a reference has, and with words of seven bytes, they are seldom.
const FAIR_BYTES: &[Explore] = &[
    fair_bytes::<24, 24, One>,
    fair_bytes::<28, 28, One>,
    fair_bytes::<24, 24, Seven>,
    fair_bytes::<24, 24, OneAndTwo>,
    fair_bytes::<24, 30, One>,
];

/// NBTrees of byte strings of four and eight slots in a block, with the same words.
const NB_BYTES: &[Explore] =
    &[nb_bytes::<16, One>, nb_bytes::<16, Seven>, nb_bytes::<16, OneAndTwo>, nb_bytes::<24, One>];

/// Trees of nodes and leaf arrays, and of nodes alone.
const ROART: &[Explore] = &[roart::<Tiny>, roart::<WithoutArrays>];

/// Trees with records of three and six entries a node.
const FAIR_RECORDS: &[Explore] = &[fair_records::<14>, fair_records::<20>];

/// NBTrees with records of three and seven slots in a block.
const NB_RECORDS: &[Explore] = &[nb_records::<8>, nb_records::<16>];

/// Explores one history of trees of inner nodes of `I` words and leaves of `L`.
fn fast_fair<const I: usize, const L: usize>(campaign: &Campaign, history: u64) -> Option<String> {
    let shape = format!("a tree of {} and {} entries a node", (I - 8) / 2, (L - 8) / 2);
    let keys = 3 * (L as u64 - 8) / 2 + 2;
    explored(campaign, history, &shape, keys, FastFair::<I, L>::about)
}

/// Explores one history of NBTrees with blocks of `W` words.
fn nbtree<const W: usize>(campaign: &Campaign, history: u64) -> Option<String> {
    let shape = format!("an NBTree of {} slots a block", (W - 2) / 2);
    let keys = 3 * (W as u64 - 2) / 2 + 5;
    explored(campaign, history, &shape, keys, NbTree::<W, 4>::about)
}

/// Explores one history of trees of byte strings, of inner nodes of `I` words and leaves of `L`.
fn fair_bytes<const I: usize, const L: usize, K: KeyWord>(
    campaign: &Campaign,
    history: u64,
) -> Option<String> {
    let (inner, leaf, bytes) = ((I - 16) / 2, (L - 16) / 2, K::BYTES);
    let shape = format!(
        "a tree of {inner} and {leaf} strings a node, with {bytes} bytes of each in a word"
    );
    explored(campaign, history, &shape, 3 * leaf as u64 + 2, FairBytes::<I, L, K>::about)
}

/// Explores one history of NBTrees of byte strings, with blocks of `W` words.
fn nb_bytes<const W: usize, K: KeyWord>(campaign: &Campaign, history: u64) -> Option<String> {
    let (slots, bytes) = ((W as u64 - 8) / 2, K::BYTES);
    let shape =
        format!("an NBTree of {slots} strings a block, with {bytes} bytes of each in a word");
    explored(campaign, history, &shape, 3 * slots + 2, NbBytes::<W, 4, K>::about)
}

/// Explores one history of ROART trees.
fn roart<T: Techniques>(campaign: &Campaign, history: u64) -> Option<String> {
    let shape = format!("a ROART tree with leaf arrays of {} records", T::LARGEST_ARRAY);
    explored(campaign, history, &shape, 14, RoartBytes::<T>::about)
}

/// Explores one history of trees with records, of nodes of `W` words.
fn fair_records<const W: usize>(campaign: &Campaign, history: u64) -> Option<String> {
    let shape = format!("a tree with records, of {} entries a node", (W - 8) / 2);
    let keys = 3 * (W as u64 - 8) / 2 + 2;
    explored(campaign, history, &shape, keys, FairRecords::<W, W>::about)
}

/// Explores one history of NBTrees with records, with blocks of `W` words.
fn nb_records<const W: usize>(campaign: &Campaign, history: u64) -> Option<String> {
    let shape = format!("an NBTree with records, of {} slots a block", (W - 2) / 2);
    let keys = 3 * (W as u64 - 2) / 2 + 5;
    explored(campaign, history, &shape, keys, NbRecords::<W, 4>::about)
}

/// Explores one history, about `keys` keys, operation by operation as long as the campaign goes on.
fn explored<S: Subject<Op = MapOp>>(
    campaign: &Campaign,
    history: u64,
    shape: &str,
    keys: u64,
    subject: impl FnOnce(Vec<u64>) -> S,
) -> Option<String> {
    let workload = Workload::new(history, keys, OPS);
    let subject = subject(workload.keys);
    let mut explorer = Explorer::new(&subject, campaign.model, LIMIT, EFFORT, history);
    explorer.plant(campaign.mutant);
    let explored = explorer.start(&workload.before).and_then(|start| {
        let mut in_time = (0..OPS).take_while(|_| campaign.goes_on());
        in_time.try_for_each(|op| {
            let explored = explorer.explore(&start, &workload.ops[..=op], op);
            campaign.sum().tally.add(&std::mem::take(&mut explorer.tally));
            explored
        })
    });
    let failure = explored.err()?;
    Some(format!("{shape}\n{}", explorer.shrink(failure)))
}
