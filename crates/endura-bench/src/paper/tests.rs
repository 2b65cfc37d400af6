//! Every row at a tiny scale: it runs, its figures are figures, its verdict follows from its checks.

use super::{Check, Finding, PaperRow, PaperScale, Verdict, rows};
use crate::results::Results;

fn tiny(dir: &std::path::Path) -> PaperScale {
    PaperScale {
        keys: 3_000,
        operations: 1_500,
        rounds: 1,
        threads: vec![1, 2],
        dir: dir.into(),
        seed: 1,
    }
}

#[test]
fn every_row_measures_what_it_says() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut results = Results::new("test".into(), 1);
    let scale = tiny(dir.path());
    for row in rows() {
        let outcome = row.run(&scale).unwrap_or_else(|error| panic!("{}: {error}", row.name()));
        assert!(!outcome.finding.checks.is_empty(), "{}: no check", row.name());
        for plot in &outcome.finding.plots {
            assert!(!plot.series.is_empty() && !plot.unit.is_empty(), "{}", row.name());
            for point in plot.series.iter().flat_map(|series| &series.points) {
                assert!(point.y.is_finite() && point.y >= 0.0, "{}: {point:?}", row.name());
            }
        }
        for check in &outcome.finding.checks {
            assert!(!check.ours.contains("NaN"), "{}: {}", row.name(), check.ours);
            let has_reason = check.holds == Some(true) || !check.why.is_empty();
            assert!(has_reason, "{}: no reason for {}", row.name(), check.claim);
        }
        let before = results.measurements.len();
        outcome.add_to(&mut results, &scale);
        assert!(results.measurements.len() > before || outcome.finding.plots.is_empty());
    }
}

#[test]
fn rows_have_names_of_their_own() {
    let mut names: Vec<String> = rows().map(PaperRow::name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(count >= 25, "{count}");
}

#[test]
fn a_verdict_follows_from_its_checks() {
    let check =
        |holds| Check { claim: String::new(), ours: String::new(), holds, why: String::new() };
    let verdict = |checks: &[Option<bool>]| {
        let checks = checks.iter().map(|&holds| check(holds)).collect();
        Finding { setup: String::new(), plots: Vec::new(), checks }.verdict()
    };
    assert_eq!(verdict(&[Some(true), None]), Verdict::Holds);
    assert_eq!(verdict(&[Some(true), Some(false)]), Verdict::Partly);
    assert_eq!(verdict(&[Some(false), None]), Verdict::DoesNotHold);
    assert_eq!(verdict(&[None]), Verdict::CannotTell);
    assert_eq!(verdict(&[]), Verdict::CannotTell);
}
