//! Moments, for people.

use std::time::{Duration, SystemTime};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How long ago a moment was: `12 s`. If it is in the future, because a clock was set, this is zero.
pub(crate) fn since(moment: SystemTime) -> String {
    span(moment.elapsed().unwrap_or_default())
}

/// A rough length of time: `0.5 s`, `12 s`, `3 min`, `5 h`, `8 days`. Minutes are used from two minutes on, and
/// likewise hours and days.
pub(crate) fn span(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{:.1} s", time.as_secs_f64()),
        seconds if seconds < 2 * MINUTE => format!("{seconds} s"),
        seconds if seconds < 2 * HOUR => format!("{} min", seconds / MINUTE),
        seconds if seconds < 2 * DAY => format!("{} h", seconds / HOUR),
        seconds => format!("{} days", seconds / DAY),
    }
}

/// A moment as date and time: `2026-01-31 23:59:59 UTC`.
pub(crate) fn utc(moment: SystemTime) -> String {
    let seconds = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (year, month, day) = date(seconds / DAY);
    let (hour, minute, second) = (seconds % DAY / HOUR, seconds % HOUR / MINUTE, seconds % MINUTE);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// The date that is `day` days after 1970-01-01. Years begin in March here, so that the leap day is the last day of its
/// year; 400 years have 146,097 days.
fn date(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (400 * era + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_as_people_read_them() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        let spans =
            [(400, "0.4 s"), (119_900, "119 s"), (120_000, "2 min"), (172_800_000, "2 days")];
        for (millis, text) in spans {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
        assert_eq!(since(SystemTime::now() + Duration::from_secs(60)), "0.0 s");
    }
}
