//! The page.

mod behind;
mod exact;
mod gather;
mod goals;
mod html;
mod papers;
mod sections;

pub use behind::{Ratio, ratios, slower};
pub(super) use sections::page;
