//! Which memory of a store is in huge pages. A store that gets them has fewer TLB misses than one that does not.

use std::path::Path;

use crate::contender::Contender;
use crate::figures::Pacing;
use crate::store::{Shape, StoreOptions, temporary};
use crate::workload::{Plan, Population, Workload};
use crate::{Error, Result};

/// The memory of a process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backing {
    /// Of mapped files of a store.
    pub mapped: u64,
    /// Of it, in huge pages.
    pub mapped_huge: u64,
    /// Of no file: heap, stacks, caches.
    pub anonymous: u64,
    /// Of it, in huge pages.
    pub anonymous_huge: u64,
}

/// Loads `keys` integers into a store in `dir`; returns the memory that it then has.
pub fn backing(contender: Contender, shape: Shape, keys: u64, dir: &Path) -> Result<Backing> {
    let folder = temporary(dir)?;
    let before = Backing::of(folder.path())?;
    let store = contender.open(&StoreOptions::new(folder.path().join("store"), shape, keys))?;
    let plan = Plan { operations: keys, pace: Pacing::FREE, seed: 1 };
    store.run(&Population::new(1), &Workload::load(), plan)?;
    let after = Backing::of(folder.path())?;
    Ok(Backing {
        anonymous: after.anonymous.saturating_sub(before.anonymous),
        anonymous_huge: after.anonymous_huge.saturating_sub(before.anonymous_huge),
        ..after
    })
}

impl Backing {
    /// Of this process; files count that are below `dir`.
    fn of(dir: &Path) -> Result<Self> {
        let path = "/proc/self/smaps";
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Io { doing: format!("cannot read {path}"), source })?;
        Ok(Self::parse(&text, &dir.to_string_lossy()))
    }

    fn parse(smaps: &str, dir: &str) -> Self {
        let (mut sum, mut is_file) = (Self::default(), false);
        for line in smaps.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.contains(' ') {
                // The first line of a mapping: addresses, rights, offset, device, file.
                is_file = line.contains(dir);
                continue;
            }
            let kib = value.trim().strip_suffix(" kB").and_then(|kib| kib.trim().parse().ok());
            let bytes = 1024 * kib.unwrap_or(0_u64);
            match (name, is_file) {
                ("Rss", true) => sum.mapped += bytes,
                ("ShmemPmdMapped" | "FilePmdMapped", true) => sum.mapped_huge += bytes,
                ("Anonymous", false) => sum.anonymous += bytes,
                ("AnonHugePages", false) => sum.anonymous_huge += bytes,
                _ => {}
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f00-7f10 rw-s 00000000 00:19 7   /dev/shm/bench/store/pool
Rss:                 600 kB
Anonymous:             0 kB
AnonHugePages:         0 kB
ShmemPmdMapped:      512 kB
FilePmdMapped:         0 kB
VmFlags: rd wr sh mr mw me ms hg
7f20-7f30 rw-p 00000000 00:00 0   [heap]
Rss:                  90 kB
Anonymous:            80 kB
AnonHugePages:        64 kB
ShmemPmdMapped:        0 kB
";

    #[test]
    fn files_of_a_folder_count_apart_from_memory_of_no_file() {
        let kib = |kib: u64| 1024 * kib;
        let expected = Backing {
            mapped: kib(600),
            mapped_huge: kib(512),
            anonymous: kib(80),
            anonymous_huge: kib(64),
        };
        assert_eq!(Backing::parse(SMAPS, "/dev/shm/bench"), expected);
        assert_eq!(Backing::parse(SMAPS, "/elsewhere").mapped, 0);
    }

    #[test]
    fn a_store_maps_its_file() -> Result<()> {
        let dir = std::env::temp_dir();
        let backing = backing(Contender::FastFair, Shape::WORDS, 1000, &dir)?;
        assert!(backing.mapped > 0 && backing.mapped_huge <= backing.mapped, "{backing:?}");
        Ok(())
    }
}
