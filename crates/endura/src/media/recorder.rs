//! A medium for tests that remembers every store, flush and fence, and what a crash could leave of
//! them. It can refuse allocations as well.

use std::collections::{BTreeMap, HashMap};

use super::{LINE, Media, Ordering};
use crate::sync::{AtomicU64, Mutex};
use crate::{Error, Result};

#[derive(Debug, Clone, Copy)]
enum Event {
    Store { at: u64, value: u64 },
    Flush { line: u64, by: usize },
    Fence { by: usize },
    Grow { len: u64 },
}

type Words = HashMap<u64, u64>;

/// What survived: the words that are not zero, and the length.
#[derive(Debug, Clone, Default)]
pub(crate) struct Image {
    words: Words,
    len: u64,
}

impl Image {
    pub(crate) fn word(&self, at: u64) -> u64 {
        self.words.get(&at).copied().unwrap_or(0)
    }
}

/// Sparse words and the events of one run.
pub(crate) struct Recorder {
    start: Image,
    words: Mutex<Words>,
    events: Mutex<Vec<Event>>,
    len: AtomicU64,
    limit: u64,
    thread: fn() -> usize,
    /// Allocations until one is refused.
    grants: AtomicU64,
}

impl Recorder {
    /// The words of `start`, to grow up to `limit` bytes. `thread` tells which thread is at work: a
    /// fence orders the flushes of its own thread only.
    pub(crate) fn new(start: Image, limit: u64, thread: fn() -> usize) -> Self {
        Self {
            words: Mutex::new(start.words.clone()),
            events: Mutex::default(),
            len: AtomicU64::new(start.len),
            limit,
            thread,
            grants: AtomicU64::new(u64::MAX),
            start,
        }
    }

    /// Refuses the `n`-th allocation from now on, once; 0 refuses none.
    pub(crate) fn refuse(&self, n: u64) {
        self.grants.store(n.wrapping_sub(1), Ordering::Relaxed);
    }

    fn log(&self, event: Event) {
        self.events.lock().push(event);
    }

    /// How many events there were so far.
    pub(crate) fn moment(&self) -> usize {
        self.events.lock().len()
    }

    /// What is there if nothing is lost.
    pub(crate) fn image(&self) -> Image {
        let words =
            self.words.lock().iter().map(|(&at, &word)| (at, word)).filter(|w| w.1 != 0).collect();
        Image { words, len: self.len() }
    }

    /// Calls `look` with images of every crash at or after the moment `from`: all that could be lost
    /// lost, all of it kept, each line alone lost, each line alone kept, and in between.
    ///
    /// A bulk write is looked at only before the fence that ends it: cuts of its lines at an earlier
    /// moment are cuts at the later one.
    pub(crate) fn crashes(&self, from: usize, mut look: impl FnMut(usize, Image)) {
        let events = self.events.lock();
        let mut cache = Cache { durable: self.start.clone(), lines: BTreeMap::new() };
        for (moment, &event) in events.iter().enumerate() {
            let bulk = cache.lines.len() > 3 && !matches!(event, Event::Fence { .. });
            if moment >= from && !bulk {
                cache.images(&mut |image| look(moment, image));
            }
            cache.apply(event);
        }
        cache.images(&mut |image| look(events.len(), image));
    }
}

/// A line's stores that are not durable yet, oldest first, and how many of them each thread flushed
/// since its last fence.
#[derive(Debug, Default)]
struct Line {
    stores: Vec<(u64, u64)>,
    flushed: BTreeMap<usize, usize>,
}

struct Cache {
    durable: Image,
    lines: BTreeMap<u64, Line>,
}

impl Cache {
    fn apply(&mut self, event: Event) {
        match event {
            Event::Store { at, value } => {
                self.lines.entry(at / LINE).or_default().stores.push((at, value));
            }
            Event::Flush { line, by } => {
                if let Some(line) = self.lines.get_mut(&line) {
                    line.flushed.insert(by, line.stores.len());
                }
            }
            Event::Fence { by } => {
                for line in self.lines.values_mut() {
                    let durable = line.flushed.remove(&by).unwrap_or(0);
                    self.durable.words.extend(line.stores.drain(..durable));
                    line.flushed.values_mut().for_each(|n| *n = n.saturating_sub(durable));
                }
                self.lines.retain(|_, line| !line.stores.is_empty());
            }
            Event::Grow { len } => self.durable.len = len,
        }
    }

    /// The image in which line number `i` of those in doubt keeps `cut(i, all)` of its stores.
    fn image(&self, cut: impl Fn(usize, usize) -> usize) -> Image {
        let mut image = self.durable.clone();
        for (i, line) in self.lines.values().enumerate() {
            image.words.extend(line.stores[..cut(i, line.stores.len())].iter().copied());
        }
        image
    }

    fn images(&self, look: &mut impl FnMut(Image)) {
        look(self.image(|_, _| 0));
        if self.lines.is_empty() {
            return;
        }
        look(self.image(|_, all| all));
        // Enough for the lines in doubt of one step; a bulk write is sampled.
        let step = self.lines.len().div_ceil(12);
        for chosen in (0..self.lines.len()).step_by(step) {
            look(self.image(|i, all| if i == chosen { 0 } else { all }));
            look(self.image(|i, all| if i == chosen { all } else { 0 }));
            look(self.image(|i, all| if i == chosen { all / 2 } else { all }));
            look(self.image(|i, all| if i <= chosen { all } else { 0 }));
        }
    }
}

// SAFETY: words are looked up in a table under a lock; none ever goes away.
unsafe impl Media for Recorder {
    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn grow(&self, len: u64) -> Result<()> {
        let have = self.len();
        if len > self.limit {
            return Err(Error::Full { need: len - have, free: self.limit - have });
        }
        if len > have {
            self.log(Event::Grow { len });
            self.len.store(len, Ordering::Release);
        }
        Ok(())
    }

    unsafe fn load(&self, at: u64, _: Ordering) -> u64 {
        self.words.lock().get(&at).copied().unwrap_or(0)
    }

    unsafe fn store(&self, at: u64, value: u64, _: Ordering) {
        self.words.lock().insert(at, value);
        self.log(Event::Store { at, value });
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        let mut words = self.words.lock();
        let word = words.entry(at).or_insert(0);
        if *word != old {
            return Err(*word);
        }
        *word = new;
        self.log(Event::Store { at, value: new });
        Ok(old)
    }

    unsafe fn flush(&self, at: u64, len: u64) {
        let by = (self.thread)();
        (at / LINE..(at + len).div_ceil(LINE)).for_each(|line| self.log(Event::Flush { line, by }));
    }

    fn fence(&self) {
        self.log(Event::Fence { by: (self.thread)() });
    }

    fn needs_flush(&self) -> bool {
        true
    }

    fn grant(&self) -> bool {
        self.grants.fetch_sub(1, Ordering::Relaxed) != 0
    }
}
