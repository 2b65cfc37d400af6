//! `endura bench report`: one page with everything.

use std::io::{Write, stdout};
use std::path::PathBuf;

use endura_bench::probes::instructions::InstructionCounts;
use endura_bench::report::{Extent, measure};
use endura_bench::workload::plain::Sizes;

use crate::args::flags::{self, command_line};
use crate::instructions;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::parse_number;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of the page and its figures; files of an earlier report in it are replaced
    #[arg(long, default_value = "endura-report")]
    out: PathBuf,
    /// Small scales: less than three minutes on two idle cores, instead of less than forty
    #[arg(long)]
    quick: bool,
    /// Keys of all workloads and rows; leaves the goals out [default: as the page says]
    #[arg(short = 'n', long, value_parser = parse_number)]
    keys: Option<u64>,
    /// How often each time is measured [default: as the page says]
    #[arg(long)]
    rounds: Option<u32>,
    /// Count no instructions
    #[arg(long)]
    no_instructions: bool,
    #[command(flatten)]
    dir: flags::Dir,
}

impl Args {
    fn extent(&self) -> Extent {
        let dir = self.dir.path();
        let mut extent = if self.quick { Extent::quick(dir) } else { Extent::full(dir) };
        if let Some(keys) = self.keys {
            let operations = (keys / 3).max(1);
            (extent.keys, extent.operations, extent.counted) = (keys, operations, keys);
            (extent.papers.keys, extent.papers.operations) = (keys, operations);
            extent.goal_rounds = 0;
        }
        if let Some(rounds) = self.rounds {
            (extent.rounds, extent.papers.rounds) = (rounds, rounds);
            extent.goal_rounds = extent.goal_rounds.min(rounds);
        }
        extent
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let extent = args.extent();
    // Before an hour goes by for a page that cannot be written.
    std::fs::create_dir_all(&args.out).map_err(|error| {
        let folder = args.out.display();
        Failure::Message(format!(
            "cannot create the folder {folder}: {error}; name another with --out"
        ))
    })?;
    let bar = progress::bar(1000, "‰");
    let operations = if args.quick { 10 } else { 100 }.min(extent.counted);
    let counted = Sizes { keys: extent.counted, operations };
    let count = |tell: &mut dyn FnMut(&str)| {
        if args.no_instructions {
            return Ok(InstructionCounts::None("--no-instructions was given".into()));
        }
        // A child that fails costs the page its figures, not the page.
        Ok(instructions::all(counted, &extent.dir, tell)
            .unwrap_or_else(|failure| InstructionCounts::None(failure.to_string())))
    };
    let report = measure(&extent, command_line(), count, &mut |part, what| {
        bar.set_position((part * 1000.0) as u64);
        bar.set_message(what.to_string());
    });
    bar.finish_and_clear();
    let report = report?;
    let files = report.write(&args.out)?;
    for file in [files.html, files.csv, files.json, files.details] {
        writeln!(stdout(), "{}", file.display())?;
    }
    writeln!(stdout(), "took {:.0} s", report.seconds())?;
    Ok(Answer::Yes)
}
