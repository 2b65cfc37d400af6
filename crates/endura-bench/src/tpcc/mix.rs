//! How often each transaction is done.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How often each transaction is done, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionMix {
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

impl TransactionMix {
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

    pub(super) fn check(self) -> Result<()> {
        let parts =
            [self.new_order, self.payment, self.order_status, self.delivery, self.stock_level];
        match parts.map(u32::from).iter().sum() {
            100_u32 => Ok(()),
            _ => Err(Error::Config("the shares of the transactions are 100 % together")),
        }
    }
}
