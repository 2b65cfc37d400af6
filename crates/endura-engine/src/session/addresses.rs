//! How many addresses a pool reserves if the caller chose no largest size.

use std::io;

use crate::media::Reservation;

/// How many bytes of addresses are reserved by default: 1 TiB.
pub(super) const DEFAULT_MAX_SIZE: u64 = 1 << 40;
/// The smallest default, for processes with little free address space.
const LEAST_DEFAULT: u64 = 1 << 30;
/// The default takes at most an eighth of the gap of the address space in which it lies. The rest is for the program
/// and for other pools.
const LEAVING: u64 = 8;
/// If the full default is not available, a smaller one takes at most this fraction of the gap, so that the next
/// thousand pools find space.
const LEAVING_WHERE_SCARCE: u64 = 64;

/// Reserves addresses for a pool that has `have` addresses.
pub(super) fn reserve_default(have: u64) -> io::Result<Reservation> {
    if let Ok(all) = Reservation::leaving(DEFAULT_MAX_SIZE.max(have), LEAVING) {
        return Ok(all);
    }
    let least = LEAST_DEFAULT.max(have);
    let mut addresses = DEFAULT_MAX_SIZE / 2;
    while addresses > least {
        match Reservation::leaving(addresses, LEAVING_WHERE_SCARCE) {
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => addresses /= 2,
            outcome => return outcome.map(Reservation::scarce),
        }
    }
    // At least the present size must be reserved, even in a process with a limit on its address space.
    let found = Reservation::leaving(least, LEAVING).or_else(|_| Reservation::leaving(least, 2));
    found.map(Reservation::scarce)
}
