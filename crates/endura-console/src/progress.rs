//! Progress bars on standard error, only if it is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::text::grouped;

/// A bar for `total` things, called `noun`.
pub fn bar(total: u64, noun: &str) -> ProgressBar {
    let template =
        format!("   {{bar:32}} {{percent:>3}} %  {{human_pos}} {noun}  {{rate}}  {{msg}}");
    styled(ProgressBar::new(total), &template)
}

/// A bar for the bytes of a file.
pub fn bytes_bar(total: u64) -> ProgressBar {
    styled(ProgressBar::new(total), "   {bar:32} {percent:>3} %  {binary_bytes_per_sec}  {msg}")
}

/// A bar for a period of time, in milliseconds.
pub fn time_bar(total: Duration) -> ProgressBar {
    let bar = ProgressBar::new(total.as_millis() as u64);
    styled(bar, "   {bar:32} {percent:>3} %  {msg}")
}

/// A spinner for work of unknown length.
pub fn spinner() -> ProgressBar {
    let spinner = styled(ProgressBar::new_spinner(), "   {spinner} {msg}");
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
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
