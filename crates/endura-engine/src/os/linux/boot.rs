//! The identity of the current boot of the machine.
//!
//! Two numbers identify it, and the kernel draws both when it starts:
//!
//! | number | from | unknown where |
//! | --- | --- | --- |
//! | `id` | `/proc/sys/kernel/random/boot_id` | `/proc/sys` is not mounted, or another file is mounted over it: systemd-nspawn, LXC and Incus bind a new number there at each start of a container |
//! | `memory` | the number of the kernel's own tmpfs, on which `memfd_create` makes files | Linux before 5.13 has no such number; a sandbox may forbid the call |
//!
//! A number that does not come from the kernel counts as unknown, never as that of another boot. All containers of a
//! machine see the same `memory`, with or without `/proc`.

use std::fs::File;
use std::io;
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, fstatfs, fstatvfs, memfd_create};
use rustix::io::Errno;

use crate::{Error, Result};

/// A boot of the machine. A number that is not known is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Boot {
    /// The kernel's `boot_id`.
    pub id: [u8; 16],
    /// The number of the file system on which `memfd_create` makes files.
    pub memory: u64,
}

impl Boot {
    /// The current boot. It is determined once in a process.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the process is short of descriptors or memory, so that a number could not be read this time.
    pub(crate) fn here() -> Result<Self> {
        static HERE: OnceLock<Boot> = OnceLock::new();
        if let Some(here) = HERE.get() {
            return Ok(*here);
        }
        let failed = |error| Error::io("finding out which boot of the machine this is", error);
        let id = known(id().and_then(|id| id.ok_or(Errno::NOENT.into()))).map_err(failed)?;
        let memory = known(memory()).map_err(failed)?;
        Ok(*HERE.get_or_init(|| Self { id: id.unwrap_or_default(), memory: memory.unwrap_or(0) }))
    }

    /// Whether at least one of the numbers is known.
    pub(crate) fn is_known(&self) -> bool {
        *self != Self::default()
    }

    /// Whether both are the same boot. `None` if neither number is known for both.
    pub(crate) fn compare(&self, other: &Self) -> Option<bool> {
        let ids = (self.id != [0; 16] && other.id != [0; 16]).then_some(self.id == other.id);
        let memories =
            (self.memory != 0 && other.memory != 0).then_some(self.memory == other.memory);
        match [ids, memories] {
            [Some(false), _] | [_, Some(false)] => Some(false),
            [Some(true), _] | [_, Some(true)] => Some(true),
            [None, None] => None,
        }
    }
}

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Reads `boot_id`. `None` where the file is not the kernel's.
fn id() -> io::Result<Option<[u8; 16]>> {
    let file = File::open(BOOT_ID)?;
    if fstatfs(&file)?.f_type as u64 != libc::PROC_SUPER_MAGIC as u64 {
        return Ok(None);
    }
    Ok(parse(&io::read_to_string(file)?))
}

fn parse(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.trim().chars().filter(|&c| c != '-').collect();
    (digits.len() == 32).then_some(())?;
    u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes)
}

/// The number of the kernel's own tmpfs. The kernel creates that file system when it starts, and every `memfd_create`
/// of the machine makes its file on it.
fn memory() -> io::Result<u64> {
    const NAME: &str = "endura";
    // Some systems refuse to make a file that could become executable. `NOEXEC_SEAL` rules that out, but kernels before
    // 6.3 do not know this flag.
    let sealed = MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL;
    let made = match memfd_create(NAME, sealed) {
        Err(Errno::INVAL) => memfd_create(NAME, MemfdFlags::CLOEXEC),
        made => made,
    };
    Ok(fstatvfs(made?)?.f_fsid)
}

/// `None` if the number is not available on this system; an error if the failure may be temporary.
fn known<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    const PASSING: [i32; 4] = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EINTR];
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.raw_os_error().is_some_and(|code| PASSING.contains(&code)) => {
            Err(error)
        }
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_is_read_as_the_kernel_prints_it() {
        let id = parse("01234567-89ab-cdef-0123-456789abcdef\n").unwrap();
        assert_eq!(id[..4], [0x01, 0x23, 0x45, 0x67]);
        assert_eq!(parse("0123"), None);
        assert_eq!(parse("g1234567-89ab-cdef-0123-456789abcdef"), None);
    }

    #[test]
    fn each_number_stays_and_one_that_is_known_is_enough() {
        let here = Boot::here().unwrap();
        assert!(here.is_known() && here == Boot::here().unwrap());
        assert_eq!(memory().ok(), memory().ok());
        let full = Boot { id: [1; 16], memory: 2 };
        let (ids, memories) = (Boot { memory: 0, ..full }, Boot { id: [0; 16], ..full });
        for known in [ids, memories, full] {
            assert_eq!(full.compare(&known), Some(true));
        }
        assert_eq!(ids.compare(&memories), None);
        assert_eq!(Boot::default().compare(&full), None);
        for other in [Boot { id: [9; 16], ..full }, Boot { memory: 9, ..full }] {
            assert_eq!(full.compare(&other), Some(false));
        }
    }

    #[test]
    fn a_shortage_is_no_answer() {
        let of = |code| known::<u64>(Err(io::Error::from_raw_os_error(code)));
        assert!(of(libc::EMFILE).is_err() && of(libc::ENFILE).is_err());
        assert!(matches!((of(libc::ENOENT), of(libc::EPERM)), (Ok(None), Ok(None))));
    }
}
