//! What figures depend on besides the stores.

use std::path::Path;

use endura_engine::cpu::vectors::Vectors;

use crate::results::Machine;

/// The machine, the file system and the compiler of a run.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The machine.
    pub machine: Machine,
    /// The vector instructions that searches use.
    pub vectors: &'static str,
    /// The kernel's settings for huge pages: of memory, and of files in memory.
    pub huge_pages: [String; 2],
    /// The file system of the stores.
    pub filesystem: String,
    /// The compiler, and the profile of the program.
    pub compiler: String,
}

impl Surroundings {
    /// Those of a run whose files are in `dir`.
    pub fn of(dir: &Path, compiler: String) -> Self {
        let setting = |name: &str| {
            let path = format!("/sys/kernel/mm/transparent_hugepage/{name}");
            let text = std::fs::read_to_string(path).unwrap_or_default();
            // The setting is the word in brackets.
            let chosen = text.split_once('[').and_then(|(_, text)| text.split_once(']'));
            chosen.map_or_else(|| "not known".to_string(), |(chosen, _)| chosen.to_string())
        };
        Self {
            machine: Machine::this(),
            vectors: Vectors::chosen().name(),
            huge_pages: [setting("enabled"), setting("shmem_enabled")],
            filesystem: format!("{} ({})", filesystem(dir), dir.display()),
            compiler,
        }
    }
}

/// The type of the file system with the longest mount point above `dir`.
fn filesystem(dir: &Path) -> String {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.into());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let above = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind) = (fields.next()?, fields.next()?);
        dir.starts_with(point).then_some((point.len(), kind))
    });
    // Of two mounts at one point the later one is seen.
    above
        .max_by_key(|&(length, _)| length)
        .map_or_else(|| "not known".into(), |(_, kind)| kind.into())
}
