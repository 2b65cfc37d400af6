//! The five transactions.

use std::sync::Barrier;
use std::sync::atomic::Ordering;

use super::keys::{DELIVERED, DistrictId, MARK, Table, stock, uneven};
use super::load::clients;
use super::mix::TransactionMix;
use super::scale::DISTRICTS;
use super::tables::Tables;
use crate::figures::timed;
use crate::store::{Client, Store};
use crate::workload::{Part, Plan, Timing, on_threads};
use crate::{Error, Result};

/// Orders that a stock level looks back.
const RECENT: u64 = 20;

/// Runs transactions on `maps`, by as many threads as `tables` is for, which it keeps true. The
/// operations of `plan` are transactions.
pub fn run<S: Store>(
    maps: &[S],
    tables: &Tables,
    mix: TransactionMix,
    plan: Plan,
) -> Result<Timing> {
    mix.check()?;
    let threads = tables.threads;
    let barrier = Barrier::new(threads);
    let parts = on_threads(threads, |thread| {
        let clients = clients(maps);
        barrier.wait();
        let rng = fastrand::Rng::with_seed(plan.seed.wrapping_add((thread as u64 + 1) << 48));
        let mut terminal = Terminal { clients: clients?, tables, thread: thread as u64, rng };
        let cut = |thread: usize| plan.operations * thread as u64 / threads as u64;
        let count = cut(thread + 1) - cut(thread);
        Part::time(count, |latencies| {
            timed(count as usize, plan.pace, latencies, |n| terminal.transaction(mix, n as u64))
        })
    })?;
    let (timing, wrong) = (Timing::of(&parts), parts.iter().map(|part| part.wrong).sum());
    match (wrong, maps.first()) {
        (1.., Some(store)) => {
            let (store, of) = (store.name(), timing.operations);
            Err(Error::Wrong { store, operation: "TPC-C".into(), wrong, of })
        }
        _ => Ok(timing),
    }
}

/// One thread's work. Each transaction says whether all answers were right.
struct Terminal<'t, S> {
    clients: Vec<S>,
    tables: &'t Tables,
    thread: u64,
    rng: fastrand::Rng,
}

impl<S: Client> Terminal<'_, S> {
    fn on(&mut self, table: Table) -> &mut S {
        &mut self.clients[table as usize]
    }

    fn get(&mut self, table: Table, key: u64) -> Result<Option<u64>> {
        self.on(table).get(key)
    }

    /// Reads a row and replaces it.
    fn change(&mut self, table: Table, key: u64, new: impl FnOnce(u64) -> u64) -> Result<bool> {
        let client = self.on(table);
        match client.get(key)? {
            Some(old) => client.update(key, new(old)),
            None => Ok(false),
        }
    }

    fn transaction(&mut self, mix: TransactionMix, n: u64) -> Result<bool> {
        let home = self.home();
        let mut roll = self.rng.u8(..100);
        for (share, which) in
            [(mix.new_order, 0), (mix.payment, 1), (mix.order_status, 2), (mix.delivery, 3)]
        {
            if roll < share {
                return match which {
                    0 => self.new_order(home),
                    1 => self.payment(home, n),
                    2 => self.order_status(home),
                    _ => self.delivery(home.warehouse),
                };
            }
            roll -= share;
        }
        self.stock_level(home)
    }

    /// A district of one of the thread's own warehouses.
    fn home(&mut self) -> DistrictId {
        let (warehouses, threads) = (self.tables.scale.warehouses, self.tables.threads as u64);
        let own = (warehouses - self.thread).div_ceil(threads);
        let warehouse = self.thread + threads * self.rng.u64(..own);
        DistrictId { warehouse, district: self.rng.u64(..DISTRICTS) }
    }

    /// `home`, or in so many cases of a hundred a district of any warehouse.
    fn elsewhere(&mut self, home: DistrictId, percent: u8) -> DistrictId {
        if self.rng.u8(..100) >= percent {
            return home;
        }
        let warehouse = self.rng.u64(..self.tables.scale.warehouses);
        DistrictId { warehouse, district: self.rng.u64(..DISTRICTS) }
    }

    fn draw_customer(&mut self) -> u64 {
        uneven(self.tables.scale.customers, 1023, self.rng.u64(..), self.rng.u64(..))
    }

    /// Finds a customer, in 60 cases of a hundred by the name: the second of the three who have it.
    fn find_customer(&mut self, at: DistrictId) -> Result<(u64, bool)> {
        let customer = self.draw_customer();
        if self.rng.u8(..100) >= 60 {
            return Ok((customer, true));
        }
        let names = self.tables.scale.customers / 3;
        let name = customer % names;
        let found = self.on(Table::Name).scan(at.name(name, 0), 3)?;
        let sum = (0..3).map(|n| name + n * names).fold(0, |sum, c| sum ^ at.name(name, c) ^ c);
        Ok((name + names, found == (3, sum)))
    }

    fn new_order(&mut self, at: DistrictId) -> Result<bool> {
        let tables = self.tables;
        let queue = tables.district(at.warehouse, at.district);
        let (order, customer) = (queue.next_order(), self.draw_customer());
        let mut right = self.get(Table::Warehouse, at.warehouse)?.is_some();
        right &= self.get(Table::District, at.key())? == Some(order);
        right &= self.on(Table::District).update(at.key(), order + 1)?;
        right &= self.get(Table::Customer, at.customer(customer))?.is_some();
        let lines = at.lines(order);
        self.on(Table::Order).insert(at.order(order), customer << 8 | lines)?;
        self.on(Table::OrderOf).insert(at.order_of(customer, order), MARK)?;
        self.on(Table::NewOrder).insert(at.order(order), MARK)?;
        for line in 0..lines {
            let item = at.item(tables.scale, order, line);
            let from = self.elsewhere(at, 1).warehouse;
            right &= self.get(Table::Item, item)? == Some(1 + item % 100);
            let less = |quantity: u64| if quantity < 10 { quantity + 91 } else { quantity - 1 };
            right &= self.change(Table::Stock, stock(from, item), less)?;
            self.on(Table::OrderLine).insert(at.line(order, line), item)?;
        }
        queue.next_order.store(order + 1, Ordering::Relaxed);
        Ok(right)
    }

    fn payment(&mut self, at: DistrictId, n: u64) -> Result<bool> {
        let theirs = self.elsewhere(at, 15);
        let mut right = self.change(Table::Warehouse, at.warehouse, |taken| taken + 1)?;
        // The district's takings are in the row of its next order's number.
        right &= self.change(Table::District, at.key(), |next| next)?;
        let (customer, found) = self.find_customer(theirs)?;
        right &= found;
        let balance = theirs.customer(customer);
        right &= self.change(Table::Customer, balance, |balance| balance.wrapping_sub(1))?;
        // Counts of one thread repeat in the next run: a row is then replaced.
        let count = self.thread << 40 | n;
        self.on(Table::History).insert(count, balance)?;
        Ok(right)
    }

    fn order_status(&mut self, at: DistrictId) -> Result<bool> {
        let (customer, found) = self.find_customer(at)?;
        let mut right = found && self.get(Table::Customer, at.customer(customer))?.is_some();
        let highest = at.customer(customer) << 24;
        let (seen, sum) = self.on(Table::OrderOf).scan(highest, 1)?;
        let Some(order) = at.order_in(customer, sum ^ MARK).filter(|_| seen == 1) else {
            return Ok(false);
        };
        let lines = at.lines(order);
        let row = self.get(Table::Order, at.order(order))?.unwrap_or_default();
        right &= row & !DELIVERED == customer << 8 | lines;
        let (seen, _) = self.on(Table::OrderLine).scan(at.line(order, 0), lines as usize)?;
        Ok(right && seen == lines as usize)
    }

    fn delivery(&mut self, warehouse: u64) -> Result<bool> {
        let mut right = true;
        for at in DistrictId::all(warehouse) {
            let queue = self.tables.district(at.warehouse, at.district);
            let order = queue.oldest_open();
            if order == queue.next_order() {
                continue;
            }
            let oldest = self.on(Table::NewOrder).scan(at.order(0), 1)?;
            right &= oldest == (1, at.order(order) ^ MARK);
            right &= self.on(Table::NewOrder).remove(at.order(order))?;
            let row = self.get(Table::Order, at.order(order))?.unwrap_or_default();
            right &= row & DELIVERED == 0;
            right &= self.on(Table::Order).update(at.order(order), row | DELIVERED)?;
            for line in 0..at.lines(order) {
                let key = at.line(order, line);
                right &= self.change(Table::OrderLine, key, |item| item | DELIVERED)?;
            }
            let customer = at.customer(row >> 8 & 0xffff);
            right &= self.change(Table::Customer, customer, |balance| balance.wrapping_add(1))?;
            queue.oldest_open.store(order + 1, Ordering::Relaxed);
        }
        Ok(right)
    }

    fn stock_level(&mut self, at: DistrictId) -> Result<bool> {
        let tables = self.tables;
        let next = tables.district(at.warehouse, at.district).next_order();
        let mut right = self.get(Table::District, at.key())? == Some(next);
        let orders = next.saturating_sub(RECENT)..next;
        let lines: u64 = orders.clone().map(|order| at.lines(order)).sum();
        let from = at.line(orders.start, 0);
        let (seen, _) = self.on(Table::OrderLine).scan(from, lines as usize)?;
        right &= seen == lines as usize;
        let mut items: Vec<u64> = orders
            .flat_map(|order| (0..at.lines(order)).map(move |line| (order, line)))
            .map(|(order, line)| at.item(tables.scale, order, line))
            .collect();
        items.sort_unstable();
        items.dedup();
        for item in items {
            right &= self.get(Table::Stock, stock(at.warehouse, item))?.is_some();
        }
        Ok(right)
    }
}
