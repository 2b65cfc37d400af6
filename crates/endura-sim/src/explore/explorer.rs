//! The explorer of one subject.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use crate::aftermath::Aftermath;
use crate::cache::IsVolatile;
use crate::choose::Chooser;
use crate::event::{Action, Trace};
use crate::failure::{Crash, Failure, Origin};
use crate::image::Image;
use crate::model::Model;
use crate::mutant::Calls;
use crate::mutant::Mutant;
use crate::run::{Point, Run, SessionRun, points};
use crate::sim::Sim;
use crate::subject::{Finding, Subject, guarded};
use crate::tally::{Effort, Tally};

/// A state from which runs set out; everything in it is durable.
pub struct Start<S: Subject> {
    /// The medium.
    pub image: Image,
    /// What the structure holds.
    pub model: S::Model,
    /// How it was made.
    pub before: Vec<S::Op>,
}

/// Explores the crashes of a subject under one model.
///
/// What is looked at after a crash depends on the seed and on that crash alone, not on what was explored
/// before: a failure comes again in an explorer that does nothing else.
pub struct Explorer<'s, S: Subject> {
    pub(crate) subject: &'s S,
    pub(crate) model: Model,
    pub(crate) limit: u64,
    pub(crate) effort: Effort,
    pub(crate) seed: u64,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) firsts: Arc<[Option<S::Op>]>,
    pub(super) seen: HashSet<u64>,
    /// The calls of everything that was run, where they are counted.
    pub calls: Option<Calls>,
    /// What was come across so far.
    pub tally: Tally,
}

/// Where a recovery stands: which session it is, and how many crashes came before.
#[derive(Clone, Copy, Hash)]
pub(super) struct Depth {
    pub(super) session: u64,
    pub(super) crashes: u32,
}

impl Depth {
    /// The first session makes the structure, the second is crashed.
    pub(super) const FIRST: Self = Self { session: 3, crashes: 1 };
}

/// What was found, and the crashes that led there, the last one first.
pub(super) type Found = (Finding, Vec<Crash>);

impl<'s, S: Subject> Explorer<'s, S> {
    /// An explorer of `subject` on media of at most `limit` bytes. The same seed explores the same.
    pub fn new(subject: &'s S, model: Model, limit: u64, effort: Effort, seed: u64) -> Self {
        let (mutant, calls, seen, tally) = (None, None, HashSet::new(), Tally::default());
        let firsts = [None].into();
        Self { subject, model, limit, effort, seed, mutant, firsts, seen, calls, tally }
    }

    /// After each crash but the last, each of `ops` in turn is what the structure is first put to use
    /// with. Where recovery is done by the first writers that come by, these are the recovery, and
    /// crashed everywhere ([`Effort::depth`], [`Effort::deep_ops`]) they are crashes during recovery.
    ///
    /// What was seen stays seen: a crash that comes again is looked at with those of `ops` that are new.
    pub fn begin_with(&mut self, ops: impl IntoIterator<Item = S::Op>) {
        self.firsts = ops.into_iter().map(Some).collect();
        if self.firsts.is_empty() {
            self.firsts = [None].into();
        }
    }

    /// Carries a fault into everything that is run from now on.
    pub fn plant(&mut self, mutant: Option<Mutant>) {
        self.mutant = mutant;
        self.seen.clear();
    }

    /// How failures of this explorer are found again.
    pub fn origin(&self, from: usize) -> Box<Origin> {
        let Self { model, limit, effort, seed, mutant, .. } = *self;
        Box::new(Origin { model, limit, effort, seed, mutant, from })
    }

    /// Makes a structure and applies operations to it, none of which is crashed.
    pub fn start(&self, before: &[S::Op]) -> Result<Start<S>, Failure<S::Op>> {
        let sim = Sim::new(self.model, self.limit);
        sim.plant(self.mutant);
        let mut model = self.subject.empty();
        let made = guarded(|| {
            let open = self.subject.create(sim.clone())?;
            for op in before {
                let answer = self.subject.apply(&open, op)?;
                let expected = self.subject.specify(&mut model, op);
                if answer != expected {
                    return Err(format!("{op:?} returned {answer:?}, expected {expected:?}"));
                }
            }
            Ok(sim.image())
        });
        match made {
            Ok(image) => Ok(Start { image, model, before: before.to_vec() }),
            Err(finding) => Err(Failure {
                finding,
                before: before.to_vec(),
                ops: Vec::new(),
                crashes: Vec::new(),
                origin: self.origin(0),
            }),
        }
    }

    /// The run of `ops` from a start, uncrashed.
    pub fn trace(&self, start: &Start<S>, ops: &[S::Op]) -> Result<Trace, Finding> {
        self.run(start, ops).map(|run| run.trace)
    }

    pub(super) fn prepare(&self, sim: &Sim) {
        sim.plant(self.mutant);
        if self.calls.is_some() {
            sim.count_calls();
        }
    }

    pub(super) fn note_calls(&mut self, sim: &Sim) {
        if let Some(calls) = &mut self.calls {
            calls.add(sim.all_calls());
        }
    }

    pub(crate) fn run(&self, start: &Start<S>, ops: &[S::Op]) -> Result<Run<S::Model>, Finding> {
        self.run_on(&self.medium(start), start, ops)
    }

    fn medium(&self, start: &Start<S>) -> Sim {
        let aftermath = Aftermath::certain(start.image.clone());
        let sim = Sim::after(self.model, self.limit, &aftermath, Chooser::first());
        self.prepare(&sim);
        sim
    }

    fn run_on(&self, sim: &Sim, start: &Start<S>, ops: &[S::Op]) -> Result<Run<S::Model>, Finding> {
        let expect = std::slice::from_ref(&start.model);
        let session = SessionRun { subject: self.subject, sim, number: 2, expect };
        session.run(|_| ops.to_vec()).map(|known| session.finish(known))
    }

    /// The run of `ops`, with the calls that it makes.
    pub(super) fn run_and_count(
        &mut self,
        start: &Start<S>,
        ops: &[S::Op],
    ) -> Result<Run<S::Model>, Found> {
        let sim = self.medium(start);
        let run = self.run_on(&sim, start, ops).map_err(|finding| (finding, Vec::new()))?;
        self.note_calls(&sim);
        self.count(&run.trace);
        Ok(run)
    }

    /// Counts a run that is crashed, and the steps that it took.
    pub fn count(&mut self, trace: &Trace) {
        self.tally.traces += 1;
        for event in &trace.events {
            if let Action::Step(step) = event.action {
                *self.tally.steps.entry(step).or_default() += 1;
            }
        }
    }

    /// The moments of a trace that are worth a crash.
    pub(crate) fn points(
        &self,
        trace: &Trace,
        within: Range<usize>,
        expect: impl Fn(usize) -> Vec<S::Model>,
    ) -> Vec<Point<S::Model>> {
        let is_volatile = |at, line: &[u64; 8]| self.subject.is_volatile(at, line);
        let folds = self.effort.folds_volatile.then_some(&is_volatile as IsVolatile<'_>);
        let points = points(self.model, trace, within, folds, expect);
        match self.effort.ties_volatile {
            true => points.into_iter().flat_map(|point| tied(point, &is_volatile)).collect(),
            false => points,
        }
    }
}

/// The point with all words that mean nothing as old as they may be, and with all of them as new.
fn tied<M: Clone>(point: Point<M>, is_volatile: IsVolatile<'_>) -> Vec<Point<M>> {
    match point.aftermath.tied(is_volatile) {
        Some(ends) => ends.map(|aftermath| Point { aftermath, ..point.clone() }).into(),
        None => vec![point],
    }
}

pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
