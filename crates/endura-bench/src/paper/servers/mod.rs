//! The papers measure inside servers: NBTree inside Redis, ROART inside memcached. So do these rows, where the servers are.

mod load;
mod memcached;
mod process;
mod redis;

pub(super) use memcached::set_and_get;
pub(super) use redis::ycsb_a;
