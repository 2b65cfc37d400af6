//! The page, as Markdown.

use std::fmt::Write;

use super::huge_pages::Backing;
use super::plan::{OPERATIONS, Plan, Section};
use super::surroundings::Surroundings;
use super::versions::version;
use crate::contender::Contender;
use crate::figures::{Median, figure, short};
use crate::results::{Measurement, Results, rounds};

/// Everything that was measured.
pub struct Page<'a> {
    /// What was to be measured.
    pub plan: &'a Plan,
    /// Where.
    pub surroundings: &'a Surroundings,
    /// Throughputs, with the titles of sections as names of suites.
    pub results: &'a Results,
    /// Milliseconds from the call that opens a store after SIGKILL to its first answer.
    pub reopened: &'a [(Contender, f64)],
    /// The memory of each store.
    pub backing: &'a [(Contender, Backing)],
    /// Stores that could not be opened, and why.
    pub missing: &'a [(Contender, String)],
}

impl Page<'_> {
    /// The whole page.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        self.machine(&mut out);
        out.push_str(
            "\n## Throughput\n\nTimes LMDB, one thread, medians of rounds in which the stores alternate. The row of LMDB has \
             million operations a second. All stores survive `kill -9`, none syncs its writes.\n",
        );
        for section in &self.plan.sections {
            self.section(section, &mut out);
        }
        self.reopened(&mut out);
        self.memory(&mut out);
        out.push_str("\n## Settings\n\n| store | |\n| --- | --- |\n");
        for store in &self.results.stores {
            let _ = writeln!(out, "| {} | {} |", store.name, store.setting);
        }
        for (contender, why) in self.missing {
            let _ = writeln!(out, "| {} | left out: {why} |", contender.name());
        }
        out
    }

    fn machine(&self, out: &mut String) {
        let Surroundings { machine, vectors, huge_pages, filesystem, compiler } = self.surroundings;
        let [anonymous, shared] = huge_pages;
        let (of, all) = self.results.shared_rounds();
        out.push_str("## Machine\n\n| | |\n| --- | --- |\n");
        let _ = writeln!(
            out,
            "| processor | {}, {} threads, {vectors} |",
            machine.processor, machine.threads
        );
        let _ = writeln!(out, "| memory | {} GiB |", machine.memory_bytes >> 30);
        let _ = writeln!(out, "| kernel | {} |", machine.kernel);
        let _ = writeln!(out, "| files | {filesystem} |");
        let _ =
            writeln!(out, "| transparent huge pages | memory `{anonymous}`, tmpfs `{shared}` |");
        let _ = writeln!(out, "| compiler | {compiler} |");
        let _ = writeln!(out, "| rounds on a shared core | {of} of {all} |");
    }

    fn section(&self, section: &Section, out: &mut String) {
        let names = OPERATIONS.map(|operation| operation.name());
        let _ = writeln!(out, "\n| {} | {} |", section.title, names.join(" | "));
        let _ = writeln!(out, "| --- |{}", " --- |".repeat(names.len()));
        let mut spreads: Vec<f64> = Vec::new();
        for &contender in &section.contenders {
            let cells = names.map(|operation| {
                let of = |contender| self.throughput(section, operation, contender);
                let (Some(this), Some(lmdb)) = (of(contender), of(Contender::Lmdb)) else {
                    return String::new();
                };
                if contender == Contender::Lmdb {
                    return short(lmdb.median.median);
                }
                let ratio = Median::of(rounds(this, lmdb));
                spreads.push(ratio.spread_percent);
                multiple(ratio.median)
            });
            let _ = writeln!(out, "| {} | {} |", version(contender), cells.join(" | "));
        }
        let spread = Median::of(spreads.clone()).median;
        let most = spreads.into_iter().fold(0.0, f64::max);
        let _ =
            writeln!(out, "\nSpread of a ratio: {spread:.0} % in the median, {most:.0} % at most.");
    }

    fn throughput(
        &self,
        section: &Section,
        operation: &str,
        who: Contender,
    ) -> Option<&Measurement> {
        self.results.measurements.iter().find(|m| {
            m.suite == section.title
                && m.workload == operation
                && m.store == who.name()
                && m.quantity == "throughput"
        })
    }

    fn reopened(&self, out: &mut String) {
        let keys = self.plan.killed_keys;
        let _ = writeln!(
            out,
            "\n## After SIGKILL\n\n| store, {} M integers | until the first right answer |\n| --- | --- |",
            keys as f64 / 1e6
        );
        for &(contender, ms) in self.reopened {
            let _ = writeln!(out, "| {} | {} ms |", version(contender), figure(ms));
        }
    }

    fn memory(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "\n## Huge pages\n\n| store, {} M integers | its mapped files, MiB | in huge pages | other memory, MiB | \
             in huge pages |\n| --- | --- | --- | --- | --- |",
            self.plan.backed_keys as f64 / 1e6
        );
        let mib = |bytes: u64| figure(bytes as f64 / f64::from(1 << 20));
        for (contender, b) in self.backing {
            let cells = [b.mapped, b.mapped_huge, b.anonymous, b.anonymous_huge].map(mib);
            let _ = writeln!(out, "| {} | {} |", version(*contender), cells.join(" | "));
        }
    }
}

/// One digit behind the point; two below 1, where they tell a third from a half.
fn multiple(ratio: f64) -> String {
    if ratio < 0.995 { format!("{ratio:.2}") } else { format!("{ratio:.1}") }
}
