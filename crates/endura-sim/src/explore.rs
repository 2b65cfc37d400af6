//! Crashes at every moment of a run, and everything that each may leave.

mod killed;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use crate::aftermath::Aftermath;
use crate::cache::IsVolatile;
use crate::choose::{Chooser, Random};
use crate::event::{Action, Trace};
use crate::failure::{Crash, Failure, Origin};
use crate::image::Image;
use crate::model::Model;
use crate::mutant::Mutant;
use crate::mutate::Calls;
use crate::run::{Point, Run, Session, points};
use crate::sim::Sim;
use crate::subject::{Finding, Subject, guarded};
use crate::tally::{Effort, Tally};

pub use killed::{Next, visible};

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
    seen: HashSet<u64>,
    /// The calls of everything that was run, where they are counted.
    pub calls: Option<Calls>,
    /// What was come across so far.
    pub tally: Tally,
}

/// Where a recovery stands: which session it is, and how many crashes came before.
#[derive(Clone, Copy)]
struct Depth {
    session: u64,
    crashes: u32,
}

impl Depth {
    /// The first session makes the structure, the second is crashed.
    const FIRST: Self = Self { session: 3, crashes: 1 };
}

/// What was found, and the crashes that led there, the last one first.
type Found = (Finding, Vec<Crash>);

impl<'s, S: Subject> Explorer<'s, S> {
    /// An explorer of `subject` on media of at most `limit` bytes. The same seed explores the same.
    pub fn new(subject: &'s S, model: Model, limit: u64, effort: Effort, seed: u64) -> Self {
        let (mutant, calls, seen, tally) = (None, None, HashSet::new(), Tally::default());
        Self { subject, model, limit, effort, seed, mutant, seen, calls, tally }
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
    ///
    /// # Errors
    ///
    /// What went wrong without any crash.
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

    /// Runs `ops` in a session of their own, and crashes them everywhere from the begin of operation
    /// number `from` on.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn explore(
        &mut self,
        start: &Start<S>,
        ops: &[S::Op],
        from: usize,
    ) -> Result<(), Failure<S::Op>> {
        self.run_and_crash(start, ops, from).map_err(|(finding, mut crashes)| {
            crashes.reverse();
            let (before, ops) = (start.before.clone(), ops.to_vec());
            Failure { finding, before, ops, crashes, origin: self.origin(from) }
        })
    }

    /// Crashes a run that somebody else made, of several threads perhaps; `expect` says what may be
    /// there once so many events have happened.
    ///
    /// # Errors
    ///
    /// What was found, and the crashes that led there, first to last.
    pub fn crash_trace(
        &mut self,
        trace: &Trace,
        from: usize,
        expect: impl Fn(usize) -> Vec<S::Model>,
    ) -> Result<(), (Finding, Vec<Crash>)> {
        self.count(trace);
        let points = self.points(trace, from..usize::MAX, expect);
        self.crash_at(trace, points)
    }

    /// Crashes a run that somebody else made at moments that somebody else chose.
    ///
    /// # Errors
    ///
    /// What was found, and the crashes that led there, first to last.
    pub fn crash_at(
        &mut self,
        trace: &Trace,
        points: Vec<Point<S::Model>>,
    ) -> Result<(), (Finding, Vec<Crash>)> {
        self.crash_points(trace, points, Depth::FIRST).map_err(|(finding, mut crashes)| {
            crashes.reverse();
            (finding, crashes)
        })
    }

    /// The run of `ops` from a start, uncrashed.
    ///
    /// # Errors
    ///
    /// What went wrong without any crash.
    pub fn trace(&self, start: &Start<S>, ops: &[S::Op]) -> Result<Trace, Finding> {
        self.run(start, ops).map(|run| run.trace)
    }

    fn prepare(&self, sim: &Sim) {
        sim.plant(self.mutant);
        if self.calls.is_some() {
            sim.count_calls();
        }
    }

    fn note_calls(&mut self, sim: &Sim) {
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
        let session = Session { subject: self.subject, sim, number: 2, expect };
        session.run(|_| ops.to_vec()).map(|known| session.finish(known))
    }

    /// The run of `ops`, with the calls that it makes.
    fn run_and_count(&mut self, start: &Start<S>, ops: &[S::Op]) -> Result<Run<S::Model>, Found> {
        let sim = self.medium(start);
        let run = self.run_on(&sim, start, ops).map_err(|finding| (finding, Vec::new()))?;
        self.note_calls(&sim);
        self.count(&run.trace);
        Ok(run)
    }

    fn run_and_crash(&mut self, start: &Start<S>, ops: &[S::Op], from: usize) -> Result<(), Found> {
        let run = self.run_and_count(start, ops)?;
        let from = run.begin_of(from).unwrap_or(0);
        let points = self.points(&run.trace, from..usize::MAX, |events| run.expect_at(events));
        self.crash_points(&run.trace, points, Depth::FIRST)
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
        points(self.model, trace, within, folds, expect)
    }

    fn crash_points(
        &mut self,
        trace: &Trace,
        points: Vec<Point<S::Model>>,
        depth: Depth,
    ) -> Result<(), Found> {
        for point in points {
            for step in &point.crossed {
                *self.tally.crossed.entry(step).or_default() += 1;
            }
            let key = hash(&(point.aftermath.hash(), &point.expect, depth.crashes, "point"));
            if self.seen.insert(key) {
                self.tally.points += 1;
                self.crash(trace, &point, depth, &mut Random::new(self.seed ^ key))?;
            } else {
                self.tally.same_points += 1;
            }
        }
        Ok(())
    }

    /// Everything that one crash may leave.
    fn crash(
        &mut self,
        trace: &Trace,
        point: &Point<S::Model>,
        depth: Depth,
        random: &mut Random,
    ) -> Result<(), Found> {
        let mut chooser = Chooser::first();
        for _ in 0..self.effort.exhaustive {
            match self.recover(trace, point, chooser, depth, random)?.next_script() {
                Some(next) => chooser = next,
                None => {
                    self.tally.exhaustive_points += u64::from(!point.aftermath.is_partial);
                    return Ok(());
                }
            }
        }
        let lines: Vec<u64> = point.aftermath.open.keys().copied().collect();
        let mut choosers = vec![Chooser::AllOld, Chooser::AllNew];
        choosers
            .extend(lines.iter().flat_map(|&line| [Chooser::OneOld(line), Chooser::OneNew(line)]));
        choosers.extend((0..self.effort.samples).map(|_| Chooser::Sample(random.fork())));
        choosers
            .into_iter()
            .try_for_each(|chooser| self.recover(trace, point, chooser, depth, random).map(drop))
    }

    /// One recovery; gives back how its open lines were chosen.
    fn recover(
        &mut self,
        trace: &Trace,
        point: &Point<S::Model>,
        chooser: Chooser,
        depth: Depth,
        random: &mut Random,
    ) -> Result<Chooser, Found> {
        let continues = random.one_in(self.effort.continue_one_in);
        let deepens = depth.crashes < self.effort.depth && random.one_in(self.effort.deepen_one_in);
        let (seed, other) = (self.seed, random.fork());
        let sim = Sim::after(self.model, self.limit, &point.aftermath, chooser);
        self.prepare(&sim);
        // Where not each recovery is continued, the choices of continuations are no part of the script:
        // it would not fit the next one.
        let (is_scripted, mut script) = (self.effort.continue_one_in <= 1, None);
        let ops = |found: &S::Model| match continues {
            true => {
                if !is_scripted {
                    script = Some(sim.choose_by(Chooser::Sample(other)));
                }
                self.subject.continuation(found, &mut Random::new(seed ^ hash(found)))
            }
            false => Vec::new(),
        };
        let (number, expect) = (depth.session, &point.expect[..]);
        let session = Session { subject: self.subject, sim: &sim, number, expect };
        let (model, subject) = (self.model, self.subject);
        let is_volatile = |at, line: &[u64; 8]| subject.is_volatile(at, line);
        let crashed = || Crash::new(model, trace, point, &sim.origin(), &is_volatile);
        let known = session.run(ops).map_err(|finding| (finding, vec![crashed()]))?;
        let chooser = sim.choose_by(Chooser::AllOld);
        let chooser = script.unwrap_or(chooser);
        self.note_calls(&sim);
        self.count_image(point, &sim, depth);
        if deepens {
            let key = (sim.origin().hash(), &known, &point.expect, depth.crashes, "run");
            let key = hash(&key);
            if self.seen.insert(key) {
                self.deepen(&session.finish(known), depth, key).map_err(
                    |(finding, mut crashes)| {
                        crashes.push(crashed());
                        (finding, crashes)
                    },
                )?;
            }
        }
        Ok(chooser)
    }

    /// Crashes a recovery and the work after it.
    fn deepen(&mut self, run: &Run<S::Model>, depth: Depth, key: u64) -> Result<(), Found> {
        let end = run.begin_of(self.effort.deep_ops).unwrap_or(usize::MAX);
        let points = self.points(&run.trace, 0..end, |events| run.expect_at(events));
        let points = self.few(points, key);
        let next = Depth { session: depth.session + 1, crashes: depth.crashes + 1 };
        self.crash_points(&run.trace, points, next)
    }

    /// As many of the crash points of a recovery as are worth the effort.
    fn few(&self, mut points: Vec<Point<S::Model>>, key: u64) -> Vec<Point<S::Model>> {
        let mut random = Random::new(self.seed ^ key);
        while points.len() > self.effort.deep_points {
            let gone = random.below(points.len() as u64) as usize;
            points.swap_remove(gone);
        }
        points
    }

    fn count_image(&mut self, point: &Point<S::Model>, sim: &Sim, depth: Depth) {
        let image = hash(&(sim.decided(), &point.expect, "image"));
        if !self.seen.insert(image) {
            self.tally.same_images += 1;
            return;
        }
        self.tally.images += 1;
        if depth.crashes == 1 {
            self.tally.fingerprint = self.tally.fingerprint.wrapping_add(image);
        }
        self.tally.deep_images += u64::from(depth.crashes > 1);
        *self.tally.inside.entry(point.step).or_default() += 1;
        let is_structural = point.passed.iter().any(|step| self.subject.is_structural(step));
        self.tally.structural_images += u64::from(is_structural);
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
