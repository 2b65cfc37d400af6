//! Where a run was.

use serde::{Deserialize, Serialize};

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Hardware threads that this process may use.
    pub threads: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The kernel's name and release.
    pub kernel: String,
}

impl Machine {
    /// What Linux says of this one; what it does not say stays empty.
    pub fn this() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_string())
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let kib: u64 = memory.trim_end_matches(" kB").parse().unwrap_or(0);
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: kib * 1024,
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        }
    }
}
