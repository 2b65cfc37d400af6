//! The workloads of a report: which, on which stores, with how many threads.

use super::extent::Extent;
use crate::contender::Contender;
use crate::figures::threads;
use crate::results::{Parameter, Results};
use crate::store::Shape;
use crate::suite::{Settings, Stage, Suite};
use crate::workload::{Action, ScanLength, Workload, ycsb};
use crate::{Result, suite};

pub(super) fn workloads(
    extent: &Extent,
    results: &mut Results,
    observe: &mut dyn FnMut(f64, &str),
) -> Result<()> {
    let plain = || {
        let only = Workload::only;
        vec![
            only("read", Action::Read),
            only("miss", Action::Miss),
            only("read 16 at once", Action::ReadMany),
            only("update", Action::Update),
            only("insert", Action::Insert),
            only("remove", Action::Remove),
            only("scan 100", Action::Scan),
        ]
    };
    let scans = Suite {
        stages: [10_u16, 100, 1000, 10_000]
            .map(|length| {
                let workload =
                    Workload::only("scan", Action::Scan).with_scan(ScanLength::Fixed(length));
                let operations = (extent.operations / u64::from(length)).max(20);
                let value = f64::from(length);
                let parameter =
                    Parameter { name: "scan length".into(), unit: "entries".into(), value };
                Stage { parameter: Some(parameter), ..Stage::new(workload, operations) }
            })
            .to_vec(),
        ..extent.suite("scans by length, u64", Shape::WORDS, Vec::new())
    };
    // One thread for a comparison; where threads meet, mixes in which no store has to see at once what
    // another thread has just inserted: one that reads from a snapshot does not.
    let one = |shape| Settings { threads: vec![1], ..extent.settings(shape) };
    let (words, strings) = (Shape::WORDS, Shape::STRINGS);
    let mixes = || ycsb::all().into_iter().filter(|w| !w.has(Action::Insert)).collect();
    let runs = [
        (extent.suite("operations, u64", words, plain()), one(words)),
        (extent.suite("YCSB, u64", words, ycsb::all()), one(words)),
        (extent.suite("YCSB, 24-byte keys, 100-byte values", strings, ycsb::all()), one(strings)),
        (extent.suite("threads, u64", words, mixes()), extent.settings(words)),
        (scans, one(words)),
    ];
    let count = runs.len() as f64;
    for (number, (suite, settings)) in runs.into_iter().enumerate() {
        suite::run(std::slice::from_ref(&suite), &settings, results, &mut |at| {
            let part = (number as f64 + at.done as f64 / at.total.max(1) as f64) / count;
            let threads = threads(at.threads);
            observe(part, &format!("{}: {} {}, {threads}", suite.name, at.store, at.workload));
        })?;
    }
    Ok(())
}

impl Extent {
    fn settings(&self, shape: Shape) -> Settings {
        let contenders = Contender::usual().filter(|c| c.takes(shape)).collect();
        Settings {
            threads: self.threads.clone(),
            rounds: self.rounds,
            patience: Some(self.patience),
            sampled: 16,
            ..Settings::new(contenders, self.dir.clone(), self.seed)
        }
    }

    fn suite(&self, name: &str, shape: Shape, workloads: Vec<Workload>) -> Suite {
        // A scan is worth fifty operations.
        let stage = |workload: Workload| {
            let scans = workload.has(Action::Scan);
            Stage::new(
                workload,
                if scans { (self.operations / 20).max(1) } else { self.operations },
            )
        };
        let stages = workloads.into_iter().map(stage).collect();
        Suite { name: name.into(), keys: self.keys, shape, stages, parameter: None }
    }
}
