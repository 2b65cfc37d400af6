//! Identities: of this boot of the machine, and of a file.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use crate::{Error, Result};

/// The number that the kernel drew when it started.
///
/// # Errors
///
/// [`Error::Io`] where `/proc` is not mounted: without it an open could not know whether the machine
/// went down while a pool was open.
pub(crate) fn boot() -> Result<[u8; 16]> {
    const PATH: &str = "/proc/sys/kernel/random/boot_id";
    let text = fs::read_to_string(PATH)
        .map_err(|e| Error::io(format!("reading {PATH}, which tells one boot from another"), e))?;
    parse(&text).ok_or_else(|| {
        Error::io(format!("reading {PATH}"), std::io::Error::from(std::io::ErrorKind::InvalidData))
    })
}

fn parse(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.trim().chars().filter(|&c| c != '-').collect();
    (digits.len() == 32).then_some(())?;
    u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes)
}

/// A number that no other pool has.
pub(crate) fn random() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| Error::io("reading /dev/urandom", error))?;
    Ok(bytes)
}

/// A file, whatever it is called: equal for two names of one file, different for a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl FileId {
    pub(crate) fn of(facts: &fs::Metadata) -> Self {
        Self { device: facts.dev(), inode: facts.ino() }
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
        assert_eq!(boot().unwrap(), boot().unwrap());
        assert_ne!(random().unwrap(), random().unwrap());
    }
}
