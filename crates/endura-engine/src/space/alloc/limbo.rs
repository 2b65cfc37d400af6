//! The limbo (retired list) of a thread: chunks that are durably unlinked, but may still be read.

use std::collections::VecDeque;

use crate::runtime::epoch::RetireTag;
use crate::runtime::retired::Retired;

/// Chunks in one block of the queue.
const BLOCK: usize = 512;

/// A retired chunk: its offset, and its bytes as requested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    pub(crate) at: u64,
    pub(crate) bytes: u64,
}

/// The chunks that one thread has retired, oldest first. Their tags never decrease.
///
/// The queue consists of blocks, because it may hold millions of chunks while a thread stays inside an operation. A
/// queue in one piece would be copied as a whole each time it grows, and some operation would have to wait for that. It
/// would also keep its memory afterwards.
#[derive(Debug, Default)]
pub(crate) struct Limbo {
    blocks: VecDeque<Vec<Retired<Chunk>>>,
    /// How many chunks of the first block were taken.
    gone: usize,
    bytes: u64,
}

impl Limbo {
    pub(crate) fn push(&mut self, tag: RetireTag, chunk: Chunk) {
        self.bytes = self.bytes.saturating_add(chunk.bytes);
        let retired = Retired::new(tag, chunk);
        match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK => block.push(retired),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(retired);
                self.blocks.push_back(block);
            }
        }
    }

    /// Takes the oldest chunk, if it has expired at epoch `now`.
    pub(crate) fn pop_expired(&mut self, now: u64) -> Option<Chunk> {
        let block = self.blocks.front_mut()?;
        let oldest = *block.get(self.gone)?.expired(now)?;
        self.gone += 1;
        if self.gone == block.len() {
            self.gone = 0;
            block.clear();
            if self.blocks.len() > 1 {
                // The last block stays, to be filled again.
                self.blocks.pop_front();
            }
        }
        self.bytes = self.bytes.saturating_sub(oldest.bytes);
        Some(oldest)
    }

    /// Bytes of all chunks in it.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Chunk> {
        self.blocks.iter().flatten().skip(self.gone).map(Retired::waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_come_first_and_only_when_they_have_expired() {
        let mut limbo = Limbo::default();
        let mut next = (0, 0);
        for round in 0..5 * BLOCK as u64 {
            for _ in 0..3 {
                limbo.push(RetireTag::of(next.0 / 7), Chunk { at: next.0, bytes: 10 });
                next.0 += 1;
            }
            let now = next.0 / 7;
            for _ in 0..if round % 2 == 0 { 5 } else { 1 } {
                let Some(expired) = limbo.pop_expired(now) else { break };
                assert_eq!(expired.at, next.1);
                assert!(expired.at / 7 + 2 <= now);
                next.1 += 1;
            }
            assert!(limbo.iter().map(|chunk| chunk.at).eq(next.1..next.0));
            assert_eq!(limbo.bytes(), (next.0 - next.1) * 10);
            assert_eq!(limbo.is_empty(), next.0 == next.1);
        }
        while limbo.pop_expired(u64::MAX).is_some() {}
        assert!(limbo.is_empty() && limbo.bytes() == 0 && limbo.blocks.len() == 1);
    }
}
