//! A failure made as short as it goes: operations are left out as long as something still fails.

use std::sync::Arc;

use crate::explore::Explorer;
use crate::failure::Failure;
use crate::subject::Subject;

/// So often is a shorter run tried.
const ATTEMPTS: u32 = 400;

impl<S: Subject> Explorer<'_, S> {
    /// The shortest run that fails, as far as leaving out operations finds it (delta debugging: halves
    /// first, then quarters, down to single ones). What it fails with may be another finding: the
    /// first that the shorter run comes across.
    ///
    /// A failure that does not come again in a run of one thread is given back as it is.
    pub fn shrink(&self, failure: Failure<S::Op>) -> Failure<S::Op> {
        let mut shrinking = Shrinking { explorer: self, best: failure, attempts: ATTEMPTS };
        loop {
            let before = shrinking.length();
            shrinking.shorten(Part::Ops);
            shrinking.shorten(Part::Before);
            if shrinking.length() == before {
                return shrinking.best;
            }
        }
    }

    /// The failure of these operations, if they fail. Nothing that this explorer saw is left out.
    pub fn attempt(&self, before: &[S::Op], ops: &[S::Op], from: usize) -> Option<Failure<S::Op>> {
        let Self { subject, model, limit, effort, seed, .. } = *self;
        let mut explorer = Explorer::new(subject, model, limit, effort, seed);
        explorer.plant(self.mutant);
        explorer.firsts = Arc::clone(&self.firsts);
        match explorer.start(before) {
            Ok(start) => explorer.explore(&start, ops, from).err(),
            Err(failure) => Some(failure),
        }
    }
}

#[derive(Clone, Copy)]
enum Part {
    Before,
    Ops,
}

struct Shrinking<'e, 's, S: Subject> {
    explorer: &'e Explorer<'s, S>,
    best: Failure<S::Op>,
    attempts: u32,
}

impl<S: Subject> Shrinking<'_, '_, S> {
    fn part(&self, part: Part) -> &Vec<S::Op> {
        match part {
            Part::Before => &self.best.before,
            Part::Ops => &self.best.ops,
        }
    }

    fn length(&self) -> usize {
        self.best.before.len() + self.best.ops.len()
    }

    fn shorten(&mut self, part: Part) {
        let mut count = self.part(part).len().next_power_of_two();
        while count > 0 {
            let mut at = 0;
            while at < self.part(part).len() {
                if !self.try_without(part, at, count) {
                    at += count;
                }
            }
            count /= 2;
        }
    }

    fn try_without(&mut self, part: Part, at: usize, count: usize) -> bool {
        if self.attempts == 0 {
            return false;
        }
        self.attempts -= 1;
        let mut shorter = self.part(part).clone();
        let gone = shorter.drain(at..(at + count).min(shorter.len())).len();
        let from = self.best.origin.from;
        let found = match part {
            Part::Before => self.explorer.attempt(&shorter, &self.best.ops, from),
            Part::Ops => {
                let from = from - gone.min(from.saturating_sub(at));
                self.explorer.attempt(&self.best.before, &shorter, from)
            }
        };
        found.map(|failure| self.best = failure).is_some()
    }
}
