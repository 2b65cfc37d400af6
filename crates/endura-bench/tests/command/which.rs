//! `endura bench which`.

use serde_json::Value;

use super::{bench, code_and_texts};

#[test]
fn every_set_of_keys_is_measured_beside_lmdb() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let of = |more: &[&str]| {
        let which = ["which", "--entries", "1000", "--rounds", "1", "--values", "8,100"];
        let output = bench(dir.path(), &[&which[..], more].concat());
        let (code, text, err) = code_and_texts(&output);
        assert_eq!(code, Some(0), "{text}{err}");
        text.to_owned()
    };
    let text = of(&[]);
    assert!(text.contains("urls, values of 8 bytes, 1,000 entries, page-cache"), "{text}");
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("LMDB ")).count(), 18);
    let none = bench(dir.path(), &["which", "--entries", "0"]);
    assert_eq!(none.status.code(), Some(2));
    let text = of(&["--media", "adr", "--keys", "u64,paths", "--json"]);
    let read: Value = serde_json::from_str(&text).expect("JSON");
    let cases = read["measured"].as_array().expect("cases");
    let rows = |case: &Value| case["figures"].as_array().map_or(0, Vec::len);
    assert_eq!(cases.iter().map(rows).collect::<Vec<_>>(), [3, 3, 3, 3], "{text}");
}
