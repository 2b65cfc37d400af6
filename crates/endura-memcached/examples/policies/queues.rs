//! The policies whose items move only when they are evicted: CLOCK, SIEVE, S3-FIFO.

use std::collections::VecDeque;

use super::Cache;

/// CLOCK: a queue from which an item that was fetched goes back to the end once.
pub(crate) struct Clock {
    queue: VecDeque<u32>,
    /// The bytes of each item that is there, and whether it was fetched.
    items: Vec<Option<(u64, bool)>>,
    room: u64,
}

impl Clock {
    pub(crate) fn new(room: u64, keys: usize) -> Self {
        Self { queue: VecDeque::new(), items: vec![None; keys], room }
    }
}

impl Cache for Clock {
    fn ask(&mut self, key: u32, bytes: u64) -> bool {
        if let Some((_, was_fetched)) = &mut self.items[key as usize] {
            *was_fetched = true;
            return true;
        }
        while self.room < bytes
            && let Some(first) = self.queue.pop_front()
        {
            match self.items[first as usize].take() {
                Some((bytes, true)) => {
                    self.items[first as usize] = Some((bytes, false));
                    self.queue.push_back(first);
                }
                Some((bytes, false)) => self.room += bytes,
                None => {}
            }
        }
        self.items[key as usize] = Some((bytes, false));
        self.queue.push_back(key);
        self.room -= bytes;
        false
    }
}

/// SIEVE: a hand goes from the oldest item to the newest, and evicts what was not fetched since it came by.
pub(crate) struct Sieve {
    /// Oldest first. What was evicted stays as a gap until the list is packed.
    list: Vec<Option<u32>>,
    hand: usize,
    gaps: usize,
    items: Vec<Option<(u64, bool)>>,
    room: u64,
}

impl Sieve {
    pub(crate) fn new(room: u64, keys: usize) -> Self {
        Self { list: Vec::new(), hand: 0, gaps: 0, items: vec![None; keys], room }
    }

    fn evict(&mut self) {
        loop {
            if self.hand >= self.list.len() {
                self.hand = 0;
            }
            if let Some(key) = self.list[self.hand]
                && let Some((bytes, was_fetched)) = &mut self.items[key as usize]
                && !std::mem::take(was_fetched)
            {
                self.room += *bytes;
                self.items[key as usize] = None;
                self.list[self.hand] = None;
                self.gaps += 1;
                return;
            }
            self.hand += 1;
        }
    }

    fn pack(&mut self) {
        self.hand = self.list[..self.hand].iter().flatten().count();
        self.list.retain(Option::is_some);
        self.gaps = 0;
    }
}

impl Cache for Sieve {
    fn ask(&mut self, key: u32, bytes: u64) -> bool {
        if let Some((_, was_fetched)) = &mut self.items[key as usize] {
            *was_fetched = true;
            return true;
        }
        while self.room < bytes {
            self.evict();
        }
        if self.gaps > self.list.len() / 2 {
            self.pack();
        }
        self.items[key as usize] = Some((bytes, false));
        self.list.push(Some(key));
        self.room -= bytes;
        false
    }
}

/// S3-FIFO: a small queue for new items, a main queue, and a queue of the keys that the small one has evicted.
pub(crate) struct S3Fifo {
    small: VecDeque<u32>,
    main: VecDeque<u32>,
    ghost: VecDeque<u32>,
    is_ghost: Vec<bool>,
    /// The bytes of each item that is there, and how often it was fetched, up to three times.
    items: Vec<Option<(u64, u8)>>,
    all: u64,
    small_bytes: u64,
    main_bytes: u64,
}

impl S3Fifo {
    pub(crate) fn new(room: u64, keys: usize) -> Self {
        let [small, main, ghost] = [(); 3].map(|()| VecDeque::new());
        let (is_ghost, items) = (vec![false; keys], vec![None; keys]);
        Self { small, main, ghost, is_ghost, items, all: room, small_bytes: 0, main_bytes: 0 }
    }

    fn evict(&mut self) {
        if self.small_bytes > self.all / 10 || self.main.is_empty() {
            let Some(key) = self.small.pop_front() else { return };
            let Some((bytes, count)) = self.items[key as usize] else { return };
            self.small_bytes -= bytes;
            if count > 1 {
                self.items[key as usize] = Some((bytes, 0));
                self.main.push_back(key);
                self.main_bytes += bytes;
            } else {
                self.items[key as usize] = None;
                self.is_ghost[key as usize] = true;
                self.ghost.push_back(key);
                while self.ghost.len() > self.main.len().max(1) {
                    if let Some(key) = self.ghost.pop_front() {
                        self.is_ghost[key as usize] = false;
                    }
                }
            }
            return;
        }
        let Some(key) = self.main.pop_front() else { return };
        match self.items[key as usize].take() {
            Some((bytes, count @ 1..)) => {
                self.items[key as usize] = Some((bytes, count - 1));
                self.main.push_back(key);
            }
            Some((bytes, 0)) => self.main_bytes -= bytes,
            None => {}
        }
    }
}

impl Cache for S3Fifo {
    fn ask(&mut self, key: u32, bytes: u64) -> bool {
        if let Some((_, count)) = &mut self.items[key as usize] {
            *count = (*count + 1).min(3);
            return true;
        }
        while self.small_bytes + self.main_bytes + bytes > self.all {
            self.evict();
        }
        self.items[key as usize] = Some((bytes, 0));
        if self.is_ghost[key as usize] {
            self.main.push_back(key);
            self.main_bytes += bytes;
        } else {
            self.small.push_back(key);
            self.small_bytes += bytes;
        }
        false
    }
}
