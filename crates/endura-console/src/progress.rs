//! Progress bars on standard error, only if it is a terminal. No line is longer than the terminal is wide.

use std::io::stderr;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::text::{columns, grouped};

/// The columns that a message needs, for example `0 violations, 123,456 operations, 12 to repair`.
const MESSAGE: usize = 46;

/// The columns of a rate, with the spaces before it.
const RATE: usize = 14;

/// The columns of the margin, of the percentage, and of the spaces behind it.
const PERCENTAGE: usize = 3 + 5 + 2;

/// The columns of the bar, and whether there is a rate: the first of these that fits is displayed.
const LAYOUTS: [(usize, bool); 5] = [(32, true), (32, false), (16, false), (8, false), (0, false)];

/// A bar for `total` things, called `noun`, with a message.
pub fn bar(total: u64, noun: &str) -> ProgressBar {
    count_of(total, noun, MESSAGE)
}

/// A bar for `total` things, called `noun`, without a message.
pub fn count_bar(total: u64, noun: &str) -> ProgressBar {
    count_of(total, noun, 0)
}

fn count_of(total: u64, noun: &str, message: usize) -> ProgressBar {
    let count = grouped(total).len() + 1 + noun.chars().count();
    let (bar, rate) = layout(columns(stderr()), count + 2 + message);
    let rate = if rate { "  {rate}" } else { "" };
    let template = format!("   {}  {{human_pos}} {noun}{rate}  {{wide_msg}}", percentage(bar));
    styled(ProgressBar::new(total), &template)
}

/// A bar for the bytes of a file, with a message of the form `1,234,567 entries`.
pub fn bytes_bar(total: u64) -> ProgressBar {
    let (bar, rate) = layout(columns(stderr()), 20);
    let rate = if rate { "  {binary_bytes_per_sec}" } else { "" };
    let template = format!("   {}{rate}  {{wide_msg}}", percentage(bar));
    styled(ProgressBar::new(total), &template)
}

/// A bar for a period of time, in milliseconds.
pub fn time_bar(total: Duration) -> ProgressBar {
    let (bar, _) = layout(columns(stderr()), MESSAGE);
    let template = format!("   {}  {{wide_msg}}", percentage(bar));
    styled(ProgressBar::new(total.as_millis() as u64), &template)
}

/// A spinner for work of unknown length.
pub fn spinner() -> ProgressBar {
    let spinner = styled(ProgressBar::new_spinner(), "   {spinner} {wide_msg}");
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// The parts of a line that has `columns`, of which `others` are for the text behind the percentage: first the rate is
/// left out, then the bar becomes shorter.
fn layout(columns: usize, others: usize) -> (usize, bool) {
    let fits = |&&(bar, rate): &&(usize, bool)| {
        let rate = if rate { RATE } else { 0 };
        PERCENTAGE + bar + usize::from(bar > 0) + others + rate <= columns
    };
    LAYOUTS.iter().find(fits).copied().unwrap_or((0, false))
}

/// The template of a bar, and of the percentage.
fn percentage(bar: usize) -> String {
    let bar = if bar > 0 { format!("{{bar:{bar}}} ") } else { String::new() };
    format!("{bar}{{percent:>3}} %")
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    // The templates are constants of this file; one that does not parse costs the appearance, not the work.
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
        .with_key("rate", |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            // If the rate cannot be written, it is not displayed.
            let _ = write!(out, "{}/s", grouped(state.per_sec() as u64));
        });
    bar.with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_goes_first_and_then_the_bar() {
        let entries = "1,000,000 entries".len() + 2;
        assert_eq!(layout(100, entries), (32, true));
        assert_eq!(layout(80, entries), (32, true));
        assert_eq!(layout(70, entries), (32, false));
        assert_eq!(layout(60, entries), (16, false));
        assert_eq!(layout(20, entries), (0, false));
        let kills = "100 kills".len() + 2 + MESSAGE;
        assert_eq!([60, 80, 100].map(|columns| layout(columns, kills).0), [0, 8, 32]);
    }
}
