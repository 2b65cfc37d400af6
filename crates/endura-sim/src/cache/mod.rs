//! What a crash may leave of stores on their way to durability.

mod line;
mod machine;
#[cfg(test)]
mod tests;

pub use crate::aftermath::IsVolatile;
pub use line::Pending;
pub use machine::Cache;
