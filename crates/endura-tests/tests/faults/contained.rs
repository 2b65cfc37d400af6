//! Containers: the machine and its page cache stay up, whatever a container shows of them. Nothing that had returned is lost.
//!
//! `ENDURA_ROUNDS` is another number of kills.

use std::path::{Path, PathBuf};
use std::process::Command;

use endura::Pool;

use crate::load::*;
use crate::mounts::*;
use crate::process::*;
use crate::random::Random;

/// What a container hides, as commands in its mount namespace. `BOUND` is a folder for a bind mount, and `POOLS` the pool's.
const WAYS: [&str; 7] = [
    "true",
    // As systemd-nspawn and LXC do at each start.
    "cat /proc/sys/kernel/random/uuid > $POOLS/boot_id; mount --bind $POOLS/boot_id /proc/sys/kernel/random/boot_id",
    "mount -t tmpfs none /proc",
    "mount -t tmpfs none /sys",
    "mount -t tmpfs none /sys; mount -t tmpfs none /proc",
    "mount -t tmpfs none /sys; cat /proc/sys/kernel/random/uuid > $POOLS/boot_id; \
     mount --bind $POOLS/boot_id /proc/sys/kernel/random/boot_id",
    "mount --bind $POOLS $BOUND; cd $BOUND",
];

/// The load in a container of its own.
fn contained(way: usize, path: &Path, bound: &Path) -> Load {
    let pools = path.parent().unwrap();
    let path = if way == 6 { bound.join("pool") } else { path.to_owned() };
    let load = role("role_load", &path);
    let words = load.get_args().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ");
    let program = load.get_program().to_str().unwrap();
    let mut command = Command::new("sh");
    command.args(["-ec", &format!("{}; exec {program} {words}", WAYS[way])]);
    command.env("POOLS", pools).env("BOUND", bound);
    let set = load.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(set);
    Load::start_with(&path, in_own_mounts(&command))
}

fn kills(path: &Path, bound: &Path, rounds: u64) {
    let (mut random, mut before) = (Random::of(rounds), 0);
    for round in 0..rounds {
        let way = random.below(WAYS.len() as u64) as usize;
        let mut load = contained(way, path, bound);
        load.wait(1 + random.below(5) as u32);
        let at = format!("{}, round {round}, {}", path.display(), WAYS[way]);
        assert_eq!((&load.end, &load.restored), (&None, &None), "{at}");
        assert!(load.has + 1 >= before, "{at}: {} of {before}", load.has);
        before = load.kill().has;
    }
    let pool = Pool::options().open_existing(path).unwrap();
    assert!(pool.restored().is_none());
    assert!(operations_in(&pool) >= before);
}

fn rounds() -> u64 {
    std::env::var("ENDURA_ROUNDS").map_or(8, |rounds| rounds.parse().unwrap())
}

#[test]
fn role_containers() {
    let Some(folder) = role_path() else { return };
    let bound = folder.join("bound");
    std::fs::create_dir(&bound).unwrap();
    for kind in ["ext4", "tmpfs"] {
        let Some(volume) = Volume::new(kind, 60) else { return };
        kills(&volume.path().join("pool"), &bound, rounds());
    }
    // A container's own layer, which each start mounts anew.
    let Some(volume) = Volume::new("ext4", 60) else { return };
    let at = volume.path();
    let layers: [PathBuf; 4] = ["lower", "upper", "work", "merged"].map(|name| at.join(name));
    layers.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let [lower, upper, work, merged] = layers.each_ref().map(|folder| folder.display());
    for round in 0..3 {
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        run(&format!("mount -t overlay overlay -o {options} {merged}")).unwrap();
        kills(&layers[3].join("pool"), &bound, 1 + (rounds() + round) / 4);
        run(&format!("umount {merged}")).unwrap();
    }
    say("as it should be");
}

#[test]
fn containers_that_are_killed_lose_nothing() {
    with_own_mounts_alone("role_containers");
}

/// At the limit of descriptors nothing is known of the boot, and that is no answer.
#[test]
fn role_few_descriptors() {
    let Some(path) = role_path() else { return };
    let limit = |most: u64| {
        let limits = libc::rlimit { rlim_cur: most, rlim_max: 4096 };
        // SAFETY: limits this process alone.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits) }, 0);
    };
    let mut refused = 0;
    let pool = (0..64).find_map(|most| {
        limit(most);
        let opened = plain().open_existing(&path);
        limit(4096);
        refused += 1;
        opened.ok()
    });
    let pool = pool.unwrap();
    assert!(refused > 3 && !pool.stats().unwrap().clean_open);
    assert_ne!(superblock(&path).boot, Default::default());
    assert!(pool.stats().unwrap().warnings.is_empty());
    say("as it should be");
}

#[test]
fn a_process_without_descriptors_does_not_forget_the_boot() {
    let folder = &folders()[0];
    let path = closed_pool(folder);
    crate::identity::writer_of(&path).kill();
    let mut process = Process::start(role("role_few_descriptors", &path));
    assert_eq!(process.hear(), "as it should be");
    process.finish();
}
