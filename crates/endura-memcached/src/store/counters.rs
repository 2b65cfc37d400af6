//! The counters of `stats`.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($name:ident = $text:literal,)*) => {
        /// One of the counters.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Counter {
            $($name,)*
        }

        impl Counter {
            /// All counters, in the order of `stats`.
            pub(crate) const ALL: [Self; [$($text),*].len()] = [$(Self::$name),*];

            /// The name of the counter in `stats`.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

counters! {
    Connections = "total_connections",
    Rejected = "rejected_connections",
    Get = "cmd_get",
    Set = "cmd_set",
    Flush = "cmd_flush",
    Touch = "cmd_touch",
    GetHits = "get_hits",
    GetMisses = "get_misses",
    DeleteMisses = "delete_misses",
    DeleteHits = "delete_hits",
    IncrMisses = "incr_misses",
    IncrHits = "incr_hits",
    DecrMisses = "decr_misses",
    DecrHits = "decr_hits",
    CasMisses = "cas_misses",
    CasHits = "cas_hits",
    CasBadval = "cas_badval",
    TouchHits = "touch_hits",
    TouchMisses = "touch_misses",
    BytesRead = "bytes_read",
    BytesWritten = "bytes_written",
    TotalItems = "total_items",
    Evictions = "evictions",
    Reclaimed = "reclaimed",
    ExpiredUnfetched = "expired_unfetched",
    EvictedUnfetched = "evicted_unfetched",
}

/// The counters of one thread, on cache lines of their own. They are aligned to two lines, because processors fetch lines
/// in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Counters([AtomicU64; Counter::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Counters {
    /// Counts one.
    pub(crate) fn count(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Counts `more` at once.
    pub(crate) fn add(&self, counter: Counter, more: u64) {
        // Relaxed, because figures order nothing.
        self.0[counter as usize].fetch_add(more, Ordering::Relaxed);
    }

    /// Sets all counters to 0. What another thread counts meanwhile may be lost.
    pub(crate) fn reset(&self) {
        self.0.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }

    /// The value of a counter.
    pub(crate) fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize].load(Ordering::Relaxed)
    }
}
