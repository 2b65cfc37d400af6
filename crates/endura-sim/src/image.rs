//! The words of a medium: sparse, cheap to copy, with a hash that is always up to date.

use std::sync::Arc;

/// Words of a frame, the unit that copies share until one of them writes.
const FRAME: u64 = 64;
/// Lines of a frame.
const LINES: u64 = FRAME / 8;

/// Words by byte offset; those never written are zero. A copy costs one counter per frame (half a
/// kilobyte) that was ever written.
#[derive(Debug, Clone, Default)]
pub struct Image {
    /// Sorted by number.
    frames: Vec<(u64, Arc<[u64; FRAME as usize]>)>,
    len: u64,
    hash: u64,
}

/// The hash of a word in its place; that of a zero is zero. (The hash of an image is the sum, without
/// carries, of those of its words.)
fn mix(at: u64, value: u64) -> u64 {
    if value == 0 {
        return 0;
    }
    let mut x = at.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ value.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x = (x ^ x >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x = (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ x >> 32
}

impl Image {
    /// Zeros.
    pub fn zeros(len: u64) -> Self {
        Self { frames: Vec::new(), len, hash: 0 }
    }

    /// Bytes of the medium.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the medium has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn set_len(&mut self, len: u64) {
        self.len = len;
    }

    /// Ends with byte `len`, a multiple of 8: words behind are zero.
    pub(crate) fn cut(&mut self, len: u64) {
        let from = self.frames.partition_point(|frame| frame.0 < len / 8 / FRAME);
        let words =
            self.frames[from..].iter().flat_map(|frame| frame.0 * FRAME..(frame.0 + 1) * FRAME);
        let behind: Vec<u64> = words.map(|word| 8 * word).filter(|&at| at >= len).collect();
        behind.into_iter().for_each(|at| self.set(at, 0));
        self.len = len;
    }

    /// Equal contents have equal hashes.
    pub fn hash(&self) -> u64 {
        self.hash ^ self.len
    }

    /// What a line contributes to [`hash`](Self::hash).
    pub(crate) fn line_hash(&self, line: u64) -> u64 {
        Self::hash_of_line(line, &self.line(line))
    }

    /// What a line of these words would contribute.
    pub(crate) fn hash_of_line(line: u64, words: &[u64; 8]) -> u64 {
        words.iter().zip(line * 8..).fold(0, |hash, (&value, word)| hash ^ mix(8 * word, value))
    }

    /// The word at byte `at`.
    pub fn word(&self, at: u64) -> u64 {
        let (frame, slot) = (at / 8 / FRAME, at / 8 % FRAME);
        match self.frames.binary_search_by_key(&frame, |f| f.0) {
            Ok(i) => self.frames[i].1[slot as usize],
            Err(_) => 0,
        }
    }

    /// The word at byte `at`; `recent` is where the last one was found, and is looked at first.
    #[inline(always)]
    pub(crate) fn word_near(&self, at: u64, recent: &mut usize) -> u64 {
        let (frame, slot) = (at / 8 / FRAME, at / 8 % FRAME);
        if self.frames.get(*recent).is_none_or(|f| f.0 != frame) {
            match self.frames.binary_search_by_key(&frame, |f| f.0) {
                Ok(i) => *recent = i,
                Err(_) => return 0,
            }
        }
        self.frames[*recent].1[slot as usize]
    }

    /// Writes the word at byte `at`.
    pub fn set(&mut self, at: u64, value: u64) {
        let (frame, slot) = (at / 8 / FRAME, (at / 8 % FRAME) as usize);
        let i = match self.frames.binary_search_by_key(&frame, |f| f.0) {
            Ok(i) => i,
            Err(_) if value == 0 => return,
            Err(i) => {
                self.frames.insert(i, (frame, Arc::new([0; FRAME as usize])));
                i
            }
        };
        if self.frames[i].1[slot] == value {
            return;
        }
        let words = Arc::make_mut(&mut self.frames[i].1);
        self.hash ^= mix(at, words[slot]) ^ mix(at, value);
        words[slot] = value;
    }

    /// The eight words of a line.
    pub fn line(&self, line: u64) -> [u64; 8] {
        match self.frames.binary_search_by_key(&(line / LINES), |f| f.0) {
            Ok(i) => {
                let first = (line % LINES * 8) as usize;
                std::array::from_fn(|word| self.frames[i].1[first + word])
            }
            Err(_) => [0; 8],
        }
    }

    /// Writes the eight words of a line.
    pub fn set_line(&mut self, line: u64, words: &[u64; 8]) {
        for (i, &word) in words.iter().enumerate() {
            self.set(line * 64 + 8 * i as u64, word);
        }
    }
}
