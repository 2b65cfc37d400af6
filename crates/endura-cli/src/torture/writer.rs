//! The child: runs its plans until it is killed.

use std::path::PathBuf;
use std::sync::Barrier;

use super::keyspace::Lane;
use super::plan::{Action, RoundPlan, Step};
use super::subject::Subject;
use super::target::Open;
use super::verify::{Violations, contents};
use endura_console::args::MediaArgs;
use endura_console::child::{die_with_parent, wait_for_death};
use endura_console::ledger::Ledger;
use endura_console::outcome::{Failure, Result};

/// Steps drawn at a time. The first batch is drawn before the threads report that they are ready: so most kills come
/// while a thread is inside an operation, not while it draws the next one.
const BATCH: usize = 160_000;

/// The arguments of the child.
#[derive(clap::Args)]
pub(crate) struct WriterArgs {
    pool: PathBuf,
    ledger: PathBuf,
    seed: u64,
    round: u64,
    threads: usize,
    #[command(flatten)]
    media: MediaArgs,
}

pub(crate) fn write(args: &WriterArgs) -> Result {
    die_with_parent()?;
    let open = Open::at(&args.pool, args.media, false);
    let open = open.map_err(|error| Failure::at(&args.pool, &error))?;
    let map = &open.map;
    let ledger = Ledger::open(&args.ledger)?;
    let contents = contents(map, &mut Violations::default())?;
    let drawn = Barrier::new(args.threads + 1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..args.threads)
            .map(|thread| {
                let (ledger, drawn) = (&ledger, &drawn);
                let plan = RoundPlan::new(args.seed, args.round, thread, args.threads, &contents);
                scope.spawn(move || work(map, ledger, plan, thread, args.threads, drawn))
            })
            .collect();
        drawn.wait();
        ledger.set_ready()?;
        for worker in workers {
            let wrong = worker.join();
            wrong.map_err(|_| Failure::Message("a writer thread panicked".into()))??;
        }
        Ok::<_, Failure>(())
    })?;
    wait_for_death()
}

fn work(
    map: &Subject,
    ledger: &Ledger,
    mut plan: RoundPlan,
    thread: usize,
    threads: usize,
    drawn: &Barrier,
) -> Result<()> {
    let lane = Lane::new(thread, threads);
    let account = ledger.account(thread)?;
    let mut batch = Vec::with_capacity(BATCH);
    let mut count = 0;
    loop {
        batch.clear();
        batch.extend(std::iter::repeat_with(|| plan.next()).take(BATCH));
        if count == 0 {
            drawn.wait();
        }
        for step in &batch {
            count += 1;
            account.begin(count);
            let right = perform(map, step, lane)?;
            account.acknowledge(count);
            if !right {
                let text = format!("thread {thread}, operation {count}: wrong answer to {step:?}");
                return Err(Failure::Message(text));
            }
        }
    }
}

/// Runs one step; returns whether the result was the one that the plan expects.
pub(super) fn perform(map: &Subject, step: &Step, lane: Lane) -> endura::Result<bool> {
    let Step { key, before, .. } = *step;
    Ok(match step.action {
        Action::Insert(value) => map.insert(key, value)? == before,
        Action::InsertNew(value) => map.insert_new(key, value)? == before.is_none(),
        Action::Update(value) => map.update(key, value)? == before,
        Action::Remove => map.remove(key)? == before,
        Action::Exchange { expected, new } => {
            let foreseen = if expected == before { Ok(()) } else { Err(before) };
            map.compare_exchange(key, expected, new)? == foreseen
        }
        Action::Count => {
            let old = map.fetch_update(key, |old| Some(lane.bump(old.unwrap_or(0))))?;
            Some(lane.of(old.unwrap_or(0))) == before.map(|count| lane.shown(count))
        }
        Action::CountByExchange => {
            let mut old = map.get(key)?;
            while let Err(found) =
                map.compare_exchange(key, old, Some(lane.bump(old.unwrap_or(0))))?
            {
                old = found;
            }
            Some(lane.of(old.unwrap_or(0))) == before.map(|count| lane.shown(count))
        }
    })
}
