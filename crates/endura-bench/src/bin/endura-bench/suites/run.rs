//! What all suites take, and how they run.

use std::io::{Write, stdout};
use std::path::PathBuf;

use endura_bench::contender::Contender;
use endura_bench::results::{Promise, Results};
use endura_bench::store::Shape;
use endura_bench::suite::{self, Progress, Settings, Suite};

use crate::args::contender;
use crate::args::flags;
use crate::kill::broken;
use crate::table;
use endura_console::args::MediaArgs;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{counted, parse_number};

/// Who takes part, where, how often, and what becomes of the figures.
#[derive(clap::Args)]
pub(super) struct RunArgs {
    /// Who takes part [default: all that this build has and that take such keys]
    #[arg(long, value_parser = contender(), value_delimiter = ',')]
    stores: Vec<Contender>,
    /// Numbers of threads, each measured by itself; more than the machine has are oversubscribed
    #[arg(short, long, value_delimiter = ',', default_value = "1")]
    pub(super) threads: Vec<usize>,
    /// How often everything is repeated, the stores taking turns; medians are shown
    #[arg(long, default_value_t = 3)]
    pub(super) rounds: u32,
    /// Operations that arrive per second, all threads together; latencies then count from when an
    /// operation was due, not from when it began [default: as many as it can do]
    #[arg(long)]
    rate: Option<f64>,
    /// Time one operation in so many; with --rate each is timed
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    sampled: u64,
    /// Before measuring, kill each persistent store so often in the middle of its work, as `endura
    /// bench kills` does, and mark those that lose what they acknowledged
    #[arg(long, default_value_t = 0)]
    kills: u64,
    #[command(flatten)]
    pub(super) seed: flags::Seed,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    pub(super) layout: flags::Layout,
    #[command(flatten)]
    json: flags::Json,
    /// Write the JSON object to this file as well
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) media: MediaArgs,
}

/// How much.
#[derive(clap::Args)]
pub(super) struct SizeArgs {
    /// Keys that are loaded
    #[arg(short = 'n', long, alias = "records", value_parser = parse_number, default_value = "1000000")]
    pub(super) keys: u64,
    /// Operations of each workload [default: half the keys]
    #[arg(short = 'p', long, value_parser = parse_number)]
    operations: Option<u64>,
}

impl SizeArgs {
    pub(super) fn operations(&self) -> u64 {
        self.operations.unwrap_or(self.keys / 2).max(1)
    }
}

impl RunArgs {
    /// The settings for entries of these shapes.
    pub(super) fn settings(&self, shapes: &[Shape]) -> Result<Settings> {
        shapes.iter().try_for_each(|shape| shape.check())?;
        let takes = |c: &Contender| shapes.iter().any(|&shape| c.takes(shape));
        let mut contenders = self.stores.clone();
        if contenders.is_empty() {
            contenders = Contender::usual().filter(takes).collect();
        }
        if let Some(&alone) = contenders.iter().find(|c| !takes(c)) {
            let (name, shapes) = (alone.argument(), shapes.iter().map(|shape| shape.name()));
            let shapes: Vec<String> = shapes.collect();
            return Err(Failure::Usage(format!("{name} holds no {}", shapes.join(" or "))));
        }
        Ok(Settings {
            threads: self.threads.clone(),
            rounds: self.rounds,
            rate: self.rate,
            sampled: self.sampled,
            pool: self.media.options().checkpoints(endura::Checkpoints::off()),
            layout: self.layout.layout,
            ..Settings::new(contenders, self.dir.path(), self.seed.seed)
        })
    }

    /// Runs suites, and shows what they measured.
    pub(super) fn run(&self, suites: &[Suite]) -> Result {
        self.run_with_threads(&self.threads, suites)
    }

    /// The same with other numbers of threads.
    pub(super) fn run_with_threads(&self, threads: &[usize], suites: &[Suite]) -> Result {
        let shapes: Vec<Shape> = suites.iter().map(|suite| suite.shape).collect();
        let settings = Settings { threads: threads.to_vec(), ..self.settings(&shapes)? };
        self.measure(&settings.contenders, |results, observe| {
            suite::run(suites, &settings, results, observe)
        })
    }

    /// Measures beside a progress bar, and shows what was measured.
    pub(super) fn measure(
        &self,
        contenders: &[Contender],
        measure: impl FnOnce(&mut Results, &mut dyn FnMut(Progress)) -> endura_bench::Result<()>,
    ) -> Result {
        let broken = broken(contenders, self.kills, self.seed.seed)?;
        let mut results = with_progress(self.rounds, self.seed.seed, measure)?;
        for store in &mut results.stores {
            if broken.iter().any(|contender| contender.name() == store.name) {
                store.promise = Promise::Broken;
            }
        }
        if let Some(path) = &self.out {
            results.write(path)?;
        }
        show(&results, self.json.json)
    }
}

/// Measures beside a progress bar.
pub(crate) fn with_progress(
    rounds: u32,
    seed: u64,
    measure: impl FnOnce(&mut Results, &mut dyn FnMut(Progress)) -> endura_bench::Result<()>,
) -> Result<Results> {
    let mut results = Results::new(flags::command_line(), seed);
    let bar = progress::bar(1, "stages");
    let measured = measure(&mut results, &mut |at| {
        bar.set_length(at.total);
        bar.set_position(at.done);
        bar.set_message(format!(
            "round {}/{rounds}, {}: {} {}",
            at.round + 1,
            counted(at.threads as u64, "thread"),
            at.store,
            at.workload
        ));
    });
    bar.finish_and_clear();
    measured?;
    Ok(results)
}

/// Shows what was measured, as JSON or as tables.
pub(crate) fn show(results: &Results, as_json: bool) -> Result {
    if as_json {
        writeln!(stdout(), "{}", serde_json::to_string(results)?)?;
    } else {
        table::write(&mut stdout().lock(), results)?;
    }
    Ok(Answer::Yes)
}
