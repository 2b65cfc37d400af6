//! The number of a pool's session, in an extended attribute of its file.
//!
//! The mark detects that other contents were copied over the file. Such a copy usually leaves the attributes as they
//! are, so the superblock then names another session than the mark. Not every file system has attributes, or space for
//! this one. Then there is no mark, and the superblock records that.
//!
//! The mark is two numbers of 16 bytes. The first is the number of the session. The second is zeros, except while a
//! session replaces one that was not closed: then it is the number of the earlier session, which the superblock may
//! still hold.

use std::fs::File;

use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

const NAME: &str = "user.endura.session";
const BYTES: usize = 32;

/// The mark of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The numbers of the mark. A number of zeros means no session.
    Numbers([[u8; 16]; 2]),
    /// The file has no mark, or the attribute is not a valid one.
    Absent,
    /// Attributes cannot be read here.
    Unreadable,
}

impl Mark {
    /// The mark of a file. One system call.
    pub(crate) fn of(file: &File) -> Self {
        let mut bytes = [0; BYTES];
        match fgetxattr(file, NAME, &mut bytes) {
            Ok(BYTES) => {
                let half = |at| std::array::from_fn(|i| bytes[at + i]);
                Self::Numbers([half(0), half(16)])
            }
            Ok(_) | Err(Errno::NODATA | Errno::RANGE) => Self::Absent,
            Err(_) => Self::Unreadable,
        }
    }

    /// Whether the mark names the session. `None` if that cannot be known.
    pub(crate) fn names(&self, session: [u8; 16]) -> Option<bool> {
        match self {
            Self::Numbers(numbers) => Some(session != [0; 16] && numbers.contains(&session)),
            Self::Absent => Some(false),
            Self::Unreadable => None,
        }
    }
}

/// Marks the file, and returns whether that succeeded. It fails, which is no error, where the file system has no
/// attributes or no space for one, or where this process may not change them.
pub(crate) fn set(file: &File, session: [u8; 16], earlier: Option<[u8; 16]>) -> bool {
    let mut bytes = [0; BYTES];
    bytes[..16].copy_from_slice(&session);
    bytes[16..].copy_from_slice(&earlier.unwrap_or_default());
    fsetxattr(file, NAME, &bytes, XattrFlags::empty()).is_ok()
}

/// Marks a file that has no mark, and returns whether that succeeded; `None` if the file has a mark. If several
/// processes call this at once, one of them makes the mark, whatever paths they opened the file by.
pub(crate) fn create(file: &File, session: [u8; 16]) -> Option<bool> {
    let mut bytes = [0; BYTES];
    bytes[..16].copy_from_slice(&session);
    match fsetxattr(file, NAME, &bytes, XattrFlags::CREATE) {
        Err(Errno::EXIST) => None,
        made => Some(made.is_ok()),
    }
}

/// Restores a mark that was read earlier.
pub(crate) fn put_back(file: &File, mark: Mark) {
    match mark {
        Mark::Numbers([session, earlier]) => _ = set(file, session, Some(earlier)),
        Mark::Absent => clear(file),
        Mark::Unreadable => {}
    }
}

/// Removes the mark. If that fails, the file keeps the old mark, which names no later session.
pub(crate) fn clear(file: &File) {
    let _ = fremovexattr(file, NAME);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_its_sessions() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        if !set(&file, [1; 16], None) {
            println!("this file system has no extended attributes");
            return;
        }
        let names = |number| Mark::of(&file).names([number; 16]);
        assert_eq!([names(1), names(2), names(0)], [Some(true), Some(false), Some(false)]);
        assert!(set(&file, [2; 16], Some([1; 16])));
        assert_eq!([names(1), names(2), names(3)], [Some(true), Some(true), Some(false)]);
        for foreign in [&b"x"[..], &[1; 40]] {
            fsetxattr(&file, NAME, foreign, XattrFlags::empty()).unwrap();
            assert_eq!(Mark::of(&file), Mark::Absent);
        }
        let seen = Mark::of(&file);
        assert_eq!(create(&file, [3; 16]), None);
        assert_eq!(Mark::of(&file), seen);
        clear(&file);
        clear(&file);
        assert_eq!(create(&file, [3; 16]), Some(true));
        put_back(&file, Mark::Absent);
        assert_eq!(names(1), Some(false));
        assert_eq!(Mark::Unreadable.names([1; 16]), None);
    }
}
