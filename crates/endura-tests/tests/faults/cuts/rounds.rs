//! The rounds: what a pool may have after each end of a load, and whether the next open finds that.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use super::load::{EVERY, Notes, signal};
use super::programme::THREADS;
use crate::mounts::{Volume, run as shell};
use crate::process::*;
use crate::random::Random;

const PAGE: u64 = 4096;
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// Rounds of one file system and one pool.
const LIFE: u64 = 20;

/// How a load ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// The power goes while it opens the pool, or while it writes.
    PowerInOpen,
    Power,
    Kill,
    Close,
}

impl End {
    fn any(random: &mut Random) -> Self {
        match random.below(10) {
            0 => Self::PowerInOpen,
            1..=4 => Self::Power,
            5..=6 => Self::Kill,
            _ => Self::Close,
        }
    }
}

/// A machine with one disk.
struct Machine {
    folder: PathBuf,
    volume: Volume,
    notes: Notes,
    random: Random,
    /// What each thread has at least, and at most.
    least: [u64; THREADS],
    most: [u64; THREADS],
    /// Whether the pool was closed, and whether the power has gone since a load wrote to it.
    is_closed: bool,
    has_lost_power: bool,
    boots: u64,
}

/// All rounds, unless volumes cannot be made here.
pub(super) fn run(kind: &'static str, megabytes: u64) -> Option<()> {
    let rounds = std::env::var("ENDURA_ROUNDS").map_or(10, |rounds| rounds.parse().unwrap());
    let seed = std::env::var("ENDURA_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut random = Random::of(seed);
    let mut machine = Machine::new(kind, megabytes, random.next())?;
    let mut restored = 0;
    for round in 0..rounds {
        let what = format!("{kind}, seed {seed}, round {round}");
        let is_used_up = round % LIFE == LIFE - 1;
        if !machine.round(&what, &mut restored) || is_used_up {
            drop(machine);
            machine = Machine::new(kind, megabytes, random.next())?;
        }
        // What is set aside of torn pools would fill the disk.
        let _ = shell(&format!("rm -f {}/*.torn*", machine.volume.path().display()));
    }
    // Standard output is read by the test.
    eprintln!("{kind}: {rounds} rounds, {restored} pools were taken back");
    Some(())
}

impl Machine {
    fn new(kind: &'static str, megabytes: u64, seed: u64) -> Option<Self> {
        let volume = Volume::new(kind, megabytes)?;
        let folder = volume.path().parent().unwrap().to_owned();
        let mut machine = Self {
            notes: Notes::beside(&folder),
            folder,
            volume,
            random: Random::of(seed),
            least: [0; THREADS],
            most: [0; THREADS],
            is_closed: true,
            has_lost_power: false,
            boots: 0,
        };
        machine.boot();
        Some(machine)
    }

    fn pool(&self) -> PathBuf {
        self.volume.path().join("pool")
    }

    /// Another boot, as far as this process and its children are told.
    fn boot(&mut self) {
        self.boots += 1;
        let (id, file) = (self.random.next() as u32, role_path().unwrap().join("boot"));
        let id = format!("{id:08x}-0000-4000-8000-{:012x}\n", self.boots);
        fs::write(&file, &id).unwrap();
        let is_told = || fs::read_to_string(BOOT).unwrap() == id;
        if !is_told() {
            shell(&format!("mount --bind {} {BOOT}", file.display())).unwrap();
        }
        assert!(is_told(), "the boot is another one");
    }

    /// The power comes again.
    fn start_again(&mut self) {
        let unmount = format!("umount {}", self.volume.path().display());
        for _ in 0..50 {
            if shell(&unmount).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.boot();
        self.volume.mount();
        self.has_lost_power = true;
        if !self.is_closed {
            self.least = self.notes.kept();
        }
    }

    /// One load; returns whether it found a pool that it could open.
    fn round(&mut self, what: &str, restored: &mut u64) -> bool {
        let _ = fs::remove_file(signal(&self.folder));
        let every = [0, 40, 150][self.random.below(3) as usize];
        let mut command = role("role_run_the_programme", &self.pool());
        command.env(EVERY, every.to_string());
        let mut load = Process::start(command);
        let end = End::any(&mut self.random);
        let what = format!("{what}, every {every} ms, {end:?}");
        if end == End::PowerInOpen {
            std::thread::sleep(Duration::from_millis(self.random.below(40)));
        } else {
            let said = load.hear();
            // Its first checkpoint had not been made when the power went.
            let had_none = self.has_lost_power && self.notes.kept() == [0; THREADS];
            if said.starts_with("refused needs_restore") && had_none {
                return false;
            }
            *restored += u64::from(self.check(&said, &what));
            for _ in 0..self.random.below(60) {
                std::thread::sleep(Duration::from_millis(5));
                self.write_back();
            }
        }
        match end {
            End::Close => {
                fs::write(signal(&self.folder), "").unwrap();
                assert_eq!(load.hear(), "closed", "{what}");
                load.finish();
                self.after_load(true);
            }
            End::Kill => {
                load.end();
                self.after_load(false);
            }
            End::Power | End::PowerInOpen => {
                self.volume.shutdown();
                std::thread::sleep(Duration::from_millis(self.random.below(30)));
                load.end();
                let said = load.hear_more().filter(|_| end == End::PowerInOpen);
                let opened = said
                    .filter(|said| ["whole", "restored"].iter().any(|how| said.starts_with(how)));
                if let Some(said) = &opened {
                    *restored += u64::from(self.check(said, &what));
                }
                if end == End::Power || opened.is_some() {
                    self.after_load(false);
                }
                self.is_closed = false;
                self.start_again();
                return true;
            }
        }
        if self.random.one_in(2) {
            self.write_back();
            self.volume.shutdown();
            self.start_again();
        }
        true
    }

    /// What the pool may have after a load.
    fn after_load(&mut self, is_closed: bool) {
        self.has_lost_power = false;
        self.is_closed = is_closed;
        self.least = self.notes.returned();
        self.most = if is_closed { self.least } else { self.least.map(|least| least + 1) };
        if is_closed {
            self.notes.keep(self.least);
        }
    }

    /// Compares what an open has found with what it may find.
    fn check(&mut self, said: &str, what: &str) -> bool {
        let (how, numbers) = said.split_once(' ').unwrap();
        assert!(how == "whole" || how == "restored", "{what}: {said}");
        let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        let is_restored = how == "restored";
        assert!(!is_restored || self.has_lost_power && !self.is_closed, "{what}: {said}");
        for thread in 0..THREADS {
            let (first, last) = (numbers[2 * thread], numbers[2 * thread + 1]);
            let (least, most) = (self.least[thread], self.most[thread]);
            assert!(
                last >= least && first <= most,
                "{what}: thread {thread} has {first} to {last} operations, and should have {least} to {most}: {said}"
            );
            (self.least[thread], self.most[thread]) = (last, last);
        }
        is_restored
    }

    /// Writes some pages of the files back, as the kernel may at any time.
    fn write_back(&mut self) {
        for name in ["pool", "pool.checkpoint", "pool.checkpoint.new"] {
            let file = File::open(self.volume.path().join(name));
            let Some(file) = file.ok().filter(|_| self.random.one_in(2)) else { continue };
            let pages = file.metadata().map_or(0, |facts| facts.len()) / PAGE;
            for _ in 0..self.random.below(100).min(pages) {
                let end = if self.random.one_in(3) { pages.min(16) } else { pages };
                let at = self.random.below(end);
                let bytes = PAGE * (1 + self.random.below(8));
                // SAFETY: the call gets numbers, and starts what the kernel does anyway.
                unsafe {
                    libc::sync_file_range(
                        file.as_raw_fd(),
                        (at * PAGE) as i64,
                        bytes as i64,
                        libc::SYNC_FILE_RANGE_WRITE,
                    );
                }
            }
        }
    }
}
