//! Lengths of time, for people.

use std::time::SystemTime;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How long ago a moment was, roughly: `0.5 s`, `12 s`, `3 min`, `5 h`, `8 days`. Zero if it is in the future, because a
/// clock was set.
pub(crate) fn since(moment: SystemTime) -> String {
    let time = moment.elapsed().unwrap_or_default();
    match time.as_secs() {
        0 => format!("{:.1} s", time.as_secs_f64()),
        seconds if seconds < 2 * MINUTE => format!("{seconds} s"),
        seconds if seconds < 2 * HOUR => format!("{} min", seconds / MINUTE),
        seconds if seconds < 2 * DAY => format!("{} h", seconds / HOUR),
        seconds => format!("{} days", seconds / DAY),
    }
}
