//! Whether a process has a file open for writing, asked without locks.
//!
//! On overlayfs a lock belongs to the overlay's inode. If one process opens a pool by a path in the overlay and another
//! one opens the same file in the upper folder, they do not see each other's locks. But the kernel counts the opens for
//! writing of the file in the upper folder, and grants a read lease on it only if there are none. A lease that is taken
//! by a path in the overlay shows nothing, because it belongs to the overlay's inode.
//!
//! While a process has a lease, an open of the file for writing waits, or fails if it is non-blocking, and the holder
//! of the lease gets a signal. So the lease is returned at once, and its signal is `SIGURG`, which is ignored by
//! default. The [open](crate::os::lock::open) of a pool's file tries again.
//!
//! | lease | open for writing |
//! | --- | --- |
//! | granted | by no process, neither by this path nor by one in an overlay above it |
//! | `EAGAIN` | by some process, perhaps this one |
//! | another error | not known: a file of another user (`EACCES`), a file system without leases (`EINVAL`, `ENOLCK`) |

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;

/// The number of the command that chooses the signal, the same on all architectures.
const F_SETSIG: i32 = 10;

/// Whether any process has a file open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    Nobody,
    Somebody,
    Unknown,
}

/// Whether any process has the file open for writing. `file` must be open for reading only. Takes microseconds.
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
        // The lease is gone: this open does not wait.
        drop(File::options().append(true).open(&path).unwrap());
    }
}
