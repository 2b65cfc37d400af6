//! Lengths of time, for people.

use std::time::{Duration, SystemTime};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How long ago a moment was, roughly: `0.5 s`, `12 s`, `3 min`, `5 h`, `8 days`. Zero if it is in the future, because a
/// clock was set.
pub fn since(moment: SystemTime) -> String {
    span(moment.elapsed().unwrap_or_default())
}

fn span(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{:.1} s", time.as_secs_f64()),
        seconds if seconds < 2 * MINUTE => format!("{seconds} s"),
        seconds if seconds < 2 * HOUR => format!("{} min", seconds / MINUTE),
        seconds if seconds < 2 * DAY => format!("{} h", seconds / HOUR),
        seconds => format!("{} days", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_as_people_read_them() {
        let spans =
            [(400, "0.4 s"), (119_900, "119 s"), (120_000, "2 min"), (172_800_000, "2 days")];
        for (millis, text) in spans {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
        assert_eq!(since(SystemTime::now() + Duration::from_secs(60)), "0.0 s");
    }
}
