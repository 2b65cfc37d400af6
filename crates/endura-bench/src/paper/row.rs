//! A figure or table of a paper, and what was found of it.

use serde::Serialize;

use super::scale::PaperScale;
use crate::Result;
use crate::results::{Plot, Results};

/// A figure or table of a paper.
pub struct PaperRow {
    /// Whose.
    pub paper: &'static str,
    /// Which, as the paper numbers it.
    pub figure: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What the paper says, in our words.
    pub claim: &'static str,
    /// Structures that the paper compares with and that do not stand here.
    pub missing: &'static [&'static str],
    pub(super) measure: fn(&PaperScale) -> Result<Finding>,
}

impl PaperRow {
    /// `FAST & FAIR fig 3`.
    pub fn name(&self) -> String {
        format!("{} {}", self.paper, self.figure)
    }

    /// Measures it.
    pub fn run(&self, scale: &PaperScale) -> Result<Rerun> {
        let begun = std::time::Instant::now();
        let finding = (self.measure)(scale)?;
        Ok(Rerun {
            paper: self.paper,
            figure: self.figure,
            title: self.title,
            claim: self.claim,
            missing: self.missing,
            verdict: finding.verdict(),
            finding,
            seconds: begun.elapsed().as_secs_f64(),
        })
    }
}

/// What a row found out.
#[derive(Debug, Clone, Serialize)]
pub struct Rerun {
    /// See [`PaperRow::paper`].
    pub paper: &'static str,
    /// See [`PaperRow::figure`].
    pub figure: &'static str,
    /// See [`PaperRow::title`].
    pub title: &'static str,
    /// See [`PaperRow::claim`].
    pub claim: &'static str,
    /// See [`PaperRow::missing`].
    pub missing: &'static [&'static str],
    /// All checks together.
    pub verdict: Verdict,
    /// The figures.
    #[serde(flatten)]
    pub finding: Finding,
    /// How long it took.
    pub seconds: f64,
}

/// Whether a claim holds here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every check does.
    Holds,
    /// Some do.
    Partly,
    /// None does.
    DoesNotHold,
    /// This machine cannot tell, or what it takes does not stand here.
    CannotTell,
}

impl Verdict {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Partly => "holds in part",
            Self::DoesNotHold => "does not hold",
            Self::CannotTell => "cannot be told here",
        }
    }
}

/// Curves and what they say.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What was run, and how it differs from the paper's setup.
    pub setup: String,
    /// What was measured.
    pub plots: Vec<Plot>,
    /// What follows.
    pub checks: Vec<Check>,
}

impl Finding {
    /// All checks together; those that cannot tell do not count beside others.
    pub fn verdict(&self) -> Verdict {
        let told: Vec<bool> = self.checks.iter().filter_map(|check| check.holds).collect();
        match (told.iter().any(|&held| held), told.iter().all(|&held| held)) {
            _ if told.is_empty() => Verdict::CannotTell,
            (_, true) => Verdict::Holds,
            (true, false) => Verdict::Partly,
            (false, _) => Verdict::DoesNotHold,
        }
    }
}

/// One thing that a paper says, against what was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// What must be seen for the claim to hold.
    pub claim: String,
    /// What was seen.
    pub ours: String,
    /// Whether it is that; none if this machine cannot tell.
    pub holds: Option<bool>,
    /// If it is not, or cannot be told: why, as far as is known.
    pub why: String,
}

impl Check {
    /// A check, with the reason that stands beside it if it fails; empty if none is known.
    pub fn new(claim: &str, ours: String, holds: bool, why_not: &str) -> Self {
        let why = match why_not {
            _ if holds => "",
            "" => "it is not known why",
            why_not => why_not,
        };
        Self { claim: claim.into(), ours, holds: Some(holds), why: why.into() }
    }

    /// What cannot be told here.
    pub fn unknown(claim: &str, ours: &str, why: &str) -> Self {
        Self { claim: claim.into(), ours: ours.into(), holds: None, why: why.into() }
    }
}

impl Rerun {
    /// The row as measurements, which another run can be compared with.
    pub fn add_to(&self, results: &mut Results, scale: &PaperScale) {
        let suite = format!("{} {}", self.paper, self.figure);
        for plot in &self.finding.plots {
            results.measurements.extend(plot.measurements(&suite, scale.keys));
        }
    }
}
