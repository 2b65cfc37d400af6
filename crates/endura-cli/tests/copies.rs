//! Checkpoints, restores, backups and compaction, as scripts use them.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod support;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use endura::{Checkpoints, Pool};
use endura_engine::space::superblock::Superblock;
use rustix::process::{Pid, Signal, kill_process};
use support::{Place, code, command, ended, ends_with, endura, in_foreground, json, text, works};

/// Puts more entries into a pool with a process that is killed, and lets the power fail: another boot, and perhaps garbage
/// in its pages.
fn lose_power(place: &Place, is_torn: bool) {
    let pool = &*place.pool();
    let mut import = command(&["import", pool]);
    let import = import.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = import.spawn().expect("an import");
    let lines: String = (1_000..9_000).map(|i| format!("{i}\t{i}\n")).collect();
    import.stdin.as_mut().expect("its input").write_all(lines.as_bytes()).expect("lines");
    let file = File::options().read(true).write(true).open(pool).expect("the pool");
    let is_closed = || Superblock::read(&file).expect("a superblock").clean;
    let begun = Instant::now();
    while is_closed() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the import does not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(50));
    import.kill().expect("a kill");
    import.wait().expect("its end");
    let mut superblock = Superblock::read(&file).expect("a superblock");
    superblock.boot.id = [0xEE; 16];
    superblock.write(&file).expect("another boot");
    let pages = file.metadata().expect("facts").len() / 4096;
    for page in (2..pages).step_by(3).filter(|_| is_torn) {
        file.write_all_at(&[0x5A; 4096], page * 4096).expect("garbage");
    }
}

fn power_loss(info: &str) -> &str {
    row(info, "power loss")
}

fn row<'i>(info: &'i str, name: &str) -> &'i str {
    let line = info.lines().find_map(|line| line.trim().strip_prefix(name));
    line.expect("a line about it").trim()
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_pool_is_told_when_and_where_to_make_checkpoints() {
    let place = Place::new();
    let (pool, kept) = (&*place.pool(), &*place.text("kept"));
    works(&["put", pool, "1", "1"]);
    assert_eq!(place.all_names(), ["pool", "pool.checkpoint"]);
    let said = works(&["info", pool]);
    assert_eq!(power_loss(&said), "nothing is lost: the pool is closed");
    assert!(row(&said, "checkpoints").starts_with("every 30 s: while the pool is open,"), "{said}");
    assert!(in_one_line(&said).contains("a power loss costs that and one round"), "{said}");
    assert!(row(&said, "newest").ends_with(" s old"), "{said}");
    assert!(said.contains("/pool.checkpoint\n"), "{said}");
    works(&["put", pool, "1", "1", "--checkpoint-every", "0.25"]);
    works(&["put", pool, "1", "1"]);
    let facts = json(&works(&["info", pool, "--json"]));
    assert_eq!(facts["checkpoints"]["every_seconds"].as_f64(), Some(0.25));
    assert_eq!(facts["power_loss"], "kept");
    assert!(facts["checkpoints"]["problem"].is_null());
    assert_eq!(facts["checkpoints"]["in_memory"], false);
    assert!(facts["checkpoints"]["age_seconds"].as_f64() < Some(60.0), "{facts}");

    works(&["put", pool, "1", "1", "--no-checkpoints"]);
    assert_eq!(place.all_names(), ["pool"]);
    assert_eq!(row(&works(&["info", pool]), "checkpoints"), "none");
    let said = ends_with(3, &["checkpoint", pool]);
    assert!(said.contains("--checkpoint-every 30"), "{said}");
    assert_eq!(json(&works(&["info", pool, "--json"]))["power_loss"], "kept");
    let said =
        ends_with(2, &["put", pool, "1", "1", "--no-checkpoints", "--checkpoint-every", "1"]);
    assert!(said.contains("cannot be used with"), "{said}");
    for wrong in ["0.0001", "-1", "x", "1e9", "nan"] {
        ends_with(2, &["put", pool, "1", "1", &format!("--checkpoint-every={wrong}")]);
    }
    for (text, every, after) in [("0", None, "kept"), ("2", Some(2.0), "kept")] {
        works(&["put", pool, "1", "1", "--checkpoint-every", text]);
        let facts = json(&works(&["info", pool, "--json"]));
        assert_eq!(facts["checkpoints"]["every_seconds"].as_f64(), every);
        assert_eq!(facts["power_loss"], after);
    }
    works(&["put", pool, "1", "1", "--checkpoint-every", "off"]);
    assert_eq!(json(&works(&["info", pool, "--json"]))["power_loss"], "kept");

    works(&["put", pool, "1", "2", "--checkpoint-every", "0.5", "--checkpoint-file", kept]);
    let said = ends_with(3, &["put", pool, "1", "3"]);
    assert!(said.contains("--checkpoint-file"), "{said}");
    // A word about where changes nothing about when.
    for arguments in [
        &["put", pool, "1", "3"][..],
        &["del", pool, "1"],
        &["checkpoint", pool],
        &["rename", pool, "main", "other"],
    ] {
        works(&[arguments, &["--checkpoint-file", kept]].concat());
        let facts =
            json(&works(&["info", pool, "--json", "--checkpoint-file", kept]))["checkpoints"]
                .take();
        assert_eq!(facts["every_seconds"].as_f64(), Some(0.5), "{facts}");
        assert!(facts["age_seconds"].is_f64(), "{facts}");
    }
    assert_eq!(place.all_names(), ["kept", "pool"]);
    let said = works(&["info", pool]);
    assert!(row(&said, "newest").contains("--checkpoint-file has to name"), "{said}");
    works(&["count", pool, "--checkpoint-file", kept]);
    works(&["drop", pool, "other", "--no-checkpoints", "--checkpoint-file", kept]);
    assert_eq!(place.all_names(), ["pool"]);
}

/// A refusal names the options that lead to the checkpoint that fits.
#[test]
fn a_checkpoint_of_another_time_is_refused_with_the_options_that_choose_another() {
    let place = Place::new();
    let (pool, checkpoint) = (&*place.pool(), place.path("pool.checkpoint"));
    works(&["put", pool, "1", "1"]);
    let old = fs::read(&checkpoint).expect("a checkpoint");
    works(&["put", pool, "1", "2"]);
    works(&["put", pool, "1", "3"]);
    fs::write(&checkpoint, old).expect("an old checkpoint");
    let said = ends_with(3, &["put", pool, "1", "4"]);
    assert!(said.contains("different points in time"), "{said}");
    assert!(said.contains("choose that (`--checkpoint-file`, `--checkpoint-beside`)"), "{said}");
}

#[test]
fn a_pool_in_memory_says_that_it_would_be_gone() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    works(&["put", pool, "1", "1"]);
    assert_eq!(place.all_names(), ["pool"]);
    let said = works(&["info", pool]);
    if said.contains("tmpfs") {
        assert!(power_loss(&said).contains("all is lost: the pool is in memory"), "{said}");
        assert_eq!(json(&works(&["info", pool, "--json"]))["power_loss"], "gone");
    }
}

#[test]
fn a_close_without_its_checkpoint_is_told() {
    for place in [Place::new(), Place::in_memory()] {
        let (pool, kept) = (&*place.pool(), &*place.text("no/kept"));
        let output = endura(&["put", pool, "1", "1", "--checkpoint-file", kept]);
        let told = text(&output.stderr);
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.contains("/no: No such file"), "{told}");
        // The place is not recorded, and the entry is there.
        let said = works(&["info", pool]);
        assert_eq!(works(&["get", pool, "1"]), "1\n");
        match said.contains("tmpfs") {
            true => assert_eq!(code(&output), 3),
            false => assert!(
                code(&output) == 0 && told.contains("done and closed, but no new checkpoint"),
                "{told}"
            ),
        }
    }
}

#[test]
fn a_checkpoint_is_made_on_demand() {
    let place = Place::new();
    let pool = &*place.pool();
    Pool::options()
        .checkpoints(Checkpoints::on_demand())
        .create_new(pool)
        .expect("a pool")
        .close()
        .expect("a close");
    fs::remove_file(place.path("pool.checkpoint")).expect("its checkpoint");
    let said = works(&["info", pool]);
    assert_eq!(row(&said, "checkpoints"), "on demand");
    let facts = json(&works(&["info", pool, "--json"]));
    assert_eq!(facts["checkpoints"]["problem"], "missing", "{said}");
    // Nothing is done: the command would remove the checkpoints, and then fail to make one.
    let said = ends_with(2, &["checkpoint", pool, "--no-checkpoints"]);
    assert!(said.contains("--no-checkpoints removes"), "{said}");
    let said = works(&["checkpoint", pool]);
    assert!(said.contains("pool.checkpoint: ") && said.contains(" written, "), "{said}");
    let made = json(&works(&["checkpoint", pool, "--json"]));
    assert!(made["bytes"].as_u64() > Some(0) && made["held_ns"].is_u64(), "{made}");
    assert!(row(&works(&["info", pool]), "newest").ends_with(" old"));
}

#[test]
fn the_next_writer_takes_a_torn_pool_back_and_says_so() {
    for by_restore in [false, true] {
        let place = Place::new();
        let pool = &*place.pool();
        works(&["put", pool, "1", "10"]);
        lose_power(&place, true);
        for reader in [&["get", pool, "1"][..], &["info", pool], &["scan", pool], &["count", pool]]
        {
            let said = ends_with(3, reader);
            assert!(said.contains("`endura restore` "), "{said}");
        }
        if by_restore {
            let said = works(&["restore", pool, "--keep-torn"]);
            let is_right = said.contains("pool: taken back to its checkpoint of 2")
                && said.contains(" UTC, ")
                && said.contains("pool.torn: the file as it was");
            assert!(is_right, "{said}");
            assert_eq!(place.all_names(), ["pool", "pool.checkpoint", "pool.torn"]);
            let said = ends_with(3, &["restore", pool]);
            assert!(said.contains("no power loss has torn the pool"), "{said}");
            assert_eq!(works(&["scan", pool]), "1\t10\n");
        }
        let output = endura(&["put", pool, "2", "20"]);
        let said = text(&output.stderr);
        assert_eq!(code(&output), 0, "{said}");
        let is_told = said.lines().count() == 1
            && said
                .contains("pool: the machine went down while the pool was open: taken back to its")
            && said.contains(" s ago (")
            && said.contains(" of pages written); later writes are lost");
        assert_eq!(is_told, !by_restore, "{said}");
        assert!(is_told || said.is_empty(), "{said}");
        assert_eq!(works(&["scan", pool]), "1\t10\n2\t20\n");
        let output = endura(&["put", pool, "2", "20"]);
        assert_eq!(text(&output.stderr), "");
        works(&["check", pool]);
    }
}

#[test]
fn a_missing_pool_is_made_anew() {
    let place = Place::new();
    let (pool, kept) = (&*place.pool(), &*place.text("kept"));
    works(&["put", pool, "a", "b", "--checkpoint-file", kept]);
    fs::remove_file(pool).expect("the pool");
    let made = json(&works(&["restore", pool, "--from", kept, "--json"]));
    assert!(made["made_anew"] == true && made["age_seconds"].is_f64(), "{made}");
    assert_eq!(works(&["scan", pool]), "a\tb\n");
    fs::remove_file(pool).expect("the pool");
    // Also the types are those of the map, not those of the first entry.
    let output = endura(&["put", pool, "1", "2", "--checkpoint-file", kept]);
    let said = text(&output.stderr);
    assert!(code(&output) == 0 && said.contains("the pool was missing: made anew"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(works(&["scan", pool]), "1\t2\na\tb\n");
    let said = ends_with(3, &["restore", &place.text("other")]);
    assert!(said.contains("--from") && said.contains("other.checkpoint"), "{said}");
}

#[test]
fn a_torn_pool_can_be_checked_and_accepted_as_it_is() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "10"]);
    lose_power(&place, true);
    let said = works_or_no(&["check", pool]);
    assert!(said.contains("damaged") || said.contains("`endura restore` takes it back"), "{said}");
    works(&["restore", pool]);
    lose_power(&place, false);
    let said = works_or_no(&["check", pool]);
    assert!(said.contains("`endura restore` takes it back to "), "{said}");
    let said = works(&["check", pool, "--accept"]);
    assert!(said.contains("was accepted"), "{said}");
    let entries = works(&["scan", pool]).lines().count();
    assert!(entries > 1000, "{entries} entries: it was taken back all the same");
}

/// Runs a command whose answer may be no.
fn works_or_no(arguments: &[&str]) -> String {
    let output = endura(arguments);
    assert!(code(&output) <= 1, "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[test]
fn a_backup_is_of_the_pool_or_of_its_checkpoint() {
    let place = Place::new();
    let (pool, to) = (&*place.pool(), &*place.text("to"));
    works(&["put", pool, "1", "10"]);
    let said = works(&["backup", pool, to]);
    assert!(said.contains("to: a copy of ") && !said.contains("in use"), "{said}");
    assert_eq!(works(&["scan", to]), "1\t10\n");
    let said = ends_with(3, &["backup", pool, to]);
    assert!(said.contains("to exists"), "{said}");
    place.remove_pool("to");
    let open = Pool::options().open_existing(pool).expect("the pool");
    let map = open.map::<u64, u64>("main").expect("a map");
    map.put(2, 20).expect("a put");
    open.checkpoint().expect("a checkpoint");
    map.put(3, 30).expect("a put");
    let said = works(&["backup", pool, to, "--wait", "0"]);
    let is_right = said.contains("pool is in use: this is its checkpoint of 2")
        && said.contains(" s ago, ")
        && said.contains("later writes are not in it");
    assert!(is_right, "{said}");
    assert_eq!(works(&["scan", to]), "1\t10\n2\t20\n");
    works(&["check", to]);
    place.remove_pool("to");
    let facts = json(&works(&["backup", pool, to, "--wait", "0", "--json"]));
    assert!(facts["is_of_checkpoint"] == true && facts["age_seconds"].is_f64(), "{facts}");
    for nowhere in ["/nowhere/to", &*place.text("")] {
        let said = ends_with(3, &["backup", pool, nowhere, "--wait", "0"]);
        assert!(said.contains(nowhere), "{said}");
    }
    // One without checkpoints.
    open.close().expect("a close");
    works(&["put", pool, "1", "1", "--no-checkpoints"]);
    place.remove_pool("to");
    let _open = Pool::options().open_existing(pool).expect("the pool");
    let said = ends_with(3, &["backup", pool, to, "--wait", "0"]);
    assert!(said.contains("open in process") && said.contains("--checkpoint-file"), "{said}");
    assert_eq!(place.all_names(), ["pool"]);
}

/// Half of a copy is none, whenever it is interrupted.
#[test]
fn interrupted_copies_leave_nothing_or_all() {
    let place = Place::new();
    let pool = &*place.pool();
    let lines: String = (0..300_000).map(|i| format!("{i}\t{i}\n")).collect();
    assert!(support::endura_with(&["import", pool], lines.as_bytes()).status.success());
    let (mut whole, mut none) = (0, 0);
    for (i, what) in (0..16).flat_map(|i| [(i, "backup"), (i, "compact")]) {
        let to = &*place.text("to");
        let mut child = in_foreground(&[what, pool, to]);
        let child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a start");
        std::thread::sleep(Duration::from_millis(4 + i * if what == "backup" { 4 } else { 15 }));
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        ended(child);
        if place.path("to").exists() {
            whole += 1;
            assert_eq!(works(&["count", to]).split_whitespace().last(), Some("300,000"));
            place.remove_pool("to");
            let _ = fs::remove_file(place.path("to.checkpoint"));
        } else {
            none += 1;
        }
        assert_eq!(place.all_names(), ["pool", "pool.checkpoint"], "{what}, {i}");
    }
    assert!(none > 2, "{whole} whole, {none} none");
}

/// Nothing runs that could remove it.
#[test]
fn a_killed_compaction_leaves_no_file() {
    let place = Place::new();
    let pool = &*place.pool();
    let lines: String = (0..300_000).map(|i| format!("{i}\t{i}\n")).collect();
    assert!(support::endura_with(&["import", pool], lines.as_bytes()).status.success());
    let mut unfinished = 0;
    for i in 0..8 {
        let mut child = command(&["compact", pool, &place.text("to")]);
        let child = child.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().expect("a start");
        std::thread::sleep(Duration::from_millis(4 + 12 * i));
        let _ = child.kill();
        child.wait().expect("its end");
        unfinished += u32::from(!place.path("to").exists());
        place.remove_pool("to");
        assert_eq!(place.all_names(), ["pool", "pool.checkpoint"], "{i}");
    }
    assert!(unfinished > 2, "{unfinished}");
}

/// It is nobody's to read who may not read the old pool.
#[test]
fn compaction_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let (pool, to) = (&*place.pool(), &*place.text("to"));
    works(&["put", pool, "1", "1"]);
    for mode in [0o600, 0o640] {
        fs::set_permissions(pool, fs::Permissions::from_mode(mode)).expect("a mode");
        works(&["compact", pool, to]);
        for name in ["to", "to.checkpoint"] {
            let facts = fs::metadata(place.path(name)).expect("facts");
            assert_eq!(facts.permissions().mode() & 0o777, mode, "{name}");
        }
        place.remove_pool("to");
    }
}

#[test]
fn compaction_keeps_the_maps_and_not_the_holes() {
    let place = Place::new();
    let (pool, to) = (&*place.pool(), &*place.text("to"));
    let lines: String = (0..60_000).map(|i| format!("{i}\t{i}\n")).collect();
    for (map, kind) in [("a", "fast-fair"), ("b", "nbtree"), ("c", "roart")] {
        let arguments = ["import", pool, "--map", map, "--kind", kind];
        assert!(support::endura_with(&arguments, lines.as_bytes()).status.success());
    }
    works(&[
        "put",
        pool,
        "[7,\"x\"]",
        "{\"y\":1}",
        "--map",
        "d",
        "--keys",
        "(u32, str)",
        "--values",
        "json",
    ]);
    {
        let open = Pool::options().open_existing(pool).expect("the pool");
        for name in ["a", "b", "c"] {
            let map = open.map::<u64, u64>(name).expect("a map");
            map.retain(|key, _| key % 50 == 0).expect("few");
        }
    }
    works(&["checkpoint", pool, "--checkpoint-every", "7"]);
    let done = json(&works(&["compact", pool, to, "--json"]));
    assert_eq!((done["maps"].as_u64(), done["entries"].as_u64()), (Some(4), Some(3_601)));
    let used = |what: &str| done[what].as_u64().expect("a number");
    assert!(used("bytes_in_use") * 4 < used("bytes_in_use_before"), "{done}");
    for map in ["a", "b", "c", "d"] {
        let both = [pool, to].map(|pool| works(&["scan", pool, "--map", map]));
        assert!(both[0] == both[1] && !both[0].is_empty(), "{map}");
    }
    works(&["check", to]);
    let maps = [pool, to].map(|pool| json(&works(&["info", pool, "--json"]))["maps"].take());
    assert_eq!(maps[0], maps[1]);
    let facts = json(&works(&["info", to, "--json"]));
    assert_eq!(facts["checkpoints"]["every_seconds"].as_f64(), Some(7.0), "{facts}");
    assert_eq!(facts["power_loss"], "kept");
    let said = ends_with(3, &["compact", pool, to]);
    assert!(said.contains("to exists"), "{said}");
    let said = ends_with(3, &["compact", pool, "/nowhere/to"]);
    assert!(said.contains("/nowhere/to") && !said.contains(".tmp"), "{said}");
    works(&["compact", pool, &place.text("small"), "--no-checkpoints"]);
    assert_eq!(place.all_names(), ["pool", "pool.checkpoint", "small", "to", "to.checkpoint"]);
}

/// From a checkpoint that stayed behind, the next command would make the pool again.
#[test]
fn a_failed_import_leaves_no_checkpoint_either() {
    let place = Place::new();
    let (new, kept) = (&*place.text("new"), &*place.text("kept"));
    let lines: String = (0..50_000).map(|i| format!("{i}\t{i}\n")).collect();
    let lines = lines + "no number\n";
    for more in [&[][..], &["--checkpoint-every", "0.01"], &["--checkpoint-file", kept]] {
        let arguments = [&["import", new, "--keys", "u64", "--values", "u64"], more].concat();
        let output = support::endura_with(&arguments, lines.as_bytes());
        assert_eq!(code(&output), 3);
        assert!(place.all_names().is_empty(), "{more:?}: {:?}", place.all_names());
    }
    // What it did not make stays.
    works(&["put", new, "1", "2"]);
    ends_with(3, &["put", new, "x", "2", "--keys", "str"]);
    assert_eq!(place.all_names(), ["new", "new.checkpoint"]);
}
