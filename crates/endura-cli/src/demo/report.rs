//! The table at the end of the demo.

use std::io::Write;
use std::time::Duration;

use super::load::Loaded;
use super::verify::Found;
use endura_console::outcome::Result;
use endura_console::text::{Table, bold, counted, duration, grouped, verdict};

/// The results of the demo.
pub(crate) struct Report {
    keys: u64,
    pub(crate) progress: Loaded,
    pub(crate) open: Duration,
    pub(crate) first_lookup: Duration,
    pub(crate) after_kill: Found,
    pub(crate) repairs_pending: u64,
    /// `None` if the load was not finished.
    pub(crate) complete: Option<Found>,
}

impl Report {
    pub(crate) fn new(keys: u64) -> Self {
        Self {
            keys,
            progress: Loaded::default(),
            open: Duration::ZERO,
            first_lookup: Duration::ZERO,
            after_kill: Found::default(),
            repairs_pending: 0,
            complete: None,
        }
    }

    pub(crate) fn lost_nothing(&self) -> bool {
        self.after_kill.is_sound() && self.complete.is_none_or(|found| found.is_sound())
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<()> {
        let found = &self.after_kill;
        let in_flight = self.progress.in_flight();
        writeln!(out, "{}", bold("What happened"))?;
        let mut table = Table::new(1, &[]);
        let mut line = |name: &str, text: String| table.row([name.to_string(), text]);
        line("keys acknowledged before SIGKILL", grouped(self.progress.acknowledged()));
        line("  of them found after it", grouped(found.right));
        line("  of them missing or wrong", grouped(found.missing + found.wrong));
        line("inserts in flight at SIGKILL", grouped(in_flight));
        line("  of them kept whole", grouped(found.kept_in_flight));
        line("  of them without a trace", grouped(in_flight.saturating_sub(found.kept_in_flight)));
        line("keys that nobody stored", grouped(found.strangers));
        line("half-done changes to repair", grouped(self.repairs_pending));
        line("time to open the pool", duration(self.open));
        line("time to the first successful lookup", duration(self.first_lookup));
        if let Some(complete) = &self.complete {
            line("keys found after the load was finished", grouped(complete.right));
        }
        table.write(out)?;
        let text = if self.lost_nothing() {
            format!("Nothing was lost: all of {} are there.", counted(self.keys, "key"))
        } else {
            "KEYS WERE LOST OR WRONG.".into()
        };
        writeln!(out, "\n{}", verdict(&text, self.lost_nothing()))?;
        Ok(())
    }
}
