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

/// What a campaign may take before it begins no more than it must.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Budget {
    /// So much time passes.
    Clock(Duration),
    /// Its threads have run for so long, all together: as much is gone through on a machine that does something else as well.
    Processor(Duration),
}

/// The time that the caller gives a long campaign, from `ENDURA_SIM_SECONDS`.
pub(crate) fn budget() -> Budget {
    let given = std::env::var("ENDURA_SIM_SECONDS").ok().and_then(|text| text.parse().ok());
    Budget::Clock(Duration::from_secs(given.unwrap_or(600)))
}

/// That of a campaign which is part of every run of the tests.
pub(crate) const GUARD: Budget = Budget::Processor(Duration::from_secs(8));
/// That of one beside which others of this crate have most of the same steps.
pub(crate) const SMALL_GUARD: Budget = Budget::Processor(Duration::from_secs(4));

/// How long the calling thread has run on a processor; `None` where the kernel does not count it.
fn has_run() -> Option<Duration> {
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    counts.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Does all jobs, first to last, or as many as can be begun within the budget: beyond that only as
/// long as no crash has cut through one of `steps` under some model.
pub(crate) fn run(
    jobs: impl IntoIterator<Item = Job, IntoIter: Send>,
    budget: Budget,
    steps: &[&str],
) -> CampaignTally {
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(2));
    let begin = Instant::now();
    let report = Mutex::new(CampaignTally::default());
    let queue = Mutex::new(jobs.into_iter());
    let has_time = |so_far: &CampaignTally| match budget {
        Budget::Clock(most) => begin.elapsed() < most,
        Budget::Processor(most) => so_far.ran < most,
    };
    let next = || {
        let so_far = report.lock().unwrap();
        let is_needed = has_time(&so_far) || so_far.missing(steps).is_some();
        let goes_on = is_needed && so_far.failure.is_none();
        drop(so_far);
        if goes_on { queue.lock().unwrap().next() } else { None }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let (clock, ran) = (Instant::now(), has_run());
                    let outcome = (job.run)();
                    let took = ran.and_then(|ran| has_run()?.checked_sub(ran));
                    let mut report = report.lock().unwrap();
                    report.ran += took.unwrap_or_else(|| clock.elapsed());
                    report.add(job.part, job.model, outcome);
                }
            });
        }
    });
    let mut report = report.into_inner().unwrap();
    report.is_complete = queue.into_inner().unwrap().next().is_none();
    report.took = begin.elapsed();
    report
}
