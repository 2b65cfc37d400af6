//! **endura is a persistent ordered map that you open instead of load.**

#[cfg(not(all(target_os = "linux", target_endian = "little", target_pointer_width = "64")))]
compile_error!("endura runs on 64-bit little-endian Linux");

pub mod media;
pub mod pool;
pub mod tree;

mod check;
mod error;
mod store;
mod sync;
mod volatile;

pub use error::{Error, Result};
pub use store::*;
