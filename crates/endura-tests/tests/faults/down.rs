//! The file system goes down, or loses what it was to write, and the machine stays up.
//!
//! Each round is a load that is under way, a failure, a kill or a close that ends with an error, and an open in the same boot.
//! The pool then has all that had returned, or what its newest checkpoint has, and says so. `ENDURA_ROUNDS` is another number of
//! rounds of each kind: 60 take ten minutes.

use std::time::Duration;

use endura::{Error, Pool};

use crate::load::*;
use crate::mounts::*;
use crate::process::*;
use crate::random::Random;

/// How a file system fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    /// It is shut down, as by a fatal error of its journal.
    Shutdown,
    /// It finds an error and goes on read-only (ext4).
    ReadOnly,
    /// The device below has no room for a while, and is well again.
    Device,
    /// None: it is unmounted in good order after a kill.
    None,
}

fn rounds() -> u64 {
    std::env::var("ENDURA_ROUNDS").map_or(2, |rounds| rounds.parse().unwrap())
}

/// A volume that can fail, on a disk of its own.
struct Failing {
    kind: &'static str,
    volume: Volume,
    /// The disk below, in memory, which can run full.
    disk: Volume,
}

impl Failing {
    fn new(kind: &'static str) -> Option<Self> {
        let options = if kind == "ext4" { "errors=remount-ro" } else { "" };
        let (volume, disk) = Volume::on_disk_that_fills(kind, options)?;
        Some(Self { kind, volume, disk })
    }

    fn fail(&self, failure: Failure) {
        match failure {
            Failure::Shutdown => self.volume.shutdown(),
            Failure::ReadOnly => {
                let device = self.volume.device().file_name().unwrap().to_str().unwrap();
                let path = format!("/sys/fs/ext4/{device}/trigger_fs_error");
                std::fs::write(path, "a test").unwrap();
            }
            Failure::Device => {
                self.disk.fill();
                let _ = run(&format!("sync -f {}", self.volume.path().display()));
            }
            Failure::None => {}
        }
    }

    /// The device is well again.
    fn heal(&self) {
        let _ = std::fs::remove_file(self.disk.path().join("filler"));
    }

    /// Unmounts it, mends it as its tools do, and mounts it.
    fn mount_again(&mut self) {
        for _ in 0..50 {
            if run(&format!("umount {}", self.volume.path().display())).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if self.kind == "ext4" {
            let _ = run(&format!("fsck.ext4 -fy {}", self.volume.device().display()));
        }
        self.volume.mount();
    }
}

fn round(kind: &'static str, failure: Failure, seed: u64) -> Option<()> {
    let mut random = Random::of(seed);
    let mut failing = Failing::new(kind)?;
    let path = failing.volume.path().join("pool");
    let mut load = Load::start(&path);
    load.wait_for_checkpoint().wait_for_checkpoint().wait(random.below(6) as u32);
    std::thread::sleep(Duration::from_millis(random.below(10)));
    if random.one_in(2) {
        // A part of the pages is on the disk: what is left of the others is torn.
        let _ = run(&format!("sync {}", path.display()));
        load.wait(random.below(3) as u32);
    }
    failing.fail(failure);
    if failure == Failure::Device && random.one_in(2) {
        failing.heal();
        load.wait(random.below(5) as u32);
    }
    let load = if random.one_in(2) { load.kill() } else { load.close() };
    failing.heal();
    // A device that is well again may be used as it is.
    if failure != Failure::Device || random.one_in(2) {
        failing.mount_again();
    }
    if random.one_in(3) {
        fail_in_the_open(&mut failing, &mut random);
    }
    let opened = Pool::open(&path).or_else(|error| {
        // The first open after it hears of a file system that cannot be written.
        assert!(matches!(error, Error::Io { .. }), "{kind} {failure:?} {seed}: {error}");
        failing.mount_again();
        Pool::open(&path)
    });
    let pool = opened.unwrap_or_else(|error| panic!("{kind} {failure:?} {seed}: {error}"));
    let found = expect_no_loss(&pool, &load);
    println!(
        "{kind} {failure:?} {seed}: {found} of {} operations, {} kept, {:?}",
        load.has, load.kept, load.end
    );
    pool.close().unwrap();
    // Its handle keeps the mapping.
    drop(pool);
    failing.mount_again();
    let pool = Pool::open(&path).unwrap();
    assert_eq!(operations_in(&pool), found, "{kind} {failure:?} {seed}: closed, and mounted again");
    pool.close().unwrap();
    Some(())
}

/// It goes down once more while the pool is taken back.
fn fail_in_the_open(failing: &mut Failing, random: &mut Random) {
    let path = failing.volume.path().join("pool");
    let load = Load::start(&path);
    std::thread::sleep(Duration::from_millis(random.below(60)));
    failing.volume.shutdown();
    // What it has done meanwhile may be in the pool: it goes on with the same operations.
    drop(load.kill());
    failing.mount_again();
}

fn run_rounds(kind: &'static str, failures: &[Failure]) {
    if role_path().is_none() {
        return;
    }
    for seed in 0..rounds() {
        for &failure in failures {
            if round(kind, failure, seed).is_none() {
                return;
            }
        }
    }
    say("as it should be");
}

#[test]
fn role_ext4_goes_down() {
    use Failure::{Device, None, ReadOnly, Shutdown};
    run_rounds("ext4", &[Shutdown, ReadOnly, Device, None]);
}

#[test]
fn role_xfs_goes_down() {
    use Failure::{Device, None, Shutdown};
    run_rounds("xfs", &[Shutdown, Device, None]);
}

#[test]
fn ext4_goes_down_and_the_machine_stays_up() {
    with_own_mounts("role_ext4_goes_down");
}

#[test]
fn xfs_goes_down_and_the_machine_stays_up() {
    with_own_mounts("role_xfs_goes_down");
}
