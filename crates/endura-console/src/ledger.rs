//! A record of the operations that a process had begun and completed when it was killed.
//!
//! The record is a file of words outside the pool, mapped by the writer and by the process that kills it. Before each
//! operation a writer thread stores how many operations it has begun, and after it how many have returned: two stores to
//! its own line, no system call. Stores of a killed process stay in the page cache, and a thread is killed between two
//! instructions, with all earlier ones done. So the file shows exactly how far the thread had got.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use endura_engine::media::{
    Domain, FlushInstruction, Mapped, Mapping, Ordering, Reservation, Span,
};

use crate::child::Child;
use crate::outcome::{Failure, Result};

const LINE: u64 = 64;
const FILE_BYTES: u64 = 2 << 20;
const PATIENCE: Duration = Duration::from_secs(120);

/// The file, mapped.
pub struct Ledger {
    words: Mapped,
}

/// The line of one thread: the number of operations that it has begun, and of those that have returned.
pub struct Account<'l>(Span<'l, Mapped, 8>);

impl Ledger {
    /// A new ledger of zeros; nothing may be at `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let failure = |e| Failure::at_path("cannot create", path, &e);
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(path);
        let file = file.map_err(failure)?;
        file.set_len(FILE_BYTES).map_err(failure)?;
        Self::map(path, file)
    }

    /// Opens the ledger that another process created.
    pub fn open(path: &Path) -> Result<Self> {
        let failure = |e| Failure::at_path("cannot open", path, &e);
        Self::map(path, File::options().read(true).write(true).open(path).map_err(failure)?)
    }

    fn map(path: &Path, file: File) -> Result<Self> {
        let range = Reservation::new(FILE_BYTES);
        let range = range.map_err(|e| Failure::io("cannot reserve addresses", &e))?;
        // In the page cache nothing is ever flushed: the choice of the instruction does not matter.
        let instruction = FlushInstruction::Clflush;
        let domain = Domain::PageCache;
        let mapping =
            Mapping { read_only: false, direct: false, domain, instruction, notes_pages: false };
        let words = Mapped::new(file, range, mapping);
        Ok(Self { words: words.map_err(|error| Failure::at(path, &error))? })
    }

    /// The line of `thread`.
    pub fn account(&self, thread: usize) -> endura::Result<Account<'_>> {
        Span::new(&self.words, LINE * (1 + thread as u64)).map(Account)
    }

    fn ready(&self) -> endura::Result<Span<'_, Mapped, 8>> {
        Span::new(&self.words, 0)
    }

    /// Reports that the threads are about to start.
    pub fn set_ready(&self) -> Result<()> {
        // Pairs with the load in `wait_ready`.
        self.ready()?.store(0, 1, Ordering::Release);
        Ok(())
    }

    /// Waits until the child reports that it is ready; fails if it ends before.
    pub fn wait_ready(&self, child: &mut Child) -> Result<()> {
        let (ready, begun) = (self.ready()?, Instant::now());
        // Pairs with the store in `set_ready`.
        while ready.load(0, Ordering::Acquire) == 0 {
            if let Some(ended) = child.ended()? {
                return Err(Failure::Message(format!("the writer ended too early: {ended}")));
            }
            if begun.elapsed() > PATIENCE {
                return Err(Failure::Message("the writer did not begin within 120 s".into()));
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }
}

impl Account<'_> {
    /// Records that operation number `count` (from 1) is about to begin.
    #[inline]
    pub fn begin(&self, count: u64) {
        // Only the compiler could move the store after the operation, because a kill comes between two instructions.
        self.0.store(0, count, Ordering::Release);
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    /// Records that operation number `count` has returned.
    #[inline]
    pub fn acknowledge(&self, count: u64) {
        // Release keeps the store after the operation.
        self.0.store(1, count, Ordering::Release);
    }

    /// The number of operations that have begun.
    pub fn begun(&self) -> u64 {
        self.0.load(0, Ordering::Acquire)
    }

    /// The number of operations that have returned.
    pub fn acknowledged(&self) -> u64 {
        self.0.load(1, Ordering::Acquire)
    }
}
