//! Can what several threads saw have happened one after the other, and what may a crash leave of it?
//!
//! A map is a register per key, each empty or with a value. Linearizability is local (Herlihy and
//! Wing, 1990), durable linearizability too (Izraelevitz et al., 2016): a history of a map is fine if
//! that of each key is; unless its ends are asked for, then the whole map is one object ([`MapOp`]); and several maps
//! are one object ([`PoolOp`]) if keys of more than one map are changed at once. The checker
//! follows the calls of one object in the order of time and keeps every
//! state in which the register can be: its value, and which of the calls in flight have taken effect
//! (Wing and Gong's search, cut back at each return as in Lowe's just-in-time linearization). Its
//! cost grows with the threads, not with the length.
//!
//! After a crash a register must hold a value that some order explains of all calls that had returned
//! and any of those that had not. Reads count: what one returned binds all that follows.

mod history;
mod map;
mod pool;
mod register;

pub use history::{Asked, CallOf, NEVER, THREADS, after_crash, check};
pub use map::{MapAnswer, MapOp};
pub use pool::{Deal, Few, MOST, Part, Place, PoolAnswer, PoolOp};
pub use register::{Answer, Call, Op};
