//! Keys and values: one by one, in order, and many in one call.

mod bounds;
mod iterator;
mod many;
mod many_numbers;
mod numbers;
mod one;
mod order;

pub use bounds::{DESCENDING, FROM_AFTER, KEYS_ONLY, TO_INCLUDED};
pub use iterator::{
    endura_iter_release, endura_next, endura_next_back, endura_prefix, endura_range, endura_seek,
};
pub use many::{Found, endura_get_many, endura_put_many};
pub use many_numbers::{Pair, endura_get_many_u64, endura_put_many_u64, endura_scan_u64};
pub use numbers::{
    endura_add_u64, endura_cas_u64, endura_get_u64, endura_incr_u64, endura_pop_u64,
    endura_put_u64, endura_remove_u64, endura_replace_u64,
};
pub use one::{
    Look, endura_add, endura_cas, endura_get, endura_get_into, endura_get_with, endura_has,
    endura_incr, endura_put, endura_remove, endura_replace,
};
pub use order::{
    VisitEntry, endura_end, endura_pop, endura_remove_range, endura_retain, endura_visit,
};
