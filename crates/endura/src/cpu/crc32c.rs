//! CRC32C of the few bytes of a key or a value.
//!
//! The crate `crc32c` is made for long runs: it prepares tables and lanes, which takes longer than the checksum of a
//! key. If the processor has the instruction, short runs use it word by word. It is in `asm!`, because an intrinsic
//! would be a call: the program may have been built for another processor.

/// The longest run that is taken word by word, in bytes.
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 256;

/// The checksum of what `sum` is the checksum of, followed by `bytes`; that of nothing is 0.
#[inline]
pub(crate) fn append(sum: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() <= SHORT && std::arch::is_x86_feature_detected!("sse4.2") {
        let (words, rest) = bytes.as_chunks();
        let mut sum = u64::from(!sum);
        for word in words {
            // SAFETY: the processor has the instruction (checked above), which touches registers only.
            unsafe {
                std::arch::asm!(
                    "crc32 {sum}, {word}",
                    sum = inout(reg) sum,
                    word = in(reg) u64::from_le_bytes(*word),
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
        }
        for byte in rest {
            // SAFETY: as above.
            unsafe {
                std::arch::asm!(
                    "crc32 {sum:e}, {byte}",
                    sum = inout(reg) sum,
                    byte = in(reg_byte) *byte,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
        }
        return !(sum as u32);
    }
    crc32c::crc32c_append(sum, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_runs_have_the_sum_of_the_crate() {
        let bytes: Vec<u8> = (0..600_u32).map(|i| (i * i % 251) as u8).collect();
        for length in (0..40).chain([255, 256, 257, 600]) {
            let run = &bytes[..length];
            assert_eq!(append(0, run), crc32c::crc32c(run), "{length} bytes");
            let (head, tail) = run.split_at(length / 3);
            assert_eq!(append(append(0, head), tail), crc32c::crc32c(run), "{length} bytes in two");
        }
        assert_eq!(append(0, b"123456789"), 0xE306_9283);
    }
}
