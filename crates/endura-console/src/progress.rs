//! Progress bars on standard error: only where somebody is looking.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::text::grouped;

/// A bar over `total` things, called `noun`.
pub fn bar(total: u64, noun: &str) -> ProgressBar {
    let template =
        format!("   {{bar:32}} {{percent:>3}} %  {{human_pos}} {noun}  {{rate}}  {{msg}}");
    styled(ProgressBar::new(total), &template)
}

/// A bar over the bytes of a file.
pub fn bytes_bar(total: u64) -> ProgressBar {
    styled(ProgressBar::new(total), "   {bar:32} {percent:>3} %  {binary_bytes_per_sec}  {msg}")
}

/// A bar over a stretch of time, in milliseconds.
pub fn time_bar(total: Duration) -> ProgressBar {
    let bar = ProgressBar::new(total.as_millis() as u64);
    styled(bar, "   {bar:32} {percent:>3} %  {msg}")
}

/// A moving sign for work whose end is not known.
pub fn spinner() -> ProgressBar {
    let spinner = styled(ProgressBar::new_spinner(), "   {spinner} {msg}");
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    // The templates are ours; one that did not parse would cost the looks, not the work.
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
        .with_key("rate", |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            // A rate that cannot be written is a rate that nobody sees.
            let _ = write!(out, "{}/s", grouped(state.per_sec() as u64));
        });
    bar.with_style(style)
}
