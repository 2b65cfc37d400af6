//! Whether somebody has a file open for writing, whatever locks say.
//!
//! On overlayfs a lock is one of the overlay's inode: a process that has a pool open by a path in the overlay and one that
//! opens the same file in the upper folder do not see each other's locks. But the kernel counts who has the file below
//! open for writing, and grants a lease for reading only where nobody has. From the other side nothing is seen: a lease by
//! a path in the overlay is one of its inode.
//!
//! A lease makes others who open the file for writing wait, or fail if they do not want to wait, and its holder gets a
//! signal then. So it is given back at once, and its signal is one that does nothing unless the program wants it. The
//! [open](crate::os::lock::open) of a pool's file tries again.
//!
//! | lease | who has the file open for writing |
//! | --- | --- |
//! | granted | nobody, by this path or by one above it |
//! | `EAGAIN` | somebody, this process among them |
//! | another error | not known: a file of somebody else (`EACCES`), a file system without leases (`EINVAL`, `ENOLCK`) |

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;

/// The number of the command that chooses the signal, the same on all architectures.
const F_SETSIG: i32 = 10;

/// Who has a file open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    Nobody,
    Somebody,
    Unknown,
}

/// Who has the file open for writing that is open for reading as `file`. Takes microseconds.
pub(crate) fn writers(file: &File) -> Writers {
    let command = |what, argument: i32| {
        // SAFETY: the descriptor is open, and these commands take a number.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), what, argument) };
        if done == -1 { Err(std::io::Error::last_os_error().kind()) } else { Ok(()) }
    };
    if command(F_SETSIG, libc::SIGURG).is_err() {
        return Writers::Unknown;
    }
    match command(libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            let _ = command(libc::F_SETLEASE, libc::F_UNLCK);
            Writers::Nobody
        }
        Err(ErrorKind::WouldBlock) => Writers::Somebody,
        Err(_) => Writers::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_writes_is_seen_and_who_reads_is_not() {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = file.into_temp_path();
        let reading = File::open(&path).unwrap();
        if writers(&reading) == Writers::Unknown {
            println!("no leases here");
            return;
        }
        let _also = File::open(&path).unwrap();
        assert_eq!(writers(&reading), Writers::Nobody);
        let writing = File::options().write(true).open(&path).unwrap();
        assert_eq!(writers(&reading), Writers::Somebody);
        drop(writing);
        assert_eq!(writers(&reading), Writers::Nobody);
        // The lease is gone: nobody waits for its end.
        drop(File::options().append(true).open(&path).unwrap());
    }
}
