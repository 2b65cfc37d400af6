//! Numbers that look random, and can be computed from an index.

/// The output of SplitMix64 after the state `n`. No two inputs have the same output.
pub fn splitmix(n: u64) -> u64 {
    mix(n.wrapping_add(0x9E37_79B9_7F4A_7C15))
}

/// The same without the step of the state: 0 gives 0.
pub fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ n >> 31
}
