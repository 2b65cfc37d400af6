//! What a session costs that only reads: page cache, and nothing of its own. So limits on memory do not concern it,
//! and where one does, it is an error and not a signal.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use endura::{Error, Kind, MapOptions, Pool};

use crate::process::*;

const MIB: u64 = 1 << 20;
/// Two to a page: 40 MiB of file, far more than a limit here leaves.
const BLOBS: u64 = 40;
const BLOB: usize = 1_000_000;
const KEYS: u64 = 20_000;

fn fill(path: &Path) -> Pool {
    let pool = Pool::options().max_size(1 << 30).create_new(path).unwrap();
    let blobs = pool.map::<u64, [u8]>("blobs").unwrap();
    (0..BLOBS).for_each(|n| drop(blobs.insert(n, &[n as u8; BLOB]).unwrap()));
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let options = MapOptions::new().kind(kind);
        let map = pool.map_with::<u64, u64>(kind.name(), options).unwrap();
        (0..KEYS).for_each(|n| _ = map.insert(n, !n).unwrap());
    }
    pool
}

fn read(pool: &Pool) {
    let blobs = pool.map::<u64, [u8]>("blobs").unwrap();
    for n in 0..BLOBS {
        let is_right = |bytes: &[u8]| bytes.iter().all(|&byte| byte == n as u8);
        assert_eq!(blobs.get_with(n, is_right).unwrap(), Some(true));
    }
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let map = pool.map_with::<u64, u64>(kind.name(), MapOptions::new().kind(kind)).unwrap();
        assert_eq!(map.len().unwrap() as u64, KEYS);
        assert!(map.iter().map(Result::unwrap).eq((0..KEYS).map(|n| (n, !n))));
        assert_eq!(map.get(KEYS / 2).unwrap(), Some(!(KEYS / 2)));
    }
    pool.verify().unwrap();
}

#[test]
fn role_fill_and_stay() {
    let Some(path) = role_path() else { return };
    let _pool = fill(&path);
    say("filled");
    wait_to_be_killed();
}

/// A pool that was closed, and one whose writer was killed.
fn pools(folder: &Path) -> [PathBuf; 2] {
    let [closed, killed] = ["closed", "killed"].map(|name| folder.join(name));
    fill(&closed).close().unwrap();
    let mut writer = Process::start(role("role_fill_and_stay", &killed));
    assert_eq!(writer.hear(), "filled");
    writer.kill();
    [closed, killed]
}

/// Runs `role` on pools that were closed and killed, on disk and in memory. It says how it went.
fn on_all_pools(test: &str) {
    for folder in folders() {
        for path in pools(folder.path()) {
            unchanged(&path, || {
                let mut process = Process::start(role(test, &path));
                let said = process.hear();
                process.finish();
                match said.strip_prefix("skipped") {
                    Some(why) => left_out(&format!("{test}:{why}")),
                    None => assert_eq!(said, "as it should be", "{}", path.display()),
                }
            });
        }
    }
}

fn open(path: &Path) -> endura::Result<Pool> {
    Pool::options().read_only(true).open_existing(path)
}

fn limit(what: libc::__rlimit_resource_t, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: limits this process alone.
    assert_eq!(unsafe { libc::setrlimit(what, &raw const limit) }, 0);
}

/// A figure of `/proc/self/status`, in bytes.
fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// A mapping of this process.
#[derive(Debug, Default)]
struct Mapped {
    rights: String,
    bytes: u64,
    /// Of those, the ones that are this process's own.
    own: u64,
}

/// The mappings of a file.
fn mappings(path: &Path) -> Vec<Mapped> {
    let path = fs::canonicalize(path).unwrap();
    let (mut found, mut is_ours) = (Vec::<Mapped>::new(), false);
    for line in fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0].contains('-') {
            is_ours = words.get(5).is_some_and(|name| Path::new(name) == path);
            if is_ours {
                found.push(Mapped { rights: words[1].to_owned(), ..Mapped::default() });
            }
        } else if is_ours && let Some(mapped) = found.last_mut() {
            let bytes = || words[1].parse::<u64>().unwrap() << 10;
            match words[0] {
                "Size:" => mapped.bytes = bytes(),
                "Anonymous:" => mapped.own = bytes(),
                _ => {}
            }
        }
    }
    found
}

/// Whether the kernel shows the file as mapped to be read, shared, and without a page of this process's own. (It
/// counts what is writable and private as data, and commits memory to it where it accounts strictly.)
fn is_only_read(path: &Path) {
    let mapped = mappings(path);
    assert!(
        mapped.iter().map(|mapped| mapped.bytes).sum::<u64>() >= BLOBS * BLOB as u64,
        "{mapped:?}"
    );
    let has_none = |mapped: &Mapped| mapped.rights == "r--s" && mapped.own == 0;
    assert!(mapped.iter().all(has_none), "{mapped:?}");
}

#[test]
fn role_read_all_of_it() {
    let Some(path) = role_path() else { return };
    let pool = open(&path).unwrap();
    read(&pool);
    is_only_read(&path);
    pool.close().unwrap();
    say("as it should be");
}

#[test]
fn a_reader_has_no_page_of_its_own() {
    on_all_pools("role_read_all_of_it");
}

#[test]
fn role_read_with_little_data() {
    let Some(path) = role_path() else { return };
    limit(libc::RLIMIT_DATA, status("VmData") + 16 * MIB);
    let pool = open(&path).unwrap();
    read(&pool);
    say("as it should be");
}

#[test]
fn a_limit_on_data_does_not_concern_readers() {
    on_all_pools("role_read_with_little_data");
}

#[test]
fn role_read_with_few_addresses() {
    let Some(path) = role_path() else { return };
    let bytes = fs::metadata(&path).unwrap().len();
    limit(libc::RLIMIT_AS, status("VmSize") + bytes / 2);
    let error = open(&path).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    // The addresses that are set aside, and as many for a moment while the file is mapped.
    limit(libc::RLIMIT_AS, status("VmSize") + 2 * bytes + 32 * MIB);
    let pool = open(&path).unwrap();
    read(&pool);
    say("as it should be");
}

#[test]
fn a_reader_with_too_few_addresses_is_told_so() {
    on_all_pools("role_read_with_few_addresses");
}

/// Locks all memory of this process, and whatever is mapped from now on if `future`. Says why not if it cannot.
fn lock_all(future: bool) -> bool {
    let flags = if future { libc::MCL_CURRENT | libc::MCL_FUTURE } else { libc::MCL_CURRENT };
    // SAFETY: changes where memory lies, not what is in it.
    let locked = unsafe { libc::mlockall(flags) } == 0;
    if !locked {
        say(&format!("skipped: mlockall: {}", std::io::Error::last_os_error()));
    }
    locked
}

#[test]
fn role_read_locked() {
    let Some(path) = role_path() else { return };
    let pool = open(&path).unwrap();
    if !lock_all(true) {
        return;
    }
    read(&pool);
    is_only_read(&path);
    pool.close().unwrap();
    // And where everything is locked before.
    let before = status("RssAnon");
    let pool = open(&path).unwrap();
    is_only_read(&path);
    assert!(status("RssAnon") < before + 8 * MIB, "{before}, {}", status("RssAnon"));
    read(&pool);
    is_only_read(&path);
    say("as it should be");
}

#[test]
fn locked_memory_holds_a_readers_file_once() {
    on_all_pools("role_read_locked");
}

/// In a copy with holes, also where everything is locked: on tmpfs to touch a hole would fill it.
#[test]
fn role_read_holes() {
    let Some(path) = role_path() else { return };
    let copy = path.with_extension("copy");
    let bytes = fs::read(&path).unwrap();
    let file = File::create(&copy).unwrap();
    // A copy has another inode, and would be refused if it was open.
    let pages = (0..).step_by(4096).zip(bytes.chunks(4096));
    pages.filter(|(_, page)| page.iter().any(|&byte| byte != 0)).for_each(|(at, page)| {
        file.write_all_at(page, at).unwrap();
    });
    file.set_len(bytes.len() as u64 + 64 * MIB).unwrap();
    drop(bytes);
    let is_tmpfs = path.starts_with("/dev/shm");
    let blocks = || fs::metadata(&copy).unwrap().blocks();
    let before = (blocks(), status("RssAnon"));
    if !lock_all(true) {
        return;
    }
    let pool = Pool::options().read_only(true).accept_unclean(true).open_existing(&copy).unwrap();
    read(&pool);
    let after = (blocks(), status("RssAnon"));
    assert!(after.1 < before.1 + 24 * MIB, "{before:?}, {after:?}");
    assert!(!is_tmpfs || after.0 == before.0, "{before:?}, {after:?}");
    drop(pool);
    fs::remove_file(copy).unwrap();
    say("as it should be");
}

#[test]
fn a_reader_fills_no_hole() {
    on_all_pools("role_read_holes");
}

#[test]
fn role_read_beside_a_child() {
    let Some(path) = role_path() else { return };
    let pool = open(&path).unwrap();
    let map =
        pool.map_with::<u64, u64>(Kind::FastFair.name(), MapOptions::new().kind(Kind::FastFair));
    let map = map.unwrap();
    // SAFETY: the child asks for two answers and leaves by `_exit`; the parent waits for it.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            let is_refused = matches!(map.get(1), Err(Error::Forked))
                && matches!(pool.verify(), Err(Error::Forked));
            libc::_exit(if is_refused { 0 } else { 1 });
        }
        let mut status = 0;
        libc::waitpid(child, &raw mut status, 0);
        status
    };
    assert_eq!(status, 0);
    read(&pool);
    is_only_read(&path);
    say("as it should be");
}

#[test]
fn a_reader_forks() {
    on_all_pools("role_read_beside_a_child");
}

#[test]
fn role_read_what_is_cut_off() {
    let Some(path) = role_path() else { return };
    let pool = open(&path).unwrap();
    read(&pool);
    File::options().write(true).open(&path).unwrap().set_len(2 * MIB).unwrap();
    read(&pool);
    say("the file was whole");
}

/// As it is for a writer: the kernel has nothing to give for the page, and nothing is made up.
#[test]
fn a_reader_of_a_file_that_is_shortened_ends_by_a_signal() {
    for folder in folders() {
        for path in pools(folder.path()) {
            let output = role("role_read_what_is_cut_off", &path).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{said}");
        }
    }
}
