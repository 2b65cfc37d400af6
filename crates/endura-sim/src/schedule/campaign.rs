//! Plans, run one after the other, each with crashes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::history::{History, Scribe};
use super::map::{Task, account};
use super::plan::{Family, Plan};
use super::run::{Ran, Thread, pause, run};
use crate::aftermath::Aftermath;
use crate::cache::{Cache, IsVolatile};
use crate::choose::{Chooser, Random};
use crate::event::{Action, Trace};
use crate::explore::{Explorer, visible};
use crate::failure::Crash;
use crate::image::Image;
use crate::model::Model;
use crate::mutant::Calls;
use crate::mutant::Mutant;
use crate::run::{Point, points};
use crate::sim::{Sim, Stale};
use crate::subject::{Finding, Subject, guarded};
use crate::subjects::{MapOp, NumberTree, Numbers, OpenNumbers};
use crate::tally::{Effort, Tally};

/// A plan that went wrong.
#[derive(Debug, Clone)]
pub struct Unsound {
    /// What was found.
    pub finding: Finding,
    /// What was run.
    pub plan: Plan,
    /// How the turns went: after so many moves, to whom.
    pub switches: Vec<(u64, usize)>,
    /// The crash, if there was one.
    pub crashes: Vec<String>,
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { before, threads, strategy, seed } = &self.plan;
        writeln!(f, "{}", self.finding)?;
        writeln!(f, "  made by  {before:?}")?;
        threads.iter().enumerate().try_for_each(|(i, t)| writeln!(f, "  thread {i} {t:?}"))?;
        writeln!(f, "  turns    {strategy:?}, seed {seed}: {:?}", self.switches)?;
        self.crashes.iter().try_for_each(|crash| writeln!(f, "  crash    {crash}"))
    }
}

/// What a campaign came across.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Schedules that were run.
    pub schedules: u64,
    /// Of those: different ones, by the order in which the threads made their stores, and by what they
    /// were told.
    pub traces: u64,
    /// Moves of all of them.
    pub moves: u64,
    /// Changes of turn.
    pub switches: u64,
    /// What was crashed, and which steps were crossed.
    pub tally: Tally,
}

impl Figures {
    /// Takes others in.
    pub fn add(&mut self, other: &Self) {
        self.schedules += other.schedules;
        self.traces += other.traces;
        self.moves += other.moves;
        self.switches += other.switches;
        self.tally.add(&other.tally);
    }
}

/// Runs plans over a map, under one model.
pub struct Campaign<S> {
    subject: Arc<S>,
    model: Model,
    limit: u64,
    effort: Effort,
    /// Moments at which each schedule is crashed.
    crashes: usize,
    is_fresh: bool,
    stale: Option<Stale>,
    cut: Option<Cut>,
    mutant: Option<Mutant>,
    calls: Option<Calls>,
    starts: HashMap<Vec<MapOp>, (Aftermath, BTreeMap<u64, u64>)>,
    seen: HashSet<u64>,
    /// What was come across so far.
    pub figures: Figures,
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

/// An operation that was cut short before the threads begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Which.
    pub op: MapOp,
    /// Where the power failed, after everything before was written back.
    pub step: &'static str,
    /// The how maniest time that it came there, from 1.
    pub nth: usize,
}

/// Moves of a run, about.
const LENGTH: u64 = 300;

/// A medium, the map on it, and what that holds.
type Opened<T> = (Sim, OpenNumbers<T>, BTreeMap<u64, u64>);

impl<T: NumberTree> Campaign<Numbers<T>> {
    /// A campaign on media of at most `limit` bytes that crashes each schedule at `crashes` moments.
    pub fn new(subject: Numbers<T>, model: Model, limit: u64, crashes: usize) -> Self {
        Self {
            subject: Arc::new(subject),
            model,
            limit,
            effort: EFFORT,
            crashes,
            is_fresh: false,
            stale: None,
            cut: None,
            mutant: None,
            calls: None,
            starts: HashMap::new(),
            seen: HashSet::new(),
            figures: Figures::default(),
        }
    }

    /// Carries a fault into everything that is run from now on.
    pub fn plant(&mut self, mutant: Option<Mutant>) {
        self.mutant = mutant;
        self.seen.clear();
    }

    /// Begins to take down which calls of the medium are made.
    pub fn count_calls(&mut self) {
        self.calls = Some(Calls::default());
    }

    /// The calls made since [`count_calls`](Self::count_calls).
    pub fn calls(&self) -> Calls {
        self.calls.clone().unwrap_or_default()
    }

    /// Lets the session in which the threads run begin with an empty medium: then no chunk may be lost
    /// at the end, and there is more of it to go through.
    #[must_use]
    pub fn with_fresh_starts(self) -> Self {
        Self { is_fresh: true, ..self }
    }

    /// Lets the threads see each other's stores as late as the orders of their accesses allow
    /// ([`Sim::weaken_visibility`]).
    #[must_use]
    pub fn with_weak_visibility(self, stale: Stale) -> Self {
        Self { stale: Some(stale), ..self }
    }

    /// Lets the session before that of the threads end in the middle of an operation.
    #[must_use]
    pub fn after_cut(self, cut: Cut) -> Self {
        Self { cut: Some(cut), ..self }
    }

    /// Looks at other contents after each crash than the usual few.
    #[must_use]
    pub fn with_effort(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// Runs the plans of a family with these seeds.
    ///
    /// # Errors
    ///
    /// The first plan that goes wrong.
    pub fn family(
        &mut self,
        family: Family,
        seeds: std::ops::Range<u64>,
    ) -> Result<(), Box<Unsound>> {
        let (keys, steps) = (self.subject.keys.clone(), self.subject.steps());
        seeds.into_iter().try_for_each(|seed| {
            self.plan(&Plan::new(family, &keys, steps, LENGTH, seed)).map(drop)
        })
    }

    /// Runs one plan, and crashes it.
    pub fn plan(&mut self, plan: &Plan) -> Result<Ran, Box<Unsound>> {
        let mut switches = Vec::new();
        self.try_plan(plan, &mut switches).map_err(|(finding, crashes)| {
            Box::new(Unsound { finding, plan: plan.clone(), switches, crashes })
        })
    }

    fn try_plan(
        &mut self,
        plan: &Plan,
        switches: &mut Vec<(u64, usize)>,
    ) -> Result<Ran, (Finding, Vec<String>)> {
        let alone = |finding| (finding, Vec::new());
        let (sim, open, before) = self.open(&plan.before).map_err(alone)?;
        let open = Arc::new(open);
        let scribe = Scribe::new(&sim, before);
        let threads = plan.threads.iter().map(|tasks| self.thread(&open, tasks, &scribe)).collect();
        if let Some(stale) = self.stale {
            sim.weaken_visibility(stale, plan.seed);
        }
        let ran = run(threads, plan.strategy.clone(), plan.seed).map_err(alone)?;
        switches.clone_from(&ran.switches);
        sim.end_weak_visibility();
        let (trace, history) = (sim.take_trace(), scribe.finish());
        if let Some(calls) = &mut self.calls {
            calls.add(sim.all_calls());
        }
        self.settle(&open, &history).map_err(alone)?;
        self.figures.schedules += 1;
        self.figures.moves += ran.moves;
        self.figures.switches += ran.switches.len() as u64;
        self.crash(&trace, &history, plan.seed)?;
        Ok(ran)
    }

    fn thread(&self, open: &Arc<OpenNumbers<T>>, tasks: &[Task], scribe: &Scribe) -> Thread {
        let (subject, open) = (Arc::clone(&self.subject), Arc::clone(open));
        let (tasks, scribe) = (tasks.to_vec(), scribe.clone());
        Box::new(move || {
            tasks.iter().try_for_each(|task| task.perform(&subject.keys, &open, &scribe))
        })
    }

    /// The medium on which the threads run, and the map on it: opened, or made by this very session.
    fn open(&mut self, before: &[MapOp]) -> Result<Opened<T>, Finding> {
        let (start, model) = match self.is_fresh {
            true => (Aftermath::default(), self.subject.empty()),
            false => self.start(before)?,
        };
        let sim = Sim::after(self.model, self.limit, &start, Chooser::first()).with_pause(pause());
        sim.plant(self.mutant);
        if self.calls.is_some() {
            sim.count_calls();
        }
        if !self.is_fresh {
            let open = guarded(|| self.subject.open(sim.clone(), 2))?;
            return Ok((sim, open, model));
        }
        let mut model = model;
        let open = guarded(|| self.subject.create(sim.clone()))?;
        for op in before {
            guarded(|| self.subject.apply(&open, op))?;
            self.subject.specify(&mut model, op);
        }
        Ok((sim, open, model))
    }

    /// A durable start, made once.
    fn start(&mut self, before: &[MapOp]) -> Result<(Aftermath, BTreeMap<u64, u64>), Finding> {
        if let Some(known) = self.starts.get(before) {
            return Ok(known.clone());
        }
        let explorer = Explorer::new(&*self.subject, self.model, self.limit, self.effort, 0);
        let start = explorer.start(before).map_err(|e| e.to_string())?;
        let start = match self.cut {
            Some(cut) => self.cut_short(start.image, cut)?,
            None => (Aftermath::certain(start.image), start.model),
        };
        self.starts.insert(before.to_vec(), start.clone());
        Ok(start)
    }

    /// What an operation leaves that ends in the middle, and what the map holds then. It is one of the
    /// session that made the map, so that the threads are in a later one.
    fn cut_short(
        &self,
        image: Image,
        Cut { op, step, nth }: Cut,
    ) -> Result<(Aftermath, BTreeMap<u64, u64>), Finding> {
        let open = |left: &Aftermath, session| {
            let sim = Sim::after(self.model, self.limit, left, Chooser::first());
            guarded(|| self.subject.open(sim.clone(), session)).map(|open| (sim, open))
        };
        let (sim, map) = open(&Aftermath::certain(image), 1)?;
        guarded(|| self.subject.apply(&map, &op))?;
        let trace = sim.take_trace();
        let comes = |i: &usize| trace.events[*i].action == Action::Step(step);
        let end = (0..trace.events.len()).filter(comes).nth(nth - 1);
        let left = visible(&trace, end.ok_or_else(|| format!("{op:?} does not come to {step}"))?);
        let (_, map) = open(&left, 2)?;
        Ok((left, guarded(|| self.subject.observe(&map))?))
    }

    /// What is there when all have ended.
    fn settle(&self, open: &OpenNumbers<T>, history: &History) -> Result<(), Finding> {
        let found = guarded(|| self.subject.observe(open))?;
        history.check(&found)?;
        guarded(|| self.subject.verify(open, &found)).map_err(|e| format!("verify: {e}"))?;
        guarded(|| account(open, &found, self.is_fresh))
    }

    fn crash(
        &mut self,
        trace: &Trace,
        history: &History,
        seed: u64,
    ) -> Result<(), (Finding, Vec<String>)> {
        let mut explorer = Explorer::new(&*self.subject, self.model, self.limit, self.effort, seed);
        explorer.plant(self.mutant);
        explorer.count(trace);
        let told = |(finding, crashes): (Finding, Vec<Crash>)| {
            (finding, crashes.iter().map(Crash::to_string).collect())
        };
        let result = match self.seen.insert(stores_of(trace) ^ history.fingerprint()) {
            false => Ok(()),
            true => {
                self.figures.traces += 1;
                explorer.crash_at(trace, self.points(trace, history, seed)).map_err(told)
            }
        };
        self.figures.tally.add(&explorer.tally);
        result
    }

    /// Some moments of a trace at which a crash may leave something new, half of them right after a
    /// call returned; or all moments.
    fn points(
        &self,
        trace: &Trace,
        history: &History,
        seed: u64,
    ) -> Vec<Point<BTreeMap<u64, u64>>> {
        let is_volatile = |at, line: &[u64; 8]| self.subject.is_volatile(at, line);
        let folds = self.effort.folds_volatile.then_some(&is_volatile as IsVolatile<'_>);
        let points =
            |within| points(self.model, trace, within, folds, |events| history.after_crash(events));
        if self.crashes == usize::MAX {
            return points(history.begin()..usize::MAX);
        }
        let (settling, told) = moments(self.model, trace, history.begin());
        let mut random = Random::new(seed ^ 0xC0FF_EE00);
        let mut chosen: Vec<usize> = (0..self.crashes)
            .map(|i| if i % 2 == 0 || told.is_empty() { &settling } else { &told })
            .filter(|from| !from.is_empty())
            .map(|from| *random.pick(from))
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().flat_map(|moment| points(moment..moment)).collect()
    }
}

/// The events from `begin` on that make something durable, and those before which a call returned.
pub(super) fn moments(model: Model, trace: &Trace, begin: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut settling, mut told) = (Vec::new(), Vec::new());
    let mut cache = Cache::new(model, trace.start.clone());
    for (i, event) in trace.events.iter().enumerate() {
        if i >= begin && cache.settles(event) {
            settling.push(i);
        }
        cache.apply(event);
        if i >= begin && matches!(event.action, Action::Acknowledge(_)) {
            told.push(i + 1);
        }
    }
    (settling, told)
}

/// Equal for runs in which the same threads stored the same in the same order.
pub(super) fn stores_of(trace: &Trace) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for event in &trace.events {
        match event.action {
            Action::Store { at, value, .. } | Action::Exchange { at, value } => {
                (event.by, at, value).hash(&mut hasher);
            }
            Action::Begin(_) | Action::Acknowledge(_) | Action::Flush { .. } | Action::Fence => {
                event.by.hash(&mut hasher);
            }
            _ => {}
        }
    }
    hasher.finish()
}
