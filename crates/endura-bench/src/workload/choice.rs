//! Which keys the operations of a workload fall on.

use serde::{Deserialize, Serialize};

use super::zipf::Zipf;
use crate::{Error, Result};

/// Which of the present keys an operation falls on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// All alike.
    Uniform,
    /// By Zipf's law of this exponent; the frequent keys lie scattered among the others, as in YCSB.
    Zipf(f64),
    /// By Zipf's law of this exponent, the latest inserted the most frequent.
    Latest(f64),
    /// This share of the keys gets the rest of the operations (0.2: 20 % get 80 %), and so again
    /// within that share.
    SelfSimilar(f64),
}

impl Choice {
    /// Whether the parameter makes sense.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Uniform => Ok(()),
            Self::Zipf(theta) | Self::Latest(theta) if theta > 0.0 && theta < 10.0 => Ok(()),
            Self::SelfSimilar(share) if share > 0.0 && share <= 0.5 => Ok(()),
            Self::SelfSimilar(_) => {
                Err(Error::Config("the share of a self-similar choice lies above 0, at most 0.5"))
            }
            _ => Err(Error::Config("the exponent of Zipf's law lies above 0 and below 10")),
        }
    }

    /// In a word and a number: `zipfian 0.99`.
    pub fn name(self) -> String {
        match self {
            Self::Uniform => "uniform".into(),
            Self::Zipf(theta) => format!("zipfian {theta}"),
            Self::Latest(theta) => format!("latest {theta}"),
            Self::SelfSimilar(share) => format!("self-similar {share}"),
        }
    }

    /// Draws ranks among `n` keys, at least one.
    pub(crate) fn sampler(self, n: u64) -> Sampler {
        let n = n.max(1);
        match self {
            Self::Uniform => Sampler::Uniform(n),
            Self::Zipf(theta) | Self::Latest(theta) => Sampler::Zipf(Zipf::new(n, theta)),
            Self::SelfSimilar(share) => {
                Sampler::SelfSimilar { n, exponent: share.ln() / (1.0 - share).ln() }
            }
        }
    }
}

/// A choice among a number of keys.
pub(crate) enum Sampler {
    Uniform(u64),
    Zipf(Zipf),
    SelfSimilar { n: u64, exponent: f64 },
}

impl Sampler {
    /// The next rank. Rank 0 is among the most frequent.
    pub(crate) fn draw(&self, rng: &mut fastrand::Rng) -> u64 {
        match self {
            Self::Uniform(n) => rng.u64(..n),
            Self::Zipf(zipf) => zipf.draw(rng),
            Self::SelfSimilar { n, exponent } => {
                ((*n as f64 * rng.f64().powf(*exponent)) as u64).min(n - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    /// The share of draws below `limit` among `n`.
    fn below(choice: Choice, n: u64, limit: u64) -> f64 {
        let (sampler, mut rng) = (choice.sampler(n), fastrand::Rng::with_seed(3));
        let hits = (0..DRAWS).filter(|_| sampler.draw(&mut rng) < limit).count();
        hits as f64 / f64::from(DRAWS)
    }

    #[test]
    fn uniform_choices_are_even() {
        for tenth in 1..10 {
            let share = below(Choice::Uniform, 1000, tenth * 100);
            assert!((share - tenth as f64 / 10.0).abs() < 0.005, "{tenth}: {share}");
        }
    }

    /// A share `h` of the keys gets `1 - h`, and a share `h * h` gets `(1 - h) * (1 - h)`.
    #[test]
    fn self_similar_choices_are_so_at_every_scale() {
        for h in [0.1, 0.2, 0.5] {
            let n = 1_000_000;
            let (part, nested) = ((h * n as f64) as u64, (h * h * n as f64) as u64);
            let choice = Choice::SelfSimilar(h);
            assert!((below(choice, n, part) - (1.0 - h)).abs() < 0.005);
            assert!((below(choice, n, nested) - (1.0 - h) * (1.0 - h)).abs() < 0.005);
        }
    }

    #[test]
    fn parameters_are_checked() {
        for bad in [Choice::Zipf(0.0), Choice::Latest(f64::NAN), Choice::SelfSimilar(0.6)] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        for good in [Choice::Uniform, Choice::Zipf(1.2), Choice::SelfSimilar(0.2)] {
            assert!(good.check().is_ok(), "{good:?}");
        }
    }
}
