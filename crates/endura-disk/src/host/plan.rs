//! What happens in one life of the machine, from its start to the cut.

use std::time::Duration;

use fastrand::Rng;

/// When the power is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// So long after the pool began to be opened: perhaps within a restore.
    Opening(Duration),
    /// So long after the writers began.
    Running(Duration),
    /// After so many more requests of the disk: between any two steps of a sync.
    Requests(u64),
    /// Not before the machine has ended by itself, with a pool that was closed.
    End,
}

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) moment: Moment,
    /// The arguments of the load.
    pub(super) load: Vec<String>,
    /// That of the cut.
    pub(super) seed: u64,
}

impl Plan {
    /// A cut; `is_first`: of a disk on which nothing is, so that it comes when something is.
    pub(super) fn draw(rng: &mut Rng, longest: Duration, is_first: bool) -> Self {
        let moment = match rng.u8(..8) {
            0 | 1 if !is_first => Moment::Opening(Duration::from_millis(rng.u64(..800))),
            // As likely among the first ten as among the next thirty or hundred.
            2..=4 => Moment::Requests(10_f64.powf(3.5 * rng.f64()) as u64),
            _ => Moment::Running(Duration::from_millis(rng.u64(300..=longest.as_millis() as u64))),
        };
        // By time, on demand, or both.
        let (every, demand) = *rng
            .choice(&[(150, 0), (1_000, 0), (0, 100), (0, 2_500), (300, 250), (1_500, 1_100)])
            .unwrap_or(&(150, 0));
        let mut load = vec![format!("--every={every}"), format!("--demand={demand}")];
        if rng.u8(..4) == 0 {
            load.push("--close".into());
        }
        Self { moment, load, seed: rng.u64(..) }
    }

    /// The end of a disk: it is opened once more, and left closed.
    pub(super) fn end(rng: &mut Rng) -> Self {
        Self { moment: Moment::End, load: vec!["--end".into()], seed: rng.u64(..) }
    }
}
