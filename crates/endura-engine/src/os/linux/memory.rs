//! Reserved address space. A pool reserves its addresses once, so that it never moves while it is open.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use rustix::mm::{
    Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap, mmap_anonymous, mremap_fixed, munmap,
};

/// Bytes of a huge page. Reservations, and the pieces of a file that are mapped in them, are aligned to it, so that the
/// kernel may use huge pages.
pub(crate) const HUGE_PAGE: u64 = 2 << 20;

/// The most bytes of a file that are first mapped elsewhere and then moved into their place. For a moment a growth
/// needs this many addresses outside the reservation.
const AT_ONCE: u64 = 1 << 30;

/// From `<asm-generic/mman-common.h>`; the `libc` crate defines it for one C library only.
const MADV_COLLAPSE: libc::c_int = 25;

/// How a piece of a file appears in a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Stores reach the file.
    Shared,
    /// Stores reach the file, and the allocation of its blocks is durable before they do (DAX, `MAP_SYNC`).
    SharedDax,
    /// Loads only: a store ends the process by SIGSEGV. Such pages are nothing but page cache: they do not count
    /// towards limits on a process's data or towards committed memory, and `mlockall` does not copy them.
    ReadOnly,
}

impl Sharing {
    fn protection(self) -> ProtFlags {
        match self {
            Self::ReadOnly => ProtFlags::READ,
            Self::Shared | Self::SharedDax => ProtFlags::READ | ProtFlags::WRITE,
        }
    }

    fn flags(self) -> MapFlags {
        match self {
            Self::ReadOnly | Self::Shared => MapFlags::SHARED,
            Self::SharedDax => MapFlags::SHARED_VALIDATE | MapFlags::SYNC,
        }
    }
}

/// The size of the pages that a mapping has in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folios {
    /// The processor's pages, 4 KiB each. A store makes its whole folio dirty. Where dirty folios are written to a
    /// disk, a store to a small one does not cost a write of 2 MiB.
    Small,
    /// 2 MiB where the system allows it: fewer page faults, and fewer TLB misses.
    Huge,
}

/// A range of addresses that belongs to one pool. It is inaccessible and takes no memory until parts of a file are
/// mapped into it. It is aligned to 2 MiB, and released when dropped.
///
/// # Ownership of addresses
///
/// Except inside `map`, each address of the range is either mapped by the reservation or recorded as lost. An address
/// that is neither is a gap: the kernel may give it to the next `mmap` of any thread, for example the allocator's. To
/// map or unmap the address again would take that memory away. An `mmap` with `MAP_FIXED` leaves such a gap if it
/// fails, because it unmaps the old mapping before it asks the file system. So `map` first maps the file at another
/// address, and then moves the mapping into its place. If there is a gap all the same, `map` closes it unless another
/// thread was faster. Otherwise the gap is lost: the reservation never maps or unmaps it again.
///
/// # Example
///
/// ```
/// let range = endura_engine::media::Reservation::new(1 << 30)?;
/// assert_eq!(range.len(), 1 << 30);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reservation {
    base: NonNull<u8>,
    len: usize,
    wanted: u64,
    /// Whether more was wanted than the process had.
    is_scarce: bool,
    /// The part of the range that the kernel may have given to another thread, as offsets from the base.
    lost: OnceLock<Range<usize>>,
}

// SAFETY: a reservation is a range of numbers that it alone owns; mapping and unmapping are
// thread-safe system calls, and `map` works on a shared reference under its caller's lock.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// The largest reservation: half of the 128 TiB that a process can address.
    pub const MAX: u64 = 64 << 40;

    /// Reserves `bytes` bytes, rounded up to 2 MiB.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for 0 bytes and for more than [`MAX`](Self::MAX); the system's error where the address space has
    /// no such gap or is limited (`ulimit -v`).
    pub fn new(bytes: u64) -> io::Result<Self> {
        if bytes == 0 || bytes > Self::MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let len = Self::rounded(bytes);
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
        let before = start.addr().wrapping_neg() % slack;
        let base = start.wrapping_add(before);
        // SAFETY: both pieces lie inside the mapping just made, outside the aligned part kept.
        unsafe {
            trim(start, before);
            trim(base.wrapping_add(len), slack - before);
        }
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, len, wanted: bytes, is_scarce: false, lost: OnceLock::new() })
    }

    fn rounded(bytes: u64) -> usize {
        bytes.next_multiple_of(HUGE_PAGE) as usize
    }

    /// Reserves `bytes` bytes out of a free piece of the address space that is `share` times as large, so that the rest
    /// stays free.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new); `OutOfMemory` where there is no such piece.
    pub fn leaving(bytes: u64, share: u64) -> io::Result<Self> {
        let piece = bytes.saturating_mul(share.max(1)).min(Self::MAX).max(bytes);
        let mut range = Self::new(piece)?;
        let keep = Self::rounded(bytes);
        // SAFETY: the rest is the range's own, and nothing refers to it.
        unsafe { trim(range.base.as_ptr().wrapping_add(keep), range.len - keep) };
        (range.len, range.wanted) = (keep, bytes);
        Ok(range)
    }

    /// Bytes reserved.
    #[allow(clippy::len_without_is_empty, reason = "there is no empty reservation")]
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// Bytes requested, before rounding.
    pub(crate) fn wanted(&self) -> u64 {
        self.wanted
    }

    /// Records that more was wanted than the process had.
    #[must_use]
    pub(crate) fn scarce(mut self) -> Self {
        self.is_scarce = true;
        self
    }

    /// Whether more was wanted than the process had.
    pub(crate) fn is_scarce(&self) -> bool {
        self.is_scarce
    }

    /// The first address of the range.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Maps bytes `from..to` of the file at the same offsets from the base. `from` is the start of a page. The file may
    /// end before `to`. One call at a time.
    ///
    /// # Errors
    ///
    /// The system's error. The file is mapped in pieces of at most 1 GiB. Nothing of the file is mapped then in the
    /// piece that failed, and later calls may succeed. `OutOfMemory` where a needed part of the range was lost.
    ///
    /// # Safety
    ///
    /// No reference into `from..to` of the reservation exists, and no thread accesses a byte of it before the file
    /// has that byte.
    pub(crate) unsafe fn map(
        &self,
        file: &File,
        from: u64,
        to: u64,
        sharing: Sharing,
        folios: Folios,
    ) -> io::Result<()> {
        assert!(from <= to && to <= self.len());
        if from == to {
            return Ok(());
        }
        if self.lost.get().is_some_and(|lost| lost.start < to as usize) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let (protection, flags) = (sharing.protection(), sharing.flags());
        for from in (from..to).step_by(AT_ONCE as usize) {
            let part = from as usize..to.min(from + AT_ONCE) as usize;
            // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing, and no other thread
            // sees it. The part lies inside the reservation and before what is lost, so that it is ours,
            // and the caller vouches that nothing refers to it.
            unsafe {
                let elsewhere = mmap(ptr::null_mut(), part.len(), protection, flags, file, from)?;
                self.put(elsewhere, part)?;
            }
        }
        let at = self.base.as_ptr().wrapping_add(from as usize);
        let advice = match folios {
            // A page fault then brings in one page, and no read-ahead brings in others.
            Folios::Small => Advice::Random,
            Folios::Huge => Advice::LinuxHugepage,
        };
        // SAFETY: a hint about what was just mapped, which kernels and file systems without large pages refuse.
        let _ = unsafe { madvise(at.cast(), (to - from) as usize, advice) };
        Ok(())
    }

    /// Makes `hole` of the range readable without the file: all its pages are the kernel's page of zeros, so that it
    /// reads like a hole of a file.
    ///
    /// # Errors
    ///
    /// As for [`map`](Self::map).
    ///
    /// # Safety
    ///
    /// No thread stores to the hole from now on, and none relies on its earlier contents.
    pub(crate) unsafe fn blank(&self, hole: &Range<u64>) -> io::Result<()> {
        assert!(hole.start <= hole.end && hole.end <= self.len());
        // SAFETY: the caller's promise.
        unsafe { self.map_anonymous(hole, ProtFlags::READ, MapFlags::NORESERVE) }
    }

    /// Maps zeroed memory of the process at bytes `part` of the range. It counts towards the process's memory.
    ///
    /// # Errors
    ///
    /// As for [`map`](Self::map).
    ///
    /// # Safety
    ///
    /// Nothing refers to the part, and no thread accesses it before the call returns.
    pub(crate) unsafe fn fill(&self, part: &Range<u64>) -> io::Result<()> {
        assert!(part.start <= part.end && part.end <= self.len());
        // SAFETY: the caller's promise.
        unsafe { self.map_anonymous(part, ProtFlags::READ | ProtFlags::WRITE, MapFlags::empty()) }
    }

    /// # Safety
    ///
    /// No thread relies on the part's earlier contents, or stores to it before the call returns.
    unsafe fn map_anonymous(
        &self,
        part: &Range<u64>,
        protection: ProtFlags,
        flags: MapFlags,
    ) -> io::Result<()> {
        if part.is_empty() {
            return Ok(());
        }
        if self.lost.get().is_some_and(|lost| lost.start < part.end as usize) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let part = part.start as usize..part.end as usize;
        let flags = MapFlags::PRIVATE | flags;
        // SAFETY: as in `map`.
        unsafe {
            let elsewhere = mmap_anonymous(ptr::null_mut(), part.len(), protection, flags)?;
            self.put(elsewhere, part)
        }
    }

    /// Moves the mapping at `elsewhere`, as long as `part`, to `part` of the range. If that fails, it unmaps the
    /// mapping.
    ///
    /// # Safety
    ///
    /// The mapping was just made, and no other thread has seen it. The part is ours, and nothing refers to it.
    unsafe fn put(&self, elsewhere: *mut c_void, part: Range<usize>) -> io::Result<()> {
        let (at, bytes) = (self.base.as_ptr().wrapping_add(part.start).cast(), part.len());
        // SAFETY: the caller's promise: what is replaced is ours. After a failure the mapping is where it
        // was made.
        unsafe {
            if let Err(errno) = mremap_fixed(elsewhere, bytes, bytes, MremapFlags::MAYMOVE, at) {
                trim(elsewhere.cast(), bytes);
                self.close_gap(part);
                return Err(errno.into());
            }
        }
        Ok(())
    }

    /// Reserves the addresses again that a failed move may have unmapped, or records them as lost. It records them as
    /// lost also if nothing was unmapped, because it cannot distinguish its own mapping from that of another thread.
    #[cold]
    fn close_gap(&self, gap: Range<usize>) {
        let at = self.base.as_ptr().wrapping_add(gap.start).cast();
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
        // SAFETY: the call replaces nothing: it fails if anything is mapped in the gap, by us or by others.
        match unsafe { mmap_anonymous(at, gap.len(), ProtFlags::empty(), flags) } {
            Ok(found) if found == at => return,
            // SAFETY: kernels before 4.17 do not know the flag, and choose another address if this one is taken. The
            // mapping at that address was just made, and no other thread has seen it.
            Ok(found) => unsafe { trim(found.cast(), gap.len()) },
            Err(_) => {}
        }
        // One range is enough: nothing after its start is ever mapped again.
        let _ = self.lost.set(gap);
    }

    /// Requests huge pages for bytes `from..to`, which are mapped and not used yet.
    ///
    /// By default tmpfs makes none on its own (`shmem_enabled` is `never`), but it moves a range into huge pages on
    /// request. They stay with the file, for every later mapping. The request costs less than the faults of small pages
    /// would. The kernel copies the pages that exist and clears the rest. It makes no huge page for a range without any
    /// page.
    pub(crate) fn collapse(&self, from: u64, to: u64) {
        assert!(from <= to && to <= self.len());
        let at = self.base.as_ptr().wrapping_add(from as usize);
        // SAFETY: the range lies inside the reservation; the call moves bytes in physical memory and does not change
        // them. Kernels before 6.1 and other file systems refuse it, which does no harm.
        let _ = unsafe { libc::madvise(at.cast(), (to - from) as usize, MADV_COLLAPSE) };
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let base = self.base.as_ptr();
        let lost = self.lost.get().cloned().unwrap_or(self.len..self.len);
        // SAFETY: all but the lost part is ours, and the owner that drops the reservation holds no reference into it.
        // In a forked child the mappings are the child's own copies.
        unsafe {
            trim(base, lost.start);
            trim(base.wrapping_add(lost.end), self.len - lost.end);
        }
    }
}

/// Unmaps `bytes` bytes, if there are any.
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

/// Whether the file lies on persistent memory that is mapped directly (DAX): only there does the kernel accept
/// `MAP_SYNC`. The file must not be empty.
pub(crate) fn maps_directly(file: &File, writable: bool) -> bool {
    let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
    let bytes = 4096;
    // SAFETY: a new mapping at an address of the kernel's choice, which is never accessed and is removed again.
    unsafe {
        let flags = MapFlags::SHARED_VALIDATE | MapFlags::SYNC;
        match mmap(ptr::null_mut(), bytes, protection, flags, file, 0) {
            Ok(at) => munmap(at, bytes).is_ok(),
            Err(_) => false,
        }
    }
}

/// Requests huge pages for memory that has not been accessed yet, so that random accesses miss the TLB less often. The
/// request is a hint, which many kernels refuse.
///
/// # Safety
///
/// The bytes are mapped and belong to the caller, and `start` is the start of a page.
pub(crate) unsafe fn advise_huge_pages(start: *mut u8, bytes: usize) {
    if bytes >= HUGE_PAGE as usize {
        // SAFETY: the caller's promise; the advice changes nothing in the memory.
        _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxHugepage) };
    }
}

#[cfg(test)]
mod tests;
