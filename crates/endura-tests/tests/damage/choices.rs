//! What a fuzzer chooses.

/// Numbers at which sums and differences run over.
pub(crate) const EXTREMES: [u64; 8] = [
    u64::MAX,
    i64::MAX as u64,
    1 << 63,
    1 << 62,
    u64::MAX - 63,
    (1 << 48) - 1,
    (1 << 48) - 64,
    u32::MAX as u64,
];

/// The bytes that say what is to be damaged; zeros follow the last.
pub(crate) struct Choices<'b>(pub(crate) &'b [u8]);

impl Choices<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(crate) fn number(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (u64::from(self.byte()) << 8 | u64::from(self.byte())) as usize % n
    }

    /// One in so many.
    pub(crate) fn one_in(&mut self, n: u8) -> bool {
        self.byte() % n == 1
    }
}
