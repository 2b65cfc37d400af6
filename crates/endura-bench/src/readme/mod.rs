//! The tables of the README: which entries and operations are measured, and the page to paste.

mod huge_pages;
mod page;
mod plan;
mod surroundings;
mod versions;

pub use huge_pages::{Backing, backing};
pub use page::Page;
pub use plan::{Plan, Section};
pub use surroundings::Surroundings;
pub use versions::version;
