//! Running out of disk, of addresses, of the size that was allowed: an error, never a signal, and nothing has changed.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use endura::{Error, Pool, SpaceLimit};
use endura_engine::media::{
    Domain, FlushInstruction, Mapped, Mapping, Media, Ordering, Region, Reservation, STEP,
};
use endura_engine::space::PAGE;

use crate::mounts::beside_others;
use crate::process::*;

/// Runs the test `role` with a small file system of its own in the folder, or says why not.
///
/// The process gets a private view of the mounts, so that nothing is left when it ends.
fn on_small_disks(test: &str) {
    ["tmpfs", "ext4"].into_iter().for_each(|disk| on_a_small_disk(test, disk));
}

fn on_a_small_disk(test: &str, disk: &str) {
    let _mounting = beside_others();
    let folder = &folders()[0];
    let mut command = role(test, folder.path());
    command.env("ENDURA_TEST_DISK", disk);
    let mut process = Process::start(command);
    let said = process.hear();
    println!("{test} on {disk}: {said}");
    process.finish();
    if said.starts_with("skipped") {
        left_out(&said);
    }
}

/// Mounts a file system of about `bytes` bytes on the role's folder; none where that is not
/// allowed, after saying so.
fn small_disk(bytes: u64) -> Option<PathBuf> {
    let folder = role_path()?;
    let disk = std::env::var("ENDURA_TEST_DISK").unwrap();
    // SAFETY: changes which mounts this process sees, and nothing else.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        say("skipped: only the superuser can mount");
        return None;
    }
    let run = |command: String| {
        let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
        output.status.success()
    };
    assert!(run("mount --make-rprivate /".into()));
    let at = folder.join("disk");
    fs::create_dir(&at).unwrap();
    let image = folder.join("image");
    let mounted = match disk.as_str() {
        "tmpfs" => run(format!("mount -t tmpfs -o size={bytes} none {}", at.display())),
        _ => run(format!(
            "truncate -s {bytes} {0} && mkfs.ext4 -q -m 0 -O ^has_journal {0} && mount -o loop {0} {1}",
            image.display(),
            at.display()
        )),
    };
    if !mounted {
        say("skipped: it cannot be mounted here");
        return None;
    }
    Some(at)
}

/// Leaves about `bytes` free.
fn fill_disk_but(folder: &Path, bytes: u64) {
    let mut filler = File::create(folder.join("filler")).unwrap();
    while filler.write_all(&[1; 4096]).is_ok() {}
    filler.sync_all().unwrap_or_default();
    let len = filler.metadata().unwrap().len() / 4096 * 4096;
    filler.set_len(len.saturating_sub(bytes)).unwrap();
    filler.sync_all().unwrap();
}

/// The file as a medium that may grow to `limit` bytes.
fn mapped(file: &File, limit: u64) -> Mapped {
    let (domain, instruction) = (Domain::PageCache, FlushInstruction::Clflush);
    let mapping =
        Mapping { read_only: false, direct: false, domain, instruction, notes_pages: false };
    Mapped::new(file.try_clone().unwrap(), Reservation::new(limit).unwrap(), mapping).unwrap()
}

#[test]
fn role_fill_the_disk() {
    let Some(folder) = small_disk(24 << 20) else { return };
    let path = folder.join("pool");
    let pool = Pool::options().create_new(&path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let mut stored = 0_u64;
    let error = loop {
        // Far apart, so that every node is written again and again.
        match map.insert(stored.wrapping_mul(0x9E37_79B9_7F4A_7C15), stored) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Full { limit: SpaceLimit::DiskFull, .. }), "{error}");
    let (text, named) = (error.to_string(), format!("{}: the disk is full", path.display()));
    assert!(text.starts_with(&named) && !text.contains("max_size"), "{text}");
    assert!(stored > 100_000, "{stored}");
    for k in 0..stored {
        assert_eq!(map.get(k.wrapping_mul(0x9E37_79B9_7F4A_7C15)).unwrap(), Some(k));
    }
    // What is there can still be changed and removed.
    assert_eq!(map.insert(0, 7).unwrap(), Some(0));
    assert_eq!(map.remove(0).unwrap(), Some(7));
    pool.verify().unwrap();
    drop((map, pool));
    let pool = Pool::options().open_existing(&path).unwrap();
    assert!(pool.stats().unwrap().clean_open);
    assert_eq!(pool.map::<u64, u64>("map").unwrap().iter().count() as u64, stored - 1);
    say("as it should be");
}

#[test]
fn a_full_disk_is_an_error() {
    on_small_disks("role_fill_the_disk");
}

#[test]
fn role_grow_to_the_brim() {
    let Some(folder) = small_disk(64 << 20) else { return };
    let file = File::options().read(true).write(true).create_new(true).open(folder.join("file"));
    let file = file.unwrap();
    let medium = mapped(&file, 1 << 30);
    medium.grow(24 << 20).unwrap();
    // Room for the 2 MiB that are asked for, and not for as much again.
    fill_disk_but(&folder, 3 << 20);
    medium.grow((26 << 20) - 8).unwrap();
    assert_eq!(medium.len(), 26 << 20);
    let error = medium.grow((28 << 20) - 8).unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error}");
    assert_eq!((medium.len(), file.metadata().unwrap().len()), (26 << 20, 26 << 20));
    // Nor for many steps of 64 KiB: the last of them fails, and changes nothing.
    let one_more = || medium.grow(medium.len() + 8);
    let error = (0..32).find_map(|_| one_more().err()).unwrap();
    assert!(matches!(error, Error::Full { .. }), "{error}");
    let brim = medium.len();
    assert!(brim > 26 << 20 && brim.is_multiple_of(STEP), "{brim}");
    assert_eq!(file.metadata().unwrap().len(), brim);
    // Every page has blocks: a signal would end this process.
    let words = (medium.len() / 8) as usize;
    let all = Region::new(&medium, 0, words).unwrap();
    for page in (0..words).step_by(512) {
        all.store(page, page as u64 + 1, Ordering::Release);
    }
    medium.sync().unwrap();
    // Room again, growth again.
    fs::remove_file(folder.join("filler")).unwrap();
    medium.grow(brim + 8).unwrap();
    assert_eq!(medium.len(), brim + STEP);
    let last = Region::new(&medium, medium.len() - 8, 1).unwrap();
    assert_eq!(last.load(0, Ordering::Acquire), 0);
    let mut word = [0; 8];
    file.read_exact_at(&mut word, 4096).unwrap();
    assert_eq!(u64::from_le_bytes(word), 513);
    say("as it should be");
}

#[test]
fn growth_takes_no_more_than_it_needs_on_a_nearly_full_disk() {
    on_small_disks("role_grow_to_the_brim");
}

#[test]
fn role_open_with_holes() {
    let Some(folder) = small_disk(32 << 20) else { return };
    let path = folder.join("pool");
    Pool::options().create_new(&path).unwrap().close().unwrap();
    // A copy with a hole for whatever is zero, and longer by a few empty pages.
    let copy = folder.join("copy");
    let bytes = fs::read(&path).unwrap();
    let file = File::create(&copy).unwrap();
    for (at, page) in (0..).step_by(4096).zip(bytes.chunks(4096)) {
        if page.iter().any(|&byte| byte != 0) {
            file.write_all_at(page, at).unwrap();
        }
    }
    file.set_len(5 * PAGE).unwrap();
    assert!(file.metadata().unwrap().blocks() * 512 < STEP);

    fill_disk_but(&folder, 4 * PAGE);
    let error = unchanged(&copy, || Pool::options().open_existing(&copy).unwrap_err());
    assert!(matches!(error, Error::Full { .. }), "{error}");
    unchanged(&copy, || {
        Pool::options().read_only(true).open_existing(&copy).unwrap().close().unwrap()
    });

    fs::remove_file(folder.join("filler")).unwrap();
    let pool = Pool::options().open_existing(&copy).unwrap();
    assert!(file.metadata().unwrap().blocks() * 512 >= 5 * PAGE);
    pool.close().unwrap();
    say("as it should be");
}

#[test]
fn holes_are_filled_before_anything_is_stored() {
    on_small_disks("role_open_with_holes");
}

/// On tmpfs a read of a hole needs memory too, and a damaged pool leads anywhere.
#[test]
fn role_read_a_hole() {
    let Some(folder) = small_disk(16 << 20) else { return };
    let path = folder.join("pool");
    let pool = Pool::options().max_size(8 << 20).create_new(&path).unwrap();
    pool.map::<u64, u64>("map").unwrap().insert(1, 1).unwrap();
    pool.close().unwrap();
    let copy = folder.join("copy");
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let file = File::options().read(true).write(true).create_new(true).open(&copy).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    for (at, page) in (0..).step_by(4096).zip(bytes.chunks(4096)) {
        if page.iter().any(|&byte| byte != 0) {
            file.write_all_at(page, at).unwrap();
        }
    }
    // The root of the map, as the directory has it (docs/design.md): where nothing is.
    file.write_all_at(&(0xE000_u64 | 1 << 48).to_le_bytes(), 16_384 + 16).unwrap();
    fill_disk_but(&folder, 0);
    let before = file.metadata().unwrap().blocks();
    let error = unchanged(&copy, || Pool::options().open_existing(&copy).unwrap_err());
    assert!(matches!(error, Error::Full { .. }), "{error}");
    unchanged(&copy, || {
        let pool = Pool::options().read_only(true).open_existing(&copy).unwrap();
        let outcome = pool.map::<u64, u64>("map").unwrap().get(7);
        assert!(matches!(outcome, Err(Error::Corrupt { .. })), "{outcome:?}");
        assert!(matches!(pool.verify(), Err(Error::Corrupt { .. })));
    });
    if std::env::var("ENDURA_TEST_DISK").unwrap() == "tmpfs" {
        assert_eq!(file.metadata().unwrap().blocks(), before);
    }
    say("as it should be");
}

#[test]
fn holes_of_a_full_disk_can_be_read() {
    on_small_disks("role_read_a_hole");
}

#[test]
fn role_create_on_a_full_disk() {
    let Some(folder) = small_disk(16 << 20) else { return };
    for free in [0, 4096, STEP / 2, STEP - 4096] {
        fill_disk_but(&folder, free);
        let path = folder.join("pool");
        let error = Pool::options().create_new(&path).unwrap_err();
        let full = match &error {
            Error::Full { .. } => true,
            // Not even room for a name.
            Error::Io { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
            _ => false,
        };
        assert!(full, "{free} bytes free: {error}");
        assert!(!path.exists());
    }
    fs::remove_file(folder.join("filler")).unwrap();
    Pool::options().create_new(folder.join("pool")).unwrap();
    say("as it should be");
}

#[test]
fn no_pool_on_a_full_disk() {
    on_small_disks("role_create_on_a_full_disk");
}

/// A disk that takes allocations but loses writes: a loop device on a full tmpfs.
#[test]
fn role_close_on_a_failing_disk() {
    let Some(memory) = small_disk(24 << 20) else { return };
    let disk = memory.join("mounted");
    fs::create_dir(&disk).unwrap();
    let image = memory.join("image");
    let mounted = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!(
            "truncate -s 64M {0} && mkfs.ext4 -q -m 0 -O ^has_journal {0} && mount -o loop {0} {1}",
            image.display(),
            disk.display()
        ))
        .status()
        .unwrap();
    if !mounted.success() {
        return say("skipped: it cannot be mounted here");
    }
    let path = disk.join("pool");
    let pool = Pool::options().create_new(&path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    fill_disk_but(&memory, 0);
    for key in 0..300_000 {
        map.insert(key, key).unwrap();
    }
    let error = pool.close().unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    // Not again: the kernel may have dropped what it could not write, and would report success.
    assert!(matches!(pool.close(), Err(Error::Closed { .. })));
    assert!(map.get(1).is_err());
    assert!(!superblock(&path).clean);
    say("as it should be");
}

#[test]
fn a_failed_sync_does_not_close_a_pool() {
    on_a_small_disk("role_close_on_a_failing_disk", "tmpfs");
}

/// Whether all addresses of the medium's reservation are mapped, as `/proc/self/maps` shows it. What is not
/// is free to everybody in the process, and would be taken away again with the medium.
fn is_whole(medium: &Mapped) -> bool {
    // SAFETY: the medium has a page at least.
    let words = unsafe { medium.in_memory(0, 1) }.unwrap();
    let base = words.as_ptr().addr() as u64;
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let inside = maps.lines().filter_map(|line| {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let [from, to] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        Some(to.min(base + medium.limit()).saturating_sub(from.max(base)))
    });
    inside.sum::<u64>() == medium.limit()
}

/// Lets `spoil` make growth fail, and sees that the reservation is whole after each attempt, that what was
/// there is there, and that growth goes on when `mend` has been called.
fn fail_to_grow(file: &File, spoil: impl FnOnce() -> bool, mend: impl FnOnce()) -> Error {
    let medium = mapped(file, 256 << 20);
    medium.grow(2 << 20).unwrap();
    let word = Region::new(&medium, 8, 1).unwrap();
    word.store(0, 7, Ordering::Release);
    let may_mend = spoil();
    let mut last = None;
    for len in [4 << 20, 64 << 20, (4 << 20) - STEP] {
        last = Some(medium.grow(len).unwrap_err());
        assert!(is_whole(&medium), "{last:?}");
        assert_eq!((medium.len(), word.load(0, Ordering::Acquire)), (2 << 20, 7));
    }
    mend();
    if may_mend {
        medium.grow(8 << 20).unwrap();
        assert!(is_whole(&medium));
    }
    last.unwrap()
}

#[test]
fn role_fail_to_grow() {
    let Some(folder) = small_disk(24 << 20) else { return };
    let new = |name: &str| {
        let path = folder.join(name);
        File::options().read(true).write(true).create_new(true).open(path).unwrap()
    };
    // A full disk.
    let spoil = || {
        fill_disk_but(&folder, 0);
        true
    };
    let mend = || fs::remove_file(folder.join("filler")).unwrap();
    let error = fail_to_grow(&new("full"), spoil, mend);
    assert!(matches!(error, Error::Full { .. }), "{error}");
    // A limit on the size of files, of which the kernel tells by a signal as well.
    let limit_to = |bytes| {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: limits this process alone.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
        true
    };
    let mend = || assert!(limit_to(libc::RLIM_INFINITY));
    let error = fail_to_grow(&new("limited"), || limit_to(3 << 20), mend);
    assert!(matches!(error, Error::Full { .. }), "{error}");
    // A file system that refuses to map what it holds after a fatal error (ext4's shutdown).
    if std::env::var("ENDURA_TEST_DISK").unwrap() == "ext4" {
        let spoil = || {
            let (own, how) = (File::open(&folder).unwrap(), 2_u32);
            // SAFETY: the call reads a number. It ends the file system of this process's own.
            let done = unsafe { libc::ioctl(own.as_raw_fd(), 0x8004_587D, &raw const how) };
            assert_eq!(done, 0);
            false
        };
        let error = fail_to_grow(&new("broken"), spoil, || ());
        assert!(matches!(error, Error::Io { .. }), "{error}");
    }
    say("as it should be");
}

#[test]
fn a_growth_that_fails_keeps_the_reservation_whole() {
    on_small_disks("role_fail_to_grow");
}

#[test]
fn sizes_that_no_machine_has() {
    for folder in folders() {
        let path = closed_pool(&folder);
        for size in [u64::MAX, u64::MAX - 4096, 1 << 63, 1 << 60, 1 << 47, Reservation::MAX + 1] {
            let options = Pool::options().max_size(size);
            let error = unchanged(&path, || options.open_existing(&path).unwrap_err());
            assert!(matches!(error, Error::Unsupported { .. }), "{size}: {error}");
            let new = folder.path().join("new");
            let error = options.create_new(&new).unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{size}: {error}");
            assert!(!new.exists());
        }
        for size in [0, 1, STEP + 1, PAGE, PAGE + 1, Reservation::MAX] {
            let pool = Pool::options().max_size(size).open_existing(&path).unwrap();
            let stats = pool.stats().unwrap();
            assert_eq!(stats.max_bytes, size.next_multiple_of(STEP).max(stats.file_bytes));
        }
    }
}

#[test]
fn the_size_that_was_allowed() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let pool = Pool::options().max_size(4 * PAGE).open_existing(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        let mut stored = 0_u64;
        let error = loop {
            match map.insert(stored, stored) {
                Ok(_) => stored += 1,
                Err(error) => break error,
            }
        };
        // Not even a span of the next node is left.
        let Error::Full { need, free, limit, .. } = error else { panic!("{error}") };
        assert!(free < need && limit == SpaceLimit::MaxSize, "{need}, {free}, {limit:?}");
        assert_eq!(pool.stats().unwrap().file_bytes, 4 * PAGE);
        // The same pool with more room goes on.
        drop((map, pool));
        let pool = Pool::options().max_size(8 * PAGE).open_existing(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        map.insert(stored, stored).unwrap();
        assert_eq!(map.iter().count() as u64, stored + 1);
    }
}

#[test]
fn role_with_few_addresses() {
    let Some(path) = role_path() else { return };
    let limit = libc::rlimit { rlim_cur: 6 << 30, rlim_max: 6 << 30 };
    // SAFETY: limits the address space of this process alone.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    let asked = Pool::options().max_size(8 << 30);
    let error = unchanged(&path, || asked.open_existing(&path).unwrap_err());
    assert!(matches!(error, Error::Io { .. }), "{error}");
    let pool = Pool::options().open_existing(&path).unwrap();
    let max = pool.stats().unwrap().max_bytes;
    assert!((1 << 30..6 << 30).contains(&max), "{max}");
    say("as it should be");
}

/// Pools that nobody chose a size for, more than the address space has TiB for.
#[test]
fn role_open_many_pools() {
    let Some(folder) = role_path() else { return };
    let mut sizes = Vec::new();
    let pools: Vec<_> = (0..160)
        .map(|number| {
            let pool = Pool::options().create_new(folder.join(number.to_string())).unwrap();
            let stats = pool.stats().unwrap();
            let is_told = stats.warnings.iter().any(|warning| warning.contains("max_size"));
            assert_eq!(is_told, stats.max_bytes < 1 << 40, "{number}: {}", stats.max_bytes);
            assert!(stats.max_bytes >= 1 << 30);
            sizes.push(stats.max_bytes);
            pool
        })
        .collect();
    assert_eq!(sizes[0], 1 << 40);
    // What one more pool would get is at most an eighth of what is free.
    assert!(Reservation::new(7 * sizes[159]).is_ok(), "after {sizes:?}");
    drop(pools);
    say("as it should be");
}

#[test]
fn many_pools_leave_addresses_to_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::start(role("role_open_many_pools", folder.path()));
    assert_eq!(process.hear(), "as it should be");
    process.finish();
}

#[test]
fn few_addresses() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let mut process = Process::start(role("role_with_few_addresses", &path));
        assert_eq!(process.hear(), "as it should be");
        process.finish();
    }
}
