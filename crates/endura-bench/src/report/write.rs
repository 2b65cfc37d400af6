//! The files of a report.

use std::io;
use std::path::{Path, PathBuf};

use super::contents::BenchReport;
use super::csv;
use super::page::page;
use crate::{Error, Result};

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

impl BenchReport {
    /// How long all of it took, in seconds.
    pub fn seconds(&self) -> f64 {
        self.took.iter().map(|(_, seconds)| seconds).sum()
    }

    /// Writes all files into `dir`, which is made if need be.
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
        page(self)
    }
}
