//! What was measured, as tables.

use std::io::Write;

use endura_bench::figures::Median;
use endura_bench::probes::checkpoints::{
    Holds, Longest, LongestTurn, Pace, Peers, Records, Restore, Round, Throughput,
};
use endura_bench::store::Survives;
use endura_console::outcome::Result;
use endura_console::text::{Table, bold, bytes, counted, grouped};

use super::args::Args;
use crate::table::{number, spread};

const MIB: f64 = (1 << 20) as f64;

/// Percent, with as many digits as a person would write.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// The median, the 95th percentile and the greatest.
fn three(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * 95).div_ceil(100).max(1) - 1;
    let at = |rank: usize| values.get(rank).copied().unwrap_or(f64::NAN);
    [Median::of(values.clone()).median, at(rank), at(values.len().saturating_sub(1))]
}

/// A table for each share of pages.
pub(super) fn holds(out: &mut dyn Write, all: &[Holds]) -> Result<()> {
    for found in all {
        let (share, rounds) =
            (percent(found.share), counted(found.rounds.len() as u64, "checkpoint"));
        let title =
            format!("Holds: {share} of {} pages, {rounds}, two writers", grouped(found.pages));
        writeln!(out, "{}", bold(&title))?;
        let [memcpy, read] = [&found.memcpy_ms, &found.read_ms].map(|ms| three(ms.iter().copied()));
        let plain = [
            ("a plain copy of as many pages, ms", memcpy),
            ("read as the pool reads, nobody writing, ms", read),
        ];
        let [held, ..] = write_rounds(out, &found.rounds, &plain)?;
        let [plain, ..] = memcpy;
        let updates = grouped(found.updates_per_second as u64);
        let ratio = number(held / plain);
        writeln!(
            out,
            "  held : plain copy {ratio}, {} failed, {updates} updates a second\n",
            found.failed
        )?;
    }
    Ok(())
}

/// What happened in the rounds, with a few lines more: the figures of the holds.
fn write_rounds(
    out: &mut dyn Write,
    rounds: &[Round],
    more: &[(&str, [f64; 3])],
) -> Result<[f64; 3]> {
    let of = |figure: fn(&Round) -> f64| three(rounds.iter().map(figure));
    let held = of(|round| round.held_ms);
    let rows = [
        ("slowed down before, ms", of(|round| round.slowed_ms)),
        ("copied in the hold, MiB", of(|round| round.copied_bytes as f64 / MIB)),
        ("written to the file, MiB", of(|round| round.written_bytes as f64 / MIB)),
        ("tries", of(|round| f64::from(round.tries))),
        ("the call, s", of(|round| round.seconds)),
    ];
    let mut table = Table::new(1, &["", "median", "95th percentile", "maximum"]);
    for &(name, figures) in [("held, ms", held)].iter().chain(more).chain(&rows) {
        table.row([name.to_string()].into_iter().chain(figures.map(number)));
    }
    table.write(out)?;
    Ok(held)
}

/// The holds beside writers of large values.
pub(super) fn records(out: &mut dyn Write, found: &Records) -> Result<()> {
    let (rounds, rate) = (counted(found.rounds.len() as u64, "checkpoint"), bytes(found.rate));
    let values = bytes(found.bytes);
    let title = format!("Holds: values of 64 KiB, {values} in all, {rate} a second, {rounds}");
    writeln!(out, "{}", bold(&title))?;
    write_rounds(out, &found.rounds, &[])?;
    let (longest, grown) = (number(found.longest_ms), bytes(found.grown_bytes));
    let put = bytes(found.bytes_per_second as u64);
    Ok(writeln!(
        out,
        "  longest put {longest} ms, memory grew by {grown}, {} failed, {put} a second\n",
        found.failed
    )?)
}

/// A row for each turn.
pub(super) fn longest(out: &mut dyn Write, args: &Args, all: &[Longest]) -> Result<()> {
    let (turn, interval) = (args.seconds.as_secs_f64(), args.interval.as_secs_f64());
    let title = format!(
        "Longest update: two writers, turns of {turn} s, a checkpoint each {interval} s and none"
    );
    writeln!(out, "{}", bold(&title))?;
    let header =
        ["pages changed", "checkpoints", "longest, ms", "over 20 ms", "updates", "made", "failed"];
    let mut table = Table::new(2, &header);
    for found in all {
        for (name, turns) in [("without", &found.without), ("with", &found.with)] {
            for turn in turns {
                let counts = [turn.over_20_ms, turn.updates, turn.checkpoints, turn.failed];
                let first = [percent(found.share), name.to_string(), number(turn.longest_ms)];
                table.row(first.into_iter().chain(counts.map(grouped)));
            }
        }
    }
    table.write(out)?;
    for found in all {
        let of = |turns: &[LongestTurn]| {
            let longest = || turns.iter().map(|turn| turn.longest_ms);
            [Median::of(longest().collect()).median, longest().fold(0.0, f64::max)]
        };
        let ([median, most], [plain, plain_most]) = (of(&found.with), of(&found.without));
        let ratios = [median / plain, most / plain_most].map(number);
        let share = percent(found.share);
        writeln!(
            out,
            "  {share}: with : without {} (medians of the turns), {} (longest of all)",
            ratios[0], ratios[1]
        )?;
    }
    Ok(writeln!(out)?)
}

/// A table for each number of threads.
pub(super) fn throughput(out: &mut dyn Write, all: &[Throughput]) -> Result<()> {
    for found in all {
        let (keys, threads) = (grouped(found.keys), counted(found.threads as u64, "thread"));
        let (rounds, turn) = (counted(found.turns[0].len() as u64, "round"), found.turn_seconds);
        let title = format!(
            "Throughput: {keys} keys, zipf 0.99, half updates, {threads}, {rounds} of turns of {turn} s"
        );
        writeln!(out, "{}", bold(&title))?;
        let header =
            ["checkpoints", "million/s", "+-", "to none", "+-", "made in a turn", "failed"];
        let mut table = Table::new(1, &header);
        for pace in Pace::ALL {
            let name = match pace {
                Pace::Never => "none",
                Pace::Rare => "each 30 s",
                Pace::Often => "each second",
            };
            let turns = &found.turns[pace as usize];
            let made =
                Median::of(turns.iter().map(|turn| turn.checkpoints as f64).collect()).median;
            let failed: u64 = turns.iter().map(|turn| turn.failed).sum();
            let (millions, ratio) = (found.median(pace), found.ratio(pace));
            let cells = [number(millions.median), spread(millions), number(ratio.median)];
            let last = [spread(ratio), made.to_string(), grouped(failed)];
            table.row([name.to_string()].into_iter().chain(cells).chain(last));
        }
        table.write(out)?;
        if found.turn_seconds != 30.0 {
            let scale = "what one checkpoint in a turn cost is scaled to 30 s";
            writeln!(out, "  each 30 s, to none: {scale}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A table for each number of threads.
pub(super) fn peers(out: &mut dyn Write, all: &[Peers]) -> Result<()> {
    for found in all {
        let (keys, threads) = (grouped(found.keys), counted(found.threads as u64, "thread"));
        let rounds = counted(found.stores[0].millions.len() as u64, "round");
        let turn = found.turn_seconds;
        let title = format!(
            "Peers: {keys} keys, zipf 0.99, half updates, {threads}, {rounds} of turns of {turn} s"
        );
        writeln!(out, "{}", bold(&title))?;
        let header = ["store", "a power loss", "million/s", "+-", "endura : it", "+-"];
        let mut table = Table::new(2, &header);
        for (n, peer) in found.stores.iter().enumerate() {
            let loses = match peer.survives {
                Survives::Kill => "is not survived",
                Survives::PowerLossASecondLater => "takes a second",
                Survives::PowerLoss => "takes nothing",
            };
            let (millions, ratio) = (Median::of(peer.millions.clone()), found.ratio(n));
            let figures = [number(millions.median), spread(millions), number(ratio.median)];
            let first = [peer.store.to_string(), loses.to_string()];
            table.row(first.into_iter().chain(figures).chain([spread(ratio)]));
        }
        table.write(out)?;
        writeln!(out)?;
    }
    Ok(())
}

/// A row for each restore.
pub(super) fn restore(out: &mut dyn Write, all: &[Restore]) -> Result<()> {
    let file = all.first().map_or(0, |first| first.file_bytes);
    writeln!(
        out,
        "{}",
        bold(&format!("Restore: a pool of {}, a third of it garbage", bytes(file)))
    )?;
    let header = ["page cache", "open, s", "written", "cp and sync, s", "open : cp"];
    let mut table = Table::new(1, &header);
    let name = |is_cached| if is_cached { "full" } else { "empty" };
    for one in all {
        let cells = [number(one.open_seconds), bytes(one.written_bytes), number(one.copy_seconds)];
        let first = [name(one.is_cached).to_string()];
        table.row(first.into_iter().chain(cells).chain([number(one.ratio())]));
    }
    table.write(out)?;
    for is_cached in [false, true] {
        let median = Restore::median_ratio(all, is_cached);
        let (ratio, spread) = (number(median.median), spread(median));
        writeln!(out, "  page cache {}: open : cp {ratio}, +- {spread}", name(is_cached))?;
    }
    Ok(writeln!(out)?)
}
