//! Figure 21: after a crash.

use std::time::Duration;

use crate::Result;
use crate::experiment::{page_cache, room};
use crate::figures::{Median, figure, grouped, list};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::{growth, middle};
use crate::probes::recovery::{CrashPlan, Timeline, restart, timeline};
use crate::results::plotting::{costs, exact, number, rates, series};
use crate::store::Shape;

pub(super) fn by_keys(scale: &PaperScale) -> Result<Finding> {
    let (mut opens, mut collections) = (Vec::new(), Vec::new());
    for part in [8, 4, 2, 1] {
        let keys = (scale.keys / part).max(1);
        let (mut first, mut collection) = (Vec::new(), Vec::new());
        for _ in 0..scale.rounds {
            let restart = restart(page_cache(&scale.dir, room(keys, Shape::STRINGS))?, keys)?;
            first.push(restart.first_answer_ms);
            collection.push(restart.collection_ms);
        }
        opens.push((keys as f64, Median::of(first)));
        collections.push((keys as f64, Median::of(collection)));
    }
    let curves =
        vec![series("first answer", opens), series("all space accounted for", collections)];
    let plot = costs("after a crash", number("keys", "", true), "time", "ms", curves);
    let (opens, collections) = (plot.series[0].heights(), plot.series[1].heights());
    let checks = vec![
        Check::new(
            "the time to account for all space grows with the data",
            format!(
                "{} times for 8 times the keys: {} ms",
                figure(growth(&collections)),
                list(&collections)
            ),
            growth(&collections) > 2.0,
            "few keys lie in few pages, and a page costs the same however full it is",
        ),
        Check::new(
            "requests need not wait for it (the paper's waits for the structure: 19 s for 128 M keys)",
            format!("the first answer comes after {} ms", list(&opens)),
            middle(&opens) < 100.0 && opens.last() < collections.last(),
            "",
        ),
    ];
    Ok(Finding {
        setup: format!(
            "keys of 24 bytes, values of 100; the pool is abandoned and mounted anew in one process; medians of {} \
             (paper: 128 M keys on Optane)",
            scale.rounds
        ),
        plots: vec![plot],
        checks,
    })
}

/// One curve per number of threads that reclaim memory.
pub(super) fn timelines(scale: &PaperScale) -> Result<Finding> {
    // As long as the load of all keys takes, about.
    let unit = Duration::from_micros((scale.keys / 2).clamp(200_000, 4_000_000));
    let (mut curves, mut lines) = (Vec::new(), Vec::new());
    for collectors in [1, 2] {
        let plan = CrashPlan {
            keys: scale.keys,
            threads: scale.cores(),
            collectors,
            before: unit,
            down: unit / 4,
            after: unit * 2,
            step: unit / 20,
        };
        let line = timeline(page_cache(&scale.dir, room(4 * scale.keys, Shape::STRINGS))?, plan)?;
        let points = line.points.iter().map(|&(x, y)| (x, exact(y)));
        curves.push(series(format!("{collectors} reclaiming"), points));
        lines.push(line);
    }
    let plot = rates("requests", number("time", "s", false), curves);
    Ok(Finding {
        setup: format!(
            "{} keys of 24 bytes, values of 100, half lookups, half updates, zipfian 0.99, {} threads; the crash is at \
             {} s, the restart at {} s (paper: 32 M keys, 1, 36 and 72 threads)",
            grouped(scale.keys),
            scale.cores(),
            figure(lines[0].crash),
            figure(lines[0].restart)
        ),
        plots: vec![plot],
        checks: checks(&lines),
    })
}

fn checks(lines: &[Timeline]) -> Vec<Check> {
    let first: Vec<f64> = lines.iter().map(|line| line.first_answer_ms).collect();
    let took: Vec<Option<f64>> =
        lines.iter().map(|line| line.collected.map(|end| end - line.restart)).collect();
    let freed: Vec<f64> = lines.iter().map(|line| line.bytes_freed as f64 / 1024.0).collect();
    let mut checks = vec![Check::new(
        "requests are served at once",
        format!("first answers after {} ms", list(&first)),
        first.iter().all(|&ms| ms < 100.0),
        "",
    )];
    checks.push(match took[..] {
        [Some(one), Some(two)] => Check::new(
            "two reclaiming threads end sooner than one",
            format!("after {} and {} s; {} KiB were stranded", figure(one), figure(two), list(&freed)),
            two < one,
            "they share two processors with the threads that send requests, and rest as long as they work",
        ),
        _ => Check::unknown("two reclaiming threads end sooner than one", "not ended", "the run was too short"),
    });
    checks
}
