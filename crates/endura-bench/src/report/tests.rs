//! A report of made-up figures: every section is there, and the files can be read.

use super::{BenchReport, CountTable};
use crate::figures::{Latency, Median};
use crate::goals::Judged;
use crate::paper::{PaperScale, Rerun, rows};
use crate::probes::counts::PerOperation;
use crate::probes::floor::{AHEAD, Chase, Floor};
use crate::probes::instructions::InstructionCounts;
use crate::probes::recovery::Timeline;
use crate::results::{Better, Measurement, Parameter, Promise, Quantity, Results, Role, StoreInfo};

/// Ours and LMDB, which is twice as fast and smaller.
pub(super) fn results() -> Results {
    let mut results = Results::new("endura bench report --quick <test>".into(), 1);
    for (name, role, promise) in
        [("NbTree", Role::Ours, Promise::Sigkill), ("LMDB", Role::Peer, Promise::Sigkill)]
    {
        results.stores.push(StoreInfo {
            name: name.into(),
            role,
            promise,
            setting: "as it comes".into(),
        });
        let rate = if role == Role::Ours { 1.0 } else { 2.0 };
        for (workload, threads) in [("A", 1), ("A", 2), ("B", 1)] {
            let rounds = Quantity::throughput(vec![rate, rate * 1.1, rate * 0.9]);
            let mut one = Measurement::new("ycsb", workload, name, rounds);
            one.threads = threads;
            let ns = 1000;
            one.latency_ns = Some(Latency {
                p50: ns,
                p90: ns,
                p99: ns,
                p999: ns,
                p9999: ns,
                max: ns,
                samples: 150,
            });
            results.measurements.push(one);
        }
        let space =
            Quantity::cost("space", "B/key", vec![if role == Role::Ours { 50.0 } else { 40.0 }]);
        results.measurements.push(Measurement::new("ycsb", "load", name, space));
        for length in [10.0, 100.0] {
            let mut one =
                Measurement::new("scans", "scan", name, Quantity::throughput(vec![rate / length]));
            one.parameter =
                Some(Parameter { name: "scan length".into(), unit: String::new(), value: length });
            results.measurements.push(one);
        }
    }
    results
}

fn judged(median: f64) -> Judged {
    Judged {
        race: "NbTree beside LMDB".into(),
        goal: "get, times LMDB".into(),
        better: Better::Higher,
        asked: 3.0,
        aim: Some(4.0),
        measured: Median { median, spread_percent: 1.0 },
        is_reached: median >= 3.0,
        bound: (median < 3.0).then_some("two nodes that no cache holds"),
        shared_percent: 0.0,
    }
}

fn report(papers: Vec<Rerun>) -> BenchReport {
    let median = Median { median: 100.0, spread_percent: 3.0 };
    let row = PerOperation {
        operation: "insert",
        operations: 10,
        line_flushes: 1.0,
        fences: 1.0,
        stores: 3.0,
        loads: 20.0,
        lines_read: 2.0,
        lines_written: 1.0,
        allocations: 0.1,
    };
    BenchReport {
        results: results(),
        scales: vec!["a few keys".into()],
        papers,
        tests_papers: true,
        goals: [2.0, 3.5].map(judged).to_vec(),
        counts: vec![CountTable { index: "NbTree".into(), domain: "ADR".into(), rows: vec![row] }],
        instructions: InstructionCounts::None("no tool".into()),
        floor: Floor {
            bytes: 1 << 20,
            dependent_load_ns: median,
            durable_store_ns: median,
            sequential_line_ns: median,
            record_ns: [median; AHEAD.len()],
        },
        chases: vec![Chase { set_ns: 100, wall_ns: median, charged_ns: 100.0 }],
        timeline: (
            Timeline {
                points: (0..40).map(|n| (f64::from(n) / 10.0, 1.0)).collect(),
                crash: 1.0,
                restart: 1.5,
                first_answer_ms: 0.4,
                collected: Some(2.0),
                bytes_freed: 4096,
            },
            "some keys".into(),
        ),
        took: vec![("workloads", 1.0), ("papers", 2.0)],
    }
}

#[test]
fn every_section_stands_in_the_page_and_says_what_is_behind() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let scale = PaperScale {
        keys: 3000,
        operations: 1000,
        rounds: 1,
        threads: vec![1, 2],
        dir: dir.path().into(),
        seed: 1,
    };
    let row = rows().find(|row| row.figure == "table 4").expect("a row");
    let html = report(vec![row.run(&scale).expect("counts")]).html();
    for section in [
        "throughput",
        "latency",
        "scaling",
        "counts",
        "space",
        "recovery",
        "slow-memory",
        "goals",
        "papers",
        "behind",
        "settings",
    ] {
        let at = html
            .find(&format!("<section id=\"{section}\">"))
            .unwrap_or_else(|| panic!("no {section}"));
        let end = html[at..].find("</section>").expect("its end") + at;
        assert!(end - at > 150, "{section} is empty: {}", &html[at..end]);
    }
    assert!(html.contains("endura bench report --quick &lt;test&gt;"), "the command, escaped");
    assert!(html.contains("3 s: workloads 1 s, papers 2 s"), "how long it took");
    assert!(html.contains("ROART table 4") && html.contains("WORT"), "rows, and what is missing");
    assert!(html.contains("1 of 2 goals are reached") && html.contains("falls short"));
    assert!(
        html.contains("nav .in{display:flex;flex-wrap:wrap"),
        "links that a narrow screen cuts off"
    );
    assert!(html.contains("get, times LMDB 2.00: two nodes that no cache holds."));
    let behind = &html[html.find("<section id=\"behind\">").expect("behind")..];
    assert!(behind.contains("LMDB") && behind.contains("2.00"), "how far ahead LMDB is");
    // Nothing is fetched from anywhere.
    for from_elsewhere in ["src=", "@import", "url(", "<link", "<script"] {
        assert!(!html.contains(from_elsewhere), "{from_elsewhere}");
    }
    assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
    assert!(html.matches("<svg").count() >= 8);
    for tag in ["section", "article", "figure", "table", "ul", "details", "div"] {
        let opened =
            html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

/// Claims on large indexes are neither confirmed nor refuted by small ones, and what did not run has no place.
#[test]
fn a_small_report_counts_no_claims_and_lists_no_goals() {
    let large = report(Vec::new());
    assert!(large.html().contains("claims of the papers that this run confirms"));
    let small = BenchReport { tests_papers: false, goals: Vec::new(), ..large };
    let html = small.html();
    assert!(!html.contains("claims of the papers that this run confirms"), "{html}");
    assert!(!html.contains("#goals") && !html.contains("<section id=\"goals\">"), "{html}");
}

/// A spread without its measurement tells nobody what to look at.
#[test]
fn the_widest_spread_has_its_measurement() {
    let mut report = report(Vec::new());
    let lmdb = report.results.measurements.iter_mut().find(|m| m.store == "LMDB").expect("LMDB");
    lmdb.median.spread_percent = 704.0;
    let html = report.html();
    assert!(
        html.contains("The widest spread: 704 % (LMDB, ycsb: A (throughput, 1 thread))"),
        "{html}"
    );
    assert!(!html.contains("at worst"), "{html}");
}

#[test]
fn the_files_can_be_read_again() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let report = report(Vec::new());
    let files = report.write(&dir.path().join("new/folder")).expect("four files");
    assert_eq!(Results::read(&files.json).expect("results"), report.results);
    let details = std::fs::read_to_string(&files.details).expect("details");
    let details: serde_json::Value = serde_json::from_str(&details).expect("JSON");
    assert_eq!(details["counts"][0]["rows"][0]["line_flushes"], 1.0);
    let csv = std::fs::read_to_string(&files.csv).expect("CSV");
    assert_eq!(csv.lines().count(), 1 + report.results.measurements.len());
    assert!(std::fs::read_to_string(&files.html).expect("HTML").ends_with("</html>\n"));
    assert_eq!(report.results.measurements[0].better, Better::Higher);
}
