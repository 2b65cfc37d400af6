//! Several processes that want one pool.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Place, command, ended, ends_with, endura, endura_with, works};

#[test]
fn twenty_puts_side_by_side_all_come_to_pass() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    let put = |i: u64| {
        let key = i.to_string();
        command(&["put", pool, &key, "1", "--wait", "25"]).spawn().expect("a put")
    };
    let puts: Vec<_> = (0..20).map(put).collect();
    for put in puts {
        assert_eq!(ended(put).code(), Some(0));
    }
    assert_eq!(works(&["scan", pool]).lines().count(), 20);
}

#[test]
fn waiting_has_an_end() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    works(&["put", pool, "1", "1"]);
    let open = endura::Pool::options().open_existing(pool).expect("the pool");
    for (wait, least) in [("0", 0), ("0.3", 300)] {
        let begun = Instant::now();
        let complaint = ends_with(3, &["get", pool, "1", "--wait", wait]);
        assert!(complaint.contains("--wait") && complaint.contains(pool), "{complaint}");
        assert!(begun.elapsed() >= Duration::from_millis(least));
    }
    ends_with(2, &["get", pool, "1", "--wait", "-1"]);
    let get = command(&["get", pool, "1", "--wait", "20"]).stdout(Stdio::null()).spawn();
    std::thread::sleep(Duration::from_millis(100));
    open.close().expect("a close");
    assert_eq!(ended(get.expect("a get")).code(), Some(0));

    let options = endura::Pool::options().lock_timeout(Duration::from_millis(50));
    let first = options.open_existing(pool).expect("the pool");
    assert!(matches!(options.open_existing(pool), Err(endura::Error::Locked)));
    let again = std::thread::spawn({
        let (options, pool) = (options.lock_timeout(Duration::from_secs(20)), pool.to_string());
        move || options.open_existing(pool).map(drop)
    });
    std::thread::sleep(Duration::from_millis(50));
    drop(first);
    again.join().expect("a thread").expect("the pool");
}

#[test]
fn a_scan_that_nobody_reads_blocks_no_writer() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    let lines: String = (0..400_000).map(|i| format!("{i}\t{i}\n")).collect();
    assert!(endura_with(&["import", pool], lines.as_bytes()).status.success());
    for more in [&[][..], &["--reverse"]] {
        let mut scan = command(&[&["scan", pool], more].concat());
        let mut scan = scan.stdout(Stdio::piped()).spawn().expect("a scan");
        let mut out = scan.stdout.take().expect("a pipe");
        out.read_exact(&mut [0; 1]).expect("the first byte");
        works(&["put", pool, "200000", "0", "--wait", "2"]);
        let (low, high) = ("0", "999999");
        works(&["put", pool, if more.is_empty() { high } else { low }, "5", "--wait", "2"]);
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("the rest");
        assert_eq!(ended(scan).code(), Some(0));
        assert!(rest.ends_with(if more.is_empty() { "999999\t5\n" } else { "\n0\t5\n" }));
        assert!(rest.lines().count() >= 400_000);
        let digits = rest.lines().skip(1).map(|line| line.split('\t').next().expect("a key"));
        let keys: Vec<u64> = digits.map(|key| key.parse().expect("a number")).collect();
        let in_order = |pair: &[u64]| (pair[0] < pair[1]) == more.is_empty();
        assert!(keys.windows(2).all(in_order), "an entry twice, or out of order");
    }
    let mut scan = command(&["scan", pool, "--consistent"]);
    let mut scan = scan.stdout(Stdio::piped()).spawn().expect("a scan");
    let mut out = scan.stdout.take().expect("a pipe");
    out.read_exact(&mut [0; 1]).expect("the first byte");
    ends_with(3, &["put", pool, "1", "1", "--wait", "0"]);
    drop(out);
    ended(scan);
}

#[test]
fn a_slow_import_holds_no_lock_before_its_first_entry() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    works(&["put", pool, "1", "1"]);
    let mut import = command(&["import", pool]);
    let mut import = import.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("an import");
    std::thread::sleep(Duration::from_millis(50));
    works(&["put", pool, "2", "2", "--wait", "2"]);
    let mut stdin = import.stdin.take().expect("a pipe");
    stdin.write_all(b"3\t3\n").expect("an entry");
    drop(stdin);
    assert_eq!(ended(import).code(), Some(0));
    assert_eq!(endura(&["scan", pool]).stdout, b"1\t1\n2\t2\n3\t3\n");
}
