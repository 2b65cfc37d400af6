//! One crash: everything that it may leave, what is done with that, and the crashes of that.

use std::sync::Arc;

use crate::choose::{Chooser, Random};
use crate::event::Trace;
use crate::failure::Crash;
use crate::run::{Point, Run, SessionRun};
use crate::sim::Sim;
use crate::subject::Subject;

use super::explorer::{Depth, Explorer, Found, hash};

/// A crash that is looked at.
struct Place<'a, S: Subject> {
    trace: &'a Trace,
    point: &'a Point<S::Model>,
    /// With what the structure is first put to use.
    first: Option<&'a S::Op>,
    depth: Depth,
}

impl<S: Subject> Clone for Place<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Subject> Copy for Place<'_, S> {}

impl<S: Subject> Explorer<'_, S> {
    pub(super) fn crash_points(
        &mut self,
        trace: &Trace,
        points: Vec<Point<S::Model>>,
        depth: Depth,
    ) -> Result<(), Found> {
        for point in points {
            for step in &point.crossed {
                *self.tally.crossed.entry(step).or_default() += 1;
            }
            let key = hash(&(point.aftermath.hash(), &point.expect, depth, "point"));
            let is_new = self.seen.insert(key);
            let count = if is_new { &mut self.tally.points } else { &mut self.tally.same_points };
            *count += 1;
            let is_last = depth.crashes >= self.effort.depth;
            let firsts = if is_last { [None].into() } else { Arc::clone(&self.firsts) };
            for (i, first) in firsts.iter().enumerate() {
                if !self.seen.insert(hash(&(key, format!("{first:?}")))) {
                    continue;
                }
                let mut random = Random::new(self.seed ^ key);
                let is_complete = self.crash(trace, &point, first.as_ref(), depth, &mut random)?;
                self.tally.exhaustive_points += u64::from(is_new && i == 0 && is_complete);
            }
        }
        Ok(())
    }

    /// Everything that one crash may leave, or much of it; gives whether it was everything.
    fn crash(
        &mut self,
        trace: &Trace,
        point: &Point<S::Model>,
        first: Option<&S::Op>,
        depth: Depth,
        random: &mut Random,
    ) -> Result<bool, Found> {
        let at = Place { trace, point, first, depth };
        let (mut chooser, mut met) = (Chooser::first(), Vec::new());
        for _ in 0..self.effort.exhaustive {
            match self.recover(at, chooser, random, &mut met)?.next_script() {
                Some(next) => chooser = next,
                None => {
                    self.seen.extend(met);
                    return Ok(!point.aftermath.is_partial);
                }
            }
        }
        let lines: Vec<u64> = point.aftermath.open.keys().copied().collect();
        let mut choosers = vec![Chooser::AllOld, Chooser::AllNew];
        choosers
            .extend(lines.iter().flat_map(|&line| [Chooser::OneOld(line), Chooser::OneNew(line)]));
        choosers.extend((0..self.effort.samples).map(|_| Chooser::Sample(random.fork())));
        for chooser in choosers {
            self.recover(at, chooser, random, &mut Vec::new())?;
        }
        Ok(false)
    }

    /// One recovery; gives back how its open lines were chosen. One that turns out to be another one,
    /// when everything has been read, ends there; `met` is what this one was then, if nothing of it was
    /// before.
    fn recover(
        &mut self,
        at: Place<'_, S>,
        chooser: Chooser,
        random: &mut Random,
        met: &mut Vec<u64>,
    ) -> Result<Chooser, Found> {
        let Place { trace, point, first, depth } = at;
        let continues = random.one_in(self.effort.continue_one_in);
        let deepens = depth.crashes < self.effort.depth && random.one_in(self.effort.deepen_one_in);
        let other = random.fork();
        let sim = Sim::after(self.model, self.limit, &point.aftermath, chooser);
        self.prepare(&sim);
        // Where not each recovery is continued, the choices of continuations are no part of the script:
        // it would not fit the next one.
        let (is_scripted, mut script) = (self.effort.continue_one_in <= 1, None);
        let mut is_known = false;
        let ops = |found: &S::Model| {
            if is_scripted && sim.is_at_end_of_script() {
                let first = format!("{first:?}");
                let key = hash(&(sim.origin().hash(), &point.expect, first, depth, "read"));
                is_known = self.seen.contains(&key);
                met.push(key);
            }
            if !continues || is_known {
                return Vec::new();
            }
            if !is_scripted {
                script = Some(sim.choose_by(Chooser::Sample(other)));
            }
            self.use_after(found, first)
        };
        let (number, expect) = (depth.session, &point.expect[..]);
        let session = SessionRun { subject: self.subject, sim: &sim, number, expect };
        let (model, subject) = (self.model, self.subject);
        let is_volatile = |at, line: &[u64; 8]| subject.is_volatile(at, line);
        let crashed = || Crash::new(model, trace, point, &sim.origin(), &is_volatile);
        let known = session.run(ops).map_err(|finding| (finding, vec![crashed()]))?;
        let chooser = sim.choose_by(Chooser::AllOld);
        let chooser = script.unwrap_or(chooser);
        self.note_calls(&sim);
        self.count_image(point, &sim, depth);
        if deepens && !is_known {
            let first = format!("{first:?}");
            let key = hash(&(sim.origin().hash(), &known, first, &point.expect, depth, "run"));
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

    /// With what a structure that holds `found` is put to use.
    fn use_after(&self, found: &S::Model, first: Option<&S::Op>) -> Vec<S::Op> {
        let mut random = Random::new(self.seed ^ hash(found));
        let Some(first) = first else { return self.subject.continuation(found, &mut random) };
        let mut after = found.clone();
        self.subject.specify(&mut after, first);
        let mut ops = vec![first.clone()];
        ops.extend(self.subject.continuation(&after, &mut random));
        ops
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
    pub(super) fn few(&self, mut points: Vec<Point<S::Model>>, key: u64) -> Vec<Point<S::Model>> {
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
