//! The page, section by section.

use super::html::{escape, figure, grid, table};
use super::{behind, exact, gather, goals, papers};
use crate::figures::grouped;
use crate::paper::{Verdict, rows};
use crate::report::charts::Look;
use crate::report::contents::BenchReport;
use crate::results::plotting::{number, rates, series};
use crate::results::{Measurement, Promise, Results, Role, plotting};

/// Identifier, name in the bar, heading, contents.
struct Section {
    id: &'static str,
    name: &'static str,
    heading: &'static str,
    body: String,
}

pub(crate) fn page(report: &BenchReport) -> String {
    // The papers' rows have plots of their own.
    let mut workloads = report.results.clone();
    workloads.measurements.retain(|measurement| !is_paper(&measurement.suite));
    let sections = sections(report, &workloads);
    let links: String =
        sections.iter().map(|s| format!("<a href=\"#{}\">{}</a>", s.id, s.name)).collect();
    let bodies: String = sections
        .iter()
        .map(|s| format!("<section id=\"{}\"><h2>{}</h2>{}</section>", s.id, s.heading, s.body))
        .collect();
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>endura: benchmark report</title><style>{}</style></head><body>{}\
         <nav><div class=\"in\">{links}</div></nav><main>{bodies}</main>{}</body></html>\n",
        include_str!("../style.css"),
        head(report, &workloads),
        foot(report)
    )
}

fn sections(report: &BenchReport, workloads: &Results) -> Vec<Section> {
    let section = |id, name, heading, body| Section { id, name, heading, body };
    let mut all = vec![
        section("throughput", "Throughput", "Throughput", throughput(workloads)),
        section("latency", "Latency", "Latency", latency(workloads)),
        section("scaling", "Scaling", "Threads, lengths and sizes", scaling(workloads)),
        section("counts", "Counts", "Exact counts and the physical floor", exact::counts(report)),
        section("space", "Space", "Space and reopening", space(workloads)),
        section("recovery", "Recovery", "Through a crash", recovery(report)),
        section(
            "slow-memory",
            "Slow memory",
            "Is emulated memory as slow as set?",
            exact::chases(report),
        ),
        section("goals", "Goals", "What we have set ourselves", goals::section(&report.goals)),
        section("papers", "Papers", "The papers, row by row", papers::section(report)),
        section("behind", "Behind", "Where endura is behind", behind::section(workloads)),
        section("settings", "Settings", "Who ran, and how", settings(report)),
    ];
    // The scale in the head says why.
    all.retain(|section| section.id != "goals" || !report.goals.is_empty());
    all
}

fn head(report: &BenchReport, workloads: &Results) -> String {
    let (results, machine) = (&report.results, &report.results.machine);
    let facts = [
        ("command", format!("<code>{}</code>", escape(&results.command))),
        ("version", escape(&results.version)),
        (
            "machine",
            escape(&format!(
                "{}, {} hardware threads, {} GiB of memory, {}",
                machine.processor,
                machine.threads,
                machine.memory_bytes >> 30,
                machine.kernel
            )),
        ),
        ("scale", report.scales.iter().map(|scale| escape(scale)).collect::<Vec<_>>().join("<br>")),
        ("spread", spread(report)),
        ("ratios", escape(&behind::spread(workloads))),
        ("neighbours", neighbours(results)),
        ("took", took(report)),
    ];
    let facts: String =
        facts.iter().map(|(name, text)| format!("<dt>{name}</dt><dd>{text}</dd>")).collect();
    format!(
        "<header class=\"top\"><h1>endura, measured</h1><p class=\"lead\">Three persistent indexes beside the \
         stores that people would use instead, and the claims of the papers they come from, rerun in one go.</p>\
         {}<dl class=\"facts\">{facts}</dl></header>",
        tiles(report, workloads)
    )
}

fn took(report: &BenchReport) -> String {
    let part = |(name, seconds): &(&str, f64)| format!("{name} {seconds:.0} s");
    let parts: Vec<String> = report.took.iter().map(part).collect();
    format!("{:.0} s: {}", report.seconds(), parts.join(", "))
}

fn spread(report: &BenchReport) -> String {
    let mut all: Vec<&Measurement> = report
        .results
        .measurements
        .iter()
        .filter(|m| m.rounds.len() > 1 || m.median.spread_percent > 0.0)
        .collect();
    let of = |m: &Measurement| m.median.spread_percent;
    all.sort_by(|a, b| of(a).total_cmp(&of(b)));
    let Some(widest) = all.last() else {
        return "every time was measured once: no spread is known".into();
    };
    format!(
        "half the distance between the least and the greatest round, in percent of the median; ± and the whiskers of \
         the plots show it. Half of the {} figures spread by at most {:.0} %. The widest spread: {:.0} % ({}){}",
        grouped(all.len() as u64),
        of(all[all.len() / 2]),
        of(widest),
        escape(&format!("{}, {}", widest.store, widest.place())),
        once(&report.results)
    )
}

fn neighbours(results: &Results) -> String {
    match results.shared_rounds() {
        (0, _) => "no round shared its core with another tenant".into(),
        (shared, all) => format!(
            "{} of {} rounds of workloads shared their core with another tenant, which slows the fastest stores most; \
             more rounds help (endura bench ycsb --rounds 15)",
            grouped(shared),
            grouped(all)
        ),
    }
}

/// Stores that were too slow for another round of some suite, in which others had more.
fn once(results: &Results) -> String {
    let timed = || results.measurements.iter().filter(|m| m.quantity == "throughput");
    let is_repeated = |suite: &str| timed().any(|m| m.suite == suite && m.rounds.len() > 1);
    let is_once = |store: &str| {
        timed().any(|m| m.store == store && m.rounds.len() == 1 && is_repeated(&m.suite))
    };
    let names = results.stores.iter().map(|store| store.name.as_str());
    let slow: Vec<String> = names.filter(|name| is_once(name)).map(escape).collect();
    match slow.len() {
        0 => String::new(),
        _ => format!(". Too slow for more than one round of a suite: {}", slow.join(", ")),
    }
}

fn tiles(report: &BenchReport, workloads: &Results) -> String {
    let slower = behind::slower(workloads);
    let peers = slower.iter().filter(|s| !s.volatile).count();
    let count = |verdict| report.papers.iter().filter(|row| row.verdict == verdict).count();
    let mut tiles = vec![
        (report.results.measurements.len(), "measurements"),
        (peers, "times that a store with the same promise is ahead of an index"),
    ];
    if report.tests_papers {
        let not = count(Verdict::DoesNotHold) + count(Verdict::Partly);
        tiles.extend([
            (count(Verdict::Holds), "claims of the papers that this run confirms"),
            (not, "claims that it confirms in part or not at all"),
            (count(Verdict::CannotTell), "claims that this machine cannot test"),
        ]);
    }
    let tile = |(n, what): (usize, &str)| {
        format!("<div class=\"tile\"><b>{n}</b><span>{what}</span></div>")
    };
    format!("<div class=\"tiles\">{}</div>", tiles.into_iter().map(tile).collect::<String>())
}

fn throughput(results: &Results) -> String {
    let wanted = gather::plain(results);
    let plots = gather::bars(results, |m| m.quantity == "throughput" && wanted.contains(&m.suite));
    format!(
        "<p>Operations per second, medians over rounds in which the stores take turns. Time that a thread spends \
         runnable but not scheduled does not count, except with more threads than processors. An operation that \
         returned survives SIGKILL in all stores except the maps in DRAM, which promise nothing and are shown as a \
         bound.</p>{}",
        grid(&plots, Look::default())
    )
}

fn latency(results: &Results) -> String {
    let plots = gather::latencies(results);
    format!(
        "<p>What single operations took, all rounds together. Log scale. An operation is timed by itself once in a \
         while, so that the clock does not distort the throughput. A percentile is shown where at least ten of the \
         timed operations were slower; max is the slowest of them. The last percentiles of a short run are those of \
         the machine as much as of the store.</p>{}",
        grid(&plots, Look { log_up: true, joined: true, ..Look::default() })
    )
}

fn scaling(results: &Results) -> String {
    let mut plots = gather::scaling(results);
    plots.extend(gather::sweeps(results, |m| m.quantity != "cpu time"));
    let threads = results.machine.threads;
    format!(
        "<p>This machine runs {threads} threads at once: beyond that threads share processors, and a store that \
         keeps its throughput does well.</p>{}",
        grid(&plots, Look::default())
    )
}

/// Whether a suite is a row of a paper, which has a section of its own.
fn is_paper(suite: &str) -> bool {
    rows().any(|row| row.name() == suite)
}

fn space(results: &Results) -> String {
    let plot = |title, quantity, log_up| {
        gather::by_suite(results, title, quantity)
            .map_or(String::new(), |plot| figure(&plot, Look { log_up, ..Look::default() }, true))
    };
    format!(
        "<p>Bytes of the pages in use after the load, per key; and the time from opening the store to the first \
         answer, on a log scale.</p><div class=\"grid\">{}{}</div>",
        plot("Space", "space", false),
        plot("Reopening after a close", "reopen time", true)
    )
}

fn recovery(report: &BenchReport) -> String {
    let (timeline, what) = &report.timeline;
    let points = timeline.points.iter().map(|&(x, y)| (x, plotting::exact(y)));
    let curves = vec![series("requests", points)];
    let title = "Requests through a crash and a restart";
    let plot = rates(title, number("time", "s", false), curves);
    let mut moments = vec![(timeline.crash, "crash"), (timeline.restart, "restart")];
    moments.extend(timeline.collected.map(|end| (end, "space reclaimed")));
    let collected = match timeline.collected {
        Some(end) => format!(
            "all space is accounted for {:.2} s after the restart ({} KiB had been stranded)",
            end - timeline.restart,
            grouped(timeline.bytes_freed / 1024)
        ),
        None => "not all space was accounted for by the end of the run".into(),
    };
    format!(
        "<p>{}</p><p>The pool is abandoned in the middle of the work and mounted anew: the first answer comes {:.2} ms \
         after the restart; {collected}. Nothing is replayed and nobody waits.</p><div class=\"grid\">{}</div>",
        escape(what),
        timeline.first_answer_ms,
        figure(&plot, Look { moments: &moments, ..Look::default() }, true)
    )
}

fn settings(report: &BenchReport) -> String {
    let role = |role| match role {
        Role::Ours => "ours",
        Role::Peer => "peer",
        Role::VolatileBound => "bound, in DRAM",
        Role::Variant => "variant of ours",
    };
    let promise = |promise| match promise {
        Promise::Volatile => "nothing",
        Promise::Sigkill => "SIGKILL",
        Promise::Broken => "SIGKILL promised, and broken under torture",
    };
    let rows: Vec<Vec<String>> = report
        .results
        .stores
        .iter()
        .map(|s| {
            vec![s.name.clone(), role(s.role).into(), promise(s.promise).into(), s.setting.clone()]
        })
        .collect();
    table(&["store", "~", "~what returned survives", "~settings"], &rows)
}

fn foot(report: &BenchReport) -> String {
    format!(
        "<main><footer>Made by <code>{}</code>. The same figures: <a href=\"results.csv\">results.csv</a>, <a \
         href=\"results.json\">results.json</a> (for <code>endura bench compare</code>), <a \
         href=\"details.json\">details.json</a>.</footer></main>",
        escape(&report.results.command)
    )
}
