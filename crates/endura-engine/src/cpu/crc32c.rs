//! CRC-32C of short runs of bytes, such as a key or a value.
//!
//! The crate `crc32c` is made for long runs: it computes several parts at once and combines them, and the combination
//! takes longer than the checksum of a key. If the processor has the instruction, short runs use it word by word. The
//! instruction is in `asm!`, because an intrinsic would be a function call in a program that is built for all
//! processors of the architecture.

/// The longest run, in bytes, that is summed word by word. Up to this length the crate is slower.
const SHORT: usize = 512;

/// Extends the checksum `sum` by `bytes`: returns the checksum of the bytes summed so far followed by `bytes`. The
/// checksum of no bytes is 0.
#[inline]
pub fn append(sum: u32, bytes: &[u8]) -> u32 {
    if bytes.len() <= SHORT
        && let Some(instruction) = Instruction::detect()
    {
        let (words, rest) = bytes.as_chunks();
        let sum = words.iter().fold(!sum, |sum, word| instruction.word(sum, *word));
        return !rest.iter().fold(sum, |sum, byte| instruction.byte(sum, *byte));
    }
    crc32c::crc32c_append(sum, bytes)
}

/// Extends the checksum `sum` by the bytes of `words`, each from its lowest byte upwards.
#[inline]
pub fn append_words(sum: u32, words: impl Iterator<Item = u64>) -> u32 {
    match Instruction::detect() {
        Some(instruction) => {
            !words.fold(!sum, |sum, word| instruction.word(sum, word.to_le_bytes()))
        }
        None => words.fold(sum, |sum, word| crc32c::crc32c_append(sum, &word.to_le_bytes())),
    }
}

/// Proof that the processor has the instruction.
#[derive(Clone, Copy)]
struct Instruction(());

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Instruction {
    #[inline(always)]
    fn detect() -> Option<Self> {
        std::arch::is_x86_feature_detected!("sse4.2").then_some(Self(()))
    }

    #[inline(always)]
    fn word(self, sum: u32, word: [u8; 8]) -> u32 {
        let mut sum = u64::from(sum);
        // SAFETY: an `Instruction` proves that the processor has the instruction, which accesses registers only.
        unsafe {
            std::arch::asm!(
                "crc32 {sum}, {word}",
                sum = inout(reg) sum,
                word = in(reg) u64::from_le_bytes(word),
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        sum as u32
    }

    #[inline(always)]
    fn byte(self, mut sum: u32, byte: u8) -> u32 {
        // SAFETY: as in `word`.
        unsafe {
            std::arch::asm!(
                "crc32 {sum:e}, {byte}",
                sum = inout(reg) sum,
                byte = in(reg_byte) byte,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        sum
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
impl Instruction {
    #[inline(always)]
    fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("crc").then_some(Self(()))
    }

    #[inline(always)]
    fn word(self, mut sum: u32, word: [u8; 8]) -> u32 {
        // SAFETY: an `Instruction` proves that the processor has the instruction, which accesses registers only.
        unsafe {
            std::arch::asm!(
                ".arch_extension crc",
                "crc32cx {sum:w}, {sum:w}, {word}",
                sum = inout(reg) sum,
                word = in(reg) u64::from_le_bytes(word),
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        sum
    }

    #[inline(always)]
    fn byte(self, mut sum: u32, byte: u8) -> u32 {
        // SAFETY: as in `word`.
        unsafe {
            std::arch::asm!(
                ".arch_extension crc",
                "crc32cb {sum:w}, {sum:w}, {byte:w}",
                sum = inout(reg) sum,
                byte = in(reg) u32::from(byte),
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        sum
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl Instruction {
    fn detect() -> Option<Self> {
        None
    }

    // Never called: `detect` returns `None`.

    fn word(self, sum: u32, _: [u8; 8]) -> u32 {
        sum
    }

    fn byte(self, sum: u32, _: u8) -> u32 {
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_runs_have_the_sum_of_the_crate() {
        let bytes: Vec<u8> = (0..1200_u32).map(|i| (i * i % 251) as u8).collect();
        for length in (0..40).chain([255, 256, 511, 512, 513, 520, 1200]) {
            let run = &bytes[..length];
            assert_eq!(append(0, run), crc32c::crc32c(run), "{length} bytes");
            let (head, tail) = run.split_at(length / 3);
            assert_eq!(append(append(0, head), tail), crc32c::crc32c(run), "{length} bytes in two");
        }
        assert_eq!(append(0, b"123456789"), 0xE306_9283);
    }
}
