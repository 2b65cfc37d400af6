//! How large everything is.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;

/// How large everything is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TpccScale {
    /// Warehouses, at least one per thread.
    pub warehouses: u64,
    /// Items.
    pub items: u64,
    /// Customers of a district, a multiple of 3; at first each has one order.
    pub customers: u64,
}

impl TpccScale {
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

    pub(super) fn check(self, threads: usize) -> Result<()> {
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

/// The first order of a district that is not delivered after the load: of 3000 the last 900.
pub(super) fn first_open(scale: TpccScale) -> u64 {
    scale.customers * 7 / 10
}
