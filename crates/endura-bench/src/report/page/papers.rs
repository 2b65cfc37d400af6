//! The rows of the papers.

use super::html::{escape, grid, table};
use crate::paper::{Check, Rerun, Verdict};
use crate::report::charts::Look;
use crate::report::contents::BenchReport;

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Partly => "partly",
        Verdict::DoesNotHold => "does_not_hold",
        Verdict::CannotTell => "cannot_tell",
    }
}

fn anchor(row: &Rerun) -> String {
    let name = format!("{} {}", row.paper, row.figure);
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect()
}

pub(super) fn section(report: &BenchReport) -> String {
    let rows = &report.papers[..];
    if rows.is_empty() {
        return "<p>No row was run.</p>".into();
    }
    let intro = "<p>Each row reruns a figure or a table at the scale that it states. The claim is the paper's, in our \
                 words; the checks under it are computed from this run. Where a shape does not hold, the reason as far \
                 as we know it stands beside. Structures that a paper compares with and that do not stand here are \
                 named.</p>";
    let small = match report.tests_papers {
        true => "",
        false => {
            "<p>This run is too small to confirm or to refute a claim: most of an index fits into the processor's \
             caches. <code>endura bench report</code> without <code>--quick</code> and <code>--keys</code> has larger \
             ones.</p>"
        }
    };
    let list: String = rows
        .iter()
        .map(|row| {
            format!(
                "<tr><td><a href=\"#{}\">{} {}</a></td><td class=\"text\">{}</td><td class=\"text verdict {}\">{}</td></tr>",
                anchor(row),
                escape(row.paper),
                escape(row.figure),
                escape(row.title),
                class(row.verdict),
                row.verdict.text()
            )
        })
        .collect();
    let list = format!("<div class=\"scroll\"><table><tbody>{list}</tbody></table></div>");
    let all: String = rows.iter().map(article).collect();
    format!("{intro}{small}{list}{}{all}", missing(rows))
}

/// What does not stand here, with the rows that miss it.
fn missing(rows: &[Rerun]) -> String {
    let mut names: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        for &name in row.missing {
            let place = format!("{} {}", row.paper, row.figure);
            match names.iter_mut().find(|(known, _)| *known == name) {
                Some((_, places)) => places.push(place),
                None => names.push((name, vec![place])),
            }
        }
    }
    names.sort();
    let rows: Vec<Vec<String>> =
        names.into_iter().map(|(name, places)| vec![name.into(), places.join(", ")]).collect();
    format!(
        "<details><summary>Missing: {} structures and machines that the papers compare with</summary>{}</details>",
        rows.len(),
        table(&["missing", "~in"], &rows)
    )
}

fn article(row: &Rerun) -> String {
    let checks: String = row.finding.checks.iter().map(check).collect();
    let missing = match row.missing {
        [] => String::new(),
        names => format!("<p>Missing here: {}.</p>", escape(&names.join(", "))),
    };
    let plots = match row.finding.plots.is_empty() {
        true => String::new(),
        false => grid(&row.finding.plots, Look::default()),
    };
    format!(
        "<article class=\"row\" id=\"{}\"><header><h3>{} {}: {}</h3><span class=\"verdict {}\">{}</span></header>\
         <p><b>The paper:</b> {}</p><p><b>Here:</b> {}.</p><ul class=\"checks\">{checks}</ul>{missing}{plots}</article>",
        anchor(row),
        escape(row.paper),
        escape(row.figure),
        escape(row.title),
        class(row.verdict),
        row.verdict.text(),
        escape(row.claim),
        escape(&row.finding.setup),
    )
}

fn check(check: &Check) -> String {
    let class = match check.holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "open",
    };
    let why = match check.why.as_str() {
        "" => String::new(),
        why => format!(" Why: {}.", escape(why)),
    };
    format!(
        "<li class=\"{class}\">{}: <b>{}</b>.{why}</li>",
        escape(&check.claim),
        escape(&check.ours)
    )
}
