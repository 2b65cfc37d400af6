//! Two runs side by side: what became slower.

use super::file::Results;
use super::measurement::{Better, EXACT_UNIT, Measurement};
use crate::figures::Median;

/// How a measurement changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// By more than the noise, to the better.
    Better,
    /// By no more than the noise.
    Same,
    /// By more than the noise, to the worse.
    Worse,
}

/// One measurement of both runs.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Compared {
    /// The measurement, as the second run has it.
    pub measurement: Measurement,
    /// The median of the first run, with its spread.
    pub before: Median,
    /// How much better the second run is: 2 means twice the throughput, or half the time. Infinite if
    /// something became nothing, or nothing something.
    pub ratio: f64,
    /// The change in percent that would still be noise: the spreads of both runs together, or the
    /// tolerance if that is more.
    pub noise_percent: f64,
    /// Whether that is a change.
    pub verdict: Change,
}

impl Compared {
    /// How far it changed, up or down, in percent.
    pub fn change_percent(&self) -> f64 {
        far_percent(self.ratio)
    }
}

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// What both measured, in the order of the second.
    pub rows: Vec<Compared>,
    /// Measurements of the first run that the second lacks.
    pub missing: u64,
    /// Measurements of the second run that the first lacks.
    pub new: u64,
}

impl Comparison {
    /// How many became worse.
    pub fn worse(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict == Change::Worse).count()
    }

    /// How far the rows changed, in percent, up or down: that of the one in the middle, of the one that nine
    /// in ten do not exceed, and of the farthest.
    pub fn changes_percent(&self) -> Option<[f64; 3]> {
        let mut all: Vec<f64> = self.rows.iter().map(Compared::change_percent).collect();
        all.sort_by(f64::total_cmp);
        let at = |part: usize| all.get((all.len() * part / 10).min(all.len().checked_sub(1)?));
        Some([*at(5)?, *at(9)?, *at(10)?])
    }
}

/// Compares all measurements that two runs have in common. A change counts if it is greater than
/// `tolerance_percent` and than the spreads of both runs together; of an exact count, any does.
pub fn compare(before: &Results, after: &Results, tolerance_percent: f64) -> Comparison {
    let find = |in_: &'_ Results, like: &Measurement| {
        in_.measurements.iter().position(|other| other.key() == like.key())
    };
    let row = |after: &Measurement| {
        let index = find(before, after)?;
        Some(row(&before.measurements[index], after, tolerance_percent))
    };
    let rows: Vec<Compared> = after.measurements.iter().filter_map(row).collect();
    let missing = before.measurements.iter().filter(|m| find(after, m).is_none()).count() as u64;
    let new = (after.measurements.len() - rows.len()) as u64;
    Comparison { rows, missing, new }
}

fn row(before: &Measurement, after: &Measurement, tolerance_percent: f64) -> Compared {
    let (old, new) = (before.median, after.median);
    let ratio = match after.better {
        _ if old.median == new.median => 1.0,
        Better::Higher => new.median / old.median,
        Better::Lower => old.median / new.median,
    };
    let noise_percent = match after.unit.as_str() {
        EXACT_UNIT => 0.0,
        _ => tolerance_percent.max(old.spread_percent + new.spread_percent),
    };
    let verdict = match ratio {
        _ if far_percent(ratio) <= noise_percent => Change::Same,
        ratio if ratio > 1.0 => Change::Better,
        _ => Change::Worse,
    };
    Compared { measurement: after.clone(), before: old, ratio, noise_percent, verdict }
}

/// As far down as up: twice as slow is as far from 1 as twice as fast.
fn far_percent(ratio: f64) -> f64 {
    100.0 * (ratio.max(1.0 / ratio) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::measurement::Quantity;

    fn results(quantities: Vec<(&str, Quantity)>) -> Results {
        let mut results = Results::new(String::new(), 0);
        let of = |(name, quantity)| Measurement::new("suite", name, "store", quantity);
        results.measurements = quantities.into_iter().map(of).collect();
        results
    }

    fn verdict(before: Quantity, after: Quantity) -> (Change, f64) {
        let compared = compare(&results(vec![("a", before)]), &results(vec![("a", after)]), 10.0);
        (compared.rows[0].verdict, compared.rows[0].ratio)
    }

    #[test]
    fn a_change_counts_beyond_the_tolerance() {
        let mops = |median| Quantity::throughput(vec![median]);
        assert_eq!(verdict(mops(2.0), mops(1.0)), (Change::Worse, 0.5));
        assert_eq!(verdict(mops(1.0), mops(2.0)), (Change::Better, 2.0));
        assert_eq!(verdict(mops(1.0), mops(0.95)), (Change::Same, 0.95));
        assert_eq!(verdict(mops(1.0), mops(0.0)).0, Change::Worse);
        assert_eq!(verdict(mops(0.0), mops(0.0)).0, Change::Same);
        let ms = |median| Quantity::cost("reopen time", "ms", vec![median]);
        assert_eq!(verdict(ms(2.0), ms(1.0)), (Change::Better, 2.0));
        assert_eq!(verdict(ms(1.0), ms(2.0)), (Change::Worse, 0.5));
    }

    #[test]
    fn a_change_within_the_spreads_is_noise() {
        let noisy = Quantity::throughput(vec![0.8, 1.0, 1.2]);
        let slower = Quantity::throughput(vec![0.6, 0.75, 0.9]);
        assert_eq!(verdict(noisy.clone(), slower.clone()).0, Change::Same);
        let steady = |median| Quantity::throughput(vec![median; 3]);
        assert_eq!(verdict(steady(1.0), steady(0.75)).0, Change::Worse);
    }

    #[test]
    fn any_change_of_a_count_counts() {
        let count = |n| Quantity::cost("line flushes", EXACT_UNIT, vec![n]);
        assert_eq!(verdict(count(2.0), count(2.0)).0, Change::Same);
        assert_eq!(verdict(count(2.0), count(2.001)).0, Change::Worse);
        assert_eq!(verdict(count(0.0), count(1.0)).0, Change::Worse);
        assert_eq!(verdict(count(1.0), count(0.0)).0, Change::Better);
    }

    #[test]
    fn what_only_one_run_has_is_counted() {
        let mops = || Quantity::throughput(vec![1.0]);
        let (a, b) = (vec![("a", mops()), ("b", mops())], vec![("b", mops()), ("c", mops())]);
        let compared = compare(&results(a), &results(b), 10.0);
        assert_eq!((compared.rows.len(), compared.missing, compared.new), (1, 1, 1));
        assert_eq!(compared.worse(), 0);
    }

    #[test]
    fn changes_are_told_by_rank() {
        let run = |of: &dyn Fn(u32) -> f64| {
            let names: Vec<String> = (0..11).map(|i| i.to_string()).collect();
            let quantity = |i| Quantity::throughput(vec![of(i)]);
            results(names.iter().zip(0..).map(|(name, i)| (name.as_str(), quantity(i))).collect())
        };
        // By 0, 1, 2, ... 10 percent, every second one down.
        let after = |i: u32| {
            let up = 1.0 + f64::from(i) / 100.0;
            if i.is_multiple_of(2) { up } else { 1.0 / up }
        };
        let compared = compare(&run(&|_| 1.0), &run(&after), 10.0);
        let changes = compared.changes_percent().expect("rows").map(f64::round);
        assert_eq!(changes, [5.0, 9.0, 10.0]);
        assert_eq!(compare(&results(vec![]), &results(vec![]), 1.0).changes_percent(), None);
    }
}
