//! One page that tells all: plots, counts, claims, and where endura is behind.
//!
//! [`Report`] holds what was measured; [`Report::write`] makes of it one HTML file that needs no network,
//! and beside it the same as CSV and JSON. [`measure`] makes one. Nothing is left out that was measured: what
//! is slower than a peer stands in a section of its own, in the same type as the rest.

mod bars;
mod behind;
mod colours;
mod csv;
mod curves;
mod draw;
mod floors;
mod gather;
mod goals;
mod html;
mod measure;
mod page;
mod papers;
mod ticks;
mod workloads;

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::counts::PerOperation;
use crate::floor::{Chase, Floor};
use crate::goals::Judged;
use crate::instructions::Counter;
use crate::paper::Outcome;
use crate::recovery::{Plan, Timeline};
use crate::result::Results;
use crate::{Error, Result};

pub(crate) use html::{grouped, threads};

pub use behind::{Ratio, ratios, slower};
pub use measure::{Extent, measure};

/// Exact counts of an index on a medium.
#[derive(Debug, Clone, Serialize)]
pub struct CountTable {
    /// The index.
    pub index: String,
    /// The persistence domain of the medium.
    pub domain: String,
    /// Per operation.
    pub rows: Vec<PerOperation>,
}

/// Everything that goes into the page.
#[derive(Serialize)]
pub struct Report {
    /// Workloads on our indexes and on others.
    pub results: Results,
    /// What the scales are, in sentences.
    pub scales: Vec<String>,
    /// The papers' figures.
    pub papers: Vec<Outcome>,
    /// What we have set ourselves, and what was reached.
    pub goals: Vec<Judged>,
    /// Exact counts.
    pub counts: Vec<CountTable>,
    /// Instructions.
    pub instructions: Counter,
    /// What the hardware takes.
    pub floor: Floor,
    /// Whether emulated memory is as slow as set.
    pub chases: Vec<Chase>,
    /// Requests through a crash, with its plan in a sentence.
    pub timeline: (Timeline, String),
    /// How long each part took, in seconds.
    pub took: Vec<(&'static str, f64)>,
}

/// The plan of a timeline, in a sentence.
pub fn describe(plan: &Plan) -> String {
    format!(
        "{} keys of 24 bytes with values of 100 in a ROART map; {} of lookups and updates, half each, zipfian \
         0.99; {} to reclaim after the restart.",
        grouped(plan.keys),
        threads(plan.threads),
        threads(plan.collectors)
    )
}

/// The files of a report.
#[derive(Debug, Clone)]
pub struct Files {
    /// The page.
    pub html: PathBuf,
    /// Measurements, a line each.
    pub csv: PathBuf,
    /// Measurements, as `endura bench compare` reads them.
    pub json: PathBuf,
    /// Everything else that the page shows.
    pub details: PathBuf,
}

impl Report {
    /// How long all of it took, in seconds.
    pub fn seconds(&self) -> f64 {
        self.took.iter().map(|(_, seconds)| seconds).sum()
    }

    /// Writes all files into `dir`, which is made if need be.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where one cannot be written.
    pub fn write(&self, dir: &Path) -> Result<Files> {
        let failure = |path: &Path| {
            let doing = format!("cannot write {}", path.display());
            move |source| Error::Io { doing, source }
        };
        std::fs::create_dir_all(dir).map_err(failure(dir))?;
        let path = |name: &str| dir.join(name);
        let files = Files {
            html: path("report.html"),
            csv: path("results.csv"),
            json: path("results.json"),
            details: path("details.json"),
        };
        let write = |path: &Path, text: String| std::fs::write(path, text).map_err(failure(path));
        write(&files.html, self.html())?;
        write(&files.csv, csv::csv(&self.results))?;
        self.results.write(&files.json)?;
        let details = serde_json::to_string_pretty(self)
            .map_err(|error| failure(&files.details)(io::Error::from(error)))?;
        write(&files.details, details)?;
        Ok(files)
    }

    /// The page.
    pub fn html(&self) -> String {
        page::page(self)
    }
}

#[cfg(test)]
mod tests;
