//! Ours beside the others: ratios, round by round, and where endura is behind.

use super::html::table;
use crate::figures::{Median, grouped, in_unit, is_time};
use crate::results::{Measurement, Results, pairs, rounds, times_as_good};

/// An index of ours and somebody else, at the same work.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Ratio {
    /// Suite, workload, threads, what was varied.
    pub what: String,
    /// Our index.
    pub ours: String,
    /// Who it is compared with.
    pub other: String,
    /// Whether that one promises nothing after the end of the process.
    pub volatile: bool,
    /// The quantity of both, with its unit.
    pub figures: String,
    /// How many times as good as ours they are: above 1 where endura is behind.
    pub times: f64,
    /// Half the distance between the least and the greatest ratio of a round, in percent of their median:
    /// the two ran one after the other in each. None if there was one round.
    pub spread_percent: Option<f64>,
    /// Whether the difference is within the spread.
    pub within_spread: bool,
}

/// Every measurement of ours beside the same of everybody else.
pub fn ratios(results: &Results) -> Vec<Ratio> {
    let pairs = pairs(results, false).into_iter();
    pairs.filter_map(|(ours, theirs, volatile)| ratio(ours, theirs, volatile)).collect()
}

/// Those in which endura is behind: the farthest first.
pub fn slower(results: &Results) -> Vec<Ratio> {
    let mut behind = ratios(results);
    behind.retain(|ratio| ratio.times > 1.0);
    behind.sort_by(|a, b| b.times.total_cmp(&a.times));
    behind
}

/// None where a figure is zero.
fn ratio(ours: &Measurement, theirs: &Measurement, volatile: bool) -> Option<Ratio> {
    let times = times_as_good(ours.better, theirs.median.median, ours.median.median);
    if !times.is_finite() || times <= 0.0 {
        return None;
    }
    let rounds = rounds(theirs, ours);
    let spread_percent = (rounds.len() > 1).then(|| Median::of(rounds).spread_percent);
    let apart = ours.median.spread_percent + theirs.median.spread_percent;
    Some(Ratio {
        what: ours.place(),
        ours: ours.store.clone(),
        other: theirs.store.clone(),
        volatile,
        figures: both(ours, theirs),
        times,
        spread_percent,
        within_spread: (times.max(1.0 / times) - 1.0) * 100.0 <= spread_percent.unwrap_or(apart),
    })
}

/// Ours and theirs with the unit.
fn both(ours: &Measurement, theirs: &Measurement) -> String {
    let unit = ours.unit.as_str();
    let [ours, theirs] = [ours, theirs].map(|one| in_unit(one.median.median, unit));
    if is_time(unit) { format!("{ours} to {theirs}") } else { format!("{ours} to {theirs} {unit}") }
}

/// How far the ratios of a run differ between its rounds, in sentences.
pub(super) fn spread(results: &Results) -> String {
    let mut spreads: Vec<(f64, Ratio)> = ratios(results)
        .into_iter()
        .filter_map(|ratio| Some((ratio.spread_percent?, ratio)))
        .collect();
    spreads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((widest, ratio)) = spreads.last() else {
        return "every ratio was measured once: no spread is known".into();
    };
    format!(
        "of an index to another store, round by round. Half of the {} ratios spread by at most {:.0} %, nine in ten by \
         at most {:.0} %. The widest spread: {widest:.0} % ({} beside {}, {})",
        grouped(spreads.len() as u64),
        spreads[spreads.len() / 2].0,
        spreads[spreads.len() * 9 / 10].0,
        ratio.ours,
        ratio.other,
        ratio.what
    )
}

fn rows<'r>(ratios: impl Iterator<Item = &'r Ratio>) -> Vec<Vec<String>> {
    let row = |ratio: &Ratio| {
        let spread = ratio.spread_percent.map_or(String::new(), |spread| format!("±{spread:.0}%"));
        let doubt = if ratio.within_spread { "yes" } else { "no" };
        vec![
            ratio.what.clone(),
            ratio.ours.clone(),
            ratio.other.clone(),
            ratio.figures.clone(),
            format!("{:.2}", ratio.times),
            spread,
            doubt.into(),
        ]
    };
    ratios.map(row).collect()
}

/// The section of the page.
pub(super) fn section(results: &Results) -> String {
    let head = |other| {
        ["what", "~ours", other, "figures", "times", "between rounds", "~within the spread"]
    };
    let behind = slower(results);
    let part = |title: &str, volatile: bool| {
        let rows = rows(behind.iter().filter(|ratio| ratio.volatile == volatile));
        match rows.len() {
            0 => format!("<h3>{title}</h3><p>Nowhere in this run.</p>"),
            _ => format!("<h3>{title}</h3>{}", table(&head("~ahead"), &rows)),
        }
    };
    let all = ratios(results);
    format!(
        "<p>Every measurement in which somebody else was better than an index of ours, the farthest first, with the \
         spread of the ratio between rounds. Claims of the papers that do not hold here stand at their rows \
         above.</p>{}{}<details><summary>All {} ratios, those in which endura is ahead as well: how many times as \
         good as ours the others are</summary>{}</details>",
        part("Behind stores with the same promise", false),
        part("Behind maps in DRAM, which lose everything with the process", true),
        grouped(all.len() as u64),
        table(&head("~other"), &rows(all.iter()))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::results;

    #[test]
    fn what_is_slower_is_found_and_how_far() {
        let slower = slower(&results());
        // Ours has 1.0 Mop/s where LMDB has 2.0, and 50 B where it has 40.
        let throughput = slower.iter().find(|s| s.what.contains("throughput")).expect("an entry");
        assert_eq!(
            (throughput.other.as_str(), throughput.times, throughput.volatile),
            ("LMDB", 2.0, false)
        );
        assert!(!throughput.within_spread);
        let space = slower.iter().find(|s| s.what.contains("space")).expect("an entry");
        assert!((space.times - 1.25).abs() < 1e-9 && space.spread_percent.is_none());
        assert!(slower.windows(2).all(|pair| pair[0].times >= pair[1].times));
    }

    #[test]
    fn a_ratio_spreads_as_far_as_its_rounds_differ() {
        let mut results = results();
        let throughput = |ratio: &Ratio| ratio.what.contains("A (throughput, 1");
        let steady = ratios(&results).into_iter().find(throughput).expect("a ratio");
        // Both were a tenth faster in one round and slower in another: the ratio was 2 in each.
        assert!(steady.spread_percent.expect("rounds") < 1e-9);
        let lmdb = results.measurements.iter_mut().find(|m| m.store == "LMDB").expect("LMDB");
        lmdb.rounds.reverse();
        let shaken = ratios(&results).into_iter().find(throughput).expect("a ratio");
        // 1.8 / 1, 2.2 / 1.1 and 2 / 0.9.
        let expected = 50.0 * (2.0 / 0.9 - 1.8) / 2.0;
        assert!((shaken.spread_percent.expect("rounds") - expected).abs() < 1e-9);
        let told = spread(&results);
        let widest = "The widest spread: 11 % (NbTree beside LMDB, ycsb: A (throughput, 1 thread))";
        assert!(told.contains(widest), "{told}");
        results.measurements.iter_mut().for_each(|m| m.rounds.truncate(1));
        assert!(spread(&results).contains("no spread"));
    }
}
