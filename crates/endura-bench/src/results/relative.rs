//! Ours as a multiple of the others': what remains when the machine is another one, or a busier one.

use super::file::Results;
use super::measurement::{Better, CPU_TIME, Measurement, Quantity, WALL_TIME};
use super::store_info::Role;

/// Each measurement of ours with the same one of somebody else, and whether that one is a map in DRAM.
pub(crate) fn pairs(
    results: &Results,
    with_cpu_time: bool,
) -> Vec<(&Measurement, &Measurement, bool)> {
    let role = |name: &str| results.stores.iter().find(|s| s.name == name).map(|store| store.role);
    let is_meant = |m: &&Measurement| with_cpu_time || m.quantity != CPU_TIME;
    let is_ours = |m: &&Measurement| role(&m.store) == Some(Role::Ours) && is_meant(m);
    let mut pairs = Vec::new();
    for ours in results.measurements.iter().filter(is_ours) {
        for theirs in results.measurements.iter().filter(|theirs| is_same(ours, theirs)) {
            match role(&theirs.store) {
                Some(Role::Peer) => pairs.push((ours, theirs, false)),
                Some(Role::VolatileBound) => pairs.push((ours, theirs, true)),
                _ => {}
            }
        }
    }
    pairs
}

fn is_same(a: &Measurement, b: &Measurement) -> bool {
    // Stores may hold a few entries more or less.
    let (suite, workload, store, threads, _, parameter, quantity) = a.key();
    let (_, _, other, _, entries, _, _) = b.key();
    store != other && (suite, workload, other, threads, entries, parameter, quantity) == b.key()
}

/// How many times as good `a` is as `b`.
pub(crate) fn times_as_good(better: Better, a: f64, b: f64) -> f64 {
    match better {
        Better::Higher => a / b,
        Better::Lower => b / a,
    }
}

/// How many times as good `a` is as `b` in each round, for the two ran one after the other in each; of the
/// medians where the rounds are not the same number.
pub(crate) fn rounds(a: &Measurement, b: &Measurement) -> Vec<f64> {
    if a.rounds.len() != b.rounds.len() {
        return vec![times_as_good(a.better, a.median.median, b.median.median)];
    }
    a.rounds
        .iter()
        .zip(&b.rounds)
        .map(|(&a_is, &b_is)| times_as_good(a.better, a_is, b_is))
        .collect()
}

/// The same results as multiples: each measurement of ours once for each of the others, as how many times as
/// good as theirs it was. CPU time only if asked for: with several threads it is not what is waited for.
pub fn relative(results: &Results, with_cpu_time: bool) -> Results {
    let multiple = |(ours, theirs, _): (&Measurement, &Measurement, bool)| {
        let rounds = rounds(ours, theirs);
        let is_known = rounds.iter().all(|ratio| ratio.is_finite());
        let name = "times as good";
        let quantity = Quantity { name, unit: "x", better: Better::Higher, rounds };
        let store = format!("{} : {}", ours.store, theirs.store);
        let workload = format!("{} ({})", ours.workload, ours.quantity);
        is_known.then(|| Measurement {
            threads: ours.threads,
            entries: ours.entries,
            parameter: ours.parameter.clone(),
            ..Measurement::new(&ours.suite, &workload, &store, quantity)
        })
    };
    let measurements = pairs(results, with_cpu_time).into_iter().filter_map(multiple).collect();
    let (version, command) = (results.version.clone(), results.command.clone());
    let machine = results.machine.clone();
    Results { version, machine, measurements, ..Results::new(command, results.seed) }
}

/// With more threads than the fewest, how many times as fast in wall time.
pub fn speedups(results: &Results) -> Vec<Measurement> {
    let fewest = results.measurements.iter().map(|m| m.threads).min().unwrap_or(1);
    let of = |more: &Measurement| {
        let one = Measurement { threads: fewest, ..more.clone() };
        let one = results.measurements.iter().find(|m| m.key() == one.key())?;
        let (name, better) = ("speedup", Better::Higher);
        let quantity = Quantity { name, unit: "x", better, rounds: rounds(more, one) };
        let workload = format!("{} (to {fewest})", more.workload);
        let (threads, entries) = (more.threads, more.entries);
        let speedup = Measurement::new(&more.suite, &workload, &more.store, quantity);
        Some(Measurement { threads, entries, ..speedup })
    };
    let is_meant = |m: &&Measurement| m.quantity == WALL_TIME && m.threads > fewest;
    results.measurements.iter().filter(is_meant).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::store_info::{Promise, StoreInfo};

    fn run(ours: Vec<f64>, theirs: Vec<f64>) -> Results {
        let mut results = Results::new(String::new(), 0);
        for (name, role, rounds) in [("FastFair", Role::Ours, ours), ("LMDB", Role::Peer, theirs)] {
            results.stores.push(StoreInfo {
                name: name.into(),
                role,
                promise: Promise::Sigkill,
                setting: String::new(),
            });
            let throughput = Quantity::throughput(rounds.clone());
            results.measurements.push(Measurement::new("ycsb", "A", name, throughput));
            let time = Quantity::cost("reopen time", "ms", rounds);
            results.measurements.push(Measurement::new("ycsb", "load", name, time));
        }
        results
    }

    /// A machine that is half as fast in one of its rounds, and in another run altogether.
    #[test]
    fn multiples_stay_where_the_machine_becomes_slower() {
        let fast = relative(&run(vec![6.0, 3.0, 6.0], vec![2.0, 1.0, 2.0]), false);
        let slow = relative(&run(vec![3.0, 3.0, 3.0], vec![1.0, 1.0, 1.0]), false);
        let medians = |results: &Results| -> Vec<f64> {
            results.measurements.iter().map(|m| m.median.median).collect()
        };
        assert_eq!(medians(&fast), [3.0, 1.0 / 3.0]);
        assert_eq!(medians(&slow), medians(&fast));
        assert!(fast.measurements.iter().all(|m| m.median.spread_percent < 1e-9));
        assert_eq!(fast.measurements[0].store, "FastFair : LMDB");
    }

    #[test]
    fn what_has_no_multiple_is_left_out() {
        let results = relative(&run(vec![1.0], vec![0.0]), false);
        assert_eq!(results.measurements.len(), 1, "the throughput is without end");
    }
}
