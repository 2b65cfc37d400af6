//! From measurements to plots.

use crate::figures::{Latency, threads};
use crate::results::plotting::{costs, groups, number, series};
use crate::results::{Across, Measurement, Plot, Results, Series, plotting};
use crate::workload::{Action, Workload, ycsb};

/// Measurements that share axes.
struct Group<'r> {
    title: String,
    of: Vec<&'r Measurement>,
}

fn group<'r>(
    measurements: impl Iterator<Item = &'r Measurement>,
    title: impl Fn(&Measurement) -> String,
) -> Vec<Group<'r>> {
    let mut groups: Vec<Group<'r>> = Vec::new();
    for measurement in measurements {
        let title = title(measurement);
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.of.push(measurement),
            None => groups.push(Group { title, of: vec![measurement] }),
        }
    }
    groups
}

/// One curve or colour per store, in the order in which they were measured.
fn by_store(of: &[&Measurement], x: impl Fn(&Measurement) -> f64) -> Vec<Series> {
    group(of.iter().copied(), |measurement| measurement.store.clone())
        .into_iter()
        .map(|group| {
            let mut points: Vec<_> = group.of.iter().map(|m| (x(m), m.median)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            series(group.title, points)
        })
        .collect()
}

fn plot(title: String, across: Across, like: &Measurement, series: Vec<Series>) -> Plot {
    let (quantity, unit, better) = (like.quantity.clone(), like.unit.clone(), like.better);
    Plot { title, across, quantity, unit, better, stacked: false, series }
}

/// Bars by workload: one plot per suite, number of threads and quantity; scans, which take many times as long as
/// other operations, have a plot of their own. Points of sweeps are left out.
pub(super) fn bars(results: &Results, wanted: impl Fn(&Measurement) -> bool) -> Vec<Plot> {
    let measurements = results.measurements.iter().filter(|m| m.parameter.is_none() && wanted(m));
    let title = |m: &Measurement| {
        let scans = if scans(&m.workload) { ", scans" } else { "" };
        format!("{}{scans}, {}", m.suite, threads(m.threads))
    };
    let key = |m: &Measurement| format!("{}\u{1}{}\u{1}{}", title(m), m.quantity, m.unit);
    group(measurements, key)
        .into_iter()
        .map(|group| {
            let mut workloads: Vec<String> = Vec::new();
            for measurement in &group.of {
                if !workloads.contains(&measurement.workload) {
                    workloads.push(measurement.workload.clone());
                }
            }
            let x = |m: &Measurement| {
                workloads.iter().position(|workload| *workload == m.workload).unwrap_or(0) as f64
            };
            let series = by_store(&group.of, x);
            plot(title(group.of[0]), Across::Groups(workloads.clone()), group.of[0], series)
        })
        .collect()
}

/// Whether most of a workload's operations are scans.
fn scans(workload: &str) -> bool {
    let all = |w: &Workload| w.mix.iter().map(|&(_, weight)| weight).sum::<u32>();
    let mostly = |w: &Workload| 2 * w.weight(Action::Scan) > all(w);
    workload.starts_with("scan") || ycsb::all().iter().any(|w| mostly(w) && w.name == workload)
}

/// Curves along what was varied: one plot per suite, workload and number of threads.
pub(super) fn sweeps(results: &Results, wanted: impl Fn(&Measurement) -> bool) -> Vec<Plot> {
    let swept = results.measurements.iter().filter(|m| m.parameter.is_some() && wanted(m));
    let name = |m: &Measurement| m.parameter.as_ref().map_or(String::new(), |p| p.name.clone());
    let key = |m: &Measurement| {
        format!(
            "{}\u{1}{}\u{1}{}\u{1}{}\u{1}{}",
            m.suite,
            m.workload,
            m.threads,
            m.quantity,
            name(m)
        )
    };
    group(swept, key)
        .into_iter()
        .filter_map(|group| {
            let first = group.of[0];
            let parameter = first.parameter.clone()?;
            let x = |m: &Measurement| m.parameter.as_ref().map_or(0.0, |p| p.value);
            let values: Vec<f64> = group.of.iter().map(|m| x(m)).collect();
            let (least, most) = range(&values);
            let log = least > 0.0 && most / least > 8.0;
            let across = Across::Number { name: parameter.name, unit: parameter.unit, log };
            let title = format!("{}: {}", first.suite, first.workload);
            (most > least).then(|| plot(title, across, first, by_store(&group.of, x)))
        })
        .collect()
}

/// Curves by threads, of workloads that ran with more than one number of them.
pub(super) fn scaling(results: &Results) -> Vec<Plot> {
    let measured = results.measurements.iter();
    let measured = measured.filter(|m| m.parameter.is_none() && m.quantity == "throughput");
    group(measured, |m| format!("{}: {}", m.suite, m.workload))
        .into_iter()
        .filter_map(|group| {
            let threads: Vec<f64> = group.of.iter().map(|m| m.threads as f64).collect();
            let (least, most) = range(&threads);
            let across = number("threads", "", true);
            let series = by_store(&group.of, |m| m.threads as f64);
            (most > least).then(|| plot(group.title, across, group.of[0], series))
        })
        .collect()
}

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, f64::MIN), |(least, most), &v| (least.min(v), most.max(v)))
}

/// Suites that vary nothing, neither threads nor anything else; all where there is none. What a suite that
/// varies something begins with has been measured by one of these as well.
pub(super) fn plain(results: &Results) -> Vec<String> {
    let suites = group(results.measurements.iter(), |m| m.suite.clone());
    let varies = |group: &Group<'_>| {
        let threads = group.of[0].threads;
        group.of.iter().any(|m| m.parameter.is_some() || m.threads != threads)
    };
    let names = |keep: &dyn Fn(&Group<'_>) -> bool| -> Vec<String> {
        suites.iter().filter(|group| keep(group)).map(|group| group.title.clone()).collect()
    };
    let plain = names(&|group| !varies(group));
    if plain.is_empty() { names(&|_| true) } else { plain }
}

/// One quantity of each store, suite by suite; nothing where it was not measured.
pub(super) fn by_suite(results: &Results, title: &str, quantity: &str) -> Option<Plot> {
    let wanted = plain(results);
    let of = results.measurements.iter().filter(|m| m.quantity == quantity);
    let of: Vec<&Measurement> = of.filter(|m| wanted.contains(&m.suite)).collect();
    let suites: Vec<String> =
        wanted.into_iter().filter(|suite| of.iter().any(|m| m.suite == *suite)).collect();
    let x = |m: &Measurement| suites.iter().position(|s| *s == m.suite).unwrap_or(0) as f64;
    let series = by_store(&of, x);
    Some(plot(title.into(), Across::Groups(suites.clone()), of.first()?, series))
}

/// Latency by percentile: one plot per workload of the suites that vary nothing. Percentiles that no store has
/// [enough samples](Latency::known) for have no place in a plot.
pub(super) fn latencies(results: &Results) -> Vec<Plot> {
    let least = results.measurements.iter().map(|m| m.threads).min().unwrap_or(1);
    let wanted = plain(results);
    let timed = results.measurements.iter().filter(|m| m.latency_ns.is_some());
    let timed = timed.filter(|m| wanted.contains(&m.suite));
    let timed = timed.filter(|m| m.parameter.is_none() && m.threads == least);
    group(timed, |m| format!("{}: {}", m.suite, m.workload))
        .into_iter()
        .filter_map(|group| by_percentile(&group))
        .collect()
}

/// None where not even a median is known.
fn by_percentile(group: &Group<'_>) -> Option<Plot> {
    let known = |m: &Measurement| m.latency_ns.as_ref().map(Latency::known);
    let all: Vec<_> = group.of.iter().filter_map(|m| Some((m.store.as_str(), known(m)?))).collect();
    let has = |n: usize| all.iter().any(|(_, known)| known[n].1.is_some());
    let names = all.first()?.1.map(|(name, _)| name);
    let shown: Vec<usize> = (0..names.len()).filter(|&n| has(n)).collect();
    let curve = |(store, known): &(&str, [(&str, Option<u64>); 6])| {
        let point =
            |(x, &n): (usize, &usize)| Some((x as f64, plotting::exact(known[n].1? as f64)));
        series(*store, shown.iter().enumerate().filter_map(point))
    };
    let across = groups(shown.iter().map(|&n| names[n]));
    let curves = all.iter().map(curve).collect();
    (shown.len() > 1).then(|| costs(&group.title, across, "latency", "ns", curves))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::results;
    use crate::results::Quantity;

    /// A bar of a scan is not seen beside those of single operations.
    #[test]
    fn scans_have_a_plot_of_their_own() {
        let mut results = results();
        for workload in ["scan 100", "E zipfian 0.99"] {
            let rate = Quantity::throughput(vec![0.01]);
            results.measurements.push(Measurement::new("ycsb", workload, "LMDB", rate));
        }
        let plots = bars(&results, |m| m.quantity == "throughput" && m.threads == 1);
        let [points, scans] = &plots[..] else { panic!("{plots:?}") };
        assert_eq!(
            (points.title.as_str(), &points.across),
            ("ycsb, 1 thread", &groups(["A", "B"]))
        );
        assert_eq!(scans.title, "ycsb, scans, 1 thread");
        assert_eq!(scans.across, groups(["scan 100", "E zipfian 0.99"]));
    }

    #[test]
    fn measurements_fall_into_plots_by_what_they_share() {
        let results = results();
        let bars = bars(&results, |m| m.quantity == "throughput" && m.threads == 1);
        assert_eq!(bars.len(), 1);
        assert_eq!(bars[0].across, Across::Groups(vec!["A".into(), "B".into()]));
        assert_eq!(bars[0].series.len(), 2);
        let scaling = scaling(&results);
        assert_eq!(scaling.len(), 1, "only A ran with two numbers of threads");
        assert_eq!(scaling[0].series[0].places(), [1.0, 2.0]);
        let latencies = latencies(&results);
        // A hundred and fifty samples: two in the slowest hundredth.
        assert_eq!(latencies[0].across, groups(["p50", "p90", "max"]));
        assert_eq!(latencies[0].series[0].places(), [0.0, 1.0, 2.0]);
        let sweeps = sweeps(&results, |_| true);
        assert_eq!(sweeps[0].series[0].places(), [10.0, 100.0]);
    }
}
