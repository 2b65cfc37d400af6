//! Pieces of a campaign, done by two threads until all are done or the time is up.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use endura_sim::model::Model;
use endura_sim::tally::Tally;

use crate::report::CampaignTally;

/// What a piece of a campaign found, or the failure, told in full.
pub(crate) type Outcome = Result<Tally, String>;

/// A piece of a campaign.
pub(crate) struct Job {
    /// Under which line of the report it counts.
    pub(crate) part: &'static str,
    pub(crate) model: Model,
    pub(crate) run: Box<dyn FnOnce() -> Outcome + Send>,
}

/// The models that campaigns run under, with their names.
pub(crate) const MODELS: [(&str, Model); 3] =
    [("weakest ADR", Model::WEAKEST_ADR), ("eADR", Model::EADR), ("page cache", Model::PAGE_CACHE)];

/// Those of walks. That of the processors promises more than the weakest: it comes last, if there is time.
pub(crate) const WALKED: [(&str, Model); 4] =
    [MODELS[0], MODELS[1], MODELS[2], ("ADR of x86", Model::X86_ADR)];

/// The time that the caller gives a long campaign, from `ENDURA_SIM_SECONDS`.
pub(crate) fn budget() -> Duration {
    let given = std::env::var("ENDURA_SIM_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(given.unwrap_or(600))
}

/// After so long a campaign that is part of every run of the tests begins no more than it must.
pub(crate) const GUARD: Duration = Duration::from_secs(20);

/// Does all jobs, first to last, or as many as can be begun before the time is up: beyond that only as
/// long as no crash has cut through one of `steps` under some model.
pub(crate) fn run(
    jobs: impl IntoIterator<Item = Job, IntoIter: Send>,
    budget: Duration,
    steps: &[&str],
) -> CampaignTally {
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(2));
    let begin = Instant::now();
    let report = Mutex::new(CampaignTally::default());
    let queue = Mutex::new(jobs.into_iter());
    let next = || {
        let so_far = report.lock().unwrap();
        let is_needed = begin.elapsed() < budget || so_far.missing(steps).is_some();
        let goes_on = is_needed && so_far.failure.is_none();
        drop(so_far);
        if goes_on { queue.lock().unwrap().next() } else { None }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let outcome = (job.run)();
                    report.lock().unwrap().add(job.part, job.model, outcome);
                }
            });
        }
    });
    let mut report = report.into_inner().unwrap();
    report.is_complete = queue.into_inner().unwrap().next().is_none();
    report.took = begin.elapsed();
    report
}
