//! The check of the explorer itself: contents that are chosen when recovery reads them must lead to
//! everything that all images, made beforehand and recovered one by one, lead to.

use std::collections::BTreeSet;

use crate::aftermath::Aftermath;
use crate::choose::Chooser;
use crate::explore::{Explorer, Start};
use crate::run::{Point, SessionRun};
use crate::sim::Sim;
use crate::subject::{Finding, Subject};

/// What the comparison went through.
#[derive(Debug, Clone, Copy, Default)]
pub struct Comparison {
    /// Crash points that were compared.
    pub points: u64,
    /// Crash points that stand for too many images.
    pub left_out: u64,
    /// Images that were made beforehand.
    pub images: u64,
    /// Recoveries for which contents were chosen as they were read.
    pub recoveries: u64,
    /// Recoveries of such images that found something wrong.
    pub wrong: u64,
}

impl<S: Subject> Explorer<'_, S> {
    /// Compares both ways for each crash point of a run of `ops` that stands for at most `most`
    /// images: they must find the same, right or wrong. Crashes during recovery are left out.
    ///
    /// # Errors
    ///
    /// What only one of them finds, or what went wrong without any crash.
    pub fn compare_eager(
        &self,
        start: &Start<S>,
        ops: &[S::Op],
        most: usize,
    ) -> Result<Comparison, Finding> {
        let run = self.run(start, ops)?;
        let mut comparison = Comparison::default();
        for point in self.points(&run.trace, 0..usize::MAX, |events| run.expect_at(events)) {
            if point.aftermath.images() > most as u64 {
                comparison.left_out += 1;
                continue;
            }
            comparison.points += 1;
            let (lazy, recoveries) = self.lazily(&point);
            let (eager, wrong) = self.eagerly(&point);
            comparison.recoveries += recoveries;
            comparison.images += point.aftermath.images();
            comparison.wrong += wrong;
            if lazy != eager {
                let only_lazy = lazy.difference(&eager);
                let only_eager = eager.difference(&lazy);
                return Err(format!(
                    "event {}: only lazily {only_lazy:?}, only eagerly {only_eager:?}",
                    point.index
                ));
            }
        }
        Ok(comparison)
    }

    /// What the recoveries of a crash find, and how many there are.
    fn lazily(&self, point: &Point<S::Model>) -> (BTreeSet<String>, u64) {
        let (mut outcomes, mut recoveries) = (BTreeSet::new(), 0);
        let mut next = Some(Chooser::first());
        while let Some(chooser) = next {
            let (outcome, sim) = self.outcome(point, &point.aftermath, chooser);
            outcomes.insert(format!("{outcome:?}"));
            recoveries += 1;
            next = sim.choose_by(Chooser::AllOld).next_script();
        }
        (outcomes, recoveries)
    }

    /// What the recoveries of its images find, and how many of them find something wrong.
    fn eagerly(&self, point: &Point<S::Model>) -> (BTreeSet<String>, u64) {
        let (mut outcomes, mut wrong) = (BTreeSet::new(), 0);
        for image in point.aftermath.eager(usize::MAX) {
            let (outcome, _) = self.outcome(point, &Aftermath::certain(image), Chooser::first());
            wrong += u64::from(outcome.is_err());
            outcomes.insert(format!("{outcome:?}"));
        }
        (outcomes, wrong)
    }

    fn outcome(
        &self,
        point: &Point<S::Model>,
        left: &Aftermath,
        chooser: Chooser,
    ) -> (Result<Vec<S::Model>, Finding>, Sim) {
        let sim = Sim::after(self.model, self.limit, left, chooser);
        sim.plant(self.mutant);
        let session =
            SessionRun { subject: self.subject, sim: &sim, number: 3, expect: &point.expect };
        (session.run(|_| Vec::new()), sim)
    }
}
