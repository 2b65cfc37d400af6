//! Descriptors that a host has closed: those of the standard streams before an open, and all of them behind the library's back.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use endura::{Checkpoints, Error, Pool, PoolOptions};

use crate::process::*;

fn on_demand() -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::on_demand())
}

fn close(descriptors: std::ops::Range<i32>) {
    // SAFETY: what is closed is used no more, or what uses it is what the test is about.
    descriptors.for_each(|descriptor| _ = unsafe { libc::close(descriptor) });
}

/// What the process has open: descriptors and names.
fn open_files() -> Vec<(i32, String)> {
    let all = fs::read_dir("/proc/self/fd").unwrap();
    all.filter_map(|entry| {
        let entry = entry.unwrap();
        let target = fs::read_link(entry.path()).ok()?;
        Some((entry.file_name().to_str()?.parse().ok()?, target.to_str()?.to_owned()))
    })
    .collect()
}

#[test]
fn role_without_standard_streams() {
    let Some(path) = role_path() else { return };
    let told = path.with_extension("told");
    close(0..3);
    let pool = on_demand().create_new(&path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    (0..2000).for_each(|key| _ = map.put(key, key).unwrap());
    pool.checkpoint().unwrap();
    pool.backup(path.with_extension("backup")).unwrap();
    let folder = path.parent().unwrap().to_str().unwrap();
    let low: Vec<_> = open_files()
        .into_iter()
        .filter(|(number, name)| *number < 3 && name.starts_with(folder))
        .collect();
    // As a host prints messages.
    for descriptor in 0..3 {
        let message = [b'!'; 100_000];
        // SAFETY: the bytes are there.
        let _ = unsafe { libc::write(descriptor, message.as_ptr().cast(), message.len()) };
    }
    pool.checkpoint().unwrap();
    pool.close().unwrap();
    fs::write(told, format!("{low:?}")).unwrap();
}

#[test]
fn no_file_takes_the_place_of_a_standard_stream() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let mut process = Process::start(role("role_without_standard_streams", &path));
        while process.hear_more().is_some() {}
        assert_eq!(fs::read_to_string(path.with_extension("told")).unwrap(), "[]");
        let pool = Pool::open(&path).unwrap();
        pool.verify().unwrap();
        assert_eq!(pool.map::<u64, u64>("map").unwrap().len().unwrap(), 2000);
    }
}

/// The next files of the host: they get the numbers that are free.
fn files_of_host(folder: &Path) -> Vec<File> {
    let make = |i| {
        let path = folder.join(format!("mine-{i}"));
        let mut file =
            File::options().read(true).write(true).create(true).truncate(true).open(path);
        file.as_mut().unwrap().write_all(format!("mine {i}").as_bytes()).unwrap();
        file.unwrap()
    };
    (0..24).map(make).collect()
}

/// All are open, and hold what the host has written.
fn expect_untouched(files: &mut [File]) {
    for (i, file) in files.iter_mut().enumerate() {
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, format!("mine {i}"));
    }
}

#[test]
fn role_with_closed_descriptors() {
    let Some(path) = role_path() else { return };
    for what in ["a round", "growth", "a close", "a drop"] {
        let pool = on_demand().create_new(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        (0..100).for_each(|key| _ = map.put(key, key).unwrap());
        pool.checkpoint().unwrap();
        let highest = open_files().into_iter().map(|(number, _)| number).max().unwrap();
        close(3..highest + 1);
        let mut files = files_of_host(path.parent().unwrap());
        assert!(files.iter().any(|file| file.as_raw_fd() == 3));
        let told = match what {
            "a round" => pool.checkpoint().map(drop),
            "growth" => (100..1_000_000).try_for_each(|key| map.put(key, key).map(drop)),
            "a close" => pool.close().map(drop),
            _ => Err(Error::Poisoned),
        };
        let error = told.unwrap_err();
        if what != "a drop" {
            let text = error.to_string();
            assert!(text.contains("closed by other code of this process"), "{what}: {text}");
        }
        if matches!(what, "a round" | "growth") {
            let next = map.put(1, 1);
            assert!(matches!(next, Err(Error::Poisoned)), "{what}: {next:?}");
        }
        expect_untouched(&mut files);
        let _ = pool.close();
        drop((pool, map));
        expect_untouched(&mut files);
        // No number of theirs was closed, which a child that forks now would inherit.
        let numbers: Vec<_> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let open = open_files();
        assert!(numbers.iter().all(|number| open.iter().any(|(open, _)| open == number)), "{what}");
        drop(files);
        // What the session had written is there.
        let pool = Pool::open(&path).unwrap();
        assert!(pool.map::<u64, u64>("map").unwrap().len().unwrap() >= 100, "{what}");
        pool.close().unwrap();
        drop(pool);
        let _ = ["pool", "pool.checkpoint"].map(|name| fs::remove_file(path.with_file_name(name)));
    }
    say("as it should be");
}

/// The second handle's descriptors get the numbers that the first one had, and are of the same files. (A handle that writes
/// keeps its claim of the file when its descriptors are closed: the second open is refused.)
#[test]
fn role_that_opens_again_what_was_closed() {
    let Some(path) = role_path() else { return };
    let options = Pool::options().read_only(true);
    let first = options.open_existing(&path).unwrap();
    let before = open_files();
    let highest = before.iter().map(|(number, _)| *number).max().unwrap();
    close(3..highest + 1);
    let second = options.open_existing(&path).unwrap();
    let of_pool = |(_, name): &&(i32, String)| Path::new(name).starts_with(&path);
    let of_second: Vec<_> = open_files().iter().filter(of_pool).cloned().collect();
    let reused = of_second.iter().filter(|file| before.contains(file)).count();
    assert!(reused >= 2, "{of_second:?} of {before:?}");
    let _ = first.close();
    drop(first);
    let left = open_files();
    assert!(of_second.iter().all(|file| left.contains(file)), "{of_second:?} of {left:?}");
    say("open");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    assert_eq!(second.map::<u64, u64>("map").unwrap().get(7).unwrap(), Some(7));
    second.close().unwrap();
}

#[test]
fn a_handle_whose_descriptors_were_closed_leaves_those_of_the_next_one_alone() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let pool = on_demand().create_new(&path).unwrap();
        pool.map::<u64, u64>("map").unwrap().put(7, 7).unwrap();
        pool.close().unwrap();
        let mut command = role("role_that_opens_again_what_was_closed", &path);
        command.stdin(std::process::Stdio::piped());
        let mut process = Process::start(command);
        assert_eq!(process.hear(), "open");
        let outcome = on_demand().open_existing(&path);
        assert!(matches!(outcome, Err(Error::Locked)), "{outcome:?}");
        process.tell();
        process.finish();
        Pool::open(&path).unwrap().verify().unwrap();
    }
}

/// As modules do that make a program a daemon: they close what they do not know, and the program opens its own files then.
#[test]
fn descriptors_that_the_host_closes_are_not_used() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let mut process = Process::start(role("role_with_closed_descriptors", &path));
        assert_eq!(process.hear(), "as it should be");
        process.finish();
    }
}

#[test]
fn role_with_a_small_stack() {
    let Some(path) = role_path() else { return };
    let thread = std::thread::Builder::new().stack_size(64 << 10);
    let work = move || {
        for _ in 0..2 {
            let pool = on_demand().open(&path).unwrap();
            pool.map::<u64, u64>("map").unwrap().put(1, 1).unwrap();
            pool.checkpoint().unwrap();
            pool.close().unwrap();
        }
    };
    thread.spawn(work).unwrap().join().unwrap();
    say("as it should be");
}

/// Threads of other languages and of small machines have no more.
#[test]
fn a_pool_is_opened_in_a_thread_of_64_kib() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let mut process = Process::start(role("role_with_a_small_stack", &path));
        assert_eq!(process.hear(), "as it should be");
        process.finish();
    }
}
