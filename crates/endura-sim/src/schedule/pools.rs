//! Plans over pools with several maps, run one after the other, each with crashes. A pool is one object: what its threads
//! were told must be what some order of all their calls tells, each batch, transaction and read of one moment as one call.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use endura_linear::{CallOf, NEVER, Place, PoolAnswer, PoolOp, after_crash, check};

use super::campaign::{Figures, moments, stores_of};
use super::pool_plan::{BEFORE, Meeting, PoolPlan};
use super::run::{Thread, pause, run};
use crate::aftermath::Aftermath;
use crate::cache::IsVolatile;
use crate::choose::{Chooser, Random};
use crate::event::{Action, Trace};
use crate::explore::{Explorer, Start};
use crate::failure::Crash;
use crate::model::{Domain, Model};
use crate::run::{Point, points};
use crate::sim::{Sim, actor};
use crate::subject::{Finding, Subject, guarded};
use crate::subjects::batches::{Batches, OpenBatches};
use crate::tally::Effort;

type Maps = BTreeMap<Place, u64>;

/// A plan that went wrong.
#[derive(Debug, Clone)]
pub struct UnsoundPool {
    /// What was found.
    pub finding: Finding,
    /// What was run.
    pub plan: PoolPlan,
    /// How the turns went: after so many moves, to whom.
    pub switches: Vec<(u64, usize)>,
    /// The crash, if there was one.
    pub crashes: Vec<String>,
}

impl fmt::Display for UnsoundPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PoolPlan { threads, strategy, seed } = &self.plan;
        writeln!(f, "{}", self.finding)?;
        threads.iter().enumerate().try_for_each(|(i, t)| writeln!(f, "  thread {i} {t:?}"))?;
        writeln!(f, "  turns    {strategy:?}, seed {seed}: {:?}", self.switches)?;
        self.crashes.iter().try_for_each(|crash| writeln!(f, "  crash    {crash}"))
    }
}

/// Takes down what threads are told. Clones write to one history.
#[derive(Clone)]
struct Scribe {
    sim: Sim,
    calls: Arc<Mutex<Vec<CallOf<PoolOp>>>>,
}

impl Scribe {
    fn note(&self, action: Action) -> u64 {
        self.sim.note(action);
        self.sim.moment() as u64 - 1
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<CallOf<PoolOp>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does it, and takes down what was told.
    fn perform(&self, open: &OpenBatches, op: PoolOp) -> Result<(), Finding> {
        let thread = actor();
        let called = self.note(Action::Begin(thread as usize));
        self.lock().push(CallOf { thread, called, returned: NEVER, op, answer: None });
        let answer: PoolAnswer = open.perform(op)?;
        let returned = self.note(Action::Acknowledge(thread as usize));
        let mut calls = self.lock();
        if let Some(own) = calls.iter_mut().rfind(|call| call.thread == thread) {
            (own.returned, own.answer) = (returned, Some(answer));
        }
        Ok(())
    }
}

/// How much is looked at after each crash.
const EFFORT: Effort = Effort {
    exhaustive: 6,
    samples: 3,
    depth: 1,
    continue_one_in: 8,
    deepen_one_in: 0,
    deep_points: 0,
    deep_ops: 0,
    folds_volatile: true,
    ties_volatile: false,
};

/// Runs plans over a pool, under one model.
pub struct PoolCampaign {
    subject: Arc<Batches>,
    model: Model,
    limit: u64,
    /// Moments at which each schedule is crashed.
    crashes: usize,
    start: Option<(Aftermath, Maps)>,
    seen: HashSet<u64>,
    /// What was come across so far.
    pub figures: Figures,
}

impl PoolCampaign {
    /// A campaign on media of at most `limit` bytes that crashes each schedule at `crashes` moments.
    pub fn new(subject: Batches, model: Model, limit: u64, crashes: usize) -> Self {
        let (seen, figures) = (HashSet::new(), Figures::default());
        Self { subject: Arc::new(subject), model, limit, crashes, start: None, seen, figures }
    }

    /// Runs the plans of one kind with these seeds.
    ///
    /// # Errors
    ///
    /// The first plan that goes wrong.
    pub fn meeting(
        &mut self,
        meeting: Meeting,
        seeds: impl IntoIterator<Item = u64>,
    ) -> Result<(), Box<UnsoundPool>> {
        let maps = self.subject.kinds.len();
        seeds.into_iter().try_for_each(|seed| self.plan(&PoolPlan::new(meeting, maps, seed)))
    }

    /// Runs one plan, and crashes it.
    ///
    /// # Errors
    ///
    /// What went wrong.
    pub fn plan(&mut self, plan: &PoolPlan) -> Result<(), Box<UnsoundPool>> {
        let mut switches = Vec::new();
        self.try_plan(plan, &mut switches).map_err(|(finding, crashes)| {
            Box::new(UnsoundPool { finding, plan: plan.clone(), switches, crashes })
        })
    }

    fn try_plan(
        &mut self,
        plan: &PoolPlan,
        switches: &mut Vec<(u64, usize)>,
    ) -> Result<(), (Finding, Vec<String>)> {
        let alone = |finding| (finding, Vec::new());
        let (aftermath, before) = self.start().map_err(alone)?;
        let sim =
            Sim::after(self.model, self.limit, &aftermath, Chooser::first()).with_pause(pause());
        let open = Arc::new(guarded(|| self.subject.open(sim.clone(), 2)).map_err(alone)?);
        let scribe = Scribe { sim: sim.clone(), calls: Arc::default() };
        let begin = sim.moment();
        let threads = plan.threads.iter().map(|ops| thread(&open, ops, &scribe)).collect();
        let ran = run(threads, plan.strategy.clone(), plan.seed).map_err(alone)?;
        switches.clone_from(&ran.switches);
        let (trace, calls) = (sim.take_trace(), std::mem::take(&mut *scribe.lock()));
        self.settle(&open, &before, &calls).map_err(alone)?;
        self.figures.schedules += 1;
        self.figures.moves += ran.moves;
        self.figures.switches += ran.switches.len() as u64;
        self.crash(&trace, begin, (&before, &calls), plan.seed)
    }

    /// A durable start, made once.
    fn start(&mut self) -> Result<(Aftermath, Maps), Finding> {
        if let Some(known) = &self.start {
            return Ok(known.clone());
        }
        let explorer = Explorer::new(&*self.subject, self.model, self.limit, EFFORT, 0);
        let maps = 0..self.subject.kinds.len();
        let put = |map| BEFORE.map(|key| PoolOp::Put((map, key), key / 10));
        let before: Vec<PoolOp> = maps.flat_map(put).collect();
        let Start { image, model, .. } = explorer.start(&before).map_err(|e| e.to_string())?;
        Ok(self.start.insert((Aftermath::certain(image), model)).clone())
    }

    /// Some order explains what all were told, and leaves what is there when all have ended.
    fn settle(
        &self,
        open: &OpenBatches,
        before: &Maps,
        calls: &[CallOf<PoolOp>],
    ) -> Result<(), Finding> {
        let found = guarded(|| self.subject.observe(open))?;
        let states = check(before.clone(), calls)?;
        if !states.contains(&found) {
            return Err(format!("{found:?} at the end, not one of {states:?}, after {calls:#?}"));
        }
        guarded(|| self.subject.verify(open, &found)).map_err(|e| format!("verify: {e}"))
    }

    fn crash(
        &mut self,
        trace: &Trace,
        begin: usize,
        history: (&Maps, &[CallOf<PoolOp>]),
        seed: u64,
    ) -> Result<(), (Finding, Vec<String>)> {
        let mut explorer = Explorer::new(&*self.subject, self.model, self.limit, EFFORT, seed);
        explorer.count(trace);
        let mut result = Ok(());
        if self.seen.insert(stores_of(trace)) {
            self.figures.traces += 1;
            let points = self.points(trace, begin, history, seed);
            result = explorer.crash_at(trace, points).map_err(|(finding, crashes)| {
                let told = format!("{finding}, after {:#?}", history.1);
                (told, crashes.iter().map(Crash::to_string).collect())
            });
        }
        self.figures.tally.add(&explorer.tally);
        result
    }

    /// Some moments of a trace at which a crash may leave something new, half of them right after a call returned.
    fn points(
        &self,
        trace: &Trace,
        begin: usize,
        (before, calls): (&Maps, &[CallOf<PoolOp>]),
        seed: u64,
    ) -> Vec<Point<Maps>> {
        let is_volatile = |at, line: &[u64; 8]| self.subject.is_volatile(at, line);
        let expect = |events: usize| -> Vec<Maps> {
            let states = after_crash(before.clone(), calls, events as u64);
            states.unwrap_or_default().into_iter().collect()
        };
        let (settling, told) = match self.model.domain {
            // A checkpoint is cut when nobody is between two stores.
            Domain::Marked { .. } => (quiet(trace, begin), Vec::new()),
            _ => moments(self.model, trace, begin),
        };
        let mut random = Random::new(seed ^ 0xC0FF_EE00);
        let mut chosen: Vec<usize> = (0..self.crashes)
            .map(|i| if i % 2 == 0 || told.is_empty() { &settling } else { &told })
            .filter(|from| !from.is_empty())
            .map(|from| *random.pick(from))
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        let folds = &is_volatile as IsVolatile<'_>;
        let at = |moment| points(self.model, trace, moment..moment, Some(folds), expect);
        chosen.into_iter().flat_map(at).collect()
    }
}

/// The moments from `begin` on at which the last writer has left, or waits in a closure.
fn quiet(trace: &Trace, begin: usize) -> Vec<usize> {
    let events = trace.events.iter().enumerate().skip(begin);
    events.filter(|(_, event)| event.action == Action::Quiet).map(|(i, _)| i + 1).collect()
}

fn thread(open: &Arc<OpenBatches>, ops: &[PoolOp], scribe: &Scribe) -> Thread {
    let (open, ops, scribe) = (Arc::clone(open), ops.to_vec(), scribe.clone());
    Box::new(move || ops.iter().try_for_each(|&op| scribe.perform(&open, op)))
}
