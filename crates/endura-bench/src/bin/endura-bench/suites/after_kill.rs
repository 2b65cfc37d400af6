//! `endura bench reopen`: how long a store takes to answer again after SIGKILL.

use std::path::Path;
use std::time::{Duration, Instant};

use endura::{Kind, Pool};
use endura_bench::contender::Contender;
use endura_bench::figures::Median;
use endura_bench::keys::key;
use endura_bench::results::{Measurement, Promise, Quantity, StoreInfo};
use endura_bench::store::Shape;
use endura_bench::suite::Progress;
use endura_bench::workload::Population;
use endura_console::args::MediaArgs;
use endura_console::outcome::{Failure, Result};
use endura_console::text::parse_number;
use endura_engine::index::NbTree;

use super::run::RunArgs;
use crate::args::ShapeArgs;
use crate::kill::{Killed, load_and_kill};

/// Keys that must be there after the kill are looked for up to this number.
const VERIFIED: u64 = 10_000;
/// From the open to the first key found.
const REOPEN: &str = "reopen time";

const ABOUT: &str = "\
A child process loads the keys, says so, and is killed. What is measured is the time from the call that
opens the store to its return and to the first key found, and what an NBTree takes to rebuild all that it
keeps in DRAM. Then keys are looked for all over the store: one that is missing
ends the command. Stores in DRAM are left out. With --opens, pools are then opened by children
that write an entry and are killed, and the opens after that are measured alone, without threads
that recover space, and those after a clean close.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// Keys that are loaded
    #[arg(short = 'n', long, alias = "records", value_parser = parse_number, default_value = "1000000")]
    keys: u64,
    /// Measure so many opens of each pool alone, after a kill and after a clean close
    #[arg(long, default_value_t = 0)]
    opens: u32,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    run: RunArgs,
}

pub(crate) fn run(args: &Args) -> Result {
    let shape = args.shape.shape();
    let mut settings = args.run.settings(&[shape])?;
    settings.contenders.retain(|contender| contender.promise() != Promise::Volatile);
    let contenders = settings.contenders.clone();
    let total = u64::from(args.run.rounds) * contenders.len() as u64;
    let mut failed = None;
    let done = args.run.measure(&contenders, |results, observe| {
        let mut measured: Vec<Measurement> = Vec::new();
        for round in 0..args.run.rounds {
            for (&contender, n) in contenders.iter().zip(0_u64..) {
                let done = u64::from(round) * contenders.len() as u64 + n;
                let (store, workload) = (contender.name(), "load and kill".into());
                observe(Progress { done, total, round, threads: 1, store, workload });
                let RunArgs { layout, media, .. } = &args.run;
                let of = |killed: &Killed| {
                    let (mut took, info) = once(killed, args.keys, *media)?;
                    if contender.kind().is_some() {
                        opens(killed, *media, args.opens, &mut took)?;
                    }
                    Ok((took, info))
                };
                let dir = &settings.dir;
                match load_and_kill(contender, shape, args.keys, dir, layout.layout, *media)
                    .and_then(|killed| of(&killed))
                {
                    Ok((took, info)) => {
                        if !results.stores.iter().any(|known| known.name == info.name) {
                            results.stores.push(info);
                        }
                        add(&mut measured, args, contender, took);
                    }
                    Err(failure) => {
                        failed = Some(failure);
                        return Err(endura_bench::Error::Config("a load failed"));
                    }
                }
            }
        }
        results.measurements.extend(measured);
        Ok(())
    });
    failed.map_or(done, Err)
}

const AFTER_KILL: &str = "after SIGKILL";

/// What was measured: after what, and which time.
type Took = Vec<(&'static str, &'static str, Duration)>;

fn add(measured: &mut Vec<Measurement>, args: &Args, contender: Contender, took: Took) {
    for (after, name, took) in took {
        let millis = took.as_secs_f64() * 1e3;
        let is_it = |m: &&mut Measurement| {
            m.store == contender.name() && m.workload == after && m.quantity == name
        };
        if let Some(known) = measured.iter_mut().find(is_it) {
            known.rounds.push(millis);
            known.median = Median::of(known.rounds.clone());
            continue;
        }
        let suite = format!("reopen, {}", args.shape.shape().name());
        let quantity = Quantity::cost(name, "ms", vec![millis]);
        let one = Measurement::new(&suite, after, contender.name(), quantity);
        measured.push(Measurement { entries: args.keys, ..one });
    }
}

/// Milliseconds from the call that opens a store of integers after SIGKILL to its first answer.
pub(crate) fn first_answer(contender: Contender, keys: u64, dir: &Path) -> Result<f64> {
    let killed = load_and_kill(contender, Shape::WORDS, keys, dir, None, MediaArgs::AUTO)?;
    let (took, _) = once(&killed, keys, MediaArgs::AUTO)?;
    let answer = took.into_iter().find(|(_, name, _)| *name == REOPEN);
    Ok(answer.map_or(f64::NAN, |(.., took)| took.as_secs_f64() * 1e3))
}

/// One open after the load and the kill.
fn once(killed: &Killed, keys: u64, media: MediaArgs) -> Result<(Took, StoreInfo)> {
    let contender = killed.contender();
    let begun = Instant::now();
    let open = killed.open()?;
    let mut took = vec![(AFTER_KILL, "open time", begun.elapsed())];
    let found = open.client()?.get(key(0))?.is_some();
    took.push((AFTER_KILL, REOPEN, begun.elapsed()));
    if !found {
        return Err(Failure::Message(format!("{} lost key 0", contender.name())));
    }
    open.verify(&Population::loaded(1, keys), VERIFIED.min(keys))?;
    let info = open.info();
    drop(open);
    if contender.kind() == Some(Kind::NbTree) {
        took.push((AFTER_KILL, "rebuild time", rebuild(media, &killed.pool())?));
    }
    Ok((took, info))
}

/// Opens a pool so often after the kill of a child that had opened it and written an entry, and after a clean close.
fn opens(killed: &Killed, media: MediaArgs, times: u32, took: &mut Took) -> Result<()> {
    let options = media.options().checkpoints(endura::Checkpoints::off()).recovery_threads(0);
    let mut open = |after| -> Result<Pool> {
        let begun = Instant::now();
        let pool = options.open_existing(killed.pool())?;
        took.push((after, "open alone", begun.elapsed()));
        Ok(pool)
    };
    for _ in 0..times {
        killed.write_and_kill(1)?;
        let pool = open(AFTER_KILL)?;
        // So that the next kill strands no more than this one did.
        pool.recover_leaks()?;
        pool.close()?;
        open("after a close")?.close()?;
    }
    Ok(())
}

/// How long an NBTree takes to rebuild all that it keeps in DRAM, by two threads.
fn rebuild(media: MediaArgs, pool: &Path) -> Result<Duration> {
    let pool = media.options().checkpoints(endura::Checkpoints::off()).open_existing(pool)?;
    let maps = pool.maps()?;
    let begun = Instant::now();
    for map in maps {
        NbTree::open(pool.space(), &map.name)?.rebuild(2)?;
    }
    Ok(begun.elapsed())
}
