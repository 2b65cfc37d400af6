//! Keys of the maps, and what an order holds.

use super::scale::{DISTRICTS, TpccScale};
use crate::keys::key;

/// How many maps there are.
pub const MAPS: usize = 11;

/// The maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Table {
    /// Warehouse to its takings.
    Warehouse,
    /// District to the number of its next order.
    District,
    /// Customer to balance.
    Customer,
    /// District, name and customer, to customer.
    Name,
    /// Item to price.
    Item,
    /// Warehouse and item to quantity.
    Stock,
    /// District and number to customer and lines.
    Order,
    /// Customer and number, the highest first, to a mark.
    OrderOf,
    /// District and number of an open order, to a mark.
    NewOrder,
    /// Order and line to item.
    OrderLine,
    /// Warehouse and a count, to an amount.
    History,
}

/// What maps hold whose keys say everything. A scan of one entry then tells its key.
pub(super) const MARK: u64 = 1;

/// Set in an order, and in its lines, when it is delivered.
pub(super) const DELIVERED: u64 = 1 << 40;

const ORDER_BITS: u32 = 24;
const HIGHEST_ORDER: u64 = (1 << ORDER_BITS) - 1;

/// A district of a warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DistrictId {
    pub(super) warehouse: u64,
    pub(super) district: u64,
}

impl DistrictId {
    pub(super) fn all(warehouse: u64) -> impl Iterator<Item = Self> {
        (0..DISTRICTS).map(move |district| Self { warehouse, district })
    }

    pub(super) fn key(self) -> u64 {
        self.warehouse << 4 | self.district
    }

    pub(super) fn customer(self, customer: u64) -> u64 {
        self.key() << 12 | customer
    }

    pub(super) fn name(self, name: u64, customer: u64) -> u64 {
        self.key() << 22 | name << 12 | customer
    }

    pub(super) fn order(self, order: u64) -> u64 {
        self.key() << ORDER_BITS | order
    }

    pub(super) fn order_of(self, customer: u64, order: u64) -> u64 {
        self.customer(customer) << ORDER_BITS | (HIGHEST_ORDER - order)
    }

    /// The order that [`order_of`](Self::order_of) was made from; none if it is another customer's.
    pub(super) fn order_in(self, customer: u64, key: u64) -> Option<u64> {
        let same = key >> ORDER_BITS == self.customer(customer);
        same.then_some(HIGHEST_ORDER - (key & HIGHEST_ORDER))
    }

    pub(super) fn line(self, order: u64, line: u64) -> u64 {
        self.order(order) << 4 | line
    }

    /// How many lines an order has: 5 to 15.
    pub(super) fn lines(self, order: u64) -> u64 {
        5 + key(self.order(order)) % 11
    }

    /// The item of a line.
    pub(super) fn item(self, scale: TpccScale, order: u64, line: u64) -> u64 {
        let random = key(key(self.line(order, line)));
        uneven(scale.items, 8191, random & 0xffff_ffff, random >> 32)
    }
}

pub(super) fn stock(warehouse: u64, item: u64) -> u64 {
    warehouse << 17 | item
}

/// A number below `below` of two random ones, some of them more often than others: TPC-C's NURand.
pub(super) fn uneven(below: u64, a: u64, random: u64, other: u64) -> u64 {
    ((random % (a + 1)) | (other % below)) % below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_parts_apart() {
        let (low, high) =
            (DistrictId { warehouse: 3, district: 4 }, DistrictId { warehouse: 3, district: 5 });
        assert!(low.customer(2999) < high.customer(0) && low.name(999, 2999) < high.name(0, 0));
        assert!(low.order(HIGHEST_ORDER) < high.order(0) && low.line(7, 15) < low.line(8, 0));
        assert!(low.order_of(5, 8) < low.order_of(5, 7) && low.order_of(5, 0) < low.order_of(6, 9));
        assert_eq!(low.order_in(5, low.order_of(5, 8)), Some(8));
        assert_eq!(low.order_in(6, low.order_of(5, 8)), None);
        assert!(stock(1, 99_999) < stock(2, 0));
    }

    #[test]
    fn orders_have_five_to_fifteen_lines_of_items_that_exist() {
        let (scale, at) = (TpccScale::full(1), DistrictId { warehouse: 0, district: 9 });
        let lengths: std::collections::BTreeSet<u64> = (0..1000).map(|o| at.lines(o)).collect();
        assert!(lengths.into_iter().eq(5..=15));
        assert!((0..1000).all(|order| at.item(scale, order, 3) < scale.items));
    }
}
