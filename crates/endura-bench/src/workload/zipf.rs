//! Ranks by Zipf's law, exactly and in constant time and space.

/// Draws ranks in `0..n` with probability proportional to `1 / (rank + 1)^theta`: the skew of the
/// YCSB benchmarks. By rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate
/// variates from monotone discrete distributions", 1996), which takes every `theta` above 0 and draws
/// less than 1.2 numbers for a rank on average.
#[derive(Debug, Clone)]
pub struct Zipf {
    n: f64,
    theta: f64,
    /// The integral of the hat at its two ends.
    low: f64,
    high: f64,
    /// Below this distance from a whole number no further test is needed.
    sure: f64,
}

impl Zipf {
    /// The skew that YCSB uses.
    pub const YCSB: f64 = 0.99;

    /// A distribution over `n` ranks, at least one; `theta > 0`.
    pub fn new(n: u64, theta: f64) -> Self {
        let n = n.max(1) as f64;
        let mut zipf = Self { n, theta, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// The next rank. Rank 0 is the most frequent.
    pub fn draw(&self, rng: &mut fastrand::Rng) -> u64 {
        loop {
            let u = self.high + rng.f64() * (self.low - self.high);
            let x = self.inverse(u);
            let k = x.round().clamp(1.0, self.n);
            if k - x <= self.sure || u >= self.integral(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.theta)
    }

    /// The integral of the density from 1: `(x^(1 - theta) - 1) / (1 - theta)`, the logarithm at 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.theta) * log;
        // (e^t - 1) / t, and its limit.
        if t.abs() < 1e-12 { log } else { t.exp_m1() / t * log }
    }

    fn inverse(&self, y: f64) -> f64 {
        let t = (y * (1.0 - self.theta)).max(-1.0);
        if t.abs() < 1e-12 { y.exp() } else { (t.ln_1p() / t * y).exp() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frequencies of a million draws against the law itself: Pearson's chi-squared over the
    /// first ranks and the rest, 4 standard deviations above its mean at most.
    #[test]
    fn draws_follow_the_law() {
        for (n, theta) in [(1000, 0.99), (1000, 0.5), (50, 1.0), (1000, 1.2), (3, 0.8), (1, 0.99)] {
            let (zipf, mut rng) = (Zipf::new(n, theta), fastrand::Rng::with_seed(1));
            let mut seen = vec![0_u32; n as usize];
            let draws = 1_000_000;
            (0..draws).for_each(|_| seen[zipf.draw(&mut rng) as usize] += 1);
            let weight = |rank: usize| ((rank + 1) as f64).powf(-theta);
            let sum: f64 = (0..seen.len()).map(weight).sum();
            let squared = |(rank, &count): (usize, &u32)| {
                let expected = f64::from(draws) * weight(rank) / sum;
                (f64::from(count) - expected).powi(2) / expected
            };
            let chi: f64 = seen.iter().enumerate().map(squared).sum();
            let freedom = n as f64 - 1.0;
            assert!(chi <= freedom + 4.0 * (2.0 * freedom).sqrt() + 1e-9, "{n} {theta}: {chi}");
        }
    }
}
