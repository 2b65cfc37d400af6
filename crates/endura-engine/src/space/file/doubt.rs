//! Doubt: whether a pool may be torn, because stores of its last session may be missing, in an order of the kernel's
//! choice.
//!
//! A closed pool is in doubt only if it was copied while a session began, which its [end mark](EndMark) shows. A pool
//! that was not closed has the contents that its writer left only under these conditions: the file is the one that the
//! writer had, its file system stayed mounted, the boot is the same, and all that was written back has reached the
//! disk. [`doubt`] asks these questions in order, until one has a verdict.
//!
//! | question | answer | verdict |
//! | --- | --- | --- |
//! | is this the file of the last session ([`FileIdentity`])? | no | a copy |
//! | opened through an overlay both times, or neither time? | no | may still be open by the other path, with its own lock |
//! | does its [mark](Mark) name the superblock's session? | no | contents of a copy, unless the mark was lost with the stores |
//! | | cannot be known, and the file has no birth | could be a copy |
//! | did the session record that pages were not written back, or damage? | yes | pages may be old |
//! | is the memory safe from power loss, then and now? | yes | none, unless the memory has counted a loss since |
//! | the same boot ([`Boot`])? | no | stores in the page cache are lost |
//! | does the file lie in memory, on the file system of then? | yes | none: both would be gone |
//! | | no, and the boot is not known | stores could be lost |
//! | is its file system the one that was mounted then ([`Mounted`])? | no | unmounted, or went down: stores could be lost |
//! | | cannot be known | the same |
//! | | yes | none: only the process ended |

use crate::media::Placement;
use crate::os::boot::Boot;
use crate::os::file_identity::{FileIdentity, Likeness, Volume};
use crate::os::mounted::Mounted;
use crate::os::session_mark::Mark;
use crate::space::file::end_mark::EndMark;
use crate::space::file::superblock::Superblock;

/// The warning when a session begins on a file that could not be told from a copy of it.
pub(crate) const NO_BIRTH: &str = "this file system records neither when a file was made, nor a generation of its inode, nor \
     extended attributes: if the writer is killed, the pool cannot be told from a copy of it, and is refused";
/// The warning when a session begins where a killed writer could not be told from a crash of the machine or the file
/// system.
pub(crate) const NO_PROOF: &str = "nothing here tells whether the machine and the file system stay up (no /proc and /sys of the kernel's own): if the \
     writer is killed, the pool goes back to its last checkpoint, and without one it is refused";

const COPY: &str = "the file is a copy of a pool that was open, or its file system has got another UUID since (`tune2fs -U`, `xfs_admin -U`): \
     give it back the one it had";
const WRITTEN_OVER: &str = "a copy of the pool, made while it was open, was written over the file: its last session is another one; or the file's \
     attribute `user.endura.session` was removed, by a tool or by a move through a file system without attributes";
const OTHER_PATH: &str = "it was open by another path, in an overlay or below it (a container's), and from here nothing tells whether it still is";
const UNPROVEN: &str = "its last writer did not close it, and this file system records nothing by which the file could be told from a \
     copy of it";
const WENT_DOWN: &str = "the machine went down while the pool was open";
const MEMORY_LOST: &str = "the persistent memory reports that it lost data while the pool was open";
const MOUNTED_AGAIN: &str = "its last writer did not close it, and its file system was mounted again since: if that had gone down, stores are missing";
const UNKNOWN_BOOT: &str = "its last writer did not close it, and nothing tells whether the machine went down since: /proc/sys/kernel/random/boot_id \
     could not be read here, or by that writer";
const UNKNOWN_MOUNT: &str = "its last writer did not close it, and nothing tells whether its file system stayed mounted since: there is no /sys here, \
     or was none for that writer";
const SUSPECT: &str = "while it was open the disk refused pages of it, or damage was met in it: what the file holds may be older than what was \
     stored";
const TORN_COPY: &str = "it says that it was closed, and its end is not of that close: it was copied while a session began, or a copy over it broke off";

/// Why a pool may be torn, and what an open may do about it without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Perhaps the file is not the pool from which the checkpoint beside it was made. Only its owner can tell.
    Foreign(&'static str),
    /// Stores are missing. The open goes back to the checkpoint.
    Lost(&'static str),
    /// Stores may be missing. The checkpoint is older, but surely whole. The open goes back to it, and keeps what it
    /// found.
    Unsure(&'static str),
}

impl Doubt {
    /// The doubt about a closed pool whose pages are not those of its close.
    pub(crate) const TORN_COPY: Self = Self::Lost(TORN_COPY);

    /// The reason in words.
    pub(crate) fn reason(self) -> &'static str {
        let (Self::Foreign(reason) | Self::Lost(reason) | Self::Unsure(reason)) = self;
        reason
    }

    /// Whether an open may take the pool back to its checkpoint.
    pub(crate) fn goes_back(self) -> bool {
        !matches!(self, Self::Foreign(_))
    }

    /// Whether what was found may be whole, so that it is kept beside the pool.
    pub(crate) fn may_be_whole(self) -> bool {
        matches!(self, Self::Unsure(_))
    }
}

/// The facts that an open finds about the file and the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Here {
    pub(crate) file: FileIdentity,
    pub(crate) mark: Mark,
    pub(crate) end: Option<EndMark>,
    pub(crate) boot: Boot,
    pub(crate) mounted: Mounted,
    /// Whether the file's inode has stayed in memory since a session of the pool.
    pub(crate) has_stayed: bool,
    /// Whether the file system is in memory.
    pub(crate) is_in_memory: bool,
}

/// Why a pool with this superblock may be torn. `suspected` says that a place other than the superblock records that
/// stores of the last session may not have reached the disk.
pub(crate) fn doubt(
    last: &Superblock,
    here: Here,
    placement: &Placement,
    suspected: bool,
) -> Option<Doubt> {
    let same_boot = last.boot.compare(&here.boot);
    let likeness = last.file.compare(&here.file, same_boot != Some(false));
    if last.clean {
        return doubt_of_closed(last, &here, likeness);
    }
    let is_named = if last.is_marked { here.mark.names(last.session) } else { None };
    let same_mount = last.mounted.compare(&here.mounted, here.has_stayed);
    // The mark is not synced: if the machine or the file system goes down before the mark is written, it is lost. If
    // the contents are those of a copy all the same, the lineage of the checkpoint shows that.
    let took_the_mark = !last.power_safe && (same_boot == Some(false) || same_mount == Some(false));
    match (likeness, is_named) {
        (Likeness::Other, _) => Some(Doubt::Foreign(COPY)),
        _ if last.mounted.is_overlay() != here.mounted.is_overlay() => {
            Some(Doubt::Foreign(OTHER_PATH))
        }
        (Likeness::Same, Some(false)) if took_the_mark => {
            doubt_of_memory(last, &here, placement, (same_boot, same_mount))
        }
        (_, Some(false)) => Some(Doubt::Foreign(WRITTEN_OVER)),
        (Likeness::Unproven, None) => Some(Doubt::Foreign(UNPROVEN)),
        _ if suspected || last.suspects(last) => Some(Doubt::Unsure(SUSPECT)),
        (Likeness::Same, _) | (Likeness::Unproven, Some(true)) => {
            doubt_of_memory(last, &here, placement, (same_boot, same_mount))
        }
    }
}

/// Does what [`doubt`] does, for a pool whose superblock says that it was closed.
fn doubt_of_closed(last: &Superblock, here: &Here, likeness: Likeness) -> Option<Doubt> {
    let is_of_that_close = match here.end {
        _ if !last.has_end_mark => true,
        Some(EndMark { closed, begins }) if closed == last.session => {
            // If a session began in this file, it was killed before its first store. It may have been the first session
            // of a new pool, or of a copy of a closed one. If a session began in another file, of which this one is a
            // copy, it may have continued while that file was copied.
            begins == [0; 16] || begins == here.file.number() || likeness != Likeness::Other
        }
        _ => false,
    };
    (!is_of_that_close).then_some(Doubt::TORN_COPY)
}

/// Does what [`doubt`] does, for a file that is no copy: finds out whether its last stores may be lost.
fn doubt_of_memory(
    last: &Superblock,
    here: &Here,
    placement: &Placement,
    (same_boot, same_mount): (Option<bool>, Option<bool>),
) -> Option<Doubt> {
    if last.power_safe && placement.direct {
        let has_counted =
            same_boot != Some(true) && last.dirty_shutdowns != placement.dirty_shutdowns;
        return has_counted.then_some(Doubt::Foreign(MEMORY_LOST));
    }
    let is_one_memory = here.is_in_memory && last.file.volume != Volume::Unknown;
    match (same_boot, same_mount) {
        (Some(false), _) => Some(Doubt::Lost(WENT_DOWN)),
        _ if is_one_memory => None,
        (None, _) => Some(Doubt::Unsure(UNKNOWN_BOOT)),
        // A file system in memory that was unmounted is gone, and its files with it.
        _ if here.is_in_memory => None,
        (_, Some(true)) => None,
        (_, Some(false)) => Some(Doubt::Unsure(MOUNTED_AGAIN)),
        (_, None) => Some(Doubt::Unsure(UNKNOWN_MOUNT)),
    }
}

/// The warning for a pool on persistent memory that does not count its dirty shutdowns.
pub(crate) fn silence(
    last: &Superblock,
    boot: Boot,
    placement: &Placement,
) -> Option<&'static str> {
    if !placement.is_power_safe() || placement.dirty_shutdowns.is_some() {
        None
    } else if last.clean || last.boot.compare(&boot) == Some(true) {
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
    use crate::os::mounted::Folder;

    const THIS_BOOT: Boot = Boot { id: [1; 16], memory: 1 };
    const NEXT_BOOT: Boot = Boot { id: [2; 16], memory: 2 };
    const FILE: FileIdentity = FileIdentity {
        device: 5,
        inode: 6,
        volume: Volume::Number([7, 0]),
        birth: Some(8),
        generation: None,
    };
    const MOUNTED: Mounted = Mounted { folder: Folder::Own(9), number: 0 };
    const HERE: Here = Here {
        file: FILE,
        mark: Mark::Numbers([[3; 16], [0; 16]]),
        end: None,
        boot: THIS_BOOT,
        mounted: MOUNTED,
        has_stayed: false,
        is_in_memory: false,
    };
    const DISK: Placement = Placement {
        domain: Domain::Adr,
        instruction: FlushInstruction::Clflush,
        direct: false,
        dirty_shutdowns: None,
    };
    const MEMORY: Placement = Placement { direct: true, dirty_shutdowns: Some(2), ..DISK };

    /// The superblock of a session that did not close the pool.
    fn left() -> Superblock {
        Superblock {
            clean: false,
            boot: THIS_BOOT,
            mounted: MOUNTED,
            file: FILE,
            session: [3; 16],
            is_marked: true,
            ..Superblock::of_new_pool([0; 16])
        }
    }

    fn of(last: &Superblock, here: Here, placement: &Placement) -> Option<Doubt> {
        doubt(last, here, placement, false)
    }

    fn is_doubted(last: &Superblock, here: Here, placement: &Placement) -> bool {
        of(last, here, placement).is_some()
    }

    fn told(doubt: Option<Doubt>) -> &'static str {
        doubt.map_or("", Doubt::reason)
    }

    #[test]
    fn a_copy_is_told_from_its_file() {
        let (left, unmarked) = (left(), Superblock { is_marked: false, ..left() });
        let closed = Superblock { clean: true, ..left };
        let file = FileIdentity::default();
        let elsewhere = Here { file, mark: Mark::Absent, boot: NEXT_BOOT, ..HERE };
        assert!(!is_doubted(&closed, elsewhere, &DISK));
        assert!(!is_doubted(&left, HERE, &DISK));
        // The same file system on another device.
        let moved = FileIdentity { device: 50, ..FILE };
        assert!(!is_doubted(&left, Here { file: moved, ..HERE }, &DISK));
        for copy in [
            FileIdentity { inode: 60, ..FILE },
            FileIdentity { birth: Some(80), ..FILE },
            FileIdentity { volume: Volume::Number([70, 0]), ..FILE },
        ] {
            // A copy is recognized even if the attributes were copied along, or cannot be read.
            for mark in [HERE.mark, Mark::Unreadable] {
                assert!(is_doubted(&left, Here { file: copy, mark, ..HERE }, &DISK));
            }
            let told = of(&unmarked, Here { file: copy, ..HERE }, &DISK);
            assert_eq!(told, Some(Doubt::Foreign(COPY)));
        }
        // The same file with the contents of an earlier session.
        for mark in [Mark::Numbers([[4; 16], [0; 16]]), Mark::Absent] {
            assert!(is_doubted(&left, Here { mark, ..HERE }, &DISK));
            assert!(!is_doubted(&unmarked, Here { mark, ..HERE }, &DISK));
        }
        let passing = Mark::Numbers([[4; 16], [3; 16]]);
        assert!(!is_doubted(&left, Here { mark: passing, ..HERE }, &DISK));
        assert!(!is_doubted(&left, Here { mark: Mark::Unreadable, ..HERE }, &DISK));
        // The mark is not synced, so a session whose stores are lost may have lost its mark too.
        let again = Mounted { folder: Folder::Own(10), ..MOUNTED };
        for mark in [Mark::Numbers([[4; 16], [0; 16]]), Mark::Absent] {
            let here = Here { mark, ..HERE };
            let lost = Some(Doubt::Lost(WENT_DOWN));
            assert_eq!(of(&left, Here { boot: NEXT_BOOT, ..here }, &DISK), lost);
            let unsure = Some(Doubt::Unsure(MOUNTED_AGAIN));
            assert_eq!(of(&left, Here { mounted: again, ..here }, &DISK), unsure);
            assert_eq!(of(&left, here, &DISK), Some(Doubt::Foreign(WRITTEN_OVER)));
        }
        // Without a birth only the mark proves that it is the same file.
        let bare = FileIdentity { birth: None, ..FILE };
        assert!(!is_doubted(&left, Here { file: bare, ..HERE }, &DISK));
        let unread = of(&left, Here { file: bare, mark: Mark::Unreadable, ..HERE }, &DISK);
        assert_eq!(unread, Some(Doubt::Foreign(UNPROVEN)));
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
        // The promise of persistent memory does not end with it, unless the memory itself says so.
        let file = FileIdentity { device: 50, ..FILE };
        assert!(!is_doubted(&safe, Here { file, ..next }, &MEMORY));
        let file = FileIdentity { inode: 60, ..FILE };
        assert!(is_doubted(&safe, Here { file, ..next }, &MEMORY));
        let failed = Placement { dirty_shutdowns: Some(3), ..MEMORY };
        assert!(is_doubted(&safe, next, &failed));
        assert!(is_doubted(&safe, next, &Placement { dirty_shutdowns: None, ..MEMORY }));
    }

    /// The file system went down, and the machine did not.
    #[test]
    fn a_file_system_that_was_mounted_again() {
        let left = left();
        let again = Mounted { folder: Folder::Own(10), ..MOUNTED };
        let unknown = Mounted::default();
        for (mounted, reason) in [(again, MOUNTED_AGAIN), (unknown, UNKNOWN_MOUNT)] {
            let here = Here { mounted, ..HERE };
            assert_eq!(of(&left, here, &DISK), Some(Doubt::Unsure(reason)));
            // A file in memory would be gone; what was closed or made durable is not lost.
            let in_memory = Here { is_in_memory: true, ..here };
            assert!(!is_doubted(&left, in_memory, &DISK));
            assert!(!is_doubted(&Superblock { clean: true, ..left }, here, &DISK));
            let safe = Superblock { power_safe: true, dirty_shutdowns: Some(2), ..left };
            assert!(!is_doubted(&safe, here, &MEMORY));
        }
        assert!(!is_doubted(&left, Here { mounted: unknown, has_stayed: true, ..HERE }, &DISK));
    }

    /// A path in an overlay and a path below it have a lock each. A process that uses one does not see a process that
    /// uses the other.
    #[test]
    fn the_other_path_of_an_overlay() {
        let overlay = Mounted { folder: Folder::Youngest(9), number: 0 };
        let inside = Superblock { mounted: overlay, ..left() };
        let told = Some(Doubt::Foreign(OTHER_PATH));
        for is_in_memory in [false, true] {
            let here = Here { is_in_memory, ..HERE };
            assert_eq!(of(&inside, here, &DISK), told);
            assert_eq!(of(&left(), Here { mounted: overlay, ..here }, &DISK), told);
            assert_eq!(of(&inside, Here { mounted: overlay, ..here }, &DISK), None);
        }
    }

    #[test]
    fn pages_that_could_not_be_written() {
        let left = left();
        let failed = Superblock { suspect: left.half(), ..left };
        assert_eq!(of(&failed, HERE, &DISK), Some(Doubt::Unsure(SUSPECT)));
        assert_eq!(doubt(&left, HERE, &DISK, true), Some(Doubt::Unsure(SUSPECT)));
        // The record names one session, and says nothing of the next one.
        let later = Superblock { session: [5; 16], is_marked: false, ..failed };
        assert!(!is_doubted(&later, HERE, &DISK));
    }

    #[test]
    fn a_copy_that_was_made_while_a_session_began() {
        let last = Superblock { clean: true, has_end_mark: true, ..left() };
        let mark = |closed, begins| Some(EndMark { closed: [closed; 16], begins: [begins; 16] });
        let copy = FileIdentity { inode: 60, ..FILE };
        for (end, in_itself, in_a_copy) in [
            (mark(3, 0), false, false),
            // A session that was killed before its first store.
            (mark(3, 4), false, true),
            (mark(4, 0), true, true),
            (None, true, true),
        ] {
            let here = Here { end, ..HERE };
            assert_eq!(is_doubted(&last, here, &DISK), in_itself, "{end:?}");
            assert_eq!(is_doubted(&last, Here { file: copy, ..here }, &DISK), in_a_copy, "{end:?}");
            assert!(!is_doubted(&Superblock { has_end_mark: false, ..last }, here, &DISK));
        }
        // The first session of a new pool, or of a whole copy, was killed.
        let begins = FILE.number();
        for file in [FileIdentity::default(), copy] {
            let last = Superblock { file, ..last };
            let here = Here { end: Some(EndMark { closed: [3; 16], begins }), ..HERE };
            assert!(!is_doubted(&last, here, &DISK));
            assert!(is_doubted(&last, Here { file: copy, ..here }, &DISK) || file == copy);
        }
    }

    /// A pool whose verdict needs no boot number is not doubted without one. The others are doubted, with the reason.
    #[test]
    fn a_boot_that_is_not_known() {
        let left = left();
        let nameless = Superblock { boot: Boot::default(), ..left };
        let blind = Here { boot: Boot::default(), ..HERE };
        for (last, here) in [(&left, blind), (&nameless, HERE), (&nameless, blind)] {
            assert_eq!(of(last, here, &DISK), Some(Doubt::Unsure(UNKNOWN_BOOT)));
            assert!(!is_doubted(last, Here { is_in_memory: true, ..here }, &DISK));
            assert!(!is_doubted(&Superblock { clean: true, ..*last }, here, &DISK));
            let safe = Superblock { power_safe: true, dirty_shutdowns: Some(2), ..*last };
            assert!(!is_doubted(&safe, here, &MEMORY));
            let failed = Placement { dirty_shutdowns: Some(3), ..MEMORY };
            assert!(is_doubted(&safe, here, &failed));
            let copy = FileIdentity { inode: 60, ..FILE };
            let told = told(of(last, Here { file: copy, ..here }, &DISK));
            assert!(told.contains("copy"), "{told:?}");
        }
    }

    /// If the memory cannot report a loss, the user is warned.
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
        assert_eq!(warned(&safe, Boot::default(), &unknown), "the machine");
        assert_eq!(warned(&safe, THIS_BOOT, &unknown), "this persis");
        let closed = Superblock { clean: true, ..safe };
        assert_eq!(warned(&closed, NEXT_BOOT, &unknown), "this persis");
        assert_eq!(warned(&safe, NEXT_BOOT, &MEMORY), "");
        let cached = Placement { domain: Domain::PageCache, ..unknown };
        assert_eq!([&DISK, &cached].map(|placement| warned(&safe, NEXT_BOOT, placement)), ["", ""]);
    }
}
