//! The campaign in parts, each of which can be run alone: a fault is looked for from part to part, and
//! the one that finds it is remembered in `killers.txt`.

use std::collections::HashMap;
use std::fmt;

use endura_sim::choose::Random;
use endura_sim::explore::Next;
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::mutate::{self, Bed, Harness};
use endura_sim::schedule::{self, Family, Place, Plan, Strategy};
use endura_sim::sim::Stale;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::{FastFair, LIMIT, MapOp};
use endura_sim::tally::Effort;

use crate::duels::{Duel, duels};
use crate::plans;
use crate::pool;
use crate::sweeps::{Sweep, TO_THE_END, sweeps};

/// Schedules of each family.
const SCHEDULES: u64 = 60;
/// Schedules of each duel, of each kind.
const ROUNDS: u64 = 100;

/// How the run of a plan ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// With a crash at every moment.
    Crash,
    /// With a crash at every moment of the last operation.
    LastCrash,
    /// With a kill, and then a crash.
    Kill,
}

/// Which plans of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Alone {
    /// Of leaves of three entries.
    Leaf,
    /// Of leaves of seven, in two lines.
    WideLeaf,
    /// Of trees.
    Tree,
    /// Until chunks are used again.
    Churn,
}

/// What threads see of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Sees {
    /// All stores at once; with crashes.
    AtOnce,
    /// What their orders say, with crashes.
    Late(Stale),
    /// The same on a medium on which fences are no instructions.
    Unfenced(Stale),
}

const KINDS: [Sees; 5] = [
    Sees::AtOnce,
    Sees::Late(Stale::Misled),
    Sees::Unfenced(Stale::Misled),
    Sees::Late(Stale::OneIn(3)),
    Sees::Unfenced(Stale::OneIn(3)),
];

/// A part of the campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// A plan of one thread.
    Alone { of: Alone, plan: usize, is_eadr: bool, end: End },
    /// A process that is killed, and one that goes on.
    Killed(usize),
    /// The same, and the next one finds what it stranded.
    Collected(usize),
    /// How a tree is made.
    Made,
    /// Two threads that stop at every move.
    Sweep(usize),
    /// A tree that grew and was drained: few nodes are left.
    Drained,
    /// A schedule of a family.
    Family(Family, u64),
    /// A schedule of a duel.
    Duel { duel: usize, sees: Sees, seed: u64 },
    /// A part of the campaign of the pool.
    Pool(pool::Part),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone { of, plan, is_eadr, end } => {
                write!(f, "{of:?} {plan}{}, {end:?}", if *is_eadr { " eADR" } else { "" })
            }
            Self::Killed(plan) => write!(f, "Killed {plan}"),
            Self::Collected(plan) => write!(f, "Collected {plan}"),
            Self::Made => write!(f, "Made"),
            Self::Sweep(sweep) => write!(f, "Sweep {sweep}"),
            Self::Drained => write!(f, "Drained"),
            Self::Family(family, seed) => write!(f, "{family:?} {seed}"),
            Self::Duel { duel, sees, seed } => write!(f, "Duel {duel} {sees:?} {seed}"),
            Self::Pool(part) => write!(f, "Pool {part}"),
        }
    }
}

impl mutate::Part for Part {
    type Shared = Shared;

    fn run(self, harness: &mut Harness, shared: &mut Shared) -> Result<(), Finding> {
        let adr = (Model::WEAKEST_ADR, Harness::QUICK);
        let kills = (Model::WEAKEST_ADR, Harness::KILLS);
        let tiny = Tiny::about(tens());
        match self {
            Self::Alone { of, plan, is_eadr, end } => {
                let plan = plans_of(of).swap_remove(plan);
                let model = if is_eadr { Model::WEAKEST_EADR } else { Model::WEAKEST_ADR };
                match of {
                    Alone::WideLeaf => alone(&Wide::about(tens()), model, &plan, end, harness),
                    _ => alone(&tiny, model, &plan, end, harness),
                }
            }
            Self::Killed(number) => {
                let (plan, next) = plans::of_kills().swap_remove(number);
                killed(bed(&Wide::about(tens()), kills), &plan, next, harness)
            }
            Self::Collected(number) => {
                let (plan, next) = plans::of_collected_kills().swap_remove(number);
                killed(bed(&tiny, kills), &plan, next, harness)
            }
            Self::Made => {
                harness.made(bed(&tiny, adr), |event| event.site.file().contains("tree/fast_fair/"))
            }
            Self::Sweep(number) => sweep(&shared.sweeps[number], harness),
            Self::Drained => drained(bed(&tiny, adr), harness),
            Self::Family(family, seed) => shared.family(family, seed, harness),
            Self::Duel { duel, sees, seed } => shared.duel(duel, sees, seed, harness),
            Self::Pool(part) => pool::run(part, harness),
        }
    }

    /// Faults of the pool are looked for by those parts that are about it, and only a relaxed store
    /// misleads.
    fn may_notice(self, mutant: Mutant) -> bool {
        let is_of_the_pool = mutant.call().site.file().contains("/pool/");
        match self {
            Self::Pool(_) => is_of_the_pool,
            Self::Alone { .. }
            | Self::Killed(_)
            | Self::Collected(_)
            | Self::Made
            | Self::Drained => true,
            Self::Family(..) | Self::Sweep(_) => !is_of_the_pool,
            Self::Duel { sees, .. } => {
                let misleads = matches!(mutant, Mutant::Weaken(_));
                let needs_misled =
                    matches!(sees, Sees::Late(Stale::Misled) | Sees::Unfenced(Stale::Misled));
                !is_of_the_pool && (misleads || !needs_misled)
            }
        }
    }

    fn kind(self) -> String {
        match self {
            Self::Family(family, _) => format!("{family:?}"),
            // Some calls are rare: it takes a few duels to see one.
            Self::Duel { duel, .. } => format!("duel {}", duel / 16),
            _ => self.to_string(),
        }
    }

    fn place(self) -> String {
        match self {
            Self::Duel { duel, .. } => format!("duel number {duel}"),
            _ => self.kind(),
        }
    }

    fn is_sample(self) -> bool {
        match self {
            Self::Duel { seed, .. } => seed < 6,
            _ => true,
        }
    }
}

fn plans_of(of: Alone) -> Vec<plans::Plan> {
    match of {
        Alone::Leaf => plans::of_a_leaf(3),
        Alone::WideLeaf => plans::of_a_leaf(7),
        Alone::Tree => plans::of_a_tree(3),
        Alone::Churn => vec![plans::churn()],
    }
}

fn parts_alone() -> Vec<Part> {
    let mut parts = vec![Part::Made, Part::Drained];
    let mut add = |of, from: usize, to: usize, is_eadr, end| {
        let count = plans_of(of).len();
        parts.extend((from..count.min(to)).map(|plan| Part::Alone { of, plan, is_eadr, end }));
    };
    add(Alone::Leaf, 0, 99, false, End::Crash);
    add(Alone::WideLeaf, 12, 99, false, End::Crash);
    add(Alone::Tree, 0, 99, false, End::Crash);
    add(Alone::Leaf, 0, 99, true, End::Crash);
    add(Alone::Tree, 0, 99, true, End::Crash);
    add(Alone::Leaf, 12, 99, false, End::Kill);
    add(Alone::WideLeaf, 12, 24, false, End::Kill);
    add(Alone::Churn, 0, 1, false, End::LastCrash);
    parts.extend((0..plans::of_kills().len()).map(Part::Killed));
    parts.extend((0..plans::of_collected_kills().len()).map(Part::Collected));
    parts.extend((0..sweeps().len()).map(Part::Sweep));
    parts
}

/// The parts for FAST & FAIR, roughly in the order of what they cost.
pub(crate) fn of_the_tree() -> Vec<Part> {
    let mut parts = parts_alone();
    let families = Family::ALL.into_iter();
    parts.extend(families.flat_map(|of| (0..SCHEDULES).map(move |seed| Part::Family(of, seed))));
    let count = duels().len();
    for seed in 0..ROUNDS {
        let of = |duel| KINDS.map(|sees| Part::Duel { duel, sees, seed });
        parts.extend((0..count).flat_map(of));
    }
    parts
}

/// Everything.
pub(crate) fn all() -> Vec<Part> {
    let pool = pool::parts().into_iter().map(Part::Pool);
    pool.chain(of_the_tree()).collect()
}

type Tiny = FastFair<14, 14>;
/// Leaves of seven, in two lines.
type Wide = FastFair<22, 22>;

fn tens() -> Vec<u64> {
    (1..=40).map(|key| 10 * key).collect()
}

fn bed<S>(subject: &S, (model, effort): (Model, Effort)) -> Bed<'_, S> {
    Bed { subject, model, limit: LIMIT, effort }
}

/// What parts with one fault have in common.
pub(crate) struct Shared {
    duels: Vec<Duel>,
    sweeps: Vec<Sweep>,
    campaigns: HashMap<(usize, Sees), schedule::Campaign<Tiny>>,
    families: Option<schedule::Campaign<Tiny>>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { duels: duels(), sweeps: sweeps(), campaigns: HashMap::new(), families: None }
    }
}

fn alone<S: Subject<Op = MapOp>>(
    subject: &S,
    model: Model,
    plans::Plan { before, ops }: &plans::Plan,
    end: End,
    harness: &mut Harness,
) -> Result<(), Finding> {
    match end {
        End::Crash => harness.alone(bed(subject, (model, Harness::QUICK)), before, ops, 0),
        End::LastCrash => {
            harness.alone(bed(subject, (model, Harness::QUICK)), before, ops, ops.len() - 1)
        }
        End::Kill => harness.alone_and_killed(bed(subject, (model, Harness::KILLS)), before, ops),
    }
}

fn killed<S: Subject<Op = MapOp>>(
    on: Bed<'_, S>,
    plans::Plan { before, ops }: &plans::Plan,
    next: Vec<MapOp>,
    harness: &mut Harness,
) -> Result<(), Finding> {
    harness.killed(on, before, &ops[0], &[Next { looks: false, ops: next }])
}

fn sweep(sweep: &Sweep, harness: &mut Harness) -> Result<(), Finding> {
    let campaign = campaign_of(&sweep.duel, sweep.sees, sweep.crashes).with_effort(Harness::QUICK);
    let moves = (1..sweep.moves).chain([TO_THE_END]);
    harness.scheduled(campaign, |campaign| {
        moves
            .flat_map(|moves| (0..sweep.further).map(move |further| (moves, further)))
            .try_for_each(|(moves, further)| {
                campaign.plan(&sweep.plan(moves, further)).map(drop).map_err(|mut unsound| {
                    unsound.finding =
                        format!("{}, {moves} moves: {}", sweep.duel.name, unsound.finding);
                    unsound
                })
            })
    })
}

/// A sparse leaf that is not merged loses nothing, and stays for ever.
fn drained(on: Bed<'_, Tiny>, harness: &mut Harness) -> Result<(), Finding> {
    const MOST: u64 = 5;
    let (puts, removes) = ((1..=20).map(|key| MapOp::Put(key, key)), (1..=20).map(MapOp::Remove));
    let (open, mut nodes) = (harness.done(on, puts.chain(removes))?, 0);
    open.tree.check(&mut |_, _| nodes += 1).map_err(|error| format!("{error:?}"))?;
    match nodes {
        0..=MOST => Ok(()),
        _ => Err(format!("{nodes} nodes for no entry")),
    }
}

/// With the fault that the harness carries.
fn carrying(mut campaign: schedule::Campaign<Tiny>, harness: &Harness) -> schedule::Campaign<Tiny> {
    campaign.plant(harness.mutant());
    if harness.counts() {
        campaign.count_calls();
    }
    campaign
}

impl Shared {
    fn family(&mut self, family: Family, seed: u64, harness: &mut Harness) -> Result<(), Finding> {
        let campaign = self.families.get_or_insert_with(|| {
            let subject = Tiny::about((1..=12).map(|key| 10 * key).collect());
            carrying(schedule::Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, 2), harness)
        });
        campaign.family(family, seed..seed + 1).map_err(|unsound| unsound.finding)?;
        harness.count(|| campaign.calls());
        Ok(())
    }

    fn duel(
        &mut self,
        number: usize,
        sees: Sees,
        seed: u64,
        harness: &mut Harness,
    ) -> Result<(), Finding> {
        let duel = &self.duels[number];
        let campaign = self
            .campaigns
            .entry((number, sees))
            .or_insert_with(|| carrying(campaign_of(duel, sees, 6), harness));
        let plan = Plan {
            before: duel.before.clone(),
            threads: vec![duel.stops.clone(), duel.comes.clone()],
            strategy: strategy(seed, Tiny::about(Vec::new()).steps()),
            seed,
        };
        campaign.plan(&plan).map_err(|unsound| format!("{}: {}", duel.name, unsound.finding))?;
        harness.count(|| campaign.calls());
        Ok(())
    }
}

fn campaign_of(duel: &Duel, sees: Sees, most: usize) -> schedule::Campaign<Tiny> {
    let mut keys: Vec<u64> = (1..=13).map(|key| 10 * key).chain([5, 15, 35, 41, 95]).collect();
    keys.sort_unstable();
    let (model, crashes, stale) = match sees {
        Sees::AtOnce => (Model::WEAKEST_ADR, most, None),
        Sees::Late(stale) => (Model::WEAKEST_ADR, most.min(4), Some(stale)),
        Sees::Unfenced(stale) => (Model::PAGE_CACHE, 0, Some(stale)),
    };
    let mut campaign = schedule::Campaign::new(Tiny::about(keys), model, LIMIT, crashes);
    if let Some(stale) = stale {
        campaign = campaign.with_weak_visibility(stale);
    }
    match duel.cut {
        Some(cut) => campaign.after_cut(cut),
        None => campaign,
    }
}

/// Who goes on when: most of all, thread 1 is in the middle of something when thread 0 comes to what is
/// at fault, and stops soon after it.
fn strategy(seed: u64, steps: &[&'static str]) -> Strategy {
    let mut random = Random::new(seed ^ 0xD0E1);
    let nth = if random.one_in(3) { 2 + random.below(3) as usize } else { 1 };
    let comes = match random.below(4) {
        0 => Place { step: random.pick::<&str>(&COMES), nth, moves: few(&mut random, 4) },
        _ => Place { step: Place::START, nth: 1, moves: few(&mut random, 8) },
    };
    let nth = if random.one_in(3) { 2 + random.below(3) as usize } else { 1 };
    match random.below(8) {
        0..4 => {
            let stops = Place { step: Place::FAULT, nth, moves: few(&mut random, 7) };
            Strategy::Meet { comes, stops }
        }
        4 => Strategy::StopAt { thread: 0, step: "", nth: 1 + random.below(250) as usize },
        5 | 6 => {
            let stops = Place { step: random.pick::<&str>(steps), nth, moves: few(&mut random, 6) };
            Strategy::Meet { comes, stops }
        }
        _ => {
            let first = 1 + random.below(200);
            Strategy::Preempt(vec![(first, 0), (first + 1 + random.below(200), 0)])
        }
    }
}

/// Steps at which thread 1 may wait.
const COMES: [&str; 6] =
    ["read.inner", "read.leaf", "lock.taken", "post.P1", "split.S3.durable", "merge.M1"];

/// A number below 2 to the `most`, a small one rather than a large one.
fn few(random: &mut Random, most: u64) -> u64 {
    let below = 1 << random.below(most);
    random.below(below)
}
