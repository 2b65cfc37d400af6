//! TPC-C as an index sees it: its five transactions as lookups, inserts, replacements, removes and
//! range scans on eleven ordered maps from numbers to numbers. FAST & FAIR, section 6.6, compares
//! indexes by four mixes of them, [`Mix::W1`] to [`Mix::W4`].
//!
//! Left out, as there: logging, locks of rows, roll-backs, terminals that think. Each thread has
//! warehouses of its own; one line in a hundred of an order, and 15 payments in a hundred, belong to a
//! warehouse of any thread. What an order holds follows from its number, and the heads of the queues
//! of orders are kept in DRAM, so that almost every answer can be checked exactly.

mod keys;
mod load;
mod transaction;

pub use keys::{MAPS, Table};
pub use load::load;
pub use transaction::run;

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;

/// How often each transaction is done, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// An order of 5 to 15 lines.
    pub new_order: u8,
    /// A payment, 60 % of them by the customer's name.
    pub payment: u8,
    /// A customer's last order.
    pub order_status: u8,
    /// The oldest open order of each district.
    pub delivery: u8,
    /// The stock of what the last 20 orders ordered.
    pub stock_level: u8,
}

impl Mix {
    /// 34 % new orders, 5 % order statuses.
    pub const W1: Self = Self::of([34, 43, 5, 4, 14]);
    /// 27 % new orders, 15 % order statuses.
    pub const W2: Self = Self::of([27, 43, 15, 4, 11]);
    /// 20 % new orders, 25 % order statuses.
    pub const W3: Self = Self::of([20, 43, 25, 4, 8]);
    /// 13 % new orders, 35 % order statuses.
    pub const W4: Self = Self::of([13, 43, 35, 4, 5]);

    /// The four mixes of FAST & FAIR's figure 7, with their names.
    pub const PAPER: [(&'static str, Self); 4] =
        [("W1", Self::W1), ("W2", Self::W2), ("W3", Self::W3), ("W4", Self::W4)];

    const fn of([new_order, payment, order_status, delivery, stock_level]: [u8; 5]) -> Self {
        Self { new_order, payment, order_status, delivery, stock_level }
    }

    fn check(self) -> Result<()> {
        let parts =
            [self.new_order, self.payment, self.order_status, self.delivery, self.stock_level];
        match parts.map(u32::from).iter().sum() {
            100_u32 => Ok(()),
            _ => Err(Error::Config("the shares of the transactions are 100 % together")),
        }
    }
}

/// How large everything is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// Warehouses, at least one per thread.
    pub warehouses: u64,
    /// Items.
    pub items: u64,
    /// Customers of a district, a multiple of 3; at first each has one order.
    pub customers: u64,
}

impl Scale {
    /// As the benchmark has it: 100,000 items, 3,000 customers in a district; about 560,000 entries
    /// per warehouse.
    pub const fn full(warehouses: u64) -> Self {
        Self { warehouses, items: 100_000, customers: 3000 }
    }

    /// A hundredth of that.
    pub const fn hundredth(warehouses: u64) -> Self {
        Self { warehouses, items: 1000, customers: 30 }
    }

    /// Entries after the load, roughly.
    pub const fn entries(self) -> u64 {
        let Self { warehouses, items, customers } = self;
        items + warehouses * (1 + DISTRICTS + items + DISTRICTS * customers * 15)
    }

    fn check(self, threads: usize) -> Result<()> {
        if !(1..=1 << 16).contains(&self.warehouses) || self.warehouses < threads as u64 {
            return Err(Error::Config("warehouses: at least one per thread, at most 65536"));
        }
        let customers = (3..=3000).contains(&self.customers) && self.customers.is_multiple_of(3);
        if !customers || !(100..=100_000).contains(&self.items) {
            return Err(Error::Config(
                "customers: a multiple of 3 up to 3000; items: 100 to 100000",
            ));
        }
        Ok(())
    }
}

/// What the maps hold, as far as it changes: the queues of orders.
#[derive(Debug)]
pub struct Tables {
    scale: Scale,
    threads: usize,
    districts: Box<[District]>,
}

/// The queue of a district. Only the thread that has the warehouse uses it.
#[derive(Debug)]
struct District {
    next_order: AtomicU64,
    oldest_open: AtomicU64,
}

impl District {
    fn next_order(&self) -> u64 {
        self.next_order.load(Ordering::Relaxed)
    }

    fn oldest_open(&self) -> u64 {
        self.oldest_open.load(Ordering::Relaxed)
    }
}

impl Tables {
    /// As [`load()`] leaves them, for so many threads.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] for a scale that cannot be run.
    pub fn new(scale: Scale, threads: usize) -> Result<Self> {
        scale.check(threads.max(1))?;
        let district = |_| District {
            next_order: scale.customers.into(),
            oldest_open: first_open(scale).into(),
        };
        let districts = (0..scale.warehouses * DISTRICTS).map(district).collect();
        Ok(Self { scale, threads: threads.max(1), districts })
    }

    fn district(&self, warehouse: u64, district: u64) -> &District {
        &self.districts[(warehouse * DISTRICTS + district) as usize]
    }
}

/// The first order of a district that is not delivered after the load: of 3000 the last 900.
fn first_open(scale: Scale) -> u64 {
    scale.customers * 7 / 10
}
