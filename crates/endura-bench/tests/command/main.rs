//! `endura-bench` and its suites at a tiny scale, and `compare` of its files.
#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod batches;
mod which;

use std::path::Path;
use std::process::{Command, Output};

use endura_engine::cpu::vectors::Vectors;
use serde_json::Value;

fn bench(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_endura-bench"));
    command.args(arguments).current_dir(dir);
    match arguments[0] {
        "compare" => {}
        "batches" | "which" => _ = command.args(["--dir", "."]),
        _ => _ = command.args(["--dir", ".", "--max-size", "1G"]),
    }
    command.output().expect("the command runs")
}

fn code_and_texts(output: &Output) -> (Option<i32>, &str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).expect("text");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// What it measured.
fn measured(dir: &Path, arguments: &[&str]) -> Value {
    let output = bench(dir, &[arguments, &["--json"]].concat());
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{arguments:?}: {out}{err}");
    serde_json::from_str(out).expect("JSON")
}

/// The measurements of one quantity, each greater than zero.
fn quantity<'a>(results: &'a Value, name: &str) -> Vec<&'a Value> {
    let all = results["measurements"].as_array().expect("measurements");
    let found: Vec<&Value> = all.iter().filter(|m| m["quantity"] == name).collect();
    assert!(found.iter().all(|m| m["median"].as_f64() > Some(0.0)), "{name}: {found:?}");
    found
}

const TINY: [&str; 6] = ["-n", "2000", "-p", "600", "--rounds", "2"];

#[test]
fn ycsb_measures_every_workload_on_every_store() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let stores = ["--stores", "fast-fair,nbtree,roart,lmdb,btreemap", "--threads", "1,3"];
    let results = measured(dir.path(), &[&["ycsb"], &TINY[..], &stores].concat());
    let throughputs = quantity(&results, "throughput");
    // A load and six workloads, two numbers of threads, five stores.
    assert_eq!(throughputs.len(), 7 * 2 * 5);
    for one in throughputs {
        assert_eq!(one["rounds"].as_array().map(Vec::len), Some(2));
        let latency = &one["latency_ns"];
        let percentiles =
            ["p50", "p90", "p99", "p999", "p9999", "max"].map(|p| latency[p].as_u64());
        assert!(percentiles.is_sorted() && percentiles[0] > Some(0), "{one}");
    }
    assert_eq!(quantity(&results, "space").len(), 4 * 2);
    assert_eq!(quantity(&results, "reopen time").len(), 4 * 2);
    let settings = results["stores"].as_array().expect("stores");
    assert_eq!(settings.len(), 5);
    assert!(settings.iter().all(|s| s["setting"].as_str().is_some_and(|text| !text.is_empty())));
    assert_eq!(dir.path().read_dir().expect("a folder").count(), 0, "files are left");

    let strings = ["ycsb", "--strings", "--workloads", "a,E", "--distribution", "latest"];
    let output = bench(dir.path(), &[&strings[..], &TINY].concat());
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    for part in
        ["NbTree", "LMDB", "survives SIGKILL", "volatile", "A latest 0.99", "p99.99", "B/key"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
}

/// At 2,000 operations a second 400 of them take 0.2 seconds, whatever the store could do.
#[test]
fn an_arrival_rate_is_kept() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let rate = ["ycsb", "--workloads", "C", "--stores", "btreemap", "--rate", "2000"];
    let sizes = ["-n", "1000", "-p", "400", "--rounds", "1"];
    let results = measured(dir.path(), &[&rate[..], &sizes].concat());
    let throughputs = quantity(&results, "throughput");
    let reads = throughputs.iter().find(|m| m["workload"] == "C zipfian 0.99").expect("C");
    assert!((0.0005..0.00201).contains(&reads["median"].as_f64().expect("a number")), "{reads}");
    assert_eq!(reads["latency_ns"]["samples"].as_u64(), Some(400));
}

/// Every set of vector instructions that the processor has, beside the same peer.
#[test]
fn searches_are_measured_by_all_vectors_in_one_run() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let run = ["--kind", "nbtree", "--keys", "2000", "--only", "get,scan", "--threads", "1"];
    let results =
        measured(dir.path(), &[&run[..], &["--vectors", "all", "--rounds", "1"]].concat());
    let throughputs = quantity(&results, "throughput");
    let vectors: Vec<Vectors> = Vectors::available().collect();
    for vectors in &vectors {
        let by = format!(", by {vectors}");
        let is_it = |m: &&&Value| m["suite"].as_str().is_some_and(|suite| suite.ends_with(&by));
        // Load, get and scan, of two stores.
        assert_eq!(throughputs.iter().filter(is_it).count(), 6, "{by}: {results}");
    }
    let refused = bench(dir.path(), &["--vectors", "sse9"]);
    let (code, _, err) = code_and_texts(&refused);
    assert_eq!(code, Some(2));
    assert!(vectors.iter().all(|vectors| err.contains(vectors.name())), "{err}");
}

#[test]
fn mixes_tpcc_and_sweeps_run() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let of = |arguments: &[&str]| {
        let results = measured(dir.path(), &[arguments, &["--rounds", "1"]].concat());
        quantity(&results, "throughput").len()
    };
    let sizes = ["-n", "2000", "-p", "600"];
    let lean = ["--stores", "fast-fair,nbtree,roart,lmdb"];
    // Loads of numbers, and of strings.
    assert_eq!(of(&[&["mixes"], &sizes[..], &lean].concat()), 4 * (2 + 6 + 11));
    let tpcc = ["tpcc", "--items", "200", "--transactions", "200", "--threads", "1,2"];
    assert_eq!(of(&[&tpcc[..], &lean].concat()), 4 * 4 * 2);
    assert_eq!(of(&[&["sweep", "scan"], &sizes[..], &lean].concat()), 4 * 6);
    assert_eq!(of(&[&["sweep", "size"], &sizes[..], &lean].concat()), 4 * 5 * 5);
    assert_eq!(of(&[&["sweep", "skew"], &sizes[..], &lean].concat()), 4 * 8);
    let threads = ["sweep", "threads", "--threads", "1,5"];
    assert_eq!(of(&[&threads[..], &sizes, &lean].concat()), 4 * 5 * 2);
    let points = ["sweep", "writes", "--points", "0,30"];
    assert_eq!(of(&[&points[..], &sizes, &lean].concat()), 4 * 3);
}

#[test]
fn pibench_takes_its_parameters() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mix = ["-r", "0.5", "-i", "0.2", "-u", "0.1", "-d", "0.1", "-s", "0.1", "-t", "2"];
    let more =
        ["--distribution", "SELFSIMILAR", "--skew", "0.3", "--scan_size", "7", "--seed", "9"];
    let stores = ["-n", "1000", "-p", "2000", "--rounds", "1", "--stores", "nbtree"];
    let results = measured(dir.path(), &[&["pibench"], &mix[..], &more, &stores].concat());
    let name = "read 0.5 insert 0.2 update 0.1 remove 0.1 scan 0.1, self-similar 0.3";
    assert!(quantity(&results, "throughput").iter().any(|m| m["workload"] == name), "{results}");
    let sizes = ["mix", "-k", "16", "-v", "32", "-n", "500", "-p", "100", "--rounds", "1"];
    let results = measured(dir.path(), &sizes);
    let suite = "pibench, keys of 16 bytes, values of 32";
    assert!(quantity(&results, "throughput").iter().all(|m| m["suite"] == suite), "{results}");
    for bad in [
        &["pibench", "-r", "0.5"][..],
        &["pibench", "-r", "1.5"],
        &["ycsb", "--workloads", "G"],
        &["ycsb", "--stores", "congee", "--strings"],
        &["ycsb", "--skew", "0"],
        &["sweep", "scan", "--points", "0.5"],
        &["tpcc", "--warehouses", "1", "--threads", "2"],
        &["--keys", "1"],
        &["--layout", "1/2"],
    ] {
        let output = bench(dir.path(), bad);
        let (code, out, err) = code_and_texts(&output);
        assert_eq!(code, Some(2), "{bad:?}: {out}{err}");
    }
}

#[test]
fn reopen_kills_and_finds() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let sizes = ["-n", "3000", "--rounds", "2", "--stores", "fast-fair,nbtree,roart,lmdb,btreemap"];
    let results = measured(dir.path(), &[&["reopen", "--opens", "3"], &sizes[..]].concat());
    let times = quantity(&results, "reopen time");
    assert_eq!((times.len(), quantity(&results, "open time").len()), (4, 4), "{results}");
    assert_eq!(quantity(&results, "rebuild time").len(), 1, "{results}");
    assert!(times.iter().all(|m| m["rounds"].as_array().map(Vec::len) == Some(2)), "{results}");
    let opens = quantity(&results, "open alone");
    // After a kill and after a close, of each index, three times in each of two rounds.
    assert_eq!(opens.len(), 2 * 3, "{results}");
    assert!(opens.iter().all(|m| m["rounds"].as_array().map(Vec::len) == Some(6)), "{results}");
    assert_eq!(results["stores"].as_array().map(Vec::len), Some(4));
}

#[test]
fn checkpoints_writes_a_table_for_each_part() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_endura-bench"));
        let sizes = ["--bytes", "2M", "--changed", "5", "--interval", "0.02", "--rounds", "2"];
        let turns = ["--seconds", "0.1", "--turn", "0.1", "--rounds-of-throughput", "1"];
        let others = ["--keys", "1000", "--threads", "1", "--rounds-of-restore", "1", "--dir", "."];
        command.arg("checkpoints").args(sizes).args(turns).args(others).args(more);
        command.current_dir(dir.path()).output().expect("the command runs")
    };
    let output = run(&[]);
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    for title in ["Holds: 5 % of", "Longest update:", "Throughput: 1,000 keys", "Restore: a pool"] {
        assert_eq!(out.matches(title).count(), 1, "{title}: {out}");
    }
    let output = run(&["--only", "restore", "--json"]);
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    let found: Value = serde_json::from_str(out).expect("JSON");
    assert!(found.as_object().is_some_and(|parts| parts.keys().eq(["restore"])), "{out}");
    assert!(found["restore"][0]["open_seconds"].as_f64() > Some(0.0), "{out}");
    let left = std::fs::read_dir(dir.path()).expect("a folder").count();
    assert_eq!(left, 0, "files were left");
    for bad in [["--changed", "0"], ["--seconds", "-1"], ["--threads", "0"], ["--only", "all"]] {
        assert_eq!(run(&bad).status.code(), Some(2), "{bad:?}");
    }
}

#[test]
fn compare_tells_a_regression_by_its_exit_code() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let run = ["pibench", "-n", "500", "-p", "300", "--rounds", "1", "--stores", "btreemap"];
    let results = measured(dir.path(), &[&run[..], &["--out", "before.json"]].concat());
    let write = |name: &str, factor: f64| {
        let mut changed = results.clone();
        for one in changed["measurements"].as_array_mut().expect("measurements") {
            if one["quantity"] == "throughput" {
                let median = one["median"].as_f64().expect("a number") * factor;
                one["median"] = median.into();
            }
        }
        std::fs::write(dir.path().join(name), changed.to_string()).expect("a file");
    };
    for (factor, code, word) in [
        (1.0, 0, "Nothing became worse"),
        (1.04, 0, "4 the same"),
        (0.5, 1, "WORSE"),
        (2.0, 0, "better"),
    ] {
        write("after.json", factor);
        let output = bench(dir.path(), &["compare", "before.json", "after.json"]);
        let (found, out, err) = code_and_texts(&output);
        assert_eq!(found, Some(code), "{factor}: {out}{err}");
        assert!(out.contains(word), "{factor}: {out}");
    }
    write("after.json", 0.5);
    let output = bench(dir.path(), &["compare", "before.json", "after.json", "--tolerance", "150"]);
    assert_eq!(code_and_texts(&output).0, Some(0));
    let output = bench(dir.path(), &["compare", "before.json", "after.json", "--json"]);
    let (code, out, _) = code_and_texts(&output);
    let whole: Value = serde_json::from_str(out).expect("JSON");
    assert_eq!((code, whole["rows"][0]["verdict"].as_str()), (Some(1), Some("worse")));
    let output = bench(dir.path(), &["compare", "before.json", "missing.json"]);
    assert_eq!(code_and_texts(&output).0, Some(3));
}

/// One throughput halved on every store is the machine's doing, on ours alone it is ours.
#[test]
fn ratios_tell_a_slower_index_from_a_slower_machine() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let run = ["pibench", "-n", "500", "-p", "300", "--rounds", "1", "--stores", "fast-fair,lmdb"];
    let results = measured(dir.path(), &[&run[..], &["--out", "before.json"]].concat());
    let compare = |slower: &[&str], more: &[&str]| {
        let mut changed = results.clone();
        for one in changed["measurements"].as_array_mut().expect("measurements") {
            let is_slower = one["store"].as_str().is_some_and(|store| slower.contains(&store));
            if one["quantity"] == "throughput" && is_slower {
                let half = one["median"].as_f64().expect("a number") / 2.0;
                (one["median"], one["rounds"]) = (half.into(), vec![half].into());
            }
        }
        std::fs::write(dir.path().join("after.json"), changed.to_string()).expect("a file");
        let files = ["compare", "before.json", "after.json", "--all"];
        let output = bench(dir.path(), &[&files[..], more].concat());
        let (code, out, err) = code_and_texts(&output);
        (code, format!("{out}{err}"))
    };
    let both = ["FastFair", "LMDB"];
    assert_eq!(compare(&both, &[]).0, Some(1));
    let (code, text) = compare(&both, &["--ratios"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("FastFair : LMDB") && text.contains("the farthest by 0.0 %"), "{text}");
    let (code, text) = compare(&both[..1], &["--ratios"]);
    assert!(code == Some(1) && text.contains("0.50x"), "{text}");
}

#[test]
fn instructions_are_counted_and_the_same_twice() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let count_with = |operations, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_endura-bench"));
        command.args(["instructions", "-n", "500", "-p", operations, "--json", "--dir", "."]);
        command.args(more).current_dir(dir.path()).output().expect("the command runs")
    };
    let (first, second) = (count_with("2", &[]), count_with("2", &[]));
    let (code, out, err) = code_and_texts(&first);
    if err.contains("may not be traced") {
        return;
    }
    assert_eq!(code, Some(0), "{out}{err}");
    let count = |one: &Value| one["count"].as_f64().expect("a number");
    let counts_of = |text: &str| -> Vec<f64> {
        let counts: Value = serde_json::from_str(text).expect("JSON");
        counts.as_array().expect("counts").iter().map(count).collect()
    };
    let counts = counts_of(out);
    assert_eq!(counts.len(), 3 * 6);
    // This build is not optimised: a scan takes 122,000.
    assert!(counts.iter().all(|count| (50.0..500_000.0).contains(count)), "{out}");
    // Where addresses may not be fixed, the C library copies in a few instructions more or less.
    let again = counts_of(code_and_texts(&second).1);
    let are_close = |(a, b): (&f64, &f64)| (a - b).abs() <= a / 1_000.0;
    assert!(counts.len() == again.len() && counts.iter().zip(&again).all(are_close), "{out}");
    let narrowest = Vectors::available().next().expect("vectors").name();
    let scans = count_with("1", &["--strings", "--vectors", narrowest]);
    let (code, out, err) = code_and_texts(&scans);
    assert_eq!(code, Some(0), "{out}{err}");
    let counts = counts_of(out);
    for scans in counts.as_chunks::<4>().0 {
        let [lent, lent_later, owned, owned_later] = scans;
        assert!(lent >= lent_later && owned >= owned_later && owned > lent, "{out}");
    }
    assert_eq!(counts.len(), 2 * 4);
    assert_eq!(dir.path().read_dir().expect("a folder").count(), 0, "files are left");
}

/// A map in DRAM loses everything: kills must show it, and that LMDB and our indexes do not.
#[test]
fn kills_tell_a_store_that_loses_from_those_that_do_not() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let kills = |stores: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_endura-bench"));
        command.args(["kills", "--stores", stores, "--rounds", "3", "--seed", "3", "--dir", "."]);
        command.current_dir(dir.path()).output().expect("the command runs")
    };
    let output = kills("lmdb,fast-fair,nbtree,roart");
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("LMDB") && out.contains("Nothing was lost."), "{out}");
    let output = kills("lmdb,btreemap");
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("BTreeMap LOSES WHAT IT ACKNOWLEDGED"), "{out}");
    assert_eq!(dir.path().read_dir().expect("a folder").count(), 0, "files are left");
}

fn plain(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_endura-bench"));
    command.args(arguments).arg("--dir").arg(dir).output().expect("the command runs")
}

#[test]
fn bench_measures_both_stores() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let sizes = ["--keys", "20000", "--rounds", "2"];
    let output = plain(dir.path(), &[&["--json"], &sizes[..]].concat());
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    let whole: Value = serde_json::from_str(out).expect("JSON");
    // Nine operations, two stores, two numbers of threads.
    for name in ["throughput", "cpu time", "wall time", "99.9th percentile"] {
        assert_eq!(quantity(&whole, name).len(), 9 * 2 * 2, "{name}");
    }
    assert_eq!(quantity(&whole, "speedup").len(), 9 * 2);
    let ratios = quantity(&whole, "times as good");
    let is_of = |m: &&&Value, what| m["workload"].as_str().is_some_and(|text| text.ends_with(what));
    for name in ["(throughput)", "(cpu time)", "(wall time)", "(99.9th percentile)"] {
        assert_eq!(ratios.iter().filter(|m| is_of(m, name)).count(), 9 * 2, "{name}");
    }
    let output = plain(dir.path(), &[&["--only", "get,remove"], &sizes[..]].concat());
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("B/key") && !out.contains("zipf"), "{out}");
    let strings = ["--kind", "roart", "--entries", "5000", "--rounds", "1", "--threads", "1"];
    let output = plain(dir.path(), &strings);
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("uniform keys of 24 bytes, values of 100 bytes, 5,000 entries"), "{out}");
    assert!(out.contains("Roart") && out.contains("LMDB"), "{out}");
    assert_eq!(dir.path().read_dir().expect("a folder").count(), 0, "files are left");
}

#[test]
fn bench_reruns_a_table_of_a_paper_and_names_what_is_missing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let list = plain(dir.path(), &["paper", "--list"]);
    let list = String::from_utf8(list.stdout).expect("text");
    assert!(list.contains("FAST & FAIR fig 6(a)") && list.contains("ROART fig 21(b)"), "{list}");
    let rerun = ["paper", "--only", "table", "-n", "5000", "-p", "1000"];
    let output = plain(dir.path(), &rerun);
    // Whether the claims hold is what the exit code says, and none of this test's business.
    assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("NBTree table 1") && text.contains("ROART table 4"), "{text}");
    assert!(text.contains("missing: ") && text.contains("FPTree"), "{text}");
    let output = plain(dir.path(), &[&rerun[..], &["--json"]].concat());
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
    assert!(rows[0]["checks"][0]["ours"].is_string() && rows[0]["plots"][0]["series"].is_array());
}

/// Every store of this build is in every table that it belongs to.
#[test]
fn the_tables_of_the_readme_are_measured() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_endura-bench"));
    command.args(["readme", "--quick", "--here", "--dir"]).arg(dir.path());
    let output = command.output().expect("the command runs");
    let (code, page, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{page}{err}");
    assert_eq!(dir.path().read_dir().expect("a folder").count(), 0, "files are left");
    for part in
        ["| processor | ", "| kernel | Linux ", "| transparent huge pages | ", "## Settings"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let rows = |name: &str| page.lines().filter(|line| line.starts_with(name)).collect::<Vec<_>>();
    // Three tables of integers, the one after SIGKILL, the one of huge pages.
    assert_eq!(rows("| endura, `FastFair` |").len(), 5, "{page}");
    assert_eq!(rows("| endura, `Roart` |").len(), 4, "{page}");
    for row in rows("| LMDB 0.9.") {
        let cells: Vec<&str> = row.split('|').skip(2).map(str::trim).collect();
        let (last, figures) = cells.split_last().expect("cells");
        let is_figure = |cell: &&str| cell.trim_end_matches(" ms").parse::<f64>().is_ok();
        assert!(last.is_empty() && figures.iter().all(is_figure), "{row}");
    }
    for (feature, name) in
        [(cfg!(feature = "redb"), "| redb 4."), (cfg!(feature = "fjall"), "| fjall 3.")]
    {
        assert_eq!(rows(name).len(), if feature { 5 } else { 0 }, "{name}: {page}");
    }
}

/// No test compiles that crate: it takes minutes. It has to know all crates that the program uses.
#[test]
fn the_crate_of_a_stranger_has_all_its_dependencies() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_endura-bench"));
    command.args(["readme", "--generate", "--crate"]).arg(dir.path());
    let output = command.output().expect("the command runs");
    assert!(output.status.success(), "{output:?}");
    // Of the package itself: a machine need not have what others depend on elsewhere.
    let needs = |folder: &Path, name: &str| -> Vec<String> {
        let metadata = Command::new(env!("CARGO"))
            .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
            .current_dir(folder)
            .output()
            .expect("cargo runs");
        assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
        let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
        let packages = metadata["packages"].as_array().expect("packages");
        let package = packages.iter().find(|package| package["name"] == name).expect(name);
        let needs = package["dependencies"].as_array().expect("dependencies").iter();
        needs.filter_map(|needed| needed["name"].as_str().map(str::to_string)).collect()
    };
    let mut program = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin/endura-bench")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => program += &std::fs::read_to_string(path).expect("a source"),
            }
        }
    }
    let has = needs(dir.path(), "readme-figures");
    let uses = |name: &String| program.contains(&format!("{}::", name.replace('-', "_")));
    let used: Vec<String> = needs(Path::new(env!("CARGO_MANIFEST_DIR")), "endura-bench")
        .into_iter()
        .filter(uses)
        .collect();
    assert!(used.len() > 4 && used.iter().all(|name| has.contains(name)), "{used:?} {has:?}");
}

/// The first call that people try has no options; the help names the folder that it writes.
#[test]
fn a_report_has_a_default_folder() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_endura-bench"));
    let output = command.args(["report", "--help"]).output().expect("the command runs");
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("[default: endura-report]"), "{out}");
    assert!(out.contains("two idle cores"), "{out}");

    // A file in its place: refused before anything is measured.
    std::fs::write(dir.path().join("endura-report"), "").expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_endura-bench"));
    let output = command.args(["report", "--quick"]).current_dir(dir.path()).output();
    let output = output.expect("the command runs");
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(err.contains("endura-report"), "{err}");
}
