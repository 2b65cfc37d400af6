//! Doubt: whether a pool may be torn, because stores of its last session may be missing, in an order of the kernel's
//! choice.
//!
//! A closed pool is not in doubt, whatever else has changed. The contents of a pool that was not closed are those that its
//! writer left only if it is the same file, in the same boot. [`doubt`] asks these questions in order, until one has a
//! verdict.
//!
//! | asked | answer | verdict |
//! | --- | --- | --- |
//! | is this the file of the last session ([`FileIdentity`])? | no | a copy |
//! | does the file's [mark](Mark) name the session of the superblock? | no | the contents of a copy, unless the mark was lost with the stores |
//! | | cannot be known, and the file has no birth | could be a copy |
//! | the same boot? | yes | none: the process alone ended |
//! | is the memory safe from power loss, then and now? | no | stores in the page cache are lost |
//! | | no, and a boot is not known | they could be |
//! | has the memory counted a loss since? | yes | it lost data |

use crate::media::Placement;
use crate::os::file_identity::{FileIdentity, Likeness};
use crate::os::session_mark::Mark;
use crate::pool::file::superblock::Superblock;

/// Told when a session begins on such a file.
pub(crate) const NO_BIRTH: &str = "this file system records neither when a file was made, nor a generation of its inode, nor \
     extended attributes: if the writer is killed, the pool cannot be told from a copy of it, and is refused";

/// The one doubt that a checkpoint settles by itself: the pool is the one that the checkpoint was made of.
pub(crate) const WENT_DOWN: &str = "the machine went down while the pool was open";

/// The facts that an open finds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Here {
    pub(crate) file: FileIdentity,
    pub(crate) mark: Mark,
    pub(crate) boot: Option<[u8; 16]>,
}

/// Why a pool with this superblock may be torn.
pub(crate) fn doubt(last: &Superblock, here: Here, placement: &Placement) -> Option<&'static str> {
    if last.clean {
        return None;
    }
    let same_boot = is_same_boot(last, here.boot);
    let is_named = if last.is_marked { here.mark.names(last.session) } else { None };
    match (last.file.compare(&here.file, same_boot != Some(false)), is_named) {
        (Likeness::Other, _) => Some("the file is a copy of a pool that was open"),
        // The mark was not synced: the machine went down before the file system wrote it. If the contents are those of a
        // copy all the same, the lineage of the checkpoint tells.
        (Likeness::Same, Some(false)) if same_boot == Some(false) && !last.power_safe => {
            Some(WENT_DOWN)
        }
        (_, Some(false)) => Some(
            "a copy of the pool, made while it was open, was written over the file: its last session is another one",
        ),
        (Likeness::Unproven, None) => Some(
            "its last writer did not close it, and this file system records nothing by which the file could be told \
             from a copy of it",
        ),
        (Likeness::Same, _) | (Likeness::Unproven, Some(true)) => {
            doubt_of_memory(last, same_boot, placement)
        }
    }
}

/// The same of a file that is no copy.
fn doubt_of_memory(
    last: &Superblock,
    same_boot: Option<bool>,
    placement: &Placement,
) -> Option<&'static str> {
    let is_safe = last.power_safe && placement.direct;
    match same_boot {
        Some(true) => None,
        None if !is_safe => Some(
            "its last writer did not close it, and /proc/sys/kernel/random/boot_id, which tells whether the machine \
             went down since, cannot be read here or could not be read by that writer; where it can, open the pool \
             there",
        ),
        Some(false) if !is_safe => Some(WENT_DOWN),
        _ if last.dirty_shutdowns != placement.dirty_shutdowns => {
            Some("the persistent memory reports that it lost data while the pool was open")
        }
        _ => None,
    }
}

/// Whether the machine is up since the last session; none if that is not known.
fn is_same_boot(last: &Superblock, boot: Option<[u8; 16]>) -> Option<bool> {
    (last.boot != [0; 16]).then_some(last.boot == boot?)
}

/// A warning for a pool on persistent memory that does not count its dirty shutdowns.
pub(crate) fn silence(
    last: &Superblock,
    boot: Option<[u8; 16]>,
    placement: &Placement,
) -> Option<&'static str> {
    if !placement.is_power_safe() || placement.dirty_shutdowns.is_some() {
        None
    } else if last.clean || is_same_boot(last, boot) == Some(true) {
        Some(
            "this persistent memory does not count dirty shutdowns: if it fails to save its contents at a \
             power loss, nothing will say so",
        )
    } else {
        Some(
            "the machine went down, or may have gone down, while the pool was open, and this persistent memory does \
             not count dirty shutdowns: whether it lost what had been acknowledged is not known; `endura check` finds \
             what contradicts itself",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::{Domain, FlushInstruction};
    use crate::os::file_identity::Volume;

    const THIS_BOOT: Option<[u8; 16]> = Some([1; 16]);
    const NEXT_BOOT: Option<[u8; 16]> = Some([2; 16]);
    const FILE: FileIdentity = FileIdentity {
        device: 5,
        inode: 6,
        volume: Volume::Number([7, 0]),
        birth: Some(8),
        generation: None,
    };
    const HERE: Here =
        Here { file: FILE, mark: Mark::Numbers([[3; 16], [0; 16]]), boot: THIS_BOOT };
    const DISK: Placement = Placement {
        domain: Domain::Adr,
        instruction: FlushInstruction::Clflush,
        direct: false,
        dirty_shutdowns: None,
    };
    const MEMORY: Placement = Placement { direct: true, dirty_shutdowns: Some(2), ..DISK };

    /// Not closed.
    fn left() -> Superblock {
        Superblock {
            clean: false,
            boot: [1; 16],
            file: FILE,
            session: [3; 16],
            is_marked: true,
            ..Superblock::of_new_pool([0; 16])
        }
    }

    fn is_doubted(last: &Superblock, here: Here, placement: &Placement) -> bool {
        doubt(last, here, placement).is_some()
    }

    #[test]
    fn a_copy_is_told_from_its_file() {
        let (left, unmarked) = (left(), Superblock { is_marked: false, ..left() });
        let closed = Superblock { clean: true, ..left };
        let elsewhere = Here { file: FileIdentity::default(), mark: Mark::Absent, boot: NEXT_BOOT };
        assert!(!is_doubted(&closed, elsewhere, &DISK));
        assert!(!is_doubted(&left, HERE, &DISK));
        // The image is behind another device: a remount.
        let remounted = FileIdentity { device: 50, ..FILE };
        assert!(!is_doubted(&left, Here { file: remounted, ..HERE }, &DISK));
        for copy in [
            FileIdentity { inode: 60, ..FILE },
            FileIdentity { birth: Some(80), ..FILE },
            FileIdentity { volume: Volume::Number([70, 0]), ..FILE },
        ] {
            // Also if the attributes were copied along, or cannot be read.
            for mark in [HERE.mark, Mark::Unreadable] {
                assert!(is_doubted(&left, Here { file: copy, mark, ..HERE }, &DISK));
            }
            assert!(is_doubted(&unmarked, Here { file: copy, ..HERE }, &DISK));
        }
        // The same file, with the contents of an earlier session.
        for mark in [Mark::Numbers([[4; 16], [0; 16]]), Mark::Absent] {
            assert!(is_doubted(&left, Here { mark, ..HERE }, &DISK));
            assert!(!is_doubted(&unmarked, Here { mark, ..HERE }, &DISK));
        }
        let passing = Mark::Numbers([[4; 16], [3; 16]]);
        assert!(!is_doubted(&left, Here { mark: passing, ..HERE }, &DISK));
        assert!(!is_doubted(&left, Here { mark: Mark::Unreadable, ..HERE }, &DISK));
        // It is not synced before a session whose stores a power loss may take.
        for mark in [Mark::Numbers([[4; 16], [0; 16]]), Mark::Absent] {
            let after_a_loss = Here { mark, boot: NEXT_BOOT, ..HERE };
            assert_eq!(doubt(&left, after_a_loss, &DISK), Some(WENT_DOWN));
            assert_ne!(doubt(&left, Here { mark, ..HERE }, &DISK), Some(WENT_DOWN));
        }
        // Without a birth the mark is what proves the file.
        let bare = FileIdentity { birth: None, ..FILE };
        assert!(!is_doubted(&left, Here { file: bare, ..HERE }, &DISK));
        let told = doubt(&left, Here { file: bare, mark: Mark::Unreadable, ..HERE }, &DISK);
        assert!(told.is_some_and(|told| told.contains("records nothing")), "{told:?}");
        assert!(is_doubted(&unmarked, Here { file: bare, ..HERE }, &DISK));
    }

    #[test]
    fn a_machine_that_went_down() {
        let left = left();
        let safe = Superblock { power_safe: true, dirty_shutdowns: Some(2), ..left };
        let next = Here { boot: NEXT_BOOT, ..HERE };
        // The promise of the page cache ends with the boot, whatever instructions were used.
        assert!(is_doubted(&left, next, &DISK));
        assert!(is_doubted(&left, next, &MEMORY));
        assert!(is_doubted(&safe, next, &DISK));
        // That of persistent memory does not, unless the memory itself says so.
        let file = FileIdentity { device: 50, ..FILE };
        assert!(!is_doubted(&safe, Here { file, ..next }, &MEMORY));
        let file = FileIdentity { inode: 60, ..FILE };
        assert!(is_doubted(&safe, Here { file, ..next }, &MEMORY));
        let failed = Placement { dirty_shutdowns: Some(3), ..MEMORY };
        assert!(is_doubted(&safe, next, &failed));
        assert!(is_doubted(&safe, next, &Placement { dirty_shutdowns: None, ..MEMORY }));
    }

    /// What needs no boot number is not refused without one; the rest is, with the reason.
    #[test]
    fn a_boot_that_is_not_known() {
        let left = left();
        let nameless = Superblock { boot: [0; 16], ..left };
        let blind = Here { boot: None, ..HERE };
        for (last, here) in [(&left, blind), (&nameless, HERE), (&nameless, blind)] {
            let told = doubt(last, here, &DISK);
            assert!(told.is_some_and(|told| told.contains("boot_id")), "{told:?}");
            assert!(!is_doubted(&Superblock { clean: true, ..*last }, here, &DISK));
            let safe = Superblock { power_safe: true, dirty_shutdowns: Some(2), ..*last };
            assert!(!is_doubted(&safe, here, &MEMORY));
            let failed = Placement { dirty_shutdowns: Some(3), ..MEMORY };
            assert!(is_doubted(&safe, here, &failed));
            let copy = FileIdentity { inode: 60, ..FILE };
            let told = doubt(last, Here { file: copy, ..here }, &DISK);
            assert!(told.is_some_and(|told| told.contains("copy")), "{told:?}");
        }
    }

    /// Where the memory cannot say that it lost anything, the user hears of that.
    #[test]
    fn memory_that_does_not_count() {
        let safe = Superblock { power_safe: true, ..left() };
        let unknown = Placement { dirty_shutdowns: None, ..MEMORY };
        let next = Here { boot: NEXT_BOOT, ..HERE };
        assert!(!is_doubted(&safe, next, &unknown));
        let warned = |last: &Superblock, boot, placement: &Placement| {
            silence(last, boot, placement).map_or("", |what| &what[..11])
        };
        assert_eq!(warned(&safe, NEXT_BOOT, &unknown), "the machine");
        assert_eq!(warned(&safe, None, &unknown), "the machine");
        assert_eq!(warned(&safe, THIS_BOOT, &unknown), "this persis");
        let closed = Superblock { clean: true, ..safe };
        assert_eq!(warned(&closed, NEXT_BOOT, &unknown), "this persis");
        assert_eq!(warned(&safe, NEXT_BOOT, &MEMORY), "");
        let cached = Placement { domain: Domain::PageCache, ..unknown };
        assert_eq!([&DISK, &cached].map(|placement| warned(&safe, NEXT_BOOT, placement)), ["", ""]);
    }
}
