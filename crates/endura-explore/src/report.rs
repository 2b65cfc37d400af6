//! What a campaign came to.

use std::io::Write;

use serde_json::json;

use crate::args::{Args, name};
use crate::campaign::Sum;
use endura_console::outcome::Result;
use endura_console::text::{Table, duration, grouped, verdict};

/// A campaign that is over.
pub(crate) struct Summary<'a> {
    pub(crate) args: &'a Args,
    pub(crate) seed: u64,
    pub(crate) sum: Sum,
}

impl Summary<'_> {
    pub(crate) fn is_sound(&self) -> bool {
        self.sum.found.is_none()
    }

    fn per_second(&self) -> u64 {
        (self.sum.tally.images as f64 / self.sum.took.as_secs_f64().max(1e-3)) as u64
    }

    /// The command that finds a history's failure again.
    fn again(&self, history: u64) -> String {
        let without = self.args.without.as_deref();
        let without = without.map_or_else(String::new, |place| format!(" --without {place}"));
        let (index, model) = (name(&self.args.index), name(&self.args.model));
        format!("endura explore {index} --model {model} --threads 1 --seed {history}{without}")
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<()> {
        let Args { index, model, threads, .. } = self.args;
        let (index, model) = (name(index), name(model));
        writeln!(out, "endura explore {index}, {model}, seed {}, {threads} threads", self.seed)?;
        let tally = &self.sum.tally;
        let mut table = Table::new(1, &[]);
        let mut line = |name: &str, text: String| table.row([name.to_string(), text]);
        line("histories", grouped(self.sum.histories));
        line("operations that were crashed", grouped(tally.traces));
        line("moments of a crash", grouped(tally.points));
        line("  with every content gone through", grouped(tally.exhaustive_points));
        line("different states recovered from", grouped(tally.images));
        line("  left by a crash after a crash", grouped(tally.deep_images));
        line("  inside a change of shape", grouped(tally.structural_images));
        line("steps of the protocol cut through", grouped(tally.crossed.len() as u64));
        line("time", duration(self.sum.took));
        line("states per second", grouped(self.per_second()));
        table.write(out)?;
        let text = if self.is_sound() { "Nothing was found." } else { "SOMETHING WAS FOUND." };
        writeln!(out, "{}", verdict(text, self.is_sound()))?;
        if let Some(found) = &self.sum.found {
            writeln!(out, "{}", found.failure.trim_end())?;
            writeln!(out, "{}", self.again(found.history))?;
        }
        Ok(())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let tally = &self.sum.tally;
        let found = self.sum.found.as_ref().map(|found| {
            json!({
                "history": found.history,
                "failure": found.failure,
                "again": self.again(found.history),
            })
        });
        json!({
            "index": name(&self.args.index),
            "model": name(&self.args.model),
            "seed": self.seed,
            "threads": self.args.threads,
            "histories": self.sum.histories,
            "operations": tally.traces,
            "points": tally.points,
            "exhaustive_points": tally.exhaustive_points,
            "images": tally.images,
            "deep_images": tally.deep_images,
            "structural_images": tally.structural_images,
            "crossed": tally.crossed,
            "steps": tally.steps,
            "seconds": self.sum.took.as_secs_f64(),
            "images_per_second": self.per_second(),
            "found": found,
        })
    }
}
