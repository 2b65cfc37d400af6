//! What the maps hold, as far as it changes.

use std::sync::atomic::{AtomicU64, Ordering};

use super::scale::{DISTRICTS, TpccScale, first_open};
use crate::Result;

/// What the maps hold, as far as it changes: the queues of orders.
#[derive(Debug)]
pub struct Tables {
    pub(super) scale: TpccScale,
    pub(super) threads: usize,
    districts: Box<[District]>,
}

/// The queue of a district. Only the thread that has the warehouse uses it.
#[derive(Debug)]
pub(super) struct District {
    pub(super) next_order: AtomicU64,
    pub(super) oldest_open: AtomicU64,
}

impl District {
    pub(super) fn next_order(&self) -> u64 {
        self.next_order.load(Ordering::Relaxed)
    }

    pub(super) fn oldest_open(&self) -> u64 {
        self.oldest_open.load(Ordering::Relaxed)
    }
}

impl Tables {
    /// As [`load()`](crate::tpcc::load()) leaves them, for so many threads.
    pub fn new(scale: TpccScale, threads: usize) -> Result<Self> {
        scale.check(threads.max(1))?;
        let district = |_| District {
            next_order: scale.customers.into(),
            oldest_open: first_open(scale).into(),
        };
        let districts = (0..scale.warehouses * DISTRICTS).map(district).collect();
        Ok(Self { scale, threads: threads.max(1), districts })
    }

    pub(super) fn district(&self, warehouse: u64, district: u64) -> &District {
        &self.districts[(warehouse * DISTRICTS + district) as usize]
    }
}
