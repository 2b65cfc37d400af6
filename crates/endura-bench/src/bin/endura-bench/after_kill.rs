//! `endura bench reopen`: how long a store takes to answer again after SIGKILL.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endura::NodeLayout;
use endura_bench::Pace;
use endura_bench::contender::Contender;
use endura_bench::entrant::Entrant;
use endura_bench::keys::key;
use endura_bench::result::{Measurement, Promise, Quantity, Results};
use endura_bench::store::{Place, Shape};
use endura_bench::suite::Progress;
use endura_bench::summary::Median;
use endura_bench::workload::{Plan, Population, Workload};

use crate::contenders::contender;
use crate::flags;
use crate::suite_args::{RunArgs, ShapeArgs, shape_arguments};
use endura_console::args::MediaArgs;
use endura_console::child::{Child, die_with_parent, wait_for_death};
use endura_console::ledger::Ledger;
use endura_console::outcome::{Failure, Result};
use endura_console::text::parse_number;
use tempfile::TempDir;

/// Keys that must be there after the kill are looked for up to this number.
const VERIFIED: u64 = 10_000;

const ABOUT: &str = "\
A child process loads the keys, says so, and is killed. What is measured is the time from the call that
opens the store to the first key found. Then keys are looked for all over the store: one that is missing
ends the command. Stores in DRAM are left out.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// Keys that are loaded
    #[arg(short = 'n', long, alias = "records", value_parser = parse_number, default_value = "1000000")]
    keys: u64,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// The arguments of the child.
#[derive(clap::Args)]
pub(crate) struct LoaderArgs {
    #[arg(value_parser = contender())]
    store: Contender,
    dir: PathBuf,
    ledger: PathBuf,
    keys: u64,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    layout: flags::Layout,
    #[command(flatten)]
    media: MediaArgs,
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
                match once(args, contender, shape, &settings.dir, results) {
                    Ok(took) => add(&mut measured, args, contender, took),
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

fn add(measured: &mut Vec<Measurement>, args: &Args, contender: Contender, took: Duration) {
    let millis = took.as_secs_f64() * 1e3;
    if let Some(known) = measured.iter_mut().find(|m| m.store == contender.name()) {
        known.rounds.push(millis);
        known.median = Median::of(known.rounds.clone());
        return;
    }
    let suite = format!("reopen, {}", args.shape.shape().name());
    let quantity = Quantity::cost("reopen time", "ms", vec![millis]);
    let one = Measurement::new(&suite, "after SIGKILL", contender.name(), quantity);
    measured.push(Measurement { entries: args.keys, ..one });
}

/// A load that is over, and was killed: what a store left.
pub(super) struct Killed {
    /// Deleted in the end.
    _folder: TempDir,
    place: Place,
    contender: Contender,
}

/// Loads `keys` keys in a child of this program, and kills it.
pub(super) fn load_and_kill(
    contender: Contender,
    shape: Shape,
    keys: u64,
    dir: &Path,
    layout: Option<NodeLayout>,
    media: MediaArgs,
) -> Result<Killed> {
    let made = tempfile::Builder::new().prefix("endura-bench-").tempdir_in(dir);
    let failure = |error| Failure::io(format!("cannot make a folder in {}", dir.display()), &error);
    let folder = made.map_err(failure)?;
    let (store, path) = (folder.path().join("store"), folder.path().join("ledger"));
    let ledger = Ledger::create(&path)?;
    let mut arguments = vec![
        "loader".into(),
        contender.argument().into(),
        store.clone().into_os_string(),
        path.into_os_string(),
        keys.to_string().into(),
    ];
    arguments.extend(shape_arguments(shape).map(Into::into));
    arguments
        .extend(layout.iter().flat_map(|&l| ["--layout".into(), flags::layout_name(l).into()]));
    arguments.extend(media.to_arguments().into_iter().map(Into::into));
    let mut child = Child::spawn(arguments)?;
    let account = ledger.account(0)?;
    while account.acknowledged() == 0 {
        if let Some(ended) = child.ended()? {
            return Err(Failure::Message(format!("the child ended by itself: {ended}")));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill()?;
    let place = Place { pool: media.options(), layout, ..Place::new(store, shape, keys) };
    Ok(Killed { _folder: folder, place, contender })
}

impl Killed {
    /// Opens the store that the kill left.
    pub(super) fn open(&self) -> endura_bench::Result<Box<dyn Entrant>> {
        self.contender.open(&self.place)
    }

    /// The file of a store that is a pool.
    pub(super) fn pool(&self) -> PathBuf {
        self.place.dir.join("pool")
    }
}

/// One load, one kill, one open.
fn once(
    args: &Args,
    contender: Contender,
    shape: Shape,
    dir: &Path,
    results: &mut Results,
) -> Result<Duration> {
    let RunArgs { layout, media, .. } = &args.run;
    let killed = load_and_kill(contender, shape, args.keys, dir, layout.layout, *media)?;
    let begun = Instant::now();
    let open = killed.open()?;
    let found = open.session()?.get(key(0))?.is_some();
    let took = begun.elapsed();
    if !found {
        return Err(Failure::Message(format!("{} lost key 0", contender.name())));
    }
    open.verify(&Population::loaded(1, args.keys), VERIFIED)?;
    if !results.stores.iter().any(|known| known.name == contender.name()) {
        results.stores.push(open.info());
    }
    Ok(took)
}

/// The child: loads, says so, and waits to be killed.
pub(crate) fn load(args: &LoaderArgs) -> Result {
    die_with_parent()?;
    let shape = args.shape.shape();
    let place = Place::new(args.dir.clone(), shape, args.keys);
    let place = Place { pool: args.media.options(), layout: args.layout.layout, ..place };
    let store = args.store.open(&place)?;
    let plan = Plan { operations: args.keys, pace: Pace::FREE, seed: 1 };
    store.run(&Population::new(1), &Workload::load(), plan)?;
    Ledger::open(&args.ledger)?.account(0)?.acknowledge(1);
    wait_for_death()
}
