//! Whole sessions, crashed everywhere.

use super::explorer::{Depth, Explorer, Found, Start};
use crate::event::Trace;
use crate::failure::{Crash, Failure};
use crate::run::Point;
use crate::subject::{Finding, Subject};

impl<S: Subject> Explorer<'_, S> {
    /// Runs `ops` in a session of their own, and crashes them everywhere from the begin of operation
    /// number `from` on.
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
    /// there once so many events have happened. It ends in the second session.
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
        self.crash_session(2, trace, from, expect)
    }

    /// The same for a run that ends in the `session`-th one, counted from 1.
    ///
    /// # Errors
    ///
    /// What was found, and the crashes that led there, first to last.
    pub fn crash_session(
        &mut self,
        session: u64,
        trace: &Trace,
        from: usize,
        expect: impl Fn(usize) -> Vec<S::Model>,
    ) -> Result<(), (Finding, Vec<Crash>)> {
        self.count(trace);
        let points = self.points(trace, from..usize::MAX, expect);
        self.crash_points(trace, points, Depth { session: session + 1, ..Depth::FIRST }).map_err(
            |(finding, mut crashes)| {
                crashes.reverse();
                (finding, crashes)
            },
        )
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

    fn run_and_crash(&mut self, start: &Start<S>, ops: &[S::Op], from: usize) -> Result<(), Found> {
        let run = self.run_and_count(start, ops)?;
        let from = run.begin_of(from).unwrap_or(0);
        let points = self.points(&run.trace, from..usize::MAX, |events| run.expect_at(events));
        self.crash_points(&run.trace, points, Depth::FIRST)
    }
}
