//! From measurements to plots.

use crate::figures::{Latency, threads};
use crate::results::plotting::{costs, groups, number, series};
use crate::results::{Across, Measurement, Plot, Results, Series, plotting};

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

/// Bars by workload: one plot per suite, number of threads and quantity. Points of sweeps are left out.
pub(super) fn bars(results: &Results, wanted: impl Fn(&Measurement) -> bool) -> Vec<Plot> {
    let measurements = results.measurements.iter().filter(|m| m.parameter.is_none() && wanted(m));
    let title = |m: &Measurement| format!("{}, {}", m.suite, threads(m.threads));
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

/// Latency by percentile: one plot per workload of the suites that vary nothing.
pub(super) fn latencies(results: &Results) -> Vec<Plot> {
    const NAMES: [&str; 6] = ["p50", "p90", "p99", "p99.9", "p99.99", "max"];
    let of = |l: &Latency| [l.p50, l.p90, l.p99, l.p999, l.p9999, l.max].map(|ns| ns as f64);
    let least = results.measurements.iter().map(|m| m.threads).min().unwrap_or(1);
    let wanted = plain(results);
    let timed = results.measurements.iter().filter(|m| m.latency_ns.is_some());
    let timed = timed.filter(|m| wanted.contains(&m.suite));
    let timed = timed.filter(|m| m.parameter.is_none() && m.threads == least);
    group(timed, |m| format!("{}: {}", m.suite, m.workload))
        .into_iter()
        .map(|group| {
            let of = |m: &&Measurement| {
                let heights = of(m.latency_ns.as_ref()?).map(plotting::exact);
                Some(series(&m.store, (0..).map(f64::from).zip(heights)))
            };
            let curves = group.of.iter().filter_map(of).collect();
            costs(&group.title, groups(NAMES), "latency", "ns", curves)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::results;

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
        assert_eq!(latencies[0].series[0].points.len(), 6);
        let sweeps = sweeps(&results, |_| true);
        assert_eq!(sweeps[0].series[0].places(), [10.0, 100.0]);
    }
}
