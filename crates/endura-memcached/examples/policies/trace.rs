//! Requests: keys by Zipf's law, a scan among them, and sizes.

use super::Args;

/// Requests.
pub(crate) struct Trace {
    pub(crate) keys: Vec<u32>,
    /// The bytes of each key's item.
    pub(crate) sizes: Vec<u64>,
    /// Keys from this one on belong to a scan, and do not count.
    pub(crate) scanned_from: u32,
}

/// What is special about a trace.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    Nothing,
    /// In the middle, a client asks once for each of many keys that nobody else asks for.
    Scan,
    /// Values of 50 to 5,000 bytes.
    Sizes,
    /// In the middle, other keys become popular.
    Shift,
}

impl Trace {
    pub(crate) fn all(args: &Args) -> Vec<(&'static str, Self)> {
        vec![
            ("Zipf 0.8", Self::new(args, 0.8, Special::Nothing)),
            ("Zipf 0.99", Self::new(args, 0.99, Special::Nothing)),
            ("Zipf 1.2", Self::new(args, 1.2, Special::Nothing)),
            ("0.99 and a scan", Self::new(args, 0.99, Special::Scan)),
            ("0.99, other keys later", Self::new(args, 0.99, Special::Shift)),
            ("0.99, 50 to 5,000 bytes", Self::new(args, 0.99, Special::Sizes)),
        ]
    }

    fn new(args: &Args, skew: f64, special: Special) -> Self {
        let mut rng = fastrand::Rng::with_seed(7);
        let (count, scanned) = (args.keys, 2 * args.keys * args.fit / 100);
        let mut sum = 0.0;
        let upper: Vec<f64> = (1..=count)
            .map(|rank| {
                sum += f64::from(rank).powf(-skew);
                sum
            })
            .collect();
        // The popular keys are spread over the key order.
        let mut order: Vec<u32> = (0..count).collect();
        rng.shuffle(&mut order);
        let mut keys = Vec::new();
        for number in 0..args.requests {
            if number == args.requests / 2 {
                match special {
                    Special::Scan => keys.extend(count..count + scanned),
                    Special::Shift => rng.shuffle(&mut order),
                    Special::Nothing | Special::Sizes => {}
                }
            }
            let at = rng.f64() * sum;
            let rank = upper.partition_point(|&upper| upper <= at).min(upper.len() - 1);
            keys.push(order[rank]);
        }
        let size = |_| if special == Special::Sizes { rng.u64(50..=5_000) + 56 } else { 1 };
        let sizes = (0..count + scanned).map(size).collect();
        Self { keys, sizes, scanned_from: count }
    }
}
