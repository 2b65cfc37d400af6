//! What the maps hold at first.

use super::keys::{DELIVERED, DistrictId, MAPS, MARK, Table, stock};
use super::scale::{TpccScale, first_open};
use crate::store::{Client, Store};
use crate::workload::{Part, Timing, on_threads};
use crate::{Error, Result};

/// Fills `maps`, [`MAPS`] empty ones in the order of [`Table`], by one thread.
pub fn load<S: Store>(maps: &[S], scale: TpccScale) -> Result<Timing> {
    scale.check(1)?;
    let parts = on_threads(1, |_| {
        let mut rows = Rows { clients: clients(maps)?, scale, count: 0 };
        let part = Part::time(0, |_| rows.all().map(|()| 0))?;
        Ok(part.with_operations(rows.count))
    })?;
    Ok(Timing::of(&parts))
}

/// A client of each map.
pub(super) fn clients<S: Store>(maps: &[S]) -> Result<Vec<S::Client<'_>>> {
    if maps.len() != MAPS {
        return Err(Error::Config("TPC-C needs eleven maps"));
    }
    maps.iter().map(Store::client).collect()
}

struct Rows<S> {
    clients: Vec<S>,
    scale: TpccScale,
    count: u64,
}

impl<S: Client> Rows<S> {
    fn insert(&mut self, table: Table, key: u64, value: u64) -> Result<()> {
        self.count += 1;
        self.clients[table as usize].insert(key, value)
    }

    fn all(&mut self) -> Result<()> {
        for item in 0..self.scale.items {
            self.insert(Table::Item, item, 1 + item % 100)?;
        }
        (0..self.scale.warehouses).try_for_each(|warehouse| self.warehouse(warehouse))
    }

    fn warehouse(&mut self, warehouse: u64) -> Result<()> {
        self.insert(Table::Warehouse, warehouse, 0)?;
        for item in 0..self.scale.items {
            self.insert(Table::Stock, stock(warehouse, item), 50)?;
        }
        DistrictId::all(warehouse).try_for_each(|at| self.district(at))
    }

    fn district(&mut self, at: DistrictId) -> Result<()> {
        let TpccScale { customers, .. } = self.scale;
        self.insert(Table::District, at.key(), customers)?;
        for customer in 0..customers {
            self.insert(Table::Customer, at.customer(customer), 10)?;
            self.insert(Table::Name, at.name(customer % (customers / 3), customer), customer)?;
        }
        for order in 0..customers {
            self.order(at, order)?;
        }
        Ok(())
    }

    fn order(&mut self, at: DistrictId, order: u64) -> Result<()> {
        let customer = (order + 13 * at.district) % self.scale.customers;
        let open = order >= first_open(self.scale);
        let delivered = if open { 0 } else { DELIVERED };
        let lines = at.lines(order);
        self.insert(Table::Order, at.order(order), customer << 8 | lines | delivered)?;
        self.insert(Table::OrderOf, at.order_of(customer, order), MARK)?;
        if open {
            self.insert(Table::NewOrder, at.order(order), MARK)?;
        }
        for line in 0..lines {
            let item = at.item(self.scale, order, line);
            self.insert(Table::OrderLine, at.line(order, line), item | delivered)?;
        }
        Ok(())
    }
}
