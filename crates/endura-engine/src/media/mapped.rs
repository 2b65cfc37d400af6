//! A mapped file as a medium.

use std::fs::File;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::dirty_pages::DirtyPages;
use super::domain::Domain;
use super::holes::{holes, map_around};
use super::medium::Media;
use crate::cpu::flush::{self, FlushInstruction};
use crate::cpu::pair::{self, Pair};
use crate::cpu::prefetch::prefetch_range;
use crate::os::claims::{Claim, Right};
use crate::os::disk;
use crate::os::file_identity::FileId;
use crate::os::memory::{Folios, HUGE_PAGE, Reservation, Sharing};
use crate::os::own_file::OwnFile;
use crate::sync::Mutex;
use crate::{Error, Result, SpaceLimit};

/// The step in which a file grows, in bytes. It is at least the page size of every kernel, so that no page of a mapping
/// has bytes on both sides of the file's end.
pub const STEP: u64 = 64 << 10;

/// The properties of the memory below a mapped file, and how the mapping is to be used.
#[derive(Debug, Clone, Copy)]
pub struct Mapping {
    /// Whether the pages are mapped for loads only. A store then changes nothing and ends the process: by a panic
    /// that names the caller where debug assertions are on, else by SIGSEGV.
    pub read_only: bool,
    /// Whether the file is mapped directly (DAX), which [`Placement`](super::Placement) detects.
    pub direct: bool,
    /// The persistence domain.
    pub domain: Domain,
    /// The instruction that writes lines back. Must be available on this CPU if the domain is [`Domain::Adr`].
    pub instruction: FlushInstruction,
    /// Whether flushed pages are noted, for checkpoints: [`Mapped::dirty_pages`].
    pub notes_pages: bool,
}

/// What a flush does, as bits. They are all 0 where a flush does nothing, so that one test is enough.
const WRITES_BACK: u8 = 1;
const NOTES_PAGES: u8 = 2;

/// A mapped file.
///
/// The addresses for the file's largest size are reserved at the start, so that growth never moves the mapping. A part
/// of the file becomes accessible only after the file system has allocated its blocks. So a full disk, or a limit on
/// the size of files, causes [`Error::Full`] and not a signal.
///
/// The file is mapped in pieces of 2 MiB, so that the kernel can use huge pages. It grows in steps of 64 KiB
/// ([`STEP`]), and the last piece may reach beyond its end. [`len`](Media::len) counts the whole steps of the file, and
/// every [`Span`](super::Span) and [`Region`](super::Region) is checked against it, so that no access reaches a page
/// that the file does not have.
///
/// Any number of media of this process may map one file. While one of them extends the file, the others wait before
/// they extend or map it. A growth that fails removes only what it added. The caller ensures that no other process
/// grows the file at the same time, and that no process shortens it (`Pool` has a lock for that). An
/// access beyond the end of the file ends the process by `SIGBUS`, and so does a block that the disk cannot read.
///
/// # Read-only
///
/// A read-only session maps the file shared and without the right to store. So it has no private pages: all pages that
/// it accesses are page cache. The kernel does not count such a mapping as data (`ulimit -d`), commits no memory to it
/// (`vm.overcommit_memory=2`), and copies nothing of it for `mlockall`. The price is that the session must not store to
/// the pool, not even for its own use. The pool's gate ensures that: operations store inside a writer's pin, which the
/// gate refuses in such a session.
pub struct Mapped {
    base: NonNull<u8>,
    len: AtomicU64,
    /// [`WRITES_BACK`] and [`NOTES_PAGES`].
    on_flush: u8,
    dirty_pages: Option<DirtyPages>,
    mapping: Mapping,
    folios: Folios,
    is_tmpfs: bool,
    /// Locked by the thread that changes the file's length.
    growth: Mutex<Growth>,
    /// `None` once the file was released.
    file: Mutex<Option<Arc<OwnFile>>>,
    reservation: Reservation,
}

/// How far a file has grown.
struct Growth {
    /// Whether the file was cut or released. It cannot grow any more then.
    has_ended: bool,
    /// How many bytes of the reservation have ever been mapped.
    mapped: u64,
}

// SAFETY: all access to the mapped words is atomic, and everything else is `Send`.
unsafe impl Send for Mapped {}
// SAFETY: as above; growth is serialised by the mutex and published through `len`.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps the file up to its last whole [`STEP`]. The rest of the file, shorter than a step, is left out until growth
    /// covers it. Holes of a file on tmpfs are filled, which changes no byte of its contents. If the mapping is
    /// read-only, the kernel's page of zeros is mapped in place of the holes instead.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the CPU lacks the instruction; [`Error::Full`] if the reservation is smaller than the
    /// file, or if tmpfs has no memory for the file's holes; [`Error::Io`] if the file cannot be mapped.
    pub fn new(file: File, reservation: Reservation, mapping: Mapping) -> Result<Self> {
        Self::with_folios(file, reservation, mapping, Folios::Small)
    }

    /// Like [`new`](Self::new), but with huge pages also on file systems that write back to a disk. There a store makes
    /// 2 MiB dirty instead of one page. On tmpfs and DAX huge pages are used in any case.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
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
        let file = OwnFile::new(file);
        let file = file.map_err(|e| Error::io("asking for the file's identity", e))?;
        // The claim is held until the file is mapped: a growth that fails in between would remove bytes that `length`
        // has counted.
        let _length = Claim::wait(Right::Length, file.id().device, file.id().inode, false);
        let bytes = disk::length(&file)?;
        let len = bytes - bytes % STEP;
        if len > reservation.len() {
            let (need, free) = (len, reservation.len());
            return Err(Error::full(need, free, SpaceLimit::AddressSpace));
        }
        let is_tmpfs = disk::is_tmpfs(&file);
        let stays = mapping.direct || is_tmpfs;
        let folios = if stays { Folios::Huge } else { where_written_back };
        let holes = if is_tmpfs { holes(&file, len, mapping.read_only)? } else { Vec::new() };
        let to = len.next_multiple_of(HUGE_PAGE);
        // SAFETY: the reservation is new, nothing refers into it, and no thread accesses bytes after `len`.
        unsafe { map_around(&holes, &file, &reservation, to, (sharing(mapping), folios)) }
            .map_err(|error| Error::io("mapping the pool's file (`ulimit -v`)", error))?;
        let limit = reservation.wanted().next_multiple_of(STEP).max(len);
        let notes_pages = mapping.notes_pages && !mapping.read_only;
        let dirty_pages = notes_pages.then(|| DirtyPages::new(limit, len)).transpose()?;
        let writes_back = if mapping.domain == Domain::Adr { WRITES_BACK } else { 0 };
        Ok(Self {
            base: reservation.base(),
            len: AtomicU64::new(len),
            on_flush: writes_back | if notes_pages { NOTES_PAGES } else { 0 },
            dirty_pages,
            mapping,
            folios,
            is_tmpfs,
            growth: Mutex::new(Growth { has_ended: false, mapped: to }),
            file: Mutex::new(Some(Arc::new(file))),
            reservation,
        })
    }

    /// The largest length of the medium, in bytes: the reserved size, rounded up to whole [`STEP`]s, and at least the
    /// file's length.
    pub fn limit(&self) -> u64 {
        self.reservation.wanted().next_multiple_of(STEP).max(self.len())
    }

    /// The mapped file, for reads and writes that do not go through the mapping.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] once it was [released](Self::release).
    pub(crate) fn file(&self) -> Result<Arc<OwnFile>> {
        self.file.lock().clone().ok_or(Error::Closed { pool: None })
    }

    /// Closes the file's descriptor and unmaps all its pages. So a closed pool does not keep the disk space of a
    /// removed file, however long its handles live. The addresses stay reserved, and [`len`](Media::len) is 0.
    ///
    /// The caller has ended all operations, and lets no new one begin. An old `Span` that is used nevertheless reads
    /// the file or zeros, as after a [cut](Media::cut).
    pub(crate) fn release(&self) {
        let mut growth = self.growth.lock();
        growth.has_ended = true;
        // Pairs with the load in `len`.
        self.len.store(0, Ordering::Release);
        // SAFETY: the caller's promise, and the kernel replaces the file by zeros in one step. If it has no memory for
        // that, the file stays mapped until the medium is dropped.
        let _ = unsafe { self.reservation.blank(&(0..growth.mapped)) };
        self.file.lock().take();
    }

    /// The file, if its pages are read from a disk.
    pub(crate) fn file_on_disk(&self) -> Option<Arc<OwnFile>> {
        if self.mapping.direct || self.is_tmpfs { None } else { self.file().ok() }
    }

    /// The table of flushed pages, if pages are noted.
    pub fn dirty_pages(&self) -> Option<&DirtyPages> {
        self.dirty_pages.as_ref()
    }

    /// A flush where `on_flush` is not 0.
    ///
    /// # Safety
    ///
    /// As for [`flush`](Media::flush).
    #[inline(always)]
    unsafe fn write_back_and_note(&self, at: u64, len: u64) {
        if self.on_flush & WRITES_BACK != 0 {
            // SAFETY: the caller keeps the bytes inside `len`, all of which is mapped; `new` checked
            // that the CPU has the instruction.
            unsafe {
                let start = self.base.add(at as usize).as_ptr();
                self.mapping.instruction.flush(start, len as usize);
            }
        }
        if let Some(pages) = self.dirty_pages.as_ref().filter(|_| len > 0) {
            // SAFETY: the caller's promise, and all pages inside `len` were covered before.
            unsafe { pages.note(at, len) };
        }
    }

    /// The word at `at`.
    ///
    /// # Safety
    ///
    /// `at` is a multiple of 8 and `at + 8 <= self.len()`.
    #[inline(always)]
    unsafe fn word(&self, at: u64) -> &AtomicU64 {
        // SAFETY: the caller keeps `at` inside `len`, all of which is mapped readable until `self` is dropped, and
        // writable unless the mapping is read-only; the base is 2 MiB aligned, and every access to the words is atomic.
        // The words of a read-only mapping are only loaded, each by one instruction that only reads, on x86-64 and
        // AArch64 and in every order (`mov`, `ldar`).
        unsafe { self.base.add(at as usize).cast().as_ref() }
    }

    /// With debug assertions, panics at a store that a read-only mapping would trap, and names the place of the store.
    #[inline(always)]
    #[track_caller]
    fn expect_writable(&self) {
        debug_assert!(!self.mapping.read_only, "a store to a mapping that can only be read");
    }

    /// Extends the file from `have` to `grown` bytes, a multiple of [`STEP`], and maps the new bytes.
    fn extend_to(&self, growth: &mut Growth, file: &File, have: u64, grown: u64) -> Result<()> {
        let sharing = sharing(self.mapping);
        let [mapped, to] = [have, grown].map(|len| len.next_multiple_of(HUGE_PAGE));
        growth.mapped = growth.mapped.max(to);
        // SAFETY: `mapped..to` is beyond `len`, so nothing refers into it, and no thread accesses a byte of it before
        // `len` includes that byte. By then the byte is allocated.
        unsafe { self.reservation.map(file, mapped, to, sharing, self.folios) }
            .map_err(|error| Error::io("mapping the pool's growth", error))?;
        if self.is_tmpfs {
            self.extend_by_huge_pages(file, have, grown)?;
        } else {
            disk::extend(file, have, grown)?;
        }
        if self.mapping.direct {
            // On persistent memory a later store may be durable at once, so its block must be durable before.
            file.sync_all().map_err(|e| Error::io("syncing the pool's new length", e))?;
        }
        if let Some(pages) = &self.dirty_pages {
            pages.cover(have, grown)?;
        }
        // Pairs with the load in `len`: a thread that sees the length also sees the mapping and the table of notes.
        self.len.store(grown, Ordering::Release);
        Ok(())
    }

    /// Extends a file on tmpfs in pieces of 2 MiB. The kernel makes a huge page by copying the existing pages, which is
    /// cheap while there is only one. So a new piece that the growth covers entirely gets its huge page first. A piece
    /// that grows in steps gets it with its last step: earlier, the huge page would take memory that the file may never
    /// need. At whatever point the process is killed, the file ends inside the piece that is being extended, and has no
    /// hole before that piece.
    fn extend_by_huge_pages(&self, file: &File, have: u64, grown: u64) -> Result<()> {
        let before = disk::length(file)?;
        let mut from = have;
        while from < grown {
            let (piece, end) = (from - from % HUGE_PAGE, from - from % HUGE_PAGE + HUGE_PAGE);
            let to = grown.min(end);
            let is_new = from == piece && to == end;
            if is_new && disk::sow(file, from) {
                self.reservation.collapse(piece, end);
            }
            if let Err(error) = disk::extend(file, from, to) {
                return Err(disk::give_back(file, before).err().unwrap_or(error));
            }
            if !is_new && to == end {
                // The kernel moves the existing pages; threads that access them meanwhile wait.
                self.reservation.collapse(piece, end);
            }
            from = to;
        }
        Ok(())
    }
}

fn sharing(mapping: Mapping) -> Sharing {
    match mapping {
        Mapping { read_only: true, .. } => Sharing::ReadOnly,
        Mapping { direct: true, .. } => Sharing::SharedDax,
        Mapping { .. } => Sharing::Shared,
    }
}

// SAFETY: `0..len` is mapped and stays mapped until the medium is dropped: `len` only grows, until `cut` or `release`
// reduces it and maps zeros in place of the file. Every access is one atomic operation.
unsafe impl Media for Mapped {
    #[inline(always)]
    fn len(&self) -> u64 {
        // Pairs with the stores in `extend_to`, `cut` and `release`.
        self.len.load(Ordering::Acquire)
    }

    fn grow(&self, len: u64) -> Result<()> {
        if len <= self.len() {
            return Ok(());
        }
        if self.mapping.read_only {
            return Err(Error::ReadOnly);
        }
        let mut growth = self.growth.lock();
        if growth.has_ended {
            return Err(Error::Closed { pool: None });
        }
        let have = self.len();
        if len <= have {
            return Ok(());
        }
        let file = self.file()?;
        file.expect_own()?;
        // Excludes other media of the same file, whose growth might fail and be undone meanwhile.
        let FileId { device, inode } = file.id();
        let _length = Claim::wait(Right::Length, device, inode, true);
        let limit = self.limit();
        let need = len.checked_next_multiple_of(STEP).filter(|&need| need <= limit);
        let need = need.ok_or_else(|| {
            let is_scarce = self.reservation.is_scarce();
            let kind = if is_scarce { SpaceLimit::AddressSpace } else { SpaceLimit::MaxSize };
            Error::full(len - have, limit - have, kind)
        })?;
        // Grows by no more than needed: an operation is waiting, and where the kernel clears new pages, as on tmpfs, 2
        // MiB take milliseconds.
        self.extend_to(&mut growth, &file, have, need)
    }

    /// Rounds `len` up to a whole [`STEP`]. The steps in order, and what an access to a byte after `len` or a crash
    /// finds after each:
    ///
    /// | step | an access to a byte after `len` | a crash after the step |
    /// | --- | --- | --- |
    /// | `len` is stored | refused through a new `Span` or `Region`; reads the file through an old one | the file is as long as before |
    /// | zeros are mapped in place of the file | reads zeros through an old one | the file is as long as before |
    /// | the file is truncated | reads zeros through an old one | the file is shorter; after a power loss it may be as long as before |
    ///
    /// So no access, however late, reaches a page that the file no longer has. Nothing is synced: a file may be longer
    /// than the pool in it.
    fn cut(&self, len: u64) -> Result<()> {
        if self.mapping.read_only {
            return Err(Error::ReadOnly);
        }
        let mut growth = self.growth.lock();
        let file = self.file()?;
        file.expect_own()?;
        let FileId { device, inode } = file.id();
        let _length = Claim::wait(Right::Length, device, inode, true);
        let have = self.len();
        let Some(to) = len.checked_next_multiple_of(STEP).filter(|&to| to <= have) else {
            return Ok(());
        };
        growth.has_ended = true;
        // Pairs with the load in `len`.
        self.len.store(to, Ordering::Release);
        // SAFETY: the caller has ended all operations, and `len` refuses new ones. An old `Span` that is used
        // nevertheless reads the file or zeros, because the kernel replaces the file by zeros in one step.
        unsafe { self.reservation.blank(&(to..have.next_multiple_of(HUGE_PAGE))) }
            .map_err(|error| Error::io("unmapping the end of the pool's file", error))?;
        disk::give_back(&file, to)
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
        self.expect_writable();
        // SAFETY: the caller's promise.
        unsafe { self.word(at) }.store(value, order);
    }

    #[inline(always)]
    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        self.expect_writable();
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
        self.expect_writable();
        // SAFETY: as in `word`; the caller keeps all 16 bytes inside `len`, and aligned.
        let pair: &Pair = unsafe { self.base.add(at as usize).cast().as_ref() };
        pair::exchange(pair, old, new)
    }

    #[inline(always)]
    unsafe fn flush(&self, at: u64, len: u64) {
        if self.on_flush != 0 {
            // SAFETY: the caller's promise.
            unsafe { self.write_back_and_note(at, len) };
        }
    }

    #[inline(always)]
    unsafe fn stream(&self, at: u64, value: u64) {
        self.expect_writable();
        if cfg!(target_arch = "x86_64") && self.needs_flush() {
            // SAFETY: the caller keeps the aligned word inside `len`, and fences before any code relies on the order.
            unsafe { flush::stream_word(self.base.add(at as usize).cast().as_ptr(), value) };
            if let Some(pages) = &self.dirty_pages {
                // SAFETY: as for the store.
                unsafe { pages.note(at, 8) };
            }
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
        self.on_flush & WRITES_BACK != 0
    }

    #[inline(always)]
    fn hears_flushes(&self) -> bool {
        self.on_flush != 0
    }

    #[inline(always)]
    fn prefetch(&self, at: u64, len: u64) {
        prefetch_range(self.base.as_ptr(), at, len);
    }

    fn sync(&self) -> Result<()> {
        if self.mapping.read_only {
            return Ok(());
        }
        // On Linux this also writes back stores through the mapping, as `msync` would.
        self.file()?.sync_data().map_err(|error| Error::io("syncing the pool's file", error))
    }
}

#[cfg(test)]
mod tests;
