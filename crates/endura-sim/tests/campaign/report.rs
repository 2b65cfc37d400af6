//! What a campaign came across.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use endura_sim::model::Model;
use endura_sim::tally::Tally;

use crate::jobs::{MODELS, Outcome, WALKED};

/// The sum of all that was done so far.
#[derive(Default)]
pub(crate) struct CampaignTally {
    pub(crate) done: u64,
    /// Whether that was all there was to do.
    pub(crate) is_complete: bool,
    pub(crate) took: Duration,
    /// How long its threads have run, all together.
    pub(crate) ran: Duration,
    pub(crate) failure: Option<String>,
    /// By part and model: how many jobs, and what they came across.
    parts: BTreeMap<(&'static str, &'static str), (u64, Tally)>,
}

impl CampaignTally {
    /// Adds a job.
    pub(crate) fn add(&mut self, part: &'static str, model: Model, outcome: Outcome) {
        let name = WALKED.iter().find(|m| m.1 == model).map_or("another model", |m| m.0);
        match outcome {
            Ok(tally) => {
                let (jobs, sum) = self.parts.entry((part, name)).or_default();
                *jobs += 1;
                sum.add(&tally);
                self.done += 1;
            }
            Err(failure) => self.failure = self.failure.take().or(Some(failure)),
        }
    }

    /// All parts under one model, or under all.
    pub(crate) fn sum(&self, model: Option<&str>) -> Tally {
        let mut sum = Tally::default();
        let wanted = |name: &str| model.is_none_or(|model| model == name);
        self.parts
            .iter()
            .filter(|(key, _)| wanted(key.1))
            .for_each(|(_, (_, tally))| sum.add(tally));
        sum
    }

    /// Fails if anything was found, or if no crash cut through one of `steps` under some model.
    pub(crate) fn assert_clean(&self, steps: &[&str]) {
        println!("{self}");
        if let Some(failure) = &self.failure {
            panic!("{failure}");
        }
        assert_eq!(self.missing(steps), None, "never crossed");
    }

    /// Those of `steps` that no crash has cut through under some model.
    pub(crate) fn missing<'s>(&self, steps: &[&'s str]) -> Option<(&'static str, Vec<&'s str>)> {
        MODELS.iter().find_map(|&(model, _)| {
            let crossed = self.sum(Some(model)).crossed;
            let is_missing = |step: &&str| !crossed.contains_key(step);
            let missing: Vec<&str> = steps.iter().copied().filter(is_missing).collect();
            (!missing.is_empty()).then_some((model, missing))
        })
    }
}

impl fmt::Display for CampaignTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, took, ran, .. } = self;
        let all = if self.is_complete { "all jobs, " } else { "the time is up after the first " };
        writeln!(f, "{all}{done} of them in {took:.1?}, {ran:.1?} of the processors")?;
        let head = ["jobs", "runs", "points", "sampled", "images", "structural", "deep"];
        write!(f, "{:24} {:12}", "", "")?;
        head.iter().try_for_each(|head| write!(f, " {head:>11}"))?;
        for ((part, model), (jobs, t)) in &self.parts {
            let sampled = t.points - t.exhaustive_points;
            write!(f, "\n{part:24} {model:12}")?;
            [*jobs, t.traces, t.points, sampled, t.images, t.structural_images, t.deep_images]
                .iter()
                .try_for_each(|n| write!(f, " {n:>11}"))?;
        }
        writeln!(f, "\n\ncrashes that cut through each step")?;
        write!(f, "{:24}", "")?;
        MODELS.iter().try_for_each(|(model, _)| write!(f, " {model:>12}"))?;
        let sums: Vec<Tally> = MODELS.iter().map(|(model, _)| self.sum(Some(model))).collect();
        for step in self.sum(None).crossed.keys() {
            write!(f, "\n{step:24}")?;
            for sum in &sums {
                write!(f, " {:>12}", sum.crossed.get(step).copied().unwrap_or(0))?;
            }
        }
        Ok(())
    }
}
