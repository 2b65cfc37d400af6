//! Address space, set aside once so that a pool never moves while it is open.

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Bytes of a huge page: the alignment of a reservation and of every step of growth, so that the
/// kernel may map the file with large pages.
pub(super) const HUGE_PAGE: u64 = 2 << 20;

/// Of `<asm-generic/mman-common.h>`; the `libc` crate has it for one C library only.
const MADV_COLLAPSE: libc::c_int = 25;

/// How a piece of a file appears in a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Stores reach the file.
    Shared,
    /// Stores reach the file, and block allocation is durable before they do (DAX).
    SharedDax,
    /// Stores reach a private copy: the file cannot be changed through the mapping, and a stray
    /// store is no memory error either.
    Private,
}

/// A range of addresses that belongs to one pool: inaccessible, without memory behind it, until
/// parts of a file are mapped into it. 2 MiB aligned; given back when dropped.
///
/// # Example
///
/// ```
/// let range = endura::media::Reservation::new(1 << 30)?;
/// assert_eq!(range.len(), 1 << 30);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reservation {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a reservation is a range of numbers that it alone owns; mapping and unmapping are
// thread-safe system calls, and `map` works on a shared reference under its caller's lock.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// The most that can be asked for: half of the 128 TiB that a process can address.
    pub const MAX: u64 = 64 << 40;

    /// Sets aside `bytes` bytes, rounded up to 2 MiB.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for nothing or more than [`MAX`](Self::MAX); what the system says where the
    /// address space has no such gap or is limited (`ulimit -v`).
    pub fn new(bytes: u64) -> io::Result<Self> {
        if bytes == 0 || bytes > Self::MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let len = bytes.next_multiple_of(HUGE_PAGE) as usize;
        let slack = HUGE_PAGE as usize;
        // SAFETY: an anonymous mapping at an address of the kernel's choice disturbs nothing.
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                len + slack,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        };
        let start = start.cast::<u8>();
        let before = start.align_offset(slack);
        let base = start.wrapping_add(before);
        // SAFETY: both pieces lie inside the mapping just made, outside the aligned part kept.
        unsafe {
            trim(start, before);
            trim(base.wrapping_add(len), slack - before);
        }
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, len })
    }

    /// Sets aside as much as there is room for: `bytes`, or half of it, and so on down to
    /// `at_least`.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new) with `at_least`.
    pub fn up_to(bytes: u64, at_least: u64) -> io::Result<Self> {
        let mut ask = bytes;
        loop {
            match Self::new(ask.max(at_least)) {
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory && ask > at_least => {
                    ask /= 2;
                }
                other => return other,
            }
        }
    }

    /// Bytes set aside.
    #[allow(clippy::len_without_is_empty, reason = "there is no empty reservation")]
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// Where it starts.
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Makes bytes `from..to` of the file appear at the same distance from the base.
    ///
    /// # Safety
    ///
    /// No reference into `from..to` of the reservation exists, and nobody accesses it before the file
    /// has `to` bytes.
    pub(super) unsafe fn map(
        &self,
        file: &File,
        from: u64,
        to: u64,
        sharing: Sharing,
    ) -> io::Result<()> {
        assert!(from <= to && to <= self.len() && from.is_multiple_of(HUGE_PAGE));
        if from == to {
            return Ok(());
        }
        let at = self.base.as_ptr().wrapping_add(from as usize).cast();
        let bytes = (to - from) as usize;
        let flags = match sharing {
            Sharing::Shared => MapFlags::SHARED,
            Sharing::SharedDax => MapFlags::SHARED_VALIDATE | MapFlags::SYNC,
            Sharing::Private => MapFlags::PRIVATE | MapFlags::NORESERVE,
        };
        // SAFETY: the range lies inside the reservation, which is ours, and the caller vouches that
        // nothing refers to it, so that replacing what was mapped there harms nobody.
        unsafe {
            mmap(
                at,
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                flags | MapFlags::FIXED,
                file,
                from,
            )?;
            // A hint, refused by kernels and file systems without large pages.
            let _ = madvise(at, bytes, Advice::LinuxHugepage);
        }
        Ok(())
    }

    /// Asks for huge pages behind `from..to`, which is mapped and which nothing has used yet.
    ///
    /// tmpfs makes none of its own accord where the machine is set up so (`shmem_enabled` is `never`
    /// by default), but moves a range into them on request; they stay with the file for all who map
    /// it later. It costs less than the faults of small pages would: what is not there yet is
    /// cleared, what is there is copied. A huge page with nothing in it is not made.
    pub(super) fn collapse(&self, from: u64, to: u64) {
        assert!(from <= to && to <= self.len());
        let at = self.base.as_ptr().wrapping_add(from as usize);
        // SAFETY: the range lies inside the reservation; the call changes where bytes lie in memory,
        // not what they are. Kernels before 6.1 and other file systems refuse it, which does no harm.
        let _ = unsafe { libc::madvise(at.cast(), (to - from) as usize, MADV_COLLAPSE) };
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the range is ours, and whoever drops it holds no reference into it. In a forked
        // child it is the child's own copy.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Gives back a part of a mapping, or nothing.
///
/// # Safety
///
/// The bytes are mapped, belong to the caller, and nothing refers to them.
unsafe fn trim(at: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller's promise.
        let _ = unsafe { munmap(at.cast(), bytes) };
    }
}

/// Whether the file lies on persistent memory that is mapped directly (DAX): only there does the
/// kernel agree to `MAP_SYNC`. The file must not be empty.
pub(super) fn maps_directly(file: &File, writable: bool) -> bool {
    let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
    let bytes = 4096;
    // SAFETY: a new mapping at an address of the kernel's choice, never accessed and removed again.
    unsafe {
        let flags = MapFlags::SHARED_VALIDATE | MapFlags::SYNC;
        match mmap(ptr::null_mut(), bytes, protection, flags, file, 0) {
            Ok(at) => munmap(at, bytes).is_ok(),
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_aligned_and_bounded() {
        let range = Reservation::new(3 << 20).unwrap();
        assert_eq!(range.len(), 4 << 20);
        assert_eq!(range.base().as_ptr() as u64 % HUGE_PAGE, 0);
        for refused in [0, Reservation::MAX + 1, 1 << 60, u64::MAX] {
            let error = Reservation::new(refused).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{refused}");
        }
    }

    #[test]
    fn takes_what_there_is_room_for() {
        // Two of the largest never fit beside each other in 128 TiB with anything else in it.
        let all: Vec<_> =
            (0..4).map(|_| Reservation::up_to(Reservation::MAX, 1 << 30).unwrap()).collect();
        assert!(all[3].len() < Reservation::MAX);
        assert!(all.iter().all(|range| range.len() >= 1 << 30));
    }
}
