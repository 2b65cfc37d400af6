//! Seconds since 1970, and times of expiry.

use std::time::{SystemTime, UNIX_EPOCH};

/// The greatest time of expiry that counts from now. Greater times count from 1970.
const RELATIVE: i64 = 60 * 60 * 24 * 30;

/// The time from which on an item is gone, in seconds since 1970; 0 for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expiry(pub(crate) u32);

impl Expiry {
    /// Translates a client's time of expiry, where 0 is never and a negative time is "at once".
    pub(crate) fn from_client(time: i64, now: u32) -> Self {
        let at = match time {
            0 => 0,
            ..0 => 1,
            1..=RELATIVE => i64::from(now) + time,
            _ => time,
        };
        Self(u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// Whether an item is gone at this time.
    pub(crate) fn has_come(self, now: u32) -> bool {
        self.0 != 0 && self.0 <= now
    }
}

/// The seconds since 1970. Times of expiry outlive the process, so this is the wall clock and not a monotonic one.
pub(crate) fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_now_or_from_1970() {
        let now = 1_700_000_000;
        let at = |time| Expiry::from_client(time, now).0;
        assert_eq!([at(0), at(-1), at(i64::MIN)], [0, 1, 1]);
        assert_eq!([at(1), at(RELATIVE)], [now + 1, now + RELATIVE as u32]);
        assert_eq!([at(RELATIVE + 1), at(i64::MAX)], [RELATIVE as u32 + 1, u32::MAX]);
        assert_eq!(at(1 << 31), 1 << 31, "a time after 2038");
        assert!(!Expiry(0).has_come(u32::MAX));
        assert!(Expiry(7).has_come(7) && !Expiry(8).has_come(7));
    }
}
