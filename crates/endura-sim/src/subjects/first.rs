//! A subject that begins to work on in a certain way.

use crate::choose::Random;
use crate::sim::Sim;
use crate::subject::{Finding, Subject};

/// Another subject whose continuation after a crash begins with certain operations.
///
/// Where recovery is done by the first writers that come by, these are the recovery: each of them in
/// turn, crashed everywhere, is a crash during recovery.
pub struct First<'s, S: Subject> {
    /// The other one.
    pub subject: &'s S,
    /// With what to begin.
    pub ops: Vec<S::Op>,
}

impl<S: Subject> Subject for First<'_, S> {
    type Open = S::Open;
    type Op = S::Op;
    type Answer = S::Answer;
    type Model = S::Model;

    fn create(&self, medium: Sim) -> Result<S::Open, Finding> {
        self.subject.create(medium)
    }

    fn open(&self, medium: Sim, session: u64) -> Result<S::Open, Finding> {
        self.subject.open(medium, session)
    }

    fn empty(&self) -> S::Model {
        self.subject.empty()
    }

    fn apply(&self, open: &S::Open, op: &S::Op) -> Result<S::Answer, Finding> {
        self.subject.apply(open, op)
    }

    fn specify(&self, model: &mut S::Model, op: &S::Op) -> S::Answer {
        self.subject.specify(model, op)
    }

    fn observe(&self, open: &S::Open) -> Result<S::Model, Finding> {
        self.subject.observe(open)
    }

    fn verify(&self, open: &S::Open, model: &S::Model) -> Result<(), Finding> {
        self.subject.verify(open, model)
    }

    fn continuation(&self, model: &S::Model, random: &mut Random) -> Vec<S::Op> {
        let mut after = model.clone();
        let mut ops = self.ops.clone();
        ops.iter().for_each(|op| _ = self.subject.specify(&mut after, op));
        ops.extend(self.subject.continuation(&after, random));
        ops
    }

    fn difference(&self, found: &S::Model, expected: &[S::Model]) -> String {
        self.subject.difference(found, expected)
    }

    fn is_structural(&self, step: &str) -> bool {
        self.subject.is_structural(step)
    }

    fn is_volatile(&self, at: u64, line: &[u64; 8]) -> bool {
        self.subject.is_volatile(at, line)
    }
}
