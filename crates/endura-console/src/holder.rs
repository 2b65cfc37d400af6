//! The process that has a pool open, as the kernel lists locks.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

/// The only process that has locked the file at `path`, with the name of its program: `process 4711 (python3)`. `None`
/// if there are several, or if it cannot be seen from here, as from a container.
pub fn of(path: &Path) -> Option<String> {
    let (facts, locks) = (fs::metadata(path).ok()?, fs::read_to_string("/proc/locks").ok()?);
    let process = only_owner(&locks, &facts)?;
    let program = fs::read_to_string(format!("/proc/{process}/comm"));
    Some(match program.as_deref().map(str::trim_end) {
        Ok(program) if !program.is_empty() => format!("process {process} ({program})"),
        _ => format!("process {process}"),
    })
}

/// The process of the only locks on a file, unless that is this one.
fn only_owner(locks: &str, facts: &Metadata) -> Option<u32> {
    let (device, inode) = (facts.dev(), facts.ino());
    let file = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    let mut owners = locks.lines().filter_map(|line| owner(line, &file));
    let first = owners.next()?.filter(|&process| process != std::process::id())?;
    owners.all(|owner| owner == Some(first)).then_some(first)
}

/// If a line of `/proc/locks` is of a lock on `file` that is held: its process, or `None` if that is not seen from here.
/// A line of a lock that is waited for has a `->` as its second word.
fn owner(line: &str, file: &str) -> Option<Option<u32>> {
    let words: Vec<_> = line.split_whitespace().collect();
    let [_, "FLOCK", _, _, process, place, ..] = *words else { return None };
    (place == file).then(|| process.parse().ok().filter(|&process| process != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_is_told_and_several_are_not() {
        let facts = fs::metadata(std::env::current_exe().unwrap()).unwrap();
        let place =
            format!("{:02x}:{:02x}:{}", major(facts.dev()), minor(facts.dev()), facts.ino());
        let line = |kind: &str, process: u32| {
            format!("1: {kind}  ADVISORY  WRITE {process} {place} 0 EOF\n")
        };
        let one = line("FLOCK", 4711);
        let waiting = line("-> FLOCK", 8);
        assert_eq!(only_owner(&(one.clone() + &waiting + &line("POSIX", 9)), &facts), Some(4711));
        assert_eq!(only_owner(&(one.clone() + &one), &facts), Some(4711));
        assert_eq!(only_owner(&(one.clone() + &line("FLOCK", 4712)), &facts), None);
        for unseen in [line("FLOCK", 0), line("FLOCK", std::process::id()), String::new()] {
            assert_eq!(only_owner(&unseen, &facts), None);
        }
        assert_eq!(only_owner(&one.replace(&place, "00:00:1"), &facts), None);
    }
}
