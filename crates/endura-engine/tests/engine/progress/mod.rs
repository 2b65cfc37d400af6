//! Operations end, whatever others do; and nothing is kept from being reused.

mod copies;
mod holds;
mod idle;
mod moments;
mod pins;
mod recoveries;
mod rivals;
mod stalls;
