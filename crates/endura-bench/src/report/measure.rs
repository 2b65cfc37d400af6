//! What a report measures.

use std::time::{Duration, Instant};

use endura_engine::media::Domain;

use super::contents::{BenchReport, CountTable, describe};
use super::extent::Extent;
use super::workloads::workloads;
use crate::contender::Contender;
use crate::experiment::{page_cache, room};
use crate::goals::{Judged, RACES};
use crate::probes::counts::{CountSetup, NodeSizes, counts};
use crate::probes::floor::{chase, floor};
use crate::probes::instructions::InstructionCounts;
use crate::probes::recovery::{CrashPlan, timeline};
use crate::results::Results;
use crate::store::Shape;
use crate::{Result, paper};

/// Measures everything; `observe` is told what is about to run, and how much of all is done, from 0 to 1.
pub fn measure(
    extent: &Extent,
    command: String,
    instructions: impl FnOnce(&mut dyn FnMut(&str)) -> Result<InstructionCounts>,
    observe: &mut dyn FnMut(f64, &str),
) -> Result<BenchReport> {
    let mut took = Took { parts: Vec::new(), begun: Instant::now() };
    let (whole, before_goals) = (observe, extent.before_goals());
    let observe = &mut |part: f64, what: &str| whole(part * before_goals, what);
    let mut results = Results::new(command, extent.seed);
    workloads(extent, &mut results, &mut |part, what| observe(part * WORKLOADS, what))?;
    took.part("workloads");
    observe(WORKLOADS, "the floor of the hardware");
    let floor = floor(&extent.dir, extent.keys * 32, extent.rounds)?;
    observe(WORKLOADS, "the emulator's chase of pointers");
    let chases =
        [300, 600, 900].map(|ns| chase(ns, 50_000, 5)).into_iter().collect::<Result<_>>()?;
    took.part("floor and chases");
    observe(WORKLOADS, "exact counts");
    let counts = all_counts(extent.counted)?;
    took.part("counts");
    observe(WORKLOADS, "a crash");
    let (plan, crash) = (crash_plan(extent), room(4 * extent.keys, Shape::STRINGS));
    let timeline = timeline(page_cache(&extent.dir, crash)?, plan)?;
    took.part("a crash");
    let instructions =
        instructions(&mut |what| observe(WORKLOADS, &format!("instructions of {what}")))?;
    if let InstructionCounts::Stepped { .. } = &instructions {
        took.part("instructions");
    }
    let mut papers = Vec::new();
    let rows: Vec<_> = paper::rows().collect();
    for (number, row) in rows.iter().enumerate() {
        let part = number as f64 / rows.len() as f64;
        observe(WORKLOADS + (1.0 - WORKLOADS) * part, &format!("{}: {}", row.name(), row.title));
        let outcome = row.run(&extent.papers)?;
        outcome.add_to(&mut results, &extent.papers);
        papers.push(outcome);
    }
    took.part("papers");
    let goals = goals(extent, whole)?;
    if extent.goal_rounds > 0 {
        took.part("goals");
    }
    Ok(BenchReport {
        results,
        scales: extent.describe(),
        papers,
        tests_papers: extent.papers.is_large(),
        goals,
        counts,
        instructions,
        floor,
        chases,
        timeline: (timeline, describe(&plan)),
        took: took.parts,
    })
}

/// What each part of a report took.
struct Took {
    parts: Vec<(&'static str, f64)>,
    begun: Instant,
}

impl Took {
    /// What was done since the last part is called so.
    fn part(&mut self, name: &'static str) {
        self.parts.push((name, self.begun.elapsed().as_secs_f64()));
        self.begun = Instant::now();
    }
}

/// The part of the time that the workloads take, about.
const WORKLOADS: f64 = 0.4;

fn goals(extent: &Extent, observe: &mut dyn FnMut(f64, &str)) -> Result<Vec<Judged>> {
    let races: Vec<_> = match extent.goal_rounds {
        0 => Vec::new(),
        _ => RACES.iter().filter(|race| race.can_run()).collect(),
    };
    let before = extent.before_goals();
    let (mut all, each) = (Vec::new(), (1.0 - before) / races.len().max(1) as f64);
    for (race, number) in races.into_iter().zip(0_u8..) {
        let begun = before + each * f64::from(number);
        let tell = &mut |part: f64, what: &str| observe(begun + each * part, what);
        all.extend(race.run(1, extent.goal_rounds, &extent.dir, tell)?);
    }
    Ok(all)
}

fn all_counts(keys: u64) -> Result<Vec<CountTable>> {
    let mut tables = Vec::new();
    for domain in [Domain::Adr, Domain::Eadr, Domain::PageCache] {
        for ours in Contender::ours() {
            let Some(kind) = ours.kind() else { continue };
            let name = ours.name();
            let shapes = [
                (format!("{name}, u64"), Shape::WORDS),
                (format!("{name}, 24/100 bytes"), Shape::STRINGS),
            ];
            for (index, shape) in shapes {
                let rows =
                    counts(CountSetup { keys, kind, domain, shape, nodes: NodeSizes::Pool(None) })?;
                tables.push(CountTable { index, domain: domain.to_string(), rows });
            }
        }
    }
    Ok(tables)
}

fn crash_plan(extent: &Extent) -> CrashPlan {
    // A second in a quick run, some in a full one.
    let unit = Duration::from_millis((extent.keys / 200).clamp(500, 4000));
    CrashPlan {
        keys: extent.keys,
        threads: extent.threads.iter().copied().max().unwrap_or(1).min(2),
        collectors: 1,
        before: unit * 2,
        down: unit / 2,
        after: unit * 3,
        step: unit / 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::PaperScale;

    #[test]
    fn a_tiny_report_is_measured_and_written() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = || dir.path().to_path_buf();
        let papers = PaperScale {
            keys: 2000,
            operations: 500,
            rounds: 1,
            threads: vec![1, 2],
            ..PaperScale::quick(path())
        };
        let extent = Extent {
            keys: 2000,
            operations: 640,
            rounds: 1,
            threads: vec![1],
            counted: 2000,
            papers,
            ..Extent::quick(path())
        };
        let (mut last, mut told) = (0.0, 0);
        let mut observe = |part: f64, _: &str| {
            assert!((last..=1.0).contains(&part), "{part} after {last}");
            (last, told) = (part, told + 1);
        };
        let tool = |_: &mut dyn FnMut(&str)| Ok(InstructionCounts::None("not here".into()));
        let report = measure(&extent, "test".into(), tool, &mut observe).expect("a report");
        assert!(told > 50 && last > 0.9);
        assert_eq!(report.papers.len(), paper::rows().count());
        assert!(!report.results.measurements.is_empty() && report.counts.len() == 18);
        let ran: Vec<_> = report.took.iter().map(|(part, _)| *part).collect();
        assert_eq!(ran, ["workloads", "floor and chases", "counts", "a crash", "papers"]);
        assert!(!report.tests_papers);
        let files = report.write(dir.path()).expect("files");
        let html = std::fs::read_to_string(files.html).expect("a page");
        assert!(html.matches("<svg").count() > 40);
        assert!(!html.contains("NaN"));
    }
}
