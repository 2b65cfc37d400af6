//! Sessions that end while they begin, or that cannot end: by a kill, or because the disk takes no more.

use std::fs;

use endura::{Checkpoints, Error};
use endura_engine::space::superblock::Superblock;

use crate::power_loss::*;
use crate::process::*;

/// From now on these system calls of the process end so.
fn decide(calls: &[libc::c_long], action: u32) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let filter = |code, jt, k| libc::sock_filter { code, jt, jf: 0, k };
    let mut all = vec![filter(LOAD, 0, 0)];
    let tests = calls.iter().enumerate();
    all.extend(tests.map(|(i, &call)| filter(IF, (calls.len() - i) as u8, call as u32)));
    all.push(filter(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    all.push(filter(RETURN, 0, action));
    let program = libc::sock_fprog { len: all.len() as u16, filter: all.as_mut_ptr() };
    let none: libc::c_ulong = 0;
    // SAFETY: the program and its filters live until both calls return.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, none, none, none), 0);
        let how = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, how, &raw const program, none, none), 0);
    }
}

#[test]
fn role_killed_before_the_superblock() {
    let Some(path) = role_path() else { return };
    say("begins");
    decide(&[libc::SYS_pwritev2], libc::SECCOMP_RET_KILL_PROCESS);
    let _ = plain().open_existing(path);
    say("goes on");
}

/// The mark behind the end is void then, in a file that no session has opened before: a copy of a pool that was closed.
#[test]
fn the_first_session_of_a_copy_is_killed() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let copy = folder.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        for _ in 0..2 {
            let mut killed = Process::start(role("role_killed_before_the_superblock", &copy));
            assert_eq!(killed.hear(), "begins");
            assert_eq!(killed.hear_more(), None);
        }
        assert!(superblock(&copy).clean);
        // A copy of that may have been read in any order.
        let other = folder.path().join("other");
        fs::copy(&copy, &other).unwrap();
        assert!(matches!(refusal(&other), Error::NeedsRestore { .. }));
        plain().open_existing(&copy).unwrap().verify().unwrap();
    }
}

#[test]
fn role_disk_without_room() {
    let Some(path) = role_path() else { return };
    let calls = [libc::SYS_pwrite64, libc::SYS_pwritev2];
    decide(&calls, libc::SECCOMP_RET_ERRNO | libc::ENOSPC as u32);
    say(outcome(&plain().open_existing(path)));
}

/// As on file systems that need room for what is written in place of something.
#[test]
fn a_closed_pool_on_a_disk_without_room() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let before = fs::read(&path).unwrap();
        let mut session = Process::start(role("role_disk_without_room", &path));
        assert_eq!(session.hear(), "failed");
        session.end();
        assert!(fs::read(&path).unwrap() == before);
        plain().open_existing(&path).unwrap().verify().unwrap();
    }
}

fn half_of(superblock: &Superblock) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| superblock.session[i]))
}

#[test]
fn role_close_without_a_second_superblock() {
    let Some(path) = role_path() else { return };
    let pool = plain().checkpoints(Checkpoints::off()).open_existing(path).unwrap();
    pool.map::<u64, u64>("map").unwrap().put(1, 77).unwrap();
    decide(&[libc::SYS_pwrite64], libc::SECCOMP_RET_ERRNO | libc::ENOSPC as u32);
    say(if pool.close().is_ok() { "closed" } else { "failed" });
}

/// One superblock that says "closed" is durable, and so is all that was stored.
#[test]
fn a_close_that_writes_one_superblock() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let mut session = Process::start(role("role_close_without_a_second_superblock", &path));
        assert_eq!(session.hear(), "closed");
        session.end();
        let pool = plain().open_existing(&path).unwrap();
        assert!(pool.stats().unwrap().clean_open);
        assert_eq!(pool.map::<u64, u64>("map").unwrap().get(1).unwrap(), Some(77));
    }
}

/// The first copy is the pool as it was found. What a restore leaves that was killed is a mixture, and not kept as well.
#[test]
fn an_open_that_is_killed_while_it_goes_back() {
    for folder in folders() {
        let path = folder.path().join("pool");
        on_demand().create_new(&path).unwrap().close().unwrap();
        kill_after_checkpoint(&path);
        patch(&path, |superblock| superblock.suspect = half_of(superblock));
        let found = fs::read(&path).unwrap();
        let kept = folder.path().join("pool.torn");
        fs::write(&kept, &found).unwrap();
        let mut mixture = found.clone();
        mixture[2 * 4096..found.len() / 2].fill(0);
        fs::write(&path, &mixture).unwrap();
        let pool = on_demand().open_existing(&path).unwrap();
        assert_eq!(pool.restored().unwrap().kept.as_ref(), Some(&kept));
        assert!(!folder.path().join("pool.torn-2").exists());
        assert!(fs::read(&kept).unwrap() == found);
        expect_checkpoint(&pool, 3000);
        pool.close().unwrap();
        drop(pool);
        // A later session is another one.
        kill_after_checkpoint(&path);
        patch(&path, |superblock| superblock.suspect = half_of(superblock));
        let pool = on_demand().open_existing(&path).unwrap();
        let second = pool.restored().unwrap().kept.clone().unwrap();
        assert!(second.ends_with("pool.torn-2"), "{second:?}");
        expect_checkpoint(&pool, 6000);
    }
}

#[test]
fn role_left_with_checkpoints_elsewhere() {
    let Some(path) = role_path() else { return };
    let how = Checkpoints::on_demand().in_file(path.with_file_name("kept"));
    let pool = plain().checkpoints(how).open_existing(path).unwrap();
    pool.checkpoint().unwrap();
    say("made");
    wait_to_be_killed();
}

#[test]
fn role_killed_when_the_checkpoint_is_gone() {
    let Some(path) = role_path() else { return };
    let none = Checkpoints::off().in_file(path.with_file_name("kept"));
    say("begins");
    // The folder is synced then.
    decide(&[libc::SYS_fsync], libc::SECCOMP_RET_KILL_PROCESS);
    let _ = plain().checkpoints(none).open_existing(path);
    say("goes on");
}

/// An open that is to have no checkpoints takes the file away, which is in a place of its own.
#[test]
fn an_open_without_checkpoints_is_killed() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let kept = folder.path().join("kept");
        let options = plain().checkpoints(Checkpoints::on_demand().in_file(&kept));
        let mut left = Process::start(role("role_left_with_checkpoints_elsewhere", &path));
        assert_eq!(left.hear(), "made");
        left.end();
        let mut killed = Process::start(role("role_killed_when_the_checkpoint_is_gone", &path));
        assert_eq!(killed.hear(), "begins");
        assert_eq!(killed.hear_more(), None);
        assert!(!kept.exists() && !superblock(&path).clean);
        let pool = options.open_existing(&path).unwrap();
        assert!(pool.restored().is_none());
        pool.verify().unwrap();
    }
}
