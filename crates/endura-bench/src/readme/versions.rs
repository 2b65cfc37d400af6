//! The versions of the stores that take part.

use crate::contender::Contender;

/// What this program was resolved to.
const LOCK: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"));

/// The name of a store with its version, as a table has it.
pub fn version(contender: Contender) -> String {
    match contender {
        Contender::FastFair => "endura, `FastFair`".into(),
        Contender::NbTree => "endura, `NbTree`".into(),
        Contender::Roart => "endura, `Roart`".into(),
        Contender::Lmdb => {
            let heed::LmdbVersion { major, minor, patch, .. } = heed::lmdb_version();
            format!("LMDB {major}.{minor}.{patch} (heed {})", locked("heed"))
        }
        Contender::RocksDb => format!("RocksDB {}", loaded("librocksdb.so.")),
        Contender::Redb | Contender::Fjall | Contender::Congee => {
            format!("{} {}", contender.name(), locked(contender.name()))
        }
        Contender::BTreeMap | Contender::Pointers => contender.name().into(),
    }
}

/// The version of a crate.
fn locked(name: &str) -> &'static str {
    let line = format!("name = \"{name}\"");
    let mut lines = LOCK.lines().skip_while(|&other| other != line).skip(1);
    let version = lines.next().and_then(|line| line.strip_prefix("version = \""));
    version.map_or("of an unknown version", |version| version.trim_end_matches('"'))
}

/// The version of a shared library that this process has loaded, by the name of its file.
fn loaded(prefix: &str) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let version = |line: &str| line.split_once(prefix).map(|(_, version)| version.to_string());
    maps.lines().find_map(version).unwrap_or_else(|| "of an unknown version".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_of_this_build_has_a_version() {
        for contender in Contender::ALL.into_iter().filter(|c| c.is_built()) {
            assert!(!version(contender).contains("unknown"), "{}", version(contender));
        }
        assert!(locked("redb").starts_with("4."), "{}", locked("redb"));
        assert!(locked("no such crate").contains("unknown"));
    }
}
