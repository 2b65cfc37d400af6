//! One run of a subject on a recorded medium, and the moments at which it may be crashed.

use std::ops::Range;

use crate::aftermath::Aftermath;
use crate::cache::{Cache, IsVolatile};
use crate::event::{Action, Trace};
use crate::model::Model;
use crate::sim::Sim;
use crate::site::Site;
use crate::subject::{Finding, Subject, guarded};

/// A run that ended well.
pub(crate) struct Run<M> {
    pub(crate) trace: Trace,
    /// What the structure may have held at the start.
    expect: Vec<M>,
    /// What it held when it was first known for certain, and after each operation from there on.
    known: Vec<M>,
    /// The events by which more became known: everything was read, an operation began, it returned,
    /// the next one began, and so on.
    turns: Vec<usize>,
}

/// A moment at which the machine comes down.
#[derive(Debug, Clone)]
pub struct Point<M> {
    /// The event that does not happen any more.
    pub index: usize,
    /// Its call, if there is one.
    pub site: Option<Site>,
    /// The last numbered step before.
    pub step: &'static str,
    /// The steps that were taken since anything was made durable.
    pub crossed: Vec<&'static str>,
    /// The steps of the operation in flight, each once; none if none is.
    pub passed: Vec<&'static str>,
    /// What is left.
    pub aftermath: Aftermath,
    /// What the structure may hold.
    pub expect: Vec<M>,
}

/// The steps that a run has come through.
#[derive(Default)]
struct Steps {
    last: &'static str,
    crossed: Vec<&'static str>,
    passed: Vec<&'static str>,
}

impl Steps {
    fn follow(&mut self, action: Action) {
        match action {
            Action::Step(name) => {
                self.last = name;
                for steps in [&mut self.crossed, &mut self.passed] {
                    if !steps.contains(&name) {
                        steps.push(name);
                    }
                }
            }
            Action::Begin(_) | Action::Acknowledge(_) => {
                self.last = "";
                self.passed.clear();
            }
            _ => {}
        }
    }
}

/// The moments of a trace at which a crash may leave something new: before what makes stores durable,
/// and right after anyone was told something. Only those in `within` are given. `expect` says what may
/// be there, given how many events have happened.
pub fn points<M: Clone>(
    model: Model,
    trace: &Trace,
    within: Range<usize>,
    folds: Option<IsVolatile<'_>>,
    expect: impl Fn(usize) -> Vec<M>,
) -> Vec<Point<M>> {
    let mut cache = Cache::new(model, trace.start.clone());
    let (mut points, mut steps, mut told) = (Vec::new(), Steps::default(), true);
    for index in 0..=trace.events.len().min(within.end) {
        let event = trace.events.get(index);
        let settles = event.is_none_or(|event| cache.settles(event));
        if (told || settles || index == within.end) && index >= within.start {
            for aftermath in cache.aftermaths(folds) {
                points.push(Point {
                    index,
                    site: event.map(|event| event.site),
                    step: steps.last,
                    crossed: steps.crossed.clone(),
                    passed: steps.passed.clone(),
                    aftermath,
                    expect: expect(index),
                });
            }
        }
        if settles {
            steps.crossed.clear();
        }
        let Some(event) = event else { break };
        cache.apply(event);
        steps.follow(event.action);
        told = matches!(event.action, Action::Acknowledge(_) | Action::Observed | Action::Quiet);
    }
    points
}

impl<M: Clone> Run<M> {
    /// What the structure may hold once so many events have happened.
    pub(crate) fn expect_at(&self, events: usize) -> Vec<M> {
        match self.turns.partition_point(|&turn| turn < events) {
            0 => self.expect.clone(),
            // Even: an operation is in flight.
            turn => self.known[(turn - 1) / 2..=turn / 2].to_vec(),
        }
    }

    /// The event with which operation number `op` begins, if there is one.
    pub(crate) fn begin_of(&self, op: usize) -> Option<usize> {
        self.trace.events.iter().position(|event| event.action == Action::Begin(op))
    }
}

/// What a session on a recovered medium consists of.
pub(crate) struct SessionRun<'a, S: Subject> {
    pub(crate) subject: &'a S,
    pub(crate) sim: &'a Sim,
    /// Which one it is since the structure was made.
    pub(crate) number: u64,
    /// What the structure may hold at the start.
    pub(crate) expect: &'a [S::Model],
}

impl<S: Subject> SessionRun<'_, S> {
    /// Opens the structure, reads it, checks it, and applies the operations that `ops` makes of what
    /// was found. Gives what was found, and what it held after each operation.
    pub(crate) fn run(
        &self,
        ops: impl FnOnce(&S::Model) -> Vec<S::Op>,
    ) -> Result<Vec<S::Model>, Finding> {
        let Self { subject, sim, number, expect } = self;
        let open =
            guarded(|| subject.open((*sim).clone(), *number)).map_err(|e| format!("open: {e}"))?;
        let found = guarded(|| subject.observe(&open))?;
        if !expect.contains(&found) {
            return Err(subject.difference(&found, expect));
        }
        guarded(|| subject.verify(&open, &found)).map_err(|e| format!("verify: {e}"))?;
        sim.note(Action::Observed);
        let ops = ops(&found);
        self.apply(&open, found, &ops)
    }

    /// The run that gave `known`, with its trace taken out of the medium.
    pub(crate) fn finish(&self, known: Vec<S::Model>) -> Run<S::Model> {
        let trace = self.sim.take_trace();
        let is_turn =
            |action| matches!(action, Action::Observed | Action::Begin(_) | Action::Acknowledge(_));
        let events = trace.events.iter().enumerate();
        let turns = events.filter(|(_, event)| is_turn(event.action)).map(|(i, _)| i).collect();
        Run { trace, expect: self.expect.to_vec(), known, turns }
    }

    fn apply(
        &self,
        open: &S::Open,
        found: S::Model,
        ops: &[S::Op],
    ) -> Result<Vec<S::Model>, Finding> {
        let mut known = vec![found];
        for (i, op) in ops.iter().enumerate() {
            let mut model = known[i].clone();
            self.sim.note(Action::Begin(i));
            let answer = guarded(|| self.subject.apply(open, op))
                .map_err(|e| format!("operation {i}, {op:?}: {e}"))?;
            self.sim.note(Action::Acknowledge(i));
            let expected = self.subject.specify(&mut model, op);
            if answer != expected {
                let told =
                    format!("operation {i}, {op:?}, returned {answer:?}, expected {expected:?}");
                return Err(format!("{told}; after {:?}", &ops[..i]));
            }
            known.push(model);
        }
        if let (Some(last), false) = (known.last(), ops.is_empty()) {
            let after = |e| format!("after {ops:?}: {e}");
            let found = guarded(|| self.subject.observe(open)).map_err(after)?;
            if found != *last {
                return Err(after(self.subject.difference(&found, std::slice::from_ref(last))));
            }
            guarded(|| self.subject.verify(open, last)).map_err(after)?;
        }
        Ok(known)
    }
}
