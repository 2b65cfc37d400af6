//! What is printed.

use std::io::{Write, stdout};
use std::time::Duration;

use endura_console::outcome::Result;
use endura_console::text::{bytes, grouped};

use super::plan::{Moment, Plan};
use crate::disk::Cut;
use crate::lines::{Line, Positions};

/// What was seen after a cut, or before the first one.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) lines: u64,
    /// How the pool was opened first.
    pub(super) opened: Option<Line>,
    pub(super) found: Option<Positions>,
    pub(super) is_refused: bool,
    pub(super) losses: Vec<String>,
}

impl Seen {
    pub(super) fn hear(&mut self, line: &Line) {
        self.lines += 1;
        match line {
            Line::New | Line::AsLeft | Line::Restored { .. } if self.opened.is_none() => {
                self.opened = Some(line.clone());
            }
            Line::Found(found) if self.found.is_none() => self.found = Some(*found),
            Line::Refused(_) => self.is_refused = true,
            _ => {}
        }
    }
}

/// A cut, and what had been promised by then.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) number: u32,
    pub(super) plan: Plan,
    pub(super) cut: Cut,
    pub(super) promised: Positions,
}

/// The sums.
#[derive(Debug, Default)]
pub(super) struct Sum {
    cuts: u32,
    restored: u32,
    as_left: u32,
    /// Not opened before the power was cut again, or at all.
    unopened: u32,
    refused: u32,
    pub(super) lost: u32,
    ages_ms: Vec<u64>,
    volatile: u64,
    kept: u64,
}

impl Sum {
    /// Counts what was seen after a cut, or on a new disk, and prints it.
    pub(super) fn add(&mut self, before: Option<&Before>, seen: &Seen) -> Result<()> {
        if let Some(before) = before {
            self.add_cut(before, seen)?;
        }
        self.lost += u32::from(!seen.losses.is_empty());
        let mut out = stdout().lock();
        seen.losses.iter().try_for_each(|loss| writeln!(out, "         LOST: {loss}"))?;
        Ok(out.flush()?)
    }

    fn add_cut(&mut self, before: &Before, seen: &Seen) -> Result<()> {
        self.cuts += 1;
        self.volatile += before.cut.volatile;
        self.kept += before.cut.kept;
        self.refused += u32::from(seen.is_refused);
        let what = self.opened(seen);
        let after = |time: Duration| format!("{} s", seconds(time.as_millis() as u64));
        let when = match before.plan.moment {
            Moment::Opening(time) => format!("opening + {}", after(time)),
            Moment::Running(time) => format!("running + {}", after(time)),
            Moment::Requests(count) => format!("running + {} r", grouped(count)),
            Moment::End => "the end".into(),
        };
        let Cut { volatile, kept, flushes } = before.cut;
        writeln!(
            stdout(),
            "cut {:>3}  {when:<17} {:>4} flushes, {:>6} of {:>6} volatile sectors lost | {what}{}",
            before.number,
            grouped(flushes),
            grouped(volatile - kept),
            grouped(volatile),
            positions(before.promised, seen.found)
        )?;
        Ok(())
    }

    /// Counts how a pool was opened, and says it.
    fn opened(&mut self, seen: &Seen) -> String {
        let refused = if seen.is_refused { "refused, " } else { "" };
        let how = match &seen.opened {
            Some(Line::Restored { age_ms, written_bytes, .. }) => {
                self.restored += 1;
                self.ages_ms.push(*age_ms);
                format!("restored, {} s old, {}", seconds(*age_ms), bytes(*written_bytes))
            }
            Some(Line::AsLeft) => {
                self.as_left += 1;
                "as it was left".into()
            }
            Some(_) => "new".into(),
            None => {
                self.unopened += 1;
                "not opened".into()
            }
        };
        format!("{refused}{how}")
    }

    /// Prints the sums.
    pub(super) fn finish(&mut self, seed: u64) -> Result<()> {
        self.ages_ms.sort_unstable();
        let age = |at: usize| self.ages_ms.get(at).map_or("-".into(), |&age| seconds(age));
        let last = self.ages_ms.len().saturating_sub(1);
        let mut out = stdout().lock();
        writeln!(
            out,
            "\n{} cuts (seed {seed}): {} restored ({} to {} s old, median {}), {} as left, {} not opened, \
             {} refused\n{} of {} volatile sectors lost; lost or torn: {}",
            self.cuts,
            self.restored,
            age(0),
            age(last),
            age(last / 2),
            self.as_left,
            self.unopened,
            self.refused,
            grouped(self.volatile - self.kept),
            grouped(self.volatile),
            self.lost
        )?;
        Ok(())
    }
}

fn positions([a, b]: Positions, found: Option<Positions>) -> String {
    let promised = format!("promised {}+{}", grouped(a.into()), grouped(b.into()));
    match found {
        Some([a, b]) => format!("; {promised}, found {}+{}", grouped(a.into()), grouped(b.into())),
        None => format!("; {promised}"),
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{:02}", ms / 1_000, ms % 1_000 / 10)
}
