//! `endura bench batches`.

use serde_json::Value;

use super::{bench, code_and_texts};

#[test]
fn batches_are_measured_beside_single_changes_and_other_stores() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let of = |more: &[&str]| {
        let batches = ["batches", "--entries", "2000", "--stored", "2000", "--rounds", "1"];
        let output = bench(dir.path(), &[&batches[..], more].concat());
        let (code, text, err) = code_and_texts(&output);
        assert_eq!(code, Some(0), "{text}{err}");
        text.to_owned()
    };
    let text = of(&[]);
    for part in ["2,000 entries", "new, 1,000", "FastFair", "NbTree", "LMDB"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let read: Value = serde_json::from_str(&of(&["--adr", "--json"])).expect("JSON");
    let rows = read["measured"].as_array().expect("stores");
    assert_eq!(rows.len(), 2, "{read}");
    for row in rows {
        assert!(row["beside"]["median"].as_f64() > Some(0.0), "{row}");
        assert_eq!(row["new_ratios"][0]["median"].as_f64(), Some(1.0), "{row}");
    }
}
