//! The papers' figures, rerun row by row with the indexes that stand.
//!
//! A [`PaperRow`] is a figure or table of a paper: what the paper claims, what of it can be seen here, and a
//! function that measures it. What comes back is a [`Finding`]: curves, and [`Check`]s that say whether
//! their shape is the paper's. Absolute figures are those of other machines; shapes travel. Each check is
//! computed from what was measured in this run ([`shape`]); none is known beforehand.
//!
//! Sources: FAST & FAIR (Hwang, Kim, Won, Nam; USENIX FAST 2018), NBTree (Zhang, Zheng, Qi, Huang;
//! PVLDB 15(6), 2022), ROART (Ma, Chen, Chen, Liu, Zhu, Kang, Wu; USENIX FAST 2021).

mod bed;
mod fast_fair;
mod list;
mod nbtree;
mod roart;
mod row;
mod scale;
mod scaling;
mod servers;
pub mod shape;
#[cfg(test)]
mod tests;

pub use list::rows;
pub use row::{Check, Finding, PaperRow, Rerun, Verdict};
pub use scale::PaperScale;
