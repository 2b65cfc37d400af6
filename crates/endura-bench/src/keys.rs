//! Which number is the i-th key, and skewed choices among the keys.

/// The i-th key: a bijection of the 64-bit numbers whose values look random (the finalizer of
/// splitmix64). No set has to remember which keys exist: key `i` exists if `i` was inserted.
#[inline]
pub const fn key(index: u64) -> u64 {
    let mut x = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The index whose [`key`] this is.
///
/// ```
/// use endura_bench::keys::{index, key};
/// assert_eq!(index(key(7)), 7);
/// ```
#[inline]
pub const fn index(key: u64) -> u64 {
    let mut x = key ^ (key >> 31) ^ (key >> 62);
    x = x.wrapping_mul(0x3196_42b2_d24d_8ec3);
    x = x ^ (x >> 27) ^ (x >> 54);
    x = x.wrapping_mul(0x96de_1b17_3f11_9089);
    x = x ^ (x >> 30) ^ (x >> 60);
    x.wrapping_sub(0x9e37_79b9_7f4a_7c15)
}

/// The value stored under the i-th key by a load.
#[inline]
pub const fn value(index: u64) -> u64 {
    !index
}

/// Draws ranks in `0..n` with probability proportional to `1 / (rank + 1)^theta`, the skew of the
/// YCSB benchmarks (Gray et al., "Quickly generating billion-record synthetic databases").
#[derive(Debug, Clone)]
pub struct Zipf {
    n: f64,
    theta: f64,
    alpha: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    /// The skew that YCSB uses.
    pub const YCSB: f64 = 0.99;

    /// A distribution over `n` ranks; `0 < theta < 1`. Takes time proportional to `n`.
    pub fn new(n: u64, theta: f64) -> Self {
        let zeta_of = |n: u64| (1..=n).map(|i| (i as f64).powf(-theta)).sum::<f64>();
        let (zeta, n) = (zeta_of(n), n as f64);
        let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - zeta_of(2) / zeta);
        Self { n, theta, alpha: 1.0 / (1.0 - theta), zeta, eta }
    }

    /// The next rank. Rank 0 is the most frequent.
    #[inline]
    pub fn draw(&self, rng: &mut fastrand::Rng) -> u64 {
        let u = rng.f64();
        let scaled = u * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(self.theta) {
            return 1;
        }
        let rank = self.n * (self.eta * u - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.n as u64 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_inverts_key() {
        for i in [0, 1, 2, 1 << 31, 1 << 62, u64::MAX, 0x1234_5678_9abc_def0] {
            assert_eq!(index(key(i)), i);
            assert_eq!(key(index(i)), i);
        }
    }

    #[test]
    fn zipf_prefers_low_ranks_in_the_known_proportion() {
        let (zipf, mut rng) = (Zipf::new(1000, Zipf::YCSB), fastrand::Rng::with_seed(1));
        let draws = 200_000;
        let zeros = (0..draws).filter(|_| zipf.draw(&mut rng) == 0).count() as f64;
        // zeta(1000, 0.99) is 7.7, so rank 0 has 13 % of the draws.
        assert!((zeros / f64::from(draws) - 0.129).abs() < 0.01);
        assert!((0..draws).all(|_| zipf.draw(&mut rng) < 1000));
    }
}
