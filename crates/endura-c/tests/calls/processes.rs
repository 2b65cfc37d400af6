//! Forks, kills, and the end of a program that leaves its pool open. Each is a process of its own: this test program,
//! started again for one of the tests that are ignored here.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::ptr;
use std::time::{Duration, Instant};

use endura_c::*;

use crate::support::{Room, c, expect, name, open_at, path, quick, status};

/// Where a started process finds its pool.
const POOL: &str = "ENDURA_C_POOL";

fn started(test: &str, pool: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", &format!("processes::{test}")]);
    command.env(POOL, pool).stdout(Stdio::piped()).spawn().unwrap()
}

fn own_pool() -> PoolHandle {
    let at = std::env::var_os(POOL).expect("the path of a pool: another test starts this one");
    open_at(Path::new(&at), &Options { lock_timeout_ms: 10_000, ..quick() })
}

fn numbers(pool: PoolHandle) -> MapHandle {
    let (mut map, u64) = (MapHandle::NONE, c"u64".as_ptr());
    expect(c!(endura_map_open(pool, c"map".as_ptr(), u64, u64, ptr::null(), &mut map)), OK);
    map
}

#[test]
#[ignore = "a process that another test starts"]
fn writes_until_it_is_killed() {
    let map = numbers(own_pool());
    let mut len = 0;
    expect(c!(endura_len(map, &mut len)), OK);
    for key in len.. {
        expect(endura_put_u64(map, key, key * 3), OK);
        println!("done {key}");
    }
}

#[test]
fn nothing_that_was_acknowledged_is_lost_by_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (at, mut last) = (folder.path().join("pool"), None);
    let rounds = std::env::var("ENDURA_C_KILLS").map_or(4, |text| text.parse().unwrap());
    for round in 0..rounds {
        let mut child = started("writes_until_it_is_killed", &at);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let acknowledged = |line: String| line.strip_prefix("done ")?.parse::<u64>().ok();
        last = lines.by_ref().filter_map(acknowledged).nth(50 + 37 * round).or(last);
        child.kill().unwrap();
        last = lines.filter_map(acknowledged).last().or(last);
        child.wait().unwrap();
        let pool = open_at(&at, &Options { lock_timeout_ms: 10_000, ..quick() });
        let map = numbers(pool);
        for key in 0..=last.unwrap() {
            let mut value = 0;
            expect(c!(endura_get_u64(map, key, &mut value)), OK);
            assert_eq!(value, key * 3);
        }
        expect(c!(endura_verify(pool, ptr::null_mut())), OK);
        expect(endura_close(pool), OK);
    }
}

#[test]
#[ignore = "a process that another test starts"]
fn leaves_its_pool_open() {
    expect(endura_put_u64(numbers(own_pool()), 1, 1), OK);
    std::process::exit(0);
}

#[test]
#[ignore = "a process that another test starts"]
fn leaves_a_thread_in_a_callback() {
    let pool = own_pool();
    expect(endura_put_u64(numbers(pool), 1, 1), OK);
    unsafe extern "C" fn stay(_: *mut std::ffi::c_void, _: Slice, _: Slice) -> i32 {
        println!("inside");
        std::thread::sleep(Duration::from_secs(600));
        0
    }
    std::thread::spawn(move || {
        let map = numbers(pool);
        c!(endura_visit(map, ptr::null(), ptr::null(), 0, Some(stay), ptr::null_mut()))
    });
    std::thread::sleep(Duration::from_millis(200));
    std::process::exit(0);
}

#[test]
#[ignore = "a process that another test starts"]
fn copies_with_few_addresses() {
    let at = std::env::var_os(POOL).expect("the path of a pool: another test starts this one");
    let (at, copy) = (Path::new(&at), path(&Path::new(&at).with_extension("copy")));
    let pool = open_at(at, &Options { max_size: 32 << 20, ..quick() });
    expect(endura_put_u64(numbers(pool), 1, 1), OK);
    let few = libc::rlimit { rlim_cur: 700 << 20, rlim_max: 700 << 20 };
    // SAFETY: the limit is a valid one; the call reads it alone.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &few) }, 0);
    expect(c!(endura_backup(pool, copy.as_ptr())), OK);
    expect(endura_close(pool), OK);
}

/// A copy reserves the addresses that it needs, not those of a pool that grows.
#[test]
fn a_backup_needs_few_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("pool");
    let mut child = started("copies_with_few_addresses", &at);
    let output: Vec<_> = BufReader::new(child.stdout.take().unwrap()).lines().collect();
    assert!(child.wait().unwrap().success(), "{output:?}");
    let copy = open_at(&at.with_extension("copy"), &quick());
    let mut value = 0;
    expect(c!(endura_get_u64(numbers(copy), 1, &mut value)), OK);
    assert_eq!(value, 1);
    expect(endura_close(copy), OK);
}

/// Whether the last session of a pool has closed it.
fn was_closed(at: &Path) -> bool {
    let (pool, mut stats) = (open_at(at, &quick()), Room::new());
    expect(c!(endura_stats_json(pool, stats.at())), OK);
    expect(endura_close(pool), OK);
    stats.text().contains("\"clean_open\":true")
}

#[test]
fn exit_closes_what_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("pool");
    assert!(started("leaves_its_pool_open", &at).wait().unwrap().success());
    assert!(was_closed(&at));
    let begun = Instant::now();
    assert!(started("leaves_a_thread_in_a_callback", &at).wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

/// The exit code of a child that runs `work`.
fn forked(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls functions of the library alone, which prepare for forks, and ends with `_exit`.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(work()),
            child => {
                let mut code = 0;
                assert_eq!(libc::waitpid(child, &mut code, 0), child);
                assert!(libc::WIFEXITED(code), "{code}");
                libc::WEXITSTATUS(code)
            }
        }
    }
}

#[test]
fn a_forked_child_has_pools_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (at, other) = (folder.path().join("pool"), path(&folder.path().join("other")));
    let pool = open_at(&at, &quick());
    let map = numbers(pool);
    expect(endura_put_u64(map, 1, 10), OK);
    let is_forked = status("forked");
    let code = forked(|| {
        let (mut value, mut own) = (0, PoolHandle::NONE);
        let statuses = [
            endura_put_u64(map, 2, 20) == is_forked,
            c!(endura_get_u64(map, 1, &mut value)) == is_forked,
            endura_checkpoint(pool) == is_forked,
            endura_close(pool) == is_forked,
            c!(endura_open(other.as_ptr(), &quick(), &mut own)) == OK,
            endura_put_u64(numbers(own), 3, 30) == OK,
            endura_close(own) == OK,
        ];
        // The number of the first that is wrong.
        statuses.iter().position(|&is_right| !is_right).map_or(0, |at| at as i32 + 1)
    });
    assert_eq!(code, 0, "{}", name(is_forked));
    expect(endura_put_u64(map, 2, 20), OK);
    expect(endura_close(pool), OK);
    let pool = open_at(&folder.path().join("other"), &quick());
    let mut value = 0;
    expect(c!(endura_get_u64(numbers(pool), 3, &mut value)), OK);
    assert_eq!(value, 30);
    expect(endura_close(pool), OK);
}
