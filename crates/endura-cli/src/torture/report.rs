//! The results of all rounds.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use endura::Kind;
use serde_json::json;

use crate::values::json::path_json;

use super::place::kept_line;
use super::round::{Campaign, RoundOutcome};
use super::target::repairs_expected;
use endura_console::outcome::Result;
use endura_console::text::{Table, bytes, duration, grouped, verdict};

/// If fewer kills than this, in percent, left something to repair, the kills come at harmless moments and prove little.
const TELLING_PERCENT: u64 = 20;

/// Sums over all rounds.
#[derive(Default)]
pub(crate) struct Report {
    store: &'static str,
    seed: u64,
    threads: u64,
    /// Whether kills are expected to leave something to repair in maps of this kind.
    repairs_expected: bool,
    rounds: u64,
    pub(crate) acknowledged: u64,
    in_flight: u64,
    in_flight_kept: u64,
    pub(crate) rounds_with_repairs: u64,
    repairs: u64,
    most_entries: u64,
    lost: u64,
    resurrected: u64,
    wrong: u64,
    other: u64,
    described: Vec<String>,
    opens: Vec<Duration>,
    entries: u64,
    file_bytes: u64,
}

impl Report {
    pub(crate) fn new(kind: Kind, seed: u64, threads: u64) -> Self {
        let (store, repairs_expected) = (kind.name(), repairs_expected(kind));
        Self { store, seed, threads, repairs_expected, ..Self::default() }
    }

    pub(crate) fn add(&mut self, round: RoundOutcome) {
        self.rounds += 1;
        self.acknowledged += round.acknowledged;
        self.in_flight += round.in_flight;
        self.in_flight_kept += round.in_flight_kept;
        self.rounds_with_repairs += u64::from(round.repairs_pending > 0);
        self.repairs += round.repairs_pending;
        self.most_entries = self.most_entries.max(round.entries);
        self.lost += round.violations.lost;
        self.resurrected += round.violations.resurrected;
        self.wrong += round.violations.wrong;
        self.other += round.violations.other;
        self.described.extend(round.violations.described);
        self.opens.push(round.open);
    }

    pub(crate) fn violations(&self) -> u64 {
        self.lost + self.resurrected + self.wrong + self.other
    }

    /// Checks the pool once more, at the end.
    pub(crate) fn finish(&mut self, campaign: &Campaign) -> Result<()> {
        self.entries = campaign.entries();
        if self.violations() == 0 {
            self.file_bytes = campaign.finish()?;
        }
        self.opens.sort();
        Ok(())
    }

    fn median_open(&self) -> Duration {
        self.opens.get(self.opens.len() / 2).copied().unwrap_or_default()
    }

    pub(crate) fn write(&self, out: &mut dyn Write, kept: Option<&Path>) -> Result<()> {
        writeln!(
            out,
            "endura torture, {}, seed {}, {} writer threads",
            self.store, self.seed, self.threads
        )?;
        let mut table = Table::new(1, &[]);
        let mut line = |name: &str, text: String| table.row([name.to_string(), text]);
        line("kills", grouped(self.rounds));
        line("operations acknowledged", grouped(self.acknowledged));
        line("operations in flight at a kill", grouped(self.in_flight));
        line("  of them took effect", grouped(self.in_flight_kept));
        line("kills that left something to repair", share(self.rounds_with_repairs, self.rounds));
        line("acknowledged operations lost", grouped(self.lost));
        line("removed or unknown keys found", grouped(self.resurrected));
        line("wrong values", grouped(self.wrong));
        line("other contradictions", grouped(self.other));
        line("most entries after a kill", grouped(self.most_entries));
        line("median time to open", duration(self.median_open()));
        line("file at the end", bytes(self.file_bytes));
        table.write(out)?;
        for text in &self.described {
            writeln!(out, "  {text}")?;
        }
        if let Some(text) = kept_line(kept) {
            writeln!(out, "{text}")?;
        }
        let few = 100 * self.rounds_with_repairs < TELLING_PERCENT * self.rounds;
        if self.repairs_expected && self.rounds >= 10 && few {
            writeln!(
                out,
                "Few kills left something to repair:\nthis run proves little. Try more threads."
            )?;
        }
        let sound = self.violations() == 0;
        let text = if sound { "Nothing was lost." } else { "THE POOL BROKE ITS PROMISE." };
        writeln!(out, "{}", verdict(text, sound))?;
        Ok(())
    }

    pub(crate) fn json(&self, kept: Option<&Path>) -> serde_json::Value {
        json!({
            "store": self.store,
            "seed": self.seed,
            "threads": self.threads,
            "rounds": self.rounds,
            "acknowledged": self.acknowledged,
            "in_flight": self.in_flight,
            "in_flight_kept": self.in_flight_kept,
            "rounds_with_repairs": self.rounds_with_repairs,
            "repairs": self.repairs,
            "lost": self.lost,
            "resurrected": self.resurrected,
            "wrong": self.wrong,
            "other": self.other,
            "violations": self.described,
            "entries": self.entries,
            "most_entries": self.most_entries,
            "median_open_ns": self.median_open().as_nanos() as u64,
            "file_bytes": self.file_bytes,
            "pool": kept.map(path_json),
        })
    }
}

/// `12 of 34 (35 %)`
fn share(part: u64, whole: u64) -> String {
    format!("{} of {} ({} %)", grouped(part), grouped(whole), 100 * part / whole.max(1))
}
