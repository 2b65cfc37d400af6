//! A mapped file as a medium.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use super::domain::Domain;
use super::medium::Media;
use crate::cpu::flush::{self, FlushInstruction};
use crate::cpu::pair::{self, Pair};
use crate::cpu::prefetch::prefetch_range;
use crate::os::claims::{Claim, Right};
use crate::os::disk;
use crate::os::memory::{Folios, HUGE_PAGE, Reservation, Sharing};
use crate::sync::Mutex;
use crate::{Error, Result};

/// The most holes of a file that a reader covers with memory of its own. Each takes one mapping, and a process has
/// 65,530.
const MOST_HOLES: usize = 8_192;

/// Properties of the memory below a mapped file, and how the mapping may be used.
#[derive(Debug, Clone, Copy)]
pub struct Mapping {
    /// Whether nothing may be written: stores then change a private copy, never the file.
    pub read_only: bool,
    /// Whether the file is mapped directly (DAX), which [`Placement`](super::Placement) finds out.
    pub direct: bool,
    /// The persistence domain.
    pub domain: Domain,
    /// How lines are written back; must be available on this CPU, where the domain is [`Domain::Adr`].
    pub instruction: FlushInstruction,
}

/// A file in memory.
///
/// The addresses for its largest size are reserved at the start, so that growth never moves it.
/// A part becomes accessible only after the file system has allocated its blocks. So a full disk, or a limit on the
/// size of files, is [`Error::Full`] and not a signal.
///
/// Any number of media of this process may map one file. While one of them extends it, the others wait before they
/// extend it or map it. A growth that fails takes back only what it added. The caller ensures that no other process
/// grows the file at the same time, and that no process shortens it ([`Pool`](crate::Pool) has a lock for it). An
/// access beyond the end of the file ends the process by `SIGBUS`; so does a block that the disk cannot read.
pub struct Mapped {
    base: NonNull<u8>,
    len: AtomicU64,
    mapping: Mapping,
    folios: Folios,
    is_tmpfs: bool,
    /// Held by the one thread that makes the file longer.
    growth: Mutex<()>,
    /// Device and inode.
    id: [u64; 2],
    file: File,
    reservation: Reservation,
}

// SAFETY: all access to the mapped words is atomic, and everything else is `Send`.
unsafe impl Send for Mapped {}
// SAFETY: as above; growth is serialised by the mutex and published through `len`.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps the whole 2 MiB pages of the file. A rest at its end is left out until growth covers it. Holes of a file
    /// on tmpfs get memory, which changes no byte. If the file is only read, that memory is the medium's own.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the CPU lacks the instruction; [`Error::Full`] if the reservation
    /// is smaller than the file, or if tmpfs has no room for the file's holes; [`Error::Io`] if the file
    /// cannot be mapped.
    pub fn new(file: File, reservation: Reservation, mapping: Mapping) -> Result<Self> {
        Self::with_folios(file, reservation, mapping, Folios::Small)
    }

    /// As [`new`](Self::new), with huge pages on file systems that are written back, too: a store then makes
    /// 2 MiB dirty where it makes a page dirty otherwise. tmpfs and DAX have them in any case.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn read_mostly(file: File, reservation: Reservation, mapping: Mapping) -> Result<Self> {
        Self::with_folios(file, reservation, mapping, Folios::Huge)
    }

    fn with_folios(
        file: File,
        reservation: Reservation,
        mapping: Mapping,
        where_written_back: Folios,
    ) -> Result<Self> {
        if mapping.domain == Domain::Adr && !mapping.instruction.is_available() {
            return Err(Error::Unsupported {
                what: "this CPU lacks the chosen flush instruction; choose another medium (`Auto` finds the best one)",
            });
        }
        let facts = file.metadata().map_err(|e| Error::io("asking for the file's identity", e))?;
        let id = [facts.dev(), facts.ino()];
        // Until the file is mapped: a growth that fails in between would take back what was counted.
        let _length = Claim::wait(Right::Length, id[0], id[1], false);
        let bytes = disk::length(&file)?;
        let len = bytes - bytes % HUGE_PAGE;
        if len > reservation.len() {
            return Err(Error::Full { need: len, free: reservation.len() });
        }
        let is_tmpfs = disk::is_tmpfs(&file);
        let stays = mapping.direct || is_tmpfs;
        let folios = if stays { Folios::Huge } else { where_written_back };
        // SAFETY: the reservation is fresh, nothing refers into it, and the file has `len` bytes.
        unsafe { reservation.map(&file, 0, len, sharing(mapping), folios) }
            .map_err(|error| Error::io("mapping the pool's file", error))?;
        if is_tmpfs {
            keep_from_holes(&file, &reservation, len, mapping.read_only)?;
        }
        Ok(Self {
            base: reservation.base(),
            len: AtomicU64::new(len),
            mapping,
            folios,
            is_tmpfs,
            growth: Mutex::new(()),
            id,
            file,
            reservation,
        })
    }

    /// The most that the medium can grow to, in bytes.
    pub fn limit(&self) -> u64 {
        self.reservation.len()
    }

    /// The word at `at`.
    ///
    /// # Safety
    ///
    /// `at` is a multiple of 8 and `at + 8 <= self.len()`.
    #[inline(always)]
    unsafe fn word(&self, at: u64) -> &AtomicU64 {
        // SAFETY: the caller keeps `at` inside `len`, all of which is mapped readable and writable
        // (privately where the file may not change) until `self` is dropped; the base is 2 MiB
        // aligned, and every access to the words is atomic.
        unsafe { self.base.add(at as usize).cast().as_ref() }
    }

    /// Makes the file `grown` bytes long and maps what is new.
    fn extend_to(&self, have: u64, grown: u64) -> Result<()> {
        let sharing = sharing(self.mapping);
        // SAFETY: `have..grown` is beyond `len`, so that nothing refers into it, and no thread accesses
        // it before `len` says so: then all of it is allocated.
        unsafe { self.reservation.map(&self.file, have, grown, sharing, self.folios) }
            .map_err(|error| Error::io("mapping the pool's growth", error))?;
        if self.is_tmpfs {
            self.extend_by_huge_pages(have, grown)?;
        } else {
            disk::extend(&self.file, have, grown)?;
        }
        if self.mapping.direct {
            // On persistent memory a later store may be durable at once: so must be its block.
            self.file.sync_all().map_err(|e| Error::io("syncing the pool's new length", e))?;
        }
        // Pairs with the load in `len`: a thread that sees the length sees the mapping.
        self.len.store(grown, Ordering::Release);
        Ok(())
    }

    /// Extends a file on tmpfs. A huge page is made by copying what is there, which is cheap while that
    /// is one small page. One after the other: wherever the process is killed, the file ends inside
    /// the huge page that is being made, and has no hole before that.
    fn extend_by_huge_pages(&self, have: u64, grown: u64) -> Result<()> {
        let before = disk::length(&self.file)?;
        for at in (have..grown).step_by(HUGE_PAGE as usize) {
            if disk::sow(&self.file, at) {
                self.reservation.collapse(at, at + HUGE_PAGE);
            }
            if let Err(error) = disk::extend(&self.file, at, at + HUGE_PAGE) {
                return Err(disk::give_back(&self.file, before).err().unwrap_or(error));
            }
        }
        Ok(())
    }
}

/// Fills the holes in the first `len` bytes of a file on tmpfs, so that no access meets one. A reader covers them with
/// memory of its own; a writer has the file system allocate them.
fn keep_from_holes(file: &File, range: &Reservation, len: u64, read_only: bool) -> Result<()> {
    let holes = disk::holes(file, len)?;
    let missing = holes.iter().map(|hole| hole.end - hole.start).sum();
    if !read_only {
        return if missing > 0 { disk::fill_holes(file, len, missing).map(drop) } else { Ok(()) };
    }
    if holes.len() > MOST_HOLES {
        return Err(Error::Unsupported {
            what: "thousands of holes in a file on tmpfs that is opened only to be read; open it for \
                   writing once, or copy it without holes (`cp --sparse=never`)",
        });
    }
    for hole in holes {
        // SAFETY: the range was mapped by the caller, and nothing refers into it so far.
        unsafe { range.blank(&hole) }
            .map_err(|error| Error::io("mapping memory in place of a hole", error))?;
    }
    Ok(())
}

fn sharing(mapping: Mapping) -> Sharing {
    match mapping {
        Mapping { read_only: true, .. } => Sharing::Private,
        Mapping { direct: true, .. } => Sharing::SharedDax,
        Mapping { .. } => Sharing::Shared,
    }
}

// SAFETY: `0..len` is mapped and stays so until the medium is dropped, `len` only grows, and every
// access is one atomic operation.
unsafe impl Media for Mapped {
    #[inline(always)]
    fn len(&self) -> u64 {
        // Pairs with the store in `extend_to`.
        self.len.load(Ordering::Acquire)
    }

    fn grow(&self, len: u64) -> Result<()> {
        if len <= self.len() {
            return Ok(());
        }
        if self.mapping.read_only {
            return Err(Error::ReadOnly);
        }
        let _growing = self.growth.lock();
        let have = self.len();
        if len <= have {
            return Ok(());
        }
        // Against other media of the same file, whose growth might fail and be taken back meanwhile.
        let _length = Claim::wait(Right::Length, self.id[0], self.id[1], true);
        let limit = self.reservation.len();
        let need = len.checked_next_multiple_of(HUGE_PAGE).filter(|&need| need <= limit);
        let need = need.ok_or(Error::Full { need: len - have, free: limit - have })?;
        // No more than that: some operation waits for it, and where the kernel clears what is new, as on tmpfs,
        // 2 MiB take milliseconds.
        self.extend_to(have, need)
    }

    #[inline(always)]
    unsafe fn in_memory(&self, at: u64, words: usize) -> Option<&[AtomicU64]> {
        // SAFETY: as in `word`; the caller keeps all of the words inside `len`.
        Some(unsafe { slice::from_raw_parts(self.base.add(at as usize).cast().as_ptr(), words) })
    }

    #[inline(always)]
    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { self.word(at) }.load(order)
    }

    #[inline(always)]
    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        // SAFETY: the caller's promise.
        unsafe { self.word(at) }.store(value, order);
    }

    #[inline(always)]
    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        // SAFETY: the caller's promise.
        unsafe { self.word(at) }.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
    }

    #[inline(always)]
    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> Result<(), [u64; 2]> {
        // SAFETY: as in `word`; the caller keeps all 16 bytes inside `len`, and aligned.
        let pair: &Pair = unsafe { self.base.add(at as usize).cast().as_ref() };
        pair::exchange(pair, old, new)
    }

    #[inline(always)]
    unsafe fn flush(&self, at: u64, len: u64) {
        if self.needs_flush() {
            // SAFETY: the caller keeps the bytes inside `len`, all of which is mapped; `new` checked
            // that the CPU has the instruction.
            unsafe {
                let start = self.base.add(at as usize).as_ptr();
                self.mapping.instruction.flush(start, len as usize);
            }
        }
    }

    #[inline(always)]
    unsafe fn stream(&self, at: u64, value: u64) {
        if cfg!(target_arch = "x86_64") && self.needs_flush() {
            // SAFETY: the caller keeps the aligned word inside `len`, and fences before anything relies
            // on the order.
            unsafe { flush::stream_word(self.base.add(at as usize).cast().as_ptr(), value) };
        } else {
            // SAFETY: the caller's promise.
            unsafe {
                self.store(at, value, Ordering::Release);
                self.flush(at, 8);
            }
        }
    }

    #[inline(always)]
    fn fence(&self) {
        self.mapping.domain.fence();
    }

    #[inline(always)]
    fn drain(&self) {
        self.mapping.domain.drain();
    }

    #[inline(always)]
    fn needs_flush(&self) -> bool {
        self.mapping.domain == Domain::Adr
    }

    #[inline(always)]
    fn prefetch(&self, at: u64, len: u64) {
        prefetch_range(self.base.as_ptr(), at, len);
    }

    fn sync(&self) -> Result<()> {
        if self.mapping.read_only {
            return Ok(());
        }
        // On Linux this also writes back what was stored through the mapping, as `msync` would.
        self.file.sync_data().map_err(|error| Error::io("syncing the pool's file", error))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd, FromRawFd};

    use super::*;
    use crate::media::Region;

    fn map(file: &File, read_only: bool) -> Result<Mapped> {
        map_in(Domain::PageCache, file, read_only)
    }

    fn map_in(domain: Domain, file: &File, read_only: bool) -> Result<Mapped> {
        let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
        let mapping = Mapping { read_only, direct: false, domain, instruction };
        Mapped::new(file.try_clone().unwrap(), Reservation::new(64 << 20).unwrap(), mapping)
    }

    fn exercise(domain: Domain) {
        let file = tempfile::tempfile().unwrap();
        let medium = map_in(domain, &file, false).unwrap();
        assert_eq!((medium.len(), medium.limit()), (0, 64 << 20));
        medium.grow(1).unwrap();
        let base = medium.base;
        assert_eq!(medium.len(), HUGE_PAGE);
        let region = Region::new(&medium, 4096, 16).unwrap();
        for word in 0..16 {
            assert_eq!(region.load(word, Ordering::Acquire), 0);
            region.store(word, word as u64 + 1, Ordering::Release);
        }
        assert_eq!(region.compare_exchange(0, 7, 8), Err(1));
        assert_eq!(region.compare_exchange(0, 1, 8), Ok(1));
        // Both ends inside a line, over the end of the medium's last line too.
        region.flush(3, 11);
        Region::new(&medium, medium.len() - 8, 1).unwrap().flush(0, 1);
        medium.fence();
        region.stream(15, 16);
        medium.drain();
        medium.prefetch(0, 1 << 20);
        medium.prefetch(u64::MAX - 64, 128);
        medium.prefetch(0, u64::MAX);
        medium.prefetch(u64::MAX, u64::MAX);
        medium.grow(20 << 20).unwrap();
        assert_eq!(medium.base, base);
        assert_eq!(region.load(0, Ordering::Acquire), 8);
        medium.sync().unwrap();
        let too_much = medium.grow((64 << 20) + 1).unwrap_err();
        let left = (64 << 20) - medium.len();
        assert!(matches!(too_much, Error::Full { free, .. } if free == left), "{too_much}");
        assert!(matches!(medium.grow(u64::MAX), Err(Error::Full { .. })));
        drop(medium);
        let again = map_in(domain, &file, false).unwrap();
        assert_eq!(Region::new(&again, 4096, 16).unwrap().load(15, Ordering::Acquire), 16);
    }

    #[test]
    fn keeps_what_is_stored_in_every_domain() {
        [Domain::PageCache, Domain::Eadr, Domain::Adr].into_iter().for_each(exercise);
    }

    #[test]
    fn every_instruction_of_this_cpu_runs() {
        use FlushInstruction::{Clflush, ClflushOpt, Clwb, Cvap};
        let file = tempfile::tempfile().unwrap();
        for instruction in [Clwb, ClflushOpt, Clflush, Cvap] {
            let domain = Domain::Adr;
            let mapping = Mapping { read_only: false, direct: false, domain, instruction };
            let reservation = Reservation::new(2 << 20).unwrap();
            let medium = Mapped::new(file.try_clone().unwrap(), reservation, mapping);
            assert_eq!(medium.is_ok(), instruction.is_available(), "{instruction:?}");
            let Ok(medium) = medium else { continue };
            medium.grow(2 << 20).unwrap();
            let region = Region::new(&medium, 0, 512).unwrap();
            region.store(9, 9, Ordering::Release);
            region.flush(0, 512);
            medium.fence();
            assert_eq!(region.load(9, Ordering::Acquire), 9);
        }
    }

    #[test]
    fn a_stray_store_to_a_read_only_mapping_stays_out_of_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4 << 20).unwrap();
        let reading = File::open(file.path()).unwrap();
        let medium = map(&reading, true).unwrap();
        let region = Region::new(&medium, 1 << 20, 1).unwrap();
        region.store(0, 7, Ordering::Release);
        assert!(matches!(medium.grow(5 << 20), Err(Error::ReadOnly)));
        medium.sync().unwrap();
        drop(medium);
        assert!(std::fs::read(file.path()).unwrap().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn an_odd_rest_of_the_file_stays_out_until_growth_covers_it() {
        let file = tempfile::tempfile().unwrap();
        file.set_len((2 << 20) + 4097).unwrap();
        let medium = map(&file, false).unwrap();
        assert_eq!(medium.len(), 2 << 20);
        medium.grow((2 << 20) + 8).unwrap();
        let new = Region::new(&medium, 2 << 20, 262_144).unwrap();
        assert!((0..new.words()).all(|word| new.load(word, Ordering::Acquire) == 0));
    }

    /// A sealed file stands in for a disk that is full: it cannot grow, but could be cut.
    #[test]
    fn a_growth_that_fails_leaves_what_others_added() {
        // SAFETY: the descriptor was just made, and no other thread has it.
        let file = unsafe {
            File::from_raw_fd(libc::memfd_create(c"pool".as_ptr(), libc::MFD_ALLOW_SEALING))
        };
        let [first, second] = [(), ()].map(|()| map(&file, false).unwrap());
        first.grow(8 << 20).unwrap();
        let word = Region::new(&first, 6 << 20, 1).unwrap();
        word.store(0, 7, Ordering::Release);
        // SAFETY: the descriptor is open.
        let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_GROW) };
        assert_eq!(sealed, 0);
        let error = second.grow(16 << 20).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert_eq!((file.metadata().unwrap().len(), second.len()), (8 << 20, 0));
        // What the others added is there, and theirs as well now.
        second.grow(8 << 20).unwrap();
        let seen = Region::new(&second, 6 << 20, 1).unwrap();
        assert_eq!([&word, &seen].map(|word| word.load(0, Ordering::Acquire)), [7, 7]);
    }

    #[test]
    fn a_file_beyond_the_reservation_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(66 << 20).unwrap();
        assert!(matches!(map(&file, false), Err(Error::Full { .. })));
    }
}
