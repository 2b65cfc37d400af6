//! Random numbers, for identifiers and temporary names.

use rustix::rand::{GetRandomFlags, getrandom};

use crate::{Error, Result};

/// A random number, practically unique. No file is read for it, because `/dev` may be empty in a `chroot`.
pub(crate) fn random() -> Result<[u8; 16]> {
    let failed = |error| Error::io("drawing a random number (getrandom)", error);
    let mut bytes = [0; 16];
    // The kernel never returns a part of a request of up to 256 bytes.
    match getrandom(&mut bytes, GetRandomFlags::empty()).map_err(std::io::Error::from) {
        Ok(16) => Ok(bytes),
        Ok(_) => Err(failed(std::io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_another_one() {
        assert_ne!(random().unwrap(), random().unwrap());
    }
}
