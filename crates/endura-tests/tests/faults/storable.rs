//! Is there a block for each store to the mapping? A page of the file that has blocks may need others all the same: in a hole
//! that the count of blocks hides, and where a copy shares them.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use endura::{Checkpoints, Error, Map, Pool, PoolOptions};
use endura_engine::space::PAGE;
use rustix::fs::{FallocateFlags, XattrFlags, fallocate, setxattr};

use crate::mounts::*;
use crate::process::*;

const ENTRIES: u64 = 100_000;

/// Waits until it is so.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never came: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether the file shares a block with another one.
fn is_shared(path: &Path) -> bool {
    File::open(path).unwrap().sync_all().unwrap();
    run(&format!("filefrag -v {}", path.display())).unwrap().contains("shared")
}

/// A copy that shares its blocks.
fn share(path: &Path) -> PathBuf {
    let copy = path.with_extension("copy");
    run(&format!("cp --reflink=always {} {}", path.display(), copy.display())).unwrap();
    copy
}

/// Stores something to each leaf.
fn store(map: &Map<u64, u64>, value: u64) {
    for key in 0..ENTRIES {
        map.insert(key, value).unwrap();
    }
}

/// A closed pool with entries.
fn pool_in(folder: &Path, options: &PoolOptions) -> PathBuf {
    let path = folder.join("pool");
    let pool = options.create_new(&path).unwrap();
    store(&pool.map("map").unwrap(), 1);
    pool.close().unwrap();
    path
}

fn filler_of(volume: &Volume) -> PathBuf {
    volume.path().join("filler")
}

#[test]
fn role_with_a_hole_that_blocks_hide() {
    let Some(volume) = role_path().and_then(|_| Volume::with("ext4", 16, "-b 4096", "")) else {
        return;
    };
    let path = volume.path().join("pool");
    plain().create_new(&path).unwrap().close().unwrap();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    file.set_len(PAGE).unwrap();
    fallocate(&file, FallocateFlags::empty(), 0, PAGE).unwrap();
    // Attributes that do not fit into the inode are in a block of their own, which counts as one of the file.
    setxattr(&path, "user.long", &[7; 3_000], XattrFlags::empty()).unwrap();
    let blocks = || file.metadata().unwrap().blocks() * 512;
    let others = blocks() - PAGE;
    assert!(others >= 4096);
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&file, flags, PAGE - others, others).unwrap();
    assert_eq!(
        blocks(),
        PAGE,
        "as many as the file is long, and some of them are not its contents"
    );

    volume.fill();
    let error = unchanged(&path, || plain().open_existing(&path).unwrap_err());
    assert!(matches!(error, Error::Full { need, .. } if need == others), "{error}");
    fs::remove_file(filler_of(&volume)).unwrap();
    let pool = plain().open_existing(&path).unwrap();
    assert_eq!(blocks(), PAGE + others);
    pool.close().unwrap();
    drop(file);
    say("as it should be");
}

#[test]
fn a_hole_is_found_where_the_count_of_blocks_hides_it() {
    with_own_mounts("role_with_a_hole_that_blocks_hide");
}

#[test]
fn role_open_what_a_copy_shares() {
    let Some(volume) = role_path().and_then(|_| Volume::new("xfs", 320)) else { return };
    let path = pool_in(&volume.path(), &plain());
    share(&path);
    assert!(is_shared(&path));
    volume.fill();
    let error = unchanged(&path, || plain().open_existing(&path).unwrap_err());
    let text = error.to_string();
    assert!(text.contains("shares with a copy") && text.contains("free space"), "{text}");
    assert!(matches!(&error, Error::Io { source, .. }
        if source.kind() == std::io::ErrorKind::StorageFull));
    plain().read_only(true).open_existing(&path).unwrap().close().unwrap();

    fs::remove_file(filler_of(&volume)).unwrap();
    let pool = plain().open_existing(&path).unwrap();
    assert!(!is_shared(&path));
    volume.fill();
    store(&pool.map("map").unwrap(), 2);
    pool.close().unwrap();
    say("as it should be");
}

#[test]
fn an_open_takes_blocks_of_its_own() {
    with_own_mounts("role_open_what_a_copy_shares");
}

#[test]
fn role_copied_while_open() {
    let Some(volume) = role_path().and_then(|_| Volume::new("xfs", 320)) else { return };
    // It is no round that looks: none is due.
    let path = pool_in(&volume.path(), &plain());
    let hourly = Checkpoints::every(Duration::from_secs(3600));
    let pool = Pool::options().checkpoints(hourly).open_existing(&path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    store(&map, 2);
    share(&path);
    wait_until("blocks of its own", || !is_shared(&path));
    volume.fill();
    store(&map, 3);

    let warns = || {
        let warnings = pool.stats().unwrap().warnings;
        warnings.iter().any(|warning| warning.contains("shares blocks with a copy"))
    };
    assert!(!warns());
    // Room for the description of a copy, and not for its contents.
    let filler = File::options().write(true).open(filler_of(&volume)).unwrap();
    filler.set_len(filler.metadata().unwrap().len() - (512 << 10)).unwrap();
    fs::remove_file(path.with_extension("copy")).unwrap();
    volume.fill();
    filler.set_len(filler.metadata().unwrap().len() - (512 << 10)).unwrap();
    share(&path);
    wait_until("a warning", warns);
    filler.set_len(0).unwrap();
    wait_until("blocks of its own", || !is_shared(&path));
    wait_until("no warning", || !warns());
    pool.close().unwrap();
    say("as it should be");
}

#[test]
fn an_open_pool_takes_blocks_of_its_own_again() {
    with_own_mounts("role_copied_while_open");
}

#[test]
fn role_with_a_quota() {
    let Some(mut volume) = role_path().and_then(|_| Volume::new("xfs", 320)) else { return };
    volume.unmount();
    if volume.mount_with("prjquota").is_err() {
        return say("no quotas in this kernel");
    }
    let disk = volume.path();
    let quota = |what: &str| run(&format!("xfs_quota -x -c '{what}' {}", disk.display()));
    let limited = quota(&format!("project -s -p {} 7", disk.display()))
        .and_then(|_| quota("limit -p bhard=8m 7"));
    if let Err(why) = limited {
        return leave_out(&why);
    }
    let path = disk.join("pool");
    let pool = plain().create_new(&path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let (mut stored, error) = (0, loop_until_full(&map));
    assert!(matches!(error, Error::Full { .. }), "{error}");
    while map.get(stored).unwrap().is_some() {
        map.insert(stored, 2).unwrap();
        stored += 1;
    }
    assert!(stored > 10_000, "{stored}");
    pool.close().unwrap();
    say("as it should be");
}

fn loop_until_full(map: &Map<u64, u64>) -> Error {
    (0..).find_map(|key| map.insert(key, 1).err()).unwrap()
}

#[test]
fn a_quota_is_an_error() {
    let _mounting = beside_others();
    let folder = &folders()[0];
    let mut process = Process::start(in_own_mounts(&role("role_with_a_quota", folder.path())));
    // No file system of a kernel may know quotas, also in CI.
    println!("{}", process.hear());
    process.finish();
}

/// Ways in which a store to a page fails that no library can foresee.
const WAYS: [(&str, &str, u64); 4] = [
    ("shared", "xfs", 320),
    ("punched", "ext4", 32),
    ("cut", "ext4", 32),
    ("shut down", "xfs", 320),
];
const SENTENCE: &str = "a sentence of the program";

/// Opens the pool, waits for a file `go` beside it, and stores to all of it.
#[test]
fn role_store_when_told() {
    let Some(path) = role_path() else { return };
    endura::explain_bus_errors(SENTENCE).unwrap();
    let pool = plain().open_existing(&path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    // Each page is written back, so that the next store to it asks the file system.
    File::open(&path).unwrap().sync_all().unwrap();
    say("open");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let failed = (0..ENTRIES).find_map(|key| map.insert(key, 2).err());
    // What was punched reads as zeros. (A store to it, where nothing is read before, is the signal.)
    assert!(matches!(failed, Some(Error::Corrupt { .. })), "{failed:?}");
}

fn end_by(way: &str, volume: &mut Volume) {
    let path = pool_in(&volume.path(), &plain());
    let mut command = role("role_store_when_told", &path);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut writer = command.spawn().unwrap();
    let mut out = writer.stdout.take().unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"<open>") {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    let file = File::options().write(true).open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    match way {
        "shared" => {
            share(&path);
            volume.fill();
        }
        "punched" => {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(&file, flags, len / 2, len / 2).unwrap();
            volume.fill();
        }
        "cut" => file.set_len(len / 2).unwrap(),
        _ => volume.shutdown(),
    }
    drop(file);
    drop(writer.stdin.take());
    let mut complaint = String::new();
    writer.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    let status = writer.wait().unwrap();
    let signal = (way != "punched").then_some(libc::SIGBUS);
    assert_eq!(status.signal(), signal, "{way}: {status} {complaint}");
    assert_eq!(complaint.contains(SENTENCE), signal.is_some(), "{way}: {complaint}");
    assert!(signal.is_some() || status.success(), "{complaint}");
    if way == "shut down" {
        volume.unmount();
        volume.mount();
    }
    let _ = fs::remove_file(filler_of(volume));
    if way == "shared" {
        // Nothing that was there is lost.
        let pool = plain().open_existing(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        let found = map.iter().map(|entry| entry.unwrap().1).filter(|value| [1, 2].contains(value));
        assert_eq!(found.count() as u64, ENTRIES);
        pool.verify().unwrap();
    }
}

#[test]
fn role_end_by_a_store() {
    if role_path().is_none() {
        return;
    }
    for (way, kind, megabytes) in WAYS {
        let Some(mut volume) = Volume::new(kind, megabytes) else { return };
        end_by(way, &mut volume);
    }
    say("as it should be");
}

#[test]
fn a_store_that_cannot_be_foreseen_ends_in_a_sentence() {
    with_own_mounts("role_end_by_a_store");
}
