//! The file system of a pool, and whether it provides what a pool needs: shared mappings with the same contents in all
//! processes, blocks that stay where they were allocated, and locks that exclude other processes.

use std::os::fd::AsFd;

use crate::{Error, Result};

/// The verdict on a kind of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It does what a pool needs.
    Fit,
    /// It works, but has a drawback that the user should know of.
    Warn(&'static str),
    /// It would lose data or hang. The text says what to do instead.
    Refuse(&'static str),
}

/// A kind of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filesystem {
    name: &'static str,
    verdict: Verdict,
}

const NETWORK: &str = "network file systems do not keep a shared mapping the same on all machines; \
                       put the pool on a local file system (ext4, xfs), or insist with \
                       `allow_any_filesystem(true)`";
const USER_SPACE: &str = "FUSE and virtiofs do not promise that a full disk shows before a store \
                          does; put the pool on a local file system (ext4, xfs), or insist with \
                          `allow_any_filesystem(true)`";
const HUGETLB: &str = "hugetlbfs has no write and no sync; put the pool on ext4, xfs or tmpfs";
const COPY_ON_WRITE: &str = "a copy-on-write file system may run out of space in a block that is \
                             already allocated, which kills the process; keep free space, or use \
                             ext4 or xfs (on btrfs, `chattr +C` on the folder helps)";
const OVERLAY: &str = "overlayfs copies a file of a lower layer when it is first opened for writing, and \
                       who reads it then keeps the old one; put the pool on a volume of its own";

/// Magic numbers as in `statfs(2)` and the kernel's sources.
const KNOWN: [(u64, &str, Verdict); 26] = [
    (0xEF53, "ext4", Verdict::Fit),
    (0x5846_5342, "xfs", Verdict::Fit),
    (0x0102_1994, "tmpfs", Verdict::Fit),
    (0x8584_58F6, "ramfs", Verdict::Fit),
    (0xF2F5_2010, "f2fs", Verdict::Fit),
    (0x9123_683E, "btrfs", Verdict::Warn(COPY_ON_WRITE)),
    (0x2FC1_2FC1, "zfs", Verdict::Warn(COPY_ON_WRITE)),
    (0xCA45_1A4E, "bcachefs", Verdict::Warn(COPY_ON_WRITE)),
    (0x794C_7630, "overlayfs", Verdict::Warn(OVERLAY)),
    (0x6969, "nfs", Verdict::Refuse(NETWORK)),
    (0x517B, "smb", Verdict::Refuse(NETWORK)),
    (0xFF53_4D42, "cifs", Verdict::Refuse(NETWORK)),
    (0xFE53_4D42, "smb2", Verdict::Refuse(NETWORK)),
    (0x0102_1997, "9p", Verdict::Refuse(NETWORK)),
    (0x00C3_6400, "ceph", Verdict::Refuse(NETWORK)),
    (0x5346_414F, "afs", Verdict::Refuse(NETWORK)),
    (0x6B41_4653, "afs", Verdict::Refuse(NETWORK)),
    (0x7375_7245, "coda", Verdict::Refuse(NETWORK)),
    (0x0116_1970, "gfs2", Verdict::Refuse(NETWORK)),
    (0x7461_636F, "ocfs2", Verdict::Refuse(NETWORK)),
    (0x0BD0_0BD0, "lustre", Verdict::Refuse(NETWORK)),
    (0x4750_4653, "gpfs", Verdict::Refuse(NETWORK)),
    (0x1983_0326, "beegfs", Verdict::Refuse(NETWORK)),
    (0x786F_4256, "vboxsf", Verdict::Refuse(NETWORK)),
    (0x6573_5546, "fuse", Verdict::Refuse(USER_SPACE)),
    (0x9584_58F6, "hugetlbfs", Verdict::Refuse(HUGETLB)),
];

impl Filesystem {
    /// The kind to which `statfs` gives this number.
    pub(crate) fn from_magic(magic: u64) -> Self {
        let known = KNOWN.iter().find(|(number, ..)| *number == magic);
        known.map_or(
            Self {
                name: "unknown",
                verdict: Verdict::Warn("endura has not been tried on this file system"),
            },
            |&(_, name, verdict)| Self { name, verdict },
        )
    }

    /// The kind of file system on which an open file or folder lies.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if pools do not work there, unless `any` is set; [`Error::Io`].
    pub(crate) fn of(file: impl AsFd, any: bool) -> Result<Self> {
        let facts = rustix::fs::fstatfs(file)
            .map_err(|errno| Error::io("asking for the kind of the file system", errno))?;
        // The kernel's numbers have 32 bits, which some platforms extend by sign.
        Self::from_magic(u64::from(facts.f_type as u32)).admitted(any)
    }

    fn admitted(self, any: bool) -> Result<Self> {
        match self.verdict {
            Verdict::Refuse(what) if !any => Err(Error::Unsupported { what }),
            _ => Ok(self),
        }
    }

    /// The name of the kind, such as `ext4`.
    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    /// The warning for the user, if there is one.
    pub(crate) fn warning(self) -> Option<&'static str> {
        match self.verdict {
            Verdict::Fit => None,
            Verdict::Warn(what) | Verdict::Refuse(what) => Some(what),
        }
    }

    /// Whether pools are refused on it, unless the user insists.
    pub(crate) fn is_refused(self) -> bool {
        matches!(self.verdict, Verdict::Refuse(_))
    }

    /// Whether its files are in memory, so that nothing is written back.
    pub(crate) fn is_in_memory(self) -> bool {
        matches!(self.name, "tmpfs" | "ramfs")
    }

    /// Whether the number of a file's blocks shows whether the file has holes, because it counts the contents and
    /// nothing else. Copy-on-write file systems are included: there a store may need a new block in any case, about
    /// which [`warning`](Self::warning) warns.
    pub(crate) fn blocks_tell_holes(self) -> bool {
        self.is_in_memory() || self.always_copies()
    }

    fn always_copies(self) -> bool {
        matches!(self.verdict, Verdict::Warn(COPY_ON_WRITE))
    }

    /// Whether a file on it may share blocks with a copy until one of the two is written. overlayfs is included because
    /// files of the file system below it may share blocks.
    pub(crate) fn shares_blocks(self) -> bool {
        matches!(self.name, "xfs" | "ocfs2" | "overlayfs" | "unknown")
    }

    /// Whether its files are those of another file system, by whose paths they can also be opened.
    pub(crate) fn is_overlay(self) -> bool {
        self.name == "overlayfs"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_verdicts() {
        // Uses the constants of the C library, so that the numbers in the table are checked against another source.
        let fit = [libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC, libc::TMPFS_MAGIC];
        for magic in fit {
            let found = Filesystem::from_magic(magic as u64);
            assert_eq!(found.verdict, Verdict::Fit, "{}", found.name);
            assert_eq!(found.warning(), None);
        }
        for magic in [libc::BTRFS_SUPER_MAGIC, libc::OVERLAYFS_SUPER_MAGIC] {
            let found = Filesystem::from_magic(magic as u64);
            assert!(found.admitted(false).is_ok() && found.warning().is_some(), "{}", found.name);
        }
        let refused = [
            libc::NFS_SUPER_MAGIC,
            libc::SMB_SUPER_MAGIC,
            libc::FUSE_SUPER_MAGIC,
            libc::AFS_SUPER_MAGIC,
            libc::CODA_SUPER_MAGIC,
            libc::HUGETLBFS_MAGIC,
        ];
        for magic in refused {
            let found = Filesystem::from_magic(magic as u64);
            let outcome = found.admitted(false);
            assert!(matches!(outcome, Err(Error::Unsupported { .. })), "{}", found.name);
            assert!(found.admitted(true).unwrap().warning().is_some(), "{}", found.name);
        }
        for name in ["9p", "ceph", "cifs", "smb2"] {
            let known = KNOWN.iter().find(|(_, known, _)| *known == name).unwrap();
            assert!(matches!(known.2, Verdict::Refuse(_)), "{name}");
        }
        assert_eq!(Filesystem::from_magic(1).name(), "unknown");
        assert!(Filesystem::from_magic(1).admitted(false).is_ok());
    }

    #[test]
    fn numbers_stand_once() {
        let mut numbers: Vec<_> = KNOWN.iter().map(|(number, ..)| number).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), KNOWN.len());
    }

    #[test]
    fn a_real_one_that_is_none_of_ours() {
        let proc = std::fs::File::open("/proc").unwrap();
        assert_eq!(Filesystem::of(&proc, false).unwrap().name(), "unknown");
    }
}
