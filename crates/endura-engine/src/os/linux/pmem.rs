//! Facts about persistent memory, read from sysfs.

use std::fs;
use std::path::{Path, PathBuf};

/// A region of persistent memory as sysfs shows it.
pub(crate) struct Region {
    /// The region's own folder.
    folder: PathBuf,
    /// The folder in which sysfs lists the memory modules.
    modules: PathBuf,
}

impl Region {
    /// The region on which the block device lies; `None` if it does not lie on exactly one.
    pub(crate) fn below(sysfs: &Path, device: u64) -> Option<Self> {
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let block = fs::canonicalize(sysfs.join(format!("dev/block/{major}:{minor}"))).ok()?;
        let is_region = |folder: &&Path| folder.join("persistence_domain").exists();
        let folder = block.ancestors().find(is_region)?.to_path_buf();
        Some(Self { folder, modules: sysfs.join("bus/nd/devices") })
    }

    /// Whether the caches are written back at power loss (eADR).
    pub(crate) fn keeps_caches(&self) -> bool {
        fs::read_to_string(self.folder.join("persistence_domain"))
            .is_ok_and(|domain| domain.trim() == "cpu_cache")
    }

    /// How many times a module of the region failed to save its contents at a power loss. `None` if sysfs does not say.
    pub(crate) fn dirty_shutdowns(&self) -> Option<u64> {
        let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let mut total = 0;
        for i in 0..number(self.folder.join("mappings"))? {
            let mapping = fs::read_to_string(self.folder.join(format!("mapping{i}"))).ok()?;
            let module = mapping.split(',').next()?.trim();
            total += number(self.modules.join(module).join("nfit/dirty_shutdown"))?;
        }
        Some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sysfs with one interleaved region of two modules, a partition on it, and a plain disk.
    fn sysfs(persistence_domain: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let region = root.path().join("devices/ndbus0/region7");
        let partition = region.join("namespace7.0/block/pmem7/pmem7p1");
        let disk = root.path().join("devices/pci0/block/vda");
        for folder in [&partition, &disk, &root.path().join("dev/block")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(region.join("persistence_domain"), persistence_domain).unwrap();
        fs::write(region.join("mappings"), "2\n").unwrap();
        for (i, shutdowns) in [3, 4].into_iter().enumerate() {
            fs::write(region.join(format!("mapping{i}")), format!("nmem{i},0,4096,0\n")).unwrap();
            let module = root.path().join(format!("bus/nd/devices/nmem{i}/nfit"));
            fs::create_dir_all(&module).unwrap();
            fs::write(module.join("dirty_shutdown"), format!("{shutdowns}\n")).unwrap();
        }
        let link = |to: &Path, name: &str| {
            std::os::unix::fs::symlink(to, root.path().join("dev/block").join(name)).unwrap();
        };
        link(&partition, "259:1");
        link(&disk, "254:0");
        root
    }

    #[test]
    fn sysfs_tells_the_domain_and_the_dirty_shutdowns() {
        for (attribute, keeps_caches) in [("cpu_cache\n", true), ("memory_controller\n", false)] {
            let root = sysfs(attribute);
            let region = Region::below(root.path(), rustix::fs::makedev(259, 1)).unwrap();
            assert_eq!(region.keeps_caches(), keeps_caches);
            assert_eq!(region.dirty_shutdowns(), Some(7));
            assert!(Region::below(root.path(), rustix::fs::makedev(254, 0)).is_none());
            assert!(Region::below(root.path(), rustix::fs::makedev(1, 1)).is_none());
        }
    }
}
